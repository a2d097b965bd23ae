/* window: what opens the window, how long it lasts, what the store tells. */
#include <setjmp.h>
#include <sodium.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "made.h"
#include "window.h"

#define WINDOW 5000
#define NOW_S 1000000

struct fixture {
	struct gs_store *store;
	struct gs_window *window;
	struct gs_event event;
	int64_t created_at;
};

static int
set_up(void **state)
{
	struct gs_store_options options = { .scratch = true };
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	struct gs_err err;

	assert_non_null(fixture);
	fixture->store = gs_store_open(NULL, &options, &err);
	assert_non_null(fixture->store);
	fixture->window = gs_window_new(WINDOW);
	*state = fixture;
	return 0;
}

static int
tear_down(void **state)
{
	struct fixture *fixture = *state;

	gs_event_fini(&fixture->event);
	gs_window_free(fixture->window);
	gs_store_close(fixture->store);
	free(fixture);
	return 0;
}

static struct gs_now
at(int64_t mono_ms)
{
	return (struct gs_now){ mono_ms, NOW_S + mono_ms / 1000 };
}

static void
put(struct fixture *fixture, unsigned kind, const char *tags, struct gs_now now)
{
	struct gs_put how = { .now_s = now.wall_s };
	struct gs_err err;
	struct gs_txn *txn = gs_store_write(fixture->store, &err);
	enum gs_known known;

	assert_non_null(txn);
	make_event(&fixture->event, kind, 7, ++fixture->created_at, tags);
	assert_true(gs_store_put(txn, &fixture->event, &how, &known, &err));
	assert_int_equal(known, GS_KNOWN_STORED);
	assert_true(gs_txn_commit(txn, &err));
}

static void
look(struct fixture *fixture, struct gs_now now)
{
	struct gs_err err;
	bool is_newest = false;

	assert_true(gs_window_look(fixture->window, fixture->store, now, &is_newest,
	    &err));
	assert_true(is_newest);
}

/* What the window counted; closes it. */
static int64_t
take(struct fixture *fixture, int64_t *opened_at)
{
	struct gs_batch batch = { 0 };
	struct gs_state *state = gs_state_new();
	int64_t events;

	gs_state_sort(state);
	assert_false(gs_window_take(fixture->window, state, &batch));
	assert_ptr_equal(gs_window_state(fixture->window), state);
	events = batch.events;
	if (opened_at != NULL)
		*opened_at = batch.opened_at;
	gs_batch_fini(&batch);
	return events;
}

static void
kinds_that_count(void **state)
{
	static const uint16_t yes[] = { 5, 62, 1617, 1618, 1619, 1621, 30617 };
	static const uint16_t no[] = { 0, 1, 3, 7, 1111, 1620, 1622, 1630, 30618, 65535 };

	(void)state;
	for (size_t i = 0; i < sizeof(yes) / sizeof(*yes); i++)
		assert_true(gs_window_is_cause(yes[i]));
	for (size_t i = 0; i < sizeof(no) / sizeof(*no); i++)
		assert_false(gs_window_is_cause(no[i]));
}

static void
the_window_is_not_extended(void **state)
{
	struct fixture *fixture = *state;
	struct gs_window *window = fixture->window;
	int64_t opened_at;

	assert_false(gs_window_is_open(window));
	assert_int_equal(gs_window_wait_ms(window, at(0)), -1);
	gs_window_note(window, 1, at(1000));
	assert_true(gs_window_is_open(window));
	for (int64_t ms = 1500; ms < 6000; ms += 500) {
		gs_window_note(window, 2, at(ms));
		assert_false(gs_window_is_due(window, at(ms)));
		assert_int_equal(gs_window_wait_ms(window, at(ms)), 6000 - ms);
	}
	assert_false(gs_window_is_due(window, at(5999)));
	assert_true(gs_window_is_due(window, at(6000)));
	assert_int_equal(gs_window_wait_ms(window, at(7000)), 0);
	assert_int_equal(take(fixture, &opened_at), 19);
	assert_int_equal(opened_at, NOW_S + 1);
	assert_false(gs_window_is_open(window));
	assert_false(gs_window_is_due(window, at(9000)));
	gs_window_note(window, 3, at(9000));
	assert_int_equal(gs_window_wait_ms(window, at(9000)), WINDOW);
	assert_int_equal(take(fixture, &opened_at), 3);
	assert_int_equal(opened_at, NOW_S + 9);
}

static void
the_first_look_sees_all(void **state)
{
	struct fixture *fixture = *state;

	put(fixture, 30617, "[['d','x']]", at(0));
	put(fixture, 30617, "[['d','x']]", at(0)); /* replaces it */
	put(fixture, 1621, "[]", at(0));
	put(fixture, 30618, "[['d','x']]", at(0));
	look(fixture, at(0));
	assert_true(gs_window_is_open(fixture->window));
	assert_int_equal(take(fixture, NULL), 2);
	look(fixture, at(10));
	assert_false(gs_window_is_open(fixture->window));
}

static void
an_empty_store_is_a_beginning(void **state)
{
	struct fixture *fixture = *state;

	look(fixture, at(0));
	assert_int_equal(take(fixture, NULL), 0);
	put(fixture, 1617, "[]", at(10));
	look(fixture, at(20));
	assert_int_equal(gs_window_wait_ms(fixture->window, at(20)), WINDOW);
	assert_int_equal(take(fixture, NULL), 1);
}

static void
what_was_stored_opens_it(void **state)
{
	struct fixture *fixture = *state;

	look(fixture, at(0));
	(void)take(fixture, NULL);
	put(fixture, 30618, "[['d','x']]", at(10));
	put(fixture, 1, "[]", at(10));
	look(fixture, at(10));
	assert_false(gs_window_is_open(fixture->window));
	put(fixture, 1618, "[]", at(20));
	put(fixture, 1, "[]", at(20));
	look(fixture, at(20));
	assert_true(gs_window_is_open(fixture->window));
	put(fixture, 5, "[['k','1']]", at(30));
	put(fixture, 30617, "[['d','x']]", at(30));
	look(fixture, at(5020));
	look(fixture, at(5020));
	assert_int_equal(take(fixture, NULL), 3);
}

static void
what_expires_opens_it(void **state)
{
	struct fixture *fixture = *state;
	struct gs_window *window = fixture->window;

	put(fixture, 1, "[['expiration','1000010']]", at(0));
	put(fixture, 1617, "[['expiration','1000020']]", at(0));
	put(fixture, 1618, "[['expiration','1000021']]", at(0));
	put(fixture, 30617, "[['d','x'],['expiration','1000900']]", at(0));
	look(fixture, at(0));
	assert_int_equal(take(fixture, NULL), 3);
	assert_int_equal(gs_window_wait_ms(window, at(0)), 20000);
	look(fixture, at(19999));
	assert_false(gs_window_is_open(window));
	assert_int_equal(gs_window_wait_ms(window, at(20000)), 0);
	look(fixture, at(21500)); /* woken late: two have expired */
	assert_int_equal(take(fixture, NULL), 2);
	look(fixture, at(21600));
	assert_false(gs_window_is_open(window));
	assert_int_equal(gs_window_wait_ms(window, at(21600)), 60000);
}

static void
an_expired_version_takes_the_place_of_another(void **state)
{
	struct gs_put how = { .now_s = NOW_S };
	struct fixture *fixture = *state;
	enum gs_known known;
	struct gs_txn *txn;
	struct gs_err err;

	put(fixture, 30617, "[['d','x']]", at(0));
	look(fixture, at(0));
	(void)take(fixture, NULL);
	look(fixture, at(100));
	assert_false(gs_window_is_open(fixture->window));
	txn = gs_store_write(fixture->store, &err);
	assert_non_null(txn);
	make_event(&fixture->event, 30617, 7, ++fixture->created_at,
	    "[['d','x'],['expiration','999999']]");
	assert_true(gs_store_put(txn, &fixture->event, &how, &known, &err));
	assert_int_equal(known, GS_KNOWN_EXPIRED);
	assert_true(gs_txn_commit(txn, &err));
	look(fixture, at(200));
	assert_true(gs_window_is_open(fixture->window));
	assert_int_equal(take(fixture, NULL), 1);
	look(fixture, at(300));
	assert_false(gs_window_is_open(fixture->window));
}

static void
an_expiry_counts_when_the_row_has_gone(void **state)
{
	struct fixture *fixture = *state;
	struct gs_err err;
	struct gs_txn *txn;

	put(fixture, 1617, "[['expiration','1000020']]", at(0));
	look(fixture, at(0));
	(void)take(fixture, NULL);
	txn = gs_store_write(fixture->store, &err);
	assert_true(gs_store_expire(txn, NOW_S + 20, NULL, &err));
	assert_true(gs_txn_commit(txn, &err));
	look(fixture, at(20000));
	assert_int_equal(take(fixture, NULL), 1);
	look(fixture, at(20001));
	assert_false(gs_window_is_open(fixture->window));
	assert_int_equal(gs_window_wait_ms(fixture->window, at(20001)), -1);
}

static void
batches_are_numbered_when_they_say_something(void **state)
{
	struct fixture *fixture = *state;
	struct gs_window *window = fixture->window;
	struct gs_batch batch = { 0 };
	struct gs_state *some = gs_state_new();

	(void)take(fixture, NULL);
	gs_relay_add_repo(gs_state_add_relay(some, GS_STR("wss://r.example")),
	    gs_state_add_repo(some, GS_STR("30617:x:y")));
	gs_state_sort(some);
	assert_true(gs_window_take(window, some, &batch));
	assert_int_equal(batch.number, 1);
	assert_true(batch.relays[0].is_new);
	gs_batch_fini(&batch);
	some = gs_state_new();
	gs_state_sort(some);
	assert_true(gs_window_take(window, some, &batch));
	assert_int_equal(batch.number, 2);
	assert_int_equal(batch.num_removed_relays, 1);
	gs_batch_fini(&batch);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kinds_that_count),
		cmocka_unit_test_setup_teardown(the_window_is_not_extended, set_up,
		    tear_down),
		cmocka_unit_test_setup_teardown(the_first_look_sees_all, set_up,
		    tear_down),
		cmocka_unit_test_setup_teardown(an_empty_store_is_a_beginning, set_up,
		    tear_down),
		cmocka_unit_test_setup_teardown(what_was_stored_opens_it, set_up,
		    tear_down),
		cmocka_unit_test_setup_teardown(what_expires_opens_it, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
		    an_expired_version_takes_the_place_of_another, set_up, tear_down),
		cmocka_unit_test_setup_teardown(an_expiry_counts_when_the_row_has_gone,
		    set_up, tear_down),
		cmocka_unit_test_setup_teardown(
		    batches_are_numbered_when_they_say_something, set_up, tear_down),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
