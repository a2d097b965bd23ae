/*
 * grasp-sync-watch: a line whenever what is followed has changed.  When a batch is due
 * and what is in it is window's and batch's; here it is read, printed and kept.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cli_mirror.h"
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
	O_RELAY,
	O_STATE,
	O_WINDOW,
	O_ONCE,
};
static const struct cli_option options[] = {
	CLI_SURVEY_OPTIONS,
	{ "db", 0, "DIR", "watch the store" },
	{ "relay", 0, "URL", "watch our own relay instead" },
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
	struct gs_url url; /* of our own relay, unless there is a dir */
	int64_t window_ms;
	bool once;

	struct gs_store *store;
	struct gs_window *window;
	struct gs_loop *loop;
	struct gs_mirror *mirror; /* NULL: of a dir */
	struct gs_wake *wake;	  /* NULL: of a relay */
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
	case O_RELAY:
		cli_mirror_set_url(&watcher->cli, &watcher->url, &watcher->survey.policy,
		    value);
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
	if ((watcher->dir == NULL) == (watcher->url.text[0] == '\0'))
		cli_usage(cli, "needs one of --db and --relay");
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
	if (watcher->wake != NULL)
		gs_watch_set(watcher->wake_watch,
		    is_open ? GS_WATCH_FAULTS : GS_WATCH_READ);
}

static enum stage
next_stage(const struct watcher *watcher)
{
	if (watcher->stage == ENDING || watcher->once)
		return OVER;
	return WATCHING;
}

/* What is missing before all was read may be there: nothing can be said of it. */
static bool
can_say(struct watcher *watcher)
{
	return watcher->mirror == NULL || gs_mirror_is_whole(watcher->mirror);
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
		if (!can_say(watcher)) {
			if (watcher->stage != ENDING)
				return true;
			watcher->code = watcher->once ? GS_EINCOMPLETE : GS_OK;
			watcher->stage = OVER;
			break;
		}
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

/* After each round of the loop: events come in one by one. */
static void
take_events(void *arg)
{
	struct watcher *watcher = arg;

	if (watcher->mirror == NULL)
		return;
	if (gs_mirror_has_news(watcher->mirror) ||
	    (watcher->stage == STARTING && can_say(watcher)))
		turn(watcher);
}

static void
tell_relay(void *arg)
{
	struct watcher *watcher = arg;

	if (!watcher->once || !gs_relay_is_open(gs_mirror_relay(watcher->mirror)))
		cli_mirror_say_state(&watcher->cli, watcher->mirror);
}

/* Only once, when it was stopped, or when nothing more can be stored. */
static void
end_relay(void *arg)
{
	struct watcher *watcher = arg;

	if (watcher->stage != ENDING &&
	    (!gs_mirror_is_whole(watcher->mirror) || !watcher->once)) {
		watcher->code = cli_mirror_fail(&watcher->cli, watcher->mirror);
		gs_loop_stop(watcher->loop);
		return;
	}
	turn(watcher);
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

/* before the first look, so that nothing falls between */
static bool
open_wake(struct watcher *watcher, struct gs_err *err)
{
	watcher->wake = gs_wake_open(watcher->dir, err);
	if (watcher->wake == NULL)
		return false;
	watcher->wake_watch =
	    gs_watch_new(watcher->loop, gs_wake_fd(watcher->wake), take_wake, watcher);
	return true;
}

static bool
open_mirror(struct watcher *watcher, struct gs_err *err)
{
	const struct gs_mirror_ops ops = { tell_relay, end_relay, watcher };
	const struct gs_mirror_options how = { &watcher->url, &watcher->survey.policy,
		watcher->once };

	watcher->mirror = gs_mirror_new(watcher->loop, &how, &ops, err);
	if (watcher->mirror == NULL)
		return false;
	watcher->store = gs_mirror_store(watcher->mirror);
	return true;
}

static bool
open_store(struct watcher *watcher, struct gs_err *err)
{
	const struct gs_store_options how = { .read_only = true };

	if (watcher->dir != NULL)
		watcher->store = gs_store_open(watcher->dir, &how, err);
	return watcher->dir == NULL || watcher->store != NULL;
}

static bool
open_world(struct watcher *watcher, struct gs_err *err)
{
	const struct gs_loop_ops ops = {
		.signalled = take_signal, .idle = take_events, .arg = watcher
	};

	watcher->window = gs_window_new(watcher->window_ms);
	if (!open_store(watcher, err) || !load_state(watcher, err))
		return false;
	watcher->loop = gs_loop_new(&ops, NULL, err);
	if (watcher->loop == NULL)
		return false;
	watcher->timer = gs_timer_new(watcher->loop, turn, watcher);
	watcher->outlet = gs_outlet_new(watcher->loop, STDOUT_FILENO, turn, watcher);
	return watcher->dir != NULL ? open_wake(watcher, err) : open_mirror(watcher, err);
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
	if (watcher->mirror == NULL)
		gs_store_close(watcher->store);
	gs_mirror_free(watcher->mirror);
	gs_loop_free(watcher->loop);
	gs_wake_close(watcher->wake);
	gs_window_free(watcher->window);
	gs_buf_fini(&watcher->line);
	gs_buf_fini(&watcher->saved);
	cli_survey_fini(&watcher->survey);
}

int
main(int argc, char **argv)
{
	struct watcher watcher = {
		.cli = { .name = "grasp-sync-watch",
		    .usage = "--db DIR --service DOMAIN [--state FILE] [OPTION]...\n"
			     "--relay URL --service DOMAIN [--state FILE] [OPTION]...",
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
