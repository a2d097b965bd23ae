/*
 * grasp-sync-relay: reads from one relay what filters match, prints the verified
 * events, and says of each filter whether that was provably all; or follows it.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "clock.h"
#include "loop.h"
#include "num.h"
#include "outlet.h"
#include "pack_list.h"
#include "relay.h"

#define MAX_WAIT_S (24 * 3600)
#define MAX_LIMIT 1000000000
#define SHOWN_BYTES 120		  /* of a filter in a message */
#define FULL_BYTES (1024u * 1024) /* so much waits for stdout: nothing is read */
#define FREE_BYTES (256u * 1024)  /* no more waits: reading goes on */
#define NEWS_MS 1000

enum option {
	OPT_ONCE,
	OPT_FILTERS,
	OPT_SINCE,
	OPT_LIMIT,
	OPT_TIMEOUT,
	OPT_REPORT,
	OPT_PROGRESS,
	OPT_AUTH_KEY_FILE,
	OPT_ALLOW_PRIVATE,
	OPT_INSECURE,
	OPT_CA_FILE,
	OPT_PROXY,
	OPT_MAX_BACKOFF,
};

static const struct cli_option options[] = {
	[OPT_ONCE] = { "once", 0, NULL, "end after the stored events" },
	[OPT_FILTERS] = { "filters", 0, "FILE", "filters, one a line (default: stdin)" },
	[OPT_SINCE] = { "since", 0, "T", "events since then (a time, or 15m, 24h ago)" },
	[OPT_LIMIT] = { "limit", 0, "N", "at most the newest N stored of each filter" },
	[OPT_TIMEOUT] = { "timeout", 0, "D",
	    "give up after that long without a useful frame (30s)" },
	[OPT_REPORT] = { "report", 0, "FILE",
	    "write what each filter came to, as JSON lines" },
	[OPT_PROGRESS] = { "progress", 0, NULL,
	    "show on a terminal how far it has come" },
	[OPT_AUTH_KEY_FILE] = { "auth-key-file", 0, "FILE",
	    "tell the relay who asks, with the secret key in FILE" },
	[OPT_ALLOW_PRIVATE] = { "allow-private", 0, NULL,
	    "the relay may have a private address" },
	[OPT_INSECURE] = { "insecure", 0, NULL, "accept any certificate" },
	[OPT_CA_FILE] = { "ca-file", 0, "FILE", "trust the certificates in FILE, too" },
	[OPT_PROXY] = { "proxy", 0, "URL",
	    "dial through the HTTP proxy http://HOST:PORT" },
	[OPT_MAX_BACKOFF] = { "max-backoff", 0, "D", "never wait longer than that" },
	{ NULL, 0, NULL, NULL },
};

struct reader {
	struct cli cli;
	struct gs_url url;
	const char *filters_path, *report_path, *key_path;
	struct gs_loop_net net;
	struct gs_relay_options options;
	int64_t since_s, limit; /* -1: none */
	bool shows_progress;

	struct cli_bad bad;
	struct gs_pack_list filters;
	int report_fd; /* -1: none */
	struct gs_auth *auth;

	struct gs_loop *loop;
	struct gs_resolver *resolver;
	struct gs_outlet *outlet;
	struct gs_timer *news_timer;
	struct gs_relay *relay;
	struct gs_buf line;
	struct gs_session_filters told;
	uint64_t told_events;
	bool is_interrupted, is_over;
};

static int64_t
read_wait_ms(struct reader *reader, const char *option, const char *value)
{
	return 1000 * cli_duration_s(&reader->cli, option, value, 1, MAX_WAIT_S);
}

static void
read_option(struct reader *reader, enum option option, const char *value)
{
	switch (option) {
	case OPT_ONCE:
		reader->options.once = true;
		break;
	case OPT_FILTERS:
		reader->filters_path = value;
		break;
	case OPT_SINCE:
		reader->since_s = cli_time_s(&reader->cli, "since", value);
		break;
	case OPT_LIMIT:
		reader->limit = cli_count(&reader->cli, "limit", value, 1, MAX_LIMIT);
		break;
	case OPT_TIMEOUT:
		reader->options.silence_ms = read_wait_ms(reader, "timeout", value);
		break;
	case OPT_REPORT:
		reader->report_path = value;
		break;
	case OPT_PROGRESS:
		reader->shows_progress = true;
		break;
	case OPT_AUTH_KEY_FILE:
		reader->key_path = value;
		break;
	case OPT_ALLOW_PRIVATE:
		reader->options.allow_private = true;
		break;
	case OPT_INSECURE:
		reader->options.is_insecure = true;
		break;
	case OPT_CA_FILE:
		reader->net.ca_file = value;
		break;
	case OPT_PROXY:
		reader->net.proxy = value;
		break;
	case OPT_MAX_BACKOFF:
		reader->options.max_backoff_ms =
		    read_wait_ms(reader, "max-backoff", value);
		break;
	}
}

static void
read_operand(struct reader *reader)
{
	const struct cli *cli = &reader->cli;
	struct gs_buf shown = GS_BUF_INIT;
	const char *text;
	struct gs_err err;

	if (cli->at + 1 != cli->argc)
		cli_usage(cli,
		    cli->at == cli->argc ? "URL: missing" : "one URL at a time");
	text = cli->argv[cli->at];
	if (gs_url_parse_relay(&reader->url, gs_str_of(text),
		reader->options.allow_private, &err))
		return;
	gs_buf_add_shown(&shown, text, strlen(text), GS_URL_BYTES);
	cli_usage(cli, "%s: %s", shown.data ? shown.data : "''", err.text);
}

static void
tell_bad_line(uint64_t line, const char *reason, const char *why, void *arg)
{
	struct reader *reader = arg;

	cli_bad_line(&reader->bad, line, reason, why);
}

static bool
read_filters(struct reader *reader, struct gs_err *err)
{
	reader->bad =
	    (struct cli_bad){ .cli = &reader->cli, .file = reader->filters_path };
	if (!gs_pack_list_read(&reader->filters, reader->filters_path, GS_FILTER_BYTES,
		tell_bad_line, reader, err))
		return false;
	gs_pack_list_narrow(&reader->filters, reader->since_s, reader->limit);
	return true;
}

static bool
open_report(struct reader *reader, struct gs_err *err)
{
	if (reader->report_path == NULL)
		return true;
	reader->report_fd =
	    open(reader->report_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	return reader->report_fd >= 0 ||
	    gs_fail(err, GS_ECREATE, "%s: %s", reader->report_path, strerror(errno));
}

static bool
load_key(struct reader *reader, struct gs_err *err)
{
	if (reader->key_path == NULL)
		return true;
	reader->auth = gs_auth_load(reader->key_path, err);
	reader->options.auth = reader->auth;
	return reader->auth != NULL;
}

/* A reader that is slow slows the relay down; one that is gone ends it. */
static void
watch_outlet(struct reader *reader)
{
	size_t waiting = gs_outlet_waiting(reader->outlet);

	if (gs_outlet_error(reader->outlet) != 0)
		gs_relay_stop(reader->relay);
	else if (waiting > FULL_BYTES)
		gs_relay_pause(reader->relay);
	else if (waiting <= FREE_BYTES)
		gs_relay_resume(reader->relay);
	if (reader->is_over && waiting == 0)
		gs_loop_stop(reader->loop);
}

static void
print_event(const struct gs_event *event, void *arg)
{
	struct reader *reader = arg;

	gs_buf_clear(&reader->line);
	gs_event_write(event, &reader->line);
	(void)gs_outlet_line(reader->outlet, reader->line.data, reader->line.len);
	watch_outlet(reader);
}

static void
flush_events(void *arg)
{
	struct reader *reader = arg;

	(void)gs_outlet_flush(reader->outlet);
	watch_outlet(reader);
}

static void
take_room(void *arg)
{
	watch_outlet(arg);
}

static void
tell_change(void *arg)
{
	const struct reader *reader = arg;
	struct gs_buf text = GS_BUF_INIT;

	if (reader->options.once && gs_relay_is_open(reader->relay))
		return;
	gs_relay_write_state(reader->relay, &text);
	cli_say(&reader->cli, "%s: %s", reader->url.text, text.data);
	gs_buf_fini(&text);
}

static void
show_progress(struct reader *reader)
{
	uint64_t events = gs_session_counts(gs_relay_session(reader->relay))->events;

	cli_progress(&reader->cli,
	    "%zu of %zu filters done, %" PRIu64 " events, %" PRIu64 " a second",
	    gs_relay_ended(reader->relay), reader->filters.num, events,
	    (events - reader->told_events) * 1000 / NEWS_MS);
	reader->told_events = events;
}

/* Filters that can't be followed as they should be. */
static void
tell_filters(struct reader *reader)
{
	struct gs_session_filters now =
	    gs_session_filters(gs_relay_session(reader->relay));

	if (reader->options.once || !gs_relay_is_open(reader->relay) ||
	    (now.polled == reader->told.polled && now.failed == reader->told.failed))
		return;
	reader->told = now;
	tell_change(reader);
}

static void
tell_news(void *arg)
{
	struct reader *reader = arg;

	if (reader->shows_progress)
		show_progress(reader);
	tell_filters(reader);
	gs_timer_set(reader->news_timer, NEWS_MS);
}

/* What was read before still goes to stdout; the second time there is no waiting. */
static void
take_signal(int number, void *arg)
{
	struct reader *reader = arg;

	(void)number;
	if (reader->is_over)
		gs_loop_stop(reader->loop);
	reader->is_interrupted = true;
	gs_relay_stop(reader->relay);
}

static void
end_relay(void *arg)
{
	struct reader *reader = arg;

	reader->is_over = true;
	gs_timer_stop(reader->news_timer);
	(void)gs_outlet_flush(reader->outlet);
	if (gs_outlet_waiting(reader->outlet) == 0)
		gs_loop_stop(reader->loop);
}

static bool
write_report(struct reader *reader, struct gs_err *err)
{
	struct gs_out out;
	bool ok;

	if (reader->report_fd < 0)
		return true;
	gs_out_init(&out, reader->report_fd);
	gs_relay_write_report(reader->relay, reader->filters.lines, &out);
	ok = gs_out_flush(&out);
	if (!ok)
		(void)gs_fail(err, GS_EIO, "%s: %s", reader->report_path,
		    strerror(out.error));
	gs_out_fini(&out);
	return ok;
}

static void
say_cause(const char *text, void *arg)
{
	const struct reader *reader = arg;

	cli_complain(&reader->cli, "%s: %s", reader->url.text, text);
}

/* Of a reading that has an end. */
static int
judge_reading(struct reader *reader)
{
	int code = (int)gs_relay_code(reader->relay);

	if (code == GS_OK)
		return code;
	if (reader->is_interrupted) {
		cli_complain(&reader->cli, "%s: interrupted: %zu of %zu filters complete",
		    reader->url.text, gs_relay_complete(reader->relay),
		    reader->filters.num);
		return GS_EINCOMPLETE;
	}
	if (gs_outlet_error(reader->outlet) == 0)
		gs_relay_each_cause(reader->relay, reader->filters.lines, say_cause,
		    reader);
	return code;
}

/* Also where progress was shown: it leaves a line half written. */
static void
tell_totals(const struct reader *reader)
{
	const struct gs_relay *relay = reader->relay;
	bool is_asked = reader->cli.progress_ms != 0;

	(is_asked ? cli_say : cli_tell)(&reader->cli,
	    "%s: %" PRIu64 " events, %zu of %zu filters complete", reader->url.text,
	    gs_session_counts(gs_relay_session(relay))->events, gs_relay_complete(relay),
	    reader->filters.num);
}

/* Says what came of it and returns the exit code. */
static int
conclude(struct reader *reader)
{
	int code = reader->options.once ? judge_reading(reader) : GS_OK;
	struct gs_err err;

	tell_totals(reader);
	if (!write_report(reader, &err))
		code = cli_fail(&reader->cli, &err);
	cli_bad_end(&reader->bad);
	if (reader->bad.count > 0 && code != GS_EIO)
		code = GS_EDATA;
	reader->cli.out.error = gs_outlet_error(reader->outlet);
	return code;
}

static bool
open_world(struct reader *reader, struct gs_err *err)
{
	const struct gs_loop_ops ops = {
		.signalled = take_signal, .idle = flush_events, .arg = reader
	};

	reader->loop = gs_loop_new(&ops, &reader->net, err);
	if (reader->loop == NULL)
		return false;
	/* A proxy looks names up itself. */
	if (reader->net.proxy == NULL) {
		reader->resolver = gs_resolver_new(reader->loop, NULL, NULL, err);
		if (reader->resolver == NULL)
			return false;
	}
	reader->outlet = gs_outlet_new(reader->loop, STDOUT_FILENO, take_room, reader);
	reader->news_timer = gs_timer_new(reader->loop, tell_news, reader);
	return true;
}

static int
read_relay(struct reader *reader)
{
	const struct gs_relay_ops ops = { print_event, tell_change, end_relay, reader };

	reader->options.url = &reader->url;
	reader->options.resolver = reader->resolver;
	if (reader->options.is_insecure && reader->url.tls)
		cli_complain(&reader->cli,
		    "%s: --insecure: anyone may stand between this relay and us",
		    reader->url.text);
	reader->relay = gs_relay_new(reader->loop, &reader->options, &ops);
	for (size_t i = 0; i < reader->filters.num; i++)
		gs_session_add(gs_relay_session(reader->relay),
		    &reader->filters.filters[i]);
	gs_timer_set(reader->news_timer, NEWS_MS);
	gs_relay_dial(reader->relay);
	gs_loop_run(reader->loop);
	return conclude(reader);
}

static void
free_reader(struct reader *reader)
{
	gs_relay_free(reader->relay);
	gs_resolver_free(reader->resolver);
	gs_outlet_free(reader->outlet);
	gs_timer_free(reader->news_timer);
	gs_loop_free(reader->loop);
	gs_auth_free(reader->auth);
	gs_pack_list_fini(&reader->filters);
	gs_buf_fini(&reader->line);
	if (reader->report_fd >= 0)
		(void)close(reader->report_fd);
}

static int
run(struct reader *reader)
{
	struct gs_err err;

	if (!load_key(reader, &err) || !read_filters(reader, &err) ||
	    !open_report(reader, &err))
		return cli_fail(&reader->cli, &err);
	if (reader->filters.num == 0 && reader->bad.count == 0)
		cli_usage(&reader->cli, "%s: no filters", reader->filters_path);
	if (reader->filters.num == 0) {
		cli_bad_end(&reader->bad);
		return GS_EDATA;
	}
	return open_world(reader, &err) ? read_relay(reader)
					: cli_fail(&reader->cli, &err);
}

int
main(int argc, char **argv)
{
	struct reader reader = {
		.cli = { .name = "grasp-sync-relay",
		    .usage = "[--once] [--filters FILE] [--since T] [--limit N] "
			     "[--report FILE] [OPTION...] URL",
		    .about = "read from one relay what filters match, with a proof for "
			     "each, or follow it",
		    .options = options },
		.filters_path = "-",
		.filters = GS_PACK_LIST_INIT,
		.report_fd = -1,
		.since_s = -1,
		.limit = -1,
		.options = { .silence_ms = GS_SESSION_SILENCE_MS },
	};
	const char *value;
	int option, code;

	cli_init(&reader.cli, argc, argv);
	while ((option = cli_option(&reader.cli, &value)) >= 0)
		read_option(&reader, (enum option)option, value);
	read_operand(&reader);
	code = run(&reader);
	free_reader(&reader);
	return cli_end(&reader.cli, code, reader.options.once ? GS_EINCOMPLETE : GS_OK);
}
