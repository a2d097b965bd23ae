/*
 * grasp-sync-watch: a line whenever what is followed has changed.  When a batch is due
 * and what is in it is window's and batch's; here it is read, printed and kept.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cli_survey.h"
#include "clock.h"
#include "loop.h"
#include "outlet.h"
#include "snapshot.h"
#include "wake.h"
#include "window.h"

#define MAX_WINDOW_S 3600
/* Woken before a commit can be seen: look again, soon at first. */
#define SETTLE_FIRST_MS 5
#define SETTLE_LAST_MS 1000

enum {
	O_DB = CLI_SURVEY_NUM,
	O_STATE,
	O_WINDOW,
	O_ONCE,
};
static const struct cli_option options[] = {
	CLI_SURVEY_OPTIONS,
	{ "db", 0, "DIR", "watch the store" },
	{ "state", 0, "FILE", "what is known already; kept up to date" },
	{ "window", 0, "D", "how long changes are collected (5s)" },
	{ "once", 0, NULL, "end after what --state lacks" },
	{ NULL, 0, NULL, NULL },
};

enum stage {
	STARTING,
	WATCHING,
	ENDING, /* what is in the window is still printed */
	OVER,
};

struct watcher {
	struct cli cli;
	struct cli_survey survey;
	const char *dir, *state_path;
	int64_t window_ms;
	bool once;

	struct gs_store *store;
	struct gs_window *window;
	struct gs_loop *loop;
	struct gs_wake *wake;
	struct gs_watch *wake_watch;
	struct gs_timer *timer;
	struct gs_outlet *outlet;
	enum stage stage;
	bool is_unsaved;   /* what was printed is not in the file yet */
	int64_t settle_ms; /* 0: all commits are seen */
	struct gs_buf saved, line;
	int code;
};

/* --- options --- */

static void
set_option(struct watcher *watcher, int option, const char *value)
{
	switch (option) {
	case O_DB:
		watcher->dir = value;
		break;
	case O_STATE:
		watcher->state_path = value;
		break;
	case O_WINDOW:
		watcher->window_ms = 1000 *
		    cli_duration_s(&watcher->cli, "window", value, 0, MAX_WINDOW_S);
		break;
	case O_ONCE:
		watcher->once = true;
		break;
	default:
		cli_survey_set(&watcher->survey, option, value);
		break;
	}
}

static void
read_options(struct watcher *watcher)
{
	struct cli *cli = &watcher->cli;
	const char *value;
	int option;

	while ((option = cli_option(cli, &value)) >= 0)
		set_option(watcher, option, value);
	if (watcher->dir == NULL)
		cli_usage(cli, "--db is needed");
	cli_survey_check(&watcher->survey);
	if (watcher->state_path != NULL && strcmp(watcher->state_path, "-") == 0)
		cli_usage(cli, "--state -: not a file");
	if (cli->at < cli->argc)
		cli_usage(cli, "takes no operands");
}

/* --- the state file --- */

/* One that is not there yet holds nothing. */
static bool
load_state(struct watcher *watcher, struct gs_err *err)
{
	const char *path = watcher->state_path;
	struct gs_state *state;

	if (path == NULL || (access(path, F_OK) != 0 && errno == ENOENT))
		return true;
	if (!gs_file_read(&watcher->saved, path, GS_SNAPSHOT_BYTES, err))
		return false;
	state = gs_snapshot_parse(watcher->saved.data, watcher->saved.len, err);
	if (state == NULL)
		return gs_fail_in(err, "%s", path);
	gs_window_set_state(watcher->window, state);
	return true;
}

static bool
save_state(struct watcher *watcher, struct gs_err *err)
{
	struct gs_buf text = GS_BUF_INIT;

	watcher->is_unsaved = false;
	if (watcher->state_path == NULL)
		return true;
	gs_snapshot_write(gs_window_state(watcher->window), &text);
	if (watcher->saved.len == text.len &&
	    memcmp(watcher->saved.data, text.data, text.len) == 0) {
		gs_buf_fini(&text);
		return true;
	}
	gs_buf_fini(&watcher->saved);
	watcher->saved = text;
	return gs_file_replace(watcher->state_path, text.data, text.len, err);
}

/* --- batches --- */

static void
say_cut(const char *text, void *arg)
{
	struct watcher *watcher = arg;

	cli_survey_say_cut(&watcher->survey, text);
}

static void
print_batch(struct watcher *watcher, const struct gs_batch *batch)
{
	gs_buf_clear(&watcher->line);
	gs_batch_write(batch, &watcher->line);
	(void)gs_outlet_line(watcher->outlet, watcher->line.data, watcher->line.len);
	(void)gs_outlet_flush(watcher->outlet);
}

/* The window is over: what is followed now, and what of it is new? */
static bool
make_batch(struct watcher *watcher, struct gs_now now, struct gs_err *err)
{
	struct gs_batch batch = { 0 };
	struct gs_state *state;

	watcher->survey.options.now_s = now.wall_s;
	state = gs_survey(watcher->store, &watcher->survey.options, err);
	if (state == NULL)
		return false;
	if (watcher->stage == STARTING)
		cli_survey_say_size(&watcher->survey, state);
	if (gs_window_take(watcher->window, state, &batch))
		print_batch(watcher, &batch);
	gs_batch_fini(&batch);
	watcher->is_unsaved = true;
	return true;
}

static bool
is_time(const struct watcher *watcher, struct gs_now now)
{
	if (watcher->stage == WATCHING)
		return gs_window_is_due(watcher->window, now);
	return gs_window_is_open(watcher->window);
}

/* An open window has no need to hear of each commit: it looks when it is over. */
static bool
look(struct watcher *watcher, struct gs_now now, struct gs_err *err)
{
	bool is_newest;

	if (watcher->stage == WATCHING && gs_window_is_open(watcher->window) &&
	    !gs_window_is_due(watcher->window, now))
		return true;
	if (!gs_window_look(watcher->window, watcher->store, now, &is_newest, err))
		return false;
	if (is_newest)
		watcher->settle_ms = 0;
	else if (watcher->settle_ms == 0)
		watcher->settle_ms = SETTLE_FIRST_MS;
	else if (watcher->settle_ms < SETTLE_LAST_MS)
		watcher->settle_ms *= 2;
	return true;
}

static void
await_next(struct watcher *watcher, struct gs_now now)
{
	bool is_open = gs_window_is_open(watcher->window);
	int64_t wait_ms = gs_window_wait_ms(watcher->window, now);

	if (!is_open && watcher->settle_ms > 0 &&
	    (wait_ms < 0 || wait_ms > watcher->settle_ms))
		wait_ms = watcher->settle_ms;
	if (wait_ms >= 0)
		gs_timer_set(watcher->timer, wait_ms);
	else
		gs_timer_stop(watcher->timer);
	gs_watch_set(watcher->wake_watch, is_open ? GS_WATCH_FAULTS : GS_WATCH_READ);
}

static enum stage
next_stage(const struct watcher *watcher)
{
	if (watcher->stage == ENDING || watcher->once)
		return OVER;
	return WATCHING;
}

/* A batch is kept when its reader has it: what he never saw comes again. */
static bool
take_turn(struct watcher *watcher, struct gs_err *err)
{
	struct gs_now now;

	for (;;) {
		now = gs_clock_now();
		if (gs_outlet_waiting(watcher->outlet) > 0)
			return true;
		if (gs_outlet_error(watcher->outlet) != 0)
			watcher->stage = OVER;
		else if (watcher->is_unsaved && !save_state(watcher, err))
			return false;
		if (watcher->stage == OVER)
			break;
		if (!look(watcher, now, err))
			return false;
		if (is_time(watcher, now)) {
			if (!make_batch(watcher, now, err))
				return false;
		} else if (watcher->stage == WATCHING)
			break;
		watcher->stage = next_stage(watcher);
	}
	if (watcher->stage == OVER)
		gs_loop_stop(watcher->loop);
	else
		await_next(watcher, now);
	return true;
}

static void
fail(struct watcher *watcher, const struct gs_err *err)
{
	watcher->code = cli_fail(&watcher->cli, err);
	watcher->stage = OVER;
	gs_loop_stop(watcher->loop);
}

static void
turn(void *arg)
{
	struct watcher *watcher = arg;
	struct gs_err err;

	if (watcher->code == GS_OK && !take_turn(watcher, &err))
		fail(watcher, &err);
}

/* --- what wakes us --- */

static void
take_wake(void *arg)
{
	struct watcher *watcher = arg;
	struct gs_err err;

	switch (gs_wake_read(watcher->wake)) {
	case GS_WAKE_NOTHING:
		break;
	case GS_WAKE_WRITTEN:
		turn(watcher);
		break;
	case GS_WAKE_GONE:
		(void)gs_fail(&err, GS_EIO, "%s: the store was removed or replaced",
		    watcher->dir);
		fail(watcher, &err);
		break;
	}
}

/* The first one prints what is there; the second one does not wait for its reader. */
static void
take_signal(int number, void *arg)
{
	struct watcher *watcher = arg;

	(void)number;
	if (watcher->stage == ENDING || watcher->stage == OVER)
		gs_loop_stop(watcher->loop);
	watcher->stage = ENDING;
	turn(watcher);
}

/* --- all of it --- */

static bool
open_world(struct watcher *watcher, struct gs_err *err)
{
	const struct gs_loop_ops ops = { .signalled = take_signal, .arg = watcher };
	const struct gs_store_options how = { .read_only = true };

	watcher->window = gs_window_new(watcher->window_ms);
	watcher->store = gs_store_open(watcher->dir, &how, err);
	if (watcher->store == NULL || !load_state(watcher, err))
		return false;
	/* before the first look, so that nothing falls between */
	watcher->wake = gs_wake_open(watcher->dir, err);
	watcher->loop = watcher->wake != NULL ? gs_loop_new(&ops, NULL, err) : NULL;
	if (watcher->loop == NULL)
		return false;
	watcher->wake_watch =
	    gs_watch_new(watcher->loop, gs_wake_fd(watcher->wake), take_wake, watcher);
	watcher->timer = gs_timer_new(watcher->loop, turn, watcher);
	watcher->outlet = gs_outlet_new(watcher->loop, STDOUT_FILENO, turn, watcher);
	return true;
}

static int
run(struct watcher *watcher)
{
	struct gs_err err;

	if (!open_world(watcher, &err))
		return cli_fail(&watcher->cli, &err);
	turn(watcher);
	gs_loop_run(watcher->loop);
	watcher->cli.out.error = gs_outlet_error(watcher->outlet);
	return watcher->code;
}

static void
free_watcher(struct watcher *watcher)
{
	gs_outlet_free(watcher->outlet);
	gs_timer_free(watcher->timer);
	gs_watch_free(watcher->wake_watch);
	gs_loop_free(watcher->loop);
	gs_wake_close(watcher->wake);
	gs_window_free(watcher->window);
	gs_store_close(watcher->store);
	gs_buf_fini(&watcher->line);
	gs_buf_fini(&watcher->saved);
	cli_survey_fini(&watcher->survey);
}

int
main(int argc, char **argv)
{
	struct watcher watcher = {
		.cli = { .name = "grasp-sync-watch",
		    .usage = "--db DIR --service DOMAIN [--state FILE] [OPTION]...",
		    .about = "a line whenever what is followed has changed",
		    .options = options },
		.window_ms = GS_WINDOW_MS,
	};
	int code;

	cli_init(&watcher.cli, argc, argv);
	cli_survey_init(&watcher.survey, &watcher.cli);
	read_options(&watcher);
	watcher.survey.options.cut = say_cut;
	watcher.survey.options.arg = &watcher;
	code = run(&watcher);
	free_watcher(&watcher);
	return cli_end(&watcher.cli, code, GS_OK);
}
