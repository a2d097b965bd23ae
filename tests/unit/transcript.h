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

struct talk {
	struct gs_session_options options;
	struct gs_limits limits;
	struct gs_session *session; /* points to limits: a talk does not move */
	struct gs_buf said;
	struct gs_now now;
};

/* Not connected; filters of kind 1, 2, ... */
void talk_init(struct talk *talk, bool once);
void talk_begin(struct talk *talk, size_t num_filters);
void talk_add(struct talk *talk, const char *filter);
/* All three, and connected. */
void talk_open(struct talk *talk, bool once, size_t num_filters);
void talk_fini(struct talk *talk);

void connect_talk(struct talk *talk);
void drop_talk(struct talk *talk);

/* The next frame that we send is this one, without its brackets; NULL: there is none. */
void expect(struct talk *talk, const char *frame);
/* It has this text in it. */
void expect_with(struct talk *talk, const char *text);
void expect_close(struct talk *talk, unsigned sub);
void expect_nothing(struct talk *talk);
/* Lets all frames go by; how many were REQs. */
size_t skip_frames(struct talk *talk);

const struct gs_event *hear(struct talk *talk, const char *frame);
void hear_eose(struct talk *talk, unsigned first, unsigned last);
void hear_closed(struct talk *talk, unsigned sub, const char *reason);
/* ["EVENT","sub",<a signed event>]; with spoil its signature is wrong. */
const struct gs_event *hear_event(struct talk *talk, const char *sub, unsigned kind,
    int64_t date, bool spoil);

/* Time goes by, with every tick that is due; a tick leaves no deadline behind it. */
void wait_ms(struct talk *talk, int64_t ms);
/* Time goes by on the clock alone. */
void skip_ms(struct talk *talk, int64_t ms);

const struct gs_history_report *report(const struct talk *talk, size_t i);
const struct gs_session_counts *counts(const struct talk *talk);

#define assert_end(talk, i, wanted) assert_int_equal(report((talk), (i))->end, (wanted))
#define assert_wish(talk, wanted) \
	assert_int_equal(gs_session_wish((talk)->session), (wanted))

#endif
