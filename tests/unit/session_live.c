/*
 * A session that stays, in transcripts: live subscriptions first, history beside
 * them, polls of what finds no place, and relays that are left.
 */
#include "transcript.h"

#define LIVE_SINCE "1799999100" /* START_S less 15 min */

static int64_t
read_until(const struct chat *chat)
{
	return gs_session_read_until_s(chat->session);
}

static void
assert_filters(const struct chat *chat, size_t live, size_t polled, size_t failed)
{
	struct gs_session_filters filters = gs_session_filters(chat->session);

	assert_int_equal(filters.live, live);
	assert_int_equal(filters.polled, polled);
	assert_int_equal(filters.failed, failed);
}

static void
test_live_first(void **state)
{
	struct chat chat;

	(void)state;
	chat_open(&chat, false, 2);
	expect(&chat,
	    "[\"REQ\",\"1\",{\"kinds\":[1],\"since\":" LIVE_SINCE "},"
	    "{\"kinds\":[2],\"since\":" LIVE_SINCE "}]");
	expect(&chat,
	    "[\"REQ\",\"2\",{\"kinds\":[1],\"limit\":500},"
	    "{\"kinds\":[2],\"limit\":500}]");
	expect_nothing(&chat);
	assert_non_null(hear_event(&chat, "1", 1, START_S, false));
	/* Handed out once, whichever subscription brings it. */
	assert_null(hear_event(&chat, "2", 1, START_S, false));
	assert_null(hear_event(&chat, "1", 1, START_S, false));
	hear_eose(&chat, 1, 1);
	assert_true(gs_session_had_eose(chat.session));
	expect_nothing(&chat);
	assert_filters(&chat, 2, 0, 0);
	/* It stays open; what others publish late is wanted, too. */
	assert_non_null(hear_event(&chat, "1", 2, START_S - 5000, false));
	assert_null(hear_event(&chat, "1", 3, START_S, false));
	assert_null(hear_event(&chat, "1", 1, START_S + 1, true));
	assert_int_equal(counts(&chat)->foreign, 1);
	assert_int_equal(counts(&chat)->invalid, 1);
	hear_eose(&chat, 1, 1);
	assert_filters(&chat, 2, 0, 0);
	assert_wish(&chat, GS_WISH_GOES_ON);
	chat_fini(&chat);
}

/* Its own `since` and `until` count; `limit` is for stored events. */
static void
test_filters_with_a_window(void **state)
{
	struct chat chat;

	(void)state;
	chat_init(&chat, false);
	chat_begin(&chat, 0);
	chat_add(&chat, "{\"kinds\":[1],\"since\":1800000500}");
	chat_add(&chat, "{\"kinds\":[2],\"until\":1900000000,\"limit\":7}");
	chat_add(&chat, "{\"kinds\":[3],\"until\":1000}");
	chat_add(&chat, "{\"kinds\":[4],\"limit\":0}");
	connect_chat(&chat);
	expect(&chat,
	    "[\"REQ\",\"1\",{\"kinds\":[1],\"since\":1800000500},"
	    "{\"kinds\":[2],\"since\":" LIVE_SINCE ",\"until\":1900000000},"
	    "{\"kinds\":[4],\"since\":" LIVE_SINCE "}]");
	expect_with(&chat, "[\"REQ\",\"2\",{\"kinds\":[1],\"since\":1800000500,");
	expect_with(&chat, "\"limit\":7}]");
	expect_with(&chat, "{\"kinds\":[3],\"until\":1000,");
	expect_nothing(&chat);
	hear_eose(&chat, 1, 4);
	assert_filters(&chat, 3, 0, 0);
	assert_int_equal(read_until(&chat), START_S);
	chat_fini(&chat);
}

/* Two subscriptions are kept for histories, and what finds no place is polled. */
static void
test_polling(void **state)
{
	struct chat chat;

	(void)state;
	chat_init(&chat, false);
	chat.limits.subscriptions = 4;
	chat_begin(&chat, 35);
	connect_chat(&chat);
	assert_int_equal(skip_frames(&chat), 4);
	assert_filters(&chat, 0, 15, 0);
	hear_eose(&chat, 1, 3);
	assert_int_equal(skip_frames(&chat), 1);
	hear_eose(&chat, 4, 5);
	assert_int_equal(skip_frames(&chat), 1);
	hear_eose(&chat, 6, 6);
	assert_filters(&chat, 20, 15, 0);
	assert_int_equal(gs_history_num_left(gs_session_history(chat.session)), 0);
	expect_close(&chat, 6);
	wait_ms(&chat, MINUTE_MS - 1);
	expect_nothing(&chat);
	wait_ms(&chat, 1);
	expect_with(&chat,
	    "[\"REQ\",\"7\",{\"kinds\":[21],\"since\":" LIVE_SINCE ",\"limit\":500},");
	expect_with(&chat, "[\"REQ\",\"8\",{\"kinds\":[31],\"since\":" LIVE_SINCE);
	/* The next round is from the start of this one on. */
	hear_eose(&chat, 7, 8);
	expect_close(&chat, 7);
	expect_close(&chat, 8);
	wait_ms(&chat, MINUTE_MS);
	expect_with(&chat, "{\"kinds\":[21],\"since\":1799999160,");
	expect_with(&chat, "{\"kinds\":[31],\"since\":1799999160,");
	expect_nothing(&chat);
	/* Frames prove nothing of what is polled. */
	assert_int_equal(read_until(&chat), START_S);
	chat_fini(&chat);
}

static void
test_one_subscription(void **state)
{
	struct chat chat;

	(void)state;
	chat_init(&chat, false);
	chat.limits.subscriptions = 1;
	chat_begin(&chat, 1);
	connect_chat(&chat);
	expect(&chat, "[\"REQ\",\"1\",{\"kinds\":[1],\"limit\":500}]");
	expect_nothing(&chat);
	assert_filters(&chat, 0, 1, 0);
	chat_fini(&chat);
	chat_init(&chat, false);
	chat.limits.subscriptions = 3;
	chat_begin(&chat, 21);
	connect_chat(&chat);
	assert_int_equal(skip_frames(&chat), 3);
	assert_filters(&chat, 0, 1, 0);
	chat_fini(&chat);
}

/* A filter that fits no message can only be read in pieces. */
static void
test_long_filter_is_polled(void **state)
{
	struct gs_buf filter = GS_BUF_INIT;
	struct chat chat;

	(void)state;
	chat_init(&chat, false);
	chat.limits.bytes = 4096;
	chat_begin(&chat, 1);
	gs_buf_add_str(&filter, "{\"ids\":[");
	for (unsigned i = 0; i < 100; i++)
		gs_buf_printf(&filter, "%s\"%064x\"", i ? "," : "", i);
	gs_buf_add_str(&filter, "]}");
	chat_add(&chat, filter.data);
	connect_chat(&chat);
	expect(&chat, "[\"REQ\",\"1\",{\"kinds\":[1],\"since\":" LIVE_SINCE "}]");
	assert_filters(&chat, 0, 1, 0);
	assert_true(skip_frames(&chat) >= 2);
	gs_buf_fini(&filter);
	chat_fini(&chat);
}

/* However it ends, it is opened again, and what came meanwhile is fetched. */
static void
test_live_ends(void **state)
{
	struct chat chat;

	(void)state;
	chat_open(&chat, false, 1);
	assert_int_equal(skip_frames(&chat), 2);
	hear_eose(&chat, 1, 2);
	expect_close(&chat, 2);
	wait_ms(&chat, 10000);
	(void)hear(&chat, "[\"CLOSED\",\"1\",\"\"]");
	assert_filters(&chat, 0, 0, 1);
	expect_nothing(&chat);
	wait_ms(&chat, MINUTE_MS - 1);
	expect_nothing(&chat);
	wait_ms(&chat, 1);
	expect(&chat, "[\"REQ\",\"3\",{\"kinds\":[1],\"since\":1799999170}]");
	expect(&chat,
	    "[\"REQ\",\"4\",{\"kinds\":[1],\"since\":" LIVE_SINCE ",\"limit\":500}]");
	expect_nothing(&chat);
	hear_eose(&chat, 3, 4);
	expect_close(&chat, 4);
	/* The wait doubles, unless it lasted longer than that. */
	hear_closed(&chat, 3, "error: shutting down idle subscription");
	wait_ms(&chat, 2 * MINUTE_MS - 1);
	expect_nothing(&chat);
	wait_ms(&chat, 1);
	assert_int_equal(skip_frames(&chat), 2);
	hear_eose(&chat, 5, 6);
	skip_frames(&chat);
	wait_ms(&chat, 3 * MINUTE_MS);
	hear_closed(&chat, 5, "");
	wait_ms(&chat, MINUTE_MS);
	assert_int_equal(skip_frames(&chat), 2);
	chat_fini(&chat);
}

/* The one that is refused waits alone; the others are live at once. */
static void
test_live_refused_in_company(void **state)
{
	struct chat chat;

	(void)state;
	chat_open(&chat, false, 2);
	assert_int_equal(skip_frames(&chat), 2);
	hear_closed(&chat, 1, "blocked: kind 2");
	expect(&chat, "[\"REQ\",\"3\",{\"kinds\":[1],\"since\":" LIVE_SINCE "}]");
	expect(&chat, "[\"REQ\",\"4\",{\"kinds\":[2],\"since\":" LIVE_SINCE "}]");
	hear_closed(&chat, 4, "blocked: kind 2");
	hear_eose(&chat, 2, 3);
	assert_filters(&chat, 1, 0, 1);
	/* Nothing of it was missed between the two tries. */
	expect_close(&chat, 2);
	wait_ms(&chat, MINUTE_MS);
	expect(&chat, "[\"REQ\",\"5\",{\"kinds\":[2],\"since\":1799999160}]");
	expect(&chat,
	    "[\"REQ\",\"6\",{\"kinds\":[2],\"since\":" LIVE_SINCE ",\"limit\":500}]");
	hear_closed(&chat, 5, "blocked: kind 2");
	drop_chat(&chat);
	connect_chat(&chat);
	/* On a new connection, too, its time has not come. */
	expect_with(&chat, "[\"REQ\",\"7\",{\"kinds\":[1],");
	assert_null(strstr(chat.said.data, "[2]"));
	chat_fini(&chat);
}

static void
test_live_makes_room(void **state)
{
	struct chat chat;

	(void)state;
	chat_open(&chat, false, 80);
	assert_int_equal(skip_frames(&chat), 10);
	hear_eose(&chat, 1, 8);
	hear_closed(&chat, 10, "too many subscriptions");
	assert_int_equal(chat.limits.subscriptions, 5);
	assert_filters(&chat, 30, 50, 0);
	for (unsigned i = 8; i > 3; i--)
		expect_close(&chat, i);
	/* One history goes on, another one finds a place. */
	assert_int_equal(skip_frames(&chat), 1);
	chat_fini(&chat);
}

static void
test_silence_hangs_up(void **state)
{
	struct chat chat;

	(void)state;
	chat_open(&chat, false, 1);
	assert_int_equal(skip_frames(&chat), 2);
	wait_ms(&chat, SILENCE_MS);
	assert_end(&chat, 0, GS_END_TIMEOUT);
	assert_filters(&chat, 0, 0, 1);
	expect_close(&chat, 1);
	expect_close(&chat, 2);
	assert_wish(&chat, GS_WISH_GOES_ON);
	wait_ms(&chat, MINUTE_MS);
	assert_int_equal(skip_frames(&chat), 2);
	wait_ms(&chat, SILENCE_MS);
	assert_wish(&chat, GS_WISH_HANG_UP);
	assert_int_equal(gs_session_fault(chat.session), GS_FAULT_SILENT);
	assert_int_equal(gs_session_deadline_ms(chat.session), -1);
	assert_int_equal(skip_frames(&chat), 0);
	drop_chat(&chat);
	assert_wish(&chat, GS_WISH_GOES_ON);
	connect_chat(&chat);
	assert_int_equal(gs_session_fault(chat.session), GS_FAULT_NONE);
	/* Silence is no refusal: live again at once. */
	expect_with(&chat, "[\"REQ\",\"5\",{\"kinds\":[1],\"since\":");
	chat_fini(&chat);
}

/* Who knows which of them the relay could not bear: the next time each is alone. */
static void
test_unanswered_in_company(void **state)
{
	struct chat chat;

	(void)state;
	chat_open(&chat, false, 3);
	assert_int_equal(skip_frames(&chat), 2);
	wait_ms(&chat, SILENCE_MS);
	expect_close(&chat, 1);
	expect_close(&chat, 2);
	wait_ms(&chat, MINUTE_MS);
	assert_int_equal(skip_frames(&chat), 6);
	hear_eose(&chat, 3, 4);
	hear_eose(&chat, 6, 7);
	wait_ms(&chat, SILENCE_MS);
	assert_filters(&chat, 2, 0, 1);
	drop_chat(&chat);
	connect_chat(&chat);
	/* Two live together again, the third one beside them. */
	expect_with(&chat, "{\"kinds\":[2],");
	expect_with(&chat, "[\"REQ\",\"10\",{\"kinds\":[3],\"since\":");
	chat_fini(&chat);
}

/* While nothing is awaited, silence is what one expects of a relay. */
static void
test_quiet_relay(void **state)
{
	struct chat chat;

	(void)state;
	chat_open(&chat, false, 1);
	assert_int_equal(skip_frames(&chat), 2);
	hear_eose(&chat, 1, 2);
	skip_frames(&chat);
	wait_ms(&chat, 23 * HOUR_MS);
	assert_wish(&chat, GS_WISH_GOES_ON);
	expect_nothing(&chat);
	chat_fini(&chat);
}

static void
test_noise_hangs_up(void **state)
{
	struct chat chat;

	(void)state;
	chat_open(&chat, false, 1);
	skip_frames(&chat);
	for (size_t i = 0; i < 1001; i++)
		(void)hear(&chat, "rubbish");
	assert_wish(&chat, GS_WISH_HANG_UP);
	assert_int_equal(gs_session_fault(chat.session), GS_FAULT_NOISY);
	drop_chat(&chat);
	connect_chat(&chat);
	assert_int_equal(skip_frames(&chat), 2);
	/* It begins anew. */
	for (size_t i = 0; i < 1000; i++)
		(void)hear(&chat, "[\"EVENT\",\"99\",{}]");
	assert_wish(&chat, GS_WISH_GOES_ON);
	chat_fini(&chat);
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
