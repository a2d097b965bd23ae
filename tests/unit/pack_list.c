/* Files of filters: what is read, what is left out, what is narrowed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs those before it */
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pack_list.h"

struct bad {
	uint64_t lines[8];
	size_t num;
};

static void
note_bad(uint64_t line, const char *reason, const char *why, void *arg)
{
	struct bad *bad = arg;

	assert_non_null(reason);
	assert_non_null(why);
	assert_true(bad->num < 8);
	bad->lines[bad->num++] = line;
}

static bool
read_text(struct gs_pack_list *list, struct bad *bad, const char *text)
{
	char path[] = "/tmp/pack_list.XXXXXX";
	int fd = mkstemp(path);
	struct gs_err err;
	bool ok;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	(void)close(fd);
	ok = gs_pack_list_read(list, path, GS_FILTER_BYTES, note_bad, bad, &err);
	(void)unlink(path);
	return ok;
}

static void
test_lines_and_their_numbers(void **state)
{
	struct gs_pack_list list = GS_PACK_LIST_INIT;
	struct bad bad = { .num = 0 };

	(void)state;
	assert_true(read_text(&list, &bad,
	    "{\"kinds\":[1]}\n \t\r\n{\"kinds\":[]}\n[{\"kinds\":[2]},{\"kinds\":[3]}]\n"
	    "x\n[\"REQ\",\"s\",{\"kinds\":[4]}]"));
	assert_int_equal(list.num, 4);
	assert_int_equal(list.lines[0], 1);
	assert_int_equal(list.lines[1], 4);
	assert_int_equal(list.lines[2], 4);
	assert_int_equal(list.lines[3], 6);
	assert_int_equal(list.filters[3].kinds[0], 4);
	assert_int_equal(bad.num, 2);
	assert_int_equal(bad.lines[0], 3);
	assert_int_equal(bad.lines[1], 5);
	gs_pack_list_fini(&list);
}

static void
test_nothing_and_no_file(void **state)
{
	struct gs_pack_list list = GS_PACK_LIST_INIT;
	struct bad bad = { .num = 0 };
	struct gs_err err;

	(void)state;
	assert_true(read_text(&list, &bad, "\n\n"));
	assert_int_equal(list.num, 0);
	assert_false(gs_pack_list_read(&list, "/nonexistent/x", 100, note_bad, &bad,
	    &err));
	assert_int_equal(err.code, GS_ENOINPUT);
	gs_pack_list_fini(&list);
}

static void
test_narrowed(void **state)
{
	struct gs_pack_list list = GS_PACK_LIST_INIT;
	struct bad bad = { .num = 0 };

	(void)state;
	assert_true(read_text(&list, &bad,
	    "{\"kinds\":[1]}\n{\"kinds\":[1],\"since\":50,\"limit\":3}\n"
	    "{\"kinds\":[1],\"since\":500,\"limit\":30}\n"));
	gs_pack_list_narrow(&list, -1, -1);
	assert_int_equal(list.filters[0].since, -1);
	assert_int_equal(list.filters[0].limit, -1);
	gs_pack_list_narrow(&list, 100, 10);
	assert_int_equal(list.filters[0].since, 100);
	assert_int_equal(list.filters[0].limit, 10);
	assert_int_equal(list.filters[1].since, 100);
	assert_int_equal(list.filters[1].limit, 3);
	assert_int_equal(list.filters[2].since, 500);
	assert_int_equal(list.filters[2].limit, 10);
	gs_pack_list_fini(&list);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines_and_their_numbers),
		cmocka_unit_test(test_nothing_and_no_file),
		cmocka_unit_test(test_narrowed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
