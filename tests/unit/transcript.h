/*
 * A conversation with a session in virtual time, for its tests: what the relay says,
 * what we say.
 */
#ifndef TRANSCRIPT_H
#define TRANSCRIPT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "session.h"

#define SILENCE_MS 30000
#define START_MS 1000
#define START_S INT64_C(1800000000) /* wall time at START_MS */
#define MINUTE_MS (60 * 1000)
#define HOUR_MS (60 * MINUTE_MS)
#define DAY_MS (24 * HOUR_MS)

struct chat {
	struct gs_session_options options;
	struct gs_limits limits;
	struct gs_session *session; /* points to limits: a chat does not move */
	struct gs_buf said;
	struct gs_now now;
};

/* Not connected; filters of kind 1, 2, ... */
void chat_init(struct chat *chat, bool once);
void chat_begin(struct chat *chat, size_t num_filters);
void chat_add(struct chat *chat, const char *filter);
/* All three, and connected. */
void chat_open(struct chat *chat, bool once, size_t num_filters);
void chat_fini(struct chat *chat);

void connect_chat(struct chat *chat);
void drop_chat(struct chat *chat);

/* The next frame that we send is this one, without its brackets; NULL: there is none. */
void expect(struct chat *chat, const char *frame);
/* It has this text in it. */
void expect_with(struct chat *chat, const char *text);
void expect_close(struct chat *chat, unsigned sub);
void expect_nothing(struct chat *chat);
/* Lets all frames go by; how many were REQs. */
size_t skip_frames(struct chat *chat);

const struct gs_event *hear(struct chat *chat, const char *frame);
void hear_eose(struct chat *chat, unsigned first, unsigned last);
void hear_closed(struct chat *chat, unsigned sub, const char *reason);
/* ["EVENT","sub",<a signed event>]; with spoil its signature is wrong. */
const struct gs_event *hear_event(struct chat *chat, const char *sub, unsigned kind,
    int64_t date, bool spoil);

/* Time goes by, with every tick that is due; a tick leaves no deadline behind it. */
void wait_ms(struct chat *chat, int64_t ms);
/* Time goes by on the clock alone. */
void skip_ms(struct chat *chat, int64_t ms);

const struct gs_history_report *report(const struct chat *chat, size_t i);
const struct gs_session_counts *counts(const struct chat *chat);

#define assert_end(chat, i, wanted) assert_int_equal(report((chat), (i))->end, (wanted))
#define assert_wish(chat, wanted) \
	assert_int_equal(gs_session_wish((chat)->session), (wanted))

#endif
