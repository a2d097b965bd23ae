/* figures: the summary line, the table and the JSON object. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "figures.h"

static void
a_tally_is_one_line(void **state)
{
	struct gs_tally tally = { .read = 9, .stored = 1, .duplicate = 2 };
	struct gs_buf text = GS_BUF_INIT;

	(void)state;
	gs_figures_write_tally(&text, &tally);
	assert_string_equal(text.data,
	    "read 9, stored 1, duplicate 2, replaced 0, deleted 0, expired 0, waiting 0, "
	    "rejected 0, invalid 0");
	gs_buf_clear(&text);
	tally.rejected = 3;
	gs_tally_reason(&tally, GS_STR("denied"), 1);
	gs_tally_reason(&tally, GS_STR("cap"), 2);
	tally.invalid[GS_EVENT_SHAPE] = 4;
	tally.invalid[GS_EVENT_SIG] = 5;
	tally.freed = 6;
	tally.removed = 7;
	assert_int_equal(gs_figures_invalid(&tally), 9);
	gs_figures_write_tally(&text, &tally);
	assert_string_equal(text.data,
	    "read 9, stored 1, duplicate 2, replaced 0, deleted 0, expired 0, waiting 0, "
	    "rejected 3 (cap 2, denied 1), invalid 9 (shape 4, sig 5), freed 6, removed "
	    "7");
	gs_buf_fini(&text);
	gs_tally_fini(&tally);
}

static void
an_empty_store_has_no_dates(void **state)
{
	struct gs_store_stat stat = { .oldest = -1, .newest = -1 };
	struct gs_buf text = GS_BUF_INIT;

	(void)state;
	stat.reasons = gs_map_new();
	gs_figures_write_stat_json(&text, &stat);
	assert_string_equal(text.data,
	    "{\"events\":0,\"bytes\":0,\"oldest\":null,\"newest\":null,\"file_bytes\":0,"
	    "\"map_bytes\":0,\"used_bytes\":0,\"waiting\":0,\"waiting_bytes\":0,"
	    "\"kinds\":{},"
	    "\"judged\":{\"waiting\":0,\"rejected\":0,\"deleted\":0,\"superseded\":0,"
	    "\"expired\":0},\"reasons\":{}}");
	gs_buf_clear(&text);
	gs_figures_write_stat(&text, &stat);
	assert_non_null(strstr(text.data, "oldest         none\nnewest         none\n"));
	assert_int_not_equal(text.data[text.len - 1], '\n');
	gs_buf_fini(&text);
	gs_map_free(stat.reasons, NULL);
}

static void
kinds_and_reasons_are_sorted(void **state)
{
	struct gs_kind_stat kinds[] = { { 1, 2, 30 }, { 30617, 1, 99 } };
	struct gs_store_stat stat = { .kinds = kinds,
		.num_kinds = 2,
		.events = 3,
		.bytes = 129,
		.oldest = 0,
		.newest = INT64_C(1) << 53 };
	uint64_t counts[] = { 4, 5 };
	struct gs_buf text = GS_BUF_INIT;

	(void)state;
	stat.reasons = gs_map_new();
	stat.judged[GS_KNOWN_WAITING] = 9;
	gs_map_add(stat.reasons, GS_STR("waiting:z\"\n"))->value = &counts[0];
	gs_map_add(stat.reasons, GS_STR("waiting:a"))->value = &counts[1];
	gs_figures_write_stat_json(&text, &stat);
	assert_non_null(strstr(text.data,
	    "\"kinds\":{\"1\":{\"events\":2,\"bytes\":30},\"30617\":{\"events\":1,"
	    "\"bytes\":99}}"));
	assert_non_null(strstr(text.data,
	    "\"reasons\":{\"waiting:a\":5,\"waiting:z\\\"\\n\":4}}"));
	gs_buf_clear(&text);
	gs_figures_write_stat(&text, &stat);
	assert_non_null(strstr(text.data, "oldest         1970-01-01T00:00:00Z (0)\n"));
	assert_non_null(strstr(text.data, "waiting        9 ids\n  waiting:a 5\n"));
	assert_non_null(strstr(text.data, "waiting:z\"\\x0a 4\n"));
	assert_non_null(strstr(text.data, "kind 30617     1, 99 bytes"));
	gs_buf_fini(&text);
	gs_map_free(stat.reasons, NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_tally_is_one_line),
		cmocka_unit_test(an_empty_store_has_no_dates),
		cmocka_unit_test(kinds_and_reasons_are_sorted),
	};

	return cmocka_run_group_tests_name("figures", tests, NULL, NULL);
}
