/*
 * From raw lines to stored events: worker threads parse and verify, one writer
 * thread stores in groups (DESIGN 4).  The caller pushes; a full queue makes it wait.
 */
#ifndef GS_INGEST_H
#define GS_INGEST_H

#include "waiting.h"

#define GS_INGEST_COMMIT_EVENTS 10000

struct gs_ingest_options {
	unsigned workers;	   /* 0: one a core */
	bool commit_when_idle;	   /* when the queue is empty; else only when full or flushed */
	int64_t now_s;		   /* fixed time for expiry, or -1: the clock */
	const struct gs_policy *policy; /* NULL: store every valid event */
	/*
	 * Called from the writer thread.  bad: a line that is no valid event (number is the
	 * pusher's).  committed: after each commit, with the totals so far.
	 */
	void (*bad)(uint64_t number, enum gs_event_fault fault, const char *why, void *arg);
	void (*committed)(const struct gs_tally *tally, void *arg);
	void *arg;
};

struct gs_ingest;
struct gs_ingest *gs_ingest_new(struct gs_store *store, const struct gs_ingest_options *options, struct gs_err *err) GS_MUST;
/* Copies the line: a bare event or an ["EVENT",...] frame.  Waits while the queue is full; false after a fault (see finish). */
bool gs_ingest_push(struct gs_ingest *ingest, struct gs_str line, uint64_t number);
/* Commits all that was pushed before, without waiting for it. */
void gs_ingest_flush(struct gs_ingest *ingest);
/* Commits, ends the threads; tally holds what was committed.  False: a fault stopped it, err says which. */
bool gs_ingest_finish(struct gs_ingest *ingest, struct gs_tally *tally, struct gs_err *err) GS_MUST;
void gs_ingest_free(struct gs_ingest *ingest);

#endif
