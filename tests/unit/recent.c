/* Ids that were handed out: all, or the last so many, whatever was forgotten before. */
#include "recent.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* Id number i; those with the same rest by 256 begin alike. */
static const uint8_t *
make_id(uint8_t id[static GS_RECENT_ID], uint32_t i)
{
	memset(id, 0, GS_RECENT_ID);
	id[0] = (uint8_t)i;
	memcpy(id + 16, &i, sizeof(i));
	return id;
}

static void
test_all(void **state)
{
	struct gs_recent *recent = gs_recent_new(0);
	uint8_t id[GS_RECENT_ID];

	(void)state;
	assert_false(gs_recent_has(recent, make_id(id, 0)));
	for (uint32_t i = 0; i < 5000; i++) {
		assert_false(gs_recent_has(recent, make_id(id, i)));
		gs_recent_add(recent, id, GS_STR(""));
		assert_true(gs_recent_has(recent, id));
	}
	for (uint32_t i = 0; i < 5000; i++)
		assert_true(gs_recent_has(recent, make_id(id, i)));
	assert_int_equal(gs_recent_count(recent), 5000);
	gs_recent_free(recent);
}

static void
test_clear(void **state)
{
	struct gs_recent *recent = gs_recent_new(3);
	uint8_t id[GS_RECENT_ID];

	(void)state;
	gs_recent_clear(recent);
	for (uint32_t round = 0; round < 3; round++) {
		for (uint32_t i = 0; i < 5; i++)
			gs_recent_add(recent, make_id(id, i), GS_STR(""));
		gs_recent_clear(recent);
		assert_int_equal(gs_recent_count(recent), 0);
		for (uint32_t i = 0; i < 5; i++)
			assert_false(gs_recent_has(recent, make_id(id, i)));
	}
	gs_recent_free(recent);
}

static void
check_last(uint32_t max)
{
	struct gs_recent *recent = gs_recent_new(max);
	uint8_t id[GS_RECENT_ID];

	for (uint32_t i = 0; i < 20 * max + 3; i++) {
		gs_recent_add(recent, make_id(id, i), GS_STR(""));
		for (uint32_t j = i > 2 * max ? i - 2 * max : 0; j <= i + 1; j++)
			assert_int_equal(gs_recent_has(recent, make_id(id, j)),
			    j <= i && i - j < max);
	}
	assert_int_equal(gs_recent_count(recent), max);
	gs_recent_free(recent);
}

static void
test_last(void **state)
{
	(void)state;
	check_last(1);
	check_last(2);
	check_last(37);
	check_last(64);
	check_last(300);
}

static void
test_copies(void **state)
{
	struct gs_recent *recent = gs_recent_new(0);
	uint8_t id[GS_RECENT_ID];

	(void)state;
	assert_false(gs_recent_is_copy(recent, make_id(id, 1), GS_STR("one")));
	gs_recent_add(recent, id, GS_STR("one"));
	assert_true(gs_recent_is_copy(recent, id, GS_STR("one")));
	assert_false(gs_recent_is_copy(recent, id, GS_STR("One")));
	assert_false(gs_recent_is_copy(recent, id, GS_STR("")));
	assert_false(gs_recent_is_copy(recent, make_id(id, 2), GS_STR("one")));
	gs_recent_free(recent);
}

/* The same id in other bytes has a place of its own, and leaves as all others do. */
static void
test_variants(void **state)
{
	struct gs_recent *recent = gs_recent_new(8);
	uint8_t id[GS_RECENT_ID], other[GS_RECENT_ID];

	(void)state;
	assert_int_equal(gs_recent_variants(recent, make_id(id, 1)), 0);
	gs_recent_add(recent, id, GS_STR("a"));
	gs_recent_add(recent, make_id(other, 257), GS_STR("a"));
	gs_recent_add(recent, id, GS_STR("b"));
	gs_recent_add(recent, id, GS_STR("c"));
	assert_int_equal(gs_recent_variants(recent, id), 3);
	assert_int_equal(gs_recent_variants(recent, other), 1);
	assert_true(gs_recent_is_copy(recent, id, GS_STR("a")));
	assert_true(gs_recent_is_copy(recent, id, GS_STR("c")));
	assert_false(gs_recent_is_copy(recent, id, GS_STR("d")));
	for (uint32_t i = 2; i < 8; i++)
		gs_recent_add(recent, make_id(other, i), GS_STR("a"));
	assert_int_equal(gs_recent_variants(recent, id), 2);
	assert_false(gs_recent_is_copy(recent, id, GS_STR("a")));
	assert_true(gs_recent_is_copy(recent, id, GS_STR("b")));
	assert_false(gs_recent_has(recent, make_id(other, 257)));
	for (uint32_t i = 10; i < 12; i++)
		gs_recent_add(recent, make_id(other, i), GS_STR("a"));
	assert_false(gs_recent_has(recent, id));
	for (uint32_t i = 0; i < 5000; i++)
		gs_recent_add(recent, make_id(id, i % 3), GS_STR("same"));
	assert_int_equal(gs_recent_count(recent), 8);
	gs_recent_free(recent);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all),
		cmocka_unit_test(test_last),
		cmocka_unit_test(test_clear),
		cmocka_unit_test(test_copies),
		cmocka_unit_test(test_variants),
	};

	gs_recent_free(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
