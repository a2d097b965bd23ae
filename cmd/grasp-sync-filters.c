/*
 * grasp-sync-filters: what to ask each relay for, from a state file or what is new in
 * batches.  A state is read whole before the first line is printed, so damage prints
 * nothing.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "batch.h"
#include "cli.h"
#include "clock.h"
#include "layers.h"
#include "listing.h"
#include "num.h"
#include "snapshot.h"
#include "url.h"

#define MAX_CHUNK 1000	  /* no relay takes that many values in a filter */
#define MAX_FILTERS 10000 /* in a REQ */

static const char *const format_names[] = { "filters", "req", "array", NULL };

struct settings {
	const char *relay; /* as typed, or NULL: all relays */
	struct gs_url url; /* the same, canonical */
	const char *since, *now;
	enum gs_listing_form format;
	struct gs_layers_options layers;
	struct gs_pack_limits limits;
	const char *batch; /* a file of batches, or NULL: a state file */
	bool has_limits;
	bool show_stats;
	bool allow_private;
};

struct printer {
	struct cli *cli;
	const struct settings *settings;
	struct gs_listing *listing;
	struct gs_buf shown; /* the URL of the relay that is being printed, for people */
	struct gs_listing_counts counts, total;
	struct cli_bad bad; /* lines of --batch */
};

enum option {
	OPT_RELAY,
	OPT_SINCE,
	OPT_LAYER,
	OPT_CHUNK,
	OPT_FORMAT,
	OPT_MAX_FILTERS,
	OPT_MAX_BYTES,
	OPT_STATS,
	OPT_NOW,
	OPT_ALLOW_PRIVATE,
	OPT_BATCH,
};

static const struct cli_option options[] = {
	[OPT_RELAY] = { "relay", 0, "URL", "one relay alone; its filters as they are" },
	[OPT_SINCE] = { "since", 0, "T",
	    "events since then: seconds, RFC 3339 or 15m ago" },
	[OPT_LAYER] = { "layer", 0, "N", "this layer alone (1, 2, 3); may be repeated" },
	[OPT_CHUNK] = { "chunk", 0, "N", "values a filter (100)" },
	[OPT_FORMAT] = { "format", 0, "NAME", "filters (default), req or array" },
	[OPT_MAX_FILTERS] = { "max-filters", 0, "N",
	    "filters a REQ (10), with --format req" },
	[OPT_MAX_BYTES] = { "max-bytes", 0, "SIZE",
	    "bytes a REQ (60k), with --format req" },
	[OPT_STATS] = { "stats", 0, NULL, "filters and bytes of each relay, on stderr" },
	[OPT_NOW] = { "now", 0, "T", "take this for the time (for --since 15m)" },
	[OPT_ALLOW_PRIVATE] = { "allow-private", 0, NULL,
	    "--relay may be private and not in the state" },
	[OPT_BATCH] = { "batch", 0, "FILE",
	    "only what is new: batches of grasp-sync-watch, a line each" },
	{ NULL, 0, NULL, NULL },
};

static void
set_relay(const struct cli *cli, struct settings *settings, const char *value)
{
	struct gs_err err;

	if (!gs_url_parse_relay(&settings->url, gs_str_of(value), true, &err))
		cli_bad_value(cli, "relay", value, &err);
	settings->relay = value;
}

/* "2" or "1,3"; what was said before stays. */
static void
add_layers(const struct cli *cli, struct settings *settings, const char *value)
{
	const char *at = value;
	struct gs_err err;

	for (;;) {
		size_t len = strcspn(at, ",");
		int64_t layer;

		if (!gs_num_parse(&layer, at, len, 3) || layer < 1) {
			gs_fail(&err, GS_EUSAGE, "not a layer: 1, 2 or 3");
			cli_bad_value(cli, "layer", value, &err);
		}
		settings->layers.layers |= 1u << (layer - 1);
		if (at[len] == '\0')
			return;
		at += len + 1;
	}
}

static void
set_format(const struct cli *cli, struct settings *settings, const char *value)
{
	struct gs_err err;
	size_t i;

	for (i = 0; format_names[i] != NULL; i++)
		if (strcmp(value, format_names[i]) == 0) {
			settings->format = (enum gs_listing_form)i;
			return;
		}
	gs_fail(&err, GS_EUSAGE, "not filters, req or array");
	cli_bad_value(cli, "format", value, &err);
}

static void
set_max_bytes(const struct cli *cli, struct settings *settings, const char *value)
{
	struct gs_err err;
	int64_t bytes;

	if (!gs_num_parse_bytes(&bytes, value, &err))
		cli_bad_value(cli, "max-bytes", value, &err);
	settings->limits.max_bytes = (size_t)bytes;
	settings->has_limits = true;
}

static void
set_option(const struct cli *cli, struct settings *settings, enum option option,
    const char *value)
{
	switch (option) {
	case OPT_RELAY:
		set_relay(cli, settings, value);
		break;
	case OPT_SINCE:
		settings->since = value;
		break;
	case OPT_LAYER:
		add_layers(cli, settings, value);
		break;
	case OPT_CHUNK:
		settings->layers.chunk =
		    (size_t)cli_count(cli, "chunk", value, 1, MAX_CHUNK);
		break;
	case OPT_FORMAT:
		set_format(cli, settings, value);
		break;
	case OPT_MAX_FILTERS:
		settings->limits.max_filters =
		    (size_t)cli_count(cli, "max-filters", value, 1, MAX_FILTERS);
		settings->has_limits = true;
		break;
	case OPT_MAX_BYTES:
		set_max_bytes(cli, settings, value);
		break;
	case OPT_STATS:
		settings->show_stats = true;
		break;
	case OPT_NOW:
		settings->now = value;
		break;
	case OPT_ALLOW_PRIVATE:
		settings->allow_private = true;
		break;
	case OPT_BATCH:
		settings->batch = value;
		break;
	}
}

/* --since counts from --now, which may stand behind it: so both at the end. */
static void
set_since(const struct cli *cli, struct settings *settings)
{
	int64_t now_s = settings->now != NULL ? cli_time_s(cli, "now", settings->now)
					      : gs_clock_now().wall_s;
	struct gs_err err;

	if (settings->since != NULL &&
	    !gs_num_parse_time_s(&settings->layers.since, settings->since, now_s, &err))
		cli_bad_value(cli, "since", settings->since, &err);
}

static void
read_options(struct cli *cli, struct settings *settings)
{
	const char *value;
	int option;

	while ((option = cli_option(cli, &value)) >= 0)
		set_option(cli, settings, (enum option)option, value);
	set_since(cli, settings);
	if (settings->layers.layers == 0)
		settings->layers.layers = GS_LAYERS_ALL;
	if (settings->has_limits && settings->format != GS_LISTING_REQ)
		cli_usage(cli, "--max-filters and --max-bytes go with --format req");
	if (settings->batch != NULL && cli->at < cli->argc)
		cli_usage(cli, "%s: no state file with --batch", cli->argv[cli->at]);
}

/* The only operand, or stdin unless a person sits at it. */
static const char *
read_operand(const struct cli *cli)
{
	if (cli->argc - cli->at > 1)
		cli_usage(cli, "%s: one state file only", cli->argv[cli->at + 1]);
	if (cli->argc > cli->at)
		return cli->argv[cli->at];
	if (isatty(STDIN_FILENO) == 1)
		cli_usage(cli, "no state file");
	return "-";
}

static struct gs_state *
read_state(const char *path, struct gs_err *err)
{
	struct gs_buf text = GS_BUF_INIT;
	struct gs_state *state = NULL;

	if (gs_file_read(&text, path, GS_SNAPSHOT_BYTES, err)) {
		state = gs_snapshot_parse(text.data, text.len, err);
		if (state == NULL)
			gs_fail_in(err, "%s", strcmp(path, "-") == 0 ? "stdin" : path);
	}
	gs_buf_fini(&text);
	return state;
}

static bool
print_line(const char *text, size_t len, void *arg)
{
	struct printer *printer = arg;

	return cli_line(printer->cli, text, len);
}

static void
show_counts(const struct printer *printer, const char *who,
    const struct gs_listing_counts *counts)
{
	if (printer->settings->format == GS_LISTING_REQ)
		cli_complain(printer->cli, "%s: %zu filters in %zu messages, %zu bytes",
		    who, counts->filters, counts->messages, counts->bytes);
	else
		cli_complain(printer->cli, "%s: %zu filters, %zu bytes", who,
		    counts->filters, counts->bytes);
}

static void
tell_relay(const struct printer *printer)
{
	const struct gs_listing_counts *counts = &printer->counts;
	const char *who = printer->shown.data;

	if (counts->left_out > 0)
		cli_complain(printer->cli,
		    "%s: %zu filters of one value are over %zu bytes, left out", who,
		    counts->left_out, printer->settings->limits.max_bytes);
	if (counts->filters + counts->left_out == 0)
		cli_tell(printer->cli, "%s: nothing to ask", who);
	if (printer->settings->show_stats)
		show_counts(printer, who, counts);
}

static void
add_counts(struct gs_listing_counts *total, const struct gs_listing_counts *counts)
{
	total->filters += counts->filters;
	total->messages += counts->messages;
	total->bytes += counts->bytes;
	total->left_out += counts->left_out;
}

static void
begin_relay(struct printer *printer, struct gs_str url)
{
	gs_buf_clear(&printer->shown);
	gs_buf_add_shown(&printer->shown, url.ptr, url.len, url.len);
	gs_listing_begin(printer->listing, url);
}

static bool
end_relay(struct printer *printer)
{
	if (!gs_listing_end(printer->listing, &printer->counts))
		return false;
	tell_relay(printer);
	add_counts(&printer->total, &printer->counts);
	return true;
}

/* relay NULL: one that is not in the state.  False: stdout has failed. */
static bool
print_relay(struct printer *printer, const struct gs_relay_entry *relay,
    struct gs_str url)
{
	begin_relay(printer, url);
	if (relay == NULL)
		cli_say(printer->cli, "%s: not in the state, so layer 1 alone",
		    printer->shown.data);
	return gs_layers_each(relay, &printer->settings->layers, gs_listing_add,
		   printer->listing) &&
	    end_relay(printer);
}

static bool
print_all(struct printer *printer, const struct gs_state *state)
{
	struct gs_map_entry **relays = gs_map_sorted(state->relays);
	size_t num = gs_map_count(state->relays);
	bool ok = true;
	size_t i;

	for (i = 0; ok && i < num; i++) {
		const struct gs_relay_entry *relay = relays[i]->value;

		ok = !relay->is_synced || print_relay(printer, relay, relay->url);
	}
	free(relays);
	return ok;
}

/* A relay of the state was let in by whoever wrote it; any other is judged here. */
static bool
print_one(struct printer *printer, const struct gs_state *state)
{
	const struct settings *settings = printer->settings;
	struct gs_str url = gs_str_of(settings->url.text);
	const struct gs_relay_entry *relay = gs_map_get(state->relays, url);
	struct gs_url judged;
	struct gs_err err;

	if (relay != NULL && relay->is_synced)
		return print_relay(printer, relay, url);
	if (!gs_url_parse_relay(&judged, url, settings->allow_private, &err))
		cli_bad_value(printer->cli, "relay", settings->relay, &err);
	return print_relay(printer, NULL, url);
}

static bool
print_state(struct printer *printer, struct gs_err *err)
{
	const char *path = read_operand(printer->cli);
	struct gs_state *state = read_state(path, err);

	if (state == NULL)
		return false;
	(void)(printer->settings->relay != NULL ? print_one(printer, state)
						: print_all(printer, state));
	gs_state_free(state);
	return true;
}

/* --- batches --- */

/* What is new on each relay, or on the one that was asked for. */
static bool
print_batch(const struct gs_batch *batch, void *arg)
{
	struct printer *printer = arg;
	const struct settings *settings = printer->settings;
	size_t i;

	for (i = 0; i < batch->num_relays; i++) {
		const struct gs_batch_relay *relay = &batch->relays[i];

		if (settings->relay != NULL && !gs_str_is(relay->url, settings->url.text))
			continue;
		begin_relay(printer, relay->url);
		if (!gs_batch_layers(relay, &settings->layers, gs_listing_add,
			printer->listing) ||
		    !end_relay(printer))
			return false;
	}
	return cli_flush(printer->cli);
}

static void
tell_bad_batch(uint64_t line, const char *why, void *arg)
{
	struct printer *printer = arg;

	cli_bad_line(&printer->bad, line, "batch", why);
}

static bool
print_batches(struct printer *printer, struct gs_err *err)
{
	const char *path = printer->settings->batch;
	bool ok;

	printer->bad = (struct cli_bad){ .cli = printer->cli, .file = path };
	ok = gs_batch_read(path, print_batch, tell_bad_batch, printer, err);
	cli_bad_end(&printer->bad);
	return ok;
}

/* --- all of it --- */

static int
judge(const struct printer *printer)
{
	const struct gs_listing_counts *total = &printer->total;

	bool is_read = printer->cli->out.error == 0; /* else nobody asks */

	if (is_read && printer->settings->show_stats && printer->settings->relay == NULL)
		show_counts(printer, "total", total);
	if (is_read && total->filters + total->left_out == 0)
		cli_say(printer->cli, "nothing to ask");
	if (printer->bad.count > 0)
		return GS_EDATA;
	return total->left_out > 0 ? GS_EINCOMPLETE : GS_OK;
}

static int
run(struct cli *cli, const struct settings *settings)
{
	struct printer printer = { .cli = cli, .settings = settings };
	const struct gs_listing_options how = { settings->format, settings->limits,
		settings->relay != NULL, print_line, &printer };
	struct gs_err err;
	bool ok;
	int code;

	printer.listing = gs_listing_new(&how);
	ok = settings->batch != NULL ? print_batches(&printer, &err)
				     : print_state(&printer, &err);
	code = ok ? judge(&printer) : cli_fail(cli, &err);
	gs_listing_free(printer.listing);
	gs_buf_fini(&printer.shown);
	return code;
}

int
main(int argc, char **argv)
{
	struct cli cli = { .name = "grasp-sync-filters",
		.usage =
		    "[--relay URL] [--since T] [--layer N]... [--format NAME] [STATE]\n"
		    "--batch FILE [--relay URL] [OPTION]...",
		.about = "turn a state file into filters, relay by relay",
		.options = options };
	struct settings settings = { .layers = { 0, GS_LAYERS_CHUNK, -1 },
		.limits = { GS_PACK_FILTERS, GS_PACK_BYTES } };

	cli_init(&cli, argc, argv);
	read_options(&cli, &settings);
	return cli_end(&cli, run(&cli, &settings), GS_OK);
}
