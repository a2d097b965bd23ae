/* Packing: within both limits to the byte, in order, whole, nothing lost. */
#include <setjmp.h>
#include <sodium.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pack.h"

struct seen {
	struct gs_buf text; /* a frame a line */
	size_t num, filters;
	size_t longest;
	size_t stop_at; /* 0: never */
};

static bool
see(size_t number, struct gs_str frame, size_t first, size_t count, void *arg)
{
	struct seen *seen = arg;

	assert_int_equal(number, seen->num + 1);
	assert_int_equal(first, seen->filters);
	assert_true(count > 0);
	seen->num = number;
	seen->filters += count;
	seen->longest = frame.len > seen->longest ? frame.len : seen->longest;
	gs_buf_add(&seen->text, frame.ptr, frame.len);
	gs_buf_add_char(&seen->text, '\n');
	return seen->num != seen->stop_at;
}

static void
add(struct gs_pack *pack, const char *json)
{
	bool too_big;

	assert_true(gs_pack_add(pack, gs_str_of(json), &too_big));
	assert_false(too_big);
}

static void
frames_are_filled_in_order(void **arg)
{
	const struct gs_pack_limits limits = { 2, 1000 };
	struct seen seen = { .text = GS_BUF_INIT };
	struct gs_pack *pack = gs_pack_new(&limits, see, &seen);

	(void)arg;
	add(pack, "{\"a\":1}");
	add(pack, "{\"b\":1}");
	add(pack, "{\"c\":1}");
	assert_int_equal(seen.num, 1);
	assert_true(gs_pack_flush(pack));
	assert_string_equal(seen.text.data,
	    "[\"REQ\",\"g1\",{\"a\":1},{\"b\":1}]\n"
	    "[\"REQ\",\"g2\",{\"c\":1}]\n");
	assert_true(gs_pack_flush(pack));
	assert_int_equal(seen.num, 2);
	gs_pack_free(pack);
	gs_buf_fini(&seen.text);
}

static void
nothing_gives_no_frame(void **arg)
{
	const struct gs_pack_limits limits = { 2, 1000 };
	struct seen seen = { .text = GS_BUF_INIT };
	struct gs_pack *pack = gs_pack_new(&limits, see, &seen);

	(void)arg;
	assert_true(gs_pack_flush(pack));
	assert_int_equal(seen.num, 0);
	gs_pack_free(pack);
	gs_pack_free(NULL);
}

/* One byte more, and the second filter has a frame of its own; one less, and none has. */
static void
bytes_count_from_bracket_to_bracket(void **arg)
{
	const size_t two = strlen("[\"REQ\",\"g1\",{\"a\":1},{\"b\":1}]");
	const size_t one = strlen("[\"REQ\",\"g1\",{\"a\":1}]");
	static const size_t want[] = { 0, 2, 2, 1 };
	const size_t sizes[] = { one - 1, one, two - 1, two };
	size_t i;

	(void)arg;
	for (i = 0; i < 4; i++) {
		const struct gs_pack_limits limits = { 10, sizes[i] };
		struct seen seen = { .text = GS_BUF_INIT };
		struct gs_pack *pack = gs_pack_new(&limits, see, &seen);
		bool too_big;

		assert_int_equal(gs_pack_add(pack, GS_STR("{\"a\":1}"), &too_big), i > 0);
		assert_int_equal(too_big, i == 0);
		assert_int_equal(gs_pack_add(pack, GS_STR("{\"b\":1}"), &too_big), i > 0);
		assert_true(gs_pack_flush(pack));
		assert_int_equal(seen.num, want[i]);
		assert_true(seen.longest <= sizes[i]);
		gs_pack_free(pack);
		gs_buf_fini(&seen.text);
	}
}

static void
what_is_too_big_spoils_nothing(void **arg)
{
	const struct gs_pack_limits limits = { 10, 40 };
	struct seen seen = { .text = GS_BUF_INIT };
	struct gs_pack *pack = gs_pack_new(&limits, see, &seen);
	bool too_big;

	(void)arg;
	add(pack, "{\"a\":1}");
	assert_false(gs_pack_add(pack,
	    GS_STR("{\"long\":\"..............................\"}"), &too_big));
	assert_true(too_big);
	add(pack, "{\"b\":1}");
	assert_true(gs_pack_flush(pack));
	assert_string_equal(seen.text.data,
	    "[\"REQ\",\"g1\",{\"a\":1}]\n[\"REQ\",\"g2\",{\"b\":1}]\n");
	gs_pack_free(pack);
	gs_buf_fini(&seen.text);
}

static void
numbers_of_any_length_fit(void **arg)
{
	const struct gs_pack_limits limits = { 1, strlen("[\"REQ\",\"g1\",{\"a\":1}]") };
	struct seen seen = { .text = GS_BUF_INIT };
	struct gs_pack *pack = gs_pack_new(&limits, see, &seen);
	bool too_big;
	int i;

	(void)arg;
	for (i = 0; i < 9; i++)
		add(pack, "{\"a\":1}");
	assert_false(gs_pack_add(pack, GS_STR("{\"a\":1}"), &too_big)); /* g10 */
	assert_true(too_big);
	assert_int_equal(seen.num, 9);
	gs_pack_free(pack);
	gs_buf_fini(&seen.text);
}

static void
false_stops(void **arg)
{
	const struct gs_pack_limits limits = { 1, 1000 };
	struct seen seen = { .text = GS_BUF_INIT, .stop_at = 1 };
	struct gs_pack *pack = gs_pack_new(&limits, see, &seen);
	bool too_big;

	(void)arg;
	add(pack, "{\"a\":1}");
	assert_false(gs_pack_add(pack, GS_STR("{\"b\":1}"), &too_big));
	assert_false(too_big);
	gs_pack_free(pack);
	gs_buf_fini(&seen.text);
}

static void
room_is_sure(void **arg)
{
	struct gs_pack_limits limits = { 10, 1000 };

	(void)arg;
	assert_true(gs_pack_room(&limits) > 900 && gs_pack_room(&limits) < 990);
	limits.max_bytes = 5;
	assert_int_equal(gs_pack_room(&limits), 0);
}

struct parts {
	struct gs_buf text; /* '+' or '-' and a filter a line */
	size_t num, values;
	size_t stop_at;
};

static bool
see_part(const struct gs_filter *filter, bool fits, void *arg)
{
	struct parts *parts = arg;

	gs_buf_add_char(&parts->text, fits ? '+' : '-');
	gs_filter_write(filter, &parts->text);
	gs_buf_add_char(&parts->text, '\n');
	parts->num++;
	parts->values += filter->num_tags ? filter->tags[0].num : 0;
	return parts->num != parts->stop_at;
}

static void
assert_splits(const char *json, size_t max_bytes, const char *want)
{
	struct gs_filter filter = GS_FILTER_INIT;
	struct parts parts = { .text = GS_BUF_INIT };

	assert_true(gs_filter_parse(&filter, json, strlen(json), NULL));
	assert_true(gs_pack_split(&filter, max_bytes, see_part, &parts));
	assert_string_equal(parts.text.data, want);
	gs_buf_fini(&parts.text);
	gs_filter_fini(&filter);
}

static void
filters_are_halved_until_they_fit(void **arg)
{
	static const char json[] = "{\"#a\":[\"1\",\"2\",\"3\",\"4\",\"5\"],\"since\":7}";

	(void)arg;
	assert_splits(json, sizeof(json) - 1,
	    "+{\"#a\":[\"1\",\"2\",\"3\",\"4\",\"5\"],\"since\":7}\n");
	assert_splits(json, sizeof(json) - 2,
	    "+{\"#a\":[\"1\",\"2\"],\"since\":7}\n"
	    "+{\"#a\":[\"3\",\"4\",\"5\"],\"since\":7}\n");
	assert_splits(json, strlen("{\"#a\":[\"1\"],\"since\":7}"),
	    "+{\"#a\":[\"1\"],\"since\":7}\n+{\"#a\":[\"2\"],\"since\":7}\n"
	    "+{\"#a\":[\"3\"],\"since\":7}\n+{\"#a\":[\"4\"],\"since\":7}\n"
	    "+{\"#a\":[\"5\"],\"since\":7}\n");
}

static bool
match_one(const struct gs_filter *filter, bool fits, void *arg)
{
	struct gs_str values[] = { GS_STR("e"), *(const struct gs_str *)arg };
	struct gs_tag tag = { values, 2 };
	struct gs_event event = GS_EVENT_INIT;

	event.tags = &tag;
	event.num_tags = 1;
	return !gs_filter_match(filter, &event) || !fits; /* false: found */
}

/* Halves of shared values are searched as the whole is. */
static void
shared_values_are_halved(void **arg)
{
	uint8_t ids[7][32] = { { 0 } };
	struct gs_filter filter = GS_FILTER_INIT;
	struct parts parts = { .text = GS_BUF_INIT };
	struct gs_values *values;
	char hex[65];

	(void)arg;
	for (size_t i = 0; i < 7; i++)
		ids[i][0] = (uint8_t)(7 - i);
	values = gs_values_new_ids((const uint8_t(*)[32])ids, 7);
	gs_filter_share(&filter, 'e', values);
	assert_true(gs_pack_split(&filter, 150, see_part, &parts));
	assert_int_equal(parts.values, 7);
	assert_int_equal(parts.num, 4); /* 1, 2, 2, 2 */
	for (size_t i = 0; i < 7; i++) {
		struct gs_str value = gs_filter_value(filter.tags, i, hex);

		assert_non_null(strstr(parts.text.data, value.ptr));
		assert_false(gs_pack_split(&filter, 150, match_one, &value));
	}
	gs_values_release(values);
	gs_filter_fini(&filter);
	gs_buf_fini(&parts.text);
}

static void
what_fits_nowhere_is_told(void **arg)
{
	(void)arg;
	assert_splits("{\"#a\":[\"1\",\"long long long\",\"3\"]}", 12,
	    "+{\"#a\":[\"1\"]}\n-{\"#a\":[\"long long long\"]}\n+{\"#a\":[\"3\"]}\n");
	assert_splits("{\"kinds\":[30617,30618]}", 10,
	    "-{\"kinds\":[30617]}\n-{\"kinds\":[30618]}\n");
}

/* Every list may be cut, the longest first. */
static void
all_lists_are_cut(void **arg)
{
	(void)arg;
	assert_splits("{\"#a\":[\"1\",\"2\"],\"#e\":[\"1\",\"2\"]}",
	    strlen("{\"#a\":[\"1\"],\"#e\":[\"1\"]}"),
	    "+{\"#a\":[\"1\"],\"#e\":[\"1\"]}\n+{\"#a\":[\"2\"],\"#e\":[\"1\"]}\n"
	    "+{\"#a\":[\"1\"],\"#e\":[\"2\"]}\n+{\"#a\":[\"2\"],\"#e\":[\"2\"]}\n");
	assert_splits("{\"kinds\":[1,2,3],\"#a\":[\"1\",\"2\"]}",
	    strlen("{\"kinds\":[1],\"#a\":[\"1\",\"2\"]}"),
	    "+{\"kinds\":[1],\"#a\":[\"1\",\"2\"]}\n+{\"kinds\":[2,3],\"#a\":[\"1\"]}\n"
	    "+{\"kinds\":[2,3],\"#a\":[\"2\"]}\n");
}

/* Whatever the limit, the parts together ask for the same values. */
static void
no_value_is_lost(void **arg)
{
	static const char json[] =
	    "{\"#q\":[\"a\",\"bb\",\"ccc\",\"dddd\",\"eeeee\",\"f\","
	    "\"gg\",\"hhh\",\"iiii\",\"jjjjj\",\"k\"]}";
	struct gs_filter filter = GS_FILTER_INIT;
	size_t max;

	(void)arg;
	assert_true(gs_filter_parse(&filter, json, sizeof(json) - 1, NULL));
	for (max = 0; max < sizeof(json); max++) {
		struct parts parts = { .text = GS_BUF_INIT };

		assert_true(gs_pack_split(&filter, max, see_part, &parts));
		assert_int_equal(parts.values, 11);
		gs_buf_fini(&parts.text);
	}
	gs_filter_fini(&filter);
}

static void
false_stops_a_split(void **arg)
{
	static const char json[] = "{\"#a\":[\"1\",\"2\",\"3\",\"4\"]}";
	struct gs_filter filter = GS_FILTER_INIT;
	size_t stop;

	(void)arg;
	assert_true(gs_filter_parse(&filter, json, sizeof(json) - 1, NULL));
	for (stop = 1; stop <= 4; stop++) {
		struct parts parts = { .text = GS_BUF_INIT, .stop_at = stop };

		assert_false(gs_pack_split(&filter, 1, see_part, &parts));
		assert_int_equal(parts.num, stop);
		gs_buf_fini(&parts.text);
	}
	gs_filter_fini(&filter);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_are_filled_in_order),
		cmocka_unit_test(nothing_gives_no_frame),
		cmocka_unit_test(bytes_count_from_bracket_to_bracket),
		cmocka_unit_test(what_is_too_big_spoils_nothing),
		cmocka_unit_test(numbers_of_any_length_fit),
		cmocka_unit_test(false_stops),
		cmocka_unit_test(room_is_sure),
		cmocka_unit_test(filters_are_halved_until_they_fit),
		cmocka_unit_test(shared_values_are_halved),
		cmocka_unit_test(what_fits_nowhere_is_told),
		cmocka_unit_test(no_value_is_lost),
		cmocka_unit_test(all_lists_are_cut),
		cmocka_unit_test(false_stops_a_split),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
