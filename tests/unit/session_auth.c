/*
 * Telling a relay who we are, in transcripts: only when it asks for that, only with a
 * key, once a challenge.
 */
#include "transcript.h"

#include <sodium.h>
#include <stdio.h>
#include <unistd.h>

#define SECRET "67dea2ed018072d675f5415ecfaed7d2597555e202d85b3d65ea4e58d2d92ffa"
#define HEX_LEN 64

static struct gs_auth *
load_key(void)
{
	char path[] = "/tmp/gs-session-auth.XXXXXX";
	int fd = mkstemp(path);
	struct gs_auth *auth;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, SECRET, strlen(SECRET)), strlen(SECRET));
	assert_int_equal(close(fd), 0);
	auth = gs_auth_load(path, NULL);
	assert_non_null(auth);
	assert_int_equal(unlink(path), 0);
	return auth;
}

static struct gs_auth *
open_with_key(struct talk *talk, bool once, size_t num_filters)
{
	struct gs_auth *auth = load_key();

	talk_init(talk, once);
	talk->options.auth = auth;
	talk_begin(talk, num_filters);
	connect_talk(talk);
	return auth;
}

/* We have just said who we are: the relay's word on it. */
static void
answer_login(struct talk *talk, bool accepted)
{
	const char *id = strstr(talk->said.data, "{\"id\":\"");
	struct gs_buf frame = GS_BUF_INIT;

	assert_non_null(id);
	gs_buf_printf(&frame, "[\"OK\",\"%.*s\",%s,\"\"]", HEX_LEN, id + 7,
	    accepted ? "true" : "false");
	(void)hear(talk, frame.data);
	gs_buf_fini(&frame);
}

static void
test_login(void **state)
{
	struct talk talk;
	struct gs_auth *auth = open_with_key(&talk, true, 1);

	(void)state;
	(void)hear(&talk, "[\"AUTH\",\"a\\\"b\"]");
	/* Nobody has asked for it yet. */
	assert_int_equal(skip_frames(&talk), 1);
	hear_closed(&talk, 1, "auth-required: we only serve members");
	expect_with(&talk, "[\"challenge\",\"a\\\"b\"]");
	assert_non_null(strstr(talk.said.data, "[\"relay\",\"wss://relay.example\"]"));
	assert_non_null(strstr(talk.said.data, "\"created_at\":1800000000,"));
	answer_login(&talk, true);
	expect(&talk, "[\"REQ\",\"2\",{\"kinds\":[1],\"limit\":500}]");
	/* It knows us and still won't: that is that. */
	hear_closed(&talk, 2, "auth-required: more than that");
	assert_end(&talk, 0, GS_END_CLOSED);
	assert_wish(&talk, GS_WISH_DONE);
	talk_fini(&talk);
	gs_auth_free(auth);
}

/* Several are refused at a time; the challenge may come after the refusals. */
static void
test_login_for_many(void **state)
{
	struct talk talk;
	struct gs_auth *auth = open_with_key(&talk, false, 20);

	(void)state;
	assert_int_equal(skip_frames(&talk), 4);
	hear_closed(&talk, 1, "auth-required: x");
	hear_closed(&talk, 3, "auth-required: x");
	expect_nothing(&talk);
	(void)hear(&talk, "[\"AUTH\",\"abc\"]");
	expect_with(&talk, "[\"AUTH\",");
	/* Asked before it knew us. */
	hear_closed(&talk, 2, "auth-required: x");
	answer_login(&talk, true);
	hear_closed(&talk, 4, "auth-required: x");
	assert_int_equal(skip_frames(&talk), 4);
	hear_eose(&talk, 5, 8);
	assert_int_equal(gs_session_filters(talk.session).live, 20);
	talk_fini(&talk);
	gs_auth_free(auth);
}

static void
test_login_refused(void **state)
{
	struct talk talk;
	struct gs_auth *auth = open_with_key(&talk, true, 1);

	(void)state;
	(void)hear(&talk, "[\"AUTH\",\"abc\"]");
	skip_frames(&talk);
	hear_closed(&talk, 1, "auth-required: x");
	expect_with(&talk, "[\"AUTH\",");
	/* An OK for something else. */
	(void)hear(&talk,
	    "[\"OK\","
	    "\"0000000000000000000000000000000000000000000000000000000000000000\",true,"
	    "\"\"]");
	assert_int_equal(counts(&talk)->junk, 1);
	answer_login(&talk, false);
	assert_int_equal(skip_frames(&talk), 1);
	hear_closed(&talk, 2, "auth-required: x");
	assert_end(&talk, 0, GS_END_CLOSED);
	assert_string_equal(report(&talk, 0)->reason, "auth-required: x");
	talk_fini(&talk);
	gs_auth_free(auth);
}

/* No challenge, or no OK: silence ends it. */
static void
test_login_unanswered(void **state)
{
	struct talk talk;
	struct gs_auth *auth = open_with_key(&talk, true, 1);

	(void)state;
	skip_frames(&talk);
	hear_closed(&talk, 1, "auth-required: x");
	expect_nothing(&talk);
	assert_int_equal(gs_session_deadline_ms(talk.session),
	    talk.now.mono_ms + SILENCE_MS);
	wait_ms(&talk, SILENCE_MS);
	assert_int_equal(skip_frames(&talk), 1);
	hear_closed(&talk, 2, "auth-required: x");
	assert_wish(&talk, GS_WISH_DONE);
	talk_fini(&talk);
	gs_auth_free(auth);
}

/* A relay that challenges anew each time never has enough. */
static void
test_login_for_ever(void **state)
{
	struct talk talk;
	struct gs_auth *auth = open_with_key(&talk, true, 1);
	unsigned sub = 0, logins = 0;

	(void)state;
	while (gs_session_wish(talk.session) == GS_WISH_GOES_ON) {
		(void)hear(&talk, "[\"AUTH\",\"abc\"]");
		assert_int_equal(skip_frames(&talk), 1);
		hear_closed(&talk, ++sub, "auth-required: x");
		gs_buf_clear(&talk.said);
		if (!gs_session_next_frame(talk.session, &talk.said, talk.now))
			continue;
		logins++;
		answer_login(&talk, true);
	}
	assert_int_equal(logins, 3);
	talk_fini(&talk);
	gs_auth_free(auth);
}

static void
test_long_challenge(void **state)
{
	struct gs_buf frame = GS_BUF_INIT;
	struct talk talk;
	struct gs_auth *auth = open_with_key(&talk, true, 1);

	(void)state;
	for (size_t len = 1024; len <= 3000; len += 1000) {
		gs_buf_clear(&frame);
		gs_buf_printf(&frame, "[\"AUTH\",\"%0*d\"]", (int)len, 7);
		(void)hear(&talk, frame.data);
	}
	assert_int_equal(counts(&talk)->junk, 1);
	gs_buf_fini(&frame);
	talk_fini(&talk);
	gs_auth_free(auth);
}

/* Without a key: a filter may be refused alone, and is asked for alone. */
static void
test_no_key(void **state)
{
	struct talk talk;

	(void)state;
	talk_open(&talk, true, 2);
	skip_frames(&talk);
	(void)hear(&talk, "[\"AUTH\",\"abc\"]");
	hear_closed(&talk, 1, "auth-required: for kind 2");
	expect_with(&talk, "[\"REQ\",\"2\",{\"kinds\":[1],");
	expect_with(&talk, "[\"REQ\",\"3\",{\"kinds\":[2],");
	hear_closed(&talk, 3, "auth-required: for kind 2");
	hear_eose(&talk, 2, 2);
	assert_end(&talk, 0, GS_END_FINISHED);
	assert_string_equal(report(&talk, 1)->reason, "auth-required: for kind 2");
	assert_wish(&talk, GS_WISH_DONE);
	talk_fini(&talk);
}

/* Each connection has its own. */
static void
test_login_again(void **state)
{
	struct talk talk;
	struct gs_auth *auth = open_with_key(&talk, false, 1);

	(void)state;
	for (unsigned sub = 1; sub < 9; sub += 4) {
		(void)hear(&talk, "[\"AUTH\",\"abc\"]");
		assert_int_equal(skip_frames(&talk), 2);
		hear_closed(&talk, sub, "auth-required: x");
		hear_closed(&talk, sub + 1, "auth-required: x");
		expect_with(&talk, "[\"AUTH\",");
		answer_login(&talk, true);
		assert_int_equal(skip_frames(&talk), 2);
		drop_talk(&talk);
		connect_talk(&talk);
	}
	talk_fini(&talk);
	gs_auth_free(auth);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_login),
		cmocka_unit_test(test_login_for_many),
		cmocka_unit_test(test_login_refused),
		cmocka_unit_test(test_login_unanswered),
		cmocka_unit_test(test_login_for_ever),
		cmocka_unit_test(test_long_challenge),
		cmocka_unit_test(test_no_key),
		cmocka_unit_test(test_login_again),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
