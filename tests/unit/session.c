/*
 * Conversations with one relay as transcripts in virtual time: what it says, what we
 * say, and what each filter comes to.
 */
#include "transcript.h"

static void
test_plain_reading(void **state)
{
	struct chat chat;
	const struct gs_event *event;

	(void)state;
	chat_init(&chat, true);
	chat_begin(&chat, 1);
	expect_nothing(&chat);
	assert_int_equal(gs_session_deadline_ms(chat.session), -1);
	connect_chat(&chat);
	expect(&chat, "[\"REQ\",\"1\",{\"kinds\":[1],\"limit\":500}]");
	expect_nothing(&chat);
	event = hear_event(&chat, "1", 1, 100, false);
	assert_non_null(event);
	assert_int_equal(event->created_at, 100);
	assert_non_null(hear_event(&chat, "1", 1, 90, false));
	assert_null(hear(&chat, "[\"EOSE\",\"1\"]"));
	expect(&chat, "[\"CLOSE\",\"1\"]");
	expect(&chat, "[\"REQ\",\"2\",{\"kinds\":[1],\"until\":90,\"limit\":500}]");
	/* Known: not handed out again. */
	assert_null(hear_event(&chat, "2", 1, 90, false));
	assert_null(hear(&chat, "[\"EOSE\",\"2\"]"));
	assert_wish(&chat, GS_WISH_DONE);
	expect(&chat, "[\"CLOSE\",\"2\"]");
	expect_nothing(&chat);
	assert_int_equal(gs_session_deadline_ms(chat.session), -1);
	assert_end(&chat, 0, GS_END_FINISHED);
	assert_int_equal(report(&chat, 0)->fresh, 2);
	assert_int_equal(report(&chat, 0)->duplicate, 1);
	assert_int_equal(counts(&chat)->events, 2);
	chat_fini(&chat);
}

/* Ten REQs of ten filters are open at a time, and no more. */
static void
test_many_filters(void **state)
{
	struct chat chat;

	(void)state;
	chat_open(&chat, true, 150);
	for (size_t i = 0; i < 10; i++) {
		gs_buf_clear(&chat.said);
		assert_true(gs_session_next_frame(chat.session, &chat.said, chat.now));
	}
	expect_nothing(&chat);
	(void)hear(&chat, "[\"EOSE\",\"4\"]");
	expect(&chat, "[\"CLOSE\",\"4\"]");
	gs_buf_clear(&chat.said);
	assert_true(gs_session_next_frame(chat.session, &chat.said, chat.now));
	assert_non_null(strstr(chat.said.data, "[\"REQ\",\"11\",{\"kinds\":[101],"));
	expect_nothing(&chat);
	assert_end(&chat, 30, GS_END_FINISHED);
	chat_fini(&chat);
}

static void
test_what_is_not_ours(void **state)
{
	struct chat chat;

	(void)state;
	chat_open(&chat, true, 1);
	skip_frames(&chat);
	assert_null(hear_event(&chat, "2", 1, 100, false));
	assert_null(hear_event(&chat, "x", 1, 100, false));
	assert_int_equal(counts(&chat)->unknown, 2);
	assert_null(hear_event(&chat, "1", 7, 100, false));
	assert_int_equal(counts(&chat)->foreign, 1);
	assert_null(hear_event(&chat, "1", 1, 100, true));
	assert_null(hear(&chat, "[\"EVENT\",\"1\",{\"kind\":1}]"));
	assert_int_equal(counts(&chat)->invalid, 2);
	assert_null(hear(&chat, "rubbish"));
	assert_null(hear(&chat, "[\"EOSE\"]"));
	assert_null(hear(&chat, "[\"EOSE\",\"9\"]"));
	assert_null(hear(&chat, "[\"OK\",\"?\",true,\"\"]"));
	assert_null(hear(&chat, "[\"AUTH\",\"abc\"]"));
	assert_int_equal(counts(&chat)->junk, 3);
	assert_end(&chat, 0, GS_END_NONE);
	/* The true copy of what came spoiled is still taken. */
	assert_non_null(hear_event(&chat, "1", 1, 100, false));
	(void)hear(&chat, "[\"EOSE\",\"1\"]");
	assert_null(hear_event(&chat, "1", 1, 99, false));
	assert_int_equal(counts(&chat)->late, 1);
	chat_fini(&chat);
}

static void
test_noise(void **state)
{
	struct chat chat;

	(void)state;
	chat_open(&chat, true, 1);
	skip_frames(&chat);
	for (size_t i = 0; i < 2000; i++)
		(void)hear(&chat, "[\"EVENT\",\"1\",{}]");
	assert_wish(&chat, GS_WISH_GIVE_UP);
	assert_end(&chat, 0, GS_END_INCONSISTENT);
	expect_nothing(&chat);
	chat_fini(&chat);
}

static void
test_closed_alone(void **state)
{
	struct chat chat;

	(void)state;
	chat_open(&chat, true, 1);
	skip_frames(&chat);
	(void)hear(&chat, "[\"CLOSED\",\"1\",\"ERROR: bad req: unrecognised\\nitem\"]");
	assert_end(&chat, 0, GS_END_CLOSED);
	assert_string_equal(report(&chat, 0)->reason, "bad req: unrecognised\\x0aitem");
	assert_wish(&chat, GS_WISH_DONE);
	expect_nothing(&chat);
	chat_fini(&chat);
}

/* One filter of several may be to blame: they are asked one by one. */
static void
test_closed_in_company(void **state)
{
	struct chat chat;

	(void)state;
	chat_open(&chat, true, 2);
	skip_frames(&chat);
	(void)hear(&chat, "[\"CLOSED\",\"1\",\"blocked: kinds\"]");
	expect(&chat, "[\"REQ\",\"2\",{\"kinds\":[1],\"limit\":500}]");
	expect(&chat, "[\"REQ\",\"3\",{\"kinds\":[2],\"limit\":500}]");
	(void)hear(&chat, "[\"CLOSED\",\"2\",\"blocked: kind 1\"]");
	(void)hear(&chat, "[\"EOSE\",\"3\"]");
	assert_end(&chat, 0, GS_END_CLOSED);
	assert_end(&chat, 1, GS_END_FINISHED);
	assert_wish(&chat, GS_WISH_DONE);
	chat_fini(&chat);
}

/* Some relays answer CLOSE so; that is no refusal. */
static void
test_closed_after_eose(void **state)
{
	struct chat chat;

	(void)state;
	chat_open(&chat, true, 1);
	skip_frames(&chat);
	(void)hear(&chat, "[\"EOSE\",\"1\"]");
	(void)hear(&chat, "[\"CLOSED\",\"1\",\"\"]");
	assert_end(&chat, 0, GS_END_FINISHED);
	chat_fini(&chat);
}

static void
test_notice_alone(void **state)
{
	struct chat chat;

	(void)state;
	chat_open(&chat, true, 1);
	skip_frames(&chat);
	(void)hear(&chat, "[\"NOTICE\",\"could not parse command\"]");
	assert_int_equal(gs_session_deadline_ms(chat.session), chat.now.mono_ms + 2000);
	wait_ms(&chat, 1999);
	assert_end(&chat, 0, GS_END_NONE);
	wait_ms(&chat, 1);
	assert_end(&chat, 0, GS_END_CLOSED);
	assert_string_equal(report(&chat, 0)->reason, "could not parse command");
	expect(&chat, "[\"CLOSE\",\"1\"]");
	expect_nothing(&chat);
	chat_fini(&chat);
}

/* A welcome is no refusal, and with two requests open nobody knows who is meant. */
static void
test_notice_of_no_consequence(void **state)
{
	struct chat chat;

	(void)state;
	chat_open(&chat, true, 1);
	skip_frames(&chat);
	(void)hear(&chat, "[\"NOTICE\",\"welcome\\u0007\"]");
	assert_string_equal(gs_session_notice(chat.session), "welcome\\x07");
	wait_ms(&chat, 1000);
	(void)hear(&chat, "[\"EOSE\",\"1\"]");
	assert_end(&chat, 0, GS_END_FINISHED);
	chat_fini(&chat);
	chat_open(&chat, true, 11);
	skip_frames(&chat);
	(void)hear(&chat, "[\"NOTICE\",\"could not parse command\"]");
	wait_ms(&chat, 5000);
	assert_end(&chat, 0, GS_END_NONE);
	(void)hear(&chat, "[\"EOSE\",\"1\"]");
	wait_ms(&chat, SILENCE_MS - 1);
	assert_end(&chat, 10, GS_END_NONE);
	wait_ms(&chat, 1);
	assert_end(&chat, 0, GS_END_FINISHED);
	assert_end(&chat, 10, GS_END_TIMEOUT);
	chat_fini(&chat);
}

/* Chatter does not count as life, and the relay is told that we do not wait. */
static void
test_silence(void **state)
{
	struct chat chat;

	(void)state;
	chat_open(&chat, true, 1);
	skip_frames(&chat);
	assert_int_equal(gs_session_deadline_ms(chat.session),
	    chat.now.mono_ms + SILENCE_MS);
	wait_ms(&chat, 20000);
	assert_non_null(hear_event(&chat, "1", 1, 100, false));
	wait_ms(&chat, 20000);
	(void)hear_event(&chat, "1", 1, 100, false);
	(void)hear(&chat, "[\"NOTICE\",\"still here\"]");
	assert_end(&chat, 0, GS_END_NONE);
	wait_ms(&chat, 10000);
	assert_end(&chat, 0, GS_END_TIMEOUT);
	expect(&chat, "[\"CLOSE\",\"1\"]");
	expect_nothing(&chat);
	assert_wish(&chat, GS_WISH_DONE);
	(void)hear(&chat, "[\"EOSE\",\"1\"]");
	assert_end(&chat, 0, GS_END_TIMEOUT);
	chat_fini(&chat);
}

/* Silent twice without an EOSE between: nothing more is asked. */
static void
test_silent_relay(void **state)
{
	struct chat chat;

	(void)state;
	chat_open(&chat, true, 400);
	skip_frames(&chat);
	wait_ms(&chat, SILENCE_MS);
	assert_end(&chat, 99, GS_END_TIMEOUT);
	assert_end(&chat, 100, GS_END_NONE);
	expect(&chat, "[\"CLOSE\",\"1\"]");
	skip_frames(&chat);
	wait_ms(&chat, SILENCE_MS);
	assert_wish(&chat, GS_WISH_GIVE_UP);
	assert_end(&chat, 399, GS_END_TIMEOUT);
	expect(&chat, "[\"CLOSE\",\"11\"]");
	chat_fini(&chat);
}

/* While our own reader is slow, the relay is not to blame. */
static void
test_pause(void **state)
{
	struct chat chat;

	(void)state;
	chat_open(&chat, true, 1);
	skip_frames(&chat);
	chat.now.mono_ms += 2 * SILENCE_MS;
	gs_session_paused(chat.session, 2 * SILENCE_MS);
	gs_session_tick(chat.session, chat.now);
	assert_end(&chat, 0, GS_END_NONE);
	wait_ms(&chat, SILENCE_MS);
	assert_end(&chat, 0, GS_END_TIMEOUT);
	chat_fini(&chat);
}

/* A drop in the middle: the reading goes on from its cursor, three times. */
static void
test_drops(void **state)
{
	struct chat chat;

	(void)state;
	chat_open(&chat, true, 12);
	skip_frames(&chat);
	assert_non_null(hear_event(&chat, "2", 11, 500, false));
	hear_eose(&chat, 1, 2);
	for (unsigned drop = 0; drop < 3; drop++) {
		expect_with(&chat, drop ? "REQ" : "CLOSE");
		skip_frames(&chat);
		drop_chat(&chat);
		assert_wish(&chat, GS_WISH_GOES_ON);
		assert_end(&chat, 0, GS_END_FINISHED);
		assert_end(&chat, 11, GS_END_NONE);
		assert_int_equal(gs_session_deadline_ms(chat.session), -1);
		expect_nothing(&chat);
		assert_null(hear_event(&chat, "3", 11, 5, false));
		skip_ms(&chat, 5000);
		connect_chat(&chat);
	}
	expect(&chat,
	    "[\"REQ\",\"6\",{\"kinds\":[11],\"until\":500,\"limit\":500},"
	    "{\"kinds\":[12],\"limit\":500}]");
	drop_chat(&chat);
	assert_end(&chat, 10, GS_END_DROPPED);
	assert_end(&chat, 11, GS_END_DROPPED);
	assert_wish(&chat, GS_WISH_DONE);
	chat_fini(&chat);
}

/* What was not asked for when the connection ended is not to blame for it. */
static void
test_drops_before_asking(void **state)
{
	struct chat chat;

	(void)state;
	chat_open(&chat, true, 1);
	for (unsigned drop = 0; drop < 20; drop++) {
		drop_chat(&chat);
		connect_chat(&chat);
	}
	assert_wish(&chat, GS_WISH_GOES_ON);
	assert_int_equal(skip_frames(&chat), 1);
	hear_eose(&chat, 1, 1);
	assert_wish(&chat, GS_WISH_DONE);
	chat_fini(&chat);
}

/* The owner gives up, also before any connection. */
static void
test_end(void **state)
{
	struct chat chat;

	(void)state;
	chat_init(&chat, true);
	chat_begin(&chat, 2);
	gs_session_end(chat.session, GS_END_DROPPED);
	assert_end(&chat, 1, GS_END_DROPPED);
	assert_wish(&chat, GS_WISH_DONE);
	connect_chat(&chat);
	expect_nothing(&chat);
	chat_fini(&chat);
	chat_open(&chat, true, 12);
	skip_frames(&chat);
	hear_eose(&chat, 1, 1);
	gs_session_end(chat.session, GS_END_DROPPED);
	assert_end(&chat, 0, GS_END_FINISHED);
	assert_end(&chat, 11, GS_END_DROPPED);
	drop_chat(&chat);
	assert_wish(&chat, GS_WISH_DONE);
	chat_fini(&chat);
}

/* No filter at all, or none that can match: done at once. */
static void
test_nothing_to_read(void **state)
{
	struct chat chat;

	(void)state;
	chat_open(&chat, true, 0);
	assert_wish(&chat, GS_WISH_DONE);
	chat_fini(&chat);
	chat_init(&chat, true);
	chat_begin(&chat, 0);
	chat_add(&chat, "{\"limit\":0}");
	assert_wish(&chat, GS_WISH_GOES_ON);
	connect_chat(&chat);
	assert_wish(&chat, GS_WISH_DONE);
	expect_nothing(&chat);
	chat_fini(&chat);
}

/* The relay is slow, but it gives something: no silence. */
static void
test_slow_relay(void **state)
{
	struct chat chat;

	(void)state;
	chat_open(&chat, true, 1);
	skip_frames(&chat);
	for (int64_t i = 0; i < 20; i++) {
		wait_ms(&chat, SILENCE_MS - 1);
		assert_non_null(hear_event(&chat, "1", 1, 1000 - i, false));
	}
	assert_end(&chat, 0, GS_END_NONE);
	wait_ms(&chat, SILENCE_MS);
	assert_end(&chat, 0, GS_END_TIMEOUT);
	chat_fini(&chat);
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
