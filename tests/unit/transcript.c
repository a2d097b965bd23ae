/* A conversation with a session in virtual time, for its tests. */
#include "transcript.h"

#include "../tools/sign.h"
#include "made.h"

void
talk_init(struct talk *talk, bool once)
{
	*talk = (struct talk){ .options = { .once = once,
				   .silence_ms = SILENCE_MS,
				   .max_backoff_ms = -1,
				   .url = "wss://relay.example" },
		.now = { START_MS, START_S } };
	gs_limits_init(&talk->limits);
}

void
talk_add(struct talk *talk, const char *text)
{
	struct gs_filter filter = GS_FILTER_INIT;

	assert_true(gs_filter_parse(&filter, text, strlen(text), NULL));
	gs_session_add(talk->session, &filter);
}

void
talk_begin(struct talk *talk, size_t num_filters)
{
	talk->session = gs_session_new(&talk->options, &talk->limits, talk->now);
	for (size_t i = 0; i < num_filters; i++) {
		char text[64];

		(void)snprintf(text, sizeof(text), "{\"kinds\":[%zu]}", i + 1);
		talk_add(talk, text);
	}
}

void
talk_open(struct talk *talk, bool once, size_t num_filters)
{
	talk_init(talk, once);
	talk_begin(talk, num_filters);
	connect_talk(talk);
}

void
talk_fini(struct talk *talk)
{
	gs_session_free(talk->session);
	gs_buf_fini(&talk->said);
}

void
connect_talk(struct talk *talk)
{
	gs_session_opened(talk->session, talk->now);
}

void
drop_talk(struct talk *talk)
{
	gs_session_closed(talk->session, talk->now);
}

static bool
next_frame(struct talk *talk)
{
	gs_buf_clear(&talk->said);
	return gs_session_next_frame(talk->session, &talk->said, talk->now);
}

void
expect(struct talk *talk, const char *frame)
{
	assert_true(next_frame(talk));
	assert_string_equal(talk->said.data, frame);
}

void
expect_with(struct talk *talk, const char *text)
{
	assert_true(next_frame(talk));
	if (strstr(talk->said.data, text) == NULL)
		assert_string_equal(talk->said.data, text);
}

void
expect_close(struct talk *talk, unsigned sub)
{
	char frame[32];

	(void)snprintf(frame, sizeof(frame), "[\"CLOSE\",\"%u\"]", sub);
	expect(talk, frame);
}

void
expect_nothing(struct talk *talk)
{
	if (next_frame(talk))
		assert_string_equal(talk->said.data, "");
}

size_t
skip_frames(struct talk *talk)
{
	size_t reqs = 0;

	while (next_frame(talk))
		reqs += memcmp(talk->said.data, "[\"REQ\"", 6) == 0;
	return reqs;
}

const struct gs_event *
hear(struct talk *talk, const char *frame)
{
	return gs_session_frame(talk->session, frame, strlen(frame), talk->now);
}

void
hear_eose(struct talk *talk, unsigned first, unsigned last)
{
	for (; first <= last; first++) {
		char frame[32];

		(void)snprintf(frame, sizeof(frame), "[\"EOSE\",\"%u\"]", first);
		(void)hear(talk, frame);
	}
}

void
hear_closed(struct talk *talk, unsigned sub, const char *reason)
{
	struct gs_buf frame = GS_BUF_INIT;

	gs_buf_printf(&frame, "[\"CLOSED\",\"%u\",\"%s\"]", sub, reason);
	(void)hear(talk, frame.data);
	gs_buf_fini(&frame);
}

const struct gs_event *
hear_event(struct talk *talk, const char *sub, unsigned kind, int64_t date, bool spoil)
{
	secp256k1_context *secp = sign_context();
	struct gs_event event = GS_EVENT_INIT;
	struct gs_buf frame = GS_BUF_INIT;
	const struct gs_event *heard;
	struct signer signer;

	signer_init(&signer, secp, 1, 2, 3);
	make_event(&event, kind, 1, date, "[]");
	signer_sign(&signer, &event);
	event.sig[5] ^= (uint8_t)spoil;
	gs_buf_printf(&frame, "[\"EVENT\",\"%s\",", sub);
	gs_event_write(&event, &frame);
	gs_buf_add_char(&frame, ']');
	gs_event_fini(&event);
	secp256k1_context_destroy(secp);
	heard = hear(talk, frame.data);
	gs_buf_fini(&frame);
	return heard;
}

void
skip_ms(struct talk *talk, int64_t ms)
{
	talk->now.mono_ms += ms;
	talk->now.wall_s = START_S + (talk->now.mono_ms - START_MS) / 1000;
}

static void
tick(struct talk *talk)
{
	int64_t due_ms;

	gs_session_tick(talk->session, talk->now);
	due_ms = gs_session_deadline_ms(talk->session);
	assert_true(due_ms < 0 || due_ms > talk->now.mono_ms);
}

void
wait_ms(struct talk *talk, int64_t ms)
{
	int64_t end_ms = talk->now.mono_ms + ms;

	for (;;) {
		int64_t due_ms = gs_session_deadline_ms(talk->session);

		if (due_ms < 0 || due_ms >= end_ms)
			break;
		if (due_ms > talk->now.mono_ms)
			skip_ms(talk, due_ms - talk->now.mono_ms);
		tick(talk);
	}
	skip_ms(talk, end_ms - talk->now.mono_ms);
	tick(talk);
}

const struct gs_history_report *
report(const struct talk *talk, size_t i)
{
	return gs_history_get(gs_session_history(talk->session), i);
}

const struct gs_session_counts *
counts(const struct talk *talk)
{
	return gs_session_counts(talk->session);
}
