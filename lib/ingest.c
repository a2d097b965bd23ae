/*
 * The queue between a pusher, the workers and the writer.  Batches go to whichever
 * worker is free and are stored in the order in which they were pushed, so that the
 * result does not depend on the threads.
 */
#include "ingest.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "ingest_private.h"
#include "mem.h"

/* Queued or being verified: enough to keep the workers busy during a commit. */
#define BATCHES_A_WORKER 16
#define SPARE_BATCHES 8 /* kept by an ingest that is mostly idle */

/* --- the queue; all with the lock held --- */

static struct batch *
take_spare(struct gs_ingest *ingest)
{
	struct batch *batch = ingest->spare;

	if (batch == NULL)
		return batch_new();
	ingest->spare = batch->next;
	ingest->num_spare--;
	batch->next = NULL;
	return batch;
}

static void
queue_filling(struct gs_ingest *ingest)
{
	struct batch *batch = ingest->filling;

	batch->stage = BATCH_QUEUED;
	if (ingest->last != NULL)
		ingest->last->next = batch;
	else
		ingest->first = batch;
	ingest->last = batch;
	if (ingest->next_work == NULL)
		ingest->next_work = batch;
	ingest->num_queued++;
	ingest->filling = take_spare(ingest);
	(void)pthread_cond_signal(&ingest->work);
}

static void
queue_flush(struct gs_ingest *ingest)
{
	ingest->filling->is_flush = true;
	ingest->has_unflushed = false;
	queue_filling(ingest);
}

static void
fill(struct gs_ingest *ingest, const struct gs_ingest_line *line, bool may_skip)
{
	struct batch *batch = ingest->filling;

	batch_add(batch, line, may_skip);
	ingest->queued_bytes += batch_cost(line);
	ingest->has_unflushed = true;
	if (batch->num == BATCH_LINES || batch->text.len >= BATCH_BYTES)
		queue_filling(ingest);
	else if (ingest->options.commit_when_idle)
		(void)pthread_cond_signal(&ingest->work);
}

/*
 * Lines that are wanted at once do not wait for a full batch, unless many batches wait.
 * Records can wait for lines a while.
 */
static bool
is_filling_due(const struct gs_ingest *ingest)
{
	if (!ingest->options.commit_when_idle || ingest->num_queued >= ingest->max_queued)
		return false;
	return ingest->filling->num > 0 ||
	    (ingest->filling->records != NULL &&
		gs_clock_now().mono_ms >= ingest->records_due_ms);
}

/* For a worker. */
static struct batch *
wait_for_work(struct gs_ingest *ingest)
{
	while (ingest->next_work == NULL && !ingest->is_ending && !ingest->has_failed) {
		if (is_filling_due(ingest))
			queue_filling(ingest);
		else if (ingest->options.commit_when_idle &&
		    ingest->num_queued < ingest->max_queued &&
		    ingest->filling->records != NULL)
			ingest_wait_until(&ingest->work, &ingest->lock,
			    ingest->records_due_ms);
		else
			(void)pthread_cond_wait(&ingest->work, &ingest->lock);
	}
	return ingest->has_failed ? NULL : ingest->next_work;
}

/* For the writer: the first batch once it is verified; NULL: nothing more comes. */
static struct batch *
wait_for_ready(struct gs_ingest *ingest)
{
	while (!ingest->has_failed) {
		if (ingest->first != NULL && ingest->first->stage == BATCH_READY)
			return ingest->first;
		if (ingest->first == NULL && ingest->is_ending)
			return NULL;
		(void)pthread_cond_wait(&ingest->ready, &ingest->lock);
	}
	return NULL;
}

/* A flush that another one follows is left to that one: commits grow with the load. */
static bool
wants_commit(const struct gs_ingest *ingest, const struct batch *batch)
{
	if (batch->is_flush && !(ingest->last != NULL && ingest->last->is_flush))
		return true;
	return ingest->options.commit_when_idle && ingest->first == NULL &&
	    ingest->filling->num == 0;
}

/* Returns what is not to be kept, linked. */
static struct batch *
recycle(struct gs_ingest *ingest, struct batch *batch)
{
	while (batch != NULL &&
	    !(ingest->options.commit_when_idle && ingest->num_spare >= SPARE_BATCHES)) {
		struct batch *next = batch->next;

		batch->next = ingest->spare;
		ingest->spare = batch;
		ingest->num_spare++;
		batch = next;
	}
	return batch;
}

/* A line was refused, and now there is room; then room is to be called. */
static bool
has_room_again(struct gs_ingest *ingest)
{
	if (!ingest->wants_room ||
	    (ingest->queued_bytes > GS_INGEST_QUEUE_BYTES / 2 && !ingest->has_failed))
		return false;
	ingest->wants_room = false;
	return ingest->options.room != NULL;
}

/* --- threads --- */

static struct batch *
take_work(struct gs_ingest *ingest)
{
	struct batch *batch;

	(void)pthread_mutex_lock(&ingest->lock);
	batch = wait_for_work(ingest);
	if (batch != NULL) {
		batch->stage = BATCH_TAKEN;
		ingest->next_work = batch->next;
	}
	(void)pthread_mutex_unlock(&ingest->lock);
	return batch;
}

static void *
run_worker(void *arg)
{
	struct gs_ingest *ingest = arg;
	struct gs_buf scratch = GS_BUF_INIT;
	struct batch *batch;

	while ((batch = take_work(ingest)) != NULL) {
		ingest_verify(ingest, batch, &scratch);
		(void)pthread_mutex_lock(&ingest->lock);
		batch->stage = BATCH_READY;
		(void)pthread_cond_signal(&ingest->ready);
		(void)pthread_mutex_unlock(&ingest->lock);
	}
	gs_buf_fini(&scratch);
	return NULL;
}

static struct batch *
take_ready(struct gs_ingest *ingest, bool *commit)
{
	struct batch *batch;
	bool has_room = false;

	(void)pthread_mutex_lock(&ingest->lock);
	batch = wait_for_ready(ingest);
	if (batch != NULL) {
		ingest->first = batch->next;
		if (ingest->first == NULL)
			ingest->last = NULL;
		ingest->num_queued--;
		ingest->queued_bytes -= batch->cost;
		*commit = wants_commit(ingest, batch);
		has_room = has_room_again(ingest);
		(void)pthread_cond_signal(&ingest->room);
		if (!batch_is_empty(ingest->filling)) /* its turn may have come */
			(void)pthread_cond_signal(&ingest->work);
	}
	(void)pthread_mutex_unlock(&ingest->lock);
	if (has_room)
		ingest->options.room(ingest->options.arg);
	return batch;
}

static void
fail(struct gs_ingest *ingest, const struct gs_err *err)
{
	bool has_room;

	ingest_give_up(ingest);
	(void)pthread_mutex_lock(&ingest->lock);
	ingest->err = *err;
	ingest->has_failed = true;
	has_room = has_room_again(ingest);
	(void)pthread_cond_broadcast(&ingest->work);
	(void)pthread_cond_broadcast(&ingest->room);
	(void)pthread_mutex_unlock(&ingest->lock);
	if (has_room)
		ingest->options.room(ingest->options.arg);
}

static void
release_group(struct gs_ingest *ingest)
{
	struct batch *group = ingest_take_group(ingest);
	struct batch *batch;

	for (batch = group; batch != NULL; batch = batch->next)
		batch_clear(batch);
	(void)pthread_mutex_lock(&ingest->lock);
	group = recycle(ingest, group);
	(void)pthread_mutex_unlock(&ingest->lock);
	batch_free(group);
}

static bool
write_batch(struct gs_ingest *ingest, struct batch *batch, bool commit,
    struct gs_err *err)
{
	if (ingest_add(ingest, batch, err) &&
	    (!(commit || ingest_is_full(ingest)) || ingest_commit(ingest, err)))
		return true;
	return ingest->options.persists && err->code == GS_EIO &&
	    ingest_persist(ingest, err);
}

static void *
run_writer(void *arg)
{
	struct gs_ingest *ingest = arg;
	struct gs_err err = { .code = GS_OK };
	struct batch *batch;
	bool commit = false;

	while ((batch = take_ready(ingest, &commit)) != NULL) {
		if (!write_batch(ingest, batch, commit, &err)) {
			fail(ingest, &err);
			return NULL;
		}
		if (ingest->txn == NULL)
			release_group(ingest);
	}
	return NULL;
}

static void
stop_threads(struct gs_ingest *ingest)
{
	(void)pthread_mutex_lock(&ingest->lock);
	ingest->is_ending = true;
	(void)pthread_cond_broadcast(&ingest->work);
	(void)pthread_cond_broadcast(&ingest->ready);
	(void)pthread_cond_broadcast(&ingest->ending);
	(void)pthread_mutex_unlock(&ingest->lock);
	while (ingest->num_workers > 0)
		(void)pthread_join(ingest->workers[--ingest->num_workers], NULL);
	if (ingest->has_writer)
		(void)pthread_join(ingest->writer, NULL);
	ingest->has_writer = false;
}

static bool
start_threads(struct gs_ingest *ingest, unsigned num_workers, struct gs_err *err)
{
	int error = pthread_create(&ingest->writer, NULL, run_writer, ingest);

	ingest->has_writer = error == 0;
	ingest->workers = gs_mem_array(num_workers, sizeof(*ingest->workers));
	while (error == 0 && ingest->num_workers < num_workers) {
		error = pthread_create(&ingest->workers[ingest->num_workers], NULL,
		    run_worker, ingest);
		ingest->num_workers += error == 0;
	}
	if (error != 0)
		return gs_fail(err, GS_EINCOMPLETE, "thread: %s", strerror(error));
	return true;
}

static unsigned
count_workers(unsigned wanted)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);

	if (wanted == 0)
		wanted = cores > 0 ? (unsigned)cores : 1;
	return wanted < GS_INGEST_WORKERS ? wanted : GS_INGEST_WORKERS;
}

static void
init_locks(struct gs_ingest *ingest)
{
	pthread_condattr_t attr; /* of waits that end at a time of gs_clock_now */

	(void)pthread_condattr_init(&attr);
	(void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	(void)pthread_mutex_init(&ingest->lock, NULL);
	(void)pthread_cond_init(&ingest->work, &attr);
	(void)pthread_cond_init(&ingest->ending, &attr);
	(void)pthread_cond_init(&ingest->ready, NULL);
	(void)pthread_cond_init(&ingest->room, NULL);
	(void)pthread_condattr_destroy(&attr);
}

static void
fini_locks(struct gs_ingest *ingest)
{
	(void)pthread_cond_destroy(&ingest->work);
	(void)pthread_cond_destroy(&ingest->ending);
	(void)pthread_cond_destroy(&ingest->ready);
	(void)pthread_cond_destroy(&ingest->room);
	(void)pthread_mutex_destroy(&ingest->lock);
}

struct gs_ingest *
gs_ingest_new(struct gs_store *store, const struct gs_ingest_options *options,
    struct gs_err *err)
{
	struct gs_ingest *ingest = gs_mem_new(sizeof(*ingest));
	unsigned num_workers = count_workers(options->workers);

	ingest->store = store;
	ingest->options = *options;
	ingest->max_queued = (size_t)num_workers * BATCHES_A_WORKER;
	ingest->filling = batch_new();
	ingest->group_limit = BATCH_LINES;
	ingest->has_unflushed = true;
	ingest->decisions = gs_decisions_new();
	ingest->intake = gs_intake_new(options->policy);
	if (options->decided != NULL)
		gs_intake_set_decided(ingest->intake, options->decided, options->arg);
	verified_init(&ingest->verified);
	init_locks(ingest);
	if (!start_threads(ingest, num_workers, err)) {
		gs_ingest_free(ingest);
		return NULL;
	}
	return ingest;
}

bool
gs_ingest_push(struct gs_ingest *ingest, struct gs_str text, uint64_t number)
{
	struct gs_ingest_line line = { .text = text, .number = number };
	bool ok;

	(void)pthread_mutex_lock(&ingest->lock);
	while (ingest->num_queued >= ingest->max_queued && !ingest->has_failed)
		(void)pthread_cond_wait(&ingest->room, &ingest->lock);
	ok = !ingest->has_failed;
	if (ok)
		fill(ingest, &line, false);
	(void)pthread_mutex_unlock(&ingest->lock);
	return ok;
}

enum gs_ingest_take
gs_ingest_try(struct gs_ingest *ingest, const struct gs_ingest_line *line)
{
	enum gs_ingest_take take = GS_INGEST_TAKEN;

	(void)pthread_mutex_lock(&ingest->lock);
	if (ingest->has_failed) {
		take = GS_INGEST_FAILED;
	} else {
		fill(ingest, line, true);
		if (ingest->queued_bytes > GS_INGEST_QUEUE_BYTES)
			take = GS_INGEST_FULL;
	}
	ingest->wants_room = ingest->wants_room || take == GS_INGEST_FULL;
	(void)pthread_mutex_unlock(&ingest->lock);
	return take;
}

bool
gs_ingest_has_failed(struct gs_ingest *ingest)
{
	bool has_failed;

	(void)pthread_mutex_lock(&ingest->lock);
	has_failed = ingest->has_failed;
	(void)pthread_mutex_unlock(&ingest->lock);
	return has_failed;
}

void
gs_ingest_record(struct gs_ingest *ingest, const struct gs_record *record)
{
	struct batch *filling;

	(void)pthread_mutex_lock(&ingest->lock);
	filling = ingest->filling;
	if (!ingest->has_failed) {
		if (filling->records == NULL) {
			ingest->records_due_ms = gs_clock_now().mono_ms + RECORD_MS;
			(void)pthread_cond_signal(&ingest->work);
		}
		batch_add_record(filling, record);
		ingest->has_unflushed = true;
	}
	(void)pthread_mutex_unlock(&ingest->lock);
}

void
gs_ingest_flush(struct gs_ingest *ingest)
{
	(void)pthread_mutex_lock(&ingest->lock);
	if (ingest->has_unflushed)
		queue_flush(ingest);
	(void)pthread_mutex_unlock(&ingest->lock);
}

/* The last flush is always made, too. */
bool
gs_ingest_finish(struct gs_ingest *ingest, struct gs_tally *tally, struct gs_err *err)
{
	(void)pthread_mutex_lock(&ingest->lock);
	queue_flush(ingest);
	(void)pthread_mutex_unlock(&ingest->lock);
	stop_threads(ingest);
	gs_tally_add(tally, &ingest->tally);
	if (!ingest->has_failed)
		return true;
	if (err != NULL)
		*err = ingest->err;
	return false;
}

void
gs_ingest_free(struct gs_ingest *ingest)
{
	if (ingest == NULL)
		return;
	(void)pthread_mutex_lock(&ingest->lock);
	ingest->has_failed = true;
	(void)pthread_mutex_unlock(&ingest->lock);
	stop_threads(ingest);
	ingest_give_up(ingest);
	gs_intake_free(ingest->intake);
	batch_free(ingest->first);
	batch_free(ingest->group);
	batch_free(ingest->filling);
	batch_free(ingest->spare);
	gs_decisions_free(ingest->decisions);
	gs_tally_fini(&ingest->tally);
	verified_fini(&ingest->verified);
	free(ingest->workers);
	fini_locks(ingest);
	free(ingest);
}
