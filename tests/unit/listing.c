/* listing: the three forms of what a relay is asked, and what they count. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "listing.h"

struct lines {
	struct gs_buf text;
	size_t left; /* so many are taken */
};

static bool
take_line(const char *text, size_t len, void *arg)
{
	struct lines *lines = arg;

	if (lines->left == 0)
		return false;
	lines->left--;
	gs_buf_add(&lines->text, text, len);
	gs_buf_add_char(&lines->text, '\n');
	return true;
}

static bool
add(struct gs_listing *listing, unsigned layer, const char *json)
{
	struct gs_filter filter = GS_FILTER_INIT;
	struct gs_err err;
	bool ok;

	assert_true(gs_filter_parse(&filter, json, strlen(json), &err));
	ok = gs_listing_add(layer, &filter, listing);
	gs_filter_fini(&filter);
	return ok;
}

/* Two filters of one relay, one of another, none of a third. */
static void
assert_lists(enum gs_listing_form form, bool is_bare, const char *want)
{
	struct lines lines = { GS_BUF_INIT, SIZE_MAX };
	const struct gs_listing_options options = { form,
		{ GS_PACK_FILTERS, GS_PACK_BYTES }, is_bare, take_line, &lines };
	struct gs_listing *listing = gs_listing_new(&options);
	struct gs_listing_counts counts;

	gs_listing_begin(listing, GS_STR("wss://a.example"));
	assert_true(add(listing, 1, "{\"kinds\":[1]}"));
	assert_true(add(listing, 2, "{\"#a\":[\"x\"]}"));
	assert_true(gs_listing_end(listing, &counts));
	assert_int_equal(counts.filters, 2);
	assert_int_equal(counts.messages, form == GS_LISTING_REQ ? 1 : 0);
	gs_listing_begin(listing, GS_STR("wss://b.example"));
	assert_true(add(listing, 3, "{\"#e\":[\"y\"]}"));
	assert_true(gs_listing_end(listing, &counts));
	assert_int_equal(counts.filters, 1);
	assert_int_equal(counts.left_out, 0);
	gs_listing_begin(listing, GS_STR("wss://c.example"));
	assert_true(gs_listing_end(listing, &counts));
	assert_int_equal(counts.filters + counts.bytes + counts.messages, 0);
	assert_string_equal(lines.text.data, want);
	gs_listing_free(listing);
	gs_buf_fini(&lines.text);
}

static void
the_three_forms(void **state)
{
	(void)state;
	assert_lists(GS_LISTING_FILTERS, true,
	    "{\"kinds\":[1]}\n{\"#a\":[\"x\"]}\n{\"#e\":[\"y\"]}\n");
	assert_lists(GS_LISTING_FILTERS, false,
	    "{\"relay\":\"wss://a.example\",\"layer\":1,\"filter\":{\"kinds\":[1]}}\n"
	    "{\"relay\":\"wss://a.example\",\"layer\":2,\"filter\":{\"#a\":[\"x\"]}}\n"
	    "{\"relay\":\"wss://b.example\",\"layer\":3,\"filter\":{\"#e\":[\"y\"]}}\n");
	assert_lists(GS_LISTING_REQ, true,
	    "[\"REQ\",\"g1\",{\"kinds\":[1]},{\"#a\":[\"x\"]}]\n"
	    "[\"REQ\",\"g1\",{\"#e\":[\"y\"]}]\n");
	assert_lists(GS_LISTING_REQ, false,
	    "{\"relay\":\"wss://a.example\",\"req\":[\"REQ\",\"g1\",{\"kinds\":[1]},"
	    "{\"#a\":[\"x\"]}]}\n"
	    "{\"relay\":\"wss://"
	    "b.example\",\"req\":[\"REQ\",\"g1\",{\"#e\":[\"y\"]}]}\n");
	assert_lists(GS_LISTING_ARRAY, true,
	    "[{\"kinds\":[1]},{\"#a\":[\"x\"]}]\n[{\"#e\":[\"y\"]}]\n");
	assert_lists(GS_LISTING_ARRAY, false,
	    "{\"relay\":\"wss://a.example\",\"filters\":[{\"kinds\":[1]},"
	    "{\"#a\":[\"x\"]}]}\n"
	    "{\"relay\":\"wss://b.example\",\"filters\":[{\"#e\":[\"y\"]}]}\n");
}

static void
what_fits_no_frame_is_counted(void **state)
{
	struct lines lines = { GS_BUF_INIT, SIZE_MAX };
	const struct gs_listing_options options = { GS_LISTING_REQ, { 10, 40 }, true,
		take_line, &lines };
	struct gs_listing *listing = gs_listing_new(&options);
	struct gs_listing_counts counts;

	(void)state;
	gs_listing_begin(listing, GS_STR("wss://a.example"));
	assert_true(add(listing, 2,
	    "{\"#a\":[\"x\",\"012345678901234567890123456789012345678901234567890\"]}"));
	assert_true(gs_listing_end(listing, &counts));
	assert_int_equal(counts.left_out, 1);
	assert_int_equal(counts.filters, 1);
	assert_string_equal(lines.text.data, "[\"REQ\",\"g1\",{\"#a\":[\"x\"]}]\n");
	gs_listing_free(listing);
	gs_buf_fini(&lines.text);
}

static void
a_line_that_is_not_taken_ends_it(void **state)
{
	struct gs_listing_counts counts;

	(void)state;
	for (int form = GS_LISTING_FILTERS; form <= GS_LISTING_ARRAY; form++) {
		struct lines lines = { GS_BUF_INIT, 0 };
		const struct gs_listing_options options = { (enum gs_listing_form)form,
			{ GS_PACK_FILTERS, GS_PACK_BYTES }, true, take_line, &lines };
		struct gs_listing *listing = gs_listing_new(&options);

		gs_listing_begin(listing, GS_STR("wss://a.example"));
		assert_int_equal(add(listing, 1, "{\"kinds\":[1]}"),
		    form != GS_LISTING_FILTERS);
		assert_int_equal(gs_listing_end(listing, &counts),
		    form == GS_LISTING_FILTERS);
		gs_listing_free(listing);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_three_forms),
		cmocka_unit_test(what_fits_no_frame_is_counted),
		cmocka_unit_test(a_line_that_is_not_taken_ends_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
