/*
 * A session from within.  Its parts: session_event (EVENT frames), session_refusal
 * (CLOSED, NOTICE, silence), session_refused (what is refused for longer), session_auth
 * (NIP-42), session_reads, session_rounds and session_until (what is owed, when, and
 * what has been read by then), session_parts (filters that come and go), session_frame
 * (what to send next); session holds them together.
 */
#ifndef GS_SESSION_PRIVATE_H
#define GS_SESSION_PRIVATE_H

#include "live.h"
#include "message.h"
#include "recent.h"
#include "retry.h"
#include "session.h"

#define GS_SUBS_MAX 50	     /* open at a time, whatever the relay would take */
#define GS_SUB_NAME 24	     /* decimal digits of a u64 */
#define GS_OWES_NOTHING (-2) /* -1 is a reading without since */
#define GS_AUTH_ID_LEN 32

/* A REQ that is open, of one of the two kinds; neither: the place is free. */
struct gs_sub {
	char name[GS_SUB_NAME];
	struct gs_request *request;
	struct gs_live_sub *live;
	bool is_answered; /* live: EOSE came */
	bool is_authed;	  /* asked after the relay knew us */
	bool has_frames;
	/* when it was asked, for refusals */
	size_t num_filters, num_open, bytes;
	int64_t limit; /* 0: none */
};

/* How far one filter is read.  There are many: what is small stands together. */
struct gs_read_item {
	int64_t owed_s;	   /* since when it is to be read once it may; GS_OWES_NOTHING */
	int64_t since_s;   /* of the reading, or the last one */
	int64_t started_s; /* when that began, wall */
	int64_t covered_s; /* when the last complete one began; -1: none was */
	int64_t ended_s;   /* when the last one began that came to its end; -1 */
	int64_t full_s;	   /* when the last one without since began that ended; -1 */
	int64_t told_since_s;  /* of the one that is to be told */
	struct gs_retry retry; /* when it had failed */
	uint16_t tries;	       /* once: after drops and rate limits */
	uint8_t end;	       /* enum gs_end, of the last one */
	uint8_t told_end;      /* enum gs_end, to be told; GS_END_NONE: nothing is */
	bool is_reading;
	bool is_history;    /* not followed: read once */
	bool is_daily;	    /* begun by the clock */
	bool is_daily_owed; /* likewise */
};

struct gs_reads {
	struct gs_read_item *items;
	size_t num, cap;
	uint32_t *told; /* numbers of items that are to be told, each once */
	size_t num_told, cap_told;
	int64_t retry_due_ms; /* the earliest of the items', or earlier; -1: none */
	int64_t poll_due_ms;
	int64_t full_due_ms; /* -1: with the first connection, or never */
	int64_t read_until_s, last_full_s;
	int64_t resumed_s; /* what read_until was in an earlier process; -1 */
	bool was_open;
	bool is_full_asked; /* not by the clock */
	bool is_following;  /* frames move read_until; valid unless is_stale */
	bool is_stale;
};

enum gs_login {
	GS_LOGIN_NONE,
	GS_LOGIN_WANTED,   /* a request was refused, no challenge came yet */
	GS_LOGIN_TO_SEND,  /* the answer is to be sent */
	GS_LOGIN_SENT,	   /* waits for OK */
	GS_LOGIN_ACCEPTED, /* asked again by now */
	GS_LOGIN_REFUSED,
};

struct gs_session {
	struct gs_session_options options;
	struct gs_limits *limits;
	struct gs_history *history;
	struct gs_live *live;
	struct gs_reads reads;
	struct gs_recent *handed;	     /* ids that were handed out */
	struct gs_session_refused *restored; /* refused, of no filter that is here */
	size_t num_restored, cap_restored;
	struct gs_event event;
	struct gs_buf scratch;
	struct gs_session_counts counts;
	enum gs_session_wish wish;
	enum gs_session_fault fault;
	bool is_open, had_eose;
	enum gs_session_way way;
	uint64_t noise, worth; /* frames of this connection */

	struct gs_sub subs[GS_SUBS_MAX];
	size_t num_subs, num_unanswered;
	uint64_t last_sub;
	struct gs_buf closes; /* names to CLOSE, each with a NUL behind it */

	int64_t useful_ms; /* when the last sign of life came */
	unsigned silences; /* since the last EOSE */

	struct gs_retry rate;		     /* no REQ before it is due */
	int64_t rated_ms;		     /* when it was due last; -1: never */
	unsigned num_duplicate, num_refused; /* of this connection */
	struct gs_buf notice;		     /* printable */
	struct gs_buf notice_raw;	     /* decoded */
	struct gs_sub *noticed; /* the one request that the notice may be about */
	int64_t notice_due_ms;
	enum gs_refusal held_for; /* a notice that may be about any request */
	int64_t held_number;
	int64_t hold_due_ms, hold_until_ms; /* -1: no hold */

	enum gs_login login;
	unsigned num_logins;
	struct gs_buf challenge; /* decoded */
	bool has_challenge;	 /* that was not answered */
	uint8_t login_id[GS_AUTH_ID_LEN];
};

/* --- session: subscriptions, and the end --- */

struct gs_sub *gs_sub_find(struct gs_session *session, struct gs_json_value name);
struct gs_sub *gs_sub_find_free(struct gs_session *session);
/* A REQ goes out under its name, its request or live set. */
void gs_sub_open(struct gs_session *session, struct gs_sub *sub, struct gs_now now);
/* The place is free again; tell: the relay may still hold it, so it is CLOSEd. */
void gs_sub_free(struct gs_session *session, struct gs_sub *sub, bool tell);
void gs_sub_note_answered(struct gs_session *session, struct gs_sub *sub);
bool gs_sub_is_waiting(const struct gs_sub *sub); /* for its EOSE */
/* It is asked again, under a new name. */
void gs_sub_retract(struct gs_session *session, struct gs_sub *sub, bool tell,
    struct gs_now now);
/* Something useful came; sub may be NULL. */
void gs_session_note_useful(struct gs_session *session, const struct gs_sub *sub,
    struct gs_now now);
bool gs_session_is_waiting(const struct gs_session *session); /* for any answer */
/* So many subscriptions may stay open, so that some are left for histories. */
size_t gs_session_live_places(const struct gs_session *session);
/* The relay is no good: hang up, or with once give up, what has no end ends so. */
void gs_session_leave(struct gs_session *session, enum gs_session_fault fault,
    enum gs_end end);

/* --- session_refused --- */

/* Filter i has come: does it have to wait? */
void gs_refused_apply(struct gs_session *session, size_t i, struct gs_now now);
/* All filters are about to leave: keeps what waits. */
void gs_refused_keep(struct gs_session *session, struct gs_now now);

/* --- session_event --- */

const struct gs_event *gs_session_take_event(struct gs_session *session,
    const struct gs_message *message, struct gs_now now);
/* A frame for a subscription that is not open. */
void gs_session_count_unopened(struct gs_session *session, struct gs_json_value name);

/* --- session_refusal --- */

void gs_session_take_closed(struct gs_session *session, const struct gs_message *message,
    struct gs_now now);
void gs_session_take_notice(struct gs_session *session, const struct gs_message *message,
    struct gs_now now);
void gs_refusal_begin(struct gs_session *session); /* a new connection */
void gs_refusal_note_frame(struct gs_session *session, struct gs_now now);
void gs_refusal_tick(struct gs_session *session, struct gs_now now);
bool gs_refusal_forbids(const struct gs_session *session); /* no REQ now */
int64_t gs_refusal_deadline_ms(const struct gs_session *session);
/* Ends its filters, or its live subscription, as timed out. */
void gs_refusal_time_out(struct gs_session *session, struct gs_sub *sub,
    struct gs_now now);
/* Once: this request failed through no fault of its filters; false: too often. */
bool gs_refusal_may_retry(struct gs_session *session, const struct gs_request *request);

/* --- session_auth --- */

void gs_login_begin(struct gs_session *session); /* a new connection */
void gs_login_take_challenge(struct gs_session *session, const struct gs_message *message,
    struct gs_now now);
void gs_login_take_ok(struct gs_session *session, const struct gs_message *message,
    struct gs_now now);
/* The relay wants to know us before it answers sub; true: sub may be asked again. */
bool gs_login_want(struct gs_session *session, const struct gs_sub *sub,
    struct gs_now now);
bool gs_login_next_frame(struct gs_session *session, struct gs_buf *frame,
    struct gs_now now);
bool gs_login_is_pending(const struct gs_session *session); /* no REQ now */
void gs_login_time_out(struct gs_session *session);

/* --- session_reads: what is owed, begun, ended --- */

void gs_reads_add(struct gs_session *session, const struct gs_session_part *part);
void gs_reads_clear(struct gs_session *session, struct gs_now now);
void gs_reads_fini(struct gs_reads *reads);
/* To be read since since_s (-1: all), now or when its reading or its wait is over. */
void gs_reads_owe(struct gs_session *session, size_t i, int64_t since_s,
    struct gs_now now);
/* Likewise all of it, because a day is over. */
void gs_reads_owe_daily(struct gs_session *session, size_t i, struct gs_now now);
/* What was added begins, if there is a connection. */
void gs_reads_begin_part(struct gs_session *session, size_t i, struct gs_now now);
/* An earlier process was refused filter i. */
void gs_reads_refuse(struct gs_session *session, size_t i, const struct gs_retry *retry);
/* What had failed is tried again when its time has come. */
void gs_reads_retry(struct gs_session *session, struct gs_now now);
/* Takes over which readings have ended; after everything that ends some. */
void gs_reads_settle(struct gs_session *session, struct gs_now now);
bool gs_reads_has_failed(const struct gs_read_item *item);
/* Begun, or to be begun. */
bool gs_reads_is_outstanding(const struct gs_read_item *item);

/* --- session_rounds: which is read when --- */

void gs_reads_begin(struct gs_session *session, struct gs_now now); /* a connection */
void gs_reads_tick(struct gs_session *session, struct gs_now now);
int64_t gs_reads_deadline_ms(const struct gs_session *session);

/* --- session_until: what has been read by then --- */

/* What do the histories that have ended prove of all filters together? */
void gs_reads_sum_up(struct gs_reads *reads);
/* A frame or a pong came. */
void gs_reads_note_alive(struct gs_session *session, struct gs_now now);

static inline int64_t
gs_least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static inline int64_t
gs_since_before(int64_t time_s)
{
	return time_s > GS_LIVE_OVERLAP_S ? time_s - GS_LIVE_OVERLAP_S : 0;
}

#endif
