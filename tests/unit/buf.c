/* Growing bytes: the NUL behind, cutting, taking, and peers' bytes as people see them. */
#include "buf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void
assert_buf(const struct gs_buf *buf, const char *want)
{
	assert_int_equal(buf->len, strlen(want));
	assert_string_equal(buf->data, want);
}

static void
test_adds(void **state)
{
	struct gs_buf buf = GS_BUF_INIT;

	(void)state;
	gs_buf_add(&buf, NULL, 0);
	assert_buf(&buf, "");
	gs_buf_add(&buf, "abcd", 2);
	gs_buf_add_str(&buf, "cd");
	gs_buf_add_char(&buf, 'e');
	gs_buf_printf(&buf, "%d-%s", 7, "x");
	gs_buf_printf(&buf, "%s", "");
	assert_buf(&buf, "abcde7-x");
	gs_buf_fini(&buf);
	assert_null(buf.data);
}

static void
test_grows_by_any_step(void **state)
{
	struct gs_buf buf = GS_BUF_INIT;
	size_t i;

	(void)state;
	for (i = 0; i < 5000; i++) {
		gs_buf_add_char(&buf, (char)('a' + i % 26));
		assert_int_equal(buf.data[buf.len], '\0');
		assert_true(buf.cap > buf.len);
	}
	for (i = 0; i < 5000; i++)
		assert_int_equal(buf.data[i], 'a' + (int)(i % 26));
	gs_buf_fini(&buf);
}

static void
test_room_stays_where_it_is(void **state)
{
	struct gs_buf buf = GS_BUF_INIT;
	const char *at;
	int i;

	(void)state;
	at = gs_buf_room(&buf, 1000);
	for (i = 0; i < 500; i++)
		gs_buf_add(&buf, "xy", 2);
	assert_ptr_equal(buf.data, at);
	gs_buf_fini(&buf);
}

static void
test_cuts_and_clears(void **state)
{
	struct gs_buf buf = GS_BUF_INIT;
	size_t cap;

	(void)state;
	gs_buf_clear(&buf);
	assert_null(buf.data);
	gs_buf_add_str(&buf, "abcdef");
	cap = buf.cap;
	gs_buf_cut(&buf, 10);
	assert_buf(&buf, "abcdef");
	gs_buf_cut(&buf, 3);
	assert_buf(&buf, "abc");
	gs_buf_clear(&buf);
	assert_buf(&buf, "");
	assert_int_equal(buf.cap, cap);
	gs_buf_fini(&buf);
}

static void
test_takes(void **state)
{
	struct gs_buf buf = GS_BUF_INIT;
	char *text = gs_buf_take(&buf);

	(void)state;
	assert_string_equal(text, "");
	free(text);
	gs_buf_add_str(&buf, "abc");
	text = gs_buf_take(&buf);
	assert_string_equal(text, "abc");
	assert_null(buf.data);
	assert_int_equal(buf.len, 0);
	free(text);
}

static void
test_shows_bytes_of_peers(void **state)
{
	struct gs_buf buf = GS_BUF_INIT;

	(void)state;
	gs_buf_add_shown(&buf, "a\x1b]b\n\0\x7f\xff\\~", 10, 100);
	assert_buf(&buf, "a\\x1b]b\\x0a\\x00\\x7f\\xff\\x5c~");
	gs_buf_clear(&buf);
	gs_buf_add_shown(&buf, "abcdef", 6, 3);
	assert_buf(&buf, "abc...");
	gs_buf_clear(&buf);
	gs_buf_add_shown(&buf, "abc", 3, 3);
	assert_buf(&buf, "abc");
	gs_buf_fini(&buf);
}

static void
test_compares_strings(void **state)
{
	struct gs_str with_nul = { "a\0b", 3 };

	(void)state;
	assert_int_equal(gs_str_of(NULL).len, 0);
	assert_true(gs_str_is(GS_STR("abc"), "abc"));
	assert_false(gs_str_is(with_nul, "a"));
	assert_true(gs_str_equal(with_nul, GS_STR("a\0b")));
	assert_true(gs_str_equal(gs_str_of(NULL), GS_STR("")));
	assert_int_equal(gs_str_compare(GS_STR("a"), GS_STR("a")), 0);
	assert_true(gs_str_compare(GS_STR("a"), GS_STR("ab")) < 0);
	assert_true(gs_str_compare(GS_STR("b"), GS_STR("ab")) > 0);
	assert_true(gs_str_compare(GS_STR("\x80"), GS_STR("a")) > 0);
	assert_true(gs_str_compare(gs_str_of(NULL), GS_STR("a")) < 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_adds),
		cmocka_unit_test(test_grows_by_any_step),
		cmocka_unit_test(test_room_stays_where_it_is),
		cmocka_unit_test(test_cuts_and_clears),
		cmocka_unit_test(test_takes),
		cmocka_unit_test(test_shows_bytes_of_peers),
		cmocka_unit_test(test_compares_strings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
