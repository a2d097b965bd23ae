/* closure: who is followed, who maintains it, and what is remembered of that. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sodium.h>

#include "closure.h"
#include "made_store.h"

#define LISTED "['clone','https://git.example/n/r.git'],['relays','wss://git.example']"

static void
put(struct gs_txn *txn, int who, int64_t created_at, const char *tags)
{
	struct gs_event event = GS_EVENT_INIT;
	struct gs_put how = { .from = { "", 0 }, .now_s = MADE_NOW };
	enum gs_known known;

	make_event(&event, 30617, who, created_at, tags);
	assert_true(gs_store_put(txn, &event, &how, &known, NULL));
	gs_event_fini(&event);
}

/* Person who announces r, names one more, and lists us if it is number 1. */
static void
announce(struct gs_txn *txn, int who, int named, int64_t created_at)
{
	char key[MADE_HEX], tags[300];

	(void)snprintf(tags, sizeof(tags), "[['d','r'],['maintainers','%s']%s]",
	    made_key(key, named), who == 1 ? "," LISTED : "");
	put(txn, who, created_at, tags);
}

static bool
has(struct gs_closure *closure, struct gs_txn *txn, int who)
{
	uint8_t key[32];

	memset(key, who, sizeof(key));
	return gs_closure_has(closure, txn, key, GS_STR("r"));
}

static bool
follows(struct gs_closure *closure, struct gs_txn *txn, int who)
{
	char key[MADE_HEX], ref[100];

	(void)snprintf(ref, sizeof(ref), "30617:%s:r", made_key(key, who));
	return gs_closure_is_followed(closure, txn, gs_str_of(ref));
}

/* 1, 2, 3, 4 name one another in a row; these are members: "1234". */
static void
assert_members(const char *deny, const char *members)
{
	struct gs_store *store = made_store();
	struct gs_txn *txn = gs_store_write(store, NULL);
	struct gs_closure *closure;
	struct gs_policy policy;

	gs_policy_init(&policy);
	assert_true(gs_policy_add_service(&policy, GS_STR("git.example"), NULL));
	assert_true(gs_policy_add_deny(&policy, gs_str_of(deny), NULL));
	closure = gs_closure_new(&policy);
	for (int who = 1; who < 4; who++)
		announce(txn, who, who + 1, 10);
	for (int who = 1; who <= 5; who++)
		if (has(closure, txn, who) != (strchr(members, '0' + who) != NULL))
			fail_msg("denying %s: %d", deny, who);
	assert_int_equal(follows(closure, txn, 1), *members != '\0');
	assert_false(follows(closure, txn, 2));
	gs_closure_free(closure);
	gs_policy_fini(&policy);
	gs_txn_end(txn);
	gs_store_close(store);
}

static void
maintainers_name_further_ones(void **state)
{
	(void)state;
	assert_members("", "1234");
}

static void
the_denied_maintain_nothing(void **state)
{
	char key[MADE_HEX], deny[100];

	(void)state;
	made_key(key, 2);
	assert_members(key, "1"); /* nor do those that only they name */
	(void)snprintf(deny, sizeof(deny), "30617:%s:r", key);
	assert_members(deny, "12"); /* their announcement names nobody */
	(void)snprintf(deny, sizeof(deny), "30617:%s:other", key);
	assert_members(deny, "1234");
	(void)snprintf(deny, sizeof(deny), "id:%s", key);
	assert_members(deny, "1234"); /* no event of that id */
	made_key(key, 4);
	assert_members(key, "123");
	made_key(key, 1);
	assert_members(key, "");
	(void)snprintf(deny, sizeof(deny), "30617:%s:r", key);
	assert_members(deny, "");
}

static void
what_changed_is_forgotten_when_told(void **state)
{
	struct gs_store *store = made_store();
	struct gs_txn *txn = gs_store_write(store, NULL);
	struct gs_closure *closure;
	struct gs_policy policy;
	uint8_t key[32];

	(void)state;
	gs_policy_init(&policy);
	assert_true(gs_policy_add_service(&policy, GS_STR("git.example"), NULL));
	closure = gs_closure_new(&policy);
	announce(txn, 1, 2, 10);
	assert_true(has(closure, txn, 2));
	announce(txn, 1, 3, 20);
	assert_true(has(closure, txn, 2)); /* remembered */
	memset(key, 1, sizeof(key));
	gs_closure_forget(closure, key, GS_STR("r"));
	assert_false(has(closure, txn, 2));
	assert_true(has(closure, txn, 3) && follows(closure, txn, 1));
	put(txn, 1, 30, "[['d','r']]");
	assert_true(follows(closure, txn, 1) && has(closure, txn, 3));
	gs_closure_forget_all(closure);
	assert_false(follows(closure, txn, 1) || has(closure, txn, 3));
	gs_closure_free(closure);
	gs_policy_fini(&policy);
	gs_txn_end(txn);
	gs_store_close(store);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(maintainers_name_further_ones),
		cmocka_unit_test(the_denied_maintain_nothing),
		cmocka_unit_test(what_changed_is_forgotten_when_told),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
