/* The map against a plain array, through growth and every order of deletion. */
#include "map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mem.h"

#define NUM_KEYS 500
#define NUM_STEPS 20000

static void
test_empty(void **state)
{
	struct gs_map *map = gs_map_new();
	size_t at = 0;
	struct gs_map_entry **all;

	(void)state;
	assert_int_equal(gs_map_count(map), 0);
	assert_null(gs_map_find(map, GS_STR("a")));
	assert_null(gs_map_get(map, GS_STR("a")));
	assert_null(gs_map_del(map, GS_STR("a")));
	assert_null(gs_map_next(map, &at));
	all = gs_map_sorted(map);
	assert_non_null(all);
	free(all);
	gs_map_free(map, NULL);
	gs_map_free(NULL, NULL);
}

static void
test_keys_are_bytes(void **state)
{
	struct gs_map *map = gs_map_new();
	char text[] = "a\0b";
	struct gs_str key = { text, 3 };

	(void)state;
	gs_map_add(map, key)->value = text;
	text[2] = 'c'; /* the map has its own copy */
	assert_null(gs_map_find(map, key));
	assert_ptr_equal(gs_map_get(map, GS_STR("a\0b")), text);
	assert_null(gs_map_find(map, GS_STR("a")));
	assert_null(gs_map_add(map, GS_STR(""))->value);
	assert_non_null(gs_map_find(map, GS_STR("")));
	assert_ptr_equal(gs_map_add(map, GS_STR("a\0b"))->value, text);
	assert_int_equal(gs_map_count(map), 2);
	gs_map_free(map, NULL);
}

static struct gs_str
key_of(char text[static 16], unsigned number)
{
	int len = snprintf(text, 16, "key-%u", number);

	return (struct gs_str){ text, (size_t)len };
}

/* A small generator of its own, the same on every machine. */
static unsigned
next_random(uint32_t *seed)
{
	*seed = *seed * 1664525U + 1013904223U;
	return *seed >> 8;
}

static void
assert_same(const struct gs_map *map, void *const model[static NUM_KEYS])
{
	char text[16];
	size_t count = 0, seen = 0, at = 0;
	unsigned i;

	for (i = 0; i < NUM_KEYS; i++) {
		assert_ptr_equal(gs_map_get(map, key_of(text, i)), model[i]);
		count += model[i] != NULL;
	}
	while (gs_map_next(map, &at) != NULL)
		seen++;
	assert_int_equal(gs_map_count(map), count);
	assert_int_equal(seen, count);
}

static void
test_agrees_with_an_array(void **state)
{
	struct gs_map *map = gs_map_new();
	void *model[NUM_KEYS] = { NULL };
	uint32_t seed = 1;
	char text[16];
	unsigned step;

	(void)state;
	for (step = 0; step < NUM_STEPS; step++) {
		unsigned i = next_random(&seed) % NUM_KEYS;

		if (next_random(&seed) % 3 != 0) {
			gs_map_add(map, key_of(text, i))->value = &model[i];
			model[i] = &model[i];
		} else {
			assert_ptr_equal(gs_map_del(map, key_of(text, i)), model[i]);
			model[i] = NULL;
		}
		if (step % 500 == 0)
			assert_same(map, model);
	}
	assert_same(map, model);
	gs_map_free(map, NULL);
}

static void
test_sorts_by_bytes(void **state)
{
	struct gs_map *map = gs_map_new();
	struct gs_map_entry **all;

	(void)state;
	(void)gs_map_add(map, GS_STR("b"));
	(void)gs_map_add(map, GS_STR("\xc3\xa9"));
	(void)gs_map_add(map, GS_STR("ab"));
	(void)gs_map_add(map, GS_STR("a"));
	all = gs_map_sorted(map);
	assert_true(gs_str_is(all[0]->key, "a"));
	assert_true(gs_str_is(all[1]->key, "ab"));
	assert_true(gs_str_is(all[2]->key, "b"));
	assert_true(gs_str_is(all[3]->key, "\xc3\xa9"));
	free(all);
	gs_map_free(map, NULL);
}

static void
test_frees_values(void **state)
{
	struct gs_map *map = gs_map_new();

	(void)state;
	gs_map_add(map, GS_STR("a"))->value = gs_mem_str("x");
	gs_map_add(map, GS_STR("b"))->value = gs_mem_str("y");
	free(gs_map_del(map, GS_STR("a")));
	assert_int_equal(gs_map_count(map), 1);
	gs_map_free(map, free);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_keys_are_bytes),
		cmocka_unit_test(test_agrees_with_an_array),
		cmocka_unit_test(test_sorts_by_bytes),
		cmocka_unit_test(test_frees_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
