/* The text format of metrics: names, numbers, and labels of hostile bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs those before it */
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "metrics.h"

#define U "\xef\xbf\xbd" /* U+FFFD */

static void
test_families(void **state)
{
	struct gs_buf buf = GS_BUF_INIT;

	(void)state;
	gs_metrics_family(&buf, "a_total", GS_METRIC_COUNTER, "All \\ \n of \"it\"");
	gs_metrics_sample(&buf, "a_total", NULL, 0, 3);
	gs_metrics_family(&buf, "b", GS_METRIC_GAUGE, "B");
	assert_string_equal(buf.data,
	    "# HELP a_total All \\\\ \\n of \"it\"\n"
	    "# TYPE a_total counter\n"
	    "a_total 3\n"
	    "# HELP b B\n"
	    "# TYPE b gauge\n");
	gs_buf_fini(&buf);
}

static void
test_numbers(void **state)
{
	static const struct {
		double value;
		const char *text;
	} rows[] = {
		{ 0, "a 0\n" },
		{ -1, "a -1\n" },
		{ 0.5, "a 0.5\n" },
		{ 1767000000, "a 1767000000\n" },
		{ 9007199254740992.0, "a 9007199254740992\n" },
		{ 1e300, "a 1.0000000000000001e+300\n" },
		{ NAN, "a NaN\n" },
		{ INFINITY, "a +Inf\n" },
		{ -INFINITY, "a -Inf\n" },
	};
	struct gs_buf buf = GS_BUF_INIT;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		gs_buf_clear(&buf);
		gs_metrics_sample(&buf, "a", NULL, 0, rows[i].value);
		assert_string_equal(buf.data, rows[i].text);
	}
	gs_buf_fini(&buf);
}

static void
expect_label(struct gs_str value, const char *text)
{
	const struct gs_label labels[] = { { "x", GS_STR("y") }, { "relay", value } };
	struct gs_buf buf = GS_BUF_INIT, expected = GS_BUF_INIT;

	gs_metrics_sample(&buf, "a", labels, 2, 1);
	gs_buf_printf(&expected, "a{x=\"y\",relay=\"%s\"} 1\n", text);
	assert_string_equal(buf.data, expected.data);
	assert_int_equal(buf.len, expected.len);
	gs_buf_fini(&buf);
	gs_buf_fini(&expected);
}

static void
test_labels(void **state)
{
	(void)state;
	expect_label(GS_STR("wss://relay.example/a,b={}"), "wss://relay.example/a,b={}");
	expect_label((struct gs_str){ NULL, 0 }, "");
	expect_label(GS_STR("a\"b\\c\nd"), "a\\\"b\\\\c\\nd");
	expect_label(GS_STR("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"),
	    "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
	/* overlong, a surrogate, too high, cut off, no beginning */
	expect_label(GS_STR("\xc0\x80"), U U);
	expect_label(GS_STR("\xed\xa0\x80"), U U U);
	expect_label(GS_STR("\xf4\x90\x80\x80"), U U U U);
	expect_label(GS_STR("a\xe2\x82"), "a" U U);
	expect_label(GS_STR("\xff.\x80"), U "." U);
	expect_label(GS_STR("a\0b\r\t\x7f\x1b"), "a" U "b" U U U U);
}

/* Never within a character. */
static void
test_cuts(void **state)
{
	char value[600], text[600] = "";

	(void)state;
	memset(value, 'x', sizeof(value));
	memset(text, 'x', 512);
	expect_label((struct gs_str){ value, sizeof(value) }, text);
	memcpy(value + 510, "\xe2\x82\xac", 3);
	text[510] = '\0';
	expect_label((struct gs_str){ value, sizeof(value) }, text);
	memcpy(value + 509, "\xe2\x82\xac", 3);
	memcpy(text + 509, "\xe2\x82\xac", 4);
	value[512] = 'x';
	expect_label((struct gs_str){ value, 512 }, text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_families),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_labels),
		cmocka_unit_test(test_cuts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
