/*
 * What the files of ingest share: batches, the queue, the writer's group.  Only
 * ingest*.c may include it.
 */
#ifndef GS_INGEST_PRIVATE_H
#define GS_INGEST_PRIVATE_H

#include <pthread.h>

#include "ingest.h"

#define BATCH_LINES 256
#define BATCH_BYTES ((size_t)256 * 1024)

/* One line on its way; its event is filled by a worker and read by the writer. */
struct item {
	uint64_t number;
	size_t at, len;	 /* in the batch's text */
	bool is_settled; /* the store knows the id: the signature was not checked */
	enum gs_event_fault fault;
	char *why; /* of the fault */
	struct gs_event event;
};

struct batch {
	struct batch *next;
	enum { BATCH_QUEUED, BATCH_TAKEN, BATCH_READY } stage;
	bool is_flush; /* commit behind it */
	struct gs_buf text;
	struct item *items; /* BATCH_LINES */
	size_t num;
};

struct gs_ingest {
	struct gs_store *store;
	struct gs_ingest_options options;
	size_t max_queued;

	pthread_mutex_t lock; /* of all down to err */
	pthread_cond_t work, ready, room;
	struct batch *first, *last; /* pushed and not yet with the writer, in order */
	struct batch *next_work;    /* the first of them that no worker has taken */
	size_t num_queued;
	struct batch *filling;
	struct batch *spare;
	bool has_unflushed;
	bool is_ending, has_failed;
	struct gs_err err;

	pthread_t writer, *workers;
	unsigned num_workers; /* running */
	bool has_writer;      /* running */

	/* the writer's own: what it has taken since the last commit */
	struct gs_intake *intake;
	struct gs_txn *txn;
	struct batch *group, *group_last;
	size_t group_lines, group_bytes;
	size_t group_limit; /* of lines; small at first, so that something is safe soon */
	int64_t group_since_ms;
	struct gs_tally counts; /* of the group, without what intake counts */
	struct gs_tally tally;	/* committed */
};

/* --- ingest_verify.c --- */

/* Parses and verifies each line; any thread. */
void ingest_verify(struct gs_ingest *ingest, struct batch *batch, struct gs_buf *scratch);
/* Does what the store knows of an id settle it for this policy? */
bool ingest_is_settled(const struct gs_ingest *ingest, enum gs_known known);

/* --- ingest_write.c: the writer thread --- */

/* Stores a batch as part of the group, which takes it. */
bool ingest_add(struct gs_ingest *ingest, struct batch *batch,
    struct gs_err *err) GS_MUST;
/* Is the group as large or as old as it may be? */
bool ingest_is_full(const struct gs_ingest *ingest);
bool ingest_commit(struct gs_ingest *ingest, struct gs_err *err) GS_MUST;
void ingest_give_up(struct gs_ingest *ingest);
/* Takes the batches of the last group, linked by next. */
struct batch *ingest_take_group(struct gs_ingest *ingest);

#endif
