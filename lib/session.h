/*
 * The conversation with one relay: which requests are open, what each frame means,
 * when to give up waiting.  Pure: opened, frame, closed, tick and the time go in;
 * events, the next frame to send and the next deadline come out.
 */
#ifndef GS_SESSION_H
#define GS_SESSION_H

#include "history.h"

#define GS_SESSION_SUBS 10	    /* REQs open at a time: DESIGN 3 */
#define GS_SESSION_OPEN_MS 15000    /* from dial to open: DESIGN 6 */
#define GS_SESSION_SILENCE_MS 30000 /* without a useful frame while we wait: DESIGN 3 */

/* Why a session came to its end. */
enum gs_session_end {
	GS_SESSION_GOES_ON,
	GS_SESSION_DONE,     /* every filter has its end */
	GS_SESSION_NOT_OPEN, /* GS_SESSION_OPEN_MS passed without a connection */
	GS_SESSION_SILENT,   /* twice silent without an EOSE between */
	GS_SESSION_NOISY,    /* little else came than what we never asked for */
	GS_SESSION_CLOSED,   /* the connection ended before */
};

struct gs_session_counts {
	uint64_t frames;  /* all that came */
	uint64_t events;  /* verified ones handed out, each id once */
	uint64_t invalid; /* EVENT frames of ours without a valid event */
	uint64_t foreign; /* events that match no filter of their subscription */
	uint64_t late;	  /* frames for subscriptions that are closed */
	uint64_t unknown; /* frames for subscriptions that never were */
	uint64_t junk;	  /* no frame of Nostr */
	uint64_t notices;
};

struct gs_session;
/* silence_ms: see GS_SESSION_SILENCE_MS.  The deadline to open runs from now. */
struct gs_session *gs_session_new(int64_t silence_ms, int64_t now_ms);
void gs_session_free(struct gs_session *session);
/* Before opened: takes a filter to read (*filter is empty afterwards). */
void gs_session_add(struct gs_session *session, struct gs_filter *filter);

void gs_session_opened(struct gs_session *session, int64_t now_ms);
/*
 * A whole text message.  The event that it brought, if it is verified, wanted, and the
 * first with its id; else NULL.  Valid until the next call.
 */
const struct gs_event *gs_session_frame(struct gs_session *session, const char *text,
    size_t len, int64_t now_ms);
/* The connection is gone, or never came about: what has no end yet is GS_END_DROPPED. */
void gs_session_closed(struct gs_session *session);
void gs_session_tick(struct gs_session *session, int64_t now_ms);
/* The socket was not read for so long: silence in that time says nothing. */
void gs_session_paused(struct gs_session *session, int64_t for_ms);

/* Adds the next frame to send; false: none now.  Ask again after every call above. */
bool gs_session_next_frame(struct gs_session *session, struct gs_buf *frame,
    int64_t now_ms);
/* When tick wants to be called next; -1: no need. */
int64_t gs_session_deadline_ms(const struct gs_session *session);
/* Once it does not go on and next_frame said false, the connection may be closed. */
enum gs_session_end gs_session_end(const struct gs_session *session);

const struct gs_history *gs_session_history(const struct gs_session *session);
const struct gs_session_counts *gs_session_counts(const struct gs_session *session);
/* The last NOTICE, as printable ASCII; "" if none came. */
const char *gs_session_notice(const struct gs_session *session);

#endif
