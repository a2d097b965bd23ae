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

/* With commit_when_idle: records without lines wait so long for others. */
#define RECORD_MS 1000

/* One line on its way; its event is filled by a worker and read by the writer. */
struct item {
	uint64_t number;
	size_t at, len; /* in the batch's text */
	size_t from_at, from_len;
	uint32_t tag;
	bool may_skip;	 /* of a known id nothing more is read */
	bool is_parsed;	 /* else the event has its id alone, at most */
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
	size_t cost; /* bytes that its lines take */
	struct kept_record *records, *last_record;
};

/* Signatures that hold, of late; a forged one is never among them. */
struct verified {
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t checked;
	struct gs_map *young, *old; /* id and signature; no value: being checked */
	uint64_t num_checks;
};

struct gs_ingest {
	struct gs_store *store;
	struct gs_ingest_options options;
	size_t max_queued;

	pthread_mutex_t lock; /* of all down to err */
	pthread_cond_t work, ready, room;
	pthread_cond_t ending;
	struct batch *first, *last; /* pushed and not yet with the writer, in order */
	struct batch *next_work;    /* the first of them that no worker has taken */
	size_t num_queued;
	size_t queued_bytes; /* cost of what the writer has not yet taken */
	bool wants_room;     /* a line was not taken */
	int64_t records_due_ms;
	struct batch *filling;
	struct batch *spare;
	size_t num_spare;
	bool has_unflushed;
	bool is_ending, has_failed;
	struct gs_err err;

	pthread_t writer, *workers;
	unsigned num_workers; /* running */
	bool has_writer;      /* running */

	struct verified verified;

	/* the writer's own: what it has taken since the last commit */
	struct gs_intake *intake;
	struct gs_txn *txn;
	struct batch *group, *group_last;
	size_t group_lines, group_bytes;
	size_t group_limit; /* of lines; small at first, so that something is safe soon */
	int64_t group_since_ms;
	struct gs_tally counts; /* of the group, without what intake counts */
	struct gs_tally tally;	/* committed */
	struct gs_decisions
	    *decisions; /* of the group: duplicates that intake never saw */
};

/* --- ingest_batch.c --- */

struct batch *batch_new(void);
void batch_clear(struct batch *batch); /* keeps memory */
void batch_free(struct batch *batch);  /* and all that are linked behind it */
size_t batch_cost(const struct gs_ingest_line *line);
void batch_add(struct batch *batch, const struct gs_ingest_line *line, bool may_skip);
void batch_add_record(struct batch *batch, const struct gs_record *record);
bool batch_is_empty(const struct batch *batch);
bool batch_put_records(const struct batch *batch, struct gs_txn *txn,
    struct gs_err *err) GS_MUST;

/* --- ingest_id.c --- */

/*
 * The id that the event in this line claims, which may be forged; nothing else of it
 * is proven.  Never another one than the parser reads; false if the line is odd.
 */
bool ingest_find_id(uint8_t id[static 32], struct gs_str line);

/* --- ingest_verified.c --- */

void verified_init(struct verified *verified);
void verified_fini(struct verified *verified);
/* Does the signature hold?  Checked once for all copies; the id must have been. */
bool verified_check(struct verified *verified, const struct gs_event *event);

/* --- ingest_persist.c: the writer thread --- */

/*
 * The group could not be written: keeps trying, until it is or the ingest ends, with
 * one more try then.
 */
bool ingest_persist(struct gs_ingest *ingest, struct gs_err *err) GS_MUST;
/* Any thread: waits with the lock held, until a time of the monotonic clock at most. */
void ingest_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, int64_t due_ms);

/* --- ingest_verify.c --- */

/* Parses and verifies each line, unless its id is settled; any thread. */
void ingest_verify(struct gs_ingest *ingest, struct batch *batch, struct gs_buf *scratch);
/* What is not settled any more is parsed and verified after all. */
void ingest_verify_item(struct gs_ingest *ingest, const struct batch *batch,
    struct item *item, struct gs_buf *scratch);
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
/* Gives up the transaction, then does all of the group once more. */
bool ingest_repeat(struct gs_ingest *ingest, struct gs_err *err) GS_MUST;
/* Takes the batches of the last group, linked by next. */
struct batch *ingest_take_group(struct gs_ingest *ingest);

#endif
