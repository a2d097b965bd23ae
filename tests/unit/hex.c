/* Hex digits: what is read, what is refused, and that writing and reading agree. */
#include "hex.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void
test_reads_every_byte(void **state)
{
	char text[512];
	uint8_t all[256], back[256];
	int i;

	(void)state;
	for (i = 0; i < 256; i++)
		all[i] = (uint8_t)i;
	assert_ptr_equal(gs_hex_write(text, all, sizeof(all)), text + sizeof(text));
	assert_memory_equal(text, "000102", 6);
	assert_memory_equal(text + 506, "fdfeff", 6);
	assert_true(gs_hex_parse(back, sizeof(back), text, sizeof(text)));
	assert_memory_equal(back, all, sizeof(all));
}

static void
test_refuses_every_other_digit(void **state)
{
	static const char digits[] = "0123456789abcdef";
	int c;

	(void)state;
	for (c = 0; c < 256; c++) {
		bool is_digit = c != 0 && strchr(digits, c) != NULL;
		char low[] = { '0', (char)c };
		char high[] = { (char)c, '0' };
		uint8_t out;

		assert_int_equal(gs_hex_parse(&out, 1, low, 2), is_digit);
		assert_int_equal(gs_hex_parse(&out, 1, high, 2), is_digit);
	}
}

static void
test_refuses_other_lengths(void **state)
{
	uint8_t out[2];

	(void)state;
	assert_true(gs_hex_parse(out, 2, "abcd", 4));
	assert_int_equal(out[0], 0xab);
	assert_int_equal(out[1], 0xcd);
	assert_false(gs_hex_parse(out, 2, "abcd", 3));
	assert_false(gs_hex_parse(out, 2, "abcdef", 6));
	assert_false(gs_hex_parse(out, 2, "", 0));
	assert_true(gs_hex_parse(out, 0, "", 0));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reads_every_byte),
		cmocka_unit_test(test_refuses_every_other_digit),
		cmocka_unit_test(test_refuses_other_lengths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
