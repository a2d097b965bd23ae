/* waiting and closure: what is kept, what waits, and what sets it free, in any order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sodium.h>
#include <stdlib.h>

#include "made_store.h"
#include "mem.h"
#include "waiting.h"

#define NOW MADE_NOW
#define MAX_EVENTS 8
#define LISTED "['clone','https://git.example/n/r.git'],['relays','wss://git.example']"

static void
init_policy(struct gs_policy *policy)
{
	struct gs_err err;

	gs_policy_init(policy);
	assert_true(gs_policy_add_service(policy, gs_str_of("git.example"), &err));
}

/* One run of an intake over the events in this order; a txn each. */
static void
take(struct gs_store *store, const struct gs_policy *policy,
    struct gs_event *const *events, size_t num, struct gs_tally *tally)
{
	struct gs_intake *intake = gs_intake_new(policy);
	struct gs_err err;

	for (size_t i = 0; i < num; i++) {
		struct gs_txn *txn = gs_store_write(store, &err);
		enum gs_known known;

		assert_non_null(txn);
		assert_true(gs_intake_begin(intake, txn, NOW, &err));
		assert_true(gs_intake_offer(intake, events[i],
		    &(struct gs_origin){ .tag = 0 }, &known, &err));
		assert_true(gs_intake_trim(intake, &err));
		assert_true(gs_txn_commit(txn, &err));
		gs_intake_settle(intake, true, tally);
	}
	gs_intake_free(intake);
}

static uint64_t
sum_of(const struct gs_tally *t)
{
	return t->stored + t->duplicate + t->replaced + t->deleted + t->expired +
	    t->waiting + t->rejected;
}

static void
check_order(const struct gs_policy *policy, struct gs_event *const *events, size_t num,
    size_t standing, char **first)
{
	struct gs_store *store = made_store();
	struct gs_tally tally = { 0 };
	size_t lines;
	char *text;

	take(store, policy, events, num, &tally);
	text = made_export(store, &lines);
	assert_int_equal(lines, standing);
	assert_int_equal(tally.stored, standing);
	assert_int_equal(tally.read, num);
	assert_int_equal(sum_of(&tally), num);
	if (*first == NULL)
		*first = gs_mem_str(text);
	assert_string_equal(text, *first);
	assert_int_equal(made_faults(store), 0);
	free(text);
	gs_tally_fini(&tally);
	gs_store_close(store);
}

static void
permute(const struct gs_policy *policy, struct gs_event **events, size_t at, size_t num,
    size_t standing, char **first)
{
	if (at == num) {
		check_order(policy, events, num, standing, first);
		return;
	}
	for (size_t i = at; i < num; i++) {
		struct gs_event *swap = events[at];

		events[at] = events[i];
		events[i] = swap;
		permute(policy, events, at + 1, num, standing, first);
		events[i] = events[at];
		events[at] = swap;
	}
}

/* Whatever the order, num standing events are left, the same ones; deny may be NULL. */
static void
assert_any_order_denying(struct gs_event *events, size_t num, size_t standing,
    const char *deny)
{
	struct gs_event *order[MAX_EVENTS];
	struct gs_policy policy;
	char *first = NULL;

	init_policy(&policy);
	assert_true(gs_policy_add_deny(&policy, gs_str_of(deny), NULL));
	for (size_t i = 0; i < num; i++)
		order[i] = &events[i];
	permute(&policy, order, 0, num, standing, &first);
	free(first);
	gs_policy_fini(&policy);
}

static void
assert_any_order(struct gs_event *events, size_t num, size_t standing)
{
	assert_any_order_denying(events, num, standing, "");
}

static void
chains_are_freed(void **state)
{
	struct gs_event e[5] = { 0 };
	char key[MADE_HEX], id[MADE_HEX], tags[300];

	(void)state;
	make_event(&e[0], 30617, 1, 10, "[['d','r']," LISTED "]");
	(void)snprintf(tags, sizeof(tags), "[['a','30617:%s:r']]", made_key(key, 1));
	make_event(&e[1], 1621, 2, 5, tags);
	(void)snprintf(tags, sizeof(tags), "[['E','%s']]", made_id(id, &e[1]));
	make_event(&e[2], 1111, 3, 6, tags);
	(void)snprintf(tags, sizeof(tags), "[['q','%s']]", made_id(id, &e[2]));
	make_event(&e[3], 1111, 4, 7, tags);
	make_event(&e[4], 1621, 2, 8, "[['a','30617:x:r']]"); /* a stranger's */
	assert_any_order(e, 5, 4);
	made_fini(e, 5);
}

static void
maintainers_are_found(void **state)
{
	struct gs_event e[5] = { 0 };
	char key[MADE_HEX], tags[400];

	(void)state;
	(void)snprintf(tags, sizeof(tags),
	    "[['d','r']," LISTED ",['maintainers','x','%s']]", made_key(key, 2));
	make_event(&e[0], 30617, 1, 10, tags);
	(void)snprintf(tags, sizeof(tags), "[['d','r'],['maintainers','%s']]",
	    made_key(key, 3));
	make_event(&e[1], 30617, 2, 10, tags); /* does not list us */
	make_event(&e[2], 30618, 3, 10, "[['d','r']]");
	make_event(&e[3], 30618, 4, 10, "[['d','r']]"); /* nobody named 4 */
	make_event(&e[4], 30618, 1, 10, "[['d','r']]");
	assert_any_order(e, 5, 4);
	made_fini(e, 5);
}

static void
announcement_that_drops_us_stands_in_the_way(void **state)
{
	struct gs_event e[4] = { 0 };

	(void)state;
	make_event(&e[0], 30617, 1, 10, "[['d','r']," LISTED "]");
	make_event(&e[1], 30617, 1, 20, "[['d','r'],['relays','wss://other.example']]");
	make_event(&e[2], 30617, 1, 30, "[['d','r'],['relays','wss://third.example']]");
	make_event(&e[3], 30617, 2, 30, "[['d','r'],['relays','wss://third.example']]");
	assert_any_order(e, 4, 1);
	made_fini(e, 4);
}

static void
deletions_wait_for_what_they_act_on(void **state)
{
	struct gs_event e[4] = { 0 };
	char key[MADE_HEX], id[MADE_HEX], tags[400];

	(void)state;
	make_event(&e[0], 30617, 1, 10, "[['d','r']," LISTED "]");
	(void)snprintf(tags, sizeof(tags), "[['a','30617:%s:r']]", made_key(key, 1));
	make_event(&e[1], 1621, 2, 5, tags);
	(void)snprintf(tags, sizeof(tags), "[['e','%s']]", made_id(id, &e[1]));
	make_event(&e[2], 5, 2, 6, tags);
	make_event(&e[3], 5, 2, 6,
	    "[['e','00'],['a','30617:x:y']]"); /* of nothing of ours */
	assert_any_order(e, 4, 2);
	made_fini(e, 4);
}

static void
vanish_waits_for_its_signer(void **state)
{
	struct gs_event e[4] = { 0 };
	char key[MADE_HEX], tags[400];

	(void)state;
	make_event(&e[0], 30617, 1, 10, "[['d','r']," LISTED "]");
	(void)snprintf(tags, sizeof(tags), "[['a','30617:%s:r']]", made_key(key, 1));
	make_event(&e[1], 1621, 2, 5, tags);
	make_event(&e[2], 62, 2, 6, "[['relay','wss://git.example/']]");
	make_event(&e[3], 62, 3, 6, "[['relay','ALL_RELAYS']]"); /* nobody of ours */
	assert_any_order(e, 4, 2);
	made_fini(e, 4);
}

static void
what_is_denied_never_comes(void **state)
{
	struct gs_event e[6] = { 0 };
	char key[MADE_HEX], other[MADE_HEX], id[MADE_HEX], tags[500], deny[200];

	(void)state;
	(void)snprintf(tags, sizeof(tags), "[['d','r']," LISTED ",['maintainers','%s']]",
	    made_key(key, 3));
	make_event(&e[0], 30617, 1, 10, tags);
	make_event(&e[1], 30618, 3, 10, "[['d','r']]"); /* of a denied maintainer */
	make_event(&e[2], 30617, 2, 10, "[['d','x']," LISTED "]"); /* denied by its ref */
	(void)snprintf(tags, sizeof(tags), "[['a','30617:%s:x']]", made_key(other, 2));
	make_event(&e[3], 1621, 4, 5, tags);
	/* names a denied repository and its root, and one of ours */
	(void)snprintf(tags, sizeof(tags),
	    "[['A','30617:%s:x'],['E','%s'],['q','30617:%s:r']]", other,
	    made_id(id, &e[3]), made_key(key, 1));
	make_event(&e[4], 1111, 4, 6, tags);
	(void)snprintf(tags, sizeof(tags), "[['A','30617:%s:x'],['E','%s']]", other,
	    made_id(id, &e[4]));
	make_event(&e[5], 1111, 5, 7, tags); /* ours by the event that it answers */
	(void)snprintf(deny, sizeof(deny), "30617:%s:x\n%s", other, made_key(key, 3));
	assert_any_order_denying(e, 6, 3, deny);
	made_fini(e, 6);
}

static void
denied_authors_still_delete(void **state)
{
	struct gs_store *store = made_store();
	struct gs_policy before, after;
	struct gs_tally tally = { 0 };
	struct gs_event e[4] = { 0 };
	struct gs_event *first[] = { &e[0], &e[1] }, *then[] = { &e[3], &e[2] };
	char key[MADE_HEX], id[MADE_HEX], tags[300];

	(void)state;
	init_policy(&before);
	init_policy(&after);
	assert_true(gs_policy_add_deny(&after, gs_str_of(made_key(key, 2)), NULL));
	make_event(&e[0], 30617, 1, 10, "[['d','r']," LISTED "]");
	(void)snprintf(tags, sizeof(tags), "[['a','30617:%s:r']]", made_key(key, 1));
	make_event(&e[1], 1621, 2, 5, tags);
	make_event(&e[3], 1621, 2, 6, tags);
	(void)snprintf(tags, sizeof(tags), "[['e','%s']]", made_id(id, &e[1]));
	make_event(&e[2], 5, 2, 6, tags);
	take(store, &before, first, 2, &tally);
	assert_int_equal(tally.stored, 2);
	tally = (struct gs_tally){ 0 };
	take(store, &after, then, 2, &tally);
	assert_int_equal(tally.rejected, 1);
	assert_int_equal(tally.stored, 1);
	assert_int_equal(tally.removed, 1);
	gs_tally_fini(&tally);
	/* allowed again, what was rejected may come */
	tally = (struct gs_tally){ 0 };
	take(store, &before, &then[0], 1, &tally);
	assert_int_equal(tally.stored, 1);
	gs_policy_fini(&before);
	gs_policy_fini(&after);
	gs_store_close(store);
	made_fini(e, 4);
}

static void
old_waiters_are_freed_by_a_later_run(void **state)
{
	struct gs_store *store = made_store();
	struct gs_policy policy;
	struct gs_tally first = { 0 }, second = { 0 };
	struct gs_event e[2] = { 0 };
	struct gs_event *one = &e[0], *two = &e[1];
	char key[MADE_HEX], tags[200];

	(void)state;
	init_policy(&policy);
	make_event(&e[0], 30617, 1, 10, "[['d','r']," LISTED "]");
	(void)snprintf(tags, sizeof(tags), "[['a','30617:%s:r']]", made_key(key, 1));
	make_event(&e[1], 1621, 2, 5, tags);
	take(store, &policy, &two, 1, &first);
	assert_int_equal(first.waiting, 1);
	take(store, &policy, &two, 1, &second);
	assert_int_equal(second.duplicate, 1);
	take(store, &policy, &one, 1, &second);
	assert_int_equal(second.freed, 1);
	assert_int_equal(second.stored, 2);
	assert_int_equal(sum_of(&second), second.read + second.freed);
	gs_policy_fini(&policy);
	gs_store_close(store);
	made_fini(e, 2);
}

static void
changed_policy_judges_anew(void **state)
{
	struct gs_store *store = made_store();
	struct gs_policy policy, other;
	struct gs_tally tally = { 0 };
	struct gs_event e[3] = { 0 };
	struct gs_event *order[] = { &e[1], &e[0] };
	struct gs_event *third = &e[2];
	char key[MADE_HEX], tags[200];
	struct gs_err err;

	(void)state;
	init_policy(&policy);
	gs_policy_init(&other);
	assert_true(gs_policy_set_list(&other, gs_str_of("all"), &err));
	make_event(&e[0], 30617, 1, 10, "[['d','r']]");
	(void)snprintf(tags, sizeof(tags), "[['a','30617:%s:r']]", made_key(key, 1));
	make_event(&e[1], 1621, 2, 5, tags);
	make_event(&e[2], 1, 9, 5, "[]");
	take(store, &policy, order, 2, &tally);
	assert_int_equal(tally.waiting, 2);
	take(store, &other, &third, 1, &tally);
	assert_int_equal(tally.stored, 2);
	assert_int_equal(tally.freed, 2);
	gs_policy_fini(&policy);
	gs_policy_fini(&other);
	gs_store_close(store);
	made_fini(e, 3);
}

static void
without_policy_everything_is_stored_and_frees_later(void **state)
{
	struct gs_store *store = made_store();
	struct gs_policy policy;
	struct gs_tally tally = { 0 };
	struct gs_event e[3] = { 0 };
	struct gs_event *one = &e[0], *two = &e[1], *three = &e[2];
	char key[MADE_HEX], tags[200];

	(void)state;
	init_policy(&policy);
	make_event(&e[0], 30617, 1, 10, "[['d','r']," LISTED "]");
	(void)snprintf(tags, sizeof(tags), "[['a','30617:%s:r']]", made_key(key, 1));
	make_event(&e[1], 1621, 2, 5, tags);
	make_event(&e[2], 1, 3, 5, "[]");
	take(store, &policy, &two, 1, &tally);
	take(store, NULL, &one, 1, &tally);
	assert_int_equal(tally.waiting, 1);
	assert_int_equal(tally.stored, 1);
	take(store, &policy, &three, 1, &tally);
	assert_int_equal(tally.stored, 2);
	assert_int_equal(tally.freed, 1);
	take(store, NULL, &three, 1, &tally); /* what waited is let in */
	assert_int_equal(tally.stored, 3);
	gs_policy_fini(&policy);
	gs_store_close(store);
	made_fini(e, 3);
}

static void
waiting_stays_within_its_bytes(void **state)
{
	struct gs_store *store = made_store();
	struct gs_policy policy;
	struct gs_tally tally = { 0 };
	struct gs_event event = { 0 }, repo = { 0 };
	struct gs_event *order = &event, *announcement = &repo;
	struct gs_store_stat stat;
	char key[MADE_HEX], tags[300];
	struct gs_err err;
	struct gs_txn *txn;

	(void)state;
	init_policy(&policy);
	for (int i = 0; i < 50; i++) {
		(void)snprintf(tags, sizeof(tags), "[['a','30617:%s:r'],['n','%d']]",
		    made_key(key, 1), i);
		make_event(&event, 1621, 2, i, tags);
		take(store, &policy, &order, 1, &tally);
	}
	txn = gs_store_write(store, &err);
	assert_true(gs_store_trim_waiters(txn, 8192, NOW, false, &err));
	assert_true(gs_txn_commit(txn, &err));
	assert_true(gs_store_stat(store, &stat, &err));
	assert_true(stat.waiting_bytes <= 8192);
	assert_int_equal(stat.waiting, 50);
	gs_store_stat_fini(&stat);
	/* those of which the id alone is left are forgotten: they may come again */
	make_event(&repo, 30617, 1, 10, "[['d','r']," LISTED "]");
	take(store, &policy, &announcement, 1, &tally);
	assert_int_equal(tally.stored, 1 + tally.freed);
	assert_true(tally.freed > 5 && tally.freed < 50);
	make_event(&event, 1621, 2, 0, "[]");
	(void)snprintf(tags, sizeof(tags), "[['a','30617:%s:r'],['n','0']]", key);
	for (int i = 0; i < 50; i++) {
		(void)snprintf(tags, sizeof(tags), "[['a','30617:%s:r'],['n','%d']]", key,
		    i);
		make_event(&event, 1621, 2, i, tags);
		take(store, &policy, &order, 1, &tally);
	}
	assert_int_equal(tally.stored, 51);
	gs_policy_fini(&policy);
	gs_store_close(store);
	gs_event_fini(&event);
	gs_event_fini(&repo);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chains_are_freed),
		cmocka_unit_test(maintainers_are_found),
		cmocka_unit_test(announcement_that_drops_us_stands_in_the_way),
		cmocka_unit_test(deletions_wait_for_what_they_act_on),
		cmocka_unit_test(vanish_waits_for_its_signer),
		cmocka_unit_test(what_is_denied_never_comes),
		cmocka_unit_test(denied_authors_still_delete),
		cmocka_unit_test(old_waiters_are_freed_by_a_later_run),
		cmocka_unit_test(changed_policy_judges_anew),
		cmocka_unit_test(without_policy_everything_is_stored_and_frees_later),
		cmocka_unit_test(waiting_stays_within_its_bytes),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
