/*
 * From raw lines to stored events: worker threads parse and verify, one writer
 * thread stores in groups (DESIGN 4).  The caller pushes; a full queue makes it wait.
 */
#ifndef GS_INGEST_H
#define GS_INGEST_H

#include "progress.h"
#include "waiting.h"

#define GS_INGEST_COMMIT_EVENTS 10000 /* at most; the first commits are smaller */
/* With commit_when_idle, and between the flushes of gs_ingest_feed. */
#define GS_INGEST_COMMIT_MS 200
/* A frame and escapes make a line longer than its event. */
#define GS_INGEST_LINE_BYTES ((size_t)2 * GS_EVENT_BYTES)
#define GS_INGEST_WORKERS 256

/* A line of a relay. */
struct gs_ingest_line {
	struct gs_str text;
	struct gs_str from; /* its URL; empty: none */
	uint64_t number;
	uint32_t tag; /* handed back in gs_decision */
};

enum gs_ingest_take {
	GS_INGEST_TAKEN,
	GS_INGEST_FULL,	  /* taken, but that is enough: no more until room was called */
	GS_INGEST_FAILED, /* see finish */
};

struct gs_ingest_options {
	unsigned workers;		/* 0: one a core; at most GS_INGEST_WORKERS */
	bool commit_when_idle;		/* else only when the group is full, or flushed */
	int64_t now_s;			/* fixed time for expiry, or -1: the clock */
	const struct gs_policy *policy; /* NULL: store every valid event */
	/*
	 * Called from the writer thread.  bad: a line that is no valid event (number is
	 * the pusher's).  committed: after each commit that took lines, with the totals.
	 */
	void (*bad)(uint64_t number, enum gs_event_fault fault, const char *why,
	    void *arg);
	void (*committed)(const struct gs_tally *tally, void *arg);
	/*
	 * What became of each event (duplicates, too), before committed.  May be NULL.
	 * Of a duplicate that was not read pubkey is NULL.
	 */
	void (*decided)(const struct gs_decision *decision, void *arg);
	/* From any thread: it was full, and half of that is left.  May be NULL. */
	void (*room)(void *arg);
	/*
	 * The store can't be written (a full disk): tried again every GS_INGEST_RETRY_MS
	 * without losing anything, and troubled hears of it: why, and NULL when it works
	 * again.  Else that is the end.
	 */
	bool persists;
	unsigned retry_ms; /* 0: GS_INGEST_RETRY_MS */
	void (*troubled)(const struct gs_err *why, void *arg);
	void *arg;
};
#define GS_INGEST_RETRY_MS 5000
#define GS_INGEST_QUEUE_BYTES \
	((size_t)8 << 20) /* of lines that wait, for gs_ingest_try */

struct gs_ingest;
struct gs_ingest *gs_ingest_new(struct gs_store *store,
    const struct gs_ingest_options *options, struct gs_err *err) GS_MUST;
/*
 * Copies the line: a bare event or an ["EVENT",...] frame; over GS_INGEST_LINE_BYTES it
 * counts as invalid.  Waits while the queue is full; false after a fault (see finish).
 */
bool gs_ingest_push(struct gs_ingest *ingest, struct gs_str line, uint64_t number);
/*
 * As push, without ever waiting.  The same event from several relays is verified once; a
 * forged copy never stands in the way of a true one.  Of a line that claims an id that
 * is settled nothing else is read: it counts as duplicate, whatever stands in it.
 */
enum gs_ingest_take gs_ingest_try(struct gs_ingest *ingest,
    const struct gs_ingest_line *line);
/* Nothing more is stored: see finish.  room was called when that happened. */
bool gs_ingest_has_failed(struct gs_ingest *ingest);
/*
 * Behind all lines that were taken before, in one transaction with them or later; copied.
 * Never refused.
 */
void gs_ingest_record(struct gs_ingest *ingest, const struct gs_record *record);
/*
 * Commits all that was pushed before, without waiting for it.  The first one is always
 * made: a changed policy takes effect without any event.
 */
void gs_ingest_flush(struct gs_ingest *ingest);
/*
 * Commits, ends the threads; tally (initialised by the caller) gets what was committed.
 * False: a fault stopped it, err says which.
 */
bool gs_ingest_finish(struct gs_ingest *ingest, struct gs_tally *tally,
    struct gs_err *err) GS_MUST;
void gs_ingest_free(struct gs_ingest
	*ingest); /* without finish: what is not committed is given up */

/* How the reading of a stream ended. */
enum gs_feed {
	GS_FEED_END,	 /* all was read, or the ingest has a fault that finish tells */
	GS_FEED_STOPPED, /* stop_fd became readable */
	GS_FEED_FAILED,	 /* reading failed: err, GS_EIO */
};
/*
 * Pushes each line of fd that is not blank.  A pipe that pauses is flushed, so that a
 * live stream is committed promptly.  stop_fd (-1: none) ends it when readable.
 */
enum gs_feed gs_ingest_feed(struct gs_ingest *ingest, int fd, int stop_fd,
    struct gs_err *err) GS_MUST;

#endif
