/*
 * grasp-sync-filters: what to ask each relay for, from a state file.  The state is
 * read whole before the first line is printed, so damage prints nothing.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "clock.h"
#include "json.h"
#include "layers.h"
#include "num.h"
#include "pack.h"
#include "snapshot.h"
#include "url.h"

#define MAX_CHUNK 1000	  /* no relay takes that many values in a filter */
#define MAX_FILTERS 10000 /* in a REQ */

enum format {
	FORMAT_FILTERS,
	FORMAT_REQ,
	FORMAT_ARRAY,
};

static const char *const format_names[] = { "filters", "req", "array", NULL };

struct settings {
	const char *relay; /* as typed, or NULL: all relays */
	struct gs_url url; /* the same, canonical */
	const char *since, *now;
	enum format format;
	struct gs_layers_options layers;
	struct gs_pack_limits limits;
	bool has_limits;
	bool show_stats;
	bool allow_private;
};

/* What was printed, of one relay or of all. */
struct counts {
	size_t filters, messages, bytes, left_out;
};

struct printer {
	struct cli *cli;
	const struct settings *settings;
	struct gs_str url;   /* of the relay that is being printed */
	struct gs_buf shown; /* the same for people */
	struct gs_buf filter, list, line;
	struct gs_pack *pack;
	struct counts counts, total;
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
			settings->format = (enum format)i;
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
	if (settings->has_limits && settings->format != FORMAT_REQ)
		cli_usage(cli, "--max-filters and --max-bytes go with --format req");
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

/* With --relay what is asked for stands alone, else in an object that names the relay. */
static bool
print_line(struct printer *printer, const char *member, struct gs_str json)
{
	struct gs_buf *line = &printer->line;

	if (printer->settings->relay != NULL)
		return cli_line(printer->cli, json.ptr, json.len);
	gs_buf_clear(line);
	gs_buf_add_str(line, "{\"relay\":");
	gs_json_write_string(line, printer->url.ptr, printer->url.len);
	gs_buf_printf(line, ",%s:", member);
	gs_buf_add(line, json.ptr, json.len);
	gs_buf_add_char(line, '}');
	return cli_line(printer->cli, line->data, line->len);
}

static bool
print_frame(size_t number, struct gs_str frame, size_t first, size_t count, void *arg)
{
	struct printer *printer = arg;

	(void)number;
	(void)first;
	printer->counts.filters += count;
	printer->counts.messages++;
	printer->counts.bytes += frame.len;
	return print_line(printer, "\"req\"", frame);
}

/* A part is the smallest that there is: if it fits no message, it is left out. */
static bool
pack_part(const struct gs_filter *filter, bool fits, void *arg)
{
	struct printer *printer = arg;
	bool too_big;

	(void)fits;
	gs_buf_clear(&printer->filter);
	gs_filter_write(filter, &printer->filter);
	if (gs_pack_add(printer->pack,
		(struct gs_str){ printer->filter.data, printer->filter.len }, &too_big))
		return true;
	printer->counts.left_out += too_big;
	return too_big;
}

static bool
pack_filter(struct printer *printer, const struct gs_filter *filter)
{
	struct gs_str json = { printer->filter.data, printer->filter.len };
	bool too_big;

	if (gs_pack_add(printer->pack, json, &too_big))
		return true;
	return too_big &&
	    gs_pack_split(filter, gs_pack_room(&printer->settings->limits), pack_part,
		printer);
}

static bool
print_filter(struct printer *printer, unsigned layer)
{
	char member[sizeof("\"layer\":0,\"filter\"")] = "\"layer\":0,\"filter\"";

	member[sizeof("\"layer\":") - 1] = (char)('0' + layer);
	return print_line(printer, member,
	    (struct gs_str){ printer->filter.data, printer->filter.len });
}

static bool
give_filter(unsigned layer, const struct gs_filter *filter, void *arg)
{
	struct printer *printer = arg;

	gs_buf_clear(&printer->filter);
	gs_filter_write(filter, &printer->filter);
	if (printer->settings->format == FORMAT_REQ)
		return pack_filter(printer, filter);
	printer->counts.filters++;
	printer->counts.bytes += printer->filter.len;
	if (printer->settings->format == FORMAT_FILTERS)
		return print_filter(printer, layer);
	gs_buf_add_char(&printer->list, printer->list.len == 0 ? '[' : ',');
	gs_buf_add(&printer->list, printer->filter.data, printer->filter.len);
	return true;
}

/* What the format holds back until all filters of a relay are there. */
static bool
print_rest(struct printer *printer)
{
	if (printer->settings->format == FORMAT_REQ)
		return gs_pack_flush(printer->pack);
	if (printer->list.len == 0)
		return true;
	gs_buf_add_char(&printer->list, ']');
	return print_line(printer, "\"filters\"",
	    (struct gs_str){ printer->list.data, printer->list.len });
}

static void
show_counts(const struct printer *printer, const char *who, const struct counts *counts)
{
	if (printer->settings->format == FORMAT_REQ)
		cli_complain(printer->cli, "%s: %zu filters in %zu messages, %zu bytes",
		    who, counts->filters, counts->messages, counts->bytes);
	else
		cli_complain(printer->cli, "%s: %zu filters, %zu bytes", who,
		    counts->filters, counts->bytes);
}

static void
tell_relay(const struct printer *printer)
{
	const struct counts *counts = &printer->counts;
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
add_counts(struct counts *total, const struct counts *counts)
{
	total->filters += counts->filters;
	total->messages += counts->messages;
	total->bytes += counts->bytes;
	total->left_out += counts->left_out;
}

/* relay NULL: one that is not in the state.  False: stdout has failed. */
static bool
print_relay(struct printer *printer, const struct gs_relay_entry *relay,
    struct gs_str url)
{
	bool ok;

	printer->url = url;
	gs_buf_clear(&printer->shown);
	gs_buf_add_shown(&printer->shown, url.ptr, url.len, url.len);
	if (relay == NULL)
		cli_say(printer->cli, "%s: not in the state, so layer 1 alone",
		    printer->shown.data);
	printer->counts = (struct counts){ 0 };
	printer->pack = gs_pack_new(&printer->settings->limits, print_frame, printer);
	gs_buf_clear(&printer->list);
	ok = gs_layers_each(relay, &printer->settings->layers, give_filter, printer) &&
	    print_rest(printer);
	gs_pack_free(printer->pack);
	if (!ok)
		return false;
	tell_relay(printer);
	add_counts(&printer->total, &printer->counts);
	return true;
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

static int
print_state(struct cli *cli, const struct settings *settings,
    const struct gs_state *state)
{
	struct printer printer = { .cli = cli, .settings = settings };
	const struct counts *total = &printer.total;
	bool ok = settings->relay != NULL ? print_one(&printer, state)
					  : print_all(&printer, state);

	if (ok && settings->show_stats && settings->relay == NULL)
		show_counts(&printer, "total", total);
	if (ok && total->filters + total->left_out == 0)
		cli_say(cli, "nothing to ask");
	gs_buf_fini(&printer.shown);
	gs_buf_fini(&printer.filter);
	gs_buf_fini(&printer.list);
	gs_buf_fini(&printer.line);
	return total->left_out > 0 ? GS_EINCOMPLETE : GS_OK;
}

int
main(int argc, char **argv)
{
	struct cli cli = { .name = "grasp-sync-filters",
		.usage =
		    "[--relay URL] [--since T] [--layer N]... [--format NAME] [STATE]",
		.about = "turn a state file into filters, relay by relay",
		.options = options };
	struct settings settings = { .layers = { 0, GS_LAYERS_CHUNK, -1 },
		.limits = { GS_PACK_FILTERS, GS_PACK_BYTES } };
	struct gs_state *state;
	struct gs_err err;
	int code;

	cli_init(&cli, argc, argv);
	read_options(&cli, &settings);
	state = read_state(read_operand(&cli), &err);
	if (state == NULL)
		return cli_fail(&cli, &err);
	code = print_state(&cli, &settings, state);
	gs_state_free(state);
	return cli_end(&cli, code, GS_OK);
}
