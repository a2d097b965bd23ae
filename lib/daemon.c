/*
 * grasp-syncd from start to end: the store opened, what an earlier run knew restored,
 * the loop run, signals obeyed, everything saved.
 */
#include "daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "daemon_private.h"
#include "mem.h"

#define END_S 5	      /* from SIGTERM to the end */
#define SETTLE_MS 250 /* from a write to what can be seen of it */

void
gs_daemon_fail(struct gs_daemon *daemon, const struct gs_err *err)
{
	gs_log_line(&daemon->settings.log, GS_LOG_ERROR, NULL, "%s", err->text);
	if (daemon->code == GS_OK)
		daemon->code = err->code;
	gs_loop_stop(daemon->loop);
}

/* --- timers and news --- */

static void
tick_engine(void *arg)
{
	struct gs_daemon *daemon = arg;

	daemon->engine_due_ms = -1;
	gs_daemon_excuse_pause(daemon);
	gs_engine_tick(daemon->engine, gs_clock_now());
	gs_daemon_follow_engine(daemon);
}

void
gs_daemon_follow_engine(struct gs_daemon *daemon)
{
	int64_t due_ms = gs_engine_deadline_ms(daemon->engine);
	int64_t wait_ms;

	if (due_ms == daemon->engine_due_ms || due_ms < 0)
		return;
	daemon->engine_due_ms = due_ms;
	wait_ms = due_ms - gs_clock_now().mono_ms;
	gs_timer_set(daemon->engine_timer, wait_ms > 0 ? wait_ms : 0);
}

static void
take_ingest_news(void *arg)
{
	struct gs_daemon *daemon = arg;

	if (daemon->is_ending)
		return;
	gs_daemon_take_news(daemon);
	gs_daemon_look(daemon);
	gs_daemon_follow_engine(daemon);
}

static void
look_again(void *arg)
{
	gs_daemon_look(arg);
}

/* Somebody has written to the store, we or another process: a moment later it is seen. */
static void
take_wake(void *arg)
{
	struct gs_daemon *daemon = arg;
	struct gs_err err;

	switch (gs_wake_read(daemon->wake)) {
	case GS_WAKE_NOTHING:
		break;
	case GS_WAKE_WRITTEN:
		if (!gs_window_is_open(daemon->window))
			gs_timer_set(daemon->window_timer, SETTLE_MS);
		break;
	case GS_WAKE_GONE:
		(void)gs_fail(&err, GS_EIO, "%s: the store was removed or replaced",
		    daemon->settings.dir);
		gs_daemon_fail(daemon, &err);
		break;
	}
}

static bool
watch_store(struct gs_daemon *daemon, struct gs_err *err)
{
	daemon->wake = gs_wake_open(daemon->settings.dir, err);
	if (daemon->wake == NULL)
		return false;
	daemon->wake_watch =
	    gs_watch_new(daemon->loop, gs_wake_fd(daemon->wake), take_wake, daemon);
	if (daemon->wake_watch == NULL)
		return gs_fail(err, GS_EIO, "the store can't be watched");
	gs_watch_set(daemon->wake_watch, GS_WATCH_READ);
	return true;
}

/* --- signals --- */

/* Another policy, another intake: what the old one was given is committed first. */
static bool
change_policy(struct gs_daemon *daemon, const struct gs_daemon_settings *settings,
    struct gs_err *err)
{
	uint8_t before[32], after[32];

	gs_policy_fingerprint(daemon->settings.policy, before);
	gs_policy_fingerprint(settings->policy, after);
	if (!gs_daemon_finish_ingest(daemon, err))
		return false;
	daemon->settings.policy = settings->policy;
	daemon->settings.survey = settings->survey;
	if (!gs_daemon_start_ingest(daemon, err))
		return false;
	if (memcmp(before, after, sizeof(before)) != 0) {
		gs_engine_make_full(daemon->engine, gs_clock_now());
		gs_engine_save(daemon->engine, gs_clock_now());
	}
	return true;
}

static void
reload(struct gs_daemon *daemon)
{
	const struct gs_log *log = &daemon->settings.log;
	const struct gs_daemon_settings *settings;
	struct gs_err err;

	gs_daemon_stop_worker(daemon);
	settings = daemon->ops.reload(daemon->ops.arg);
	if (settings == NULL) {
		gs_log_line(log, GS_LOG_ERROR, NULL,
		    "the settings can't be read again: the old ones stay");
	} else {
		daemon->settings.log = settings->log;
		daemon->settings.state_file = settings->state_file;
		gs_window_set_length(daemon->window, settings->window_ms);
		if (!change_policy(daemon, settings, &err)) {
			gs_daemon_fail(daemon, &err);
			return;
		}
		gs_log_line(log, GS_LOG_INFO, NULL, "the settings were read again");
	}
	if (!gs_daemon_start_worker(daemon, &err)) {
		gs_daemon_fail(daemon, &err);
		return;
	}
	/* what the worker had in hand is done again */
	daemon->is_survey_late = daemon->is_changed = true;
	gs_daemon_look(daemon);
	gs_daemon_follow_engine(daemon);
}

static void
take_signal(int number, void *arg)
{
	struct gs_daemon *daemon = arg;

	switch (number) {
	case SIGHUP:
		reload(daemon);
		break;
	case SIGUSR1:
		gs_daemon_dump(daemon);
		gs_daemon_want_export(daemon);
		break;
	default:
		gs_log_line(&daemon->settings.log, GS_LOG_INFO, NULL,
		    "ends; a second signal ends it at once");
		gs_loop_stop(daemon->loop);
		break;
	}
}

/* --- what an earlier run knew --- */

struct restoring {
	struct gs_daemon *daemon;
	struct gs_txn *txn;
	struct gs_str url;
	struct gs_now now;
	bool ok;
	struct gs_err *err;
};

static bool
restore_pair(struct gs_str ref, uint64_t sequence, void *arg)
{
	const struct restoring *restoring = arg;

	gs_engine_restore_pair(restoring->daemon->engine, restoring->url, ref, sequence,
	    restoring->now);
	return true;
}

static bool
restore_relay(const struct gs_progress_relay *relay, void *arg)
{
	struct restoring *restoring = arg;

	gs_engine_restore(restoring->daemon->engine, relay, restoring->now);
	restoring->url = relay->url;
	restoring->ok = gs_progress_pairs(restoring->txn, relay->url, restore_pair,
	    restoring, restoring->err);
	return restoring->ok;
}

/* Was it judged by this policy? */
static bool
is_policy_new(struct gs_daemon *daemon, struct gs_txn *txn)
{
	uint8_t before[32], now[32];

	gs_policy_fingerprint(daemon->settings.policy, now);
	return gs_store_get_policy(txn, before) && memcmp(before, now, sizeof(now)) != 0;
}

static bool
restore(struct gs_daemon *daemon, struct gs_err *err)
{
	struct restoring restoring = {
		.daemon = daemon, .now = gs_clock_now(), .ok = true, .err = err
	};
	size_t damaged = 0;
	bool is_new, ok;

	restoring.txn = gs_store_read(daemon->store, err);
	if (restoring.txn == NULL)
		return false;
	is_new = is_policy_new(daemon, restoring.txn);
	ok =
	    gs_progress_relays(restoring.txn, restore_relay, &restoring, &damaged, err) &&
	    restoring.ok;
	gs_txn_end(restoring.txn);
	if (damaged > 0)
		gs_log_line(&daemon->settings.log, GS_LOG_WARNING, NULL,
		    "%zu rows about relays are damaged: they are read anew", damaged);
	if (is_new) {
		gs_log_line(&daemon->settings.log, GS_LOG_INFO, NULL,
		    "the policy has changed: everything is judged and read anew");
		gs_engine_make_full(daemon->engine, restoring.now);
	}
	return ok;
}

/* --- start and end --- */

static bool
open_store(struct gs_daemon *daemon, struct gs_err *err)
{
	const struct gs_store_options options = { .create = true };

	daemon->store = gs_store_open(daemon->settings.dir, &options, err);
	return daemon->store != NULL;
}

static bool
open_decisions(struct gs_daemon *daemon, struct gs_err *err)
{
	const char *path = daemon->settings.decisions;

	if (path == NULL)
		return true;
	daemon->decisions_fd =
	    open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
	return daemon->decisions_fd >= 0 ||
	    gs_fail(err, GS_ECREATE, "%s: %s", path, strerror(errno));
}

static bool
open_loop(struct gs_daemon *daemon, struct gs_err *err)
{
	const struct gs_loop_ops ops = {
		.signalled = take_signal, .more_signals = true, .arg = daemon
	};

	gs_loop_raise_files();
	daemon->loop = gs_loop_new(&ops, &daemon->settings.net, err);
	if (daemon->loop == NULL)
		return false;
	daemon->engine_timer = gs_timer_new(daemon->loop, tick_engine, daemon);
	daemon->window_timer = gs_timer_new(daemon->loop, look_again, daemon);
	daemon->export_timer =
	    gs_timer_new(daemon->loop, gs_daemon_export_if_changed, daemon);
	daemon->ingest_post = gs_post_new(daemon->loop, take_ingest_news, daemon, err);
	if (daemon->ingest_post == NULL)
		return false;
	daemon->job_post = gs_post_new(daemon->loop, gs_daemon_take_job, daemon, err);
	if (daemon->job_post == NULL)
		return false;
	if (daemon->settings.net.proxy != NULL)
		return true;
	daemon->resolver = gs_resolver_new(daemon->loop, NULL, NULL, err);
	return daemon->resolver != NULL;
}

static bool
open_httpd(struct gs_daemon *daemon, struct gs_err *err)
{
	const struct gs_httpd_ops ops = { gs_daemon_show, daemon };

	if (daemon->settings.listen == NULL)
		return true;
	daemon->httpd = gs_httpd_new(daemon->loop, daemon->settings.listen, &ops, err);
	if (daemon->httpd == NULL)
		return false;
	gs_log_line(&daemon->settings.log, GS_LOG_INFO, NULL, "listens on %s",
	    gs_httpd_address(daemon->httpd));
	return true;
}

static void
make_engine(struct gs_daemon *daemon)
{
	const struct gs_daemon_settings *settings = &daemon->settings;
	const struct gs_engine_options options = {
		.silence_ms = settings->silence_ms,
		.max_backoff_ms = settings->max_backoff_ms,
		.auth = settings->auth,
		.per_address =
		    settings->survey.allow_private || settings->net.proxy != NULL
		    ? 0
		    : GS_ENGINE_ADDRESS,
	};
	struct gs_engine_ops ops = { .arg = daemon };

	gs_daemon_fill_ops(&ops);
	daemon->engine = gs_engine_new(&options, &ops, gs_clock_now());
}

static bool
start(struct gs_daemon *daemon, struct gs_err *err)
{
	if (!open_store(daemon, err) || !open_decisions(daemon, err) ||
	    !open_loop(daemon, err))
		return false;
	make_engine(daemon);
	return open_httpd(daemon, err) && watch_store(daemon, err) &&
	    restore(daemon, err) && gs_daemon_start_ingest(daemon, err) &&
	    gs_daemon_start_worker(daemon, err);
}

struct gs_daemon *
gs_daemon_new(const struct gs_daemon_settings *settings, const struct gs_daemon_ops *ops,
    struct gs_err *err)
{
	struct gs_daemon *daemon = gs_mem_new(sizeof(*daemon));

	daemon->settings = *settings;
	daemon->ops = *ops;
	daemon->decisions_fd = -1;
	daemon->engine_due_ms = -1;
	daemon->started_s = gs_clock_now().wall_s;
	daemon->window = gs_window_new(settings->window_ms);
	gs_ledger_init(&daemon->ledger);
	if (start(daemon, err))
		return daemon;
	gs_daemon_free(daemon);
	return NULL;
}

/* From here on a second SIGTERM ends the process, and so does taking too long. */
static void
limit_end(void)
{
	sigset_t signals;

	(void)signal(SIGTERM, SIG_DFL);
	(void)signal(SIGINT, SIG_DFL);
	(void)signal(SIGALRM, SIG_DFL);
	(void)sigemptyset(&signals);
	(void)sigaddset(&signals, SIGTERM);
	(void)sigaddset(&signals, SIGINT);
	(void)sigaddset(&signals, SIGALRM);
	(void)pthread_sigmask(SIG_UNBLOCK, &signals, NULL);
	(void)alarm(END_S);
}

static void
save_all(struct gs_daemon *daemon)
{
	struct gs_err err;

	gs_engine_save(daemon->engine, gs_clock_now());
	if (daemon->ingest != NULL && !gs_daemon_finish_ingest(daemon, &err))
		gs_daemon_fail(daemon, &err);
	gs_daemon_stop_worker(daemon);
	if (!gs_daemon_export_now(daemon, &err))
		gs_daemon_fail(daemon, &err);
}

enum gs_code
gs_daemon_run(struct gs_daemon *daemon)
{
	gs_daemon_look(daemon);
	gs_daemon_follow_engine(daemon);
	gs_daemon_export_if_changed(daemon);
	gs_loop_run(daemon->loop);
	daemon->is_ending = true;
	limit_end();
	save_all(daemon);
	return daemon->code;
}

void
gs_daemon_free(struct gs_daemon *daemon)
{
	if (daemon == NULL)
		return;
	daemon->is_ending = true;
	gs_daemon_stop_worker(daemon);
	gs_ingest_free(daemon->ingest);
	gs_daemon_free_peers(daemon);
	gs_engine_free(daemon->engine);
	gs_httpd_free(daemon->httpd);
	gs_resolver_free(daemon->resolver);
	gs_post_free(daemon->job_post);
	gs_post_free(daemon->ingest_post);
	gs_watch_free(daemon->wake_watch);
	gs_wake_close(daemon->wake);
	gs_timer_free(daemon->export_timer);
	gs_timer_free(daemon->window_timer);
	gs_timer_free(daemon->engine_timer);
	gs_loop_free(daemon->loop);
	gs_window_free(daemon->window);
	gs_store_close(daemon->store);
	if (daemon->decisions_fd >= 0)
		(void)close(daemon->decisions_fd);
	gs_ledger_fini(&daemon->ledger);
	free(daemon);
}
