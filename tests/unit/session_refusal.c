/*
 * What we do when a relay refuses, in transcripts: what was too much is less
 * afterwards, what came too fast comes later, what is not wanted is asked for alone.
 */
#include "transcript.h"

static void
test_rate_limit(void **state)
{
	struct chat chat;

	(void)state;
	chat_open(&chat, true, 1);
	expect(&chat, "[\"REQ\",\"1\",{\"kinds\":[1],\"limit\":500}]");
	hear_closed(&chat, 1, "rate-limited: slow down there chief");
	expect_nothing(&chat);
	wait_ms(&chat, 64999);
	expect_nothing(&chat);
	wait_ms(&chat, 1);
	expect(&chat, "[\"REQ\",\"2\",{\"kinds\":[1],\"limit\":500}]");
	hear_closed(&chat, 2, "ERROR: rate-limited: again");
	wait_ms(&chat, 129999);
	expect_nothing(&chat);
	wait_ms(&chat, 1);
	expect_with(&chat, "[\"REQ\",\"3\"");
	hear_closed(&chat, 3, "rate-limited: and again");
	wait_ms(&chat, 260000);
	expect_with(&chat, "[\"REQ\",\"4\"");
	assert_end(&chat, 0, GS_END_NONE);
	/* Three times it was tried again; that is enough. */
	hear_closed(&chat, 4, "rate-limited: no");
	assert_end(&chat, 0, GS_END_CLOSED);
	assert_string_equal(report(&chat, 0)->reason, "rate-limited: no");
	assert_wish(&chat, GS_WISH_DONE);
	chat_fini(&chat);
}

/* Ten that are refused at a time are one wait; what others bring does not end it. */
static void
test_rate_limit_has_its_own_clock(void **state)
{
	struct chat chat;

	(void)state;
	chat_open(&chat, false, 1);
	assert_int_equal(skip_frames(&chat), 2);
	hear_closed(&chat, 2, "rate-limited: one");
	hear_eose(&chat, 1, 1);
	wait_ms(&chat, 65000);
	assert_int_equal(skip_frames(&chat), 1);
	hear_closed(&chat, 3, "rate-limited: two");
	wait_ms(&chat, 65000);
	assert_non_null(hear_event(&chat, "1", 1, START_S, false));
	expect_nothing(&chat);
	wait_ms(&chat, 65000);
	assert_int_equal(skip_frames(&chat), 1);
	chat_fini(&chat);
}

static void
test_rate_limit_doubles_up_to_an_hour(void **state)
{
	struct chat chat;
	int64_t ms = 65000;

	(void)state;
	chat_open(&chat, false, 1);
	hear_eose(&chat, skip_frames(&chat) > 0, 1);
	for (unsigned i = 2; i < 12; i++) {
		hear_closed(&chat, i, "rate-limited: you are noting too much");
		wait_ms(&chat, ms - 1);
		expect_nothing(&chat);
		wait_ms(&chat, 1);
		assert_int_equal(skip_frames(&chat), 1);
		ms = 2 * ms < HOUR_MS ? 2 * ms : HOUR_MS;
	}
	chat_fini(&chat);
}

static void
test_backoff_is_capped(void **state)
{
	struct chat chat;

	(void)state;
	chat_init(&chat, false);
	chat.options.max_backoff_ms = 5000;
	chat_begin(&chat, 1);
	connect_chat(&chat);
	assert_int_equal(skip_frames(&chat), 2);
	hear_eose(&chat, 1, 1);
	hear_closed(&chat, 2, "rate-limited: one");
	wait_ms(&chat, 5000);
	assert_int_equal(skip_frames(&chat), 1);
	hear_closed(&chat, 3, "blocked: no");
	assert_end(&chat, 0, GS_END_CLOSED);
	wait_ms(&chat, 4999);
	expect_nothing(&chat);
	wait_ms(&chat, 1);
	expect_with(&chat, "[\"REQ\",\"4\"");
	chat_fini(&chat);
}

/* Half as many filters, until the relay takes them. */
static void
test_too_many_filters(void **state)
{
	struct chat chat;

	(void)state;
	chat_open(&chat, true, 4);
	skip_frames(&chat);
	hear_closed(&chat, 1, "ERROR: bad req: arr too big");
	assert_int_equal(chat.limits.filters, 2);
	expect(&chat,
	    "[\"REQ\",\"2\",{\"kinds\":[1],\"limit\":500},"
	    "{\"kinds\":[2],\"limit\":500}]");
	expect(&chat,
	    "[\"REQ\",\"3\",{\"kinds\":[3],\"limit\":500},"
	    "{\"kinds\":[4],\"limit\":500}]");
	hear_closed(&chat, 2, "blocked: too many filters");
	/* That was known by then. */
	hear_closed(&chat, 3, "blocked: too many filters");
	assert_int_equal(chat.limits.filters, 1);
	assert_int_equal(skip_frames(&chat), 4);
	hear_closed(&chat, 4, "blocked: too many filters");
	assert_end(&chat, 0, GS_END_CLOSED);
	hear_eose(&chat, 5, 7);
	assert_end(&chat, 3, GS_END_FINISHED);
	assert_wish(&chat, GS_WISH_DONE);
	chat_fini(&chat);
}

static void
test_limit_too_high(void **state)
{
	struct chat chat;

	(void)state;
	chat_open(&chat, true, 1);
	skip_frames(&chat);
	hear_closed(&chat, 1, "invalid: limit must be less than or equal to 100");
	expect(&chat, "[\"REQ\",\"2\",{\"kinds\":[1],\"limit\":100}]");
	hear_closed(&chat, 2, "limit too high");
	expect(&chat, "[\"REQ\",\"3\",{\"kinds\":[1],\"limit\":50}]");
	chat_fini(&chat);
}

/* A filter that is too long is asked for in pieces; its report is theirs together. */
static void
test_message_too_large(void **state)
{
	struct gs_buf filter = GS_BUF_INIT;
	size_t reqs = 0;
	struct chat chat;

	(void)state;
	chat_init(&chat, true);
	chat_begin(&chat, 0);
	gs_buf_add_str(&filter, "{\"ids\":[");
	for (unsigned i = 0; i < 100; i++)
		gs_buf_printf(&filter, "%s\"%064x\"", i ? "," : "", i);
	gs_buf_add_str(&filter, "]}");
	chat_add(&chat, filter.data);
	connect_chat(&chat);
	assert_int_equal(skip_frames(&chat), 1);
	hear_closed(&chat, 1, "error: message too large");
	assert_int_equal(chat.limits.bytes, 3366);
	for (gs_buf_clear(&chat.said);
	     gs_session_next_frame(chat.session, &chat.said, chat.now);
	     gs_buf_clear(&chat.said), reqs++)
		assert_in_range(chat.said.len, 1, chat.limits.bytes);
	assert_true(reqs >= 2);
	hear_eose(&chat, 2, 2);
	assert_end(&chat, 0, GS_END_NONE);
	hear_eose(&chat, 3, (unsigned)reqs + 1);
	assert_end(&chat, 0, GS_END_FINISHED);
	assert_int_equal(report(&chat, 0)->pages, reqs);
	gs_buf_fini(&filter);
	chat_fini(&chat);
}

static void
test_too_many_subscriptions(void **state)
{
	struct chat chat;

	(void)state;
	chat_open(&chat, true, 100);
	assert_int_equal(skip_frames(&chat), 10);
	hear_closed(&chat, 9, "error: too many subscriptions");
	hear_closed(&chat, 10, "error: too many subscriptions");
	assert_int_equal(chat.limits.subscriptions, 4);
	expect_nothing(&chat);
	hear_eose(&chat, 1, 4);
	assert_int_equal(skip_frames(&chat), 0);
	hear_eose(&chat, 5, 5);
	assert_int_equal(skip_frames(&chat), 1);
	hear_eose(&chat, 6, 8);
	assert_int_equal(skip_frames(&chat), 1);
	hear_eose(&chat, 11, 12);
	assert_wish(&chat, GS_WISH_DONE);
	for (size_t i = 0; i < 100; i++)
		assert_end(&chat, i, GS_END_FINISHED);
	chat_fini(&chat);
}

/* A notice that names nobody: a second of quiet shows whom it was about. */
static void
test_notice_of_too_many(void **state)
{
	struct chat chat;

	(void)state;
	chat_open(&chat, true, 100);
	assert_int_equal(skip_frames(&chat), 10);
	(void)hear(&chat, "[\"NOTICE\",\"ERROR: too many concurrent REQs\"]");
	wait_ms(&chat, 999);
	hear_eose(&chat, 1, 3);
	assert_int_equal(skip_frames(&chat), 0);
	wait_ms(&chat, 999);
	hear_eose(&chat, 4, 4);
	expect(&chat, "[\"CLOSE\",\"4\"]");
	assert_int_equal(gs_session_deadline_ms(chat.session), chat.now.mono_ms + 1000);
	wait_ms(&chat, 999);
	expect_nothing(&chat);
	wait_ms(&chat, 1);
	assert_int_equal(chat.limits.subscriptions, 3);
	for (unsigned i = 5; i <= 10; i++) {
		expect_close(&chat, i);
	}
	/* That was no timeout: all of it is asked for again, under other names. */
	assert_int_equal(skip_frames(&chat), 3);
	hear_eose(&chat, 11, 13);
	assert_int_equal(skip_frames(&chat), 3);
	hear_eose(&chat, 14, 16);
	assert_wish(&chat, GS_WISH_DONE);
	for (size_t i = 0; i < 100; i++)
		assert_end(&chat, i, GS_END_FINISHED);
	chat_fini(&chat);
}

/* Some relays never are quiet. */
static void
test_hold_does_not_last(void **state)
{
	struct chat chat;

	(void)state;
	chat_open(&chat, true, 11);
	assert_int_equal(skip_frames(&chat), 2);
	(void)hear(&chat, "[\"NOTICE\",\"too many subscriptions\"]");
	for (size_t i = 0; i < 19; i++) {
		wait_ms(&chat, 500);
		(void)hear(&chat, "[\"NOTICE\",\"tick\"]");
	}
	expect_nothing(&chat);
	wait_ms(&chat, 500);
	expect(&chat, "[\"CLOSE\",\"1\"]");
	expect(&chat, "[\"CLOSE\",\"2\"]");
	assert_int_equal(skip_frames(&chat), 1);
	chat_fini(&chat);
}

/* If all of them are answered after all, nothing was meant. */
static void
test_notice_of_nothing(void **state)
{
	struct chat chat;

	(void)state;
	chat_open(&chat, true, 30);
	assert_int_equal(skip_frames(&chat), 3);
	(void)hear(&chat, "[\"NOTICE\",\"ERROR: too many concurrent REQs\"]");
	hear_eose(&chat, 1, 3);
	wait_ms(&chat, 2000);
	assert_int_equal(chat.limits.subscriptions, 10);
	assert_wish(&chat, GS_WISH_DONE);
	chat_fini(&chat);
}

static void
test_notice_of_rate(void **state)
{
	struct chat chat;

	(void)state;
	chat_open(&chat, true, 20);
	assert_int_equal(skip_frames(&chat), 2);
	(void)hear(&chat, "[\"NOTICE\",\"rate-limited: too many requests\"]");
	wait_ms(&chat, 1000);
	assert_int_equal(skip_frames(&chat), 0);
	wait_ms(&chat, 65000);
	assert_int_equal(skip_frames(&chat), 2);
	assert_int_equal(chat.limits.subscriptions, 10);
	chat_fini(&chat);
}

/* A name that the relay claims to know: another one, but not for ever. */
static void
test_duplicate_name(void **state)
{
	struct chat chat;
	unsigned i;

	(void)state;
	chat_open(&chat, true, 1);
	for (i = 1; skip_frames(&chat) == 1; i++) {
		hear_closed(&chat, i, "error: duplicate subscription");
	}
	assert_in_range(i, 50, 200);
	assert_end(&chat, 0, GS_END_CLOSED);
	chat_fini(&chat);
}

/* With once it is not tried again: reported. */
static void
test_refused_once(void **state)
{
	struct chat chat;

	(void)state;
	chat_open(&chat, true, 2);
	skip_frames(&chat);
	hear_closed(&chat, 1, "restricted: not for you");
	assert_int_equal(skip_frames(&chat), 2);
	hear_closed(&chat, 2, "restricted: not for you");
	hear_eose(&chat, 3, 3);
	assert_end(&chat, 0, GS_END_CLOSED);
	assert_end(&chat, 1, GS_END_FINISHED);
	assert_wish(&chat, GS_WISH_DONE);
	assert_int_equal(gs_session_deadline_ms(chat.session), -1);
	chat_fini(&chat);
}

/* Following, it is tried again: 1 min, doubling to a day. */
static void
test_refused_following(void **state)
{
	struct chat chat;
	int64_t ms = MINUTE_MS;

	(void)state;
	chat_open(&chat, false, 1);
	assert_int_equal(skip_frames(&chat), 2);
	hear_eose(&chat, 1, 1);
	for (unsigned i = 2; i < 14; i++) {
		hear_closed(&chat, i, "blocked: kind");
		assert_end(&chat, 0, GS_END_CLOSED);
		assert_int_equal(gs_session_filters(chat.session).failed, 1);
		wait_ms(&chat, ms - 1);
		expect_nothing(&chat);
		wait_ms(&chat, 1);
		assert_int_equal(skip_frames(&chat), 1);
		ms = 2 * ms < DAY_MS ? 2 * ms : DAY_MS;
	}
	chat_fini(&chat);
}

/* Once all filters are refused for want of a name, that is true of all the others. */
static void
test_strangers_are_not_wanted(void **state)
{
	unsigned asked = 0;
	struct chat chat;

	(void)state;
	chat_open(&chat, true, 500);
	while (gs_session_wish(chat.session) == GS_WISH_GOES_ON) {
		size_t reqs = skip_frames(&chat);

		assert_true(reqs > 0);
		for (size_t i = 0; i < reqs; i++) {
			hear_closed(&chat, ++asked, "auth-required: who are you");
		}
	}
	assert_in_range(asked, 50, 300);
	for (size_t i = 0; i < 500; i++)
		assert_string_equal(report(&chat, i)->reason,
		    "auth-required: who are you");
	chat_fini(&chat);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rate_limit),
		cmocka_unit_test(test_rate_limit_has_its_own_clock),
		cmocka_unit_test(test_rate_limit_doubles_up_to_an_hour),
		cmocka_unit_test(test_backoff_is_capped),
		cmocka_unit_test(test_too_many_filters),
		cmocka_unit_test(test_limit_too_high),
		cmocka_unit_test(test_message_too_large),
		cmocka_unit_test(test_too_many_subscriptions),
		cmocka_unit_test(test_notice_of_too_many),
		cmocka_unit_test(test_hold_does_not_last),
		cmocka_unit_test(test_notice_of_nothing),
		cmocka_unit_test(test_notice_of_rate),
		cmocka_unit_test(test_duplicate_name),
		cmocka_unit_test(test_refused_once),
		cmocka_unit_test(test_refused_following),
		cmocka_unit_test(test_strangers_are_not_wanted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
