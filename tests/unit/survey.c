/* survey: who is followed, which roots count, which relays the caps let through. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "made.h"
#include "snapshot.h"
#include "survey.h"

#define NOW 1000000
#define CLONE "['clone','https://git.example/n/r.git']"
#define US "'wss://git.example'"

struct fixture {
	struct gs_store *store;
	struct gs_policy policy;
	struct gs_survey_options options;
	struct gs_buf cuts, notes; /* what was told, a line each */
};

static void
take_cut(const char *text, void *arg)
{
	struct fixture *fixture = arg;

	gs_buf_add_str(&fixture->cuts, text);
	gs_buf_add_char(&fixture->cuts, '\n');
}

/* "D follow: why(url or text) ..." */
static void
take_note(const struct gs_survey_note *note, void *arg)
{
	struct fixture *fixture = arg;
	size_t prefix = sizeof("30617:") - 1 + 65;

	gs_buf_add(&fixture->notes, note->ref.ptr + prefix, note->ref.len - prefix);
	gs_buf_printf(&fixture->notes, " %s %lld:", gs_follow_name(note->follow),
	    (long long)note->created_at);
	for (size_t i = 0; i < note->num_relays; i++) {
		const struct gs_survey_relay *relay = &note->relays[i];

		gs_buf_printf(&fixture->notes, " %s(", relay->why);
		if (relay->url != NULL)
			gs_buf_add_str(&fixture->notes, relay->url);
		else
			gs_buf_add(&fixture->notes, relay->text.ptr, relay->text.len);
		gs_buf_add_char(&fixture->notes, ')');
	}
	gs_buf_add_char(&fixture->notes, '\n');
}

static int
set_up(void **state)
{
	struct gs_store_options options = { .scratch = true };
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	struct gs_err err;

	assert_non_null(fixture);
	fixture->store = gs_store_open(NULL, &options, &err);
	assert_non_null(fixture->store);
	gs_policy_init(&fixture->policy);
	assert_true(gs_policy_add_service(&fixture->policy, GS_STR("git.example"), &err));
	fixture->options = (struct gs_survey_options){ .policy = &fixture->policy,
		.now_s = NOW,
		.caps = { GS_SURVEY_RELAYS_PER_REPO, GS_SURVEY_RELAYS_PER_AUTHOR,
		    GS_SURVEY_RELAYS, GS_SURVEY_ROOTS_PER_REPO },
		.cut = take_cut,
		.arg = fixture };
	*state = fixture;
	return 0;
}

static int
tear_down(void **state)
{
	struct fixture *fixture = *state;

	gs_store_close(fixture->store);
	gs_policy_fini(&fixture->policy);
	gs_buf_fini(&fixture->cuts);
	gs_buf_fini(&fixture->notes);
	free(fixture);
	return 0;
}

/* Stores an event of person who; id, if not NULL, gets its id. */
static void
put(struct fixture *fixture, unsigned kind, int who, int64_t created_at, const char *tags,
    char *id)
{
	struct gs_event event = GS_EVENT_INIT;
	struct gs_put how = { .now_s = NOW };
	enum gs_known known;
	struct gs_err err;
	struct gs_txn *txn = gs_store_write(fixture->store, &err);

	assert_non_null(txn);
	make_event(&event, kind, who, created_at, tags);
	assert_true(gs_store_put(txn, &event, &how, &known, &err));
	assert_true(gs_txn_commit(txn, &err));
	if (id != NULL)
		(void)made_id(id, &event);
	gs_event_fini(&event);
}

/* An announcement that lists us; more are further relays, "" or ",'wss://x'". */
static void
announce(struct fixture *fixture, int who, const char *d, int64_t created_at,
    const char *more)
{
	struct gs_buf tags = GS_BUF_INIT;

	gs_buf_printf(&tags, "[['d','%s']," CLONE ",['relays'," US "%s]]", d, more);
	put(fixture, 30617, who, created_at, tags.data, NULL);
	gs_buf_fini(&tags);
}

/* A root event of the repositories d of person 1. */
static void
put_root(struct fixture *fixture, unsigned kind, const char *d, int64_t created_at,
    char *id)
{
	struct gs_buf tags = GS_BUF_INIT;
	char key[MADE_HEX];

	gs_buf_printf(&tags, "[['a','30617:%s:%s']]", made_key(key, 1), d);
	put(fixture, kind, 2, created_at, tags.data, id);
	gs_buf_fini(&tags);
}

static struct gs_state *
survey(struct fixture *fixture)
{
	struct gs_err err = { .code = GS_OK };
	struct gs_state *state = gs_survey(fixture->store, &fixture->options, &err);

	if (state == NULL)
		fail_msg("%s", err.text);
	return state;
}

static char *
write_state(struct fixture *fixture)
{
	struct gs_state *state = survey(fixture);
	struct gs_buf text = GS_BUF_INIT;

	gs_snapshot_write(state, &text);
	gs_state_free(state);
	return gs_buf_take(&text);
}

/* How many repositories the relay has; -1: it is not synced. */
static int
count_repos(const struct gs_state *state, const char *url)
{
	const struct gs_relay_entry *relay = gs_map_get(state->relays, gs_str_of(url));

	return relay != NULL && relay->is_synced ? (int)relay->num_repos : -1;
}

static size_t
count_synced(const struct gs_state *state)
{
	const struct gs_map_entry *entry;
	size_t at = 0, num = 0;

	while ((entry = gs_map_next(state->relays, &at)) != NULL)
		num += ((const struct gs_relay_entry *)entry->value)->is_synced;
	return num;
}

static void
an_empty_store_is_an_empty_state(void **arg)
{
	struct fixture *fixture = *arg;
	char *text = write_state(fixture);

	assert_string_equal(text,
	    "{\"version\":1,\"service\":\"git.example\",\"created_at\":0,"
	    "\"bootstrap_relays\":[],\"following_repo_root_events\":{},"
	    "\"sync_relays\":{},\"relays\":{}}\n");
	free(text);
}

static void
roots_count_followed_or_not(void **arg)
{
	struct fixture *fixture = *arg;
	char issue[MADE_HEX], patch[MADE_HEX], key[MADE_HEX];
	struct gs_buf want = GS_BUF_INIT;
	char *text;

	announce(fixture, 1, "a:b", 100, ",'wss://r.example'");
	put_root(fixture, 1621, "a:b", 300, issue);
	put_root(fixture, 1617, "nobody", 200, patch);
	put_root(fixture, 1111, "a:b", 900, NULL); /* no root */
	put(fixture, 1621, 2, 901, "[['a','30618:00:x'],['a','no address']]", NULL);
	text = write_state(fixture);
	(void)made_key(key, 1);
	gs_buf_printf(&want,
	    "{\"version\":1,\"service\":\"git.example\",\"created_at\":300,"
	    "\"bootstrap_relays\":[],\"following_repo_root_events\":{"
	    "\"30617:%s:a:b\":[\"%s\"],\"30617:%s:nobody\":[\"%s\"]},"
	    "\"sync_relays\":{\"wss://r.example\":[\"30617:%s:a:b\"]},\"relays\":{}}\n",
	    key, issue, key, patch, key);
	assert_string_equal(text, want.data);
	gs_buf_fini(&want);
	free(text);
}

static void
what_expired_is_left_out(void **arg)
{
	struct fixture *fixture = *arg;
	struct gs_state *state;

	put(fixture, 30617, 1, 100,
	    "[['d','x']," CLONE ",['relays'," US ",'wss://r.example'],"
	    "['expiration','1000500']]",
	    NULL);
	state = survey(fixture);
	assert_int_equal(count_repos(state, "wss://r.example"), 1);
	gs_state_free(state);
	fixture->options.now_s = 1000501;
	state = survey(fixture);
	assert_int_equal(count_repos(state, "wss://r.example"), -1);
	assert_int_equal(state->created_at, 0);
	gs_state_free(state);
}

static void
relays_are_canonical_and_once(void **arg)
{
	struct fixture *fixture = *arg;
	struct gs_state *state;

	put(fixture, 30617, 1, 100,
	    "[['d','x']," CLONE ",['relays'," US
	    ",'wss://R.example/'],['relays','r.example:443','ws://10.0.0.1','ftp://x']]",
	    NULL);
	announce(fixture, 1, "y", 101, ",'https://r.example'");
	announce(fixture, 3, "z", 102, ",'wss://GIT.example:8443/x'"); /* our host */
	state = survey(fixture);
	assert_int_equal(count_repos(state, "wss://r.example"), 2);
	assert_int_equal(count_synced(state), 1);
	gs_state_free(state);
	fixture->options.allow_private = true;
	state = survey(fixture);
	assert_int_equal(count_repos(state, "ws://10.0.0.1"), 1);
	gs_state_free(state);
}

static void
bootstrap_relays_stay(void **arg)
{
	struct fixture *fixture = *arg;
	struct gs_url urls[2];
	struct gs_state *state;

	assert_true(gs_url_parse_relay(&urls[0], GS_STR("boot.example"), true, NULL));
	assert_true(gs_url_parse_relay(&urls[1], GS_STR("wss://git.example/x"), true,
	    NULL));
	fixture->options.bootstrap = urls;
	fixture->options.num_bootstrap = 2;
	fixture->options.caps.relays = 1;
	announce(fixture, 1, "x", 100, ",'wss://a.example','wss://boot.example'");
	state = survey(fixture);
	assert_int_equal(count_repos(state, "wss://boot.example"), 1); /* over the cap */
	assert_int_equal(count_repos(state, "wss://a.example"), 1);
	assert_int_equal(count_synced(state), 2);
	assert_string_equal(fixture->cuts.data,
	    "wss://git.example/x: our own relay, no bootstrap relay\n");
	gs_state_free(state);
}

static void
a_repository_keeps_its_newest_roots(void **arg)
{
	struct fixture *fixture = *arg;
	char ids[5][MADE_HEX];
	struct gs_state *state;
	struct gs_map_entry **sorted;
	const struct gs_repo *repo;
	uint8_t id[32];

	for (int i = 0; i < 5; i++)
		put_root(fixture, 1617, "x", 100 + (i + 3) % 5, ids[i]);
	fixture->options.caps.roots_per_repo = 2;
	state = survey(fixture);
	assert_int_equal(gs_map_count(state->repos), 1);
	sorted = gs_map_sorted(state->repos);
	repo = sorted[0]->value;
	free(sorted);
	assert_int_equal(repo->num_roots, 2);
	for (size_t i = 0; i < 2; i++) { /* dated 103 and 104 */
		assert_true(gs_hex_parse(id, 32, ids[i], 64));
		assert_true(memcmp(repo->roots[0], id, 32) == 0 ||
		    memcmp(repo->roots[1], id, 32) == 0);
		/* they were stored first and second */
		assert_int_equal(repo->sequences[memcmp(repo->roots[0], id, 32) == 0 ? 0
										     : 1],
		    i + 1);
	}
	assert_int_equal(state->created_at, 104);
	assert_non_null(strstr(fixture->cuts.data, "5 roots, the newest 2 are kept"));
	gs_state_free(state);
}

static void
a_repository_keeps_its_first_relays(void **arg)
{
	struct fixture *fixture = *arg;
	struct gs_state *state;

	fixture->options.caps.relays_per_repo = 2;
	announce(fixture, 1, "x", 100,
	    ",'nonsense://','wss://c.example','wss://c.example/','wss://b.example',"
	    "'wss://a.example'");
	state = survey(fixture);
	assert_int_equal(count_repos(state, "wss://c.example"), 1);
	assert_int_equal(count_repos(state, "wss://b.example"), 1);
	assert_int_equal(count_synced(state), 2);
	assert_non_null(strstr(fixture->cuts.data, "more than 2 relays"));
	gs_state_free(state);
}

static void
an_author_keeps_the_first_relays_of_his_refs(void **arg)
{
	struct fixture *fixture = *arg;
	struct gs_state *state;

	fixture->options.caps.relays_per_author = 2;
	announce(fixture, 1, "b", 100, ",'wss://c.example','wss://a.example'");
	announce(fixture, 1, "a", 200, ",'wss://b.example','wss://a.example'");
	announce(fixture, 2, "z", 300, ",'wss://c.example'");
	state = survey(fixture);
	assert_int_equal(count_repos(state, "wss://a.example"), 2);
	assert_int_equal(count_repos(state, "wss://b.example"), 1);
	assert_int_equal(count_repos(state, "wss://c.example"), 1); /* only the other's */
	assert_non_null(strstr(fixture->cuts.data, "author 0101"));
	gs_state_free(state);
}

static void
authors_share_the_room_in_turn(void **arg)
{
	struct fixture *fixture = *arg;
	struct gs_state *state;

	fixture->options.caps.relays = 4;
	announce(fixture, 1, "greedy", 100,
	    ",'wss://g1.example','wss://g2.example','wss://g3.example','wss://"
	    "g4.example'");
	announce(fixture, 2, "x", 100, ",'wss://g1.example','wss://x1.example'");
	announce(fixture, 3, "y", 100, ",'wss://y1.example'");
	state = survey(fixture);
	/* g1; x1, as g1 is chosen; y1; then g2 */
	assert_int_equal(count_synced(state), 4);
	assert_int_equal(count_repos(state, "wss://g1.example"), 2);
	assert_int_equal(count_repos(state, "wss://x1.example"), 1);
	assert_int_equal(count_repos(state, "wss://y1.example"), 1);
	assert_int_equal(count_repos(state, "wss://g2.example"), 1);
	assert_string_equal(fixture->cuts.data,
	    "relays: over the cap of 4, 2 are left out\n");
	gs_state_free(state);
}

static void
every_announcement_is_explained(void **arg)
{
	struct fixture *fixture = *arg;
	struct gs_state *state;

	fixture->options.explain = take_note;
	fixture->options.caps.relays_per_repo = 1;
	put(fixture, 30617, 1, 300, "[['d','b']," CLONE ",['relays','wss://x.example']]",
	    NULL);
	put(fixture, 30617, 1, 100,
	    "[['d','a']," CLONE ",['relays'," US ",'wss://x.example','x.example',"
	    "'wss://y.example']]",
	    NULL);
	put(fixture, 30617, 1, 200, "[['d']]", NULL);
	state = survey(fixture);
	assert_string_equal(fixture->notes.data,
	    " service-not-listed 200:\n"
	    "a followed 100: own(wss://git.example) used(wss://x.example) "
	    "twice(wss://x.example) over-cap(wss://y.example)\n"
	    "b relays-lacks-service 300: not-followed(wss://x.example)\n");
	gs_state_free(state);
}

static void
a_refused_relay_is_explained(void **arg)
{
	struct fixture *fixture = *arg;
	struct gs_state *state;

	fixture->options.explain = take_note;
	announce(fixture, 1, "a", 100, ",'ftp://x'");
	state = survey(fixture);
	assert_non_null(strstr(fixture->notes.data, "(ftp://x)\n"));
	gs_state_free(state);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(an_empty_store_is_an_empty_state),
		TEST(roots_count_followed_or_not),
		TEST(what_expired_is_left_out),
		TEST(relays_are_canonical_and_once),
		TEST(bootstrap_relays_stay),
		TEST(a_repository_keeps_its_newest_roots),
		TEST(a_repository_keeps_its_first_relays),
		TEST(an_author_keeps_the_first_relays_of_his_refs),
		TEST(authors_share_the_room_in_turn),
		TEST(every_announcement_is_explained),
		TEST(a_refused_relay_is_explained),
	};

	return cmocka_run_group_tests_name("survey", tests, NULL, NULL);
}
