/* Lines that hold filters: one, a list, a REQ; long ones come in parts. */
#include "pack_read.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MAX_BYTES 1000

static void
write_filter(struct gs_filter *filter, void *arg)
{
	gs_filter_write(filter, arg);
	gs_buf_add_char(arg, ' ');
}

static bool
read_text(struct gs_buf *got, const char *text)
{
	gs_buf_clear(got);
	return gs_pack_read(gs_str_of(text), MAX_BYTES, write_filter, got, NULL);
}

static void
test_lines(void **state)
{
	struct gs_buf got = GS_BUF_INIT;

	(void)state;
	assert_true(read_text(&got, " {\"kinds\":[1]} "));
	assert_string_equal(got.data, "{\"kinds\":[1]} ");
	assert_true(read_text(&got, "[{\"kinds\":[1]},{\"kinds\":[2]}]"));
	assert_string_equal(got.data, "{\"kinds\":[1]} {\"kinds\":[2]} ");
	assert_true(read_text(&got, "[\"REQ\",\"1\",{\"kinds\":[1]},{}]"));
	assert_string_equal(got.data, "{\"kinds\":[1]} {} ");
	assert_true(read_text(&got, "[]"));
	assert_int_equal(got.len, 0);
	gs_buf_fini(&got);
}

static void
test_faults(void **state)
{
	static const char *const rows[] = { "", "x", "{\"kinds\":[]}", "{}x", "[{}]x",
		"[{}", "[1]", "[[{}]]", "[{\"kinds\":[1]},{\"x\":1}]", "[null]", "7" };
	struct gs_buf got = GS_BUF_INIT;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_false(read_text(&got, rows[i]));
	gs_buf_fini(&got);
}

static void
test_long_filters(void **state)
{
	struct gs_buf text = GS_BUF_INIT, got = GS_BUF_INIT;

	(void)state;
	gs_buf_add_str(&text, "{\"#t\":[");
	for (int i = 0; i < 300; i++)
		gs_buf_printf(&text, "%s\"value%d\"", i > 0 ? "," : "", i);
	gs_buf_add_str(&text, "]}");
	assert_true(read_text(&got, text.data));
	assert_non_null(strstr(got.data, "\"value0\""));
	assert_non_null(strstr(got.data, "\"value299\"]} "));
	assert_true(strchr(got.data, ' ') - got.data <= MAX_BYTES);
	gs_buf_clear(&text);
	gs_buf_printf(&text, "{\"#t\":[\"%02000d\"]}", 0);
	assert_false(read_text(&got, text.data));
	gs_buf_fini(&text);
	gs_buf_fini(&got);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_long_filters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
