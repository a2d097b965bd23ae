/* The store's command: events in (import), out (export), and what is there (stat). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli_decisions.h"
#include "cli_store.h"
#include "clock.h"
#include "figures.h"
#include "ingest.h"
#include "mem.h"
#include "num.h"
#include "selection.h"

/* --- import --- */

enum {
	I_DB,
	I_SERVICE,
	I_FOLLOW,
	I_OWN_URL,
	I_DENY,
	I_MAX_STORE,
	I_MAX_EVENTS_REPO,
	I_DECISIONS,
	I_NOW,
	I_MAP_SIZE,
	I_WORKERS
};
static const struct cli_option import_options[] = {
	{ "db", 0, "DIR", "the store; made if it is missing" },
	{ "service", 0, "DOMAIN", "keep what belongs to repositories that list it" },
	{ "follow", 0, "RULE", "keep what belongs to these: listed, all, or a FILE" },
	{ "own-url", 0, "URL", "another URL of our own relay" },
	{ "deny", 0, "FILE", "never keep these events, keys and repositories" },
	{ "max-store", 0, "SIZE", "take nothing in when the store is so large" },
	{ "max-events-repo", 0, "N", "of one repository, newly stored a day" },
	{ "decisions", 0, "FILE", "append what became of each event, a JSON line each" },
	{ "now", 0, "TIME", "judge expiry at this time" },
	{ "map-size", 0, "BYTES",
	    "first size of the map, such as 64m; it grows by itself" },
	{ "workers", 0, "N", "threads that verify; default: one a core" },
	{ NULL, 0, NULL, NULL },
};

struct import {
	struct cli cli;
	const char *dir, *file;
	struct gs_policy policy;
	bool has_follow;
	const char *needs_policy; /* an option that means nothing without one */
	const char *decisions_file;
	struct cli_decisions decisions;
	struct gs_store_options store;
	struct gs_ingest_options ingest;
	struct cli_bad bad;
};

static void
set_import_option(struct import *import, int option, const char *value)
{
	struct cli *cli = &import->cli;
	const char *name = import_options[option].name;

	if (cli_set_policy(cli, &import->policy, name, value)) {
		if (option == I_FOLLOW)
			import->has_follow = true;
		else if (option != I_SERVICE)
			import->needs_policy = name;
		return;
	}
	switch (option) {
	case I_DB:
		import->dir = value;
		break;
	case I_DECISIONS:
		import->decisions_file = value;
		break;
	case I_NOW:
		import->ingest.now_s = cli_time_s(cli, "now", value);
		break;
	case I_MAP_SIZE:
		import->store.map_bytes = cli_size(cli, name, value);
		break;
	case I_WORKERS:
		import->ingest.workers =
		    (unsigned)cli_count(cli, "workers", value, 1, GS_INGEST_WORKERS);
		break;
	}
}

static void
read_import_options(struct import *import)
{
	struct cli *cli = &import->cli;
	const char *value;
	int option;

	while ((option = cli_option(cli, &value)) >= 0)
		set_import_option(import, option, value);
	if (import->dir == NULL)
		cli_usage(cli, "--db is needed");
	if (cli->argc - cli->at > 1)
		cli_usage(cli, "more than one file");
	import->file = cli->at < cli->argc ? cli->argv[cli->at] : "-";
	if (import->policy.rule == GS_FOLLOW_LISTED && import->has_follow &&
	    import->policy.num_services == 0)
		cli_usage(cli, "--follow listed needs --service");
	if (import->policy.num_services > 0 || import->has_follow)
		import->ingest.policy = &import->policy;
	else if (import->needs_policy != NULL)
		cli_usage(cli, "--%s needs --service or --follow", import->needs_policy);
}

static void
show_bad(uint64_t number, enum gs_event_fault fault, const char *why, void *arg)
{
	struct import *import = arg;

	cli_bad_line(&import->bad, number, gs_event_fault_name(fault), why);
}

static void
write_decision(const struct gs_decision *decision, void *arg)
{
	struct import *import = arg;

	cli_decisions_write(decision, &import->decisions);
}

static void
show_committed(const struct gs_tally *tally, void *arg)
{
	struct import *import = arg;

	(void)cli_decisions_flush(&import->decisions);
	if (import->cli.loud > 0)
		cli_tell(&import->cli, "committed: %" PRIu64 " read, %" PRIu64 " stored",
		    tally->read, tally->stored);
	else
		cli_progress(&import->cli, "%" PRIu64 " read, %" PRIu64 " stored",
		    tally->read, tally->stored);
}

static void
say_summary(const struct cli *cli, const struct gs_tally *tally)
{
	struct gs_buf text = GS_BUF_INIT;

	gs_figures_write_tally(&text, tally);
	cli_say(cli, "%s", text.data);
	gs_buf_fini(&text);
}

/* What was read counts even if reading it did not end well. */
static int
end_import(struct import *import, struct gs_ingest *ingest, enum gs_feed feed,
    const struct gs_err *read_err)
{
	struct cli *cli = &import->cli;
	struct gs_tally tally = { .read = 0 };
	struct gs_err err;
	bool ok = gs_ingest_finish(ingest, &tally, &err);
	int code = gs_figures_invalid(&tally) > 0 ? GS_EDATA : GS_OK;

	cli_bad_end(&import->bad);
	if (tally.skipped > 0) {
		cli_complain(cli, "%" PRIu64 " events are over a cap, left for later",
		    tally.skipped);
		code = GS_EINCOMPLETE;
	}
	if (feed == GS_FEED_FAILED) {
		cli_complain(cli, "%s: %s", import->file, read_err->text);
		code = (int)read_err->code;
	} else if (feed == GS_FEED_STOPPED) {
		cli_complain(cli, "stopped by a signal, what was read is stored");
		code = GS_EINCOMPLETE;
	}
	if (!ok)
		code = cli_fail(cli, &err);
	say_summary(cli, &tally);
	gs_tally_fini(&tally);
	return code;
}

/* A second signal ends the process at once. */
static int
import_stream(struct import *import, struct gs_store *store, int fd)
{
	sigset_t old;
	int stop_fd = cli_catch_signals(&old);
	struct gs_err err;
	struct gs_ingest *ingest = gs_ingest_new(store, &import->ingest, &err);
	enum gs_feed feed;
	int code;

	if (ingest == NULL) {
		code = cli_fail(&import->cli, &err);
		goto out;
	}
	if (isatty(fd) == 1)
		cli_say(&import->cli, "reading events from the terminal, end with ^D");
	feed = gs_ingest_feed(ingest, fd, stop_fd, &err);
	if (feed == GS_FEED_STOPPED)
		cli_release_signals(stop_fd, &old);
	code = end_import(import, ingest, feed, &err);
	gs_ingest_free(ingest);
out:
	if (stop_fd >= 0)
		(void)close(stop_fd);
	return code;
}

static int
import_into(struct import *import, struct gs_store *store, int fd)
{
	int code =
	    cli_decisions_open(&import->decisions, &import->cli, import->decisions_file);

	if (code != GS_OK)
		return code;
	if (import->decisions_file != NULL)
		import->ingest.decided = write_decision;
	return cli_decisions_close(&import->decisions, import_stream(import, store, fd));
}

static int
import_file(struct import *import)
{
	struct gs_err err;
	int fd = gs_file_open(import->file, &err);
	struct gs_store *store;
	int code;

	if (fd < 0)
		return cli_fail(&import->cli, &err);
	store = gs_store_open(import->dir, &import->store, &err);
	code =
	    store != NULL ? import_into(import, store, fd) : cli_fail(&import->cli, &err);
	gs_store_close(store);
	if (fd != STDIN_FILENO)
		(void)close(fd);
	return code;
}

static int
run_import(int argc, char **argv)
{
	struct import import = {
		.cli = { .name = "grasp-sync-store import",
		    .usage = "--db DIR [OPTION]... [FILE]",
		    .about = "verify events, one a line, and store them",
		    .options = import_options },
		.store = { .create = true },
		.ingest = { .now_s = -1, .bad = show_bad, .committed = show_committed },
	};
	int code;

	gs_policy_init(&import.policy);
	cli_init(&import.cli, argc, argv);
	read_import_options(&import);
	import.ingest.arg = &import;
	import.bad = (struct cli_bad){ .cli = &import.cli, .file = import.file };
	code = import_file(&import);
	gs_policy_fini(&import.policy);
	return cli_end(&import.cli, code, code);
}

/* --- export --- */

/* What export and stat have in common; NULL: *code says how to end. */
static struct gs_store *
open_to_read(const struct cli *cli, const char *dir, int *code)
{
	struct gs_store_options options = { .read_only = true };
	struct gs_store *store;
	struct gs_err err;

	if (dir == NULL)
		cli_usage(cli, "--db is needed");
	if (cli->at < cli->argc)
		cli_usage(cli, "takes no operands");
	store = gs_store_open(dir, &options, &err);
	*code = store != NULL ? GS_OK : cli_fail(cli, &err);
	return store;
}

enum { E_DB, E_FILTER, E_SINCE, E_UNTIL, E_NOW };
static const struct cli_option export_options[] = {
	{ "db", 0, "DIR", "the store" },
	{ "filter", 0, "JSON", "only what this filter matches, or another one" },
	{ "since", 0, "TIME", "nothing older: seconds, RFC 3339, or 24h (ago)" },
	{ "until", 0, "TIME", "nothing newer" },
	{ "now", 0, "TIME", "judge expiry at this time" },
	{ NULL, 0, NULL, NULL },
};

struct exporting {
	struct cli cli;
	const char *dir, *since, *until;
	struct gs_filter *filters;
	struct gs_selection selection;
};

static void
add_filter(struct exporting *export, const char *value)
{
	size_t num = export->selection.num_filters;
	struct gs_err err;

	export->filters =
	    gs_mem_resize(export->filters, num + 1, sizeof(*export->filters));
	export->filters[num] = (struct gs_filter)GS_FILTER_INIT;
	if (!gs_filter_parse(&export->filters[num], value, strlen(value), &err))
		cli_bad_value(&export->cli, "filter", value, &err);
	export->selection.filters = export->filters;
	export->selection.num_filters++;
}

static void
set_export_option(struct exporting *export, int option, const char *value)
{
	struct cli *cli = &export->cli;

	switch (option) {
	case E_DB:
		export->dir = value;
		break;
	case E_FILTER:
		add_filter(export, value);
		break;
	case E_SINCE:
		export->since = value;
		break;
	case E_UNTIL:
		export->until = value;
		break;
	case E_NOW:
		export->selection.now_s = cli_time_s(cli, "now", value);
		break;
	}
}

/* After all options: "24h" is counted back from --now. */
static void
set_bound(const struct exporting *export, const char *option, const char *value,
    int64_t *bound)
{
	struct gs_err err;

	if (value != NULL &&
	    !gs_num_parse_time_s(bound, value, export->selection.now_s, &err))
		cli_bad_value(&export->cli, option, value, &err);
}

static bool
print_row(const struct gs_row *row, void *arg)
{
	struct cli *cli = arg;

	return cli_line(cli, row->json.ptr, row->json.len);
}

static int
run_export(int argc, char **argv)
{
	struct exporting export = {
		.cli = { .name = "grasp-sync-store export",
		    .usage = "--db DIR [OPTION]...",
		    .about = "print the events that stand, oldest first",
		    .options = export_options },
		.selection = { .since = -1, .until = -1, .now_s = gs_clock_now().wall_s },
	};
	struct gs_store *store;
	struct gs_err err;
	const char *value;
	int option, code;
	size_t i;

	cli_init(&export.cli, argc, argv);
	while ((option = cli_option(&export.cli, &value)) >= 0)
		set_export_option(&export, option, value);
	set_bound(&export, "since", export.since, &export.selection.since);
	set_bound(&export, "until", export.until, &export.selection.until);
	store = open_to_read(&export.cli, export.dir, &code);
	if (store != NULL &&
	    !gs_selection_walk(store, &export.selection, print_row, &export.cli, &err))
		code = cli_fail(&export.cli, &err);
	gs_store_close(store);
	for (i = 0; i < export.selection.num_filters; i++)
		gs_filter_fini(&export.filters[i]);
	free(export.filters);
	return cli_end(&export.cli, code, GS_OK);
}

/* --- stat --- */

enum { S_DB, S_JSON, S_CHECK };
static const struct cli_option stat_options[] = {
	{ "db", 0, "DIR", "the store" },
	{ "json", 0, NULL, "one JSON object" },
	{ "check", 0, NULL, "prove every row and its indexes both ways instead" },
	{ NULL, 0, NULL, NULL },
};

struct stat_run {
	struct cli cli;
	const char *dir;
	bool json, check;
};

static int
run_stat(int argc, char **argv)
{
	struct stat_run run = {
		.cli = { .name = "grasp-sync-store stat",
		    .usage = "--db DIR [--json] [--check]",
		    .about = "say what is in the store",
		    .options = stat_options },
	};
	struct gs_store *store;
	const char *value;
	int option, code;

	cli_init(&run.cli, argc, argv);
	while ((option = cli_option(&run.cli, &value)) >= 0) {
		if (option == S_DB)
			run.dir = value;
		run.json |= option == S_JSON;
		run.check |= option == S_CHECK;
	}
	store = open_to_read(&run.cli, run.dir, &code);
	if (store != NULL)
		code = run.check ? cli_store_check(&run.cli, store, run.json)
				 : cli_store_show(&run.cli, store, run.json);
	gs_store_close(store);
	return cli_end(&run.cli, code, GS_OK);
}

/* --- which of them --- */

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
} subcommands[] = { { "import", run_import }, { "export", run_export },
	{ "stat", run_stat } };

int
main(int argc, char **argv)
{
	static const struct cli_option none[] = { { NULL, 0, NULL, NULL } };
	struct cli cli = { .name = "grasp-sync-store",
		.usage =
		    "import --db DIR [OPTION]... [FILE]\nexport --db DIR [OPTION]...\n"
		    "stat --db DIR [OPTION]...",
		.about = "the store: events in, events out, what is there",
		.options = none };
	const char *value;
	size_t i;

	for (i = 0; argc > 1 && i < sizeof(subcommands) / sizeof(subcommands[0]); i++)
		if (strcmp(argv[1], subcommands[i].name) == 0)
			return subcommands[i].run(argc - 1, argv + 1);
	/* of other words only the first is looked at: -h or -V perhaps */
	cli_init(&cli, argc > 1 ? 2 : 1, argv);
	while (cli_option(&cli, &value) >= 0)
		continue;
	if (argc > 2 && argv[1][0] == '-')
		cli_usage(&cli, "options stand behind the subcommand");
	if (argc > 1 && argv[1][0] != '-')
		cli_usage(&cli, "no such subcommand: it is import, export or stat");
	cli_usage(&cli, "needs a subcommand: import, export or stat");
}
