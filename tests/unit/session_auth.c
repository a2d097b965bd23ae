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
open_with_key(struct chat *chat, bool once, size_t num_filters)
{
	struct gs_auth *auth = load_key();

	chat_init(chat, once);
	chat->options.auth = auth;
	chat_begin(chat, num_filters);
	connect_chat(chat);
	return auth;
}

/* We have just said who we are: the relay's word on it. */
static void
answer_login(struct chat *chat, bool accepted)
{
	const char *id = strstr(chat->said.data, "{\"id\":\"");
	struct gs_buf frame = GS_BUF_INIT;

	assert_non_null(id);
	gs_buf_printf(&frame, "[\"OK\",\"%.*s\",%s,\"\"]", HEX_LEN, id + 7,
	    accepted ? "true" : "false");
	(void)hear(chat, frame.data);
	gs_buf_fini(&frame);
}

static void
test_login(void **state)
{
	struct chat chat;
	struct gs_auth *auth = open_with_key(&chat, true, 1);

	(void)state;
	(void)hear(&chat, "[\"AUTH\",\"a\\\"b\"]");
	/* Nobody has asked for it yet. */
	assert_int_equal(skip_frames(&chat), 1);
	hear_closed(&chat, 1, "auth-required: we only serve members");
	expect_with(&chat, "[\"challenge\",\"a\\\"b\"]");
	assert_non_null(strstr(chat.said.data, "[\"relay\",\"wss://relay.example\"]"));
	assert_non_null(strstr(chat.said.data, "\"created_at\":1800000000,"));
	answer_login(&chat, true);
	expect(&chat, "[\"REQ\",\"2\",{\"kinds\":[1],\"limit\":500}]");
	/* It knows us and still won't: that is that. */
	hear_closed(&chat, 2, "auth-required: more than that");
	assert_end(&chat, 0, GS_END_CLOSED);
	assert_wish(&chat, GS_WISH_DONE);
	chat_fini(&chat);
	gs_auth_free(auth);
}

/* Several are refused at a time; the challenge may come after the refusals. */
static void
test_login_for_many(void **state)
{
	struct chat chat;
	struct gs_auth *auth = open_with_key(&chat, false, 20);

	(void)state;
	assert_int_equal(skip_frames(&chat), 4);
	hear_closed(&chat, 1, "auth-required: x");
	hear_closed(&chat, 3, "auth-required: x");
	expect_nothing(&chat);
	(void)hear(&chat, "[\"AUTH\",\"abc\"]");
	expect_with(&chat, "[\"AUTH\",");
	/* Asked before it knew us. */
	hear_closed(&chat, 2, "auth-required: x");
	answer_login(&chat, true);
	hear_closed(&chat, 4, "auth-required: x");
	assert_int_equal(skip_frames(&chat), 4);
	hear_eose(&chat, 5, 8);
	assert_int_equal(gs_session_filters(chat.session).live, 20);
	chat_fini(&chat);
	gs_auth_free(auth);
}

static void
test_login_refused(void **state)
{
	struct chat chat;
	struct gs_auth *auth = open_with_key(&chat, true, 1);

	(void)state;
	(void)hear(&chat, "[\"AUTH\",\"abc\"]");
	skip_frames(&chat);
	hear_closed(&chat, 1, "auth-required: x");
	expect_with(&chat, "[\"AUTH\",");
	/* An OK for something else. */
	(void)hear(&chat,
	    "[\"OK\","
	    "\"0000000000000000000000000000000000000000000000000000000000000000\",true,"
	    "\"\"]");
	assert_int_equal(counts(&chat)->junk, 1);
	answer_login(&chat, false);
	assert_int_equal(skip_frames(&chat), 1);
	hear_closed(&chat, 2, "auth-required: x");
	assert_end(&chat, 0, GS_END_CLOSED);
	assert_string_equal(report(&chat, 0)->reason, "auth-required: x");
	chat_fini(&chat);
	gs_auth_free(auth);
}

/* No challenge, or no OK: silence ends it. */
static void
test_login_unanswered(void **state)
{
	struct chat chat;
	struct gs_auth *auth = open_with_key(&chat, true, 1);

	(void)state;
	skip_frames(&chat);
	hear_closed(&chat, 1, "auth-required: x");
	expect_nothing(&chat);
	assert_int_equal(gs_session_deadline_ms(chat.session),
	    chat.now.mono_ms + SILENCE_MS);
	wait_ms(&chat, SILENCE_MS);
	assert_int_equal(skip_frames(&chat), 1);
	hear_closed(&chat, 2, "auth-required: x");
	assert_wish(&chat, GS_WISH_DONE);
	chat_fini(&chat);
	gs_auth_free(auth);
}

/* A relay that challenges anew each time never has enough. */
static void
test_login_for_ever(void **state)
{
	struct chat chat;
	struct gs_auth *auth = open_with_key(&chat, true, 1);
	unsigned sub = 0, logins = 0;

	(void)state;
	while (gs_session_wish(chat.session) == GS_WISH_GOES_ON) {
		(void)hear(&chat, "[\"AUTH\",\"abc\"]");
		assert_int_equal(skip_frames(&chat), 1);
		hear_closed(&chat, ++sub, "auth-required: x");
		gs_buf_clear(&chat.said);
		if (!gs_session_next_frame(chat.session, &chat.said, chat.now))
			continue;
		logins++;
		answer_login(&chat, true);
	}
	assert_int_equal(logins, 3);
	chat_fini(&chat);
	gs_auth_free(auth);
}

static void
test_long_challenge(void **state)
{
	struct gs_buf frame = GS_BUF_INIT;
	struct chat chat;
	struct gs_auth *auth = open_with_key(&chat, true, 1);

	(void)state;
	for (size_t len = 1024; len <= 3000; len += 1000) {
		gs_buf_clear(&frame);
		gs_buf_printf(&frame, "[\"AUTH\",\"%0*d\"]", (int)len, 7);
		(void)hear(&chat, frame.data);
	}
	assert_int_equal(counts(&chat)->junk, 1);
	gs_buf_fini(&frame);
	chat_fini(&chat);
	gs_auth_free(auth);
}

/* Without a key: a filter may be refused alone, and is asked for alone. */
static void
test_no_key(void **state)
{
	struct chat chat;

	(void)state;
	chat_open(&chat, true, 2);
	skip_frames(&chat);
	(void)hear(&chat, "[\"AUTH\",\"abc\"]");
	hear_closed(&chat, 1, "auth-required: for kind 2");
	expect_with(&chat, "[\"REQ\",\"2\",{\"kinds\":[1],");
	expect_with(&chat, "[\"REQ\",\"3\",{\"kinds\":[2],");
	hear_closed(&chat, 3, "auth-required: for kind 2");
	hear_eose(&chat, 2, 2);
	assert_end(&chat, 0, GS_END_FINISHED);
	assert_string_equal(report(&chat, 1)->reason, "auth-required: for kind 2");
	assert_wish(&chat, GS_WISH_DONE);
	chat_fini(&chat);
}

/* Each connection has its own. */
static void
test_login_again(void **state)
{
	struct chat chat;
	struct gs_auth *auth = open_with_key(&chat, false, 1);

	(void)state;
	for (unsigned sub = 1; sub < 9; sub += 4) {
		(void)hear(&chat, "[\"AUTH\",\"abc\"]");
		assert_int_equal(skip_frames(&chat), 2);
		hear_closed(&chat, sub, "auth-required: x");
		hear_closed(&chat, sub + 1, "auth-required: x");
		expect_with(&chat, "[\"AUTH\",");
		answer_login(&chat, true);
		assert_int_equal(skip_frames(&chat), 2);
		drop_chat(&chat);
		connect_chat(&chat);
	}
	chat_fini(&chat);
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
