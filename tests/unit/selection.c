/* selection: filters joined by "or", each with its limit, over what is stored. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "made.h"
#include "selection.h"

#define NOW 1000
#define MAX_FILTERS 4

/* Dated 1, 2, 3, ... */
static const struct {
	unsigned kind;
	int who;
	const char *tags;
} stored[] = {
	{ 1, 1, "[['q','x']]" },
	{ 1621, 1, "[['q','y']]" },
	{ 1, 2, "[]" },
	{ 1617, 2, "[['q','x'],['expiration','5000']]" },
	{ 1, 1, "[['q','y']]" },
	{ 1621, 2, "[['q','y','x']]" },
};

struct selecting {
	const char *filters[MAX_FILTERS];
	int64_t since, until, now_s;
	const char *dates; /* what comes out */
};

static const struct selecting selections[] = {
	{ { NULL }, -1, -1, NOW, "1 2 3 4 5 6 " },
	{ { NULL }, -1, -1, 5001, "1 2 3 5 6 " },
	{ { NULL }, 2, 3, NOW, "2 3 " },
	{ { "{}" }, -1, -1, NOW, "1 2 3 4 5 6 " },
	{ { "{\"kinds\":[1]}" }, -1, -1, NOW, "1 3 5 " },
	{ { "{\"kinds\":[1621,1,1]}", "{\"kinds\":[1]}" }, -1, -1, NOW, "1 2 3 5 6 " },
	{ { "{\"kinds\":[1]}", "{\"#q\":[\"x\"]}" }, -1, -1, NOW, "1 3 4 5 " },
	{ { "{\"since\":5}", "{\"until\":1}" }, -1, -1, NOW, "1 5 6 " },
	{ { "{\"since\":5}", "{\"until\":1}" }, 2, 5, NOW, "5 " },
	{ { "{\"authors\":[\"02020202020202020202020202020202020202020202020202020202"
	    "02020202\"]}" },
	    -1, -1, NOW, "3 4 6 " },
	{ { "{\"limit\":2}" }, -1, -1, NOW, "5 6 " },
	{ { "{\"limit\":2}" }, -1, 4, NOW, "3 4 " },
	{ { "{\"limit\":0}" }, -1, -1, NOW, "" },
	{ { "{\"limit\":99}" }, -1, -1, NOW, "1 2 3 4 5 6 " },
	{ { "{\"kinds\":[1],\"limit\":1}", "{\"#q\":[\"x\"],\"limit\":1}" }, -1, -1, NOW,
	    "4 5 " },
	{ { "{\"kinds\":[1],\"limit\":1}", "{\"kinds\":[1621]}" }, -1, -1, NOW,
	    "2 5 6 " },
	{ { "{\"limit\":0}", "{\"kinds\":[1617]}" }, -1, -1, NOW, "4 " },
};

static struct gs_store *
fill_store(void)
{
	struct gs_store_options options = { .scratch = true };
	struct gs_put how = { .now_s = NOW };
	struct gs_event event = GS_EVENT_INIT;
	struct gs_err err;
	struct gs_store *store = gs_store_open(NULL, &options, &err);
	struct gs_txn *txn;

	assert_non_null(store);
	txn = gs_store_write(store, &err);
	assert_non_null(txn);
	for (size_t i = 0; i < sizeof(stored) / sizeof(stored[0]); i++) {
		enum gs_known known;

		make_event(&event, stored[i].kind, stored[i].who, (int64_t)i + 1,
		    stored[i].tags);
		assert_true(gs_store_put(txn, &event, &how, &known, &err));
	}
	assert_true(gs_txn_commit(txn, &err));
	gs_event_fini(&event);
	return store;
}

static bool
add_date(const struct gs_row *row, void *arg)
{
	gs_buf_printf(arg, "%d ", (int)row->created_at);
	return true;
}

static void
check(struct gs_store *store, size_t number)
{
	const struct selecting *selecting = &selections[number];
	struct gs_filter filters[MAX_FILTERS];
	struct gs_selection selection = { .filters = filters,
		.since = selecting->since,
		.until = selecting->until,
		.now_s = selecting->now_s };
	struct gs_buf dates = GS_BUF_INIT;
	struct gs_err err;

	for (size_t i = 0; i < MAX_FILTERS && selecting->filters[i] != NULL; i++) {
		filters[i] = (struct gs_filter)GS_FILTER_INIT;
		assert_true(gs_filter_parse(&filters[i], selecting->filters[i],
		    strlen(selecting->filters[i]), &err));
		selection.num_filters++;
	}
	gs_buf_add_str(&dates, "");
	assert_true(gs_selection_walk(store, &selection, add_date, &dates, &err));
	if (strcmp(dates.data ? dates.data : "", selecting->dates) != 0)
		fail_msg("selection %zu: %s", number, dates.data);
	for (size_t i = 0; i < selection.num_filters; i++)
		gs_filter_fini(&filters[i]);
	gs_buf_fini(&dates);
}

static void
filters_select(void **state)
{
	struct gs_store *store = fill_store();

	(void)state;
	for (size_t i = 0; i < sizeof(selections) / sizeof(selections[0]); i++)
		check(store, i);
	gs_store_close(store);
}

struct lowest {
	uint8_t id[32];
	size_t num;
};

static bool
note_lowest(const struct gs_row *row, void *arg)
{
	struct lowest *lowest = arg;

	memcpy(lowest->id, row->id, 32);
	lowest->num++;
	return true;
}

/* NIP-01: of one second, a limit keeps the lowest ids. */
static void
a_limit_keeps_the_lowest_ids_of_a_second(void **state)
{
	struct gs_store_options options = { .scratch = true };
	struct gs_filter filter = GS_FILTER_INIT;
	struct gs_selection selection = { &filter, 1, -1, -1, NOW };
	struct gs_put how = { .now_s = NOW };
	struct gs_event event = GS_EVENT_INIT;
	struct lowest found = { .num = 0 };
	struct gs_err err;
	struct gs_store *store = gs_store_open(NULL, &options, &err);
	struct gs_txn *txn = gs_store_write(store, &err);
	uint8_t lowest[32];

	(void)state;
	memset(lowest, 0xff, sizeof(lowest));
	filter.limit = 1;
	for (int i = 0; i < 5; i++) {
		enum gs_known known;
		char tags[32];

		(void)snprintf(tags, sizeof(tags), "[['n','%d']]", i);
		make_event(&event, 1, 1, 10, tags);
		assert_true(gs_store_put(txn, &event, &how, &known, &err));
		if (memcmp(event.id, lowest, 32) < 0)
			memcpy(lowest, event.id, 32);
	}
	assert_true(gs_txn_commit(txn, &err));
	assert_true(gs_selection_walk(store, &selection, note_lowest, &found, &err));
	assert_int_equal(found.num, 1);
	assert_memory_equal(found.id, lowest, 32);
	gs_event_fini(&event);
	gs_store_close(store);
}

static bool
stop_at_two(const struct gs_row *row, void *arg)
{
	(void)arg;
	return row->created_at < 2;
}

static void
the_caller_may_stop(void **state)
{
	struct gs_selection selection = { .since = -1, .until = -1, .now_s = NOW };
	struct gs_store *store = fill_store();
	struct gs_err err;

	(void)state;
	assert_true(gs_selection_walk(store, &selection, stop_at_two, NULL, &err));
	gs_store_close(store);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(filters_select),
		cmocka_unit_test(a_limit_keeps_the_lowest_ids_of_a_second),
		cmocka_unit_test(the_caller_may_stop),
	};

	return cmocka_run_group_tests_name("selection", tests, NULL, NULL);
}
