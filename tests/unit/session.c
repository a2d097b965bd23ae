/*
 * Conversations with one relay as transcripts in virtual time: what it says, what we
 * say, and what each filter comes to.
 */
#include "transcript.h"

static void
test_plain_reading(void **state)
{
	struct talk talk;
	const struct gs_event *event;

	(void)state;
	talk_init(&talk, true);
	talk_begin(&talk, 1);
	expect_nothing(&talk);
	assert_int_equal(gs_session_deadline_ms(talk.session), -1);
	connect_talk(&talk);
	expect(&talk, "[\"REQ\",\"1\",{\"kinds\":[1],\"limit\":500}]");
	expect_nothing(&talk);
	event = hear_event(&talk, "1", 1, 100, false);
	assert_non_null(event);
	assert_int_equal(event->created_at, 100);
	assert_non_null(hear_event(&talk, "1", 1, 90, false));
	assert_null(hear(&talk, "[\"EOSE\",\"1\"]"));
	expect(&talk, "[\"CLOSE\",\"1\"]");
	expect(&talk, "[\"REQ\",\"2\",{\"kinds\":[1],\"until\":90,\"limit\":500}]");
	/* Known: not handed out again. */
	assert_null(hear_event(&talk, "2", 1, 90, false));
	assert_null(hear(&talk, "[\"EOSE\",\"2\"]"));
	assert_wish(&talk, GS_WISH_DONE);
	expect(&talk, "[\"CLOSE\",\"2\"]");
	expect_nothing(&talk);
	assert_int_equal(gs_session_deadline_ms(talk.session), -1);
	assert_end(&talk, 0, GS_END_FINISHED);
	assert_int_equal(report(&talk, 0)->fresh, 2);
	assert_int_equal(report(&talk, 0)->duplicate, 1);
	assert_int_equal(counts(&talk)->events, 2);
	talk_fini(&talk);
}

/* Ten REQs of ten filters are open at a time, and no more. */
static void
test_many_filters(void **state)
{
	struct talk talk;

	(void)state;
	talk_open(&talk, true, 150);
	for (size_t i = 0; i < 10; i++) {
		gs_buf_clear(&talk.said);
		assert_true(gs_session_next_frame(talk.session, &talk.said, talk.now));
	}
	expect_nothing(&talk);
	(void)hear(&talk, "[\"EOSE\",\"4\"]");
	expect(&talk, "[\"CLOSE\",\"4\"]");
	gs_buf_clear(&talk.said);
	assert_true(gs_session_next_frame(talk.session, &talk.said, talk.now));
	assert_non_null(strstr(talk.said.data, "[\"REQ\",\"11\",{\"kinds\":[101],"));
	expect_nothing(&talk);
	assert_end(&talk, 30, GS_END_FINISHED);
	talk_fini(&talk);
}

static void
test_what_is_not_ours(void **state)
{
	struct talk talk;

	(void)state;
	talk_open(&talk, true, 1);
	skip_frames(&talk);
	assert_null(hear_event(&talk, "2", 1, 100, false));
	assert_null(hear_event(&talk, "x", 1, 100, false));
	assert_int_equal(counts(&talk)->unknown, 2);
	assert_null(hear_event(&talk, "1", 7, 100, false));
	assert_int_equal(counts(&talk)->foreign, 1);
	assert_null(hear_event(&talk, "1", 1, 100, true));
	assert_null(hear(&talk, "[\"EVENT\",\"1\",{\"kind\":1}]"));
	assert_int_equal(counts(&talk)->invalid, 2);
	assert_null(hear(&talk, "rubbish"));
	assert_null(hear(&talk, "[\"EOSE\"]"));
	assert_null(hear(&talk, "[\"EOSE\",\"9\"]"));
	assert_null(hear(&talk, "[\"OK\",\"?\",true,\"\"]"));
	assert_null(hear(&talk, "[\"AUTH\",\"abc\"]"));
	assert_int_equal(counts(&talk)->junk, 3);
	assert_end(&talk, 0, GS_END_NONE);
	/* The true copy of what came spoiled is still taken. */
	assert_non_null(hear_event(&talk, "1", 1, 100, false));
	(void)hear(&talk, "[\"EOSE\",\"1\"]");
	assert_null(hear_event(&talk, "1", 1, 99, false));
	assert_int_equal(counts(&talk)->late, 1);
	talk_fini(&talk);
}

static void
test_noise(void **state)
{
	struct talk talk;

	(void)state;
	talk_open(&talk, true, 1);
	skip_frames(&talk);
	for (size_t i = 0; i < 2000; i++)
		(void)hear(&talk, "[\"EVENT\",\"1\",{}]");
	assert_wish(&talk, GS_WISH_GIVE_UP);
	assert_end(&talk, 0, GS_END_INCONSISTENT);
	expect_nothing(&talk);
	talk_fini(&talk);
}

static void
test_closed_alone(void **state)
{
	struct talk talk;

	(void)state;
	talk_open(&talk, true, 1);
	skip_frames(&talk);
	(void)hear(&talk, "[\"CLOSED\",\"1\",\"ERROR: bad req: unrecognised\\nitem\"]");
	assert_end(&talk, 0, GS_END_CLOSED);
	assert_string_equal(report(&talk, 0)->reason, "bad req: unrecognised\\x0aitem");
	assert_wish(&talk, GS_WISH_DONE);
	expect_nothing(&talk);
	talk_fini(&talk);
}

/* One filter of several may be to blame: they are asked one by one. */
static void
test_closed_in_company(void **state)
{
	struct talk talk;

	(void)state;
	talk_open(&talk, true, 2);
	skip_frames(&talk);
	(void)hear(&talk, "[\"CLOSED\",\"1\",\"blocked: kinds\"]");
	expect(&talk, "[\"REQ\",\"2\",{\"kinds\":[1],\"limit\":500}]");
	expect(&talk, "[\"REQ\",\"3\",{\"kinds\":[2],\"limit\":500}]");
	(void)hear(&talk, "[\"CLOSED\",\"2\",\"blocked: kind 1\"]");
	(void)hear(&talk, "[\"EOSE\",\"3\"]");
	assert_end(&talk, 0, GS_END_CLOSED);
	assert_end(&talk, 1, GS_END_FINISHED);
	assert_wish(&talk, GS_WISH_DONE);
	talk_fini(&talk);
}

/* Some relays answer CLOSE so; that is no refusal. */
static void
test_closed_after_eose(void **state)
{
	struct talk talk;

	(void)state;
	talk_open(&talk, true, 1);
	skip_frames(&talk);
	(void)hear(&talk, "[\"EOSE\",\"1\"]");
	(void)hear(&talk, "[\"CLOSED\",\"1\",\"\"]");
	assert_end(&talk, 0, GS_END_FINISHED);
	talk_fini(&talk);
}

static void
test_notice_alone(void **state)
{
	struct talk talk;

	(void)state;
	talk_open(&talk, true, 1);
	skip_frames(&talk);
	(void)hear(&talk, "[\"NOTICE\",\"could not parse command\"]");
	assert_int_equal(gs_session_deadline_ms(talk.session), talk.now.mono_ms + 2000);
	wait_ms(&talk, 1999);
	assert_end(&talk, 0, GS_END_NONE);
	wait_ms(&talk, 1);
	assert_end(&talk, 0, GS_END_CLOSED);
	assert_string_equal(report(&talk, 0)->reason, "could not parse command");
	expect(&talk, "[\"CLOSE\",\"1\"]");
	expect_nothing(&talk);
	talk_fini(&talk);
}

/* A welcome is no refusal, and with two requests open nobody knows who is meant. */
static void
test_notice_of_no_consequence(void **state)
{
	struct talk talk;

	(void)state;
	talk_open(&talk, true, 1);
	skip_frames(&talk);
	(void)hear(&talk, "[\"NOTICE\",\"welcome\\u0007\"]");
	assert_string_equal(gs_session_notice(talk.session), "welcome\\x07");
	wait_ms(&talk, 1000);
	(void)hear(&talk, "[\"EOSE\",\"1\"]");
	assert_end(&talk, 0, GS_END_FINISHED);
	talk_fini(&talk);
	talk_open(&talk, true, 11);
	skip_frames(&talk);
	(void)hear(&talk, "[\"NOTICE\",\"could not parse command\"]");
	wait_ms(&talk, 5000);
	assert_end(&talk, 0, GS_END_NONE);
	(void)hear(&talk, "[\"EOSE\",\"1\"]");
	wait_ms(&talk, SILENCE_MS - 1);
	assert_end(&talk, 10, GS_END_NONE);
	wait_ms(&talk, 1);
	assert_end(&talk, 0, GS_END_FINISHED);
	assert_end(&talk, 10, GS_END_TIMEOUT);
	talk_fini(&talk);
}

/* Chatter does not count as life, and the relay is told that we do not wait. */
static void
test_silence(void **state)
{
	struct talk talk;

	(void)state;
	talk_open(&talk, true, 1);
	skip_frames(&talk);
	assert_int_equal(gs_session_deadline_ms(talk.session),
	    talk.now.mono_ms + SILENCE_MS);
	wait_ms(&talk, 20000);
	assert_non_null(hear_event(&talk, "1", 1, 100, false));
	wait_ms(&talk, 20000);
	(void)hear_event(&talk, "1", 1, 100, false);
	(void)hear(&talk, "[\"NOTICE\",\"still here\"]");
	assert_end(&talk, 0, GS_END_NONE);
	wait_ms(&talk, 10000);
	assert_end(&talk, 0, GS_END_TIMEOUT);
	expect(&talk, "[\"CLOSE\",\"1\"]");
	expect_nothing(&talk);
	assert_wish(&talk, GS_WISH_DONE);
	(void)hear(&talk, "[\"EOSE\",\"1\"]");
	assert_end(&talk, 0, GS_END_TIMEOUT);
	talk_fini(&talk);
}

/* Silent twice without an EOSE between: nothing more is asked. */
static void
test_silent_relay(void **state)
{
	struct talk talk;

	(void)state;
	talk_open(&talk, true, 400);
	skip_frames(&talk);
	wait_ms(&talk, SILENCE_MS);
	assert_end(&talk, 99, GS_END_TIMEOUT);
	assert_end(&talk, 100, GS_END_NONE);
	expect(&talk, "[\"CLOSE\",\"1\"]");
	skip_frames(&talk);
	wait_ms(&talk, SILENCE_MS);
	assert_wish(&talk, GS_WISH_GIVE_UP);
	assert_end(&talk, 399, GS_END_TIMEOUT);
	expect(&talk, "[\"CLOSE\",\"11\"]");
	talk_fini(&talk);
}

/* While our own reader is slow, the relay is not to blame. */
static void
test_pause(void **state)
{
	struct talk talk;

	(void)state;
	talk_open(&talk, true, 1);
	skip_frames(&talk);
	talk.now.mono_ms += 2 * SILENCE_MS;
	gs_session_paused(talk.session, 2 * SILENCE_MS);
	gs_session_tick(talk.session, talk.now);
	assert_end(&talk, 0, GS_END_NONE);
	wait_ms(&talk, SILENCE_MS);
	assert_end(&talk, 0, GS_END_TIMEOUT);
	talk_fini(&talk);
}

/* A drop in the middle: the reading goes on from its cursor, three times. */
static void
test_drops(void **state)
{
	struct talk talk;

	(void)state;
	talk_open(&talk, true, 12);
	skip_frames(&talk);
	assert_non_null(hear_event(&talk, "2", 11, 500, false));
	hear_eose(&talk, 1, 2);
	for (unsigned drop = 0; drop < 3; drop++) {
		expect_with(&talk, drop ? "REQ" : "CLOSE");
		skip_frames(&talk);
		drop_talk(&talk);
		assert_wish(&talk, GS_WISH_GOES_ON);
		assert_end(&talk, 0, GS_END_FINISHED);
		assert_end(&talk, 11, GS_END_NONE);
		assert_int_equal(gs_session_deadline_ms(talk.session), -1);
		expect_nothing(&talk);
		assert_null(hear_event(&talk, "3", 11, 5, false));
		skip_ms(&talk, 5000);
		connect_talk(&talk);
	}
	expect(&talk,
	    "[\"REQ\",\"6\",{\"kinds\":[11],\"until\":500,\"limit\":500},"
	    "{\"kinds\":[12],\"limit\":500}]");
	drop_talk(&talk);
	assert_end(&talk, 10, GS_END_DROPPED);
	assert_end(&talk, 11, GS_END_DROPPED);
	assert_wish(&talk, GS_WISH_DONE);
	talk_fini(&talk);
}

/* What was not asked for when the connection ended is not to blame for it. */
static void
test_drops_before_asking(void **state)
{
	struct talk talk;

	(void)state;
	talk_open(&talk, true, 1);
	for (unsigned drop = 0; drop < 20; drop++) {
		drop_talk(&talk);
		connect_talk(&talk);
	}
	assert_wish(&talk, GS_WISH_GOES_ON);
	assert_int_equal(skip_frames(&talk), 1);
	hear_eose(&talk, 1, 1);
	assert_wish(&talk, GS_WISH_DONE);
	talk_fini(&talk);
}

/* The owner gives up, also before any connection. */
static void
test_end(void **state)
{
	struct talk talk;

	(void)state;
	talk_init(&talk, true);
	talk_begin(&talk, 2);
	gs_session_end(talk.session, GS_END_DROPPED);
	assert_end(&talk, 1, GS_END_DROPPED);
	assert_wish(&talk, GS_WISH_DONE);
	connect_talk(&talk);
	expect_nothing(&talk);
	talk_fini(&talk);
	talk_open(&talk, true, 12);
	skip_frames(&talk);
	hear_eose(&talk, 1, 1);
	gs_session_end(talk.session, GS_END_DROPPED);
	assert_end(&talk, 0, GS_END_FINISHED);
	assert_end(&talk, 11, GS_END_DROPPED);
	drop_talk(&talk);
	assert_wish(&talk, GS_WISH_DONE);
	talk_fini(&talk);
}

/* No filter at all, or none that can match: done at once. */
static void
test_nothing_to_read(void **state)
{
	struct talk talk;

	(void)state;
	talk_open(&talk, true, 0);
	assert_wish(&talk, GS_WISH_DONE);
	talk_fini(&talk);
	talk_init(&talk, true);
	talk_begin(&talk, 0);
	talk_add(&talk, "{\"limit\":0}");
	assert_wish(&talk, GS_WISH_GOES_ON);
	connect_talk(&talk);
	assert_wish(&talk, GS_WISH_DONE);
	expect_nothing(&talk);
	talk_fini(&talk);
}

/* The relay is slow, but it gives something: no silence. */
static void
test_slow_relay(void **state)
{
	struct talk talk;

	(void)state;
	talk_open(&talk, true, 1);
	skip_frames(&talk);
	for (int64_t i = 0; i < 20; i++) {
		wait_ms(&talk, SILENCE_MS - 1);
		assert_non_null(hear_event(&talk, "1", 1, 1000 - i, false));
	}
	assert_end(&talk, 0, GS_END_NONE);
	wait_ms(&talk, SILENCE_MS);
	assert_end(&talk, 0, GS_END_TIMEOUT);
	talk_fini(&talk);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain_reading),
		cmocka_unit_test(test_many_filters),
		cmocka_unit_test(test_what_is_not_ours),
		cmocka_unit_test(test_noise),
		cmocka_unit_test(test_closed_alone),
		cmocka_unit_test(test_closed_in_company),
		cmocka_unit_test(test_closed_after_eose),
		cmocka_unit_test(test_notice_alone),
		cmocka_unit_test(test_notice_of_no_consequence),
		cmocka_unit_test(test_silence),
		cmocka_unit_test(test_silent_relay),
		cmocka_unit_test(test_pause),
		cmocka_unit_test(test_drops),
		cmocka_unit_test(test_drops_before_asking),
		cmocka_unit_test(test_end),
		cmocka_unit_test(test_nothing_to_read),
		cmocka_unit_test(test_slow_relay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
