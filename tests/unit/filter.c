/* Filters: read strictly, written the same, matched as NIP-01 says. */
#include "filter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define ONE "0000000000000000000000000000000000000000000000000000000000000001"
#define TWO "0000000000000000000000000000000000000000000000000000000000000002"
#define UPPER "000000000000000000000000000000000000000000000000000000000000000A"

static bool
parse(struct gs_filter *filter, const char *text, struct gs_err *err)
{
	return gs_filter_parse(filter, text, strlen(text), err);
}

static void
test_reads_and_writes(void **state)
{
	static const struct {
		const char *text, *want;
	} rows[] = { { "{}", "{}" }, { " { } ", "{}" },
		{ "{\"limit\":0,\"until\":9007199254740991,\"since\":0,\"#a\":[\"x\"],"
		  "\"kinds\":[0,65535],\"authors\":[\"" TWO "\"],\"ids\":[\"" ONE
		  "\",\"" TWO "\"]}",
		    "{\"ids\":[\"" ONE "\",\"" TWO "\"],\"authors\":[\"" TWO
		    "\"],\"kinds\":[0,65535],\"#a\":[\"x\"],\"since\":0,"
		    "\"until\":9007199254740991,\"limit\":0}" },
		{ "{\"#q\":[\"\",\"x\\u0000\\u00e9\\/\"],\"#E\":[\"" UPPER
		  "\"],\"#e\":[\"1\"]}",
		    "{\"#q\":[\"\",\"x\\u0000\xc3\xa9/\"],\"#E\":[\"" UPPER
		    "\"],\"#e\":[\"1\"]}" },
		{ "{\"\\u0023a\":[\"x\"],\"#A\":[\"x\",\"x\"]}",
		    "{\"#a\":[\"x\"],\"#A\":[\"x\",\"x\"]}" },
		{ "{\"\\u0069ds\":[\"" ONE "\"]}", "{\"ids\":[\"" ONE "\"]}" } };
	struct gs_filter filter = GS_FILTER_INIT;
	struct gs_buf buf = GS_BUF_INIT;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_true(parse(&filter, rows[i].text, NULL));
		gs_buf_clear(&buf);
		gs_filter_write(&filter, &buf);
		assert_string_equal(buf.data, rows[i].want);
	}
	gs_buf_fini(&buf);
	gs_filter_fini(&filter);
	gs_filter_fini(&filter);
}

static void
test_refuses(void **state)
{
	static const char *const texts[] = { "", "null", "[]", "[{}]", "1", "{", "{}x",
		"{},", "{}{}", "\xef\xbb\xbf{}", "{\"search\":\"x\"}",
		"{\"Ids\":[\"" ONE "\"]}", "{\"id\":[\"" ONE "\"]}", "{\"\":[]}",
		"{\"ids\":[]}", "{\"authors\":[]}", "{\"kinds\":[]}", "{\"#a\":[]}",
		"{\"ids\":null}", "{\"kinds\":null}", "{\"#a\":null}", "{\"since\":null}",
		"{\"ids\":\"" ONE "\"}", "{\"ids\":[1]}", "{\"ids\":[null]}",
		"{\"ids\":[\"" UPPER "\"]}", "{\"authors\":[\"" UPPER "\"]}",
		"{\"ids\":[\"\"]}", "{\"ids\":[\"00\"]}", "{\"ids\":[\"" ONE "0\"]}",
		"{\"authors\":[\"npub1x\"]}", "{\"authors\":[\"" ONE "\",null]}",
		"{\"kinds\":1}", "{\"kinds\":[\"1\"]}", "{\"kinds\":[-1]}",
		"{\"kinds\":[65536]}", "{\"kinds\":[1.0]}", "{\"kinds\":[1e0]}",
		"{\"kinds\":[01]}", "{\"kinds\":[1,]}", "{\"since\":-1}",
		"{\"since\":\"1\"}", "{\"since\":1.5}", "{\"since\":1e9}",
		"{\"until\":9007199254740992}", "{\"until\":[1]}", "{\"limit\":-1}",
		"{\"limit\":-0}", "{\"limit\":{}}", "{\"#a\":\"x\"}", "{\"#a\":[1]}",
		"{\"#a\":[[\"x\"]]}", "{\"#a\":[\"x\",]}", "{\"#aa\":[\"x\"]}",
		"{\"#\":[\"x\"]}", "{\"#1\":[\"x\"]}", "{\"#\xc3\xa9\":[\"x\"]}",
		"{\"a\":[\"x\"]}", "{\"#a\\u0000\":[\"x\"]}", "{\"#a\":[\"\xff\"]}",
		"{\"#a\":[\"\\ud800\"]}", "{\"limit\":1,\"limit\":1}",
		"{\"kinds\":[1],\"kinds\":[1]}", "{\"#a\":[\"x\"],\"#a\":[\"y\"]}",
		"{\"#a\":[\"x\"],\"#\\u0061\":[\"y\"]}" };
	struct gs_filter filter = GS_FILTER_INIT;
	struct gs_err err;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		err.code = GS_OK;
		if (parse(&filter, texts[i], &err))
			fail_msg("read: %s", texts[i]);
		assert_int_equal(err.code, GS_EDATA);
		assert_int_equal(filter.num_ids + filter.num_tags + filter.num_kinds, 0);
	}
	gs_filter_fini(&filter);
}

static void
test_tells_the_place(void **state)
{
	struct gs_filter filter = GS_FILTER_INIT;
	struct gs_err err;

	(void)state;
	assert_false(parse(&filter, "{\"#a\":[\"x\"],\n \"kinds\":[1,\"2\"]}", &err));
	assert_string_equal(err.text, "line 2 column 14: not an integer from 0 to 65535");
	assert_false(parse(&filter, "{\"#a\":[]}", &err));
	assert_string_equal(err.text, "line 1 column 7: an empty list");
	assert_false(parse(&filter, "{\"search\":\"x\"}", &err));
	assert_string_equal(err.text, "line 1 column 3: no such filter member");
}

static void
test_bounds_size(void **state)
{
	struct gs_filter filter = GS_FILTER_INIT;
	struct gs_buf buf = GS_BUF_INIT;
	struct gs_err err;

	(void)state;
	gs_buf_add_str(&buf, "{\"#a\":[\"x\"");
	while (buf.len < GS_FILTER_BYTES - 8)
		gs_buf_add_str(&buf, ",\"y\"");
	gs_buf_add_str(&buf, "]}");
	assert_true(gs_filter_parse(&filter, buf.data, buf.len, &err));
	assert_true(filter.tags[0].num > 200000);
	assert_true(gs_str_is(filter.tags[0].values[0], "x"));
	assert_true(gs_str_is(filter.tags[0].values[200000], "y"));
	while (buf.len <= GS_FILTER_BYTES)
		gs_buf_add_char(&buf, ' ');
	assert_false(gs_filter_parse(&filter, buf.data, buf.len, &err));
	assert_int_equal(err.code, GS_EDATA);
	gs_buf_fini(&buf);
}

static void
test_matches(void **state)
{
	static const char text[] =
	    "{\"id\":\"" ONE "\",\"pubkey\":\"" TWO "\",\"created_at\":10,\"kind\":1621,"
	    "\"tags\":[[],[\"e\"],[\"a\",\"one\",\"third\"],[\"a\",\"two\"],[\"q\",\"\"],"
	    "[\"aa\",\"x\"],[\"P\",\"p\"]],\"content\":\"\",\"sig\":\"" ONE TWO "\"}";
	static const struct {
		const char *filter;
		bool want;
	} rows[] = { { "{}", true }, { "{\"limit\":0}", true },
		{ "{\"ids\":[\"" ONE "\"]}", true },
		{ "{\"ids\":[\"" TWO "\",\"" ONE "\"]}", true },
		{ "{\"ids\":[\"" TWO "\"]}", false },
		{ "{\"authors\":[\"" TWO "\"]}", true },
		{ "{\"authors\":[\"" ONE "\"]}", false }, { "{\"kinds\":[1621]}", true },
		{ "{\"kinds\":[1,2,1621]}", true }, { "{\"kinds\":[1617]}", false },
		{ "{\"since\":10}", true }, { "{\"since\":11}", false },
		{ "{\"until\":10}", true }, { "{\"until\":9}", false },
		{ "{\"since\":10,\"until\":10}", true }, { "{\"#a\":[\"one\"]}", true },
		{ "{\"#a\":[\"x\",\"two\"]}", true }, { "{\"#a\":[\"third\"]}", false },
		{ "{\"#a\":[\"on\"]}", false }, { "{\"#a\":[\"\"]}", false },
		{ "{\"#A\":[\"one\"]}", false }, { "{\"#q\":[\"\"]}", true },
		{ "{\"#e\":[\"\"]}", false }, { "{\"#p\":[\"p\"]}", false },
		{ "{\"#P\":[\"p\"]}", true },
		{ "{\"#a\":[\"one\"],\"#P\":[\"p\"]}", true },
		{ "{\"#a\":[\"one\"],\"#q\":[\"x\"]}", false },
		{ "{\"#a\":[\"one\"],\"kinds\":[1]}", false },
		{ "{\"#a\":[\"one\\u0000\"]}", false } };
	struct gs_filter filter = GS_FILTER_INIT;
	struct gs_event event = GS_EVENT_INIT;
	size_t i;

	(void)state;
	assert_int_equal(gs_event_parse(&event, text, sizeof(text) - 1, NULL),
	    GS_EVENT_OK);
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_true(parse(&filter, rows[i].filter, NULL));
		if (gs_filter_match(&filter, &event) != rows[i].want)
			fail_msg("%s", rows[i].filter);
	}
	gs_filter_fini(&filter);
	gs_event_fini(&event);
}

static bool
matches(const struct gs_filter *filter, const char *value)
{
	struct gs_event event = GS_EVENT_INIT;
	struct gs_str values[] = { GS_STR("e"), gs_str_of(value) };
	struct gs_tag tag = { values, 2 };
	bool is_match;

	event.tags = &tag;
	event.num_tags = 1;
	is_match = gs_filter_match(filter, &event);
	return is_match;
}

static void
test_shares_ids(void **state)
{
	const uint8_t ids[][32] = { { [31] = 2 }, { [31] = 10 }, { [31] = 2 },
		{ [31] = 1 } };
	struct gs_values *values = gs_values_new_ids(ids, 4);
	struct gs_filter filter = GS_FILTER_INIT, other = GS_FILTER_INIT;
	struct gs_buf buf = GS_BUF_INIT;
	char hex[65];

	(void)state;
	assert_int_equal(values->num, 3);
	gs_filter_share(&filter, 'e', values);
	gs_filter_share(&other, 'E', values);
	gs_values_release(values);
	assert_ptr_equal(filter.tags->ids, other.tags->ids);
	gs_filter_fini(&other);
	gs_filter_write(&filter, &buf);
	assert_true(gs_str_is((struct gs_str){ buf.data, 6 + 2 * 67 },
	    "{\"#e\":[\"" ONE "\",\"" TWO "\""));
	assert_true(parse(&other, buf.data, NULL));
	for (size_t i = 0; i < 3; i++)
		assert_true(gs_str_equal(gs_filter_value(filter.tags, i, hex),
		    other.tags->values[i]));
	assert_true(matches(&filter, ONE));
	assert_true(matches(&filter, TWO));
	assert_false(matches(&filter, UPPER)); /* the id itself is there */
	assert_false(matches(&filter, ONE "0"));
	assert_false(matches(&filter, ""));
	assert_false(matches(&other, UPPER));
	/* what it held before is given back */
	values = gs_values_new_ids(ids, 1);
	gs_filter_share(&filter, 'e', values);
	gs_values_release(values);
	assert_false(matches(&filter, ONE));
	gs_buf_fini(&buf);
	gs_filter_fini(&filter);
	gs_filter_fini(&other);
	gs_values_release(NULL);
}

static void
test_shares_texts(void **state)
{
	const struct gs_str texts[] = { GS_STR("b"), GS_STR("a\0c"), GS_STR(""),
		GS_STR("ab"), GS_STR("b") };
	struct gs_values *values = gs_values_new_texts(texts, 5);
	struct gs_filter filter = GS_FILTER_INIT;
	struct gs_buf buf = GS_BUF_INIT;

	(void)state;
	gs_filter_share(&filter, 'e', values);
	gs_values_release(values);
	assert_int_equal(filter.tags->num, 4);
	gs_filter_write(&filter, &buf);
	assert_string_equal(buf.data, "{\"#e\":[\"\",\"a\\u0000c\",\"ab\",\"b\"]}");
	assert_true(matches(&filter, ""));
	assert_true(matches(&filter, "ab"));
	assert_true(matches(&filter, "b"));
	assert_false(matches(&filter, "a"));
	assert_false(matches(&filter, "c"));
	gs_buf_fini(&buf);
	gs_filter_fini(&filter);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reads_and_writes),
		cmocka_unit_test(test_refuses),
		cmocka_unit_test(test_tells_the_place),
		cmocka_unit_test(test_bounds_size),
		cmocka_unit_test(test_matches),
		cmocka_unit_test(test_shares_ids),
		cmocka_unit_test(test_shares_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
