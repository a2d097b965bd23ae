/* Whom we follow, which names are ours, and the fingerprint of all that. */
#include "policy_draft.h"

#include "hex.h"

/* --- following --- */

struct listing {
	const char *tags[MAX_TAGS];
	enum gs_follow follow;
};

static const struct listing listings[] = {
	{ { OUR_CLONE, OUR_RELAY }, GS_FOLLOWED },
	{ { "clone https://x.example/a.git https://GIT.example.com:443/a.git",
	      "relays wss://x.example git.example.com" },
	    GS_FOLLOWED }, /* any value */
	{ { "clone https://x.example/a.git", OUR_CLONE, "relays wss://x.example",
	      OUR_RELAY },
	    GS_FOLLOWED }, /* several tags */
	{ { "clone https://two.example:8443/base/a.git",
	      "relays wss://two.example:8443/base" },
	    GS_FOLLOWED },
	{ { OUR_CLONE }, GS_FOLLOW_NO_RELAY },
	{ { OUR_RELAY }, GS_FOLLOW_NO_CLONE },
	{ { OUR_CLONE, "relays wss://two.example:8443/base" },
	    GS_FOLLOW_NO_RELAY }, /* not one service */
	{ { "clone wss://git.example.com", "relays https://git.example.com" },
	    GS_FOLLOW_NEITHER },
	{ { "clone https://git.example.com.evil.x/",
	      "relays wss://evil.x/git.example.com" },
	    GS_FOLLOW_NEITHER },
	{ { "clone", "relays", "", "Clone https://git.example.com" }, GS_FOLLOW_NEITHER },
	{ { NULL }, GS_FOLLOW_NEITHER },
};

static void
a_repository_is_followed_when_it_lists_a_service(void **state)
{
	struct gs_policy policy;
	struct draft draft;
	size_t i;

	(void)state;
	gs_policy_init(&policy);
	assert_int_equal(gs_policy_follow(&policy,
			     make_event(&draft, 30617, listings[0].tags)),
	    GS_FOLLOW_NEITHER); /* no service yet */
	assert_true(gs_policy_add_service(&policy, GS_STR("https://" US), NULL));
	assert_true(gs_policy_add_service(&policy, GS_STR("two.example:8443/base"),
	    NULL));
	for (i = 0; i < LENGTH(listings); i++) {
		enum gs_follow follow = gs_policy_follow(&policy,
		    make_event(&draft, 30617, listings[i].tags));

		if (follow != listings[i].follow)
			fail_msg("listing %zu: %s", i, gs_follow_name(follow));
	}
	gs_policy_fini(&policy);
}

static enum gs_follow
follow_repo(const struct gs_policy *policy, const char *d)
{
	const char *const tags[MAX_TAGS] = { d };
	struct draft draft;

	return gs_policy_follow(policy, make_event(&draft, 30617, tags));
}

static void
other_rules_follow_by_list_or_all(void **state)
{
	struct gs_policy policy;

	(void)state;
	gs_policy_init(&policy);
	assert_true(gs_policy_set_list(&policy, GS_STR("all"), NULL));
	assert_int_equal(follow_repo(&policy, "d x"), GS_FOLLOWED);
	assert_true(gs_policy_set_list(&policy,
	    GS_STR("# ours\n\n  " REPO_A "\t\r\n" REPO_A "\n30617:" KEY_B ":x"), NULL));
	assert_int_equal(follow_repo(&policy, "d repo"), GS_FOLLOWED);
	assert_int_equal(follow_repo(&policy, "d x"), GS_FOLLOW_NOT_IN_LIST);
	assert_true(gs_policy_set_list(&policy, GS_STR(KEY_B "\n" KEY_A "\n"), NULL));
	assert_int_equal(follow_repo(&policy, "d x"), GS_FOLLOWED);
	assert_true(gs_policy_set_list(&policy, GS_STR(""), NULL));
	assert_int_equal(follow_repo(&policy, "d x"), GS_FOLLOW_NOT_IN_LIST);
	assert_true(gs_policy_set_list(&policy, GS_STR("listed"), NULL));
	assert_int_equal(follow_repo(&policy, "d x"), GS_FOLLOW_NEITHER);
	gs_policy_fini(&policy);
}

static void
a_list_takes_npubs(void **state)
{
	/* the key of NIP-19's own example */
	static const char npub[] =
	    "npub10elfcs4fr0l0r8af98jlmgdh9c8tcxjvz9qkw038js35mp4dma8qzvjptg";
	static const char hex[] =
	    "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e";
	struct gs_policy policy;

	(void)state;
	gs_policy_init(&policy);
	assert_true(gs_policy_set_list(&policy, gs_str_of(npub), NULL));
	assert_non_null(gs_map_find(policy.followed, gs_str_of(hex)));
	gs_policy_fini(&policy);
}

static void
a_bad_list_says_where_and_changes_nothing(void **state)
{
	static const char *const bad[] = { "\n\nx", "# a\n\nnpub1qqqq",
		KEY_A "\n\n30618:" KEY_A ":x",
		"\n\nAAAAaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" };
	struct gs_policy policy;
	struct gs_err err;
	size_t i;

	(void)state;
	gs_policy_init(&policy);
	assert_true(gs_policy_set_list(&policy, GS_STR("all"), NULL));
	for (i = 0; i < LENGTH(bad); i++) {
		assert_false(gs_policy_set_list(&policy, gs_str_of(bad[i]), &err));
		assert_int_equal(err.code, GS_EDATA);
		assert_non_null(strstr(err.text, "line 3: "));
		assert_int_equal(policy.rule, GS_FOLLOW_ALL);
	}
	gs_policy_fini(&policy);
}

/* --- own names --- */

static bool
is_own(const struct gs_policy *policy, const char *text)
{
	struct gs_url url;

	assert_true(gs_url_parse_relay(&url, gs_str_of(text), true, NULL));
	return gs_policy_is_own(policy, &url);
}

static void
own_urls_are_known_by_host(void **state)
{
	struct gs_policy policy;
	struct gs_err err;

	(void)state;
	gs_policy_init(&policy);
	assert_true(gs_policy_add_service(&policy, GS_STR(US ":8443/base"), NULL));
	assert_true(gs_policy_add_own_url(&policy, GS_STR("ws://127.0.0.1:7777"), NULL));
	assert_true(gs_policy_add_own_url(&policy, GS_STR("ws://127.0.0.1:7778"), NULL));
	assert_int_equal(policy.num_own_hosts, 1);
	assert_false(gs_policy_add_own_url(&policy, GS_STR("a b"), &err));
	assert_false(gs_policy_add_service(&policy, GS_STR("a@b"), &err));
	assert_true(is_own(&policy, "wss://GIT.example.com./x"));
	assert_true(is_own(&policy, "ws://127.0.0.1"));
	assert_false(is_own(&policy, "wss://sub.git.example.com"));
	assert_false(is_own(&policy, "wss://x.example/git.example.com"));
	gs_policy_fini(&policy);
}

static bool
is_vanish(const struct gs_policy *policy, uint16_t kind, const char *tag)
{
	const char *const tags[MAX_TAGS] = { "relay", "relay wss://x.example", tag };
	struct draft draft;

	return gs_policy_is_vanish(policy, make_event(&draft, kind, tags));
}

static void
requests_to_vanish_name_us(void **state)
{
	struct gs_policy policy;

	(void)state;
	gs_policy_init(&policy);
	assert_true(gs_policy_add_service(&policy, GS_STR(US "/base"), NULL));
	assert_true(gs_policy_add_own_url(&policy, GS_STR("wss://own.example"), NULL));
	assert_true(is_vanish(NULL, 62, "relay ALL_RELAYS"));
	assert_true(is_vanish(&policy, 62, "relay ALL_RELAYS"));
	assert_false(is_vanish(&policy, 62, "relay all_relays"));
	assert_false(is_vanish(&policy, 62, "x ALL_RELAYS"));
	assert_false(is_vanish(&policy, 63, "relay ALL_RELAYS"));
	assert_true(is_vanish(&policy, 62, "relay WSS://Git.Example.com:443/base/"));
	assert_true(is_vanish(&policy, 62, "relay https://git.example.com/base"));
	assert_false(is_vanish(&policy, 62, "relay wss://git.example.com/other"));
	assert_false(is_vanish(&policy, 62, "relay wss://git.example.com:8443/base"));
	assert_true(is_vanish(&policy, 62, "relay wss://own.example:7777/x"));
	assert_false(is_vanish(NULL, 62, "relay wss://own.example"));
	gs_policy_fini(&policy);
}

/* --- what is denied --- */

#define NOTE "note10elfcs4fr0l0r8af98jlmgdh9c8tcxjvz9qkw038js35mp4dma8qnx3ujq"
#define NPUB "npub10elfcs4fr0l0r8af98jlmgdh9c8tcxjvz9qkw038js35mp4dma8qzvjptg"
#define NAMED "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e"

static void
read_key(uint8_t key[static 32], const char *digits)
{
	assert_true(gs_hex_parse(key, 32, digits, 64));
}

static void
ids_authors_and_repos_are_denied(void **state)
{
	struct gs_policy policy;
	uint8_t id[32], key[32], named[32];

	(void)state;
	read_key(id, ID_1);
	read_key(key, KEY_B);
	read_key(named, NAMED);
	gs_policy_init(&policy);
	assert_false(gs_policy_denies_id(&policy, id));
	assert_true(gs_policy_add_deny(&policy, GS_STR("# nobody\n\n"), NULL));
	assert_null(policy.denied);
	assert_true(gs_policy_add_deny(&policy,
	    GS_STR("# these\n id:" ID_1 "\r\n\n" KEY_B "\n"), NULL));
	assert_true(gs_policy_add_deny(&policy, GS_STR(REPO_A), NULL));
	assert_true(gs_policy_denies_id(&policy, id));
	assert_false(gs_policy_denies_author(&policy, id)); /* an id is no key */
	assert_true(gs_policy_denies_author(&policy, key));
	assert_false(gs_policy_denies_id(&policy, key));
	assert_true(gs_policy_denies_repo(&policy, GS_STR(REPO_A)));
	assert_true(gs_policy_denies_repo(&policy, GS_STR(REPO_B))); /* its author */
	assert_false(gs_policy_denies_repo(&policy, GS_STR(REPO_A "x")));
	assert_false(gs_policy_denies_repo(&policy, GS_STR("no ref")));
	assert_true(gs_policy_add_deny(&policy, GS_STR(NOTE), NULL));
	assert_true(gs_policy_denies_id(&policy, named));
	assert_false(gs_policy_denies_author(&policy, named));
	assert_true(gs_policy_add_deny(&policy, GS_STR(NPUB), NULL));
	assert_true(gs_policy_denies_author(&policy, named));
	gs_policy_fini(&policy);
}

static void
a_wrong_deny_list_adds_nothing(void **state)
{
	static const char *const texts[] = { ID_1 "\nid:" ID_1 "x", "id:", "id:1",
		"nsec1", "30617:x:y", "30618:" KEY_A ":d", "a b", "listed" };
	struct gs_policy policy;
	struct gs_err err;
	size_t i;

	(void)state;
	gs_policy_init(&policy);
	for (i = 0; i < LENGTH(texts); i++) {
		assert_false(gs_policy_add_deny(&policy, gs_str_of(texts[i]), &err));
		assert_int_equal(err.code, GS_EDATA);
		assert_non_null(strstr(err.text,
		    i == 0 ? "line 2: not " : "line 1: not "));
		assert_null(policy.denied);
	}
	gs_policy_fini(&policy);
}

static void
denied_announcements_are_not_followed(void **state)
{
	static const char *const lists[] = { REPO_A, KEY_A,
		"id:0000000000000000000000000000000000000000000000000000000000000000" };
	const char *const tags[MAX_TAGS] = { "d repo", OUR_CLONE, OUR_RELAY };
	static const char *const rules[] = { "listed", "all", KEY_A };
	struct draft draft;
	size_t i, j;

	(void)state;
	for (i = 0; i < LENGTH(lists); i++)
		for (j = 0; j < LENGTH(rules); j++) {
			const struct gs_event *event = make_event(&draft, 30617, tags);
			struct gs_policy policy;

			gs_policy_init(&policy);
			assert_true(gs_policy_add_service(&policy, GS_STR(US), NULL));
			assert_true(gs_policy_set_list(&policy, gs_str_of(rules[j]),
			    NULL));
			assert_int_equal(gs_policy_follow(&policy, event), GS_FOLLOWED);
			assert_true(gs_policy_add_deny(&policy, gs_str_of(lists[i]),
			    NULL));
			assert_int_equal(gs_policy_follow(&policy, event),
			    GS_FOLLOW_DENIED);
			gs_policy_fini(&policy);
		}
	assert_string_equal(gs_follow_name(GS_FOLLOW_DENIED), "denied");
}

/* --- fingerprint --- */

/* Services, own URLs and list lines, each NULL-ended. */
struct recipe {
	const char *services[3];
	const char *own[3];
	const char *list;
	const char *deny; /* or NULL */
	struct gs_policy_caps caps;
};

static void
fingerprint(const struct recipe *recipe, uint8_t out[static 32])
{
	struct gs_policy policy;
	size_t i;

	gs_policy_init(&policy);
	for (i = 0; recipe->services[i] != NULL; i++)
		assert_true(gs_policy_add_service(&policy, gs_str_of(recipe->services[i]),
		    NULL));
	for (i = 0; recipe->own[i] != NULL; i++)
		assert_true(gs_policy_add_own_url(&policy, gs_str_of(recipe->own[i]),
		    NULL));
	assert_true(gs_policy_set_list(&policy, gs_str_of(recipe->list), NULL));
	if (recipe->deny != NULL)
		assert_true(gs_policy_add_deny(&policy, gs_str_of(recipe->deny), NULL));
	policy.caps = recipe->caps;
	gs_policy_fingerprint(&policy, out);
	gs_policy_fini(&policy);
}

static void
a_fingerprint_covers_all_but_the_order(void **state)
{
	static const struct recipe same[] = {
		{ { "a.example", "b.example" }, { "c.example", "d.example" },
		    KEY_A "\n" KEY_B, KEY_A "\nid:" ID_1, { 1, 2, 3, 4 } },
		{ { "https://B.example", "a.example:80" },
		    { "wss://d.example/x", "c.example" },
		    "# x\n" KEY_B "\n" KEY_A "\n" KEY_B, "id:" ID_1 "\n#\n" KEY_A,
		    { 1, 2, 3, 4 } },
	};
	static const struct recipe others[] = {
		{ { "a.example", NULL }, { NULL }, "listed", NULL, { 0 } },
		{ { "a.example", NULL }, { NULL }, "all", NULL, { 0 } },
		{ { "a.example", NULL }, { NULL }, "", NULL, { 0 } },
		{ { "a.example", NULL }, { NULL }, KEY_A, NULL, { 0 } },
		{ { "a.example", NULL }, { "b.example" }, "listed", NULL, { 0 } },
		{ { "a.example", "b.example" }, { NULL }, "listed", NULL, { 0 } },
		{ { "a.example:8080", NULL }, { NULL }, "listed", NULL, { 0 } },
		{ { NULL }, { NULL }, "listed", NULL, { 0 } },
		{ { NULL }, { "a.example" }, "listed", NULL, { 0 } },
		{ { "a.example", NULL }, { NULL }, "listed", KEY_A, { 0 } },
		{ { "a.example", NULL }, { NULL }, "listed", "id:" KEY_A, { 0 } },
		{ { "a.example", NULL }, { NULL }, KEY_A, KEY_A, { 0 } },
		{ { "a.example", NULL }, { NULL }, "listed", NULL, { 1, 0, 0, 0 } },
		{ { "a.example", NULL }, { NULL }, "listed", NULL, { 0, 1, 0, 0 } },
		{ { "a.example", NULL }, { NULL }, "listed", NULL, { 0, 0, 1, 0 } },
		{ { "a.example", NULL }, { NULL }, "listed", NULL, { 0, 0, 0, 1 } },
	};
	uint8_t all[LENGTH(others) + 2][32];
	size_t i, j;

	(void)state;
	for (i = 0; i < LENGTH(others); i++)
		fingerprint(&others[i], all[i]);
	fingerprint(&same[0], all[i]);
	fingerprint(&same[1], all[i + 1]);
	assert_memory_equal(all[i], all[i + 1], 32);
	for (i = 0; i <= LENGTH(others); i++)
		for (j = 0; j < i; j++)
			assert_memory_not_equal(all[i], all[j], 32);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_repository_is_followed_when_it_lists_a_service),
		cmocka_unit_test(other_rules_follow_by_list_or_all),
		cmocka_unit_test(a_list_takes_npubs),
		cmocka_unit_test(a_bad_list_says_where_and_changes_nothing),
		cmocka_unit_test(own_urls_are_known_by_host),
		cmocka_unit_test(requests_to_vanish_name_us),
		cmocka_unit_test(ids_authors_and_repos_are_denied),
		cmocka_unit_test(a_wrong_deny_list_adds_nothing),
		cmocka_unit_test(denied_announcements_are_not_followed),
		cmocka_unit_test(a_fingerprint_covers_all_but_the_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
