/*
 * What we do when a relay refuses, in transcripts: what was too much is less
 * afterwards, what came too fast comes later, what is not wanted is asked for alone.
 */
#include "transcript.h"

static void
test_rate_limit(void **state)
{
	struct talk talk;

	(void)state;
	talk_open(&talk, true, 1);
	expect(&talk, "[\"REQ\",\"1\",{\"kinds\":[1],\"limit\":500}]");
	hear_closed(&talk, 1, "rate-limited: slow down there chief");
	expect_nothing(&talk);
	wait_ms(&talk, 64999);
	expect_nothing(&talk);
	wait_ms(&talk, 1);
	expect(&talk, "[\"REQ\",\"2\",{\"kinds\":[1],\"limit\":500}]");
	hear_closed(&talk, 2, "ERROR: rate-limited: again");
	wait_ms(&talk, 129999);
	expect_nothing(&talk);
	wait_ms(&talk, 1);
	expect_with(&talk, "[\"REQ\",\"3\"");
	hear_closed(&talk, 3, "rate-limited: and again");
	wait_ms(&talk, 260000);
	expect_with(&talk, "[\"REQ\",\"4\"");
	assert_end(&talk, 0, GS_END_NONE);
	/* Three times it was tried again; that is enough. */
	hear_closed(&talk, 4, "rate-limited: no");
	assert_end(&talk, 0, GS_END_CLOSED);
	assert_string_equal(report(&talk, 0)->reason, "rate-limited: no");
	assert_wish(&talk, GS_WISH_DONE);
	talk_fini(&talk);
}

/* Ten that are refused at a time are one wait; what others bring does not end it. */
static void
test_rate_limit_has_its_own_clock(void **state)
{
	struct talk talk;

	(void)state;
	talk_open(&talk, false, 1);
	assert_int_equal(skip_frames(&talk), 2);
	hear_closed(&talk, 2, "rate-limited: one");
	hear_eose(&talk, 1, 1);
	wait_ms(&talk, 65000);
	assert_int_equal(skip_frames(&talk), 1);
	hear_closed(&talk, 3, "rate-limited: two");
	wait_ms(&talk, 65000);
	assert_non_null(hear_event(&talk, "1", 1, START_S, false));
	expect_nothing(&talk);
	wait_ms(&talk, 65000);
	assert_int_equal(skip_frames(&talk), 1);
	talk_fini(&talk);
}

static void
test_rate_limit_doubles_up_to_an_hour(void **state)
{
	struct talk talk;
	int64_t ms = 65000;

	(void)state;
	talk_open(&talk, false, 1);
	hear_eose(&talk, skip_frames(&talk) > 0, 1);
	for (unsigned i = 2; i < 12; i++) {
		hear_closed(&talk, i, "rate-limited: you are noting too much");
		wait_ms(&talk, ms - 1);
		expect_nothing(&talk);
		wait_ms(&talk, 1);
		assert_int_equal(skip_frames(&talk), 1);
		ms = 2 * ms < HOUR_MS ? 2 * ms : HOUR_MS;
	}
	talk_fini(&talk);
}

static void
test_backoff_is_capped(void **state)
{
	struct talk talk;

	(void)state;
	talk_init(&talk, false);
	talk.options.max_backoff_ms = 5000;
	talk_begin(&talk, 1);
	connect_talk(&talk);
	assert_int_equal(skip_frames(&talk), 2);
	hear_eose(&talk, 1, 1);
	hear_closed(&talk, 2, "rate-limited: one");
	wait_ms(&talk, 5000);
	assert_int_equal(skip_frames(&talk), 1);
	hear_closed(&talk, 3, "blocked: no");
	assert_end(&talk, 0, GS_END_CLOSED);
	wait_ms(&talk, 4999);
	expect_nothing(&talk);
	wait_ms(&talk, 1);
	expect_with(&talk, "[\"REQ\",\"4\"");
	talk_fini(&talk);
}

/* Half as many filters, until the relay takes them. */
static void
test_too_many_filters(void **state)
{
	struct talk talk;

	(void)state;
	talk_open(&talk, true, 4);
	skip_frames(&talk);
	hear_closed(&talk, 1, "ERROR: bad req: arr too big");
	assert_int_equal(talk.limits.filters, 2);
	expect(&talk,
	    "[\"REQ\",\"2\",{\"kinds\":[1],\"limit\":500},"
	    "{\"kinds\":[2],\"limit\":500}]");
	expect(&talk,
	    "[\"REQ\",\"3\",{\"kinds\":[3],\"limit\":500},"
	    "{\"kinds\":[4],\"limit\":500}]");
	hear_closed(&talk, 2, "blocked: too many filters");
	/* That was known by then. */
	hear_closed(&talk, 3, "blocked: too many filters");
	assert_int_equal(talk.limits.filters, 1);
	assert_int_equal(skip_frames(&talk), 4);
	hear_closed(&talk, 4, "blocked: too many filters");
	assert_end(&talk, 0, GS_END_CLOSED);
	hear_eose(&talk, 5, 7);
	assert_end(&talk, 3, GS_END_FINISHED);
	assert_wish(&talk, GS_WISH_DONE);
	talk_fini(&talk);
}

static void
test_limit_too_high(void **state)
{
	struct talk talk;

	(void)state;
	talk_open(&talk, true, 1);
	skip_frames(&talk);
	hear_closed(&talk, 1, "invalid: limit must be less than or equal to 100");
	expect(&talk, "[\"REQ\",\"2\",{\"kinds\":[1],\"limit\":100}]");
	hear_closed(&talk, 2, "limit too high");
	expect(&talk, "[\"REQ\",\"3\",{\"kinds\":[1],\"limit\":50}]");
	talk_fini(&talk);
}

/* A filter that is too long is asked for in pieces; its report is theirs together. */
static void
test_message_too_large(void **state)
{
	struct gs_buf filter = GS_BUF_INIT;
	size_t reqs = 0;
	struct talk talk;

	(void)state;
	talk_init(&talk, true);
	talk_begin(&talk, 0);
	gs_buf_add_str(&filter, "{\"ids\":[");
	for (unsigned i = 0; i < 100; i++)
		gs_buf_printf(&filter, "%s\"%064x\"", i ? "," : "", i);
	gs_buf_add_str(&filter, "]}");
	talk_add(&talk, filter.data);
	connect_talk(&talk);
	assert_int_equal(skip_frames(&talk), 1);
	hear_closed(&talk, 1, "error: message too large");
	assert_int_equal(talk.limits.bytes, 3366);
	for (gs_buf_clear(&talk.said);
	     gs_session_next_frame(talk.session, &talk.said, talk.now);
	     gs_buf_clear(&talk.said), reqs++)
		assert_in_range(talk.said.len, 1, talk.limits.bytes);
	assert_true(reqs >= 2);
	hear_eose(&talk, 2, 2);
	assert_end(&talk, 0, GS_END_NONE);
	hear_eose(&talk, 3, (unsigned)reqs + 1);
	assert_end(&talk, 0, GS_END_FINISHED);
	assert_int_equal(report(&talk, 0)->pages, reqs);
	gs_buf_fini(&filter);
	talk_fini(&talk);
}

static void
test_too_many_subscriptions(void **state)
{
	struct talk talk;

	(void)state;
	talk_open(&talk, true, 100);
	assert_int_equal(skip_frames(&talk), 10);
	hear_closed(&talk, 9, "error: too many subscriptions");
	hear_closed(&talk, 10, "error: too many subscriptions");
	assert_int_equal(talk.limits.subscriptions, 4);
	expect_nothing(&talk);
	hear_eose(&talk, 1, 4);
	assert_int_equal(skip_frames(&talk), 0);
	hear_eose(&talk, 5, 5);
	assert_int_equal(skip_frames(&talk), 1);
	hear_eose(&talk, 6, 8);
	assert_int_equal(skip_frames(&talk), 1);
	hear_eose(&talk, 11, 12);
	assert_wish(&talk, GS_WISH_DONE);
	for (size_t i = 0; i < 100; i++)
		assert_end(&talk, i, GS_END_FINISHED);
	talk_fini(&talk);
}

/* A notice that names nobody: a second of quiet shows whom it was about. */
static void
test_notice_of_too_many(void **state)
{
	struct talk talk;

	(void)state;
	talk_open(&talk, true, 100);
	assert_int_equal(skip_frames(&talk), 10);
	(void)hear(&talk, "[\"NOTICE\",\"ERROR: too many concurrent REQs\"]");
	wait_ms(&talk, 999);
	hear_eose(&talk, 1, 3);
	assert_int_equal(skip_frames(&talk), 0);
	wait_ms(&talk, 999);
	hear_eose(&talk, 4, 4);
	expect(&talk, "[\"CLOSE\",\"4\"]");
	assert_int_equal(gs_session_deadline_ms(talk.session), talk.now.mono_ms + 1000);
	wait_ms(&talk, 999);
	expect_nothing(&talk);
	wait_ms(&talk, 1);
	assert_int_equal(talk.limits.subscriptions, 3);
	for (unsigned i = 5; i <= 10; i++) {
		expect_close(&talk, i);
	}
	/* That was no timeout: all of it is asked for again, under other names. */
	assert_int_equal(skip_frames(&talk), 3);
	hear_eose(&talk, 11, 13);
	assert_int_equal(skip_frames(&talk), 3);
	hear_eose(&talk, 14, 16);
	assert_wish(&talk, GS_WISH_DONE);
	for (size_t i = 0; i < 100; i++)
		assert_end(&talk, i, GS_END_FINISHED);
	talk_fini(&talk);
}

/* Some relays never are quiet. */
static void
test_hold_does_not_last(void **state)
{
	struct talk talk;

	(void)state;
	talk_open(&talk, true, 11);
	assert_int_equal(skip_frames(&talk), 2);
	(void)hear(&talk, "[\"NOTICE\",\"too many subscriptions\"]");
	for (size_t i = 0; i < 19; i++) {
		wait_ms(&talk, 500);
		(void)hear(&talk, "[\"NOTICE\",\"tick\"]");
	}
	expect_nothing(&talk);
	wait_ms(&talk, 500);
	expect(&talk, "[\"CLOSE\",\"1\"]");
	expect(&talk, "[\"CLOSE\",\"2\"]");
	assert_int_equal(skip_frames(&talk), 1);
	talk_fini(&talk);
}

/* If all of them are answered after all, nothing was meant. */
static void
test_notice_of_nothing(void **state)
{
	struct talk talk;

	(void)state;
	talk_open(&talk, true, 30);
	assert_int_equal(skip_frames(&talk), 3);
	(void)hear(&talk, "[\"NOTICE\",\"ERROR: too many concurrent REQs\"]");
	hear_eose(&talk, 1, 3);
	wait_ms(&talk, 2000);
	assert_int_equal(talk.limits.subscriptions, 10);
	assert_wish(&talk, GS_WISH_DONE);
	talk_fini(&talk);
}

static void
test_notice_of_rate(void **state)
{
	struct talk talk;

	(void)state;
	talk_open(&talk, true, 20);
	assert_int_equal(skip_frames(&talk), 2);
	(void)hear(&talk, "[\"NOTICE\",\"rate-limited: too many requests\"]");
	wait_ms(&talk, 1000);
	assert_int_equal(skip_frames(&talk), 0);
	wait_ms(&talk, 65000);
	assert_int_equal(skip_frames(&talk), 2);
	assert_int_equal(talk.limits.subscriptions, 10);
	talk_fini(&talk);
}

/* A name that the relay claims to know: another one, but not for ever. */
static void
test_duplicate_name(void **state)
{
	struct talk talk;
	unsigned i;

	(void)state;
	talk_open(&talk, true, 1);
	for (i = 1; skip_frames(&talk) == 1; i++) {
		hear_closed(&talk, i, "error: duplicate subscription");
	}
	assert_in_range(i, 50, 200);
	assert_end(&talk, 0, GS_END_CLOSED);
	talk_fini(&talk);
}

/* With once it is not tried again: reported. */
static void
test_refused_once(void **state)
{
	struct talk talk;

	(void)state;
	talk_open(&talk, true, 2);
	skip_frames(&talk);
	hear_closed(&talk, 1, "restricted: not for you");
	assert_int_equal(skip_frames(&talk), 2);
	hear_closed(&talk, 2, "restricted: not for you");
	hear_eose(&talk, 3, 3);
	assert_end(&talk, 0, GS_END_CLOSED);
	assert_end(&talk, 1, GS_END_FINISHED);
	assert_wish(&talk, GS_WISH_DONE);
	assert_int_equal(gs_session_deadline_ms(talk.session), -1);
	talk_fini(&talk);
}

/* Following, it is tried again: 1 min, doubling to a day. */
static void
test_refused_following(void **state)
{
	struct talk talk;
	int64_t ms = MINUTE_MS;

	(void)state;
	talk_open(&talk, false, 1);
	assert_int_equal(skip_frames(&talk), 2);
	hear_eose(&talk, 1, 1);
	for (unsigned i = 2; i < 14; i++) {
		hear_closed(&talk, i, "blocked: kind");
		assert_end(&talk, 0, GS_END_CLOSED);
		assert_int_equal(gs_session_filters(talk.session).failed, 1);
		wait_ms(&talk, ms - 1);
		expect_nothing(&talk);
		wait_ms(&talk, 1);
		assert_int_equal(skip_frames(&talk), 1);
		ms = 2 * ms < DAY_MS ? 2 * ms : DAY_MS;
	}
	talk_fini(&talk);
}

/* Once all filters are refused for want of a name, that is true of all the others. */
static void
test_strangers_are_not_wanted(void **state)
{
	unsigned asked = 0;
	struct talk talk;

	(void)state;
	talk_open(&talk, true, 500);
	while (gs_session_wish(talk.session) == GS_WISH_GOES_ON) {
		size_t reqs = skip_frames(&talk);

		assert_true(reqs > 0);
		for (size_t i = 0; i < reqs; i++) {
			hear_closed(&talk, ++asked, "auth-required: who are you");
		}
	}
	assert_in_range(asked, 50, 300);
	for (size_t i = 0; i < 500; i++)
		assert_string_equal(report(&talk, i)->reason,
		    "auth-required: who are you");
	talk_fini(&talk);
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
