/* The three layers: exact filters, chunks at their edges, long refs alone, roots once. */
#include <setjmp.h>
#include <sodium.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "layers.h"

#define PK "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define ID1 "1111111111111111111111111111111111111111111111111111111111111111"
#define ID2 "2222222222222222222222222222222222222222222222222222222222222222"
#define REF(d) "30617:" PK ":" d

/* All filters as lines "LAYER JSON", and how many values each has. */
struct seen {
	struct gs_buf text;
	size_t num;
	size_t sizes[64];
	char letters[64];
	size_t stop_at; /* 0: never */
};

static bool
see(unsigned layer, const struct gs_filter *filter, void *arg)
{
	struct seen *seen = arg;

	assert_true(seen->num < 64);
	assert_true(filter->num_kinds > 0 ||
	    (filter->num_tags == 1 && filter->tags[0].num > 0));
	seen->sizes[seen->num] = filter->num_tags ? filter->tags[0].num : 0;
	seen->letters[seen->num] = filter->num_tags ? filter->tags[0].letter : '-';
	seen->num++;
	gs_buf_printf(&seen->text, "%u ", layer);
	gs_filter_write(filter, &seen->text);
	gs_buf_add_char(&seen->text, '\n');
	return seen->num != seen->stop_at;
}

static const struct gs_layers_options all = { GS_LAYERS_ALL, GS_LAYERS_CHUNK, -1 };

static struct seen
see_all(const struct gs_relay_entry *relay, const struct gs_layers_options *options)
{
	struct seen seen = { .text = GS_BUF_INIT };

	assert_true(gs_layers_each(relay, options, see, &seen));
	return seen;
}

static size_t
count_all(const struct gs_relay_entry *relay, const struct gs_layers_options *options)
{
	struct seen seen = see_all(relay, options);

	gs_buf_fini(&seen.text);
	return seen.num;
}

static void
assert_gives(const struct gs_relay_entry *relay, const struct gs_layers_options *options,
    const char *want)
{
	struct seen seen = see_all(relay, options);

	assert_string_equal(seen.text.data ? seen.text.data : "", want);
	gs_buf_fini(&seen.text);
}

static void
add_root(struct gs_repo *repo, int byte)
{
	uint8_t id[32];

	memset(id, byte, sizeof(id));
	gs_repo_add_root(repo, id);
}

/* A relay with that many repos, of which the first has all the roots. */
static struct gs_relay_entry *
make_relay(struct gs_state *state, unsigned num_refs, unsigned num_roots)
{
	struct gs_relay_entry *relay = gs_state_add_relay(state, GS_STR("wss://r"));
	unsigned i;

	relay->is_synced = true;
	for (i = 0; i < num_refs; i++) {
		struct gs_buf ref = GS_BUF_INIT;

		gs_buf_printf(&ref, REF("repo%05u"), i);
		gs_relay_add_repo(relay,
		    gs_state_add_repo(state, (struct gs_str){ ref.data, ref.len }));
		gs_buf_fini(&ref);
	}
	for (i = 0; i < num_roots; i++) {
		uint8_t id[32] = { (uint8_t)(i >> 8), (uint8_t)i };

		gs_repo_add_root(relay->repos[0], id);
	}
	gs_state_sort(state);
	return relay;
}

static void
all_layers_of_a_relay(void **arg)
{
	struct gs_state *state = gs_state_new();
	struct gs_relay_entry *relay = make_relay(state, 0, 0);
	struct gs_repo *x = gs_state_add_repo(state, GS_STR(REF("x")));
	struct gs_repo *y = gs_state_add_repo(state, GS_STR(REF("y")));
	struct gs_repo *elsewhere = gs_state_add_repo(state, GS_STR(REF("z")));

	(void)arg;
	gs_relay_add_repo(relay, y);
	gs_relay_add_repo(relay, x);
	add_root(y, 0x11);
	add_root(y, 0x22);
	add_root(x, 0x22);
	add_root(elsewhere, 0x33);
	gs_state_sort(state);
	assert_gives(relay, &all,
	    "1 {\"kinds\":[30617,30618]}\n"
	    "2 {\"#a\":[\"" REF("x") "\",\"" REF(
		"y") "\"]}\n"
		     "2 {\"#A\":[\"" REF("x") "\",\"" REF(
			 "y") "\"]}\n"
			      "2 {\"#q\":[\"" REF("x") "\",\"" REF(
				  "y") "\"]}\n"
				       "3 {\"#e\":[\"" ID1 "\",\"" ID2 "\"]}\n"
				       "3 {\"#E\":[\"" ID1 "\",\"" ID2 "\"]}\n"
				       "3 {\"#q\":[\"" ID1 "\",\"" ID2 "\"]}\n");
	gs_state_free(state);
}

static void
layer_1_alone_without_repos(void **arg)
{
	struct gs_state *state = gs_state_new();

	(void)arg;
	assert_gives(NULL, &all, "1 {\"kinds\":[30617,30618]}\n");
	assert_gives(make_relay(state, 0, 0), &all, "1 {\"kinds\":[30617,30618]}\n");
	gs_state_free(state);
}

static void
layers_and_since_are_chosen(void **arg)
{
	struct gs_layers_options options = { 1u << 0, 100, 7 };
	struct gs_state *state = gs_state_new();
	struct gs_relay_entry *relay = make_relay(state, 1, 1);

	(void)arg;
	assert_gives(relay, &options, "1 {\"kinds\":[30617,30618],\"since\":7}\n");
	options.layers = 1u << 1;
	options.since = 0;
	assert_gives(relay, &options,
	    "2 {\"#a\":[\"" REF(
		"repo00000") "\"],\"since\":0}\n"
			     "2 {\"#A\":[\"" REF(
				 "repo00000") "\"],\"since\":0}\n"
					      "2 {\"#q\":[\"" REF(
						  "repo00000") "\"],\"since\":0}\n");
	assert_gives(NULL, &options, "");
	options.layers = 1u << 2;
	assert_gives(NULL, &options, "");
	options.layers = 5;
	assert_int_equal(count_all(relay, &options), 4);
	gs_state_free(state);
}

struct chunks {
	unsigned values;
	size_t chunk, filters; /* of one letter */
	size_t last;	       /* values of the last filter */
};

static const struct chunks chunk_rows[] = {
	{ 0, 100, 0, 0 },
	{ 1, 100, 1, 1 },
	{ 99, 100, 1, 99 },
	{ 100, 100, 1, 100 },
	{ 101, 100, 2, 1 },
	{ 200, 100, 2, 100 },
	{ 250, 100, 3, 50 },
	{ 5, 1, 5, 1 },
	{ 5, 2, 3, 1 },
	{ 250, 1000, 1, 250 },
};

static void
assert_chunks(const struct gs_relay_entry *relay, unsigned layer,
    const struct chunks *row)
{
	struct gs_layers_options options = { 1u << (layer - 1), row->chunk, -1 };
	const char *letters = layer == 2 ? "aAq" : "eEq";
	struct seen seen = see_all(relay, &options);
	size_t i;

	assert_int_equal(seen.num, 3 * row->filters);
	for (i = 0; i < seen.num; i++) {
		bool is_last = i / 3 == row->filters - 1;

		assert_int_equal(seen.letters[i], letters[i % 3]);
		assert_int_equal(seen.sizes[i], is_last ? row->last : row->chunk);
	}
	gs_buf_fini(&seen.text);
}

static void
chunks_of_refs(void **arg)
{
	size_t i;

	(void)arg;
	for (i = 0; i < sizeof(chunk_rows) / sizeof(*chunk_rows); i++) {
		struct gs_state *state = gs_state_new();

		assert_chunks(make_relay(state, chunk_rows[i].values, 0), 2,
		    &chunk_rows[i]);
		gs_state_free(state);
	}
}

static void
chunks_of_roots(void **arg)
{
	size_t i;

	(void)arg;
	for (i = 0; i < sizeof(chunk_rows) / sizeof(*chunk_rows); i++) {
		struct gs_state *state = gs_state_new();

		assert_chunks(make_relay(state, 1, chunk_rows[i].values), 3,
		    &chunk_rows[i]);
		gs_state_free(state);
	}
}

/* A root with two `a` tags stands under two repos, and is asked for once. */
static void
shared_roots_are_asked_once(void **arg)
{
	struct gs_layers_options options = { 1u << 2, 100, -1 };
	struct gs_state *state = gs_state_new();
	struct gs_relay_entry *relay = make_relay(state, 50, 0);
	size_t i;

	(void)arg;
	for (i = 0; i < relay->num_repos; i++) {
		add_root(relay->repos[i], 0x22);
		add_root(relay->repos[i], 0x11);
	}
	gs_state_sort(state);
	assert_gives(relay, &options,
	    "3 {\"#e\":[\"" ID1 "\",\"" ID2 "\"]}\n"
	    "3 {\"#E\":[\"" ID1 "\",\"" ID2 "\"]}\n"
	    "3 {\"#q\":[\"" ID1 "\",\"" ID2 "\"]}\n");
	gs_state_free(state);
}

static void
add_ref_of_length(struct gs_state *state, struct gs_relay_entry *relay, size_t len,
    char fill)
{
	struct gs_buf ref = GS_BUF_INIT;
	size_t i;

	gs_buf_add_str(&ref, REF(""));
	for (i = 0; i < len; i++)
		gs_buf_add_char(&ref, fill);
	gs_relay_add_repo(relay,
	    gs_state_add_repo(state, (struct gs_str){ ref.data, ref.len }));
	gs_buf_fini(&ref);
}

static void
long_refs_stand_alone_after_the_others(void **arg)
{
	static const size_t want[] = { 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
	struct gs_layers_options options = { 1u << 1, 2, -1 };
	struct gs_state *state = gs_state_new();
	struct gs_relay_entry *relay = make_relay(state, 0, 0);
	struct seen seen;

	(void)arg;
	add_ref_of_length(state, relay, 300, 'b');
	add_ref_of_length(state, relay, 184, 'c');
	add_ref_of_length(state, relay, 185, 'a');
	add_ref_of_length(state, relay, 1, 'a');
	add_ref_of_length(state, relay, 0, 'a');
	gs_state_sort(state);
	seen = see_all(relay, &options);
	assert_int_equal(seen.num, sizeof(want) / sizeof(*want));
	assert_memory_equal(seen.sizes, want, sizeof(want));
	assert_memory_equal(seen.letters, "aAqaAqaAqaAq", 12);
	assert_non_null(strstr(seen.text.data, "cccc\"]}\n2 {\"#A\""));
	assert_true(strstr(seen.text.data, "cccc") < strstr(seen.text.data, "aaaa\"]}"));
	assert_true(strstr(seen.text.data, ":aaaa") < strstr(seen.text.data, ":bbbb"));
	gs_buf_fini(&seen.text);
	gs_state_free(state);
}

static void
only_long_refs(void **arg)
{
	struct gs_state *state = gs_state_new();
	struct gs_relay_entry *relay = make_relay(state, 0, 0);

	(void)arg;
	add_ref_of_length(state, relay, 185, 'a');
	gs_state_sort(state);
	assert_int_equal(count_all(relay, &all), 4);
	gs_state_free(state);
}

static void
names_of_any_kind_are_escaped(void **arg)
{
	struct gs_layers_options options = { 1u << 1, 100, -1 };
	struct gs_state *state = gs_state_new();
	struct gs_relay_entry *relay = make_relay(state, 0, 0);

	(void)arg;
	gs_relay_add_repo(relay,
	    gs_state_add_repo(state, GS_STR(REF("a:b::c \"quoted\"\n\xf0\x9f\x9a\x80"))));
	gs_state_sort(state);
#define WANT REF("a:b::c \\\"quoted\\\"\\n\xf0\x9f\x9a\x80")
	assert_gives(relay, &options,
	    "2 {\"#a\":[\"" WANT "\"]}\n2 {\"#A\":[\"" WANT "\"]}\n2 {\"#q\":[\"" WANT
	    "\"]}\n");
	gs_state_free(state);
}

static void
false_stops_everywhere(void **arg)
{
	struct gs_layers_options options = { GS_LAYERS_ALL, 2, -1 };
	struct gs_state *state = gs_state_new();
	struct gs_relay_entry *relay = make_relay(state, 3, 3);
	size_t num, stop;

	(void)arg;
	add_ref_of_length(state, relay, 200, 'l');
	gs_state_sort(state);
	num = count_all(relay, &options);
	assert_int_equal(num, 1 + 3 * 2 + 3 + 3 * 2);
	for (stop = 1; stop <= num; stop++) {
		struct seen seen = { .text = GS_BUF_INIT, .stop_at = stop };

		assert_false(gs_layers_each(relay, &options, see, &seen));
		assert_int_equal(seen.num, stop);
		gs_buf_fini(&seen.text);
	}
	gs_state_free(state);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_layers_of_a_relay),
		cmocka_unit_test(layer_1_alone_without_repos),
		cmocka_unit_test(layers_and_since_are_chosen),
		cmocka_unit_test(chunks_of_refs),
		cmocka_unit_test(chunks_of_roots),
		cmocka_unit_test(shared_roots_are_asked_once),
		cmocka_unit_test(long_refs_stand_alone_after_the_others),
		cmocka_unit_test(only_long_refs),
		cmocka_unit_test(names_of_any_kind_are_escaped),
		cmocka_unit_test(false_stops_everywhere),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
