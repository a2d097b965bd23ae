/* Which filters are live: packing, ends of every sort, and what was missed by them. */
#include "live.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define MAX_FILTERS 8
#define START_S 1000000
#define MINUTE_MS (60 * 1000)

struct set {
	struct gs_limits limits;
	struct gs_filter filters[MAX_FILTERS];
	size_t num;
	struct gs_live *live;
	struct gs_buf frame;
	struct gs_now now;
};

static void
add(struct set *set, const char *text)
{
	struct gs_filter *filter = &set->filters[set->num++];

	*filter = (struct gs_filter)GS_FILTER_INIT;
	assert_true(gs_filter_parse(filter, text, strlen(text), NULL));
	gs_live_add(set->live, filter);
}

/* Of kinds 1, 2, ... */
static void
init(struct set *set, size_t num)
{
	*set = (struct set){ .now = { 0, START_S } };
	gs_limits_init(&set->limits);
	set->live = gs_live_new(&set->limits, -1);
	for (size_t i = 0; i < num; i++) {
		char text[64];

		(void)snprintf(text, sizeof(text), "{\"kinds\":[%zu]}", i + 1);
		add(set, text);
	}
	gs_live_begin(set->live, set->now);
}

static void
fini(struct set *set)
{
	gs_live_free(set->live);
	for (size_t i = 0; i < set->num; i++)
		gs_filter_fini(&set->filters[i]);
	gs_buf_fini(&set->frame);
}

static struct gs_live_sub *
ask(struct set *set, const char *wanted)
{
	struct gs_live_sub *sub;

	gs_buf_clear(&set->frame);
	sub = gs_live_ask(set->live, "x", &set->frame, set->now);
	assert_int_equal(sub != NULL, wanted != NULL);
	if (wanted != NULL)
		assert_string_equal(set->frame.data, wanted);
	return sub;
}

static void
pass(struct set *set, int64_t ms)
{
	set->now.mono_ms += ms;
	set->now.wall_s = START_S + set->now.mono_ms / 1000;
	gs_live_tick(set->live, set->now);
}

static int64_t
gap(struct set *set, size_t i)
{
	return gs_live_take_gap(set->live, i, set->now);
}

static void
assert_state(const struct set *set, size_t i, enum gs_live_state state)
{
	assert_int_equal(gs_live_state(set->live, i), state);
}

static void
test_packing(void **state)
{
	struct gs_live_sub *sub;
	struct set set;

	(void)state;
	init(&set, 3);
	set.limits.filters = 2;
	sub = ask(&set,
	    "[\"REQ\",\"x\",{\"kinds\":[1],\"since\":999100},"
	    "{\"kinds\":[2],\"since\":999100}]");
	assert_int_equal(gs_live_sub_count(sub), 2);
	assert_int_equal(gs_live_sub_item(sub, 1), 1);
	assert_state(&set, 1, GS_LIVE_ASKED);
	assert_state(&set, 2, GS_LIVE_WANTED);
	gs_live_eose(set.live, sub);
	assert_state(&set, 1, GS_LIVE_OPEN);
	sub = ask(&set, "[\"REQ\",\"x\",{\"kinds\":[3],\"since\":999100}]");
	assert_null(ask(&set, NULL));
	assert_int_equal(gs_live_num_open(set.live), 2);
	assert_int_equal(gs_live_num_in(set.live, GS_LIVE_ASKED), 1);
	gs_live_end(set.live, sub, GS_LIVE_POLL, set.now);
	assert_state(&set, 2, GS_LIVE_POLLED);
	assert_int_equal(gap(&set, 2), 999100);
	assert_int_equal(gap(&set, 2), -1);
	fini(&set);
}

static void
test_bytes(void **state)
{
	struct set set;

	(void)state;
	init(&set, 3);
	set.limits.bytes = 22 + 2 * 32;
	assert_int_equal(gs_live_sub_count(ask(&set,
			     "[\"REQ\",\"x\",{\"kinds\":[1],\"since\":999100},"
			     "{\"kinds\":[2],\"since\":999100}]")),
	    2);
	set.limits.bytes = 40;
	assert_null(ask(&set, NULL));
	assert_state(&set, 2, GS_LIVE_POLLED);
	fini(&set);
}

static void
test_waiting(void **state)
{
	struct gs_live_sub *sub;
	struct set set;

	(void)state;
	init(&set, 2);
	sub = gs_live_ask(set.live, "x", &set.frame, set.now);
	gs_live_eose(set.live, sub);
	pass(&set, 5000);
	gs_live_end(set.live, sub, GS_LIVE_ENDED, set.now);
	assert_state(&set, 0, GS_LIVE_WAITING);
	assert_int_equal(gs_live_deadline_ms(set.live), 5000 + MINUTE_MS);
	pass(&set, MINUTE_MS - 1);
	assert_false(gs_live_has_wanted(set.live));
	pass(&set, 1);
	assert_int_equal(gs_live_deadline_ms(set.live), -1);
	assert_int_equal(gs_live_num_in(set.live, GS_LIVE_WANTED), 2);
	assert_int_equal(gap(&set, 0), START_S - 900);
	fini(&set);
}

/* Refused ones are asked alone, and wait also through a new connection. */
static void
test_refused(void **state)
{
	struct gs_live_sub *sub;
	struct set set;

	(void)state;
	init(&set, 3);
	sub = gs_live_ask(set.live, "x", &set.frame, set.now);
	gs_live_end(set.live, sub, GS_LIVE_SPLIT, set.now);
	sub = ask(&set, "[\"REQ\",\"x\",{\"kinds\":[1],\"since\":999100}]");
	gs_live_end(set.live, sub, GS_LIVE_REFUSED, set.now);
	gs_live_eose(set.live, gs_live_ask(set.live, "y", &set.frame, set.now));
	gs_live_begin(set.live, set.now);
	assert_state(&set, 0, GS_LIVE_WAITING);
	(void)ask(&set,
	    "[\"REQ\",\"x\",{\"kinds\":[2],\"since\":999100},"
	    "{\"kinds\":[3],\"since\":999100}]");
	pass(&set, MINUTE_MS);
	sub = ask(&set, "[\"REQ\",\"x\",{\"kinds\":[1],\"since\":999160}]");
	gs_live_eose(set.live, sub);
	gs_live_begin(set.live, set.now);
	assert_int_equal(gs_live_num_in(set.live, GS_LIVE_WANTED), 3);
	assert_int_equal(gs_live_sub_count(gs_live_ask(set.live, "x", &set.frame,
			     set.now)),
	    3);
	fini(&set);
}

/* What never was open leaves no gap if it is opened within the overlap. */
static void
test_gap_of_what_was_only_asked(void **state)
{
	struct gs_live_sub *sub;
	struct set set;

	(void)state;
	init(&set, 1);
	sub = gs_live_ask(set.live, "x", &set.frame, set.now);
	gs_live_end(set.live, sub, GS_LIVE_AGAIN, set.now);
	pass(&set, 900 * 1000);
	sub = gs_live_ask(set.live, "x", &set.frame, set.now);
	assert_int_equal(gap(&set, 0), -1);
	gs_live_end(set.live, sub, GS_LIVE_AGAIN, set.now);
	pass(&set, 901 * 1000);
	sub = gs_live_ask(set.live, "x", &set.frame, set.now);
	assert_int_equal(gap(&set, 0), START_S);
	gs_live_eose(set.live, sub);
	gs_live_end(set.live, sub, GS_LIVE_AGAIN, set.now);
	(void)gs_live_ask(set.live, "x", &set.frame, set.now);
	assert_int_equal(gap(&set, 0), START_S + 901);
	fini(&set);
}

static void
test_past(void **state)
{
	struct set set;

	(void)state;
	init(&set, 0);
	add(&set, "{\"until\":999099}");
	add(&set, "{\"until\":999100}");
	gs_live_begin(set.live, set.now);
	assert_state(&set, 0, GS_LIVE_PAST);
	assert_state(&set, 1, GS_LIVE_WANTED);
	fini(&set);
}

/* Our own relay: `since` only where the filter has it, and no gap is taken for small. */
static void
test_undated(void **state)
{
	struct gs_live_sub *sub;
	struct set set;

	(void)state;
	init(&set, 1);
	add(&set, "{\"kinds\":[2],\"since\":5}");
	gs_live_set_undated(set.live);
	gs_live_begin(set.live, set.now);
	sub = ask(&set, "[\"REQ\",\"x\",{\"kinds\":[1]},{\"kinds\":[2],\"since\":5}]");
	gs_live_end(set.live, sub, GS_LIVE_AGAIN, set.now);
	assert_int_equal(gap(&set, 0), 999100);
	fini(&set);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_packing),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_waiting),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_gap_of_what_was_only_asked),
		cmocka_unit_test(test_past),
		cmocka_unit_test(test_undated),
	};

	gs_live_free(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
