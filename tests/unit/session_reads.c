/*
 * Which histories a session that stays reads: after a reconnect, each day, after a
 * restart; and what is known to have been read by then.
 */
#include "transcript.h"

#define LIVE_SINCE "1799999100" /* START_S less 15 min */

static int64_t
read_until(const struct chat *chat)
{
	return gs_session_read_until_s(chat->session);
}

static void
test_read_until(void **state)
{
	struct chat chat;

	(void)state;
	chat_open(&chat, false, 1);
	assert_int_equal(read_until(&chat), -1);
	assert_int_equal(skip_frames(&chat), 2);
	wait_ms(&chat, 1000);
	(void)hear_event(&chat, "1", 1, START_S, false);
	hear_eose(&chat, 1, 1);
	assert_int_equal(read_until(&chat), -1);
	/* The start of the history, not its end, but then with each frame. */
	wait_ms(&chat, 1000);
	hear_eose(&chat, 2, 2);
	assert_int_equal(read_until(&chat), START_S + 2);
	wait_ms(&chat, 1000);
	assert_int_equal(read_until(&chat), START_S + 2);
	gs_session_pong(chat.session, chat.now);
	assert_int_equal(read_until(&chat), START_S + 3);
	wait_ms(&chat, 1000);
	hear_closed(&chat, 1, "");
	assert_int_equal(read_until(&chat), START_S + 3);
	gs_session_pong(chat.session, chat.now);
	assert_int_equal(read_until(&chat), START_S + 3);
	/* Open again: not before its history has ended. */
	wait_ms(&chat, MINUTE_MS);
	skip_frames(&chat);
	hear_eose(&chat, 3, 3);
	gs_session_pong(chat.session, chat.now);
	assert_int_equal(read_until(&chat), START_S + 3);
	hear_eose(&chat, 4, 4);
	assert_int_equal(read_until(&chat), START_S + 64);
	/* The clock was set back. */
	chat.now.wall_s = START_S - 100;
	gs_session_pong(chat.session, chat.now);
	assert_int_equal(read_until(&chat), START_S - 100);
	chat_fini(&chat);
}

/* A live subscription that never got its EOSE is not open yet. */
static void
test_read_until_of_history_alone(void **state)
{
	struct chat chat;

	(void)state;
	chat_open(&chat, false, 1);
	assert_int_equal(skip_frames(&chat), 2);
	wait_ms(&chat, 5000);
	hear_eose(&chat, 2, 2);
	assert_int_equal(read_until(&chat), START_S);
	chat_fini(&chat);
}

/* What the relay refuses does not hold up the rest; what it did not answer does. */
static void
test_read_until_without_the_refused(void **state)
{
	struct chat chat;

	(void)state;
	chat_open(&chat, false, 2);
	assert_int_equal(skip_frames(&chat), 2);
	hear_eose(&chat, 1, 1);
	hear_closed(&chat, 2, "blocked: kinds");
	assert_int_equal(skip_frames(&chat), 2);
	hear_closed(&chat, 3, "blocked: kind 1");
	wait_ms(&chat, 1000);
	hear_eose(&chat, 4, 4);
	assert_int_equal(read_until(&chat), START_S + 1);
	chat_fini(&chat);
	chat_open(&chat, false, 2);
	chat.limits.filters = 1;
	assert_int_equal(skip_frames(&chat), 4);
	hear_eose(&chat, 1, 3);
	wait_ms(&chat, SILENCE_MS);
	assert_end(&chat, 1, GS_END_TIMEOUT);
	gs_session_pong(chat.session, chat.now);
	assert_int_equal(read_until(&chat), -1);
	chat_fini(&chat);
}

/* Where one poll follows the other, each proves what it has read by its end. */
static void
test_read_until_while_polls_go_on(void **state)
{
	struct chat chat;

	(void)state;
	chat_init(&chat, false);
	chat_begin(&chat, 2);
	chat.limits.subscriptions = chat.limits.filters = 1;
	connect_chat(&chat);
	assert_int_equal(skip_frames(&chat), 1);
	hear_eose(&chat, 1, 1);
	wait_ms(&chat, 1000);
	assert_int_equal(skip_frames(&chat), 1);
	for (int64_t date = START_S; date > START_S - 3; date--) {
		wait_ms(&chat, SILENCE_MS - 1);
		(void)hear_event(&chat, "2", 2, date, false);
	}
	/* The first filter is due again. */
	(void)hear(&chat, "[\"EOSE\",\"2\",\"finish\"]");
	assert_int_equal(skip_frames(&chat), 1);
	(void)hear_event(&chat, "3", 2, START_S - 2, false);
	(void)hear(&chat, "[\"EOSE\",\"3\",\"finish\"]");
	assert_true(gs_history_num_left(gs_session_history(chat.session)) > 0);
	assert_int_equal(read_until(&chat), START_S);
	chat_fini(&chat);
}

static void
test_reconnect(void **state)
{
	struct chat chat;

	(void)state;
	chat_open(&chat, false, 1);
	assert_int_equal(skip_frames(&chat), 2);
	hear_eose(&chat, 1, 2);
	wait_ms(&chat, 100000);
	gs_session_pong(chat.session, chat.now);
	assert_int_equal(read_until(&chat), START_S + 100);
	drop_chat(&chat);
	assert_int_equal(gs_session_deadline_ms(chat.session), -1);
	expect_nothing(&chat);
	assert_null(hear_event(&chat, "1", 1, START_S, false));
	skip_ms(&chat, HOUR_MS);
	drop_chat(&chat); /* a dial that failed */
	connect_chat(&chat);
	assert_false(gs_session_had_eose(chat.session));
	expect(&chat, "[\"REQ\",\"3\",{\"kinds\":[1],\"since\":1800002800}]");
	expect(&chat,
	    "[\"REQ\",\"4\",{\"kinds\":[1],\"since\":1799999200,\"limit\":500}]");
	expect_nothing(&chat);
	assert_int_equal(read_until(&chat), START_S + 100);
	hear_eose(&chat, 3, 4);
	assert_int_equal(read_until(&chat), START_S + 3700);
	chat_fini(&chat);
}

/* Its cursor is where it was; what is newer than its beginning is read after it. */
static void
test_reconnect_in_the_middle(void **state)
{
	struct chat chat;

	(void)state;
	chat_open(&chat, false, 1);
	assert_int_equal(skip_frames(&chat), 2);
	hear_eose(&chat, 1, 1);
	assert_non_null(hear_event(&chat, "2", 1, 5000, false));
	hear_eose(&chat, 2, 2);
	expect_close(&chat, 2);
	expect_with(&chat, "[\"REQ\",\"3\",{\"kinds\":[1],\"until\":5000,");
	drop_chat(&chat);
	skip_ms(&chat, HOUR_MS);
	connect_chat(&chat);
	expect(&chat, "[\"REQ\",\"4\",{\"kinds\":[1],\"since\":1800002700}]");
	expect(&chat, "[\"REQ\",\"5\",{\"kinds\":[1],\"until\":5000,\"limit\":500}]");
	assert_null(hear_event(&chat, "5", 1, 5000, false));
	hear_eose(&chat, 4, 5);
	assert_int_equal(read_until(&chat), -1);
	expect_close(&chat, 5);
	expect_with(&chat, "[\"REQ\",\"6\",{\"kinds\":[1],\"until\":4999,");
	hear_eose(&chat, 6, 6);
	expect_close(&chat, 6);
	expect_with(&chat, "[\"REQ\",\"7\",{\"kinds\":[1],\"since\":" LIVE_SINCE ",");
	hear_eose(&chat, 7, 7);
	assert_int_equal(read_until(&chat), START_S + 3600);
	chat_fini(&chat);
}

/* Back-dated events come with a full history, a day after the last one. */
static void
test_daily_history(void **state)
{
	struct chat chat;

	(void)state;
	chat_open(&chat, false, 1);
	assert_int_equal(skip_frames(&chat), 2);
	hear_eose(&chat, 1, 2);
	assert_int_equal(gs_session_last_full_s(chat.session), START_S);
	skip_frames(&chat);
	wait_ms(&chat, DAY_MS - 1);
	expect_nothing(&chat);
	wait_ms(&chat, 1);
	expect(&chat, "[\"REQ\",\"3\",{\"kinds\":[1],\"limit\":500}]");
	hear_eose(&chat, 3, 3);
	assert_int_equal(gs_session_last_full_s(chat.session), START_S + 24 * 3600);
	/* Also if its time comes while nobody is connected. */
	drop_chat(&chat);
	skip_ms(&chat, 2 * DAY_MS);
	connect_chat(&chat);
	expect_with(&chat, "[\"REQ\",\"4\",{\"kinds\":[1],\"since\":");
	expect(&chat, "[\"REQ\",\"5\",{\"kinds\":[1],\"limit\":500}]");
	chat_fini(&chat);
}

static void
test_resume(void **state)
{
	struct chat chat;

	(void)state;
	chat_init(&chat, false);
	chat_begin(&chat, 1);
	gs_session_resume(chat.session, START_S - 1000, START_S - 7200);
	assert_int_equal(read_until(&chat), START_S - 1000);
	connect_chat(&chat);
	expect_with(&chat, "[\"REQ\",\"1\",{\"kinds\":[1],\"since\":" LIVE_SINCE);
	expect(&chat,
	    "[\"REQ\",\"2\",{\"kinds\":[1],\"since\":1799998100,\"limit\":500}]");
	hear_eose(&chat, 1, 2);
	skip_frames(&chat);
	assert_int_equal(gs_session_last_full_s(chat.session), START_S - 7200);
	wait_ms(&chat, 22 * HOUR_MS - 1);
	expect_nothing(&chat);
	wait_ms(&chat, 1);
	expect(&chat, "[\"REQ\",\"3\",{\"kinds\":[1],\"limit\":500}]");
	chat_fini(&chat);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read_until),
		cmocka_unit_test(test_read_until_of_history_alone),
		cmocka_unit_test(test_read_until_without_the_refused),
		cmocka_unit_test(test_read_until_while_polls_go_on),
		cmocka_unit_test(test_reconnect),
		cmocka_unit_test(test_reconnect_in_the_middle),
		cmocka_unit_test(test_daily_history),
		cmocka_unit_test(test_resume),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
