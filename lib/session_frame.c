/*
 * What to send next: what is over is CLOSEd, then we say who we are, then live
 * subscriptions are opened, then histories are read.  And what the owner may ask.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "session_private.h"

#define KEPT_BYTES 8192 /* of what an event or a text took; most are smaller */

static bool
next_close(struct gs_session *session, struct gs_buf *frame)
{
	struct gs_buf *closes = &session->closes;
	size_t len;

	if (closes->len == 0)
		return false;
	gs_message_write_close(frame, closes->data);
	len = strlen(closes->data) + 1;
	memmove(closes->data, closes->data + len, closes->len - len);
	gs_buf_cut(closes, closes->len - len);
	return true;
}

/* What it missed while it was closed. */
static void
owe_gaps(struct gs_session *session, const struct gs_live_sub *live, struct gs_now now)
{
	for (size_t at = 0; at < gs_live_sub_count(live); at++) {
		size_t i = gs_live_sub_item(live, at);
		int64_t gap_s = gs_live_take_gap(session->live, i, now);

		if (gap_s >= 0)
			gs_reads_owe(session, i, gap_s, now);
	}
	gs_reads_settle(session, now);
}

static bool
open_live(struct gs_session *session, struct gs_sub *sub, struct gs_buf *frame,
    struct gs_now now)
{
	if (session->options.once || !gs_live_has_wanted(session->live))
		return false;
	session->reads.is_stale = true;
	if (gs_live_num_open(session->live) >= gs_session_live_places(session)) {
		gs_live_poll_wanted(session->live);
		return false;
	}
	sub->live = gs_live_ask(session->live, sub->name, frame, now);
	if (sub->live == NULL)
		return false;
	sub->num_filters = gs_live_sub_count(sub->live);
	owe_gaps(session, sub->live, now);
	return true;
}

static bool
open_history(struct gs_session *session, struct gs_sub *sub, struct gs_buf *frame)
{
	sub->request = gs_history_ask(session->history, sub->name, frame);
	if (sub->request == NULL)
		return false;
	sub->num_filters = gs_request_count(sub->request);
	sub->limit = gs_request_limit(sub->request);
	return true;
}

static bool
next_req(struct gs_session *session, struct gs_buf *frame, struct gs_now now)
{
	size_t before = frame->len;
	struct gs_sub *sub;

	if (gs_refusal_forbids(session) || gs_login_is_pending(session))
		return false;
	sub = gs_sub_find_free(session);
	if (sub == NULL)
		return false;
	(void)snprintf(sub->name, sizeof(sub->name), "%" PRIu64, session->last_sub + 1);
	if (!open_live(session, sub, frame, now) && !open_history(session, sub, frame))
		return false;
	sub->bytes = frame->len - before;
	gs_sub_open(session, sub, now);
	return true;
}

static void
release_buf(struct gs_buf *buf)
{
	if (buf->cap > KEPT_BYTES)
		gs_buf_fini(buf);
}

/* There are many sessions, and each may see something large once. */
static void
release_memory(struct gs_session *session)
{
	struct gs_event *event = &session->event;

	release_buf(&session->scratch);
	if (session->noticed == NULL && session->hold_due_ms < 0)
		release_buf(&session->notice_raw);
	if (event->text.cap + event->cap_values * sizeof(*event->values) +
		event->cap_tags * sizeof(*event->tags) <=
	    KEPT_BYTES)
		return;
	gs_event_fini(event);
	*event = (struct gs_event)GS_EVENT_INIT;
}

bool
gs_session_next_frame(struct gs_session *session, struct gs_buf *frame, struct gs_now now)
{
	release_memory(session);
	if (!session->is_open)
		return false;
	gs_reads_settle(session, now);
	if (next_close(session, frame))
		return true;
	return session->wish == GS_WISH_GOES_ON &&
	    (gs_login_next_frame(session, frame, now) || next_req(session, frame, now));
}

enum gs_session_wish
gs_session_wish(const struct gs_session *session)
{
	return session->wish;
}

enum gs_session_fault
gs_session_fault(const struct gs_session *session)
{
	return session->fault;
}

bool
gs_session_had_eose(const struct gs_session *session)
{
	return session->had_eose;
}

int64_t
gs_session_read_until_s(const struct gs_session *session)
{
	return session->reads.read_until_s;
}

int64_t
gs_session_last_full_s(const struct gs_session *session)
{
	return session->reads.last_full_s;
}

struct gs_session_filters
gs_session_filters(const struct gs_session *session)
{
	struct gs_session_filters filters = { 0, 0, 0, 0 };

	if (session->options.once)
		return filters;
	filters.live = gs_live_num_in(session->live, GS_LIVE_OPEN);
	filters.polled = gs_live_num_in(session->live, GS_LIVE_POLLED);
	if (session->rate.due_ms >= 0)
		filters.held = gs_history_num_left(session->history);
	for (size_t i = 0; i < session->reads.num; i++)
		filters.failed += session->reads.items[i].retry.due_ms >= 0 ||
		    gs_live_state(session->live, i) == GS_LIVE_WAITING;
	return filters;
}

const struct gs_history *
gs_session_history(const struct gs_session *session)
{
	return session->history;
}

const struct gs_session_counts *
gs_session_counts(const struct gs_session *session)
{
	return &session->counts;
}

const char *
gs_session_notice(const struct gs_session *session)
{
	return session->notice.data ? session->notice.data : "";
}
