/*
 * The conversation with one relay: connections, subscriptions, what each frame is
 * for, and the ends.  The parts are listed in session_private.h; what is asked of a
 * filter, and what an answer proves, is history's.
 */
#include "session.h"

#include <stdlib.h>
#include <string.h>

#include "mem.h"
#include "session_private.h"

#define MAX_SILENCES 2	  /* in a row: DESIGN 3 */
#define NOISE_FRAMES 1000 /* so many useless frames are let pass ... */
#define NOISE_RATIO 10	  /* ... and beyond that so many for each event */

struct gs_session *
gs_session_new(const struct gs_session_options *options, struct gs_limits *limits,
    struct gs_now now)
{
	struct gs_session *session = gs_mem_new(sizeof(*session));

	session->options = *options;
	session->limits = limits;
	session->history = gs_history_new(limits);
	session->live = gs_live_new(limits, options->max_backoff_ms);
	if (options->undated)
		gs_live_set_undated(session->live);
	session->handed = gs_recent_new(options->once ? 0
		: options->remembered > 0	      ? options->remembered
						      : GS_SESSION_REMEMBERED);
	session->reads.read_until_s = session->reads.last_full_s = -1;
	session->reads.resumed_s = -1;
	session->reads.retry_due_ms = session->reads.full_due_ms = -1;
	session->rate = (struct gs_retry)GS_RETRY_INIT;
	session->rated_ms = session->useful_ms = now.mono_ms;
	gs_refusal_begin(session);
	return session;
}

void
gs_session_free(struct gs_session *session)
{
	if (session == NULL)
		return;
	gs_buf_fini(&session->challenge);
	gs_buf_fini(&session->notice_raw);
	gs_buf_fini(&session->notice);
	gs_buf_fini(&session->closes);
	gs_buf_fini(&session->scratch);
	gs_event_fini(&session->event);
	gs_recent_free(session->handed);
	free(session->restored);
	gs_reads_fini(&session->reads);
	gs_live_free(session->live);
	gs_history_free(session->history);
	free(session);
}

/* Also for what was added before, unless it is told how far that was read. */
void
gs_session_resume(struct gs_session *session, int64_t read_until_s, int64_t last_full_s)
{
	struct gs_reads *reads = &session->reads;

	reads->read_until_s = reads->resumed_s = read_until_s;
	reads->last_full_s = last_full_s;
	for (size_t i = 0; i < reads->num; i++) {
		struct gs_read_item *item = &reads->items[i];

		if (item->owed_s != GS_OWES_NOTHING)
			continue;
		item->covered_s = read_until_s;
		item->full_s = last_full_s;
	}
}

struct gs_sub *
gs_sub_find(struct gs_session *session, struct gs_json_value name)
{
	for (size_t i = 0; i < GS_SUBS_MAX; i++) {
		struct gs_sub *sub = &session->subs[i];

		if ((sub->request != NULL || sub->live != NULL) &&
		    gs_json_is(name, sub->name))
			return sub;
	}
	return NULL;
}

struct gs_sub *
gs_sub_find_free(struct gs_session *session)
{
	if (session->num_subs >= session->limits->subscriptions)
		return NULL;
	for (size_t i = 0; i < GS_SUBS_MAX; i++)
		if (session->subs[i].request == NULL && session->subs[i].live == NULL)
			return &session->subs[i];
	return NULL;
}

bool
gs_sub_is_waiting(const struct gs_sub *sub)
{
	return sub->request != NULL || (sub->live != NULL && !sub->is_answered);
}

void
gs_sub_open(struct gs_session *session, struct gs_sub *sub, struct gs_now now)
{
	if (!gs_session_is_waiting(session))
		session->useful_ms = now.mono_ms;
	session->num_unanswered++;
	session->last_sub++;
	sub->num_open = ++session->num_subs;
	sub->is_authed = session->login == GS_LOGIN_ACCEPTED;
}

void
gs_sub_note_answered(struct gs_session *session, struct gs_sub *sub)
{
	if (gs_sub_is_waiting(sub))
		session->num_unanswered--;
	sub->is_answered = true;
	if (session->noticed == sub)
		session->noticed = NULL;
}

void
gs_sub_free(struct gs_session *session, struct gs_sub *sub, bool tell)
{
	if (tell)
		gs_buf_add(&session->closes, sub->name, strlen(sub->name) + 1);
	gs_sub_note_answered(session, sub);
	*sub = (struct gs_sub){ .request = NULL };
	session->num_subs--;
}

void
gs_sub_retract(struct gs_session *session, struct gs_sub *sub, bool tell,
    struct gs_now now)
{
	if (sub->live != NULL)
		gs_live_end(session->live, sub->live, GS_LIVE_AGAIN, now);
	else
		gs_history_retract(sub->request);
	session->reads.is_stale = true;
	gs_sub_free(session, sub, tell);
}

bool
gs_session_is_waiting(const struct gs_session *session)
{
	return session->num_unanswered > 0 || gs_login_is_pending(session);
}

void
gs_session_note_useful(struct gs_session *session, const struct gs_sub *sub,
    struct gs_now now)
{
	session->useful_ms = now.mono_ms;
	if (sub != NULL && session->noticed == sub)
		session->noticed = NULL;
}

/* Two are kept for histories and polls, one if there are few: DESIGN 3. */
size_t
gs_session_live_places(const struct gs_session *session)
{
	const size_t few = 3;
	size_t all = session->limits->subscriptions;
	size_t kept = all <= few ? 1 : 2;

	if (session->options.once || all < kept)
		return 0;
	return (all < GS_SUBS_MAX ? all : GS_SUBS_MAX) - kept;
}

static void
forget_subs(struct gs_session *session)
{
	memset(session->subs, 0, sizeof(session->subs));
	session->num_subs = session->num_unanswered = 0;
	session->noticed = NULL;
}

/* Every filter without an end gets this one; nothing is asked any more. */
static void
end_session(struct gs_session *session, enum gs_session_wish wish, enum gs_end end)
{
	session->wish = wish;
	gs_history_abort(session->history, end);
	forget_subs(session);
}

void
gs_session_end(struct gs_session *session, enum gs_end end)
{
	if (session->wish == GS_WISH_GOES_ON || session->wish == GS_WISH_HANG_UP)
		end_session(session, GS_WISH_DONE, end);
}

void
gs_session_leave(struct gs_session *session, enum gs_session_fault fault, enum gs_end end)
{
	session->fault = fault;
	if (session->options.once)
		end_session(session, GS_WISH_GIVE_UP, end);
	else
		session->wish = GS_WISH_HANG_UP;
}

static void
end_if_done(struct gs_session *session)
{
	if (session->wish == GS_WISH_GOES_ON && session->options.once &&
	    session->reads.was_open && gs_history_num_left(session->history) == 0)
		session->wish = GS_WISH_DONE;
}

static void
take_eose(struct gs_session *session, const struct gs_message *message, struct gs_now now)
{
	struct gs_sub *sub = gs_sub_find(session, message->sub);

	if (sub == NULL || sub->is_answered) {
		gs_session_count_unopened(session, message->sub);
		return;
	}
	gs_session_note_useful(session, sub, now);
	session->silences = 0;
	session->had_eose = true;
	if (sub->live != NULL) {
		gs_live_eose(session->live, sub->live);
		gs_sub_note_answered(session, sub);
		session->reads.is_stale = true;
		return;
	}
	gs_history_eose(session->history, sub->request, message->is_finish);
	gs_sub_free(session, sub, true);
	gs_reads_settle(session, now);
}

static const struct gs_event *
take_message(struct gs_session *session, const struct gs_message *message,
    struct gs_now now)
{
	switch (message->type) {
	case GS_MESSAGE_EVENT:
		return gs_session_take_event(session, message, now);
	case GS_MESSAGE_EOSE:
		take_eose(session, message, now);
		break;
	case GS_MESSAGE_CLOSED:
		gs_session_take_closed(session, message, now);
		break;
	case GS_MESSAGE_NOTICE:
		gs_session_take_notice(session, message, now);
		break;
	case GS_MESSAGE_OK:
		gs_login_take_ok(session, message, now);
		break;
	case GS_MESSAGE_AUTH:
		gs_login_take_challenge(session, message, now);
		break;
	case GS_MESSAGE_JUNK:
		session->counts.junk++;
		session->noise++;
		break;
	}
	return NULL;
}

static void
leave_if_noisy(struct gs_session *session)
{
	if (session->wish == GS_WISH_GOES_ON &&
	    session->noise > NOISE_FRAMES + NOISE_RATIO * session->worth)
		gs_session_leave(session, GS_FAULT_NOISY, GS_END_INCONSISTENT);
}

const struct gs_event *
gs_session_frame(struct gs_session *session, const char *text, size_t len,
    struct gs_now now)
{
	const struct gs_event *event;
	struct gs_message message;

	session->counts.frames++;
	if (session->wish != GS_WISH_GOES_ON || !session->is_open)
		return NULL;
	(void)gs_message_parse(&message, text, len);
	event = take_message(session, &message, now);
	gs_refusal_note_frame(session, now);
	gs_reads_note_alive(session, now);
	leave_if_noisy(session);
	end_if_done(session);
	return event;
}

void
gs_session_pong(struct gs_session *session, struct gs_now now)
{
	if (session->is_open && session->wish == GS_WISH_GOES_ON)
		gs_reads_note_alive(session, now);
}

void
gs_session_opened(struct gs_session *session, struct gs_now now)
{
	if (session->wish != GS_WISH_GOES_ON)
		return;
	session->is_open = true;
	session->had_eose = false;
	session->fault = GS_FAULT_NONE;
	session->noise = session->worth = 0;
	session->silences = 0;
	session->useful_ms = now.mono_ms;
	gs_refusal_begin(session);
	gs_login_begin(session);
	gs_live_begin(session->live, now);
	gs_reads_begin(session, now);
	end_if_done(session);
}

/* What was not answered is asked again on the next connection. */
static void
drop_sub(struct gs_session *session, struct gs_sub *sub, struct gs_now now)
{
	if (sub->request == NULL)
		return;
	if (gs_refusal_may_retry(session, sub->request))
		gs_history_retract(sub->request);
	else
		gs_history_fail(session->history, sub->request, GS_END_DROPPED,
		    GS_STR(""));
	gs_reads_settle(session, now);
}

void
gs_session_closed(struct gs_session *session, struct gs_now now)
{
	if (!session->is_open)
		return;
	session->is_open = false;
	gs_buf_clear(&session->closes);
	for (size_t i = 0; i < GS_SUBS_MAX; i++)
		drop_sub(session, &session->subs[i], now);
	forget_subs(session);
	gs_live_begin(session->live, now);
	session->reads.is_stale = true;
	if (session->wish == GS_WISH_HANG_UP)
		session->wish = GS_WISH_GOES_ON;
	end_if_done(session);
}

void
gs_session_paused(struct gs_session *session, int64_t for_ms)
{
	session->useful_ms += for_ms;
	session->notice_due_ms += for_ms;
	if (session->hold_due_ms >= 0) {
		session->hold_due_ms += for_ms;
		session->hold_until_ms += for_ms;
	}
}

static void
end_silence(struct gs_session *session, struct gs_now now)
{
	for (size_t i = 0; i < GS_SUBS_MAX; i++)
		if (gs_sub_is_waiting(&session->subs[i]))
			gs_refusal_time_out(session, &session->subs[i], now);
	gs_login_time_out(session);
	session->useful_ms = now.mono_ms;
	session->silences++;
	end_if_done(session);
	if (session->wish == GS_WISH_GOES_ON && session->silences >= MAX_SILENCES)
		gs_session_leave(session, GS_FAULT_SILENT, GS_END_TIMEOUT);
}

static int64_t
silence_due_ms(const struct gs_session *session)
{
	return session->useful_ms + session->options.silence_ms;
}

void
gs_session_tick(struct gs_session *session, struct gs_now now)
{
	if (session->wish != GS_WISH_GOES_ON || !session->is_open)
		return;
	gs_refusal_tick(session, now);
	if (gs_session_is_waiting(session) && now.mono_ms >= silence_due_ms(session))
		end_silence(session, now);
	if (session->wish == GS_WISH_GOES_ON && !session->options.once) {
		gs_live_tick(session->live, now);
		gs_reads_tick(session, now);
	}
	end_if_done(session);
}

int64_t
gs_session_deadline_ms(const struct gs_session *session)
{
	int64_t due_ms;

	if (session->wish != GS_WISH_GOES_ON || !session->is_open)
		return -1;
	due_ms = gs_retry_earlier(gs_refusal_deadline_ms(session),
	    gs_reads_deadline_ms(session));
	if (gs_session_is_waiting(session))
		due_ms = gs_retry_earlier(due_ms, silence_due_ms(session));
	return session->options.once
	    ? due_ms
	    : gs_retry_earlier(due_ms, gs_live_deadline_ms(session->live));
}
