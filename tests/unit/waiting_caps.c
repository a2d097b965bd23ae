/* waiting: the day's caps hold, also over a restart, and nothing is lost by them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sodium.h>
#include <stdlib.h>

#include "made_store.h"
#include "waiting.h"

#define DAY INT64_C(86400)
#define NOON (100 * DAY + DAY / 2)
#define A "wss://a.example"
#define B "wss://b.example"

struct desk {
	struct gs_store *store;
	struct gs_policy policy;
	struct gs_intake *intake;
	struct gs_tally tally;
	int64_t now_s;
	const char *reason; /* of the last decision */
	int64_t until_s;
	char repo[100];
};

static void
note(const struct gs_decision *decision, void *arg)
{
	struct desk *desk = arg;

	desk->reason = decision->reason;
	desk->until_s = decision->until_s;
}

/* As after a restart: only the store remembers. */
static void
reopen(struct desk *desk)
{
	gs_intake_free(desk->intake);
	desk->intake = gs_intake_new(&desk->policy);
	gs_intake_set_decided(desk->intake, note, desk);
}

static enum gs_known
offer_event(struct desk *desk, const struct gs_event *event, const char *from)
{
	struct gs_origin origin = { gs_str_of(from), 7 };
	struct gs_err err;
	struct gs_txn *txn = gs_store_write(desk->store, &err);
	enum gs_known known;

	assert_non_null(txn);
	assert_true(gs_intake_begin(desk->intake, txn, desk->now_s, &err));
	assert_true(gs_intake_offer(desk->intake, event, &origin, &known, &err));
	assert_true(gs_intake_trim(desk->intake, &err));
	assert_true(gs_txn_commit(txn, &err));
	gs_intake_settle(desk->intake, true, &desk->tally);
	return known;
}

static enum gs_known
offer(struct desk *desk, unsigned kind, int number, const char *tags, const char *from)
{
	struct gs_event event = GS_EVENT_INIT;
	enum gs_known known;

	make_event(&event, kind, 2, number, tags);
	known = offer_event(desk, &event, from);
	gs_event_fini(&event);
	return known;
}

/* An issue in the repository r of person 1. */
static enum gs_known
offer_issue(struct desk *desk, int number, const char *from)
{
	return offer(desk, 1621, number, desk->repo, from);
}

static void
open_desk(struct desk *desk, const struct gs_policy_caps *caps)
{
	struct gs_event event = GS_EVENT_INIT;
	char key[MADE_HEX];

	*desk = (struct desk){ .store = made_store(), .now_s = NOON };
	gs_policy_init(&desk->policy);
	assert_true(gs_policy_set_list(&desk->policy, GS_STR("all"), NULL));
	desk->policy.caps = *caps;
	reopen(desk);
	(void)snprintf(desk->repo, sizeof(desk->repo), "[['a','30617:%s:r']]",
	    made_key(key, 1));
	make_event(&event, 30617, 1, 1, "[['d','r']]");
	assert_int_equal(offer_event(desk, &event, ""), GS_KNOWN_STORED);
	make_event(&event, 30617, 1, 1, "[['d','s']]");
	assert_int_equal(offer_event(desk, &event, ""), GS_KNOWN_STORED);
	gs_event_fini(&event);
}

static void
close_desk(struct desk *desk)
{
	const struct gs_tally *t = &desk->tally;

	assert_int_equal(made_faults(desk->store), 0);
	assert_int_equal(t->read + t->freed,
	    t->stored + t->duplicate + t->replaced + t->deleted + t->expired +
		t->waiting + t->rejected + t->skipped);
	gs_intake_free(desk->intake);
	gs_tally_fini(&desk->tally);
	gs_policy_fini(&desk->policy);
	gs_store_close(desk->store);
}

static void
a_relay_has_its_share_of_a_day(void **state)
{
	struct gs_policy_caps caps = { .relay_events = 3 };
	struct desk desk;
	int64_t until_s = 0;

	(void)state;
	open_desk(&desk, &caps);
	for (int i = 0; i < 3; i++)
		assert_int_equal(offer_issue(&desk, i, A), GS_KNOWN_STORED);
	assert_int_equal(offer_issue(&desk, 0, A), GS_KNOWN_STORED); /* a duplicate */
	assert_false(gs_intake_is_capped(desk.intake, GS_STR(A), &until_s));
	assert_int_equal(offer_issue(&desk, 3, A), GS_UNKNOWN);
	assert_string_equal(desk.reason, "over-relay-cap");
	assert_int_equal(desk.until_s, 101 * DAY);
	assert_true(gs_intake_is_capped(desk.intake, GS_STR(A), &until_s));
	assert_int_equal(until_s, 101 * DAY);
	assert_false(gs_intake_is_capped(desk.intake, GS_STR(B), &until_s));
	/* a restart forgets nothing; others, and lines without relay, go on */
	reopen(&desk);
	assert_int_equal(offer_issue(&desk, 3, A), GS_UNKNOWN);
	assert_int_equal(offer_issue(&desk, 4, B), GS_KNOWN_STORED);
	assert_int_equal(offer_issue(&desk, 5, ""), GS_KNOWN_STORED);
	assert_int_equal(desk.tally.skipped, 2);
	desk.now_s = 101 * DAY;
	assert_int_equal(offer_issue(&desk, 3, A), GS_KNOWN_STORED);
	assert_false(gs_intake_is_capped(desk.intake, GS_STR(A), &until_s));
	close_desk(&desk);
}

static void
a_relay_has_its_bytes_of_a_day(void **state)
{
	struct gs_policy_caps caps = { .relay_bytes = 1000 };
	struct desk desk;
	int num = 0;

	(void)state;
	open_desk(&desk, &caps);
	while (offer_issue(&desk, num, A) == GS_KNOWN_STORED)
		num++;
	assert_in_range(num, 2, 4); /* of 300 bytes and more */
	assert_string_equal(desk.reason, "over-relay-cap");
	assert_int_equal(offer_issue(&desk, num, B), GS_KNOWN_STORED);
	close_desk(&desk);
}

static void
a_repository_has_its_share_of_a_day(void **state)
{
	struct gs_policy_caps caps = { .repo_events = 2 };
	char key[MADE_HEX], both[250], again[250];
	struct gs_event event = GS_EVENT_INIT;
	struct desk desk;

	(void)state;
	open_desk(&desk, &caps);
	(void)snprintf(both, sizeof(both), "[['a','30617:%s:r'],['A','30617:%s:s']]",
	    made_key(key, 1), key);
	(void)snprintf(again, sizeof(again), "[['a','30617:%s:s'],['q','30617:%s:s']]",
	    key, key);
	assert_int_equal(offer_issue(&desk, 0, A), GS_KNOWN_STORED);
	assert_int_equal(offer_issue(&desk, 1, B), GS_KNOWN_STORED);
	assert_int_equal(offer_issue(&desk, 2, A), GS_UNKNOWN);
	assert_string_equal(desk.reason, "over-repo-cap");
	reopen(&desk);
	assert_int_equal(offer_issue(&desk, 2, A), GS_UNKNOWN);
	/* it is another's, too, which has room for two; named twice is once */
	assert_int_equal(offer(&desk, 1621, 3, both, A), GS_KNOWN_STORED);
	assert_int_equal(offer(&desk, 1621, 4, again, A), GS_KNOWN_STORED);
	assert_int_equal(offer(&desk, 1621, 5, both, A), GS_UNKNOWN);
	/* what a repository can't do without is always taken */
	make_event(&event, 30617, 1, 9, "[['d','r'],['n','1']]");
	assert_int_equal(offer_event(&desk, &event, A), GS_KNOWN_STORED);
	make_event(&event, 30618, 1, 9, "[['d','r']]");
	assert_int_equal(offer_event(&desk, &event, A), GS_KNOWN_STORED);
	assert_int_equal(offer(&desk, 5, 9, desk.repo, A), GS_KNOWN_STORED);
	desk.now_s += DAY;
	assert_int_equal(offer_issue(&desk, 2, A), GS_KNOWN_STORED);
	gs_event_fini(&event);
	close_desk(&desk);
}

/* What waited comes in over the cap: it is unknown again, and may come another day. */
static void
what_is_freed_keeps_to_the_cap(void **state)
{
	struct gs_policy_caps caps = { .repo_events = 2 };
	struct gs_event event = GS_EVENT_INIT;
	char key[MADE_HEX], tags[120];
	struct desk desk;

	(void)state;
	open_desk(&desk, &caps);
	(void)snprintf(tags, sizeof(tags), "[['a','30617:%s:t']]", made_key(key, 1));
	for (int i = 0; i < 4; i++)
		assert_int_equal(offer(&desk, 1621, i, tags, A), GS_KNOWN_WAITING);
	make_event(&event, 30617, 1, 9, "[['d','t']]");
	assert_int_equal(offer_event(&desk, &event, A), GS_KNOWN_STORED);
	assert_int_equal(desk.tally.waiting, 0);
	assert_int_equal(desk.tally.skipped, 2);
	assert_int_equal(desk.tally.stored, 2 + 3);
	desk.now_s += DAY;
	for (int i = 0; i < 4; i++)
		(void)offer(&desk, 1621, i, tags, A);
	assert_int_equal(desk.tally.stored, 2 + 5);
	gs_event_fini(&event);
	close_desk(&desk);
}

static void
a_full_store_takes_nothing(void **state)
{
	struct gs_policy_caps caps = { .store_bytes = 300000 };
	struct gs_txn *txn;
	struct desk desk;
	int num = 0;

	(void)state;
	open_desk(&desk, &caps);
	while (num < 10000 && offer_issue(&desk, num, A) == GS_KNOWN_STORED)
		num++;
	assert_in_range(num, 50, 1000);
	assert_string_equal(desk.reason, "store-full");
	assert_int_equal(offer(&desk, 1, 1, "[]", A), GS_UNKNOWN);   /* not even judged */
	assert_int_equal(offer_issue(&desk, 0, A), GS_KNOWN_STORED); /* is there */
	txn = gs_store_read(desk.store, NULL);
	assert_in_range(gs_store_used_bytes(txn), 300000, 400000);
	gs_txn_end(txn);
	desk.policy.caps.store_bytes = 400000;
	assert_int_equal(offer_issue(&desk, num, A), GS_KNOWN_STORED);
	close_desk(&desk);
}

/* A txn that is given up, counts for nobody. */
static void
what_is_given_up_is_not_counted(void **state)
{
	struct gs_policy_caps caps = { .relay_events = 1 };
	struct gs_origin origin = { GS_STR(A), 0 };
	struct gs_event event = GS_EVENT_INIT;
	struct gs_txn *txn;
	enum gs_known known;
	struct desk desk;
	struct gs_err err;

	(void)state;
	open_desk(&desk, &caps);
	make_event(&event, 1621, 3, 1, desk.repo);
	txn = gs_store_write(desk.store, &err);
	assert_true(gs_intake_begin(desk.intake, txn, NOON, &err));
	assert_true(gs_intake_offer(desk.intake, &event, &origin, &known, &err));
	assert_int_equal(known, GS_KNOWN_STORED);
	gs_txn_end(txn);
	gs_intake_settle(desk.intake, false, &desk.tally);
	assert_int_equal(offer_event(&desk, &event, A), GS_KNOWN_STORED);
	assert_int_equal(offer_issue(&desk, 2, A), GS_UNKNOWN);
	gs_event_fini(&event);
	close_desk(&desk);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_relay_has_its_share_of_a_day),
		cmocka_unit_test(a_relay_has_its_bytes_of_a_day),
		cmocka_unit_test(a_repository_has_its_share_of_a_day),
		cmocka_unit_test(what_is_freed_keeps_to_the_cap),
		cmocka_unit_test(a_full_store_takes_nothing),
		cmocka_unit_test(what_is_given_up_is_not_counted),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
