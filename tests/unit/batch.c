/* batch: what is new between two states, its line, and the filters of it. */
#include <setjmp.h>
#include <sodium.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "batch.h"

#define PK "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define ID1 "1111111111111111111111111111111111111111111111111111111111111111"
#define ID2 "2222222222222222222222222222222222222222222222222222222222222222"
#define ID3 "3333333333333333333333333333333333333333333333333333333333333333"
#define REF(d) "30617:" PK ":" d
#define A "wss://a.example"
#define B "wss://b.example"
#define HEAD "{\"batch\":0,\"opened_at\":0,\"events\":0,\"relays\":"
#define NONE ",\"removed_relays\":[],\"removed_repos\":[]}"

/* Repo d with the roots of these digits (0x11 is "1111..."). */
static struct gs_repo *
add_repo(struct gs_state *state, const char *d, const char *digits)
{
	char ref[128];
	struct gs_repo *repo;
	uint8_t id[32];

	(void)snprintf(ref, sizeof(ref), REF("%s"), d);
	repo = gs_state_add_repo(state, gs_str_of(ref));
	for (; *digits != '\0'; digits++) {
		memset(id, (*digits - '0') * 0x11, sizeof(id));
		gs_repo_add_root(repo, id);
	}
	return repo;
}

static void
put_on(struct gs_state *state, const char *url, struct gs_repo *repo)
{
	gs_relay_add_repo(gs_state_add_relay(state, gs_str_of(url)), repo);
}

/* Frees both states. */
static void
assert_differ(struct gs_state *before, struct gs_state *after, const char *want)
{
	struct gs_batch batch = { 0 }, again = { 0 };
	struct gs_buf line = GS_BUF_INIT, copy = GS_BUF_INIT;
	struct gs_err err;

	if (before != NULL)
		gs_state_sort(before);
	gs_state_sort(after);
	gs_batch_compare(&batch, before, after);
	gs_batch_write(&batch, &line);
	assert_string_equal(line.data, want);
	assert_int_equal(gs_batch_is_empty(&batch), strcmp(want, HEAD "{}" NONE) == 0);
	assert_true(gs_batch_parse(&again, line.data, line.len, &err));
	gs_batch_write(&again, &copy);
	assert_string_equal(copy.data, want);
	gs_buf_fini(&copy);
	gs_buf_fini(&line);
	gs_batch_fini(&again);
	gs_batch_fini(&batch);
	gs_state_free(after);
	gs_state_free(before);
}

static void
all_is_new_at_first(void **arg)
{
	struct gs_state *state = gs_state_new();
	struct gs_repo *x = add_repo(state, "x", "21");

	(void)arg;
	put_on(state, B, x);
	put_on(state, A, x);
	put_on(state, A, add_repo(state, "w", "2"));
	(void)add_repo(state, "not-followed", "3");
	gs_state_add_relay(state, GS_STR("wss://z.example"))->is_bootstrap = true;
	assert_differ(NULL, state,
	    HEAD "{\"" A "\":{\"new\":true,\"repos\":[\"" REF("w") "\",\"" REF(
		"x") "\"],\"root_events\":[\"" ID1 "\",\"" ID2 "\"]},\"" B
		     "\":{\"new\":true,\"repos\":[\"" REF(
			 "x") "\"],\"root_events\":[\"" ID1 "\",\"" ID2
			      "\"]},\"wss://z.example\":{\"new\":true,\"repos\":[],"
			      "\"root_events\":[]}}" NONE);
}

static void
the_same_is_no_news(void **arg)
{
	struct gs_state *before = gs_state_new(), *after = gs_state_new();

	(void)arg;
	put_on(before, A, add_repo(before, "x", "123"));
	put_on(after, A, add_repo(after, "x", "321"));
	(void)add_repo(after, "not-followed", "3");
	assert_differ(before, after, HEAD "{}" NONE);
}

static void
roots_are_new_where_their_repo_is(void **arg)
{
	struct gs_state *before = gs_state_new(), *after = gs_state_new();
	struct gs_repo *x = add_repo(before, "x", "2");

	(void)arg;
	put_on(before, A, x);
	put_on(before, "wss://c.example", add_repo(before, "y", "1"));
	x = add_repo(after, "x", "123");
	put_on(after, A, x);
	put_on(after, B, x);
	put_on(after, "wss://c.example", add_repo(after, "y", "1"));
	assert_differ(before, after,
	    HEAD "{\"" A "\":{\"new\":false,\"repos\":[],\"root_events\":[\"" ID1
		 "\",\"" ID3 "\"]},\"" B
		 "\":{\"new\":true,\"repos\":[\"" REF("x") "\"],\"root_events\":[\"" ID1
							   "\",\"" ID2 "\",\"" ID3
							   "\"]}}" NONE);
}

static void
a_root_that_another_repo_brought_is_not_new(void **arg)
{
	struct gs_state *before = gs_state_new(), *after = gs_state_new();

	(void)arg;
	put_on(before, A, add_repo(before, "x", "1"));
	put_on(after, A, add_repo(after, "x", "1"));
	put_on(after, A, add_repo(after, "y", "12"));
	assert_differ(before, after,
	    HEAD "{\"" A
		 "\":{\"new\":false,\"repos\":[\"" REF("y") "\"],\"root_events\":[\"" ID2
							    "\"]}}" NONE);
}

static void
what_goes_is_told(void **arg)
{
	struct gs_state *before = gs_state_new(), *after = gs_state_new();
	struct gs_repo *x = add_repo(before, "x", "1");

	(void)arg;
	put_on(before, A, x);
	put_on(before, B, x);
	put_on(before, A, add_repo(before, "y", ""));
	put_on(after, A, add_repo(after, "x", ""));
	(void)add_repo(after, "y", "1"); /* roots stay; nobody carries it */
	(void)gs_relay_add_status(gs_state_add_relay(after, GS_STR(B)));
	assert_differ(before, after,
	    HEAD "{},\"removed_relays\":[\"" B
		 "\"],\"removed_repos\":[\"" REF("y") "\"]}");
}

/* --- reading --- */

static void
assert_refused(const char *text, const char *why)
{
	struct gs_batch batch = { 0 };
	struct gs_err err = { GS_OK, "" };

	assert_false(gs_batch_parse(&batch, text, strlen(text), &err));
	assert_int_equal(err.code, GS_EDATA);
	if (strstr(err.text, why) == NULL)
		print_error("got:  %s\nwant: %s\n", err.text, why);
	assert_non_null(strstr(err.text, why));
	assert_true(gs_batch_is_empty(&batch));
	assert_null(batch.relays);
}

static void
damage_is_refused_with_its_place(void **arg)
{
	(void)arg;
	assert_refused("", "line 1");
	assert_refused("[]", "not a batch: not an object");
	assert_refused("{}", "batch: missing");
	assert_refused("{\"batch\":1}", "opened_at: missing");
	assert_refused("{\"batch\":-1}", "batch: not a whole number from 0");
	assert_refused("{\"batch\":1,\"batch\":1}", "duplicate key");
	assert_refused("{\"batch\":1,\"opened_at\":\"1\"}",
	    "opened_at: not a whole number");
	assert_refused("{\"batch\":1,\"opened_at\":1}", "events: missing");
	assert_refused("{\"batch\":1,\"opened_at\":1,\"events\":1}", "relays: missing");
	assert_refused(HEAD "[]" NONE, "relays: not an object");
	assert_refused(HEAD "{}}", "removed_relays: missing");
	assert_refused(HEAD "{},\"removed_relays\":[]}", "removed_repos: missing");
	assert_refused(HEAD "{},\"removed_relays\":[1]}",
	    "removed_relays: item 1: not a string");
	assert_refused(HEAD "{},\"removed_relays\":[\"ftp://x\"]}",
	    "removed_relays: item 1: ftp://x: ");
	assert_refused(HEAD "{},\"removed_relays\":[],\"removed_repos\":[\"x\"]}",
	    "removed_repos: item 1: not a repository reference");
	assert_refused(HEAD "{\"ftp://x\":{}}" NONE, "relays: ftp://x: ");
	assert_refused(HEAD "{\"" A "\":[]}" NONE, "relays: " A ": not an object");
	assert_refused(HEAD "{\"" A "\":{}}" NONE, "relays: " A ": new: missing");
	assert_refused(HEAD "{\"" A "\":{\"new\":1}}" NONE, "new: missing or not true");
	assert_refused(HEAD "{\"" A "\":{\"new\":true}}" NONE, A ": repos: missing");
	assert_refused(HEAD "{\"" A "\":{\"new\":true,\"repos\":[\"x\"]}}" NONE,
	    A ": repos: item 1: not a repository reference");
	assert_refused(HEAD "{\"" A "\":{\"new\":true,\"repos\":[]}}" NONE,
	    A ": root_events: missing");
	assert_refused(HEAD
	    "{\"" A "\":{\"new\":true,\"repos\":[],\"root_events\":[\"AA\"]}}" NONE,
	    A ": root_events: item 1: not an event id");
}

static void
spellings_meet_and_order_is_made(void **arg)
{
	static const char text[] =
	    " {\"removed_repos\":[\"" REF("y") "\",\"" REF("x") "\",\"" REF(
		"y") "\"],"
		     "\"removed_relays\":[],\"more\":{},\"events\":3,\"opened_at\":2,"
		     "\"batch\":1,"
		     "\"relays\":{\"WSS://A.example/\":{\"new\":true,\"repos\":[\"" REF(
			 "z") "\"],\"root_events\":[\"" ID2 "\",\"" ID1 "\"]},\"" A
			      "\":{\"new\":false,\"repos\":[\"" REF(
				  "b") "\"],\"root_events\":[\"" ID1 "\"]}}} ";
	struct gs_batch batch = { 0 };
	struct gs_buf line = GS_BUF_INIT;
	struct gs_err err;

	(void)arg;
	assert_true(gs_batch_parse(&batch, text, sizeof(text) - 1, &err));
	gs_batch_write(&batch, &line);
	assert_string_equal(line.data,
	    "{\"batch\":1,\"opened_at\":2,\"events\":3,\"relays\":{\"" A
	    "\":{\"new\":true,\"repos\":[\"" REF("b") "\",\"" REF(
		"z") "\"],\"root_events\":[\"" ID1 "\",\"" ID2
		     "\"]}},\"removed_relays\":[],"
		     "\"removed_repos\":[\"" REF("x") "\",\"" REF("y") "\"]}");
	gs_buf_fini(&line);
	gs_batch_fini(&batch);
}

/* --- filters --- */

static bool
take_filter(unsigned layer, const struct gs_filter *filter, void *arg)
{
	struct gs_buf *text = arg;

	gs_buf_printf(text, "%u", layer);
	gs_filter_write(filter, text);
	gs_buf_add_char(text, '\n');
	return true;
}

static void
assert_filters(const char *relays, unsigned layers, const char *want)
{
	struct gs_batch batch = { 0 };
	struct gs_layers_options options = { layers, 2, -1 };
	struct gs_buf text = GS_BUF_INIT;
	struct gs_err err;

	gs_buf_printf(&text, HEAD "%s" NONE, relays);
	assert_true(gs_batch_parse(&batch, text.data, text.len, &err));
	gs_buf_clear(&text);
	gs_buf_add_str(&text, "");
	assert_int_equal(batch.num_relays, 1);
	assert_true(gs_batch_layers(&batch.relays[0], &options, take_filter, &text));
	assert_string_equal(text.data, want);
	gs_buf_fini(&text);
	gs_batch_fini(&batch);
}

static void
filters_ask_for_what_is_new(void **arg)
{
	(void)arg;
	assert_filters("{\"" A "\":{\"new\":true,\"repos\":[],\"root_events\":[]}}",
	    GS_LAYERS_ALL, "1{\"kinds\":[30617,30618]}\n");
	assert_filters("{\"" A "\":{\"new\":false,\"repos\":[\"" REF("x") "\"],\"root_"
									  "events\":[]}}",
	    GS_LAYERS_ALL,
	    "2{\"#a\":[\"" REF("x") "\"]}\n2{\"#A\":[\"" REF("x") "\"]}\n2{\"#q\":["
								  "\"" REF("x") "\"]}\n");
	assert_filters("{\"" A "\":{\"new\":false,\"repos\":[],\"root_events\":[\"" ID1
		       "\",\"" ID2 "\",\"" ID3 "\"]}}",
	    GS_LAYERS_ALL,
	    "3{\"#e\":[\"" ID1 "\",\"" ID2 "\"]}\n3{\"#E\":[\"" ID1 "\",\"" ID2
	    "\"]}\n3{\"#q\":[\"" ID1 "\",\"" ID2 "\"]}\n3{\"#e\":[\"" ID3
	    "\"]}\n3{\"#E\":[\"" ID3 "\"]}\n3{\"#q\":[\"" ID3 "\"]}\n");
	assert_filters("{\"" A
		       "\":{\"new\":true,\"repos\":[\"" REF("x") "\"],\"root_events\":["
								 "\"" ID1 "\"]}}",
	    4,
	    "3{\"#e\":[\"" ID1 "\"]}\n3{\"#E\":[\"" ID1 "\"]}\n3{\"#q\":[\"" ID1
	    "\"]}\n");
}

static bool
stop(unsigned layer, const struct gs_filter *filter, void *arg)
{
	(void)filter;
	(void)arg;
	return layer != 2;
}

static void
a_filter_that_is_not_taken_ends_them(void **arg)
{
	static const char text[] = HEAD
	    "{\"" A
	    "\":{\"new\":true,\"repos\":[\"" REF("x") "\"],\"root_events\":[]}}" NONE;
	struct gs_layers_options options = { GS_LAYERS_ALL, 100, -1 };
	struct gs_batch batch = { 0 };
	struct gs_err err;

	(void)arg;
	assert_true(gs_batch_parse(&batch, text, sizeof(text) - 1, &err));
	assert_false(gs_batch_layers(&batch.relays[0], &options, stop, NULL));
	gs_batch_fini(&batch);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_is_new_at_first),
		cmocka_unit_test(the_same_is_no_news),
		cmocka_unit_test(roots_are_new_where_their_repo_is),
		cmocka_unit_test(a_root_that_another_repo_brought_is_not_new),
		cmocka_unit_test(what_goes_is_told),
		cmocka_unit_test(damage_is_refused_with_its_place),
		cmocka_unit_test(spellings_meet_and_order_is_made),
		cmocka_unit_test(filters_ask_for_what_is_new),
		cmocka_unit_test(a_filter_that_is_not_taken_ends_them),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
