/*
 * The conversation with one relay: which requests are open, what each frame means,
 * when to give up waiting.  What is asked, and what an answer proves, is history's.
 */
#include "session.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "map.h"
#include "mem.h"
#include "message.h"
#include "num.h"
#include "verify.h"

#define MAX_SUBS 10    /* open at a time */
#define SUB_BYTES 24   /* decimal digits of a u64 */
#define NOTICE_MS 2000 /* an unanswered request gets so long to answer in spite of it */
#define MAX_SILENCES 2 /* in a row: DESIGN 3 */
#define NOISE_FRAMES 1000 /* so many useless frames are let pass ... */
#define NOISE_RATIO 10	  /* ... and beyond that so many for each event */
#define TEXT_BYTES 1024	  /* kept of a relay's text: DESIGN 6 */

struct sub {
	char name[SUB_BYTES];
	struct gs_request *request; /* NULL: the place is free */
};

struct gs_session {
	struct gs_limits *limits;
	struct gs_history *history;
	struct gs_map *verified; /* ids that were handed out */
	struct gs_event event;
	struct gs_buf scratch;
	struct gs_session_counts counts;
	enum gs_session_wish wish;
	enum gs_session_fault fault;
	bool is_open, had_eose;

	struct sub subs[MAX_SUBS];
	size_t num_subs;
	uint64_t last_sub;
	struct gs_buf closes; /* names to CLOSE, each with a NUL behind it */

	int64_t silence_ms;
	int64_t useful_ms; /* when the last sign of life came */
	unsigned silences; /* since the last EOSE */

	struct gs_buf notice;	  /* printable */
	struct gs_buf notice_raw; /* decoded */
	struct sub *noticed;	  /* the one request that the notice may be about */
	int64_t notice_due_ms;
};

struct gs_session *
gs_session_new(const struct gs_session_options *options, struct gs_limits *limits,
    struct gs_now now)
{
	struct gs_session *session = gs_mem_new(sizeof(*session));

	session->history = gs_history_new();
	session->verified = gs_map_new();
	session->limits = limits;
	session->silence_ms = options->silence_ms;
	session->useful_ms = now.mono_ms;
	return session;
}

void
gs_session_free(struct gs_session *session)
{
	if (session == NULL)
		return;
	gs_buf_fini(&session->notice_raw);
	gs_buf_fini(&session->notice);
	gs_buf_fini(&session->closes);
	gs_buf_fini(&session->scratch);
	gs_event_fini(&session->event);
	gs_map_free(session->verified, NULL);
	gs_history_free(session->history);
	free(session);
}

void
gs_session_add(struct gs_session *session, struct gs_filter *filter)
{
	gs_history_add(session->history, filter);
}

/* Every filter without an end gets this one; nothing is asked any more. */
static void
end_session(struct gs_session *session, enum gs_session_wish wish, enum gs_end end)
{
	session->wish = wish;
	gs_history_abort(session->history, end);
	memset(session->subs, 0, sizeof(session->subs));
	session->num_subs = 0;
	session->noticed = NULL;
}

static void
give_up(struct gs_session *session, enum gs_session_fault fault, enum gs_end end)
{
	session->fault = fault;
	end_session(session, GS_WISH_GIVE_UP, end);
}

static void
end_if_done(struct gs_session *session)
{
	if (session->wish == GS_WISH_GOES_ON && session->is_open &&
	    gs_history_is_done(session->history))
		session->wish = GS_WISH_DONE;
}

/* The subscription's place is free again; the relay is told if it may still hold it. */
static void
free_sub(struct gs_session *session, struct sub *sub, bool tell)
{
	if (tell)
		gs_buf_add(&session->closes, sub->name, strlen(sub->name) + 1);
	if (session->noticed == sub)
		session->noticed = NULL;
	sub->request = NULL;
	session->num_subs--;
}

static struct sub *
find_sub(struct gs_session *session, struct gs_json_value name)
{
	for (size_t i = 0; i < MAX_SUBS; i++)
		if (session->subs[i].request != NULL &&
		    gs_json_is(name, session->subs[i].name))
			return &session->subs[i];
	return NULL;
}

static struct sub *
find_free_sub(struct gs_session *session)
{
	for (size_t i = 0; i < MAX_SUBS; i++)
		if (session->subs[i].request == NULL)
			return &session->subs[i];
	return NULL;
}

/*
 * The relay will not answer this request.  One of several filters may be to blame, so
 * they are asked one by one; but not when it is about who we are or how fast we ask.
 */
static void
refuse_request(struct gs_session *session, struct sub *sub, struct gs_str reason,
    bool tell)
{
	struct gs_str text = gs_message_strip(reason);

	if (gs_history_is_shared(sub->request) &&
	    gs_message_prefix(reason) == GS_PREFIX_NONE)
		gs_history_split(session->history, sub->request);
	else
		gs_history_fail(session->history, sub->request, GS_END_CLOSED, text);
	free_sub(session, sub, tell);
}

static void
note_useful(struct gs_session *session, const struct sub *sub, struct gs_now now)
{
	session->useful_ms = now.mono_ms;
	if (session->noticed == sub)
		session->noticed = NULL;
}

/* Checks the signature of an id once; a copy must still have the bytes of that id. */
static bool
verify_event(struct gs_session *session, bool *is_known)
{
	const struct gs_event *event = &session->event;
	struct gs_str id = { (const char *)event->id, sizeof(event->id) };

	*is_known = gs_map_find(session->verified, id) != NULL;
	if (gs_verify_id(event, &session->scratch) != GS_EVENT_OK)
		return false;
	if (*is_known)
		return true;
	if (gs_verify_sig(event) != GS_EVENT_OK)
		return false;
	(void)gs_map_add(session->verified, id);
	return true;
}

static void
end_overlong(struct gs_session *session, struct sub *sub)
{
	if (!gs_history_is_over(sub->request))
		return;
	gs_history_fail(session->history, sub->request, GS_END_CAP, GS_STR(""));
	free_sub(session, sub, true);
}

/* Names are never used again, so what comes late for one is easily told from noise. */
static void
count_unopened(struct gs_session *session, struct gs_json_value name)
{
	int64_t number;

	if (gs_num_parse(&number, name.raw.ptr, name.raw.len, (int64_t)session->last_sub))
		session->counts.late++;
	else
		session->counts.unknown++;
}

static const struct gs_event *
take_event(struct gs_session *session, const struct gs_message *message,
    struct gs_now now)
{
	struct sub *sub = find_sub(session, message->sub);
	struct gs_fit fit = { 0, 0, false };
	bool is_readable, is_valid, is_known = false;

	if (sub == NULL) {
		count_unopened(session, message->sub);
		return NULL;
	}
	is_readable = gs_event_parse(&session->event, message->event.ptr,
			  message->event.len, NULL) == GS_EVENT_OK;
	if (is_readable)
		fit = gs_history_fit(sub->request, &session->event);
	if (is_readable && fit.inside == 0 && fit.outside == 0)
		session->counts.foreign++;
	is_valid = is_readable && fit.is_wanted && verify_event(session, &is_known);
	session->counts.invalid += !is_readable || (fit.is_wanted && !is_valid);
	if (gs_history_event(sub->request, fit, is_readable ? &session->event : NULL,
		is_valid))
		note_useful(session, sub, now);
	end_overlong(session, sub);
	if (!is_valid || is_known)
		return NULL;
	session->counts.events++;
	return &session->event;
}

static void
take_eose(struct gs_session *session, const struct gs_message *message, struct gs_now now)
{
	struct sub *sub = find_sub(session, message->sub);

	if (sub == NULL) {
		count_unopened(session, message->sub);
		return;
	}
	note_useful(session, sub, now);
	session->silences = 0;
	session->had_eose = true;
	gs_history_eose(session->history, sub->request, message->is_finish);
	free_sub(session, sub, true);
}

static void
take_closed(struct gs_session *session, const struct gs_message *message,
    struct gs_now now)
{
	struct sub *sub = find_sub(session, message->sub);

	/* Also the answer of some relays to our own CLOSE. */
	if (sub == NULL)
		return;
	note_useful(session, sub, now);
	gs_buf_clear(&session->scratch);
	gs_json_decode(&session->scratch, message->text);
	refuse_request(session, sub,
	    (struct gs_str){ session->scratch.data, session->scratch.len }, false);
}

/* A notice names no request; it is taken for one that is alone and unanswered. */
static void
take_notice(struct gs_session *session, const struct gs_message *message,
    struct gs_now now)
{
	session->counts.notices++;
	gs_buf_clear(&session->notice_raw);
	gs_json_decode(&session->notice_raw, message->text);
	gs_buf_clear(&session->notice);
	gs_buf_add_shown(&session->notice, session->notice_raw.data,
	    session->notice_raw.len, TEXT_BYTES);
	session->noticed = NULL;
	if (session->num_subs != 1)
		return;
	for (size_t i = 0; i < MAX_SUBS; i++)
		if (session->subs[i].request != NULL &&
		    gs_history_is_empty(session->subs[i].request))
			session->noticed = &session->subs[i];
	session->notice_due_ms = now.mono_ms + NOTICE_MS;
}

static void
leave_if_noisy(struct gs_session *session)
{
	const struct gs_session_counts *counts = &session->counts;
	uint64_t noise =
	    counts->junk + counts->foreign + counts->unknown + counts->invalid;

	if (session->wish == GS_WISH_GOES_ON &&
	    noise > NOISE_FRAMES + NOISE_RATIO * counts->events)
		give_up(session, GS_FAULT_NOISY, GS_END_INCONSISTENT);
}

const struct gs_event *
gs_session_frame(struct gs_session *session, const char *text, size_t len,
    struct gs_now now)
{
	const struct gs_event *event = NULL;
	struct gs_message message;

	session->counts.frames++;
	if (session->wish != GS_WISH_GOES_ON)
		return NULL;
	switch (gs_message_parse(&message, text, len)) {
	case GS_MESSAGE_EVENT:
		event = take_event(session, &message, now);
		break;
	case GS_MESSAGE_EOSE:
		take_eose(session, &message, now);
		break;
	case GS_MESSAGE_CLOSED:
		take_closed(session, &message, now);
		break;
	case GS_MESSAGE_NOTICE:
		take_notice(session, &message, now);
		break;
	case GS_MESSAGE_OK:
	case GS_MESSAGE_AUTH: /* we have no key; a CLOSED says what that costs */
		break;
	case GS_MESSAGE_JUNK:
		session->counts.junk++;
		break;
	}
	leave_if_noisy(session);
	end_if_done(session);
	return event;
}

void
gs_session_opened(struct gs_session *session, struct gs_now now)
{
	session->is_open = true;
	session->useful_ms = now.mono_ms;
	end_if_done(session);
}

void
gs_session_closed(struct gs_session *session, struct gs_now now)
{
	(void)now;
	session->is_open = false;
	gs_buf_clear(&session->closes);
	if (session->wish == GS_WISH_GOES_ON)
		end_session(session, GS_WISH_DONE, GS_END_DROPPED);
}

void
gs_session_end(struct gs_session *session, enum gs_end end)
{
	if (session->wish == GS_WISH_GOES_ON)
		end_session(session, GS_WISH_DONE, end);
}

void
gs_session_pong(struct gs_session *session, struct gs_now now)
{
	(void)session;
	(void)now;
}

void
gs_session_resume(struct gs_session *session, int64_t read_until_s, int64_t last_full_s)
{
	(void)session;
	(void)read_until_s;
	(void)last_full_s;
}

void
gs_session_paused(struct gs_session *session, int64_t for_ms)
{
	session->useful_ms += for_ms;
	session->notice_due_ms += for_ms;
}

static void
end_silence(struct gs_session *session, struct gs_now now)
{
	for (size_t i = 0; i < MAX_SUBS; i++) {
		struct sub *sub = &session->subs[i];

		if (sub->request == NULL)
			continue;
		gs_history_fail(session->history, sub->request, GS_END_TIMEOUT,
		    GS_STR(""));
		free_sub(session, sub, true);
	}
	session->useful_ms = now.mono_ms;
	session->silences++;
	if (session->silences >= MAX_SILENCES && !gs_history_is_done(session->history))
		give_up(session, GS_FAULT_SILENT, GS_END_TIMEOUT);
}

void
gs_session_tick(struct gs_session *session, struct gs_now now)
{
	if (session->wish != GS_WISH_GOES_ON || !session->is_open)
		return;
	if (session->noticed != NULL && now.mono_ms >= session->notice_due_ms)
		refuse_request(session, session->noticed,
		    (struct gs_str){ session->notice_raw.data, session->notice_raw.len },
		    true);
	if (session->num_subs > 0 &&
	    now.mono_ms >= session->useful_ms + session->silence_ms)
		end_silence(session, now);
	end_if_done(session);
}

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

static bool
next_req(struct gs_session *session, struct gs_buf *frame, struct gs_now now)
{
	struct sub *sub = find_free_sub(session);

	if (sub == NULL)
		return false;
	(void)snprintf(sub->name, sizeof(sub->name), "%" PRIu64, session->last_sub + 1);
	sub->request = gs_history_ask(session->history, sub->name, frame);
	if (sub->request == NULL)
		return false;
	session->last_sub++;
	if (session->num_subs++ == 0)
		session->useful_ms = now.mono_ms;
	return true;
}

bool
gs_session_next_frame(struct gs_session *session, struct gs_buf *frame, struct gs_now now)
{
	if (!session->is_open)
		return false;
	if (next_close(session, frame))
		return true;
	return session->wish == GS_WISH_GOES_ON && next_req(session, frame, now);
}

int64_t
gs_session_deadline_ms(const struct gs_session *session)
{
	int64_t due_ms;

	if (session->wish != GS_WISH_GOES_ON)
		return -1;
	if (!session->is_open || session->num_subs == 0)
		return -1;
	due_ms = session->useful_ms + session->silence_ms;
	if (session->noticed != NULL && session->notice_due_ms < due_ms)
		due_ms = session->notice_due_ms;
	return due_ms;
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
	(void)session;
	return -1;
}

int64_t
gs_session_last_full_s(const struct gs_session *session)
{
	(void)session;
	return -1;
}

struct gs_session_filters
gs_session_filters(const struct gs_session *session)
{
	(void)session;
	return (struct gs_session_filters){ 0, 0, 0 };
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
