/* Waits that double, up to the longest, under a cap. */
#include "retry.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void
test_doubles(void **state)
{
	const struct gs_retry_waits waits = { 60, 1000, -1 };
	static const int64_t wanted[] = { 60, 120, 240, 480, 960, 1000, 1000 };
	struct gs_retry retry = GS_RETRY_INIT;

	(void)state;
	assert_false(gs_retry_is_due(&retry, INT64_MAX));
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		gs_retry_fail(&retry, &waits, 5000);
		assert_int_equal(retry.wait_ms, wanted[i]);
		assert_int_equal(retry.due_ms, 5000 + wanted[i]);
		assert_false(gs_retry_is_due(&retry, 4999 + wanted[i]));
		assert_true(gs_retry_is_due(&retry, 5000 + wanted[i]));
		gs_retry_begin(&retry);
		assert_int_equal(retry.due_ms, -1);
	}
	retry.failures = UINT32_MAX;
	gs_retry_fail(&retry, &waits, 0);
	assert_int_equal(retry.failures, UINT32_MAX);
	assert_int_equal(retry.due_ms, 1000);
}

static void
test_cap(void **state)
{
	const struct gs_retry_waits waits = { 60, 1000, 100 };
	struct gs_retry retry = GS_RETRY_INIT;

	(void)state;
	gs_retry_fail(&retry, &waits, 0);
	assert_int_equal(retry.due_ms, 60);
	gs_retry_fail(&retry, &waits, 0);
	assert_int_equal(retry.due_ms, 100);
}

static void
test_earlier(void **state)
{
	(void)state;
	assert_int_equal(gs_retry_earlier(-1, -1), -1);
	assert_int_equal(gs_retry_earlier(-1, 5), 5);
	assert_int_equal(gs_retry_earlier(5, -1), 5);
	assert_int_equal(gs_retry_earlier(5, 4), 4);
	assert_int_equal(gs_retry_earlier(0, 4), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_doubles),
		cmocka_unit_test(test_cap),
		cmocka_unit_test(test_earlier),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
