/* A conversation with a session in virtual time, for its tests. */
#include "transcript.h"

#include "../tools/sign.h"
#include "made.h"

void
chat_init(struct chat *chat, bool once)
{
	*chat = (struct chat){ .options = { .once = once,
				   .silence_ms = SILENCE_MS,
				   .max_backoff_ms = -1,
				   .url = "wss://relay.example" },
		.now = { START_MS, START_S } };
	gs_limits_init(&chat->limits);
}

void
chat_add(struct chat *chat, const char *text)
{
	struct gs_filter filter = GS_FILTER_INIT;

	assert_true(gs_filter_parse(&filter, text, strlen(text), NULL));
	gs_session_add(chat->session, &filter);
}

void
chat_begin(struct chat *chat, size_t num_filters)
{
	chat->session = gs_session_new(&chat->options, &chat->limits, chat->now);
	for (size_t i = 0; i < num_filters; i++) {
		char text[64];

		(void)snprintf(text, sizeof(text), "{\"kinds\":[%zu]}", i + 1);
		chat_add(chat, text);
	}
}

void
chat_open(struct chat *chat, bool once, size_t num_filters)
{
	chat_init(chat, once);
	chat_begin(chat, num_filters);
	connect_chat(chat);
}

void
chat_fini(struct chat *chat)
{
	gs_session_free(chat->session);
	gs_buf_fini(&chat->said);
}

void
connect_chat(struct chat *chat)
{
	gs_session_opened(chat->session, chat->now);
}

void
drop_chat(struct chat *chat)
{
	gs_session_closed(chat->session, chat->now);
}

static bool
next_frame(struct chat *chat)
{
	gs_buf_clear(&chat->said);
	return gs_session_next_frame(chat->session, &chat->said, chat->now);
}

void
expect(struct chat *chat, const char *frame)
{
	assert_true(next_frame(chat));
	assert_string_equal(chat->said.data, frame);
}

void
expect_with(struct chat *chat, const char *text)
{
	assert_true(next_frame(chat));
	if (strstr(chat->said.data, text) == NULL)
		assert_string_equal(chat->said.data, text);
}

void
expect_close(struct chat *chat, unsigned sub)
{
	char frame[32];

	(void)snprintf(frame, sizeof(frame), "[\"CLOSE\",\"%u\"]", sub);
	expect(chat, frame);
}

void
expect_nothing(struct chat *chat)
{
	if (next_frame(chat))
		assert_string_equal(chat->said.data, "");
}

size_t
skip_frames(struct chat *chat)
{
	size_t reqs = 0;

	while (next_frame(chat))
		reqs += memcmp(chat->said.data, "[\"REQ\"", 6) == 0;
	return reqs;
}

const struct gs_event *
hear(struct chat *chat, const char *frame)
{
	return gs_session_frame(chat->session, frame, strlen(frame), chat->now);
}

void
hear_eose(struct chat *chat, unsigned first, unsigned last)
{
	for (; first <= last; first++) {
		char frame[32];

		(void)snprintf(frame, sizeof(frame), "[\"EOSE\",\"%u\"]", first);
		(void)hear(chat, frame);
	}
}

void
hear_closed(struct chat *chat, unsigned sub, const char *reason)
{
	struct gs_buf frame = GS_BUF_INIT;

	gs_buf_printf(&frame, "[\"CLOSED\",\"%u\",\"%s\"]", sub, reason);
	(void)hear(chat, frame.data);
	gs_buf_fini(&frame);
}

const struct gs_event *
hear_event(struct chat *chat, const char *sub, unsigned kind, int64_t date, bool spoil)
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
	heard = hear(chat, frame.data);
	gs_buf_fini(&frame);
	return heard;
}

void
skip_ms(struct chat *chat, int64_t ms)
{
	chat->now.mono_ms += ms;
	chat->now.wall_s = START_S + (chat->now.mono_ms - START_MS) / 1000;
}

static void
tick(struct chat *chat)
{
	int64_t due_ms;

	gs_session_tick(chat->session, chat->now);
	due_ms = gs_session_deadline_ms(chat->session);
	assert_true(due_ms < 0 || due_ms > chat->now.mono_ms);
}

void
wait_ms(struct chat *chat, int64_t ms)
{
	int64_t end_ms = chat->now.mono_ms + ms;

	for (;;) {
		int64_t due_ms = gs_session_deadline_ms(chat->session);

		if (due_ms < 0 || due_ms >= end_ms)
			break;
		if (due_ms > chat->now.mono_ms)
			skip_ms(chat, due_ms - chat->now.mono_ms);
		tick(chat);
	}
	skip_ms(chat, end_ms - chat->now.mono_ms);
	tick(chat);
}

const struct gs_history_report *
report(const struct chat *chat, size_t i)
{
	return gs_history_get(gs_session_history(chat->session), i);
}

const struct gs_session_counts *
counts(const struct chat *chat)
{
	return gs_session_counts(chat->session);
}
