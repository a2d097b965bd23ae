/* What we keep and what waits: every reason, against a view made of words. */
#include "policy_draft.h"

#include <sodium.h>
#include <stdlib.h>

#include "hex.h"

/* --- the view: what is known stands in a NULL-ended list of words --- */

static bool
is_known(void *arg, const char *fact, const uint8_t *key, struct gs_str rest)
{
	const char *const *known = arg;
	struct gs_buf word = GS_BUF_INIT;
	bool found = false;
	char digits[64];

	gs_buf_add_str(&word, fact);
	if (key != NULL) {
		(void)gs_hex_write(digits, key, 32);
		gs_buf_add(&word, digits, sizeof(digits));
	}
	gs_buf_add(&word, rest.ptr, rest.len);
	for (; *known != NULL && !found; known++)
		found = strcmp(*known, word.data) == 0;
	gs_buf_fini(&word);
	return found;
}

static bool
has_event(void *arg, const uint8_t id[static 32])
{
	return is_known(arg, "stands ", id, GS_STR(""));
}

static bool
had_event(void *arg, const uint8_t id[static 32])
{
	return has_event(arg, id) || is_known(arg, "stood ", id, GS_STR(""));
}

static bool
has_author(void *arg, const uint8_t pubkey[static 32])
{
	return is_known(arg, "author ", pubkey, GS_STR(""));
}

static bool
has_address(void *arg, const struct gs_address *address)
{
	struct gs_buf text = GS_BUF_INIT;
	bool found;

	gs_address_write(&text, address->kind, address->pubkey, address->d);
	found = is_known(arg, "address ", NULL, (struct gs_str){ text.data, text.len });
	gs_buf_fini(&text);
	return found;
}

static bool
is_followed(void *arg, struct gs_str ref)
{
	return is_known(arg, "followed ", NULL, ref);
}

static bool
is_maintainer(void *arg, const uint8_t pubkey[static 32], struct gs_str d)
{
	struct gs_buf rest = GS_BUF_INIT;
	bool found;

	gs_buf_add_char(&rest, ':');
	gs_buf_add(&rest, d.ptr, d.len);
	found =
	    is_known(arg, "maintainer ", pubkey, (struct gs_str){ rest.data, rest.len });
	gs_buf_fini(&rest);
	return found;
}

struct row {
	uint16_t kind;
	const char *tags[MAX_TAGS];
	const char *known[4];
	enum gs_verdict verdict;
	const char *reason;
	const char *grounds[6]; /* what they are hashes of */
};

static const struct row rows[] = {
	/* announcements */
	{ 30617, { "d repo", OUR_CLONE, OUR_RELAY }, { NULL }, GS_ACCEPT, "followed",
	    { NULL } },
	{ 30617, { "d repo" }, { "maintainer " KEY_A ":repo" }, GS_ACCEPT, "maintainer",
	    { NULL } },
	{ 30617, { "d repo" }, { "address " REPO_A }, GS_ACCEPT, "replaces", { NULL } },
	{ 30617, { "d repo", "a " REPO_B }, { "followed " REPO_B }, GS_ACCEPT,
	    "refers-repo", { NULL } },
	{ 30617, { "d repo", "q " ID_1 }, { "stands " ID_1 }, GS_ACCEPT, "refers-event",
	    { NULL } },
	{ 30617, { "d repo" },
	    { "maintainer " KEY_A ":other", "address 30618:" KEY_A ":repo" }, GS_WAIT,
	    "service-not-listed", { "m:" KEY_A ":repo", "a:" REPO_A } },
	{ 30617, { "d repo", OUR_CLONE }, { NULL }, GS_WAIT, "relays-lacks-service",
	    { "m:" KEY_A ":repo", "a:" REPO_A } },
	{ 30617, { "d repo", OUR_RELAY }, { NULL }, GS_WAIT, "clone-lacks-service",
	    { "m:" KEY_A ":repo", "a:" REPO_A } },
	{ 30617, { "d a:b::c", "a " REPO_B, "e " ID_1 }, { NULL }, GS_WAIT,
	    "service-not-listed",
	    { "m:" KEY_A ":a:b::c", "a:30617:" KEY_A ":a:b::c", "a:" REPO_B,
		"e:" ID_1 } },
	{ 30617, { NULL }, { NULL }, GS_WAIT, "service-not-listed",
	    { "m:" KEY_A ":", "a:30617:" KEY_A ":" } },
	/* states */
	{ 30618, { "d repo" }, { "maintainer " KEY_A ":repo" }, GS_ACCEPT, "maintainer",
	    { NULL } },
	{ 30618, { "d repo", "A " REPO_B }, { "followed " REPO_B }, GS_ACCEPT,
	    "refers-repo", { NULL } },
	{ 30618, { "d repo" }, { "address " REPO_A }, GS_WAIT, "not-maintainer",
	    { "m:" KEY_A ":repo" } },
	{ 30618, { "d repo", "e " ID_1 }, { NULL }, GS_WAIT, "not-maintainer",
	    { "m:" KEY_A ":repo", "e:" ID_1 } },
	/* all else: by reference */
	{ 1621, { "a " REPO_A }, { "followed " REPO_A }, GS_ACCEPT, "refers-repo",
	    { NULL } },
	{ 1621, { "a " REPO_A, "a " REPO_B }, { "followed " REPO_B }, GS_ACCEPT,
	    "refers-repo", { NULL } },
	{ 1, { "q " REPO_B }, { "followed " REPO_B }, GS_ACCEPT, "refers-repo",
	    { NULL } },
	{ 1111, { "E " ID_1, "e " ID_2 }, { "stands " ID_2 }, GS_ACCEPT, "refers-event",
	    { NULL } },
	{ 1, { "q " ID_1 }, { "stands " ID_1 }, GS_ACCEPT, "refers-event", { NULL } },
	{ 1621, { "a " REPO_A, "p " KEY_B }, { "address " REPO_A }, GS_WAIT,
	    "unknown-repo", { "a:" REPO_A } },
	{ 1111, { "A " REPO_A, "E " ID_1, "e " ID_1, "q " ID_2 }, { "stood " ID_1 },
	    GS_WAIT, "unknown-repo", { "a:" REPO_A, "e:" ID_1, "e:" ID_2 } },
	{ 7, { "e " ID_1, "e " ID_2, "e " ID_1 }, { NULL }, GS_WAIT, "unknown-event",
	    { "e:" ID_1, "e:" ID_2 } },
	/* only the first value counts, and only what can be right */
	{ 7, { "e x " ID_1 }, { "stands " ID_1 }, GS_WAIT, "nothing-of-ours", { NULL } },
	{ 7, { "e", "a", "q", "" }, { NULL }, GS_WAIT, "nothing-of-ours", { NULL } },
	{ 7, { "e AAAA" }, { NULL }, GS_WAIT, "nothing-of-ours", { NULL } },
	{ 7, { "a 30617", "a 30617:pk", "a x:" KEY_A ":d", "a 30618:" KEY_A ":repo" },
	    { "followed 30618:" KEY_A ":repo" }, GS_WAIT, "nothing-of-ours", { NULL } },
	{ 7, { "Q " ID_1, "p " KEY_A, "r " REPO_A }, { "stands " ID_1 }, GS_WAIT,
	    "nothing-of-ours", { NULL } },
	{ 7, { "a " ID_1, "e " REPO_A }, { "stands " ID_1, "followed " REPO_A }, GS_WAIT,
	    "nothing-of-ours", { NULL } },
	{ 0, { NULL }, { NULL }, GS_WAIT, "nothing-of-ours", { NULL } },
	/* deletions */
	{ 5, { "e " ID_1 }, { "stands " ID_1 }, GS_ACCEPT, "refers-event", { NULL } },
	{ 5, { "e " ID_1 }, { "stood " ID_1 }, GS_ACCEPT, "deletes", { NULL } },
	{ 5, { "a " REPO_A }, { "address " REPO_A }, GS_ACCEPT, "deletes", { NULL } },
	{ 5, { "a 30618:" KEY_A ":repo" }, { "address 30618:" KEY_A ":repo" }, GS_ACCEPT,
	    "deletes", { NULL } },
	{ 5, { "a " REPO_B }, { "followed " REPO_B }, GS_ACCEPT, "refers-repo",
	    { NULL } },
	{ 5, { "a " REPO_B }, { "address " REPO_B }, GS_WAIT, "unknown-target",
	    { "a:" REPO_B } },
	{ 5, { "a 30618:" KEY_B ":x" }, { "address 30618:" KEY_B ":x" }, GS_WAIT,
	    "nothing-of-ours", { NULL } },
	{ 5, { "e " ID_1, "a " REPO_A, "a 30618:" KEY_A ":x", "q " ID_2 },
	    { "stood " ID_2 }, GS_WAIT, "unknown-target",
	    { "e:" ID_1, "a:" REPO_A, "a:30618:" KEY_A ":x", "e:" ID_2 } },
	{ 5, { "k 1" }, { NULL }, GS_WAIT, "nothing-of-ours", { NULL } },
	/* requests to vanish */
	{ 62, { "relay ALL_RELAYS" }, { "author " KEY_A }, GS_ACCEPT, "vanish",
	    { NULL } },
	{ 62, { "relay wss://git.example.com/" }, { "author " KEY_A }, GS_ACCEPT,
	    "vanish", { NULL } },
	{ 62, { "relay ALL_RELAYS" }, { "author " KEY_B }, GS_WAIT, "unknown-author",
	    { "p:" KEY_A } },
	{ 62, { "relay ALL_RELAYS", "e " ID_1 }, { "stands " ID_1 }, GS_ACCEPT,
	    "refers-event", { NULL } },
	{ 62, { "relay ALL_RELAYS", "e " ID_1 }, { NULL }, GS_WAIT, "unknown-author",
	    { "p:" KEY_A, "e:" ID_1 } },
	{ 62, { "relay wss://other.example" }, { "author " KEY_A }, GS_WAIT,
	    "nothing-of-ours", { NULL } },
};

/* Denied: KEY_A's event (rows of by_author), or REPO_B and ID_2 (rows of others). */
static const struct row by_author[] = {
	{ 30617, { "d repo", OUR_CLONE, OUR_RELAY }, { NULL }, GS_REJECT, "denied",
	    { NULL } },
	{ 30617, { "d repo" }, { "address " REPO_A, "maintainer " KEY_A ":repo" },
	    GS_REJECT, "denied", { NULL } },
	{ 30618, { "d repo" }, { "maintainer " KEY_A ":repo" }, GS_REJECT, "denied",
	    { NULL } },
	{ 1621, { "a " REPO_B }, { "followed " REPO_B }, GS_REJECT, "denied", { NULL } },
	{ 5, { "e " ID_1 }, { "stood " ID_1, "author " KEY_A }, GS_ACCEPT, "deletes",
	    { NULL } },
	{ 5, { "a " REPO_A }, { "address " REPO_A, "author " KEY_A }, GS_ACCEPT,
	    "deletes", { NULL } },
	{ 5, { "e " ID_1 }, { "stands " ID_1 }, GS_REJECT, "denied", { NULL } },
	{ 5, { "e " ID_2, "a " REPO_B }, { "author " KEY_A, "followed " REPO_B },
	    GS_REJECT, "denied", { NULL } },
	{ 62, { "relay ALL_RELAYS" }, { "author " KEY_A }, GS_ACCEPT, "vanish",
	    { NULL } },
	{ 62, { "relay ALL_RELAYS" }, { NULL }, GS_REJECT, "denied", { NULL } },
	{ 62, { "relay wss://other.example" }, { "author " KEY_A }, GS_REJECT, "denied",
	    { NULL } },
};

static const struct row by_name[] = {
	{ 1621, { "a " REPO_B }, { NULL }, GS_REJECT, "denied", { NULL } },
	{ 1621, { "a " REPO_B, "A " REPO_B, "q " REPO_B }, { NULL }, GS_REJECT, "denied",
	    { NULL } },
	{ 1621, { "a " REPO_B, "a " REPO_A }, { NULL }, GS_WAIT, "unknown-repo",
	    { "a:" REPO_A } },
	{ 1621, { "a " REPO_B, "a " REPO_A }, { "followed " REPO_A }, GS_ACCEPT,
	    "refers-repo", { NULL } },
	/* it may be ours yet, by the event */
	{ 1111, { "A " REPO_B, "E " ID_1 }, { NULL }, GS_WAIT, "unknown-repo",
	    { "e:" ID_1 } },
	{ 1111, { "A " REPO_B, "E " ID_1 }, { "stands " ID_1 }, GS_ACCEPT, "refers-event",
	    { NULL } },
	{ 1111, { "E " ID_2 }, { NULL }, GS_REJECT, "denied", { NULL } },
	{ 1111, { "E " ID_2 }, { "stands " ID_2 }, GS_ACCEPT, "refers-event", { NULL } },
	{ 1111, { "A " REPO_B, "E " ID_2 }, { NULL }, GS_REJECT, "denied", { NULL } },
	{ 5, { "e " ID_2 }, { NULL }, GS_REJECT, "denied", { NULL } },
	{ 5, { "e " ID_2 }, { "stood " ID_2 }, GS_ACCEPT, "deletes", { NULL } },
	{ 30617, { "d repo", "a " REPO_B }, { NULL }, GS_WAIT, "service-not-listed",
	    { "m:" KEY_A ":repo", "a:" REPO_A } },
	{ 30617, { "d mine", OUR_CLONE, OUR_RELAY }, { NULL }, GS_REJECT, "denied",
	    { NULL } },
	{ 30617, { "d mine" }, { "maintainer " KEY_A ":mine" }, GS_REJECT, "denied",
	    { NULL } },
	{ 7, { "e x" }, { NULL }, GS_WAIT, "nothing-of-ours", { NULL } },
};

static bool
has_ground(const struct gs_answer *answer, const char *text)
{
	gs_ground ground;
	size_t i;

	crypto_hash_sha256(ground, (const unsigned char *)text, strlen(text));
	for (i = 0; i < answer->num_grounds; i++)
		if (memcmp(answer->grounds[i], ground, sizeof(ground)) == 0)
			return true;
	return false;
}

static void
check_row(const struct gs_policy *policy, const struct row *row, size_t at,
    struct gs_answer *answer)
{
	struct gs_policy_view view = { has_event, had_event, has_author, has_address,
		is_followed, is_maintainer, (void *)(uintptr_t)row->known };
	struct draft draft;
	size_t i;

	gs_policy_judge(policy, &view, make_event(&draft, row->kind, row->tags), answer);
	if (answer->verdict != row->verdict || strcmp(answer->reason, row->reason) != 0)
		fail_msg("row %zu: %d %s", at, (int)answer->verdict, answer->reason);
	for (i = 0; row->grounds[i] != NULL; i++)
		if (!has_ground(answer, row->grounds[i]))
			fail_msg("row %zu: not %s", at, row->grounds[i]);
	if (answer->num_grounds != i)
		fail_msg("row %zu: %zu grounds", at, answer->num_grounds);
}

static void
check_rows(const char *deny, const struct row *table, size_t num)
{
	struct gs_answer answer = { .verdict = GS_WAIT };
	struct gs_policy policy;
	size_t i;

	gs_policy_init(&policy);
	assert_true(gs_policy_add_service(&policy, GS_STR(US), NULL));
	assert_true(gs_policy_add_deny(&policy, gs_str_of(deny), NULL));
	for (i = 0; i < num; i++)
		check_row(&policy, &table[i], i, &answer);
	gs_answer_fini(&answer);
	gs_policy_fini(&policy);
}

static void
every_reason_has_its_case(void **state)
{
	(void)state;
	check_rows("", rows, LENGTH(rows));
}

static void
who_is_denied_may_only_take_away(void **state)
{
	(void)state;
	check_rows(KEY_A, by_author, LENGTH(by_author));
}

static void
what_names_only_the_denied_is_rejected(void **state)
{
	(void)state;
	check_rows(REPO_B "\nid:" ID_2 "\n30617:" KEY_A ":mine", by_name,
	    LENGTH(by_name));
}

/* Not even a deletion of theirs: it was named itself. */
static void
a_denied_id_is_rejected(void **state)
{
	static const char *const known[] = { "stood " ID_1, "author " KEY_A, NULL };
	const char *const tags[MAX_TAGS] = { "e " ID_1 };
	struct gs_policy_view view = { has_event, had_event, has_author, has_address,
		is_followed, is_maintainer, (void *)(uintptr_t)known };
	struct gs_answer answer = { .verdict = GS_WAIT };
	struct gs_policy policy;
	struct draft draft;

	(void)state;
	gs_policy_init(&policy);
	assert_true(gs_policy_add_deny(&policy, GS_STR("id:" ID_2), NULL));
	(void)make_event(&draft, 5, tags);
	memset(draft.event.id, 0x22, 32);
	gs_policy_judge(&policy, &view, &draft.event, &answer);
	assert_int_equal(answer.verdict, GS_REJECT);
	assert_string_equal(answer.reason, "denied");
	gs_answer_fini(&answer);
	gs_policy_fini(&policy);
}

static bool
is_word_at(const struct gs_answer *answer, size_t i, const char *text)
{
	return gs_str_is((struct gs_str){ answer->text.data + answer->word_at[i],
			     answer->word_len[i] },
	    text);
}

static void
grounds_are_told_in_words(void **state)
{
	static const char *const known[] = { NULL };
	const char *const tags[MAX_TAGS] = { "d r", "a " REPO_B, "e " ID_1, "a " REPO_B };
	struct gs_policy_view view = { has_event, had_event, has_author, has_address,
		is_followed, is_maintainer, (void *)(uintptr_t)known };
	struct gs_answer answer = { .wants_words = true };
	struct gs_policy policy;
	struct draft draft;

	(void)state;
	gs_policy_init(&policy);
	gs_policy_judge(&policy, &view, make_event(&draft, 30617, tags), &answer);
	assert_int_equal(answer.num_grounds, 4);
	assert_int_equal(answer.num_words, 4);
	assert_true(is_word_at(&answer, 0, "m:" KEY_A ":r"));
	assert_true(is_word_at(&answer, 1, "a:30617:" KEY_A ":r"));
	assert_true(is_word_at(&answer, 2, "a:" REPO_B));
	assert_true(is_word_at(&answer, 3, "e:" ID_1));
	gs_answer_fini(&answer);
	gs_policy_fini(&policy);
}

static void
many_references_are_no_burden(void **state)
{
	static const char *const known[] = { NULL };
	struct gs_policy_view view = { has_event, had_event, has_author, has_address,
		is_followed, is_maintainer, (void *)(uintptr_t)known };
	size_t num = 20000, i;
	struct gs_str *values = calloc(num * 2, sizeof(*values));
	struct gs_tag *tags = calloc(num, sizeof(*tags));
	struct gs_event event = { .kind = 1, .tags = tags, .num_tags = num };
	struct gs_answer answer = { .verdict = GS_WAIT };
	struct gs_policy policy;

	(void)state;
	assert_true(values != NULL && tags != NULL);
	for (i = 0; i < num; i++) {
		values[2 * i] = GS_STR("e");
		values[2 * i + 1] = i % 2 ? GS_STR(ID_1) : GS_STR(ID_2);
		tags[i] = (struct gs_tag){ &values[2 * i], 2 };
	}
	gs_policy_init(&policy);
	gs_policy_judge(&policy, &view, &event, &answer);
	assert_int_equal(answer.num_grounds, 2);
	gs_answer_fini(&answer);
	gs_policy_fini(&policy);
	free(values);
	free(tags);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_reason_has_its_case),
		cmocka_unit_test(who_is_denied_may_only_take_away),
		cmocka_unit_test(what_names_only_the_denied_is_rejected),
		cmocka_unit_test(a_denied_id_is_rejected),
		cmocka_unit_test(grounds_are_told_in_words),
		cmocka_unit_test(many_references_are_no_burden),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
