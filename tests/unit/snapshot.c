/* The state file: exact bytes out, and of what comes in all or a place. */
#include <setjmp.h>
#include <sodium.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "snapshot.h"

#define PK "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define ID1 "1111111111111111111111111111111111111111111111111111111111111111"
#define ID2 "2222222222222222222222222222222222222222222222222222222222222222"
#define REF(d) "30617:" PK ":" d

#define HEAD "{\"version\":1,\"service\":\"git.example.com\",\"created_at\":5"
#define MAPS ",\"following_repo_root_events\":{},\"sync_relays\":{}"

static struct gs_state *
parse(const char *text, struct gs_err *err)
{
	*err = (struct gs_err){ GS_OK, "" };
	return gs_snapshot_parse(text, strlen(text), err);
}

static void
assert_reads_as(const char *text, const char *want)
{
	struct gs_buf buf = GS_BUF_INIT;
	struct gs_err err;
	struct gs_state *state = parse(text, &err);

	if (state == NULL)
		print_error("%s\n", err.text);
	assert_non_null(state);
	gs_snapshot_write(state, &buf);
	assert_string_equal(buf.data, want);
	gs_buf_fini(&buf);
	gs_state_free(state);
}

static void
assert_refused(const char *text, const char *why)
{
	struct gs_err err;
	struct gs_state *state = parse(text, &err);

	if (state != NULL || strstr(err.text, why) == NULL)
		print_error("%.300s\ngot:  %s\nwant: %s\n", text, err.text, why);
	assert_null(state);
	assert_int_equal(err.code, GS_EDATA);
	assert_non_null(strstr(err.text, why));
}

static void
add_root(struct gs_repo *repo, int byte)
{
	uint8_t id[32];

	memset(id, byte, sizeof(id));
	gs_repo_add_root(repo, id);
}

static void
everything_has_its_place(void **arg)
{
	struct gs_state *state = gs_state_new();
	struct gs_repo *x = gs_state_add_repo(state, GS_STR(REF("x")));
	struct gs_repo *y = gs_state_add_repo(state, GS_STR(REF("y")));
	struct gs_relay_entry *r = gs_state_add_relay(state, GS_STR("wss://r.example"));
	struct gs_relay_entry *b = gs_state_add_relay(state, GS_STR("wss://b.example"));
	struct gs_relay_status *status = gs_relay_add_status(r);
	struct gs_buf buf = GS_BUF_INIT;

	(void)arg;
	gs_state_add_service(state, GS_STR("git.example.com"));
	gs_state_add_service(state, GS_STR("git.example.org/base"));
	state->created_at = 1767000000;
	add_root(x, 0x22);
	add_root(x, 0x11);
	add_root(x, 0x22);
	gs_relay_add_repo(r, y);
	gs_relay_add_repo(r, x);
	b->is_bootstrap = true;
	(void)gs_relay_add_status(b);
	status->status = strdup("backoff");
	status->failures = 0;
	status->read_until = 10;
	status->last_success = 11;
	status->last_full_sync = 12;
	gs_status_add_pending(status, GS_STR(REF("y")));
	gs_snapshot_write(state, &buf);
	assert_string_equal(buf.data,
	    "{\"version\":1,\"service\":\"git.example.com\","
	    "\"services\":[\"git.example.com\",\"git.example.org/base\"],"
	    "\"created_at\":1767000000,\"bootstrap_relays\":[\"wss://b.example\"],"
	    "\"following_repo_root_events\":{\"" REF(
		"x") "\":[\"" ID1 "\",\"" ID2 "\"]},"
		     "\"sync_relays\":{\"wss://b.example\":[],"
		     "\"wss://r.example\":[\"" REF("x") "\",\"" REF(
			 "y") "\"]},"
			      "\"relays\":{\"wss://b.example\":{},"
			      "\"wss://"
			      "r.example\":{\"status\":\"backoff\",\"failures\":0,\"read_"
			      "until\":10,"
			      "\"last_success\":11,\"last_full_sync\":12,\"pending\":["
			      "\"" REF("y") "\"]}}}\n");
	assert_reads_as(buf.data, buf.data);
	gs_buf_fini(&buf);
	gs_state_free(state);
}

static void
an_empty_state_is_whole(void **arg)
{
	struct gs_state *state = gs_state_new();
	struct gs_buf buf = GS_BUF_INIT;

	(void)arg;
	gs_snapshot_write(state, &buf);
	assert_string_equal(buf.data,
	    "{\"version\":1,\"service\":\"\",\"created_at\":0,\"bootstrap_relays\":[],"
	    "\"following_repo_root_events\":{},\"sync_relays\":{},\"relays\":{}}\n");
	assert_reads_as(buf.data, buf.data);
	gs_buf_fini(&buf);
	gs_state_free(state);
}

#define EMPTY HEAD ",\"bootstrap_relays\":[]" MAPS ",\"relays\":{}}\n"

static void
optional_members_may_be_absent(void **arg)
{
	(void)arg;
	assert_reads_as(HEAD MAPS "}", EMPTY);
	assert_reads_as(HEAD MAPS ",\"later\":[{\"a\":1}],\"relays\":{}}", EMPTY);
	assert_reads_as(HEAD ",\"services\":[]" MAPS "}", EMPTY);
}

static void
blanks_do_not_matter(void **arg)
{
	(void)arg;
	assert_reads_as("{\r\n  \"created_at\": 5,\r\n\t\"version\": 1,\r\n"
			"  \"sync_relays\": {},\r\n  \"following_repo_root_events\": { "
			"},\r\n"
			"  \"service\": \"git.example.com\"\r\n}\r\n\r\n",
	    EMPTY);
}

static void
lists_are_put_in_order(void **arg)
{
	(void)arg;
	assert_reads_as(HEAD
	    ",\"following_repo_root_events\":{\"" REF(
		"b") "\":[\"" ID2 "\",\"" ID1 "\",\"" ID2
		     "\"],\"" REF(
			 "a") "\":[]},"
			      "\"sync_relays\":{\"wss://z\":[\"" REF("b") "\",\"" REF(
				  "a") "\",\"" REF("b") "\"],\"wss://a\":[]}}",
	    HEAD ",\"bootstrap_relays\":[],\"following_repo_root_events\":{\"" REF(
		"b") "\":[\"" ID1 "\",\"" ID2 "\"]},\"sync_relays\":{\"wss://a\":[],"
		     "\"wss://z\":[\"" REF("a") "\",\"" REF("b") "\"]},\"relays\":{}}\n");
}

static void
spellings_of_a_relay_are_merged(void **arg)
{
	(void)arg;
	assert_reads_as(HEAD
	    ",\"bootstrap_relays\":[\"WSS://A.example\",\"wss://a.example:443/\"],"
	    "\"following_repo_root_events\":{},"
	    "\"sync_relays\":{\"wss://a.example/\":[\"" REF(
		"b") "\"],"
		     "\"a.example\":[\"" REF("a") "\",\"" REF(
			 "b") "\"]},"
			      "\"relays\":{\"wss://"
			      "a.example\":{\"failures\":1,\"status\":\"dead\"},"
			      "\"wss://a.example/"
			      "\":{\"failures\":2,\"status\":\"healthy\"}}}",
	    HEAD ",\"bootstrap_relays\":[\"wss://a.example\"],"
		 "\"following_repo_root_events\":{},"
		 "\"sync_relays\":{\"wss://a.example\":[\"" REF("a") "\",\"" REF(
		     "b") "\"]},"
			  "\"relays\":{\"wss://a.example\":"
			  "{\"status\":\"healthy\",\"failures\":2}}}\n");
}

static void
a_bootstrap_relay_is_always_synced(void **arg)
{
	(void)arg;
	assert_reads_as(HEAD ",\"bootstrap_relays\":[\"wss://b\"]" MAPS "}",
	    HEAD ",\"bootstrap_relays\":[\"wss://b\"],\"following_repo_root_events\":{},"
		 "\"sync_relays\":{\"wss://b\":[]},\"relays\":{}}\n");
}

static void
private_relays_are_let_through(void **arg)
{
	(void)arg;
	assert_reads_as(HEAD
	    ",\"following_repo_root_events\":{},"
	    "\"sync_relays\":{\"ws://127.0.0.1:7777\":[],\"ws://localhost\":[]}}",
	    HEAD ",\"bootstrap_relays\":[],\"following_repo_root_events\":{},"
		 "\"sync_relays\":{\"ws://127.0.0.1:7777\":[],\"ws://localhost\":[]},"
		 "\"relays\":{}}\n");
}

static void
names_of_any_kind_survive(void **arg)
{
	static const char text[] = HEAD
	    ",\"bootstrap_relays\":[],\"following_repo_root_events\":{"
	    "\"" REF("") "\":[\"" ID1 "\"],"
			 "\"" REF("a:b::c") "\":[\"" ID1 "\"],"
					    "\"" REF(
						"line\\nquote\\\"back\\\\nul\\u0000bell\\"
						"u0007") "\":[\"" ID1 "\"],"
							 "\"" REF(
							     "\xc3\xa9\xf0\x9f\x9a\x80"
							     "\x7f") "\":[\"" ID1 "\"]},"
								     "\"sync_relays\":{},"
								     "\"relays\":{}}\n";

	(void)arg;
	assert_reads_as(text, text);
	/* the same d in escapes */
	assert_reads_as(HEAD ",\"following_repo_root_events\":{\"" REF(
			    "\\ud83d\\ude80\\u002f") "\":[\"" ID1
						     "\"]},\"sync_relays\":{}}",
	    HEAD ",\"bootstrap_relays\":[],\"following_repo_root_events\":{\"" REF(
		"\xf0\x9f\x9a\x80/") "\":[\"" ID1
				     "\"]},\"sync_relays\":{},\"relays\":{}}\n");
}

static void
services_are_united(void **arg)
{
	(void)arg;
	assert_reads_as(HEAD ",\"services\":[\"b.example\",\"git.example.com\"]" MAPS "}",
	    "{\"version\":1,\"service\":\"git.example.com\","
	    "\"services\":[\"git.example.com\",\"b.example\"],\"created_at\":5,"
	    "\"bootstrap_relays\":[]" MAPS ",\"relays\":{}}\n");
}

struct refusal {
	const char *text, *why;
};

static void
assert_all_refused(const struct refusal *rows, size_t num)
{
	size_t i;

	for (i = 0; i < num; i++)
		assert_refused(rows[i].text, rows[i].why);
}

#define ASSERT_ALL_REFUSED(rows) assert_all_refused(rows, sizeof(rows) / sizeof(*rows))

static void
what_is_no_json_is_refused(void **arg)
{
	static const struct refusal rows[] = {
		{ "", "line 1 column 1" },
		{ "  \n ", "line 2" },
		{ "\xef\xbb\xbf" HEAD MAPS "}", "line 1 column 1" },
		{ HEAD MAPS, "line 1" },
		{ HEAD ",\n\"sync_rel", "line 2" },
		{ HEAD MAPS "}\n{}", "line 2 column 1" },
		{ HEAD MAPS ",}", "line 1" },
		{ HEAD ",\n\"service\":\"twice.example\"" MAPS "}", "line 2" },
		{ HEAD ",\"sync_relays\":{\"wss://a\":[],\n\"wss://a\":[]}}", "line 2" },
		{ HEAD ",\"following_repo_root_events\":{},\"sync_relays\":{\n\"wss://"
		       "a\\ud800\":[]}}",
		    "line 2" },
		{ HEAD MAPS ",\"x\":\"\xff\"}", "line 1" },
		{ HEAD MAPS ",\"x\":NaN}", "line 1" },
		{ "{\"version\":1.0}", "line 1 column 12" },
	};

	(void)arg;
	ASSERT_ALL_REFUSED(rows);
}

static void
deep_nesting_is_refused(void **arg)
{
	struct gs_buf buf = GS_BUF_INIT;
	int i;

	(void)arg;
	gs_buf_add_str(&buf, HEAD MAPS ",\"x\":");
	for (i = 0; i < 100000; i++)
		gs_buf_add_char(&buf, '[');
	assert_refused(buf.data, "line 1 column");
	gs_buf_fini(&buf);
}

static void
wrong_headings_are_refused(void **arg)
{
	static const struct refusal rows[] = {
		{ "[]", "not an object" },
		{ "null", "not an object" },
		{ "{}", "version: missing" },
		{ "{\"version\":\"1\"}", "version: missing or not a number" },
		{ "{\"version\":2}", "version: 2 is not 1, made by a newer grasp-sync?" },
		{ "{\"version\":0}", "version: 0 is not 1" },
		{ "{\"version\":1}", "service: missing" },
		{ "{\"version\":1,\"service\":[]}", "service: missing or not a string" },
		{ "{\"version\":1,\"service\":\"a\"}", "created_at: missing" },
		{ "{\"version\":1,\"service\":\"a\",\"created_at\":\"5\"}",
		    "created_at:" },
		{ "{\"version\":1,\"service\":\"a\",\"created_at\":-5}", "created_at:" },
		{ HEAD "}", "following_repo_root_events: missing" },
		{ HEAD ",\"following_repo_root_events\":{}}", "sync_relays: missing" },
		{ HEAD ",\"sync_relays\":{}}", "following_repo_root_events: missing" },
	};

	(void)arg;
	ASSERT_ALL_REFUSED(rows);
}

#define ROOTS(map) HEAD ",\"sync_relays\":{},\"following_repo_root_events\":" map "}"

static void
wrong_roots_are_refused(void **arg)
{
	static const struct refusal rows[] = {
		{ ROOTS("[]"), "following_repo_root_events: not an object" },
		{ ROOTS("null"), "following_repo_root_events: not an object" },
		{ ROOTS("{\"x\":[]}"),
		    "following_repo_root_events: x: not a repository reference" },
		{ ROOTS("{\"\":[]}"),
		    "following_repo_root_events: \"\": not a repository" },
		{ ROOTS("{\"30618:" PK ":x\":[]}"), "not a repository reference" },
		{ ROOTS("{\"30617:" PK "\":[]}"), "not a repository reference" },
		{ ROOTS("{\"30617:AB:x\":[]}"), "not a repository reference" },
		{ ROOTS("{\"" REF("x") "\":\"" ID1 "\"}"),
		    "following_repo_root_events: " REF("x") ": not a list" },
		{ ROOTS("{\"" REF("x") "\":[\"" ID1 "\",5]}"),
		    REF("x") ": item 2: not a string" },
		{ ROOTS("{\"" REF("x") "\":[\"11\"]}"), ": item 1: not an event id" },
		{ ROOTS("{\"" REF("x") "\":[\"A" ID1 "\"]}"),
		    ": item 1: not an event id" },
		{ ROOTS("{\"" REF("\\n") "\":[1]}"), REF("\\x0a") ": item 1" },
	};

	(void)arg;
	ASSERT_ALL_REFUSED(rows);
}

#define SYNCED(map) HEAD ",\"following_repo_root_events\":{},\"sync_relays\":" map "}"
#define BOOT(list) HEAD MAPS ",\"bootstrap_relays\":" list "}"

static void
wrong_relays_are_refused(void **arg)
{
	static const struct refusal rows[] = {
		{ SYNCED("[]"), "sync_relays: not an object" },
		{ SYNCED("{\"wss://x\":{}}"), "sync_relays: wss://x: not a list" },
		{ SYNCED("{\"wss://x\":null}"), "sync_relays: wss://x: not a list" },
		{ SYNCED("{\"wss://x\":[[]]}"),
		    "sync_relays: wss://x: item 1: not a string" },
		{ SYNCED("{\"wss://x\":[\"y\"]}"), "item 1: not a repository reference" },
		{ SYNCED("{\"ftp://x\":[]}"), "sync_relays: ftp://x: " },
		{ SYNCED("{\"\":[]}"), "sync_relays: \"\": " },
		{ BOOT("{}"), "bootstrap_relays: not a list" },
		{ BOOT("null"), "bootstrap_relays: not a list" },
		{ BOOT("[\"wss://a\",7]"), "bootstrap_relays: item 2: not a string" },
		{ BOOT("[\"ftp://a\"]"), "bootstrap_relays: item 1: ftp://a: " },
		{ HEAD MAPS ",\"services\":\"a\"}", "services: not a list" },
		{ HEAD MAPS ",\"services\":[1]}", "services: item 1: not a string" },
	};

	(void)arg;
	ASSERT_ALL_REFUSED(rows);
}

#define STATUS(object) HEAD MAPS ",\"relays\":{\"wss://x\":" object "}}"

static void
wrong_statuses_are_refused(void **arg)
{
	static const struct refusal rows[] = {
		{ HEAD MAPS ",\"relays\":[]}", "relays: not an object" },
		{ STATUS("[]"), "relays: wss://x: not an object" },
		{ STATUS("{\"status\":5}"), "relays: wss://x: status: not healthy" },
		{ STATUS("{\"status\":\"ill\"}"),
		    "status: not healthy, backoff or dead" },
		{ STATUS("{\"status\":null}"), "status: not healthy" },
		{ STATUS("{\"failures\":-1}"), "failures: not a whole number from 0" },
		{ STATUS("{\"read_until\":\"1\"}"), "read_until: not a whole number" },
		{ STATUS("{\"last_success\":null}"), "last_success: not a whole number" },
		{ STATUS("{\"last_full_sync\":[]}"),
		    "last_full_sync: not a whole number" },
		{ STATUS("{\"pending\":{}}"), "relays: wss://x: pending: not a list" },
		{ STATUS("{\"pending\":[\"x\"]}"), "pending: item 1: not a repository" },
	};

	(void)arg;
	ASSERT_ALL_REFUSED(rows);
	assert_reads_as(STATUS("{\"later\":true}"),
	    HEAD ",\"bootstrap_relays\":[]" MAPS ",\"relays\":{\"wss://x\":{}}}\n");
}

/* Cut anywhere, the file is refused: damage is never taken for less. */
static void
every_beginning_is_refused(void **arg)
{
	static const char text[] = HEAD ",\"following_repo_root_events\":{\"" REF(
	    "x") "\":[\"" ID1
		 "\"]},\"sync_relays\":{\"wss://a\":[\"" REF(
		     "x") "\"]},\"relays\":{\"wss://a\":{\"status\":\"dead\"}}}";
	size_t len;

	(void)arg;
	for (len = 0; len < sizeof(text) - 1; len++) {
		struct gs_err err = { GS_OK, "" };

		assert_null(gs_snapshot_parse(text, len, &err));
		assert_int_equal(err.code, GS_EDATA);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything_has_its_place),
		cmocka_unit_test(an_empty_state_is_whole),
		cmocka_unit_test(optional_members_may_be_absent),
		cmocka_unit_test(blanks_do_not_matter),
		cmocka_unit_test(lists_are_put_in_order),
		cmocka_unit_test(spellings_of_a_relay_are_merged),
		cmocka_unit_test(a_bootstrap_relay_is_always_synced),
		cmocka_unit_test(private_relays_are_let_through),
		cmocka_unit_test(names_of_any_kind_survive),
		cmocka_unit_test(services_are_united),
		cmocka_unit_test(what_is_no_json_is_refused),
		cmocka_unit_test(deep_nesting_is_refused),
		cmocka_unit_test(wrong_headings_are_refused),
		cmocka_unit_test(wrong_roots_are_refused),
		cmocka_unit_test(wrong_relays_are_refused),
		cmocka_unit_test(wrong_statuses_are_refused),
		cmocka_unit_test(every_beginning_is_refused),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
