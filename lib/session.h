/*
 * The conversation with one relay, over as many connections as it takes: live
 * subscriptions, the histories beside them, what each frame means, when to give up
 * waiting.  Pure: opened, frame, pong, closed, tick and the time go in; events, the
 * next frame to send, the next deadline and a wish come out.  When to dial again is
 * health's and its owner's.
 */
#ifndef GS_SESSION_H
#define GS_SESSION_H

#include "auth.h"
#include "history.h"
#include "limits.h"
#include "now.h"

#define GS_SESSION_REMEMBERED 1000000 /* ids that are handed out once: DESIGN 2 */
#define GS_SESSION_SILENCE_MS 30000   /* without a useful frame while we wait: DESIGN 3 */

struct gs_session_options {
	bool once;		/* stored events alone, then GS_WISH_DONE */
	bool undated;		/* following: all of it is wanted, whenever it was made */
	int64_t silence_ms;	/* GS_SESSION_SILENCE_MS */
	int64_t max_backoff_ms; /* caps every wait; -1: not */
	const struct gs_auth *auth; /* who we are; NULL: nobody.  Borrowed. */
	const char *url;	    /* canonical, as it is dialled; borrowed */
	/*
	 * The owner checks signatures, and keeps what came: frame hands out events whose
	 * id is that of their content, and none that is_known (NULL: nothing is).
	 */
	bool leaves_signatures; /* the same id with another signature comes again */
	bool (*is_known)(const uint8_t id[static 32], void *arg);
	void *arg;
	size_t remembered; /* ids, following; 0: GS_SESSION_REMEMBERED */
	bool is_daily_off; /* no full history by itself */
};

/* What the session wants of its owner. */
enum gs_session_wish {
	GS_WISH_GOES_ON, /* a connection: this one, or the next when health says so */
	GS_WISH_DONE,	 /* once: every filter has its end, nothing more is asked */
	GS_WISH_HANG_UP, /* this connection is no good (gs_session_fault): a failure */
	GS_WISH_GIVE_UP, /* once: this relay is no good; every filter has its end */
};

/* What the relay did to be hung up on. */
enum gs_session_fault {
	GS_FAULT_NONE,
	GS_FAULT_SILENT, /* twice silent without an EOSE between */
	GS_FAULT_NOISY,	 /* little else came than what we never asked for */
};

/* Of all connections. */
struct gs_session_counts {
	uint64_t frames;  /* all that came */
	uint64_t events;  /* verified ones handed out */
	uint64_t invalid; /* EVENT frames of ours without a valid event */
	uint64_t foreign; /* events that match no filter of their subscription */
	uint64_t late;	  /* frames for subscriptions that are closed */
	uint64_t unknown; /* frames for subscriptions that never were */
	uint64_t junk;	  /* no frame of Nostr, or an answer to nothing */
	uint64_t notices;
};

/* The filters by how they are followed now; all 0 with once. */
struct gs_session_filters {
	size_t live;   /* open, and their EOSE came */
	size_t polled; /* the relay's limits leave no place for them: read every minute */
	size_t failed; /* refused or unanswered, live or as history: tried again later */
	size_t held;   /* to be read once `rate-limited:` lets us ask again */
};

struct gs_session;

/*
 * limits is borrowed, read at every step and learnt downwards, so that it outlives
 * connections; what NIP-11 says may be put into it at any time between two calls.
 */
struct gs_session *gs_session_new(const struct gs_session_options *options,
    struct gs_limits *limits, struct gs_now now);
void gs_session_free(struct gs_session *session);
/*
 * Before the first gs_session_opened: takes a filter (*filter is empty afterwards).
 * Its number, from 0, is that of its report.
 */
void gs_session_add(struct gs_session *session, struct gs_filter *filter);

/* How a filter that is added begins. */
struct gs_session_part {
	int64_t
	    read_s; /* read up to here (wall): a history since then - 15 min; -1: nothing
			   is read: a history without since; GS_READ_RESUMED */
	bool is_history; /* read once, then it has its end: no live subscription */
};
#define GS_READ_RESUMED \
	(-2) /* as far as gs_session_resume says, or no time if it was not called */
/*
 * At any time, following: as gs_session_add, and its history and live subscription
 * begin at once if a connection is open.  read_until stands still until that history
 * has ended; with is_history, until gs_session_next_ended has told so.
 */
void gs_session_add_part(struct gs_session *session, struct gs_filter *filter,
    const struct gs_session_part *part, struct gs_now now);
/*
 * All filters leave: what is open is CLOSEd, what was being read has no end.  Numbers
 * begin at 0 again.  Limits, counts, login, rate limits and what was handed out stay, and
 * so do refused filters' waits, should they be added again.  read_until stands still
 * until what was added then has been read.
 */
void gs_session_clear(struct gs_session *session, struct gs_now now);
/*
 * Up to when everything of filter i is known to have come (wall; -1: nothing): now, if
 * it is open live and was read; else the start of its last complete history, or what
 * read_until says of it.
 */
int64_t gs_session_part_read_s(const struct gs_session *session, size_t i,
    struct gs_now now);
/*
 * Following: takes the next reading that ended since the last call: whose, since when
 * (-1: all), how.  Of several of one filter, the one that reaches farthest back.
 */
struct gs_session_ended {
	size_t i;
	int64_t since_s;
	enum gs_end end;
};
bool gs_session_next_ended(struct gs_session *session, struct gs_session_ended *ended);
/* A full history of all filters is due now, and the next one a day later. */
void gs_session_make_full(struct gs_session *session, struct gs_now now);
/* How the event of the last frame was found. */
enum gs_session_way {
	GS_WAY_LIVE,
	GS_WAY_HISTORY, /* first, of a reconnect, of a poll, or asked for */
	GS_WAY_DAILY,	/* the full history of each day, on an open connection */
};
enum gs_session_way gs_session_way(const struct gs_session *session);

#define GS_SESSION_REFUSED 1000 /* filters; those beyond are forgotten */
/* A filter that the relay refuses, by the SHA-256 of its JSON without since and until. */
struct gs_session_refused {
	uint8_t filter[32];
	uint32_t failures;
	int64_t due_s; /* wall: tried again then */
};
/* What an earlier process knew: what is added later to be followed waits until due. */
void gs_session_restore_refused(struct gs_session *session,
    const struct gs_session_refused *refused);
/* All that wait now, also those that were restored and not added yet. */
typedef void gs_session_refused_fn(const struct gs_session_refused *refused, void *arg);
void gs_session_each_refused(const struct gs_session *session, gs_session_refused_fn *fn,
    void *arg, struct gs_now now);
/*
 * Before the first gs_session_opened: what an earlier process knew, see below.  -1: it
 * knew nothing.
 */
void gs_session_resume(struct gs_session *session, int64_t read_until_s,
    int64_t last_full_s);

void gs_session_opened(struct gs_session *session, struct gs_now now);
/*
 * A whole text message.  The event that it brought, if it is verified, wanted, and the
 * first with its id (following: of the last 1,000,000); else NULL.  Valid until the
 * next call.
 */
const struct gs_event *gs_session_frame(struct gs_session *session, const char *text,
    size_t len, struct gs_now now);
void gs_session_pong(struct gs_session *session, struct gs_now now);
/*
 * The connection is gone.  May be called without one (a dial failed): does nothing.
 * Unfinished readings go on from their cursors when the next one is opened; with
 * once, a filter that was being read is dropped when that happens for the fourth time.
 */
void gs_session_closed(struct gs_session *session, struct gs_now now);
void gs_session_tick(struct gs_session *session, struct gs_now now);
/* The socket was not read for so long: silence in that time says nothing. */
void gs_session_paused(struct gs_session *session, int64_t for_ms);
/* The owner ends it: every filter without an end gets this one, nothing is asked. */
void gs_session_end(struct gs_session *session, enum gs_end end);

/* Adds the next frame to send; false: none now.  Ask again after every call above. */
bool gs_session_next_frame(struct gs_session *session, struct gs_buf *frame,
    struct gs_now now);
/* When tick wants to be called next; -1: no need.  Always -1 without a connection. */
int64_t gs_session_deadline_ms(const struct gs_session *session);
/*
 * Once it is not GS_WISH_GOES_ON and next_frame said false, the connection may be
 * closed.  GS_WISH_HANG_UP goes away with gs_session_closed; fault stays until the next
 * gs_session_opened.
 */
enum gs_session_wish gs_session_wish(const struct gs_session *session);
enum gs_session_fault gs_session_fault(const struct gs_session *session);
/* An EOSE came on this connection, or on the last one: its success, for health. */
bool gs_session_had_eose(const struct gs_session *session);

/*
 * Following: everything of the relay was seen up to here (wall; -1: nothing yet), as
 * DESIGN 3 "Health" says; and the start of the last full history that ended.
 */
int64_t gs_session_read_until_s(const struct gs_session *session);
int64_t gs_session_last_full_s(const struct gs_session *session);
struct gs_session_filters gs_session_filters(const struct gs_session *session);

/* The reports: with once of the reading, following of each filter's latest one. */
const struct gs_history *gs_session_history(const struct gs_session *session);
const struct gs_session_counts *gs_session_counts(const struct gs_session *session);
/* The last NOTICE, as printable ASCII; "" if none came. */
const char *gs_session_notice(const struct gs_session *session);

#endif
