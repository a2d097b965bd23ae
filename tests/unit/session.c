/*
 * Conversations with one relay as transcripts in virtual time: what it says, what we
 * say, and what each filter comes to.
 */
#include "session.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../tools/sign.h"
#include "made.h"

#define SILENCE_MS 30000

/* A session and its time. */
struct talk {
	struct gs_session *session;
	struct gs_buf said;
	struct gs_now now;
};

static struct gs_limits limits; /* of the relay that a test talks with */

static struct talk
start(size_t num_filters)
{
	static const struct gs_session_options options = { .once = true,
		.silence_ms = SILENCE_MS,
		.max_backoff_ms = -1,
		.url = "wss://relay.example" };
	struct talk talk = { .now = { 1000, 1800000000 } };

	gs_limits_init(&limits);
	talk.session = gs_session_new(&options, &limits, talk.now);
	for (size_t i = 0; i < num_filters; i++) {
		struct gs_filter filter = GS_FILTER_INIT;
		char text[64];
		int len = snprintf(text, sizeof(text), "{\"kinds\":[%zu]}", i + 1);

		assert_true(gs_filter_parse(&filter, text, (size_t)len, NULL));
		gs_session_add(talk.session, &filter);
	}
	return talk;
}

static struct talk
start_open(size_t num_filters)
{
	struct talk talk = start(num_filters);

	gs_session_opened(talk.session, talk.now);
	return talk;
}

static void
finish(struct talk *talk)
{
	gs_session_free(talk->session);
	gs_buf_fini(&talk->said);
}

/* The next frame that we send is this one; NULL: there is none. */
static void
expect(struct talk *talk, const char *frame)
{
	bool has_frame;

	gs_buf_clear(&talk->said);
	has_frame = gs_session_next_frame(talk->session, &talk->said, talk->now);
	assert_int_equal(has_frame, frame != NULL);
	if (frame != NULL)
		assert_string_equal(talk->said.data, frame);
}

static void
skip_frames(struct talk *talk)
{
	while (gs_session_next_frame(talk->session, &talk->said, talk->now))
		continue;
}

static const struct gs_event *
hear(struct talk *talk, const char *frame)
{
	return gs_session_frame(talk->session, frame, strlen(frame), talk->now);
}

static void
wait_ms(struct talk *talk, int64_t ms)
{
	talk->now.mono_ms += ms;
	talk->now.wall_s = 1800000000 + talk->now.mono_ms / 1000;
	gs_session_tick(talk->session, talk->now);
}

static const struct gs_history_report *
report(const struct talk *talk, size_t i)
{
	return gs_history_get(gs_session_history(talk->session), i);
}

static const struct gs_session_counts *
counts(const struct talk *talk)
{
	return gs_session_counts(talk->session);
}

/* ["EVENT","sub",<a signed event>]; with spoil its signature is wrong. */
static void
write_event(struct gs_buf *frame, const char *sub, unsigned kind, int64_t date,
    bool spoil)
{
	secp256k1_context *secp = sign_context();
	struct gs_event event = GS_EVENT_INIT;
	struct signer signer;

	signer_init(&signer, secp, 1, 2, 3);
	make_event(&event, kind, 1, date, "[]");
	signer_sign(&signer, &event);
	event.sig[5] ^= (uint8_t)spoil;
	gs_buf_clear(frame);
	gs_buf_printf(frame, "[\"EVENT\",\"%s\",", sub);
	gs_event_write(&event, frame);
	gs_buf_add_char(frame, ']');
	gs_event_fini(&event);
	secp256k1_context_destroy(secp);
}

static const struct gs_event *
hear_event(struct talk *talk, const char *sub, unsigned kind, int64_t date, bool spoil)
{
	struct gs_buf frame = GS_BUF_INIT;
	const struct gs_event *event;

	write_event(&frame, sub, kind, date, spoil);
	event = hear(talk, frame.data);
	gs_buf_fini(&frame);
	return event;
}

static void
test_plain_reading(void **state)
{
	struct talk talk = start(1);
	const struct gs_event *event;

	(void)state;
	expect(&talk, NULL);
	gs_session_opened(talk.session, talk.now);
	expect(&talk, "[\"REQ\",\"1\",{\"kinds\":[1],\"limit\":500}]");
	expect(&talk, NULL);
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
	assert_int_equal(gs_session_wish(talk.session), GS_WISH_DONE);
	expect(&talk, "[\"CLOSE\",\"2\"]");
	expect(&talk, NULL);
	assert_int_equal(gs_session_deadline_ms(talk.session), -1);
	assert_int_equal(report(&talk, 0)->end, GS_END_FINISHED);
	assert_int_equal(report(&talk, 0)->fresh, 2);
	assert_int_equal(report(&talk, 0)->duplicate, 1);
	assert_int_equal(counts(&talk)->events, 2);
	finish(&talk);
}

/* Ten REQs of ten filters are open at a time, and no more. */
static void
test_many_filters(void **state)
{
	struct talk talk = start_open(150);

	(void)state;
	for (size_t i = 0; i < 10; i++) {
		gs_buf_clear(&talk.said);
		assert_true(gs_session_next_frame(talk.session, &talk.said, talk.now));
	}
	expect(&talk, NULL);
	(void)hear(&talk, "[\"EOSE\",\"4\"]");
	expect(&talk, "[\"CLOSE\",\"4\"]");
	gs_buf_clear(&talk.said);
	assert_true(gs_session_next_frame(talk.session, &talk.said, talk.now));
	assert_non_null(strstr(talk.said.data, "[\"REQ\",\"11\",{\"kinds\":[101],"));
	expect(&talk, NULL);
	assert_int_equal(report(&talk, 30)->end, GS_END_FINISHED);
	finish(&talk);
}

static void
test_what_is_not_ours(void **state)
{
	struct talk talk = start_open(1);

	(void)state;
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
	assert_int_equal(report(&talk, 0)->end, GS_END_NONE);
	/* The true copy of what came spoiled is still taken. */
	assert_non_null(hear_event(&talk, "1", 1, 100, false));
	(void)hear(&talk, "[\"EOSE\",\"1\"]");
	assert_null(hear_event(&talk, "1", 1, 99, false));
	assert_int_equal(counts(&talk)->late, 1);
	finish(&talk);
}

static void
test_noise(void **state)
{
	struct talk talk = start_open(1);

	(void)state;
	skip_frames(&talk);
	for (size_t i = 0; i < 2000; i++)
		(void)hear(&talk, "[\"EVENT\",\"1\",{}]");
	assert_int_equal(gs_session_wish(talk.session), GS_WISH_GIVE_UP);
	assert_int_equal(report(&talk, 0)->end, GS_END_INCONSISTENT);
	expect(&talk, NULL);
	finish(&talk);
}

static void
test_closed_alone(void **state)
{
	struct talk talk = start_open(1);

	(void)state;
	skip_frames(&talk);
	(void)hear(&talk, "[\"CLOSED\",\"1\",\"ERROR: bad req: unrecognised\\nitem\"]");
	assert_int_equal(report(&talk, 0)->end, GS_END_CLOSED);
	assert_string_equal(report(&talk, 0)->reason, "bad req: unrecognised\\x0aitem");
	assert_int_equal(gs_session_wish(talk.session), GS_WISH_DONE);
	expect(&talk, NULL);
	finish(&talk);
}

/* One filter of several may be to blame: they are asked one by one. */
static void
test_closed_in_company(void **state)
{
	struct talk talk = start_open(2);

	(void)state;
	skip_frames(&talk);
	(void)hear(&talk, "[\"CLOSED\",\"1\",\"blocked: kinds\"]");
	expect(&talk, "[\"REQ\",\"2\",{\"kinds\":[1],\"limit\":500}]");
	expect(&talk, "[\"REQ\",\"3\",{\"kinds\":[2],\"limit\":500}]");
	(void)hear(&talk, "[\"CLOSED\",\"2\",\"blocked: kind 1\"]");
	(void)hear(&talk, "[\"EOSE\",\"3\"]");
	assert_int_equal(report(&talk, 0)->end, GS_END_CLOSED);
	assert_int_equal(report(&talk, 1)->end, GS_END_FINISHED);
	assert_int_equal(gs_session_wish(talk.session), GS_WISH_DONE);
	finish(&talk);
}

/* Not when it is about who we are. */
static void
test_auth_required(void **state)
{
	struct talk talk = start_open(2);

	(void)state;
	skip_frames(&talk);
	(void)hear(&talk, "[\"AUTH\",\"challenge\"]");
	(void)hear(&talk, "[\"CLOSED\",\"1\",\"auth-required: who are you\"]");
	assert_int_equal(report(&talk, 0)->end, GS_END_CLOSED);
	assert_string_equal(report(&talk, 1)->reason, "auth-required: who are you");
	assert_int_equal(gs_session_wish(talk.session), GS_WISH_DONE);
	finish(&talk);
}

/* Some relays answer CLOSE so; that is no refusal. */
static void
test_closed_after_eose(void **state)
{
	struct talk talk = start_open(1);

	(void)state;
	skip_frames(&talk);
	(void)hear(&talk, "[\"EOSE\",\"1\"]");
	(void)hear(&talk, "[\"CLOSED\",\"1\",\"\"]");
	assert_int_equal(report(&talk, 0)->end, GS_END_FINISHED);
	finish(&talk);
}

static void
test_notice_alone(void **state)
{
	struct talk talk = start_open(1);

	(void)state;
	skip_frames(&talk);
	(void)hear(&talk, "[\"NOTICE\",\"could not parse command\"]");
	assert_int_equal(gs_session_deadline_ms(talk.session), talk.now.mono_ms + 2000);
	wait_ms(&talk, 1999);
	assert_int_equal(report(&talk, 0)->end, GS_END_NONE);
	wait_ms(&talk, 1);
	assert_int_equal(report(&talk, 0)->end, GS_END_CLOSED);
	assert_string_equal(report(&talk, 0)->reason, "could not parse command");
	expect(&talk, "[\"CLOSE\",\"1\"]");
	expect(&talk, NULL);
	finish(&talk);
}

/* A welcome is no refusal, and with two requests open nobody knows who is meant. */
static void
test_notice_of_no_consequence(void **state)
{
	struct talk talk = start_open(1);

	(void)state;
	skip_frames(&talk);
	(void)hear(&talk, "[\"NOTICE\",\"welcome\\u0007\"]");
	assert_string_equal(gs_session_notice(talk.session), "welcome\\x07");
	wait_ms(&talk, 1000);
	(void)hear(&talk, "[\"EOSE\",\"1\"]");
	assert_int_equal(report(&talk, 0)->end, GS_END_FINISHED);
	finish(&talk);
	talk = start_open(11);
	skip_frames(&talk);
	(void)hear(&talk, "[\"NOTICE\",\"could not parse command\"]");
	wait_ms(&talk, 5000);
	assert_int_equal(report(&talk, 0)->end, GS_END_NONE);
	(void)hear(&talk, "[\"EOSE\",\"1\"]");
	wait_ms(&talk, SILENCE_MS - 1);
	assert_int_equal(report(&talk, 10)->end, GS_END_NONE);
	wait_ms(&talk, 1);
	assert_int_equal(report(&talk, 0)->end, GS_END_FINISHED);
	assert_int_equal(report(&talk, 10)->end, GS_END_TIMEOUT);
	finish(&talk);
}

/* Chatter does not count as life, and the relay is told that we do not wait. */
static void
test_silence(void **state)
{
	struct talk talk = start_open(1);

	(void)state;
	skip_frames(&talk);
	assert_int_equal(gs_session_deadline_ms(talk.session),
	    talk.now.mono_ms + SILENCE_MS);
	wait_ms(&talk, 20000);
	assert_non_null(hear_event(&talk, "1", 1, 100, false));
	wait_ms(&talk, 20000);
	(void)hear_event(&talk, "1", 1, 100, false);
	(void)hear(&talk, "[\"NOTICE\",\"still here\"]");
	assert_int_equal(report(&talk, 0)->end, GS_END_NONE);
	wait_ms(&talk, 10000);
	assert_int_equal(report(&talk, 0)->end, GS_END_TIMEOUT);
	expect(&talk, "[\"CLOSE\",\"1\"]");
	expect(&talk, NULL);
	assert_int_equal(gs_session_wish(talk.session), GS_WISH_DONE);
	(void)hear(&talk, "[\"EOSE\",\"1\"]");
	assert_int_equal(report(&talk, 0)->end, GS_END_TIMEOUT);
	finish(&talk);
}

/* Silent twice without an EOSE between: nothing more is asked. */
static void
test_silent_relay(void **state)
{
	struct talk talk = start_open(400);

	(void)state;
	skip_frames(&talk);
	wait_ms(&talk, SILENCE_MS);
	assert_int_equal(report(&talk, 99)->end, GS_END_TIMEOUT);
	assert_int_equal(report(&talk, 100)->end, GS_END_NONE);
	expect(&talk, "[\"CLOSE\",\"1\"]");
	skip_frames(&talk);
	wait_ms(&talk, SILENCE_MS);
	assert_int_equal(gs_session_wish(talk.session), GS_WISH_GIVE_UP);
	assert_int_equal(report(&talk, 399)->end, GS_END_TIMEOUT);
	expect(&talk, "[\"CLOSE\",\"11\"]");
	finish(&talk);
}

/* While our own reader is slow, the relay is not to blame. */
static void
test_pause(void **state)
{
	struct talk talk = start_open(1);

	(void)state;
	skip_frames(&talk);
	talk.now.mono_ms += 2 * SILENCE_MS;
	gs_session_paused(talk.session, 2 * SILENCE_MS);
	gs_session_tick(talk.session, talk.now);
	assert_int_equal(report(&talk, 0)->end, GS_END_NONE);
	wait_ms(&talk, SILENCE_MS);
	assert_int_equal(report(&talk, 0)->end, GS_END_TIMEOUT);
	finish(&talk);
}

static void
test_drop(void **state)
{
	struct talk talk = start_open(12);

	(void)state;
	skip_frames(&talk);
	(void)hear(&talk, "[\"EOSE\",\"1\"]");
	assert_int_equal(report(&talk, 0)->end, GS_END_FINISHED);
	gs_session_end(talk.session, GS_END_DROPPED);
	assert_int_equal(gs_session_wish(talk.session), GS_WISH_DONE);
	assert_int_equal(report(&talk, 0)->end, GS_END_FINISHED);
	assert_int_equal(report(&talk, 11)->end, GS_END_DROPPED);
	skip_frames(&talk);
	assert_null(hear_event(&talk, "2", 11, 5, false));
	finish(&talk);
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
		cmocka_unit_test(test_auth_required),
		cmocka_unit_test(test_closed_after_eose),
		cmocka_unit_test(test_notice_alone),
		cmocka_unit_test(test_notice_of_no_consequence),
		cmocka_unit_test(test_silence),
		cmocka_unit_test(test_silent_relay),
		cmocka_unit_test(test_pause),
		cmocka_unit_test(test_drop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
