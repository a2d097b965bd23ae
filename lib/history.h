/*
 * Reading what a relay has stored, filter by filter, page by page, with a proof for
 * each that nothing was left out (DESIGN 3 "History").  Pure: makes REQs, is told
 * what came; the connection, subscriptions in flight and deadlines are session's.
 */
#ifndef GS_HISTORY_H
#define GS_HISTORY_H

#include "filter.h"
#include "limits.h"

#define GS_HISTORY_LIMIT 500 /* events that we ask for at a time; relays may give less */
#define GS_HISTORY_MIN_PAGE 20	      /* no relay cuts its answers shorter: DESIGN 3 */
#define GS_HISTORY_FRAMES 1000000     /* of one filter; beyond: GS_END_CAP (DESIGN 6) */
#define GS_HISTORY_FILTERS 20	      /* a REQ, whatever the relay would take */
#define GS_HISTORY_BYTES (60u * 1024) /* of a REQ that a relay takes untold */

enum gs_end {
	GS_END_NONE,	     /* still being read, or not yet */
	GS_END_FINISHED,     /* everything is here, proven: the only complete end */
	GS_END_CAP,	     /* over GS_HISTORY_FRAMES */
	GS_END_CLOSED,	     /* the relay refused; reason says why */
	GS_END_TIMEOUT,	     /* silence */
	GS_END_DROPPED,	     /* the connection ended */
	GS_END_INCONSISTENT, /* its answer contradicts the question, or an earlier one */
	GS_END_LOSS, /* read to the end, but a second may hold more than it gives */
};

const char *gs_end_name(enum gs_end end); /* "finished", ...; GS_END_NONE: "unread" */

/* How far the reading of one filter has come. */
struct gs_history_report {
	uint64_t pages;		/* that ended by EOSE */
	uint64_t frames;	/* that fitted: fresh + duplicate + invalid */
	uint64_t fresh;		/* valid, seen for the first time in this reading */
	uint64_t duplicate;	/* seen in it before */
	uint64_t invalid;	/* no event, or its id or signature is wrong */
	int64_t oldest, newest; /* dates of valid events; -1: none */
	enum gs_end end;
	char *reason; /* GS_END_CLOSED: printable ASCII, may be empty; else NULL */
};

/*
 * May the whole reading of these filters be trusted to be all that the relay has?
 * Each filter for itself: report.end == GS_END_FINISHED.  limits is borrowed and may
 * change between two calls: what is too long for it is asked for in pieces, of which
 * the report is the sum (an event that two pieces bring counts for both).
 */
struct gs_history;
struct gs_history *gs_history_new(const struct gs_limits *limits);
void gs_history_free(struct gs_history *history);

/*
 * Takes the filter (*filter is empty afterwards).  Its limit, if any, is how many of
 * the newest are wanted.  It is read only when gs_history_read says so.
 */
void gs_history_add(struct gs_history *history, struct gs_filter *filter);
/*
 * Begins to read filter i, from since_s on (-1: all of it), with a new report; never
 * while it is being read.  is_alone: in REQs of its own.
 */
void gs_history_read(struct gs_history *history, size_t i, int64_t since_s,
    bool is_alone);
/* All filters leave, all requests are invalid; what is known of the relay stays. */
void gs_history_clear(struct gs_history *history);
/* Takes the next filter out of those whose reading ended; false: none. */
bool gs_history_next_ended(struct gs_history *history, size_t *i);

size_t gs_history_count(const struct gs_history *history);
const struct gs_history_report *gs_history_get(const struct gs_history *history,
    size_t i);
const struct gs_filter *gs_history_filter(const struct gs_history *history, size_t i);
size_t gs_history_num_left(const struct gs_history *history); /* that are being read */

/* Adds the report of filter i as JSON members, without the braces. */
void gs_history_write(const struct gs_history *history, size_t i, struct gs_buf *buf);
/* Adds "finished", "closed:<reason>" and so on. */
void gs_history_write_end(const struct gs_history_report *report, struct gs_buf *buf);

/* --- a page: asked, then events, then one of eose, retract, split, fail --- */

/* One REQ and its filters; the history's, invalid once it was answered. */
struct gs_request;

/* The next page to ask for under this name: adds the REQ to frame; NULL: none now. */
struct gs_request *gs_history_ask(struct gs_history *history, const char *sub,
    struct gs_buf *frame);

/* Its filters, by number. */
size_t gs_request_count(const struct gs_request *request);
size_t gs_request_item(const struct gs_request *request, size_t at);
/* The highest limit that its filters were asked with. */
int64_t gs_request_limit(const struct gs_request *request);

/* What an event is to a request; one bit a filter. */
struct gs_fit {
	uint32_t inside;  /* is what was asked for */
	uint32_t outside; /* matches, but lies outside the window that was asked for */
	bool is_wanted;	  /* matches a filter as it was given to us */
};

struct gs_fit gs_history_fit(const struct gs_request *request,
    const struct gs_event *event);

/*
 * Counts an EVENT frame.  event NULL: it could not be read (fit is then empty).
 * Result: a sign of life: this page had not brought it yet, or not for each filter.
 */
bool gs_history_event(struct gs_request *request, struct gs_fit fit,
    const struct gs_event *event, bool is_valid);
/* Came more than any filter may bring: fail it with GS_END_CAP. */
bool gs_history_is_over(const struct gs_request *request);
bool gs_history_is_empty(const struct gs_request *request);  /* no frame came yet */
bool gs_history_is_shared(const struct gs_request *request); /* has several filters */

void gs_history_eose(struct gs_history *history, struct gs_request *request,
    bool is_finish);
/* No answer is awaited any more: the same page is asked for again. */
void gs_history_retract(struct gs_request *request);
/* Refused as a whole: asks for each filter alone.  Not for a request of one filter. */
void gs_history_split(struct gs_history *history, struct gs_request *request);
/* Ends its filters; reason (raw bytes of the relay) is for GS_END_CLOSED. */
void gs_history_fail(struct gs_history *history, struct gs_request *request,
    enum gs_end end, struct gs_str reason);
/* Ends every filter without an end.  All requests are invalid afterwards. */
void gs_history_abort(struct gs_history *history, enum gs_end end);

#endif
