/*
 * Filters that come and go while a session lasts: what is asked for them, what that
 * proves, and how it is told.
 */
#include "transcript.h"

#define LIVE_SINCE "1799999100" /* START_S less 15 min */

static int64_t
read_until(const struct chat *chat)
{
	return gs_session_read_until_s(chat->session);
}

static int64_t
part_read(const struct chat *chat, size_t i)
{
	return gs_session_part_read_s(chat->session, i, chat->now);
}

static void
add_part(struct chat *chat, const char *text, int64_t read_s, bool is_history)
{
	const struct gs_session_part part = { read_s, is_history };
	struct gs_filter filter = GS_FILTER_INIT;

	assert_true(gs_filter_parse(&filter, text, strlen(text), NULL));
	gs_session_add_part(chat->session, &filter, &part, chat->now);
	assert_int_equal(filter.num_kinds, 0);
}

static void
pong(struct chat *chat)
{
	gs_session_pong(chat->session, chat->now);
}

static void
assert_ended(struct chat *chat, size_t i, int64_t since_s, enum gs_end end)
{
	struct gs_session_ended ended;

	assert_true(gs_session_next_ended(chat->session, &ended));
	assert_int_equal(ended.i, i);
	assert_int_equal(ended.since_s, since_s);
	assert_int_equal(ended.end, end);
}

static void
assert_none_ended(struct chat *chat)
{
	struct gs_session_ended ended;

	assert_false(gs_session_next_ended(chat->session, &ended));
}

/* One filter, followed and read; kind 1 is subscription 1. */
static void
open_read(struct chat *chat)
{
	chat_open(chat, false, 1);
	assert_int_equal(skip_frames(chat), 2);
	hear_eose(chat, 1, 2);
	expect_close(chat, 2);
	assert_ended(chat, 0, -1, GS_END_FINISHED);
	assert_none_ended(chat);
	assert_int_equal(read_until(chat), START_S);
}

static void
test_add_while_open(void **state)
{
	struct chat chat;

	(void)state;
	open_read(&chat);
	wait_ms(&chat, 10000);
	pong(&chat);
	assert_int_equal(read_until(&chat), START_S + 10);
	add_part(&chat, "{\"kinds\":[2]}", -1, false);
	assert_int_equal(part_read(&chat, 0), START_S + 10);
	assert_int_equal(part_read(&chat, 1), -1);
	expect(&chat, "[\"REQ\",\"3\",{\"kinds\":[2],\"since\":1799999110}]");
	expect(&chat, "[\"REQ\",\"4\",{\"kinds\":[2],\"limit\":500}]");
	expect_nothing(&chat);
	/* It does not run ahead, nor back; what was there goes on. */
	wait_ms(&chat, 1000);
	assert_non_null(hear_event(&chat, "1", 1, START_S, false));
	pong(&chat);
	hear_eose(&chat, 3, 3);
	pong(&chat);
	assert_int_equal(read_until(&chat), START_S + 10);
	hear_eose(&chat, 4, 4);
	assert_int_equal(read_until(&chat), START_S + 11);
	assert_ended(&chat, 1, -1, GS_END_FINISHED);
	wait_ms(&chat, 1000);
	pong(&chat);
	assert_int_equal(read_until(&chat), START_S + 12);
	assert_int_equal(part_read(&chat, 1), START_S + 12);
	chat_fini(&chat);
}

/* One that is refused or fails holds up as others do: the refused one does not. */
static void
test_add_what_fails(void **state)
{
	struct chat chat;

	(void)state;
	open_read(&chat);
	add_part(&chat, "{\"kinds\":[2]}", -1, false);
	assert_int_equal(skip_frames(&chat), 2);
	wait_ms(&chat, SILENCE_MS);
	pong(&chat);
	assert_ended(&chat, 1, -1, GS_END_TIMEOUT);
	assert_int_equal(read_until(&chat), START_S);
	skip_frames(&chat);
	wait_ms(&chat, MINUTE_MS);
	assert_int_equal(skip_frames(&chat), 2);
	hear_closed(&chat, 5, "blocked: no");
	hear_closed(&chat, 6, "blocked: no");
	assert_ended(&chat, 1, -1, GS_END_CLOSED);
	pong(&chat);
	assert_int_equal(read_until(&chat), START_S + 90);
	assert_int_equal(part_read(&chat, 1), -1);
	assert_int_equal(part_read(&chat, 0), START_S + 90);
	chat_fini(&chat);
}

static void
test_add_what_was_read(void **state)
{
	struct chat chat;

	(void)state;
	open_read(&chat);
	wait_ms(&chat, 10000);
	pong(&chat);
	add_part(&chat, "{\"kinds\":[2]}", START_S - 500, false);
	assert_int_equal(part_read(&chat, 1), START_S - 500);
	assert_int_equal(read_until(&chat), START_S + 10);
	expect_with(&chat, "[\"REQ\",\"3\",{\"kinds\":[2],\"since\":1799999110}]");
	expect(&chat,
	    "[\"REQ\",\"4\",{\"kinds\":[2],\"since\":1799998600,\"limit\":500}]");
	drop_chat(&chat);
	assert_int_equal(part_read(&chat, 0), START_S + 10);
	assert_int_equal(part_read(&chat, 1), START_S - 500);
	/* While nobody is connected; a time to come is none. */
	add_part(&chat, "{\"kinds\":[3]}", START_S + 5000, false);
	add_part(&chat, "{\"kinds\":[4]}", -1, false);
	expect_nothing(&chat);
	connect_chat(&chat);
	expect_with(&chat, "[\"REQ\",\"5\",{\"kinds\":[1],\"since\":");
	expect(&chat,
	    "[\"REQ\",\"6\",{\"kinds\":[2],\"since\":1799998600,\"limit\":500}]");
	expect(&chat,
	    "[\"REQ\",\"7\",{\"kinds\":[1],\"since\":1799999110,\"limit\":500},"
	    "{\"kinds\":[3],\"since\":1799999110,\"limit\":500},"
	    "{\"kinds\":[4],\"limit\":500}]");
	hear_eose(&chat, 5, 7);
	assert_ended(&chat, 0, START_S + 10 - 900, GS_END_FINISHED);
	assert_ended(&chat, 2, START_S + 10 - 900, GS_END_FINISHED);
	assert_ended(&chat, 3, -1, GS_END_FINISHED);
	assert_ended(&chat, 1, START_S - 500 - 900, GS_END_FINISHED);
	chat_fini(&chat);
}

/* As far as an earlier process came, not as far as the others are by now. */
static void
test_add_resumed(void **state)
{
	struct chat chat;

	(void)state;
	chat_init(&chat, false);
	chat_begin(&chat, 0);
	gs_session_resume(chat.session, START_S - 1000, START_S - 7200);
	add_part(&chat, "{\"kinds\":[1]}", GS_READ_RESUMED, false);
	add_part(&chat, "{\"kinds\":[2]}", -1, false);
	assert_int_equal(part_read(&chat, 0), START_S - 1000);
	assert_int_equal(part_read(&chat, 1), -1);
	connect_chat(&chat);
	expect_with(&chat, "[\"REQ\",\"1\",{\"kinds\":[1],\"since\":" LIVE_SINCE);
	expect(&chat,
	    "[\"REQ\",\"2\",{\"kinds\":[1],\"since\":1799998100,\"limit\":500},"
	    "{\"kinds\":[2],\"limit\":500}]");
	hear_eose(&chat, 1, 2);
	assert_int_equal(read_until(&chat), START_S);
	assert_int_equal(gs_session_last_full_s(chat.session), START_S - 7200);
	skip_frames(&chat);
	add_part(&chat, "{\"kinds\":[3]}", GS_READ_RESUMED, false);
	expect_with(&chat, "[\"REQ\",\"3\",");
	expect(&chat,
	    "[\"REQ\",\"4\",{\"kinds\":[3],\"since\":1799998100,\"limit\":500}]");
	chat_fini(&chat);
}

/* Read once: no subscription, no second try, and then nobody waits for it. */
static void
test_history_alone(void **state)
{
	struct chat chat;

	(void)state;
	open_read(&chat);
	add_part(&chat, "{\"kinds\":[2]}", -1, true);
	expect(&chat, "[\"REQ\",\"3\",{\"kinds\":[2],\"limit\":500}]");
	expect_nothing(&chat);
	wait_ms(&chat, 1000);
	pong(&chat);
	assert_int_equal(read_until(&chat), START_S);
	hear_eose(&chat, 3, 3);
	/* Whoever reads it puts it among the others now. */
	pong(&chat);
	assert_int_equal(read_until(&chat), START_S);
	assert_ended(&chat, 1, -1, GS_END_FINISHED);
	assert_int_equal(part_read(&chat, 1), START_S);
	pong(&chat);
	assert_int_equal(read_until(&chat), START_S + 1);
	assert_int_equal(gs_session_filters(chat.session).live, 1);
	skip_frames(&chat);
	add_part(&chat, "{\"kinds\":[3]}", -1, true);
	assert_int_equal(skip_frames(&chat), 1);
	hear_closed(&chat, 4, "blocked: no");
	assert_ended(&chat, 2, -1, GS_END_CLOSED);
	wait_ms(&chat, DAY_MS - 2000);
	pong(&chat);
	assert_int_equal(read_until(&chat), START_S + 24 * 3600 - 1);
	expect_nothing(&chat);
	/* Neither a day nor a new connection reads it again. */
	wait_ms(&chat, 1000);
	expect(&chat, "[\"REQ\",\"5\",{\"kinds\":[1],\"limit\":500}]");
	expect_nothing(&chat);
	drop_chat(&chat);
	connect_chat(&chat);
	assert_int_equal(skip_frames(&chat), 2);
	chat_fini(&chat);
}

static void
test_history_over_a_drop(void **state)
{
	struct chat chat;

	(void)state;
	open_read(&chat);
	add_part(&chat, "{\"kinds\":[2]}", -1, true);
	assert_int_equal(skip_frames(&chat), 1);
	drop_chat(&chat);
	add_part(&chat, "{\"kinds\":[3]}", START_S, true);
	connect_chat(&chat);
	expect_with(&chat, "[\"REQ\",\"4\",{\"kinds\":[1],\"since\":");
	expect(&chat, "[\"REQ\",\"5\",{\"kinds\":[2],\"limit\":500}]");
	expect_with(&chat, "{\"kinds\":[3],\"since\":" LIVE_SINCE ",\"limit\":500}]");
	expect_nothing(&chat);
	hear_eose(&chat, 4, 6);
	assert_ended(&chat, 0, START_S - 900, GS_END_FINISHED);
	assert_ended(&chat, 2, START_S - 900, GS_END_FINISHED);
	assert_ended(&chat, 1, -1, GS_END_FINISHED);
	expect_close(&chat, 5);
	expect_close(&chat, 6);
	expect_nothing(&chat);
	chat_fini(&chat);
}

static void
test_clear(void **state)
{
	struct chat chat;

	(void)state;
	open_read(&chat);
	add_part(&chat, "{\"kinds\":[2]}", -1, false);
	assert_int_equal(skip_frames(&chat), 2);
	gs_session_clear(chat.session, chat.now);
	expect_close(&chat, 1);
	expect_close(&chat, 3);
	expect_close(&chat, 4);
	expect_nothing(&chat);
	assert_int_equal(gs_history_count(gs_session_history(chat.session)), 0);
	/* What comes for them is late; nothing moves. */
	assert_null(hear_event(&chat, "1", 1, START_S, false));
	hear_eose(&chat, 4, 4);
	assert_int_equal(counts(&chat)->late, 2);
	assert_none_ended(&chat);
	wait_ms(&chat, 5000);
	pong(&chat);
	assert_int_equal(read_until(&chat), START_S);
	assert_int_equal(gs_session_last_full_s(chat.session), START_S);
	/* It goes on with what comes instead. */
	add_part(&chat, "{\"kinds\":[1,2]}", START_S + 1, false);
	pong(&chat);
	assert_int_equal(read_until(&chat), START_S);
	expect_with(&chat, "[\"REQ\",\"5\",{\"kinds\":[1,2],\"since\":1799999105}]");
	expect(&chat,
	    "[\"REQ\",\"6\",{\"kinds\":[1,2],\"since\":1799999101,\"limit\":500}]");
	assert_non_null(hear_event(&chat, "5", 1, START_S, false));
	hear_eose(&chat, 5, 5);
	pong(&chat);
	assert_int_equal(read_until(&chat), START_S);
	hear_eose(&chat, 6, 6);
	assert_int_equal(read_until(&chat), START_S + 5);
	assert_ended(&chat, 0, START_S + 1 - 900, GS_END_FINISHED);
	chat_fini(&chat);
}

/* Filters whose window is empty end at once: they prove nothing of those behind them. */
static void
test_clear_and_add_what_ends_at_once(void **state)
{
	struct chat chat;

	(void)state;
	open_read(&chat);
	wait_ms(&chat, 5000);
	gs_session_clear(chat.session, chat.now);
	add_part(&chat, "{\"kinds\":[2],\"until\":5}", START_S, false);
	add_part(&chat, "{\"kinds\":[1]}", -1, false);
	assert_int_equal(skip_frames(&chat), 2);
	pong(&chat);
	assert_int_equal(read_until(&chat), START_S);
	assert_ended(&chat, 0, START_S - 900, GS_END_FINISHED);
	gs_session_clear(chat.session, chat.now);
	gs_session_clear(chat.session, chat.now);
	drop_chat(&chat);
	gs_session_clear(chat.session, chat.now);
	connect_chat(&chat);
	expect_nothing(&chat);
	assert_int_equal(gs_session_deadline_ms(chat.session), -1);
	chat_fini(&chat);
}

/* What is told late is what reaches farthest back. */
static void
test_ended(void **state)
{
	struct chat chat;

	(void)state;
	chat_open(&chat, false, 2);
	chat.limits.filters = 1;
	assert_int_equal(skip_frames(&chat), 4);
	hear_eose(&chat, 1, 2);
	hear_closed(&chat, 4, "error: later");
	hear_eose(&chat, 3, 3);
	drop_chat(&chat);
	connect_chat(&chat);
	assert_int_equal(skip_frames(&chat), 3);
	hear_eose(&chat, 5, 7);
	assert_ended(&chat, 0, -1, GS_END_FINISHED);
	assert_ended(&chat, 1, -1, GS_END_CLOSED);
	assert_none_ended(&chat);
	chat_fini(&chat);
}

static void
test_full(void **state)
{
	struct chat chat;

	(void)state;
	open_read(&chat);
	wait_ms(&chat, HOUR_MS);
	gs_session_make_full(chat.session, chat.now);
	expect(&chat, "[\"REQ\",\"3\",{\"kinds\":[1],\"limit\":500}]");
	assert_non_null(hear_event(&chat, "3", 1, 1, false));
	assert_int_equal(gs_session_way(chat.session), GS_WAY_HISTORY);
	assert_non_null(hear_event(&chat, "1", 1, START_S, false));
	assert_int_equal(gs_session_way(chat.session), GS_WAY_LIVE);
	(void)hear(&chat, "[\"EOSE\",\"3\",\"finish\"]");
	expect_close(&chat, 3);
	assert_int_equal(skip_frames(&chat), 1);
	(void)hear_event(&chat, "4", 1, 1, false);
	(void)hear(&chat, "[\"EOSE\",\"4\",\"finish\"]");
	assert_int_equal(gs_session_last_full_s(chat.session), START_S + 3600);
	skip_frames(&chat);
	wait_ms(&chat, DAY_MS - 1);
	expect_nothing(&chat);
	wait_ms(&chat, 1);
	expect_with(&chat, "[\"REQ\",\"5\",{\"kinds\":[1],\"limit\":500}]");
	assert_non_null(hear_event(&chat, "5", 1, 2, false));
	assert_int_equal(gs_session_way(chat.session), GS_WAY_DAILY);
	/* One that is not at its end is due again, of what comes instead. */
	gs_session_clear(chat.session, chat.now);
	add_part(&chat, "{\"kinds\":[1,3]}", START_S + 3600, false);
	wait_ms(&chat, 0);
	skip_frames(&chat);
	hear_eose(&chat, 6, 7);
	expect_close(&chat, 7);
	expect(&chat, "[\"REQ\",\"8\",{\"kinds\":[1,3],\"limit\":500}]");
	assert_non_null(hear_event(&chat, "8", 3, 4, false));
	assert_int_equal(gs_session_way(chat.session), GS_WAY_DAILY);
	/* While nobody is connected, with the next connection. */
	drop_chat(&chat);
	gs_session_clear(chat.session, chat.now);
	add_part(&chat, "{\"kinds\":[4]}", START_S, false);
	gs_session_make_full(chat.session, chat.now);
	connect_chat(&chat);
	expect_with(&chat, "[\"REQ\",\"9\",{\"kinds\":[4],\"since\":");
	expect(&chat, "[\"REQ\",\"10\",{\"kinds\":[4],\"limit\":500}]");
	assert_non_null(hear_event(&chat, "10", 4, 4, false));
	assert_int_equal(gs_session_way(chat.session), GS_WAY_HISTORY);
	chat_fini(&chat);
}

static void
test_daily_off(void **state)
{
	struct chat chat;

	(void)state;
	chat_init(&chat, false);
	chat.options.is_daily_off = true;
	chat_begin(&chat, 1);
	connect_chat(&chat);
	expect_with(&chat, "[\"REQ\",\"1\",{\"kinds\":[1],\"since\":");
	expect(&chat, "[\"REQ\",\"2\",{\"kinds\":[1],\"limit\":500}]");
	hear_eose(&chat, 1, 2);
	skip_frames(&chat);
	assert_int_equal(gs_session_last_full_s(chat.session), START_S);
	wait_ms(&chat, INT64_C(30) * DAY_MS);
	expect_nothing(&chat);
	drop_chat(&chat);
	connect_chat(&chat);
	assert_int_equal(skip_frames(&chat), 2);
	hear_eose(&chat, 3, 4);
	gs_session_make_full(chat.session, chat.now);
	expect_close(&chat, 4);
	expect(&chat, "[\"REQ\",\"5\",{\"kinds\":[1],\"limit\":500}]");
	expect_nothing(&chat);
	chat_fini(&chat);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_add_while_open),
		cmocka_unit_test(test_add_what_fails),
		cmocka_unit_test(test_add_what_was_read),
		cmocka_unit_test(test_add_resumed),
		cmocka_unit_test(test_history_alone),
		cmocka_unit_test(test_history_over_a_drop),
		cmocka_unit_test(test_clear),
		cmocka_unit_test(test_clear_and_add_what_ends_at_once),
		cmocka_unit_test(test_ended),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_daily_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
