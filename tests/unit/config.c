/* Configuration files, line by line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs those before it */
#include <cmocka.h>
#include <string.h>

#include "config.h"

static void
expect(struct gs_config *config, unsigned line, const char *key, const char *value)
{
	struct gs_err err;

	assert_int_equal(gs_config_next(config, &err), GS_CONFIG_VALUE);
	assert_int_equal(config->line, line);
	assert_true(gs_str_is(config->key, key));
	assert_true(gs_str_is(config->value, value));
}

static void
test_lines(void **state)
{
	static const char text[] = "# a comment\n"
				   "\n"
				   "  \t\n"
				   "service = git.example.com\n"
				   "\tkey=a=b # c \t\r\n"
				   " # key = value\n"
				   "empty = \"\"\n"
				   "quoted = \" a \"b\" \"\n"
				   "one = \"\n"
				   "last=\xc3\xa9";
	struct gs_config config;

	(void)state;
	gs_config_init(&config, "f", gs_str_of(text));
	expect(&config, 4, "service", "git.example.com");
	expect(&config, 5, "key", "a=b # c");
	expect(&config, 7, "empty", "");
	expect(&config, 8, "quoted", " a \"b\" ");
	expect(&config, 9, "one", "\"");
	expect(&config, 10, "last", "\xc3\xa9");
	assert_int_equal(gs_config_next(&config, NULL), GS_CONFIG_END);
	assert_int_equal(gs_config_next(&config, NULL), GS_CONFIG_END);
	gs_config_init(&config, "f", (struct gs_str){ NULL, 0 });
	assert_int_equal(gs_config_next(&config, NULL), GS_CONFIG_END);
}

static void
test_faults(void **state)
{
	static const struct {
		struct gs_str text;
		const char *why;
	} rows[] = {
		{ GS_STR("\nservice git"), "f:2: service git: no '=' behind it" },
		{ GS_STR("service ="), "f:1: service: needs a value" },
		{ GS_STR("= x"), "f:1: no key before '='" },
		{ GS_STR("a = b\x01"), "f:1: a: a control byte in its value" },
		{ GS_STR("a = b\0c"), "f:1: a: a control byte in its value" },
		{ GS_STR("\xff"), "f:1: \\xff: no '=' behind it" },
	};
	struct gs_config config;
	struct gs_err err;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		gs_config_init(&config, "f", rows[i].text);
		assert_int_equal(gs_config_next(&config, &err), GS_CONFIG_BAD);
		assert_string_equal(err.text, rows[i].why);
		assert_int_equal(err.code, GS_ECONFIG);
	}
}

static void
test_written(void **state)
{
	static const char *const values[] = { "a", "", " a", "a ", "\"", "\"\"", "\"a\"",
		"a # b", "#", "=", "a\"b", "\\n", "\xff" };
	struct gs_buf buf = GS_BUF_INIT;
	struct gs_config config;

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		gs_config_write(&buf, "key", gs_str_of(values[i]));
	assert_int_equal(strncmp(buf.data, "key = a\nkey = \"\"\n", 17), 0);
	gs_config_init(&config, "f", (struct gs_str){ buf.data, buf.len });
	for (unsigned i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		expect(&config, i + 1, "key", values[i]);
	assert_int_equal(gs_config_next(&config, NULL), GS_CONFIG_END);
	gs_buf_fini(&buf);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
