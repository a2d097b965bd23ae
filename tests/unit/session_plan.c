/*
 * Which histories a session that stays reads: after a reconnect, each day, after a
 * restart; and what is known to have been read by then.
 */
#include "transcript.h"

#define LIVE_SINCE "1799999100" /* START_S less 15 min */

static int64_t
read_until(const struct talk *talk)
{
	return gs_session_read_until_s(talk->session);
}

static void
test_read_until(void **state)
{
	struct talk talk;

	(void)state;
	talk_open(&talk, false, 1);
	assert_int_equal(read_until(&talk), -1);
	assert_int_equal(skip_frames(&talk), 2);
	wait_ms(&talk, 1000);
	(void)hear_event(&talk, "1", 1, START_S, false);
	hear_eose(&talk, 1, 1);
	assert_int_equal(read_until(&talk), -1);
	/* The start of the history, not its end, but then with each frame. */
	wait_ms(&talk, 1000);
	hear_eose(&talk, 2, 2);
	assert_int_equal(read_until(&talk), START_S + 2);
	wait_ms(&talk, 1000);
	assert_int_equal(read_until(&talk), START_S + 2);
	gs_session_pong(talk.session, talk.now);
	assert_int_equal(read_until(&talk), START_S + 3);
	wait_ms(&talk, 1000);
	hear_closed(&talk, 1, "");
	assert_int_equal(read_until(&talk), START_S + 3);
	gs_session_pong(talk.session, talk.now);
	assert_int_equal(read_until(&talk), START_S + 3);
	/* Open again: not before its history has ended. */
	wait_ms(&talk, MINUTE_MS);
	skip_frames(&talk);
	hear_eose(&talk, 3, 3);
	gs_session_pong(talk.session, talk.now);
	assert_int_equal(read_until(&talk), START_S + 3);
	hear_eose(&talk, 4, 4);
	assert_int_equal(read_until(&talk), START_S + 64);
	/* The clock was set back. */
	talk.now.wall_s = START_S - 100;
	gs_session_pong(talk.session, talk.now);
	assert_int_equal(read_until(&talk), START_S - 100);
	talk_fini(&talk);
}

/* A live subscription that never got its EOSE is not open yet. */
static void
test_read_until_of_history_alone(void **state)
{
	struct talk talk;

	(void)state;
	talk_open(&talk, false, 1);
	assert_int_equal(skip_frames(&talk), 2);
	wait_ms(&talk, 5000);
	hear_eose(&talk, 2, 2);
	assert_int_equal(read_until(&talk), START_S);
	talk_fini(&talk);
}

/* What the relay refuses does not hold up the rest; what it did not answer does. */
static void
test_read_until_without_the_refused(void **state)
{
	struct talk talk;

	(void)state;
	talk_open(&talk, false, 2);
	assert_int_equal(skip_frames(&talk), 2);
	hear_eose(&talk, 1, 1);
	hear_closed(&talk, 2, "blocked: kinds");
	assert_int_equal(skip_frames(&talk), 2);
	hear_closed(&talk, 3, "blocked: kind 1");
	wait_ms(&talk, 1000);
	hear_eose(&talk, 4, 4);
	assert_int_equal(read_until(&talk), START_S + 1);
	talk_fini(&talk);
	talk_open(&talk, false, 2);
	talk.limits.filters = 1;
	assert_int_equal(skip_frames(&talk), 4);
	hear_eose(&talk, 1, 3);
	wait_ms(&talk, SILENCE_MS);
	assert_end(&talk, 1, GS_END_TIMEOUT);
	gs_session_pong(talk.session, talk.now);
	assert_int_equal(read_until(&talk), -1);
	talk_fini(&talk);
}

static void
test_reconnect(void **state)
{
	struct talk talk;

	(void)state;
	talk_open(&talk, false, 1);
	assert_int_equal(skip_frames(&talk), 2);
	hear_eose(&talk, 1, 2);
	wait_ms(&talk, 100000);
	gs_session_pong(talk.session, talk.now);
	assert_int_equal(read_until(&talk), START_S + 100);
	drop_talk(&talk);
	assert_int_equal(gs_session_deadline_ms(talk.session), -1);
	expect_nothing(&talk);
	assert_null(hear_event(&talk, "1", 1, START_S, false));
	skip_ms(&talk, HOUR_MS);
	drop_talk(&talk); /* a dial that failed */
	connect_talk(&talk);
	assert_false(gs_session_had_eose(talk.session));
	expect(&talk, "[\"REQ\",\"3\",{\"kinds\":[1],\"since\":1800002800}]");
	expect(&talk,
	    "[\"REQ\",\"4\",{\"kinds\":[1],\"since\":1799999200,\"limit\":500}]");
	expect_nothing(&talk);
	assert_int_equal(read_until(&talk), START_S + 100);
	hear_eose(&talk, 3, 4);
	assert_int_equal(read_until(&talk), START_S + 3700);
	talk_fini(&talk);
}

/* Its cursor is where it was; what is newer than its beginning is read after it. */
static void
test_reconnect_in_the_middle(void **state)
{
	struct talk talk;

	(void)state;
	talk_open(&talk, false, 1);
	assert_int_equal(skip_frames(&talk), 2);
	hear_eose(&talk, 1, 1);
	assert_non_null(hear_event(&talk, "2", 1, 5000, false));
	hear_eose(&talk, 2, 2);
	expect_close(&talk, 2);
	expect_with(&talk, "[\"REQ\",\"3\",{\"kinds\":[1],\"until\":5000,");
	drop_talk(&talk);
	skip_ms(&talk, HOUR_MS);
	connect_talk(&talk);
	expect(&talk, "[\"REQ\",\"4\",{\"kinds\":[1],\"since\":1800002700}]");
	expect(&talk, "[\"REQ\",\"5\",{\"kinds\":[1],\"until\":5000,\"limit\":500}]");
	assert_null(hear_event(&talk, "5", 1, 5000, false));
	hear_eose(&talk, 4, 5);
	assert_int_equal(read_until(&talk), -1);
	expect_close(&talk, 5);
	expect_with(&talk, "[\"REQ\",\"6\",{\"kinds\":[1],\"until\":4999,");
	hear_eose(&talk, 6, 6);
	expect_close(&talk, 6);
	expect_with(&talk, "[\"REQ\",\"7\",{\"kinds\":[1],\"since\":" LIVE_SINCE ",");
	hear_eose(&talk, 7, 7);
	assert_int_equal(read_until(&talk), START_S + 3600);
	talk_fini(&talk);
}

/* Back-dated events come with a full history, a day after the last one. */
static void
test_daily_history(void **state)
{
	struct talk talk;

	(void)state;
	talk_open(&talk, false, 1);
	assert_int_equal(skip_frames(&talk), 2);
	hear_eose(&talk, 1, 2);
	assert_int_equal(gs_session_last_full_s(talk.session), START_S);
	skip_frames(&talk);
	wait_ms(&talk, DAY_MS - 1);
	expect_nothing(&talk);
	wait_ms(&talk, 1);
	expect(&talk, "[\"REQ\",\"3\",{\"kinds\":[1],\"limit\":500}]");
	hear_eose(&talk, 3, 3);
	assert_int_equal(gs_session_last_full_s(talk.session), START_S + 24 * 3600);
	/* Also if its time comes while nobody is connected. */
	drop_talk(&talk);
	skip_ms(&talk, 2 * DAY_MS);
	connect_talk(&talk);
	expect_with(&talk, "[\"REQ\",\"4\",{\"kinds\":[1],\"since\":");
	expect(&talk, "[\"REQ\",\"5\",{\"kinds\":[1],\"limit\":500}]");
	talk_fini(&talk);
}

static void
test_resume(void **state)
{
	struct talk talk;

	(void)state;
	talk_init(&talk, false);
	talk_begin(&talk, 1);
	gs_session_resume(talk.session, START_S - 1000, START_S - 7200);
	assert_int_equal(read_until(&talk), START_S - 1000);
	connect_talk(&talk);
	expect_with(&talk, "[\"REQ\",\"1\",{\"kinds\":[1],\"since\":" LIVE_SINCE);
	expect(&talk,
	    "[\"REQ\",\"2\",{\"kinds\":[1],\"since\":1799998100,\"limit\":500}]");
	hear_eose(&talk, 1, 2);
	skip_frames(&talk);
	assert_int_equal(gs_session_last_full_s(talk.session), START_S - 7200);
	wait_ms(&talk, 22 * HOUR_MS - 1);
	expect_nothing(&talk);
	wait_ms(&talk, 1);
	expect(&talk, "[\"REQ\",\"3\",{\"kinds\":[1],\"limit\":500}]");
	talk_fini(&talk);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read_until),
		cmocka_unit_test(test_read_until_of_history_alone),
		cmocka_unit_test(test_read_until_without_the_refused),
		cmocka_unit_test(test_reconnect),
		cmocka_unit_test(test_reconnect_in_the_middle),
		cmocka_unit_test(test_daily_history),
		cmocka_unit_test(test_resume),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
