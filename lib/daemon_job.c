/*
 * What takes long, beside the loop: finding out what is followed, and writing the state
 * file.  One thread, one job at a time; the loop only ever waits for it at the end.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "daemon_private.h"
#include "file.h"
#include "mem.h"
#include "snapshot.h"

#define EXPORT_MS 60000 /* from one state file to the next: DESIGN 2 */
#define TRIM_MS 30000	/* what surveys have freed goes back to the system so often */
#define AGAIN_MS 5000	/* after a fault of the disk */

/* --- in the worker's thread --- */

static void
note_cut(const char *text, void *arg)
{
	struct gs_worker *worker = arg;

	if (worker->num_cuts++ == 0)
		(void)snprintf(worker->cut, sizeof(worker->cut), "%s", text);
}

/* What is stored while it reads may be in the state, and counts as not read yet. */
static bool
read_sequence(struct gs_daemon *daemon)
{
	struct gs_worker *worker = &daemon->worker;
	struct gs_txn *txn = gs_store_read(daemon->store, &worker->err);

	if (txn == NULL)
		return false;
	worker->sequence = gs_store_last_sequence(txn);
	gs_txn_end(txn);
	return true;
}

static bool
survey(struct gs_daemon *daemon)
{
	struct gs_worker *worker = &daemon->worker;

	worker->num_cuts = 0;
	worker->options.cut = note_cut;
	worker->options.arg = worker;
	worker->options.now_s = gs_clock_now().wall_s;
	worker->state = NULL;
	if (!read_sequence(daemon))
		return false;
	worker->state = gs_survey(daemon->store, &worker->options, &worker->err);
	return worker->state != NULL;
}

static void
move_statuses(struct gs_state *to, struct gs_state *from)
{
	struct gs_map_entry *entry;
	size_t at = 0;

	while ((entry = gs_map_next(from->relays, &at)) != NULL) {
		struct gs_relay_entry *relay = entry->value;
		struct gs_relay_entry *target = gs_map_get(to->relays, entry->key);

		if (target == NULL)
			continue;
		target->status = relay->status;
		relay->status = NULL;
	}
}

static bool
export_state(struct gs_daemon *daemon)
{
	struct gs_worker *worker = &daemon->worker;
	struct gs_buf text = GS_BUF_INIT;
	bool ok;

	if (!survey(daemon))
		return false;
	move_statuses(worker->state, worker->statuses);
	gs_snapshot_write(worker->state, &text);
	gs_state_free(worker->state);
	worker->state = NULL;
	ok = gs_file_replace(daemon->settings.state_file, text.data, text.len,
	    &worker->err);
	gs_buf_fini(&text);
	return ok;
}

static void
do_job(struct gs_daemon *daemon, enum gs_job job)
{
	struct gs_worker *worker = &daemon->worker;
	int64_t now_ms = gs_clock_now().mono_ms;
	bool ok = job == GS_JOB_SURVEY ? survey(daemon) : export_state(daemon);

	if (now_ms - worker->trimmed_ms >= TRIM_MS) {
		worker->trimmed_ms = now_ms;
		(void)malloc_trim(0);
	}
	if (ok)
		worker->err.code = GS_OK;
}

static void *
work(void *arg)
{
	struct gs_daemon *daemon = arg;
	struct gs_worker *worker = &daemon->worker;

	(void)pthread_mutex_lock(&worker->lock);
	for (;;) {
		while (!worker->is_ending &&
		    (worker->job == GS_JOB_NONE || worker->is_done))
			(void)pthread_cond_wait(&worker->wanted, &worker->lock);
		if (worker->is_ending)
			break;
		(void)pthread_mutex_unlock(&worker->lock);
		do_job(daemon, worker->job);
		(void)pthread_mutex_lock(&worker->lock);
		worker->is_done = true;
		gs_post_wake(daemon->job_post);
	}
	(void)pthread_mutex_unlock(&worker->lock);
	return NULL;
}

/* --- in the loop's --- */

bool
gs_daemon_start_worker(struct gs_daemon *daemon, struct gs_err *err)
{
	struct gs_worker *worker = &daemon->worker;

	(void)pthread_mutex_init(&worker->lock, NULL);
	(void)pthread_cond_init(&worker->wanted, NULL);
	worker->is_ending = worker->is_done = false;
	worker->job = GS_JOB_NONE;
	if (pthread_create(&worker->thread, NULL, work, daemon) != 0)
		return gs_fail(err, GS_EIO, "no thread can be started");
	worker->has_thread = true;
	return true;
}

void
gs_daemon_stop_worker(struct gs_daemon *daemon)
{
	struct gs_worker *worker = &daemon->worker;

	if (!worker->has_thread)
		return;
	(void)pthread_mutex_lock(&worker->lock);
	worker->is_ending = true;
	(void)pthread_cond_signal(&worker->wanted);
	(void)pthread_mutex_unlock(&worker->lock);
	(void)pthread_join(worker->thread, NULL);
	worker->has_thread = false;
	gs_state_free(worker->state);
	gs_state_free(worker->statuses);
	worker->state = worker->statuses = NULL;
	(void)pthread_cond_destroy(&worker->wanted);
	(void)pthread_mutex_destroy(&worker->lock);
}

/* The relays with their health, for the state file. */
static struct gs_state *
list_statuses(const struct gs_daemon *daemon)
{
	const struct gs_state *state = gs_engine_state(daemon->engine);
	struct gs_state *statuses = gs_state_new();
	struct gs_map_entry *entry;
	size_t at = 0;

	while (state != NULL && (entry = gs_map_next(state->relays, &at)) != NULL)
		(void)gs_state_add_relay(statuses, entry->key);
	gs_engine_write_status(daemon->engine, statuses);
	return statuses;
}

static void
start_job(struct gs_daemon *daemon, enum gs_job job)
{
	struct gs_worker *worker = &daemon->worker;

	worker->options = daemon->settings.survey;
	if (job == GS_JOB_EXPORT) {
		gs_state_free(worker->statuses);
		worker->statuses = list_statuses(daemon);
	}
	(void)pthread_mutex_lock(&worker->lock);
	worker->job = job;
	worker->is_done = false;
	(void)pthread_cond_signal(&worker->wanted);
	(void)pthread_mutex_unlock(&worker->lock);
}

static void
start_next_job(struct gs_daemon *daemon)
{
	if (daemon->worker.job != GS_JOB_NONE || daemon->is_ending)
		return;
	if (daemon->wants_survey) {
		daemon->wants_survey = false;
		start_job(daemon, GS_JOB_SURVEY);
	} else if (daemon->wants_export && daemon->is_ready) {
		daemon->wants_export = daemon->is_changed = false;
		daemon->exported_ms = gs_clock_now().mono_ms;
		start_job(daemon, GS_JOB_EXPORT);
	}
}

static void
say_cuts(struct gs_daemon *daemon)
{
	const struct gs_worker *worker = &daemon->worker;

	if (worker->num_cuts == daemon->num_cuts)
		return;
	daemon->num_cuts = worker->num_cuts;
	if (worker->num_cuts > 0)
		gs_log_line(&daemon->settings.log, GS_LOG_WARNING, NULL,
		    "over a cap: %s (%llu such in all)", worker->cut,
		    (unsigned long long)worker->num_cuts);
}

static void
apply(struct gs_daemon *daemon)
{
	struct gs_worker *worker = &daemon->worker;
	struct gs_now now = gs_clock_now();

	say_cuts(daemon);
	gs_engine_apply(daemon->engine, worker->state, worker->sequence, now);
	worker->state = NULL;
	daemon->num_batches++;
	daemon->last_batch_s = now.wall_s;
	daemon->is_changed = true;
	if (!daemon->is_ready)
		gs_daemon_say_start(daemon);
	daemon->is_ready = true;
	gs_daemon_follow_engine(daemon);
}

/* A disk may come back; damage stays. */
static void
take_job_fault(struct gs_daemon *daemon, enum gs_job job)
{
	const struct gs_err *err = &daemon->worker.err;

	if (job == GS_JOB_SURVEY && err->code != GS_EIO) {
		gs_daemon_fail(daemon, err);
		return;
	}
	gs_log_line(&daemon->settings.log, GS_LOG_ERROR, NULL, "%s", err->text);
	if (job == GS_JOB_SURVEY) {
		daemon->is_survey_late = true;
		gs_timer_set(daemon->window_timer, AGAIN_MS);
	} else {
		daemon->is_changed = true;
	}
}

void
gs_daemon_take_job(void *arg)
{
	struct gs_daemon *daemon = arg;
	struct gs_worker *worker = &daemon->worker;
	enum gs_job job;

	(void)pthread_mutex_lock(&worker->lock);
	job = worker->is_done ? worker->job : GS_JOB_NONE;
	(void)pthread_mutex_unlock(&worker->lock);
	if (job == GS_JOB_NONE)
		return;
	worker->job = GS_JOB_NONE;
	if (worker->err.code != GS_OK)
		take_job_fault(daemon, job);
	else if (job == GS_JOB_SURVEY)
		apply(daemon);
	else
		daemon->num_exports++;
	start_next_job(daemon);
}

/* At the start all is new, and nobody gains by waiting. */
static bool
is_over(const struct gs_daemon *daemon, struct gs_now now)
{
	return gs_window_is_due(daemon->window, now) ||
	    (!daemon->is_ready && gs_window_is_open(daemon->window));
}

void
gs_daemon_look(struct gs_daemon *daemon)
{
	struct gs_now now = gs_clock_now();
	bool is_newest;
	struct gs_err err;
	int64_t wait_ms;

	if (!gs_window_is_open(daemon->window) || is_over(daemon, now)) {
		if (!gs_window_look(daemon->window, daemon->store, now, &is_newest,
			&err)) {
			gs_daemon_fail(daemon, &err);
			return;
		}
	}
	if (is_over(daemon, now)) {
		(void)gs_window_close(daemon->window);
		daemon->wants_survey = true;
	}
	daemon->wants_survey |= daemon->is_survey_late;
	daemon->is_survey_late = false;
	wait_ms = gs_window_wait_ms(daemon->window, now);
	if (wait_ms >= 0)
		gs_timer_set(daemon->window_timer, wait_ms);
	start_next_job(daemon);
}

/* Now, or when a minute is over since the last one. */
void
gs_daemon_want_export(struct gs_daemon *daemon)
{
	if (daemon->settings.state_file == NULL)
		return;
	daemon->wants_export = true;
	start_next_job(daemon);
}

void
gs_daemon_export_if_changed(void *arg)
{
	struct gs_daemon *daemon = arg;

	gs_timer_set(daemon->export_timer, EXPORT_MS);
	if (daemon->is_changed)
		gs_daemon_want_export(daemon);
}

bool
gs_daemon_export_now(struct gs_daemon *daemon, struct gs_err *err)
{
	struct gs_worker *worker = &daemon->worker;
	bool ok;

	if (daemon->settings.state_file == NULL || !daemon->is_ready)
		return true;
	worker->options = daemon->settings.survey;
	worker->statuses = list_statuses(daemon);
	ok = export_state(daemon);
	gs_state_free(worker->statuses);
	worker->statuses = NULL;
	if (!ok)
		*err = worker->err;
	return ok;
}
