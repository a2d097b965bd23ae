/*
 * A session that stays, in transcripts: live subscriptions first, history beside
 * them, polls of what finds no place, and relays that are left.
 */
#include "transcript.h"

#define LIVE_SINCE "1799999100" /* START_S less 15 min */

static int64_t
read_until(const struct talk *talk)
{
	return gs_session_read_until_s(talk->session);
}

static void
assert_filters(const struct talk *talk, size_t live, size_t polled, size_t failed)
{
	struct gs_session_filters filters = gs_session_filters(talk->session);

	assert_int_equal(filters.live, live);
	assert_int_equal(filters.polled, polled);
	assert_int_equal(filters.failed, failed);
}

static void
test_live_first(void **state)
{
	struct talk talk;

	(void)state;
	talk_open(&talk, false, 2);
	expect(&talk,
	    "[\"REQ\",\"1\",{\"kinds\":[1],\"since\":" LIVE_SINCE "},"
	    "{\"kinds\":[2],\"since\":" LIVE_SINCE "}]");
	expect(&talk,
	    "[\"REQ\",\"2\",{\"kinds\":[1],\"limit\":500},"
	    "{\"kinds\":[2],\"limit\":500}]");
	expect_nothing(&talk);
	assert_non_null(hear_event(&talk, "1", 1, START_S, false));
	/* Handed out once, whichever subscription brings it. */
	assert_null(hear_event(&talk, "2", 1, START_S, false));
	assert_null(hear_event(&talk, "1", 1, START_S, false));
	hear_eose(&talk, 1, 1);
	assert_true(gs_session_had_eose(talk.session));
	expect_nothing(&talk);
	assert_filters(&talk, 2, 0, 0);
	/* It stays open; what others publish late is wanted, too. */
	assert_non_null(hear_event(&talk, "1", 2, START_S - 5000, false));
	assert_null(hear_event(&talk, "1", 3, START_S, false));
	assert_null(hear_event(&talk, "1", 1, START_S + 1, true));
	assert_int_equal(counts(&talk)->foreign, 1);
	assert_int_equal(counts(&talk)->invalid, 1);
	hear_eose(&talk, 1, 1);
	assert_filters(&talk, 2, 0, 0);
	assert_wish(&talk, GS_WISH_GOES_ON);
	talk_fini(&talk);
}

/* Its own `since` and `until` count; `limit` is for stored events. */
static void
test_filters_with_a_window(void **state)
{
	struct talk talk;

	(void)state;
	talk_init(&talk, false);
	talk_begin(&talk, 0);
	talk_add(&talk, "{\"kinds\":[1],\"since\":1800000500}");
	talk_add(&talk, "{\"kinds\":[2],\"until\":1900000000,\"limit\":7}");
	talk_add(&talk, "{\"kinds\":[3],\"until\":1000}");
	talk_add(&talk, "{\"kinds\":[4],\"limit\":0}");
	connect_talk(&talk);
	expect(&talk,
	    "[\"REQ\",\"1\",{\"kinds\":[1],\"since\":1800000500},"
	    "{\"kinds\":[2],\"since\":" LIVE_SINCE ",\"until\":1900000000},"
	    "{\"kinds\":[4],\"since\":" LIVE_SINCE "}]");
	expect_with(&talk, "[\"REQ\",\"2\",{\"kinds\":[1],\"since\":1800000500,");
	expect_with(&talk, "\"limit\":7}]");
	expect_with(&talk, "{\"kinds\":[3],\"until\":1000,");
	expect_nothing(&talk);
	hear_eose(&talk, 1, 4);
	assert_filters(&talk, 3, 0, 0);
	assert_int_equal(read_until(&talk), START_S);
	talk_fini(&talk);
}

/* Two subscriptions are kept for histories, and what finds no place is polled. */
static void
test_polling(void **state)
{
	struct talk talk;

	(void)state;
	talk_init(&talk, false);
	talk.limits.subscriptions = 4;
	talk_begin(&talk, 35);
	connect_talk(&talk);
	assert_int_equal(skip_frames(&talk), 4);
	assert_filters(&talk, 0, 15, 0);
	hear_eose(&talk, 1, 3);
	assert_int_equal(skip_frames(&talk), 1);
	hear_eose(&talk, 4, 5);
	assert_int_equal(skip_frames(&talk), 1);
	hear_eose(&talk, 6, 6);
	assert_filters(&talk, 20, 15, 0);
	assert_int_equal(gs_history_num_left(gs_session_history(talk.session)), 0);
	expect_close(&talk, 6);
	wait_ms(&talk, MINUTE_MS - 1);
	expect_nothing(&talk);
	wait_ms(&talk, 1);
	expect_with(&talk,
	    "[\"REQ\",\"7\",{\"kinds\":[21],\"since\":" LIVE_SINCE ",\"limit\":500},");
	expect_with(&talk, "[\"REQ\",\"8\",{\"kinds\":[31],\"since\":" LIVE_SINCE);
	/* The next round is from the start of this one on. */
	hear_eose(&talk, 7, 8);
	expect_close(&talk, 7);
	expect_close(&talk, 8);
	wait_ms(&talk, MINUTE_MS);
	expect_with(&talk, "{\"kinds\":[21],\"since\":1799999160,");
	expect_with(&talk, "{\"kinds\":[31],\"since\":1799999160,");
	expect_nothing(&talk);
	/* Frames prove nothing of what is polled. */
	assert_int_equal(read_until(&talk), START_S);
	talk_fini(&talk);
}

static void
test_one_subscription(void **state)
{
	struct talk talk;

	(void)state;
	talk_init(&talk, false);
	talk.limits.subscriptions = 1;
	talk_begin(&talk, 1);
	connect_talk(&talk);
	expect(&talk, "[\"REQ\",\"1\",{\"kinds\":[1],\"limit\":500}]");
	expect_nothing(&talk);
	assert_filters(&talk, 0, 1, 0);
	talk_fini(&talk);
	talk_init(&talk, false);
	talk.limits.subscriptions = 3;
	talk_begin(&talk, 21);
	connect_talk(&talk);
	assert_int_equal(skip_frames(&talk), 3);
	assert_filters(&talk, 0, 1, 0);
	talk_fini(&talk);
}

/* A filter that fits no message can only be read in pieces. */
static void
test_long_filter_is_polled(void **state)
{
	struct gs_buf filter = GS_BUF_INIT;
	struct talk talk;

	(void)state;
	talk_init(&talk, false);
	talk.limits.bytes = 4096;
	talk_begin(&talk, 1);
	gs_buf_add_str(&filter, "{\"ids\":[");
	for (unsigned i = 0; i < 100; i++)
		gs_buf_printf(&filter, "%s\"%064x\"", i ? "," : "", i);
	gs_buf_add_str(&filter, "]}");
	talk_add(&talk, filter.data);
	connect_talk(&talk);
	expect(&talk, "[\"REQ\",\"1\",{\"kinds\":[1],\"since\":" LIVE_SINCE "}]");
	assert_filters(&talk, 0, 1, 0);
	assert_true(skip_frames(&talk) >= 2);
	gs_buf_fini(&filter);
	talk_fini(&talk);
}

/* However it ends, it is opened again, and what came meanwhile is fetched. */
static void
test_live_ends(void **state)
{
	struct talk talk;

	(void)state;
	talk_open(&talk, false, 1);
	assert_int_equal(skip_frames(&talk), 2);
	hear_eose(&talk, 1, 2);
	expect_close(&talk, 2);
	wait_ms(&talk, 10000);
	(void)hear(&talk, "[\"CLOSED\",\"1\",\"\"]");
	assert_filters(&talk, 0, 0, 1);
	expect_nothing(&talk);
	wait_ms(&talk, MINUTE_MS - 1);
	expect_nothing(&talk);
	wait_ms(&talk, 1);
	expect(&talk, "[\"REQ\",\"3\",{\"kinds\":[1],\"since\":1799999170}]");
	expect(&talk,
	    "[\"REQ\",\"4\",{\"kinds\":[1],\"since\":" LIVE_SINCE ",\"limit\":500}]");
	expect_nothing(&talk);
	hear_eose(&talk, 3, 4);
	expect_close(&talk, 4);
	/* The wait doubles, unless it lasted longer than that. */
	hear_closed(&talk, 3, "error: shutting down idle subscription");
	wait_ms(&talk, 2 * MINUTE_MS - 1);
	expect_nothing(&talk);
	wait_ms(&talk, 1);
	assert_int_equal(skip_frames(&talk), 2);
	hear_eose(&talk, 5, 6);
	skip_frames(&talk);
	wait_ms(&talk, 3 * MINUTE_MS);
	hear_closed(&talk, 5, "");
	wait_ms(&talk, MINUTE_MS);
	assert_int_equal(skip_frames(&talk), 2);
	talk_fini(&talk);
}

/* The one that is refused waits alone; the others are live at once. */
static void
test_live_refused_in_company(void **state)
{
	struct talk talk;

	(void)state;
	talk_open(&talk, false, 2);
	assert_int_equal(skip_frames(&talk), 2);
	hear_closed(&talk, 1, "blocked: kind 2");
	expect(&talk, "[\"REQ\",\"3\",{\"kinds\":[1],\"since\":" LIVE_SINCE "}]");
	expect(&talk, "[\"REQ\",\"4\",{\"kinds\":[2],\"since\":" LIVE_SINCE "}]");
	hear_closed(&talk, 4, "blocked: kind 2");
	hear_eose(&talk, 2, 3);
	assert_filters(&talk, 1, 0, 1);
	/* Nothing of it was missed between the two tries. */
	expect_close(&talk, 2);
	wait_ms(&talk, MINUTE_MS);
	expect(&talk, "[\"REQ\",\"5\",{\"kinds\":[2],\"since\":1799999160}]");
	expect(&talk,
	    "[\"REQ\",\"6\",{\"kinds\":[2],\"since\":" LIVE_SINCE ",\"limit\":500}]");
	hear_closed(&talk, 5, "blocked: kind 2");
	drop_talk(&talk);
	connect_talk(&talk);
	/* On a new connection, too, its time has not come. */
	expect_with(&talk, "[\"REQ\",\"7\",{\"kinds\":[1],");
	assert_null(strstr(talk.said.data, "[2]"));
	talk_fini(&talk);
}

static void
test_live_makes_room(void **state)
{
	struct talk talk;

	(void)state;
	talk_open(&talk, false, 80);
	assert_int_equal(skip_frames(&talk), 10);
	hear_eose(&talk, 1, 8);
	hear_closed(&talk, 10, "too many subscriptions");
	assert_int_equal(talk.limits.subscriptions, 5);
	assert_filters(&talk, 30, 50, 0);
	for (unsigned i = 8; i > 3; i--)
		expect_close(&talk, i);
	/* One history goes on, another one finds a place. */
	assert_int_equal(skip_frames(&talk), 1);
	talk_fini(&talk);
}

static void
test_silence_hangs_up(void **state)
{
	struct talk talk;

	(void)state;
	talk_open(&talk, false, 1);
	assert_int_equal(skip_frames(&talk), 2);
	wait_ms(&talk, SILENCE_MS);
	assert_end(&talk, 0, GS_END_TIMEOUT);
	assert_filters(&talk, 0, 0, 1);
	expect_close(&talk, 1);
	expect_close(&talk, 2);
	assert_wish(&talk, GS_WISH_GOES_ON);
	wait_ms(&talk, MINUTE_MS);
	assert_int_equal(skip_frames(&talk), 2);
	wait_ms(&talk, SILENCE_MS);
	assert_wish(&talk, GS_WISH_HANG_UP);
	assert_int_equal(gs_session_fault(talk.session), GS_FAULT_SILENT);
	assert_int_equal(gs_session_deadline_ms(talk.session), -1);
	assert_int_equal(skip_frames(&talk), 0);
	drop_talk(&talk);
	assert_wish(&talk, GS_WISH_GOES_ON);
	connect_talk(&talk);
	assert_int_equal(gs_session_fault(talk.session), GS_FAULT_NONE);
	/* Silence is no refusal: live again at once. */
	expect_with(&talk, "[\"REQ\",\"5\",{\"kinds\":[1],\"since\":");
	talk_fini(&talk);
}

/* Who knows which of them the relay could not bear: the next time each is alone. */
static void
test_unanswered_in_company(void **state)
{
	struct talk talk;

	(void)state;
	talk_open(&talk, false, 3);
	assert_int_equal(skip_frames(&talk), 2);
	wait_ms(&talk, SILENCE_MS);
	expect_close(&talk, 1);
	expect_close(&talk, 2);
	wait_ms(&talk, MINUTE_MS);
	assert_int_equal(skip_frames(&talk), 6);
	hear_eose(&talk, 3, 4);
	hear_eose(&talk, 6, 7);
	wait_ms(&talk, SILENCE_MS);
	assert_filters(&talk, 2, 0, 1);
	drop_talk(&talk);
	connect_talk(&talk);
	/* Two live together again, the third one beside them. */
	expect_with(&talk, "{\"kinds\":[2],");
	expect_with(&talk, "[\"REQ\",\"10\",{\"kinds\":[3],\"since\":");
	talk_fini(&talk);
}

/* While nothing is awaited, silence is what one expects of a relay. */
static void
test_quiet_relay(void **state)
{
	struct talk talk;

	(void)state;
	talk_open(&talk, false, 1);
	assert_int_equal(skip_frames(&talk), 2);
	hear_eose(&talk, 1, 2);
	skip_frames(&talk);
	wait_ms(&talk, 23 * HOUR_MS);
	assert_wish(&talk, GS_WISH_GOES_ON);
	expect_nothing(&talk);
	talk_fini(&talk);
}

static void
test_noise_hangs_up(void **state)
{
	struct talk talk;

	(void)state;
	talk_open(&talk, false, 1);
	skip_frames(&talk);
	for (size_t i = 0; i < 1001; i++)
		(void)hear(&talk, "rubbish");
	assert_wish(&talk, GS_WISH_HANG_UP);
	assert_int_equal(gs_session_fault(talk.session), GS_FAULT_NOISY);
	drop_talk(&talk);
	connect_talk(&talk);
	assert_int_equal(skip_frames(&talk), 2);
	/* It begins anew. */
	for (size_t i = 0; i < 1000; i++)
		(void)hear(&talk, "[\"EVENT\",\"99\",{}]");
	assert_wish(&talk, GS_WISH_GOES_ON);
	talk_fini(&talk);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_live_first),
		cmocka_unit_test(test_filters_with_a_window),
		cmocka_unit_test(test_polling),
		cmocka_unit_test(test_one_subscription),
		cmocka_unit_test(test_long_filter_is_polled),
		cmocka_unit_test(test_live_ends),
		cmocka_unit_test(test_live_refused_in_company),
		cmocka_unit_test(test_live_makes_room),
		cmocka_unit_test(test_silence_hangs_up),
		cmocka_unit_test(test_unanswered_in_company),
		cmocka_unit_test(test_quiet_relay),
		cmocka_unit_test(test_noise_hangs_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
