/* document: the place of what is wrong, and lists that are written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "document.h"
#include "json.h"

static jv
tree_of(const char *text)
{
	struct gs_err err;
	jv tree;

	assert_true(gs_json_tree(&tree, text, strlen(text), &err));
	return tree;
}

/* Strings are gathered, "bad" is refused. */
static bool
take_string(struct gs_str text, void *arg, struct gs_err *err)
{
	if (gs_str_is(text, "bad"))
		return gs_fail(err, GS_EDATA, "refused");
	gs_buf_add(arg, text.ptr, text.len);
	gs_buf_add_char(arg, ' ');
	return true;
}

static bool
take_member(struct gs_str key, jv value, void *arg, struct gs_err *err)
{
	gs_buf_add(arg, key.ptr, key.len);
	gs_buf_add_char(arg, '=');
	return gs_document_strings(value, take_string, arg, err);
}

static void
assert_reads(const char *text, const char *want)
{
	struct gs_buf got = GS_BUF_INIT;
	struct gs_err err;
	jv tree = tree_of(text);

	assert_true(gs_document_members(tree, take_member, &got, &err));
	gs_buf_add_str(&got, "");
	assert_string_equal(got.len > 0 ? got.data : "", want);
	gs_buf_fini(&got);
	jv_free(tree);
}

static void
assert_refuses(const char *text, const char *want)
{
	struct gs_buf got = GS_BUF_INIT;
	struct gs_err err = { GS_OK, "" };
	jv tree = tree_of(text);

	assert_false(gs_document_members(tree, take_member, &got, &err));
	assert_int_equal(err.code, GS_EDATA);
	assert_string_equal(err.text, want);
	gs_buf_fini(&got);
	jv_free(tree);
}

static void
members_and_strings(void **state)
{
	(void)state;
	assert_reads("{}", "");
	assert_reads("{\"b\":[\"x\",\"y\"],\"a\":[]}", "a=b=x y ");
	assert_refuses("[]", "not an object");
	assert_refuses("{\"a\":1}", "a: not a list");
	assert_refuses("{\"a\":[\"x\",1]}", "a: item 2: not a string");
	assert_refuses("{\"a\":[],\"b\\n\":[\"bad\"]}", "b\\x0a: item 1: refused");
	assert_refuses("{\"\":[\"bad\"]}", "\"\": item 1: refused");
}

static void
numbers(void **state)
{
	jv tree = tree_of("{\"a\":5,\"b\":-1,\"c\":\"5\"}");
	struct gs_err err;
	int64_t number = 7;

	(void)state;
	assert_true(gs_document_number(tree, "none", &number, &err));
	assert_int_equal(number, 7);
	assert_true(gs_document_number(tree, "a", &number, &err));
	assert_int_equal(number, 5);
	assert_false(gs_document_number(tree, "b", &number, &err));
	assert_string_equal(err.text, "b: not a whole number from 0");
	assert_false(gs_document_number(tree, "c", &number, &err));
	assert_int_equal(number, 5);
	jv_free(tree);
}

static void
values(void **state)
{
	uint8_t id[32];
	struct gs_url url;
	struct gs_err err;
	char hex[65];

	(void)state;
	memset(hex, 'a', sizeof(hex) - 1);
	assert_true(gs_document_id(id, (struct gs_str){ hex, 64 }, &err));
	assert_false(gs_document_id(id, (struct gs_str){ hex, 63 }, &err));
	assert_int_equal(err.code, GS_EDATA);
	assert_true(gs_document_relay(&url, GS_STR("WS://127.0.0.1:7777/"), &err));
	assert_string_equal(url.text, "ws://127.0.0.1:7777");
	assert_false(gs_document_relay(&url, GS_STR("ftp://x"), &err));
	assert_int_equal(err.code, GS_EDATA);
	assert_false(gs_document_ref(GS_STR("30617:x:y"), &err));
	assert_int_equal(err.code, GS_EDATA);
}

static void
lists_are_written(void **state)
{
	const struct gs_str list[] = { GS_STR("a\n"), GS_STR("") };
	uint8_t ids[2][32] = { { 0x01 }, { 0xff } };
	struct gs_buf buf = GS_BUF_INIT;

	(void)state;
	gs_document_write_strings(&buf, list, 0);
	gs_document_write_strings(&buf, list, 2);
	assert_string_equal(buf.data, "[][\"a\\n\",\"\"]");
	gs_buf_clear(&buf);
	gs_document_write_ids(&buf, ids, 2);
	assert_int_equal(buf.len, 2 + 2 * 66 + 1);
	assert_memory_equal(buf.data, "[\"0100", 6);
	assert_memory_equal(buf.data + 68, "\"ff00", 5);
	gs_buf_fini(&buf);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(members_and_strings),
		cmocka_unit_test(numbers),
		cmocka_unit_test(values),
		cmocka_unit_test(lists_are_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
