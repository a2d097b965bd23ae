/* waiting: what is offered, freed or removed is told once, after its commit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sodium.h>
#include <stdlib.h>

#include "made_store.h"
#include "waiting.h"

#define LISTED "['clone','https://git.example/n/r.git'],['relays','wss://git.example']"
#define FROM "wss://r.example"

struct teller {
	struct gs_store *store;
	struct gs_policy policy;
	struct gs_intake *intake;
	struct gs_tally tally;
	struct gs_buf told; /* a line each: "TAG RESULT REASON", of the event named so */
	struct gs_buf json; /* the last one */
	struct gs_event events[5];
	int64_t now_s;
};

static void
tell(const struct gs_decision *decision, void *arg)
{
	struct teller *teller = arg;
	size_t i;

	for (i = 0; i < 5; i++)
		if (memcmp(teller->events[i].id, decision->id, 32) == 0)
			break;
	gs_buf_printf(&teller->told, "%zu %s%s %s\n", i,
	    decision->tag == GS_TAG_FREED ? "freed " : "", gs_decision_result(decision),
	    decision->reason != NULL ? decision->reason : "-");
	if (i < 5 && decision->tag != GS_TAG_FREED) {
		assert_int_equal(decision->tag, 10 + i);
		assert_true(gs_str_is(decision->from, FROM));
	}
	gs_buf_clear(&teller->json);
	gs_decision_write(&teller->json, decision);
}

static void
open_teller(struct teller *teller)
{
	*teller = (struct teller){ .store = made_store(), .now_s = MADE_NOW };
	gs_policy_init(&teller->policy);
	assert_true(gs_policy_add_service(&teller->policy, GS_STR("git.example"), NULL));
	teller->intake = gs_intake_new(&teller->policy);
	gs_intake_set_decided(teller->intake, tell, teller);
}

static void
close_teller(struct teller *teller)
{
	gs_intake_free(teller->intake);
	gs_policy_fini(&teller->policy);
	gs_tally_fini(&teller->tally);
	gs_buf_fini(&teller->told);
	gs_buf_fini(&teller->json);
	made_fini(teller->events, 5);
	gs_store_close(teller->store);
}

static struct gs_txn *
begin(struct teller *teller)
{
	struct gs_err err;
	struct gs_txn *txn = gs_store_write(teller->store, &err);

	assert_non_null(txn);
	assert_true(gs_intake_begin(teller->intake, txn, teller->now_s, &err));
	return txn;
}

static void
give(struct teller *teller, int which)
{
	struct gs_origin origin = { GS_STR(FROM), 10 + (uint32_t)which };
	enum gs_known known;
	struct gs_err err;

	assert_true(gs_intake_offer(teller->intake, &teller->events[which], &origin,
	    &known, &err));
}

static void
end(struct teller *teller, struct gs_txn *txn)
{
	assert_true(gs_intake_trim(teller->intake, NULL));
	assert_true(gs_txn_commit(txn, NULL));
	assert_int_equal(teller->told.len, 0); /* nothing is told before its commit */
	gs_intake_settle(teller->intake, true, &teller->tally);
}

/* Offers these in one txn; what is told must be this. */
static void
assert_told(struct teller *teller, const char *which, const char *told)
{
	struct gs_txn *txn;

	gs_buf_clear(&teller->told);
	txn = begin(teller);
	for (; *which != '\0'; which++)
		give(teller, *which - '0');
	end(teller, txn);
	assert_string_equal(teller->told.data != NULL ? teller->told.data : "", told);
}

/* A chain: an issue in r, a comment on it, a comment on that. */
static void
make_chain(struct teller *teller)
{
	struct gs_event *e = teller->events;
	char key[MADE_HEX], id[MADE_HEX], tags[200];

	make_event(&e[0], 30617, 1, 10, "[['d','r']," LISTED "]");
	(void)snprintf(tags, sizeof(tags), "[['a','30617:%s:r']]", made_key(key, 1));
	make_event(&e[1], 1621, 2, 5, tags);
	(void)snprintf(tags, sizeof(tags), "[['E','%s']]", made_id(id, &e[1]));
	make_event(&e[2], 1111, 3, 6, tags);
	(void)snprintf(tags, sizeof(tags), "[['e','%s']]", made_id(id, &e[2]));
	make_event(&e[3], 1111, 4, 7, tags);
}

static void
a_chain_is_told_as_it_is_freed(void **state)
{
	struct teller teller;

	(void)state;
	open_teller(&teller);
	make_chain(&teller);
	assert_told(&teller, "3213",
	    "3 waiting unknown-event\n2 waiting unknown-event\n1 waiting unknown-repo\n"
	    "3 duplicate waiting\n");
	assert_told(&teller, "0",
	    "0 stored followed\n1 freed stored refers-repo\n"
	    "2 freed stored refers-event\n3 freed stored refers-event\n");
	assert_told(&teller, "01", "0 duplicate stored\n1 duplicate stored\n");
	close_teller(&teller);
}

static void
what_leaves_is_told(void **state)
{
	struct teller teller;
	struct gs_event *e = teller.events;
	char id[MADE_HEX], tags[200];

	(void)state;
	open_teller(&teller);
	make_chain(&teller);
	make_event(&e[2], 30617, 1, 20, "[['d','r']," LISTED ",['n','2']]");
	(void)snprintf(tags, sizeof(tags), "[['e','%s']]", made_id(id, &e[1]));
	make_event(&e[3], 5, 2, 6, tags);
	assert_told(&teller, "01", "0 stored followed\n1 stored refers-repo\n");
	assert_told(&teller, "2", "0 freed superseded superseded\n2 stored followed\n");
	assert_told(&teller, "3", "1 freed deleted deleted\n3 stored refers-event\n");
	assert_told(&teller, "1", "1 duplicate deleted\n");
	assert_told(&teller, "0", "0 duplicate superseded\n");
	close_teller(&teller);
}

static void
what_expires_is_told(void **state)
{
	struct teller teller;
	struct gs_event *e = teller.events;
	char key[MADE_HEX], tags[300];

	(void)state;
	open_teller(&teller);
	make_chain(&teller);
	(void)snprintf(tags, sizeof(tags), "[['a','30617:%s:r'],['expiration','%d']]",
	    made_key(key, 1), MADE_NOW + 5);
	make_event(&e[1], 1621, 2, 5, tags);
	(void)snprintf(tags, sizeof(tags), "[['a','30617:%s:r'],['expiration','%d']]",
	    key, MADE_NOW - 5);
	make_event(&e[2], 1621, 2, 5, tags);
	assert_told(&teller, "012",
	    "0 stored followed\n1 stored refers-repo\n2 expired expired\n");
	teller.now_s += 5;
	assert_told(&teller, "", "1 freed expired expired\n");
	close_teller(&teller);
}

static void
what_was_given_up_is_not_told(void **state)
{
	struct teller teller;
	struct gs_txn *txn;

	(void)state;
	open_teller(&teller);
	make_chain(&teller);
	txn = begin(&teller);
	give(&teller, 1);
	give(&teller, 0);
	gs_txn_end(txn);
	gs_intake_settle(teller.intake, false, &teller.tally);
	assert_int_equal(teller.told.len, 0);
	assert_told(&teller, "0", "0 stored followed\n");
	close_teller(&teller);
}

static void
a_changed_policy_is_told(void **state)
{
	struct teller teller;
	char key[MADE_HEX];

	(void)state;
	open_teller(&teller);
	make_chain(&teller);
	assert_told(&teller, "1", "1 waiting unknown-repo\n");
	assert_true(gs_policy_add_deny(&teller.policy, gs_str_of(made_key(key, 2)),
	    NULL));
	assert_told(&teller, "", "1 freed rejected denied\n");
	assert_told(&teller, "1", "1 duplicate rejected\n");
	close_teller(&teller);
}

static void
without_policy_there_is_no_reason(void **state)
{
	struct teller teller;

	(void)state;
	open_teller(&teller);
	make_chain(&teller);
	gs_intake_free(teller.intake);
	teller.intake = gs_intake_new(NULL);
	gs_intake_set_decided(teller.intake, tell, &teller);
	assert_told(&teller, "1", "1 stored -\n");
	assert_non_null(strstr(teller.json.data, "\"reason\":null,"));
	close_teller(&teller);
}

/* --- as lines --- */

static void
a_line_says_what_it_waits_for(void **state)
{
	struct gs_buf want = GS_BUF_INIT;
	struct teller teller;
	char id[MADE_HEX], author[MADE_HEX], key[MADE_HEX];

	(void)state;
	open_teller(&teller);
	make_chain(&teller);
	assert_told(&teller, "1", "1 waiting unknown-repo\n");
	gs_buf_printf(&want,
	    "{\"id\":\"%s\",\"kind\":1621,\"author\":\"%s\",\"relay\":\"" FROM
	    "\",\"result\":\"waiting\",\"reason\":\"unknown-repo\","
	    "\"waits_for\":[\"a:30617:%s:r\"]}",
	    made_id(id, &teller.events[1]), made_key(author, 2), made_key(key, 1));
	assert_string_equal(teller.json.data, want.data);
	gs_buf_fini(&want);
	close_teller(&teller);
}

static size_t
count_of(const char *text, const char *part)
{
	size_t num = 0;

	for (; (text = strstr(text, part)) != NULL; text++)
		num++;
	return num;
}

/* More than 20 grounds, of which one is long and splits a character where it is cut. */
static void
many_grounds_are_cut(void **state)
{
	struct gs_buf tags = GS_BUF_INIT;
	struct teller teller;
	char key[MADE_HEX];

	(void)state;
	open_teller(&teller);
	gs_buf_printf(&tags, "[['a','30617:%s:", made_key(key, 1));
	for (int i = 0; i < 300; i++)
		gs_buf_add_str(&tags, "\xc3\xa9");
	gs_buf_add_str(&tags, "']");
	for (int i = 0; i < 30; i++)
		gs_buf_printf(&tags, ",['e','%064x'],['e','%064x']", i, i);
	gs_buf_add_char(&tags, ']');
	make_event(&teller.events[0], 1621, 2, 5, tags.data);
	assert_told(&teller, "0", "0 waiting unknown-repo\n");
	assert_int_equal(count_of(teller.json.data, "\"e:"), 19);
	assert_int_equal(count_of(teller.json.data, "\"a:"), 1);
	assert_non_null(strstr(teller.json.data, "\xc3\xa9\",\"e:"));
	assert_non_null(strstr(teller.json.data, "],\"waits_for_more\":11}"));
	assert_true(teller.json.len < 512 + 20 * 80 + 400);
	gs_buf_fini(&tags);
	close_teller(&teller);
}

static void
a_line_of_little_is_whole(void **state)
{
	static const uint8_t id[32] = { 0xab };
	struct gs_decision decision = {
		.id = id, .until_s = 86400, .reason = "store-full"
	};
	struct gs_buf line = GS_BUF_INIT;

	(void)state;
	gs_decision_write(&line, &decision);
	assert_string_equal(line.data,
	    "{\"id\":"
	    "\"ab00000000000000000000000000000000000000000000000000000000000000\","
	    "\"kind\":null,\"author\":null,\"relay\":null,\"result\":\"skipped\","
	    "\"reason\":\"store-full\",\"waits_for\":[],\"until\":86400}");
	gs_buf_fini(&line);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_chain_is_told_as_it_is_freed),
		cmocka_unit_test(what_leaves_is_told),
		cmocka_unit_test(what_expires_is_told),
		cmocka_unit_test(what_was_given_up_is_not_told),
		cmocka_unit_test(a_changed_policy_is_told),
		cmocka_unit_test(without_policy_there_is_no_reason),
		cmocka_unit_test(a_line_says_what_it_waits_for),
		cmocka_unit_test(many_grounds_are_cut),
		cmocka_unit_test(a_line_of_little_is_whole),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
