/*
 * grasp-sync-relay: reads from one relay what filters match, prints the verified
 * events, and says of each filter whether that was provably all.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "json.h"
#include "loop.h"
#include "map.h"
#include "mem.h"
#include "num.h"
#include "pack_read.h"
#include "relay.h"

#define MAX_FILTERS 100000
#define MAX_TIMEOUT_S (24 * 3600)
#define SHOWN_BYTES 120 /* of a filter in a message */
#define FRAME_BYTES 256 /* of a REQ besides its filter, and a cursor */

enum option {
	OPT_ONCE,
	OPT_FILTERS,
	OPT_TIMEOUT,
	OPT_REPORT,
	OPT_ALLOW_PRIVATE,
};

static const struct cli_option options[] = {
	[OPT_ONCE] = { "once", 0, NULL, "end after the stored events" },
	[OPT_FILTERS] = { "filters", 0, "FILE", "filters, one a line (default: stdin)" },
	[OPT_TIMEOUT] = { "timeout", 0, "D",
	    "give up after that long without a useful frame (30s)" },
	[OPT_REPORT] = { "report", 0, "FILE",
	    "write what each filter came to, as JSON lines" },
	[OPT_ALLOW_PRIVATE] = { "allow-private", 0, NULL,
	    "the relay may have a private address" },
	{ NULL, 0, NULL, NULL },
};

/* The filters as they were read; the session takes them, their lines stay here. */
struct input {
	struct cli_bad bad;
	struct gs_filter *filters;
	uint64_t *lines;
	size_t num, cap, cap_lines;
	uint64_t line;
};

struct reader {
	struct cli cli;
	struct gs_url url;
	const char *filters_path;
	const char *report_path;
	int report_fd; /* -1: none */
	int64_t timeout_s;
	bool once;
	bool allow_private;

	struct input input;
	struct gs_loop *loop;
	struct gs_relay *relay;
	struct gs_buf line;
	bool is_interrupted;
};

static void
read_timeout(struct reader *reader, const char *value)
{
	struct gs_err err;

	if (!gs_num_parse_duration_s(&reader->timeout_s, value, &err))
		cli_bad_value(&reader->cli, "timeout", value, &err);
	if (reader->timeout_s < 1 || reader->timeout_s > MAX_TIMEOUT_S) {
		(void)gs_fail(&err, GS_EUSAGE, "not between 1s and 24h");
		cli_bad_value(&reader->cli, "timeout", value, &err);
	}
}

static void
read_options(struct reader *reader)
{
	const char *value;
	int option;

	while ((option = cli_option(&reader->cli, &value)) >= 0) {
		switch ((enum option)option) {
		case OPT_ONCE:
			reader->once = true;
			break;
		case OPT_FILTERS:
			reader->filters_path = value;
			break;
		case OPT_TIMEOUT:
			read_timeout(reader, value);
			break;
		case OPT_REPORT:
			reader->report_path = value;
			break;
		case OPT_ALLOW_PRIVATE:
			reader->allow_private = true;
			break;
		}
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
	if (!reader->once)
		cli_usage(cli,
		    "without --once: following a relay is not in this version");
	text = cli->argv[cli->at];
	if (gs_url_parse_relay(&reader->url, gs_str_of(text), reader->allow_private,
		&err))
		return;
	gs_buf_add_shown(&shown, text, strlen(text), GS_URL_BYTES);
	cli_usage(cli, "%s: %s", shown.data ? shown.data : "''", err.text);
}

static void
keep_filter(struct gs_filter *filter, void *arg)
{
	struct input *input = arg;

	if (input->num >= MAX_FILTERS)
		return;
	input->filters =
	    gs_mem_more(input->filters, input->num, &input->cap, sizeof(*input->filters));
	input->lines = gs_mem_more(input->lines, input->num, &input->cap_lines,
	    sizeof(*input->lines));
	input->filters[input->num] = *filter;
	input->lines[input->num++] = input->line;
	*filter = (struct gs_filter)GS_FILTER_INIT;
}

static bool
is_blank(struct gs_str line)
{
	for (size_t i = 0; i < line.len; i++)
		if (strchr(" \t\r", line.ptr[i]) == NULL)
			return false;
	return true;
}

static void
read_line(struct input *input, struct gs_str line)
{
	struct gs_err err;

	if (is_blank(line))
		return;
	if (input->num >= MAX_FILTERS)
		cli_bad_line(&input->bad, input->line, "filter", "too many filters");
	else if (!gs_pack_read(line, GS_HISTORY_BYTES - FRAME_BYTES, keep_filter, input,
		     &err))
		cli_bad_line(&input->bad, input->line, "filter", err.text);
}

static bool
read_filters(struct reader *reader, struct gs_err *err)
{
	struct input *input = &reader->input;
	enum gs_line got = GS_LINE_OK;
	struct gs_lines lines;
	struct gs_str line;
	int fd = gs_file_open(reader->filters_path, err);

	if (fd < 0)
		return false;
	input->bad =
	    (struct cli_bad){ .cli = &reader->cli, .file = reader->filters_path };
	gs_lines_init(&lines, fd, GS_FILTER_BYTES);
	while (got == GS_LINE_OK || got == GS_LINE_TOO_LONG) {
		got = gs_lines_next(&lines, true, &line);
		input->line = lines.number;
		if (got == GS_LINE_TOO_LONG)
			cli_bad_line(&input->bad, input->line, "size", "line too long");
		else if (got == GS_LINE_OK)
			read_line(input, line);
	}
	if (got == GS_LINE_FAILED)
		(void)gs_fail(err, GS_EIO, "%s: %s", reader->filters_path,
		    strerror(errno));
	gs_lines_fini(&lines);
	if (fd != STDIN_FILENO)
		(void)close(fd);
	return got == GS_LINE_END;
}

/* Stdout is gone or full: what comes now can't be kept. */
static void
print_event(const struct gs_event *event, void *arg)
{
	struct reader *reader = arg;

	gs_buf_clear(&reader->line);
	gs_event_write(event, &reader->line);
	if (!cli_line(&reader->cli, reader->line.data, reader->line.len))
		gs_relay_stop(reader->relay);
}

static void
flush_events(void *arg)
{
	struct reader *reader = arg;

	if (!cli_flush(&reader->cli))
		gs_relay_stop(reader->relay);
}

static void
take_signal(int number, void *arg)
{
	struct reader *reader = arg;

	(void)number;
	reader->is_interrupted = true;
	gs_relay_stop(reader->relay);
}

static void
stop_loop(void *arg)
{
	struct reader *reader = arg;

	gs_loop_stop(reader->loop);
}

static bool
open_report(struct reader *reader, struct gs_err *err)
{
	reader->report_fd = -1;
	if (reader->report_path == NULL)
		return true;
	reader->report_fd =
	    open(reader->report_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	return reader->report_fd >= 0 ||
	    gs_fail(err, GS_ECREATE, "%s: %s", reader->report_path, strerror(errno));
}

static void
write_summary(struct gs_buf *buf, const struct reader *reader, size_t complete)
{
	struct gs_session *session = gs_relay_session(reader->relay);
	const struct gs_session_counts *counts = gs_session_counts(session);
	const struct gs_relay_fault *fault = gs_relay_fault(reader->relay);

	gs_buf_add_str(buf, "{\"relay\":");
	gs_json_write_string(buf, reader->url.text, strlen(reader->url.text));
	gs_buf_printf(buf, ",\"filters\":%zu,\"complete\":%zu", reader->input.num,
	    complete);
	gs_buf_printf(buf,
	    ",\"events\":%" PRIu64 ",\"invalid\":%" PRIu64 ",\"foreign\":%" PRIu64
	    ",\"late\":%" PRIu64 ",\"unknown\":%" PRIu64 ",\"junk\":%" PRIu64,
	    counts->events, counts->invalid, counts->foreign, counts->late,
	    counts->unknown, counts->junk);
	gs_buf_add_str(buf, ",\"fault\":");
	if (fault->name != NULL)
		gs_json_write_string(buf, fault->name, strlen(fault->name));
	else
		gs_buf_add_str(buf, "null");
	gs_buf_printf(buf, ",\"notices\":%" PRIu64 ",\"notice\":", counts->notices);
	gs_json_write_string(buf, gs_session_notice(session),
	    strlen(gs_session_notice(session)));
	gs_buf_add_char(buf, '}');
}

static bool
write_report(struct reader *reader, size_t complete, struct gs_err *err)
{
	const struct gs_history *history =
	    gs_session_history(gs_relay_session(reader->relay));
	struct gs_out out;
	bool ok;

	if (reader->report_fd < 0)
		return true;
	gs_out_init(&out, reader->report_fd);
	for (size_t i = 0; i < gs_history_count(history); i++) {
		gs_buf_clear(&reader->line);
		gs_buf_printf(&reader->line, "{\"line\":%" PRIu64 ",",
		    reader->input.lines[i]);
		gs_history_write(history, i, &reader->line);
		gs_buf_add_char(&reader->line, '}');
		(void)gs_out_line(&out, reader->line.data, reader->line.len);
	}
	gs_buf_clear(&reader->line);
	write_summary(&reader->line, reader, complete);
	(void)gs_out_line(&out, reader->line.data, reader->line.len);
	ok = gs_out_flush(&out);
	if (!ok)
		(void)gs_fail(err, GS_EIO, "%s: %s", reader->report_path,
		    strerror(out.error));
	gs_out_fini(&out);
	return ok;
}

/* Incomplete filters that share a cause. */
struct cause {
	size_t count;
	size_t first;
};

static void
say_cause(const struct reader *reader, struct gs_str cause, const struct cause *what)
{
	const struct gs_relay_fault *fault = gs_relay_fault(reader->relay);
	const struct gs_history *history =
	    gs_session_history(gs_relay_session(reader->relay));
	bool has_fault = fault->name != NULL && gs_str_is(cause, "dropped");
	struct gs_buf filter = GS_BUF_INIT, shown = GS_BUF_INIT;

	gs_filter_write(gs_history_filter(history, what->first), &filter);
	gs_buf_add_shown(&shown, filter.data, filter.len, SHOWN_BYTES);
	cli_complain(&reader->cli,
	    "%s: incomplete: %s%s%s%s: %zu of %zu filters, such as line %" PRIu64 ": %s",
	    reader->url.text, cause.ptr, has_fault ? " (" : "",
	    has_fault ? fault->name : "", has_fault ? ")" : "", what->count,
	    reader->input.num, reader->input.lines[what->first], shown.data);
	gs_buf_fini(&shown);
	gs_buf_fini(&filter);
}

static void
say_causes(const struct reader *reader, struct gs_map *causes)
{
	const struct gs_relay_fault *fault = gs_relay_fault(reader->relay);
	struct gs_map_entry **sorted = gs_map_sorted(causes);

	if (fault->name != NULL && fault->text[0] != '\0')
		cli_complain(&reader->cli, "%s: %s: %s", reader->url.text, fault->name,
		    fault->text);
	for (size_t i = 0; i < gs_map_count(causes); i++)
		say_cause(reader, sorted[i]->key, sorted[i]->value);
	free(sorted);
}

static void
add_cause(struct gs_map *causes, const struct gs_history_report *report, size_t i)
{
	struct gs_buf text = GS_BUF_INIT;
	struct gs_map_entry *entry;
	struct cause *cause;

	gs_history_write_end(report, &text);
	entry = gs_map_add(causes, (struct gs_str){ text.data, text.len });
	cause = entry->value;
	if (cause == NULL) {
		entry->value = cause = gs_mem_new(sizeof(*cause));
		cause->first = i;
	}
	cause->count++;
	gs_buf_fini(&text);
}

/* Sorts the incomplete filters by cause; GS_OK if there are none. */
static enum gs_code
judge_filters(const struct reader *reader, struct gs_map *causes, size_t *complete)
{
	const struct gs_history *history =
	    gs_session_history(gs_relay_session(reader->relay));
	enum gs_code code = GS_OK;

	for (size_t i = 0; i < gs_history_count(history); i++) {
		enum gs_code one = gs_relay_code(reader->relay, i);

		if (one == GS_OK) {
			(*complete)++;
			continue;
		}
		code = code == GS_OK || code == one ? one : GS_EINCOMPLETE;
		add_cause(causes, gs_history_get(history, i), i);
	}
	return code;
}

/* Says what came of it and returns the exit code. */
static int
conclude(struct reader *reader)
{
	struct gs_map *causes = gs_map_new();
	bool is_stdout_gone = reader->cli.out.error != 0;
	size_t complete = 0;
	struct gs_err err;
	int code = (int)judge_filters(reader, causes, &complete);

	if (reader->is_interrupted && code != GS_OK) {
		cli_complain(&reader->cli, "%s: interrupted: %zu of %zu filters complete",
		    reader->url.text, complete, reader->input.num);
		code = GS_EINCOMPLETE;
	} else if (!is_stdout_gone) {
		say_causes(reader, causes);
	}
	cli_tell(&reader->cli, "%s: %" PRIu64 " events, %zu of %zu filters complete",
	    reader->url.text, gs_session_counts(gs_relay_session(reader->relay))->events,
	    complete, reader->input.num);
	if (!write_report(reader, complete, &err))
		code = cli_fail(&reader->cli, &err);
	gs_map_free(causes, free);
	cli_bad_end(&reader->input.bad);
	if (reader->input.bad.count > 0 && code != GS_EIO)
		code = GS_EDATA;
	return code;
}

static int
read_relay(struct reader *reader)
{
	const struct gs_loop_ops loop_ops = { take_signal, flush_events, reader };
	const struct gs_relay_ops relay_ops = { print_event, NULL, stop_loop, reader };
	struct gs_relay_options relay_options = { .url = &reader->url,
		.once = reader->once,
		.allow_private = reader->allow_private,
		.silence_ms = reader->timeout_s * 1000 };
	struct gs_resolver *resolver;
	struct gs_err err;
	int code;

	reader->loop = gs_loop_new(&loop_ops, NULL, &err);
	if (reader->loop == NULL)
		return cli_fail(&reader->cli, &err);
	resolver = gs_resolver_new(reader->loop, NULL, NULL, &err);
	if (resolver == NULL) {
		gs_loop_free(reader->loop);
		return cli_fail(&reader->cli, &err);
	}
	relay_options.resolver = resolver;
	reader->relay = gs_relay_new(reader->loop, &relay_options, &relay_ops);
	for (size_t i = 0; i < reader->input.num; i++)
		gs_session_add(gs_relay_session(reader->relay),
		    &reader->input.filters[i]);
	gs_relay_dial(reader->relay);
	gs_loop_run(reader->loop);
	code = conclude(reader);
	gs_relay_free(reader->relay);
	gs_resolver_free(resolver);
	gs_loop_free(reader->loop);
	return code;
}

static void
free_reader(struct reader *reader)
{
	for (size_t i = 0; i < reader->input.num; i++)
		gs_filter_fini(&reader->input.filters[i]);
	free(reader->input.filters);
	free(reader->input.lines);
	gs_buf_fini(&reader->line);
	if (reader->report_fd >= 0)
		(void)close(reader->report_fd);
}

int
main(int argc, char **argv)
{
	struct reader reader = {
		.cli = { .name = "grasp-sync-relay",
		    .usage = "--once [--filters FILE] [--timeout D] [--report FILE] URL",
		    .about =
			"read from one relay what filters match, with a proof for each",
		    .options = options },
		.filters_path = "-",
		.report_fd = -1,
		.timeout_s = GS_SESSION_SILENCE_MS / 1000
	};
	struct gs_err err;
	int code;

	cli_init(&reader.cli, argc, argv);
	read_options(&reader);
	read_operand(&reader);
	if (!read_filters(&reader, &err) || !open_report(&reader, &err)) {
		code = cli_fail(&reader.cli, &err);
	} else if (reader.input.num > 0) {
		code = read_relay(&reader);
	} else if (reader.input.bad.count > 0) {
		cli_bad_end(&reader.input.bad);
		code = GS_EDATA;
	} else {
		cli_usage(&reader.cli, "%s: no filters", reader.filters_path);
	}
	free_reader(&reader);
	return cli_end(&reader.cli, code, GS_EINCOMPLETE);
}
