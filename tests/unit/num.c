/* Numbers, durations, sizes and times as people type them: all of it, or refused. */
#include "num.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define NOW_S 1700000000
#define NONE (-1)

struct row {
	const char *text;
	int64_t want; /* NONE: refused */
};

static void
test_numbers(void **state)
{
	static const struct row rows[] = { { "0", 0 }, { "7", 7 }, { "1000", 1000 },
		{ "1001", NONE }, { "", NONE }, { "00", NONE }, { "07", NONE },
		{ "-1", NONE }, { "+1", NONE }, { " 1", NONE }, { "1 ", NONE },
		{ "1.0", NONE }, { "1e2", NONE }, { "0x1", NONE },
		{ "99999999999999999999", NONE }, { "9223372036854775808", NONE } };
	int64_t out;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		bool ok = gs_num_parse(&out, rows[i].text, strlen(rows[i].text), 1000);

		assert_int_equal(ok, rows[i].want != NONE);
		if (ok)
			assert_int_equal(out, rows[i].want);
	}
	assert_true(gs_num_parse(&out, "9223372036854775807", 19, INT64_MAX));
	assert_int_equal(out, INT64_MAX);
	assert_true(gs_num_parse(&out, "12345", 2, 100));
	assert_int_equal(out, 12);
}

static void
test_counts(void **state)
{
	struct gs_err err;
	int64_t out;

	(void)state;
	assert_true(gs_num_parse_count(&out, "3", 3, 5, &err));
	assert_true(gs_num_parse_count(&out, "5", 3, 5, &err));
	assert_false(gs_num_parse_count(&out, "6", 3, 5, &err));
	assert_false(gs_num_parse_count(&out, "2", 3, 5, &err));
	assert_int_equal(err.code, GS_EUSAGE);
	assert_string_equal(err.text, "not a number from 3 to 5");
	assert_false(gs_num_parse_count(&out, "x", 3, 5, NULL));
}

static void
assert_rows(const struct row *rows, size_t num,
    bool (*parse)(int64_t *out, const char *text, struct gs_err *err))
{
	size_t i;

	for (i = 0; i < num; i++) {
		struct gs_err err = { .code = GS_OK };
		int64_t out;
		bool ok = parse(&out, rows[i].text, &err);

		assert_int_equal(ok, rows[i].want != NONE);
		if (ok)
			assert_int_equal(out, rows[i].want);
		else
			assert_int_equal(err.code, GS_EUSAGE);
	}
}

static void
test_durations(void **state)
{
	static const struct row rows[] = { { "90", 90 }, { "90s", 90 }, { "15m", 900 },
		{ "24h", 86400 }, { "7d", 604800 }, { "0", 0 }, { "0s", 0 }, { "", NONE },
		{ "s", NONE }, { "1w", NONE }, { "1M", NONE }, { "1 m", NONE },
		{ "-1s", NONE }, { "1.5h", NONE }, { "15mm", NONE },
		{ "36600d", 36600 * INT64_C(86400) }, { "36601d", NONE },
		{ "9223372036854775807d", NONE } };

	(void)state;
	assert_rows(rows, sizeof(rows) / sizeof(rows[0]), gs_num_parse_duration_s);
}

static void
test_sizes(void **state)
{
	static const struct row rows[] = { { "4096", 4096 }, { "64k", 65536 },
		{ "20m", 20971520 }, { "2g", INT64_C(2147483648) },
		{ "1t", INT64_C(1099511627776) }, { "k", NONE }, { "1K", NONE },
		{ "1kb", NONE }, { "", NONE }, { "9223372036854775807g", NONE } };

	(void)state;
	assert_rows(rows, sizeof(rows) / sizeof(rows[0]), gs_num_parse_bytes);
}

static bool
parse_time(int64_t *out, const char *text, struct gs_err *err)
{
	return gs_num_parse_time_s(out, text, NOW_S, err);
}

static void
test_times(void **state)
{
	static const struct row rows[] = { { "1700000000", 1700000000 }, { "0", 0 },
		{ "9007199254740992", INT64_C(1) << 53 }, { "15m", NOW_S - 900 },
		{ "24h", NOW_S - 86400 }, { "36500d", 0 },
		{ "2026-01-31T12:00:00Z", 1769860800 },
		{ "2026-01-31t12:00:00z", 1769860800 },
		{ "2026-01-31 12:00:00Z", 1769860800 },
		{ "2026-01-31T12:00:00.5Z", 1769860800 },
		{ "2026-01-31T13:00:00+01:00", 1769860800 },
		{ "2026-01-31T06:30:00-05:30", 1769860800 }, { "2026-01-31", 1769817600 },
		{ "1970-01-01", 0 }, { "1969-12-31", NONE },
		{ "2026-01-31T12:00:00", NONE }, { "2026-01-31T12:00Z", NONE },
		{ "2026-13-01", NONE }, { "2026-01-31T12:00:00+1:00", NONE },
		{ "2026-01-31T12:00:00+24:00", NONE }, { "2026-01-31T12:00:00Zx", NONE },
		{ "yesterday", NONE }, { "", NONE }, { "m", NONE }, { "-15m", NONE },
		{ "99999999999999999", NONE } };

	(void)state;
	assert_rows(rows, sizeof(rows) / sizeof(rows[0]), parse_time);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_durations),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
