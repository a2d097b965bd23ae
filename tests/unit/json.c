/* The strict reader, the writer, and trees: what passes, what is refused, and where. */
#include "json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Reads a copy with nothing behind it, so that a sanitizer sees a look behind the end. */
static bool
is_read(const char *text, size_t len)
{
	struct gs_json json;
	struct gs_json_value value;
	char *block = malloc(len + 1);
	char *copy = block + 1;
	bool ok;

	if (len != 0)
		memcpy(copy, text, len);
	gs_json_init(&json, copy, len, GS_JSON_DEPTH);
	ok = gs_json_skip(&json, &value) && gs_json_end(&json);
	free(block);
	return ok;
}

static void
assert_all_read(const char *const *texts, size_t num, bool want)
{
	size_t i;

	for (i = 0; i < num; i++)
		if (is_read(texts[i], strlen(texts[i])) != want)
			fail_msg("%s: %s", want ? "refused" : "read", texts[i]);
}

static void
test_reads(void **state)
{
	static const char *const texts[] = { "null", "true", "false", "0", "-0", "-1",
		"10", "1.5", "1e9", "1E+9", "1e-9", "-0.0e0", "\"\"", "\"a\"", "[]", "{}",
		" [ ] ", "\t\r\n{ }\n", "[1,2]", "[ 1 , 2 ]", "{\"a\":1,\"b\":2}",
		"{ \"a\" : 1 }", "{\"\":\"\"}", "[[],{},[[]]]",
		"{\"a\":{\"a\":{\"a\":1}}}", "\"\\u0000\"",
		"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\uD83D\\ude00\"",
		"\"\\uFFFF\\u007f\"", "\"\x7f\"", "\"\xc2\x80\xdf\xbf\"",
		"\"\xe0\xa0\x80\xed\x9f\xbf\"", "\"\xee\x80\x80\xef\xbf\xbf\"",
		"\"\xf0\x90\x80\x80\xf4\x8f\xbf\xbf\"", "99999999999999999999999999",
		"1e999" };

	(void)state;
	assert_all_read(texts, sizeof(texts) / sizeof(texts[0]), true);
}

static void
test_refuses(void **state)
{
	static const char *const texts[] = { "", " ", "nul", "nulll", "True", "NaN",
		"nan", "Infinity", "-Infinity", "undefined", "01", "-01", "00", "1.",
		".5", "+1", "-", "-a", "1e", "1e+", "0x10", "1_000", "1.e1", "--1", "\"",
		"\"a", "'a'", "a", "[", "]", "{", "}", "[1", "[1,", "[1,]", "[,1]", "[,]",
		"[1 2]", "[1,,2]", "[1}", "{\"a\"}", "{\"a\":}", "{\"a\":1", "{\"a\":1,",
		"{\"a\":1,}", "{,}", "{\"a\":1]", "{a:1}", "{'a':1}", "{1:1}", "{null:1}",
		"{\"a\" 1}", "{\"a\"=1}", "{\"a\":1 \"b\":2}", "1 2", "[] []", "{}x",
		"[]]", "//x\n1", "1/**/", "#x\n1", "\xef\xbb\xbf[]", "\xc2\xa0[]", "\f[]",
		"\"\\x41\"", "\"\\0\"", "\"\\u\"", "\"\\u12\"", "\"\\u12g4\"",
		"\"\\u+123\"", "\"\\U0041\"", "\"\\\"", "\"\\", "\"\\ud800\"",
		"\"\\udbff\"", "\"\\udc00\"", "\"\\udfff\"", "\"\\ud800\\ud800\"",
		"\"\\udc00\\ud800\"", "\"\\ud83dx\"", "\"\\ud83d\\n\"",
		"\"\\ud83d\\u0041\"", "\"\\ud83d\\ude0\"", "\"\x01\"", "\"\n\"", "\"\t\"",
		"\"\x1f\"", "\"\x80\"", "\"\xbf\"", "\"\xc0\x80\"", "\"\xc1\xbf\"",
		"\"\xc2\"", "\"\xc2 \"", "\"\xe0\x80\x80\"", "\"\xe0\x9f\xbf\"",
		"\"\xed\xa0\x80\"", "\"\xed\xbf\xbf\"", "\"\xe2\x82\"",
		"\"\xe2\x28\xa1\"", "\"\xf0\x80\x80\x80\"", "\"\xf0\x8f\xbf\xbf\"",
		"\"\xf4\x90\x80\x80\"", "\"\xf5\x80\x80\x80\"", "\"\xf0\x9f\x98\"",
		"\"\xff\"", "\"\xfe\"", "{\"\x01\":1}", "{\"\\ud800\":1}" };

	(void)state;
	assert_all_read(texts, sizeof(texts) / sizeof(texts[0]), false);
	assert_false(is_read("\"a\0b\"", 5));
	assert_false(is_read("1\0", 2));
	assert_false(is_read(NULL, 0));
}

/* Each kind of odd byte at each place of strings that are scanned eight at a time. */
static void
test_finds_odd_bytes_anywhere(void **state)
{
	static const char odd[] = { '\0', '\x01', '\x1f', '\x80', '\xff', '\\' };
	char text[42];
	size_t len, at, i;

	(void)state;
	for (len = 2; len <= sizeof(text); len++)
		for (at = 1; at + 1 < len; at++) {
			memset(text, 'a', len);
			text[0] = text[len - 1] = '"';
			assert_true(is_read(text, len));
			text[at] = '"';
			assert_false(is_read(text, len));
			for (i = 0; i < sizeof(odd); i++) {
				text[at] = odd[i];
				assert_false(is_read(text, len));
			}
			text[at] = at % 2 ? ' ' : '\x7f';
			assert_true(is_read(text, len));
		}
}

/* No prefix of a text is read, and none makes us look behind its end. */
static void
test_refuses_every_prefix(void **state)
{
	static const char text[] =
	    "{\"a\":[1.5e3,-2,\"\\u00e9\\ud83d\\ude00\xf0\x9f\x98\x80\"],"
	    "\"b\":{\"c\":null,\"d\":true}}";
	size_t len;

	(void)state;
	for (len = 0; len < sizeof(text) - 1; len++)
		assert_false(is_read(text, len));
	assert_true(is_read(text, sizeof(text) - 1));
}

static void
test_refuses_duplicate_keys(void **state)
{
	static const char *const texts[] = { "{\"a\":1,\"a\":1}",
		"{\"a\":1,\"\\u0061\":1}", "{\"\\u0061\":1,\"\\u0061\":1}",
		"{\"\":1,\"\":1}", "[{\"x\":{\"a\":1,\"b\":2,\"a\":3}}]",
		"{\"\xc3\xa9\":1,\"\\u00e9\":1}", "{\"/\":1,\"\\/\":1}",
		"{\"1\":1,\"2\":1,\"3\":1,\"4\":1,\"5\":1,\"6\":1,\"7\":1,\"8\":1,\"9\":"
		"1,"
		"\"\\u0031\":1}",
		"{\"1\":1,\"2\":1,\"3\":1,\"4\":1,\"5\":1,\"6\":1,\"7\":1,\"8\":1,\"9\":"
		"1,"
		"\"9\":1}" };
	static const char *const others[] = { "{\"a\":1,\"A\":1}",
		"{\"a\":1,\"\\u0000a\":1}", "{\"a\":{\"a\":1},\"b\":{\"a\":1}}",
		"{\"ab\":1,\"a\":1,\"b\":1}" };

	(void)state;
	assert_all_read(texts, sizeof(texts) / sizeof(texts[0]), false);
	assert_all_read(others, sizeof(others) / sizeof(others[0]), true);
}

static void
test_large_objects(void **state)
{
	struct gs_buf buf = GS_BUF_INIT;
	int i;

	(void)state;
	gs_buf_add_char(&buf, '{');
	for (i = 0; i < 50000; i++)
		gs_buf_printf(&buf, "\"key %d\":%d,", i, i);
	gs_buf_add_str(&buf, "\"last\":0}");
	assert_true(is_read(buf.data, buf.len));
	gs_buf_cut(&buf, buf.len - 1);
	gs_buf_add_str(&buf, ",\"key 25000\":0}");
	assert_false(is_read(buf.data, buf.len));
	gs_buf_fini(&buf);
}

static void
test_bounds_nesting(void **state)
{
	struct gs_buf buf = GS_BUF_INIT;
	int depth, i;

	(void)state;
	for (depth = GS_JSON_DEPTH - 1; depth <= GS_JSON_DEPTH + 1; depth++) {
		gs_buf_clear(&buf);
		for (i = 0; i < depth; i++)
			gs_buf_add_str(&buf, i % 2 ? "{\"a\":" : "[");
		gs_buf_add_char(&buf, '1');
		for (i = depth - 1; i >= 0; i--)
			gs_buf_add_char(&buf, i % 2 ? '}' : ']');
		assert_int_equal(is_read(buf.data, buf.len), depth <= GS_JSON_DEPTH);
	}
	gs_buf_clear(&buf);
	for (i = 0; i < 100000; i++)
		gs_buf_add_char(&buf, '[');
	assert_false(is_read(buf.data, buf.len));
	gs_buf_fini(&buf);
}

static void
test_pulls_values(void **state)
{
	static const char text[] = " {\"k\\u0031\" : [ 12, -3.5, \"x\" ], \"b\":null} ";
	struct gs_json json;
	struct gs_json_value value, key;
	bool more;

	(void)state;
	gs_json_init(&json, text, sizeof(text) - 1, 2);
	assert_true(gs_json_next(&json, &value));
	assert_int_equal(value.type, GS_JSON_OBJECT);
	assert_true(gs_json_member(&json, true, &key, &more) && more);
	assert_true(key.escaped);
	assert_true(gs_str_is(key.raw, "k\\u0031"));
	assert_true(gs_json_is(key, "k1"));
	assert_false(gs_json_is(key, "k"));
	assert_true(gs_json_next(&json, &value));
	assert_int_equal(value.type, GS_JSON_ARRAY);
	assert_true(gs_json_item(&json, true, &more) && more);
	assert_true(gs_json_next(&json, &value));
	assert_int_equal(value.type, GS_JSON_INT);
	assert_true(gs_str_is(value.raw, "12"));
	assert_true(gs_json_item(&json, false, &more) && more);
	assert_true(gs_json_next(&json, &value));
	assert_int_equal(value.type, GS_JSON_NUMBER);
	assert_true(gs_str_is(value.raw, "-3.5"));
	assert_true(gs_json_item(&json, false, &more) && more);
	assert_true(gs_json_next(&json, &value));
	assert_true(gs_json_is(value, "x"));
	assert_true(gs_json_item(&json, false, &more) && !more);
	assert_true(gs_json_member(&json, false, &key, &more) && more);
	assert_true(gs_json_is(key, "b"));
	assert_true(gs_json_next(&json, &value));
	assert_int_equal(value.type, GS_JSON_NULL);
	assert_false(gs_json_is(value, "null"));
	assert_true(gs_json_member(&json, false, &key, &more) && !more);
	assert_true(gs_json_end(&json));
	assert_int_equal(json.depth, 0);
	assert_null(json.why);
}

static void
test_skip_spans_the_value(void **state)
{
	static const char text[] = "[ {\"a\":[1]} ,2]";
	struct gs_json json;
	struct gs_json_value value;
	bool more;

	(void)state;
	gs_json_init(&json, text, sizeof(text) - 1, GS_JSON_DEPTH);
	assert_true(gs_json_next(&json, &value));
	assert_true(gs_json_item(&json, true, &more) && more);
	assert_true(gs_json_skip(&json, &value));
	assert_int_equal(value.type, GS_JSON_OBJECT);
	assert_true(gs_str_is(value.raw, "{\"a\":[1]}"));
}

static void
test_integers(void **state)
{
	static const struct {
		const char *text;
		bool ok;
		int64_t want;
	} rows[] = { { "0", true, 0 }, { "-0", false, 0 }, { "7", true, 7 },
		{ "-7", true, -7 }, { "9007199254740991", true, GS_JSON_INT_MAX },
		{ "-9007199254740991", true, -GS_JSON_INT_MAX },
		{ "9007199254740992", false, 0 }, { "-9007199254740992", false, 0 },
		{ "18446744073709551616", false, 0 }, { "1.0", false, 0 },
		{ "1e3", false, 0 }, { "\"1\"", false, 0 }, { "null", false, 0 } };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct gs_json json;
		struct gs_json_value value;
		int64_t out;

		gs_json_init(&json, rows[i].text, strlen(rows[i].text), 1);
		assert_true(gs_json_next(&json, &value));
		assert_int_equal(gs_json_int(value, &out), rows[i].ok);
		if (rows[i].ok)
			assert_int_equal(out, rows[i].want);
	}
}

/* Reads a text of one string, decodes it, and writes it again. */
static void
assert_string(const char *text, const char *decoded, size_t len, const char *written)
{
	struct gs_buf buf = GS_BUF_INIT;
	struct gs_json json;
	struct gs_json_value value;

	gs_json_init(&json, text, strlen(text), 1);
	assert_true(gs_json_next(&json, &value));
	gs_buf_add_str(&buf, "-");
	gs_json_decode(&buf, value);
	assert_int_equal(buf.len, len + 1);
	assert_memory_equal(buf.data + 1, decoded, len + 1);
	gs_buf_clear(&buf);
	gs_json_write_string(&buf, decoded, len);
	assert_string_equal(buf.data, written);
	gs_buf_fini(&buf);
}

static void
test_strings(void **state)
{
	(void)state;
	assert_string("\"\"", "", 0, "\"\"");
	assert_string("\"abc\"", "abc", 3, "\"abc\"");
	assert_string("\"\\u0000\\u0001\\u000B\\u001f\"", "\0\x01\x0b\x1f", 4,
	    "\"\\u0000\\u0001\\u000b\\u001f\"");
	assert_string("\"\\b\\t\\n\\f\\r\\\"\\\\\\/\"", "\b\t\n\f\r\"\\/", 8,
	    "\"\\b\\t\\n\\f\\r\\\"\\\\/\"");
	assert_string("\"\\u0008\\u0009\\u000a\\u000c\\u000d\\u0022\\u005c\"",
	    "\b\t\n\f\r\"\\", 7, "\"\\b\\t\\n\\f\\r\\\"\\\\\"");
	assert_string("\"a\\u007fb\"",
	    "a\x7f"
	    "b",
	    3,
	    "\"a\x7f"
	    "b\"");
	assert_string("\"\\u00e9\\u2028\\ufeff\\uFFFF\"",
	    "\xc3\xa9\xe2\x80\xa8\xef\xbb\xbf\xef\xbf\xbf", 11,
	    "\"\xc3\xa9\xe2\x80\xa8\xef\xbb\xbf\xef\xbf\xbf\"");
	assert_string("\"\\ud83d\\ude80\\uDBFF\\uDFFF\\ud800\\udc00\"",
	    "\xf0\x9f\x9a\x80\xf4\x8f\xbf\xbf\xf0\x90\x80\x80", 12,
	    "\"\xf0\x9f\x9a\x80\xf4\x8f\xbf\xbf\xf0\x90\x80\x80\"");
	assert_string("\"</&>\"", "</&>", 4, "\"</&>\"");
}

static void
test_tells_the_place(void **state)
{
	struct gs_err err;
	jv tree;

	(void)state;
	assert_false(gs_json_tree(&tree, "{\"a\":1,\n \"b\":x}", 15, &err));
	assert_int_equal(err.code, GS_EDATA);
	assert_string_equal(err.text, "line 2 column 6: not a json value");
	assert_false(gs_json_tree(&tree, "", 0, &err));
	assert_string_equal(err.text, "line 1 column 1: ends too early");
	assert_false(gs_json_tree(&tree, "{\"a\":1,\"a\":2}", 13, &err));
	assert_string_equal(err.text, "line 1 column 9: duplicate key");
	assert_false(gs_json_tree(&tree, "{} x", 4, &err));
	assert_string_equal(err.text, "line 1 column 4: more behind the value");
	assert_false(gs_json_tree(&tree, "\xef\xbb\xbf{}", 5, &err));
	assert_non_null(strstr(err.text, "line 1 column 1: a byte order mark"));
	assert_false(gs_json_tree(&tree, "[1.5]", 5, &err));
	assert_string_equal(err.text, "line 1 column 2: not an integer");
	assert_false(gs_json_tree(&tree, "[0,9007199254740992]", 20, NULL));
}

static void
test_looks_into_trees(void **state)
{
	static const char text[] =
	    "{\"s\":\"a\\u0000b\",\"n\":9007199254740991,\"l\":[\"x\"],"
	    "\"o\":{\"m\":-5},\"t\":true,\"z\":null}";
	jv tree, borrowed, inner;
	int64_t number;

	(void)state;
	assert_true(gs_json_tree(&tree, text, sizeof(text) - 1, NULL));
	assert_true(gs_json_get(tree, "s", JV_KIND_STRING, &borrowed));
	assert_true(gs_str_equal(gs_json_str(borrowed), GS_STR("a\0b")));
	assert_true(gs_json_get_int(tree, "n", &number));
	assert_int_equal(number, GS_JSON_INT_MAX);
	assert_true(gs_json_get(tree, "l", JV_KIND_ARRAY, &borrowed));
	assert_true(gs_json_get(tree, "o", JV_KIND_OBJECT, &inner));
	assert_true(gs_json_get_int(inner, "m", &number));
	assert_int_equal(number, -5);
	assert_true(gs_json_get(tree, "t", JV_KIND_TRUE, &borrowed));
	assert_false(gs_json_get(tree, "t", JV_KIND_FALSE, &borrowed));
	assert_false(gs_json_get(tree, "none", JV_KIND_STRING, &borrowed));
	assert_false(gs_json_get(tree, "s", JV_KIND_NUMBER, &borrowed));
	assert_false(gs_json_get(jv_null(), "s", JV_KIND_STRING, &borrowed));
	assert_false(gs_json_get_int(tree, "s", &number));
	assert_false(gs_json_get_int(tree, "z", &number));
	assert_int_equal(gs_json_str(jv_true()).len, 0);
	assert_int_equal(jv_get_refcnt(tree), 1);
	jv_free(tree);
}

static void
test_trees_of_any_value(void **state)
{
	jv tree;

	(void)state;
	assert_true(gs_json_tree(&tree, " 12 ", 4, NULL));
	assert_int_equal(jv_get_kind(tree), JV_KIND_NUMBER);
	jv_free(tree);
	assert_true(gs_json_tree(&tree, "[]", 2, NULL));
	assert_int_equal(jv_get_kind(tree), JV_KIND_ARRAY);
	jv_free(tree);
	assert_true(gs_json_tree(&tree, "\"\\ud83d\\ude80\"", 14, NULL));
	assert_true(gs_str_is(gs_json_str(tree), "\xf0\x9f\x9a\x80"));
	jv_free(tree);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reads),
		cmocka_unit_test(test_refuses),
		cmocka_unit_test(test_finds_odd_bytes_anywhere),
		cmocka_unit_test(test_refuses_every_prefix),
		cmocka_unit_test(test_refuses_duplicate_keys),
		cmocka_unit_test(test_large_objects),
		cmocka_unit_test(test_bounds_nesting),
		cmocka_unit_test(test_pulls_values),
		cmocka_unit_test(test_skip_spans_the_value),
		cmocka_unit_test(test_integers),
		cmocka_unit_test(test_strings),
		cmocka_unit_test(test_tells_the_place),
		cmocka_unit_test(test_looks_into_trees),
		cmocka_unit_test(test_trees_of_any_value),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
