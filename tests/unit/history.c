/*
 * Reading by pages against a relay that is played here: what came is all that it
 * has, or the filter says that this is not proven.
 */
#include "history.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "history_model.h"
#include "made.h"

static void
test_clamps(void **state)
{
	static const size_t pages[] = { 20, 75, 100, 375, 500, 1000 };
	struct model model = { .total = SIZE_MAX };
	size_t got;

	(void)state;
	add_events(&model, 1234, 1000, 3);
	for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++) {
		model.page = pages[i];
		assert_int_equal(read_one(&model, "{}", &got), GS_END_FINISHED);
		assert_int_equal(got, 1234);
		assert_int_equal(read_one(&model, "{\"kinds\":[2]}", &got),
		    GS_END_FINISHED);
		assert_int_equal(got, 617);
		assert_int_equal(read_one(&model, "{\"since\":2000,\"until\":2999}",
				     &got),
		    GS_END_FINISHED);
		assert_int_equal(got, 333);
	}
	free_model(&model);
}

static void
test_empty_and_few(void **state)
{
	struct model model = { .page = 500, .total = SIZE_MAX };
	size_t got;

	(void)state;
	assert_int_equal(read_one(&model, "{}", &got), GS_END_FINISHED);
	assert_int_equal(model.asked, 1);
	add_events(&model, 1, 5, 0);
	assert_int_equal(read_one(&model, "{}", &got), GS_END_FINISHED);
	assert_int_equal(got, 1);
	assert_true(model.asked <= 3);
	add_events(&model, 5, 5, 0);
	assert_int_equal(read_one(&model, "{}", &got), GS_END_FINISHED);
	assert_int_equal(got, 6);
	assert_true(model.asked <= 3);
	free_model(&model);
}

/* The oldest possible date, and one far in the future. */
static void
test_edges_of_time(void **state)
{
	struct model model = { .page = 20, .total = SIZE_MAX };
	size_t got;

	(void)state;
	add_events(&model, 30, 0, 1);
	add_events(&model, 30, INT64_C(9007199254740991) - 40, 1);
	assert_int_equal(read_one(&model, "{}", &got), GS_END_FINISHED);
	assert_int_equal(got, 60);
	free_model(&model);
}

static void
test_limit_of_a_filter(void **state)
{
	struct model model = { .page = 20, .total = SIZE_MAX };
	size_t got;

	(void)state;
	add_events(&model, 100, 1, 1);
	for (size_t i = 0; i < 2; i++, model.page = 500) {
		struct outcome outcome;

		outcome =
		    read_all(&model, (const char *const[]){ "{\"limit\":50}", NULL });
		assert_int_equal(end_of(&outcome, 0), GS_END_FINISHED);
		got = gs_map_count(outcome.got);
		assert_in_range(got, 50, 60);
		finish(&outcome);
	}
	assert_int_equal(read_one(&model, "{\"limit\":0,\"kinds\":[9]}", &got),
	    GS_END_FINISHED);
	assert_int_equal(model.asked, 0);
	free_model(&model);
}

/* A second holds more than a page: by kinds and values all of it comes. */
static void
test_dense_second_is_narrowed(void **state)
{
	static const char by_kinds[] = "{\"kinds\":[1,2,3]}";
	static const char by_values[] =
	    "{\"#t\":[\"0\",\"1\",\"2\",\"3\",\"4\",\"5\",\"6\"]}";
	struct model model = { .page = 75, .total = SIZE_MAX };
	size_t got;

	(void)state;
	add_events(&model, 200, 1000, 1);
	add_events(&model, 130, 2000, 0);
	add_events(&model, 200, 3000, 1);
	assert_int_equal(read_one(&model, by_kinds, &got), GS_END_FINISHED);
	assert_int_equal(got, 530);
	assert_int_equal(read_one(&model, by_values, &got), GS_END_FINISHED);
	assert_int_equal(got, 530);
	free_model(&model);
}

/* Nothing to narrow: the rest is read, and the loss is told. */
static void
test_dense_second_is_a_loss(void **state)
{
	struct model model = { .page = 75, .total = SIZE_MAX };
	size_t got;

	(void)state;
	add_events(&model, 200, 1000, 1);
	add_events(&model, 100, 2000, 0);
	add_events(&model, 200, 3000, 1);
	assert_int_equal(read_one(&model, "{}", &got), GS_END_LOSS);
	assert_int_equal(got, 475);
	free_model(&model);
	/* It may also be the oldest of all. */
	model = (struct model){ .page = 75, .total = SIZE_MAX };
	add_events(&model, 100, 0, 0);
	assert_int_equal(read_one(&model, "{}", &got), GS_END_LOSS);
	assert_int_equal(got, 75);
	free_model(&model);
}

/* Exactly as much as a page holds can't be told from more. */
static void
test_finish_of_nip67(void **state)
{
	struct model model = { .page = 500, .total = SIZE_MAX };
	size_t got;

	(void)state;
	add_events(&model, 40, 1000, 0);
	assert_int_equal(read_one(&model, "{}", &got), GS_END_LOSS);
	model.says_finish = true;
	assert_int_equal(read_one(&model, "{}", &got), GS_END_FINISHED);
	assert_int_equal(got, 40);
	free_model(&model);
}

static void
test_relays_that_ignore(void **state)
{
	struct model model = { .page = 75, .total = SIZE_MAX };
	size_t got;

	(void)state;
	add_events(&model, 400, 1000, 1);
	model.ignores_until = true;
	assert_int_equal(read_one(&model, "{}", &got), GS_END_INCONSISTENT);
	assert_int_equal(got, 75);
	model.ignores_until = false;
	model.ignores_limit = true;
	model.page = SIZE_MAX;
	assert_int_equal(read_one(&model, "{}", &got), GS_END_FINISHED);
	assert_int_equal(got, 400);
	model.page = 75;
	model.is_oldest_first = true;
	assert_int_equal(read_one(&model, "{}", &got), GS_END_INCONSISTENT);
	model.is_oldest_first = false;
	model.forgets_boundary = true;
	assert_int_equal(read_one(&model, "{}", &got), GS_END_INCONSISTENT);
	free_model(&model);
}

/* Ten filters in a REQ that overlap, with caps a filter and a REQ. */
static const char *const company[] = {
	"{\"kinds\":[1]}",
	"{\"kinds\":[2]}",
	"{\"kinds\":[1,2]}",
	"{\"#t\":[\"0\",\"1\",\"2\"]}",
	"{\"#t\":[\"3\"]}",
	"{\"#t\":[\"4\",\"5\",\"6\"],\"kinds\":[1]}",
	"{\"#n\":[\"1\",\"17\",\"170\"]}",
	"{\"kinds\":[3]}",
	"{\"since\":1500,\"kinds\":[2]}",
	"{\"until\":1200}",
	"{\"#t\":[\"6\"]}",
	NULL,
};

static void
check_company(struct model *model)
{
	struct outcome outcome = read_all(model, company);

	for (size_t i = 0; company[i] != NULL; i++) {
		assert_int_equal(end_of(&outcome, i), GS_END_FINISHED);
		assert_true(has_all(model, &outcome, i));
	}
	finish(&outcome);
}

static void
test_filters_in_company(void **state)
{
	static const size_t pages[] = { 20, 75, 500 };
	static const size_t totals[] = { 30, 100, 2000 };
	struct model model = { .num = 0 };

	(void)state;
	add_events(&model, 700, 1000, 1);
	for (size_t i = 0; i < 3; i++)
		for (size_t j = 0; j < 3; j++) {
			model.page = pages[i];
			model.total = totals[j];
			check_company(&model);
		}
	free_model(&model);
}

/* A filter whose events came for another one has not been read so deep. */
static void
test_company_moves_no_cursor(void **state)
{
	static const char *const filters[] = { "{\"kinds\":[1,2]}",
		"{\"#t\":[\"0\",\"1\"]}", NULL };
	struct model model = { .page = 50, .total = SIZE_MAX };
	struct outcome outcome;

	(void)state;
	add_events(&model, 60, 5000, 1);
	add_events(&model, 900, 1000, 1);
	outcome = read_all(&model, filters);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(end_of(&outcome, i), GS_END_FINISHED);
		assert_true(has_all(&model, &outcome, i));
	}
	finish(&outcome);
	free_model(&model);
}

/*
 * A relay ignores `until`, and all that lies outside of one filter's window came for
 * another one: the page is still full, and proves nothing.
 */
static void
test_company_hides_what_is_outside(void **state)
{
	char texts[GS_HISTORY_FILTERS][64];
	const char *filters[GS_HISTORY_FILTERS + 3] = { NULL };
	struct model model = { .page = 5, .total = 500, .ignores_until = true };
	struct outcome outcome;

	(void)state;
	add_events(&model, 6 + 5 * GS_HISTORY_FILTERS, 1000, 10);
	for (size_t i = 0, n = 6; i < GS_HISTORY_FILTERS; i++, n += 5) {
		(void)snprintf(texts[i], sizeof(texts[i]),
		    "{\"#n\":[\"%zu\",\"%zu\",\"%zu\",\"%zu\",\"%zu\"]}", n, n + 1, n + 2,
		    n + 3, n + 4);
		filters[i] = texts[i];
	}
	filters[GS_HISTORY_FILTERS] = "{\"#n\":[\"0\",\"1\",\"2\",\"3\",\"4\",\"5\"]}";
	filters[GS_HISTORY_FILTERS + 1] = "{\"#n\":[\"1\",\"2\",\"3\",\"5\"]}";
	outcome = read_all(&model, filters);
	assert_false(has_all(&model, &outcome, GS_HISTORY_FILTERS));
	assert_int_equal(end_of(&outcome, GS_HISTORY_FILTERS), GS_END_INCONSISTENT);
	finish(&outcome);
	free_model(&model);
}

/* Small answers settle in few REQs, not one by one. */
static void
test_company_is_cheap(void **state)
{
	struct model model = { .page = 500, .total = SIZE_MAX };
	struct outcome outcome;

	(void)state;
	add_events(&model, 12, 1000, 1);
	outcome = read_all(&model,
	    (const char *const[]){ "{\"#n\":[\"1\",\"2\",\"3\",\"4\"]}",
		"{\"#n\":[\"5\",\"6\"]}", "{\"#n\":[\"99\"]}", "{\"#n\":[\"8\"]}",
		NULL });
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(end_of(&outcome, i), GS_END_FINISHED);
	assert_int_equal(model.asked, 2);
	finish(&outcome);
	free_model(&model);
}

static uint32_t
draw(uint32_t *seed, uint32_t below)
{
	*seed = *seed * 1664525u + 1013904223u;
	return (*seed >> 8) % below;
}

/* Without faults: what is called complete is, and without dense seconds all is. */
static void
test_random_relays(void **state)
{
	(void)state;
	for (uint32_t run = 0; run < 60; run++) {
		struct model model = { .num = 0 };
		struct outcome outcome;
		uint32_t seed = run;
		bool is_dense = draw(&seed, 2) == 0;

		model.page = 20 + draw(&seed, 200);
		model.total = 20 + draw(&seed, 600);
		for (size_t i = 0; i < 5; i++)
			add_events(&model, draw(&seed, 90), 1000 + draw(&seed, 900),
			    is_dense ? draw(&seed, 2) : 1 + draw(&seed, 3));
		outcome = read_all(&model, company);
		for (size_t i = 0; company[i] != NULL; i++) {
			enum gs_end end = end_of(&outcome, i);

			assert_true(end == GS_END_FINISHED ||
			    (is_dense && end == GS_END_LOSS));
			assert_true(end != GS_END_FINISHED ||
			    has_all(&model, &outcome, i));
		}
		finish(&outcome);
		free_model(&model);
	}
}

static void
test_counts(void **state)
{
	static const char *const filters[] = { "{\"kinds\":[1]}", NULL };
	struct outcome outcome = start(filters);
	const struct gs_history_report *report = gs_history_get(outcome.history, 0);
	struct gs_event event = GS_EVENT_INIT, other = GS_EVENT_INIT,
			foreign = GS_EVENT_INIT;
	struct gs_buf frame = GS_BUF_INIT;
	struct gs_request *request = gs_history_ask(outcome.history, "s", &frame);
	struct gs_fit fit;

	(void)state;
	assert_string_equal(frame.data, "[\"REQ\",\"s\",{\"kinds\":[1],\"limit\":500}]");
	make_event(&event, 1, 1, 100, "[]");
	make_event(&other, 1, 1, 90, "[]");
	make_event(&foreign, 2, 1, 80, "[]");
	assert_true(gs_history_is_empty(request));
	fit = gs_history_fit(request, &event);
	assert_true(fit.inside == 1 && fit.outside == 0 && fit.is_wanted);
	assert_true(gs_history_event(request, fit, &event, true));
	assert_false(gs_history_event(request, fit, &event, true));
	assert_true(gs_history_event(request, gs_history_fit(request, &other), &other,
	    false));
	fit = gs_history_fit(request, &foreign);
	assert_true(fit.inside == 0 && fit.outside == 0 && !fit.is_wanted);
	assert_false(gs_history_event(request, fit, &foreign, true));
	assert_false(gs_history_event(request, (struct gs_fit){ 0, 0, false }, NULL,
	    false));
	gs_history_eose(outcome.history, request, false);
	assert_int_equal(report->frames, 4);
	assert_int_equal(report->fresh, 1);
	assert_int_equal(report->duplicate, 1);
	assert_int_equal(report->invalid, 2);
	assert_int_equal(report->oldest, 100);
	gs_buf_clear(&frame);
	request = gs_history_ask(outcome.history, "t", &frame);
	assert_string_equal(frame.data,
	    "[\"REQ\",\"t\",{\"kinds\":[1],\"until\":90,\"limit\":500}]");
	gs_history_fail(outcome.history, request, GS_END_CLOSED, GS_STR("no\nway\xff"));
	gs_buf_clear(&frame);
	gs_history_write(outcome.history, 0, &frame);
	assert_string_equal(frame.data,
	    "\"filter\":{\"kinds\":[1]},\"pages\":1,\"frames\":4,\"new\":1,\"duplicate\":"
	    "1,"
	    "\"invalid\":2,\"oldest\":100,\"newest\":100,\"method\":\"pages\","
	    "\"end\":\"closed:no\\\\x0away\\\\xff\",\"complete\":false");
	gs_buf_fini(&frame);
	gs_event_fini(&event);
	gs_event_fini(&other);
	gs_event_fini(&foreign);
	finish(&outcome);
}

static void
test_split_and_abort(void **state)
{
	static const char *const filters[] = { "{\"kinds\":[1]}", "{\"kinds\":[2]}",
		NULL };
	struct outcome outcome = start(filters);
	struct gs_buf frame = GS_BUF_INIT;
	struct gs_request *request = gs_history_ask(outcome.history, "1", &frame);

	(void)state;
	assert_true(gs_history_is_shared(request));
	gs_history_split(outcome.history, request);
	gs_buf_clear(&frame);
	request = gs_history_ask(outcome.history, "2", &frame);
	assert_false(gs_history_is_shared(request));
	assert_string_equal(frame.data, "[\"REQ\",\"2\",{\"kinds\":[1],\"limit\":500}]");
	gs_history_eose(outcome.history, request, false);
	assert_int_equal(end_of(&outcome, 0), GS_END_FINISHED);
	assert_int_equal(gs_history_num_left(outcome.history), 1);
	gs_history_abort(outcome.history, GS_END_DROPPED);
	assert_true(gs_history_num_left(outcome.history) == 0);
	assert_int_equal(end_of(&outcome, 0), GS_END_FINISHED);
	assert_int_equal(end_of(&outcome, 1), GS_END_DROPPED);
	assert_null(gs_history_ask(outcome.history, "3", &frame));
	gs_buf_fini(&frame);
	finish(&outcome);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clamps),
		cmocka_unit_test(test_empty_and_few),
		cmocka_unit_test(test_edges_of_time),
		cmocka_unit_test(test_limit_of_a_filter),
		cmocka_unit_test(test_dense_second_is_narrowed),
		cmocka_unit_test(test_dense_second_is_a_loss),
		cmocka_unit_test(test_finish_of_nip67),
		cmocka_unit_test(test_relays_that_ignore),
		cmocka_unit_test(test_filters_in_company),
		cmocka_unit_test(test_company_moves_no_cursor),
		cmocka_unit_test(test_company_hides_what_is_outside),
		cmocka_unit_test(test_company_is_cheap),
		cmocka_unit_test(test_random_relays),
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_split_and_abort),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
