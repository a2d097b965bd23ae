/*
 * The queue between a pusher, the workers and the writer.  Batches go to whichever
 * worker is free and are stored in the order in which they were pushed, so that the
 * result does not depend on the threads.
 */
#include "ingest.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ingest_private.h"
#include "mem.h"

/* Queued or being verified: enough to keep the workers busy during a commit. */
#define BATCHES_A_WORKER 16
#define KEPT_BYTES ((size_t)16384) /* of a longer line no memory is kept */

/* --- batches --- */

static struct batch *
new_batch(void)
{
	struct batch *batch = gs_mem_new(sizeof(*batch));

	batch->items = gs_mem_array(BATCH_LINES, sizeof(*batch->items));
	return batch;
}

static void
clear_batch(struct batch *batch)
{
	size_t i;

	for (i = 0; i < batch->num; i++) {
		struct item *item = &batch->items[i];
		struct gs_event event = item->event;

		free(item->why);
		if (item->len > KEPT_BYTES) {
			gs_event_fini(&event);
			event = (struct gs_event)GS_EVENT_INIT;
		}
		*item = (struct item){ .event = event };
	}
	batch->num = 0;
	batch->is_flush = false;
	if (batch->text.cap > 2 * BATCH_BYTES)
		gs_buf_fini(&batch->text);
	gs_buf_clear(&batch->text);
}

static void
free_batches(struct batch *batch)
{
	while (batch != NULL) {
		struct batch *next = batch->next;
		size_t i;

		clear_batch(batch);
		for (i = 0; i < BATCH_LINES; i++)
			gs_event_fini(&batch->items[i].event);
		free(batch->items);
		gs_buf_fini(&batch->text);
		free(batch);
		batch = next;
	}
}

/* --- the queue; all with the lock held --- */

static struct batch *
take_spare(struct gs_ingest *ingest)
{
	struct batch *batch = ingest->spare;

	if (batch == NULL)
		return new_batch();
	ingest->spare = batch->next;
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
fill(struct gs_ingest *ingest, struct gs_str line, uint64_t number)
{
	struct batch *batch = ingest->filling;
	struct item *item = &batch->items[batch->num++];

	item->number = number;
	item->at = batch->text.len;
	if (line.len > GS_INGEST_LINE_BYTES) {
		item->fault = GS_EVENT_SIZE;
		item->why = gs_mem_str("line is too long");
	} else {
		item->len = line.len;
		gs_buf_add(&batch->text, line.ptr, line.len);
	}
	ingest->has_unflushed = true;
	if (batch->num == BATCH_LINES || batch->text.len >= BATCH_BYTES)
		queue_filling(ingest);
	else if (ingest->options.commit_when_idle)
		(void)pthread_cond_signal(&ingest->work);
}

/* For a worker.  Lines that are wanted at once do not wait for a full batch. */
static struct batch *
wait_for_work(struct gs_ingest *ingest)
{
	while (ingest->next_work == NULL && !ingest->is_ending && !ingest->has_failed) {
		if (ingest->options.commit_when_idle && ingest->filling->num > 0)
			queue_filling(ingest);
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

static void
recycle(struct gs_ingest *ingest, struct batch *batch)
{
	while (batch != NULL) {
		struct batch *next = batch->next;

		batch->next = ingest->spare;
		ingest->spare = batch;
		batch = next;
	}
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

	(void)pthread_mutex_lock(&ingest->lock);
	batch = wait_for_ready(ingest);
	if (batch != NULL) {
		ingest->first = batch->next;
		if (ingest->first == NULL)
			ingest->last = NULL;
		ingest->num_queued--;
		*commit = wants_commit(ingest, batch);
		(void)pthread_cond_signal(&ingest->room);
	}
	(void)pthread_mutex_unlock(&ingest->lock);
	return batch;
}

static void
fail(struct gs_ingest *ingest, const struct gs_err *err)
{
	ingest_give_up(ingest);
	(void)pthread_mutex_lock(&ingest->lock);
	ingest->err = *err;
	ingest->has_failed = true;
	(void)pthread_cond_broadcast(&ingest->work);
	(void)pthread_cond_broadcast(&ingest->room);
	(void)pthread_mutex_unlock(&ingest->lock);
}

static void
release_group(struct gs_ingest *ingest)
{
	struct batch *group = ingest_take_group(ingest);
	struct batch *batch;

	for (batch = group; batch != NULL; batch = batch->next)
		clear_batch(batch);
	(void)pthread_mutex_lock(&ingest->lock);
	recycle(ingest, group);
	(void)pthread_mutex_unlock(&ingest->lock);
}

static void *
run_writer(void *arg)
{
	struct gs_ingest *ingest = arg;
	struct gs_err err = { .code = GS_OK };
	struct batch *batch;
	bool commit = false;

	while ((batch = take_ready(ingest, &commit)) != NULL) {
		if (!ingest_add(ingest, batch, &err) ||
		    ((commit || ingest_is_full(ingest)) &&
			!ingest_commit(ingest, &err))) {
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

struct gs_ingest *
gs_ingest_new(struct gs_store *store, const struct gs_ingest_options *options,
    struct gs_err *err)
{
	struct gs_ingest *ingest = gs_mem_new(sizeof(*ingest));
	unsigned num_workers = count_workers(options->workers);

	ingest->store = store;
	ingest->options = *options;
	ingest->max_queued = (size_t)num_workers * BATCHES_A_WORKER;
	ingest->filling = new_batch();
	ingest->group_limit = BATCH_LINES;
	ingest->intake = gs_intake_new(options->policy);
	(void)pthread_mutex_init(&ingest->lock, NULL);
	(void)pthread_cond_init(&ingest->work, NULL);
	(void)pthread_cond_init(&ingest->ready, NULL);
	(void)pthread_cond_init(&ingest->room, NULL);
	if (!start_threads(ingest, num_workers, err)) {
		gs_ingest_free(ingest);
		return NULL;
	}
	return ingest;
}

bool
gs_ingest_push(struct gs_ingest *ingest, struct gs_str line, uint64_t number)
{
	bool ok;

	(void)pthread_mutex_lock(&ingest->lock);
	while (ingest->num_queued >= ingest->max_queued && !ingest->has_failed)
		(void)pthread_cond_wait(&ingest->room, &ingest->lock);
	ok = !ingest->has_failed;
	if (ok)
		fill(ingest, line, number);
	(void)pthread_mutex_unlock(&ingest->lock);
	return ok;
}

void
gs_ingest_flush(struct gs_ingest *ingest)
{
	(void)pthread_mutex_lock(&ingest->lock);
	if (ingest->has_unflushed)
		queue_flush(ingest);
	(void)pthread_mutex_unlock(&ingest->lock);
}

/* The last flush is always made: a changed policy takes effect without any event. */
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
	free_batches(ingest->first);
	free_batches(ingest->group);
	free_batches(ingest->filling);
	free_batches(ingest->spare);
	gs_tally_fini(&ingest->tally);
	free(ingest->workers);
	(void)pthread_cond_destroy(&ingest->work);
	(void)pthread_cond_destroy(&ingest->ready);
	(void)pthread_cond_destroy(&ingest->room);
	(void)pthread_mutex_destroy(&ingest->lock);
	free(ingest);
}
