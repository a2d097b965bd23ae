/* From events to the state: what is followed, and which relays to ask for it. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli_survey.h"
#include "clock.h"
#include "figures.h"
#include "ingest.h"
#include "json.h"
#include "snapshot.h"

enum {
	O_DB = CLI_SURVEY_NUM,
	O_EVENTS,
	O_OUTPUT,
	O_EXPLAIN,
	O_NOW,
};
static const struct cli_option options[] = {
	CLI_SURVEY_OPTIONS,
	{ "db", 0, "DIR", "read the store" },
	{ "events", 0, "FILE", "read events, one a line, instead" },
	{ "output", 'o', "FILE", "replace FILE with the state" },
	{ "explain", 0, NULL, "say of each announcement why it is followed or not" },
	{ "now", 0, "TIME", "judge expiry at this time" },
	{ NULL, 0, NULL, NULL },
};

struct init {
	struct cli cli;
	const char *dir, *events, *output;
	bool explain;
	struct cli_survey survey;
	struct cli_bad bad;
	uint64_t num_invalid;
	struct gs_buf line; /* of --explain */
};

static void
set_option(struct init *init, int option, const char *value)
{
	struct cli *cli = &init->cli;

	switch (option) {
	case O_DB:
		init->dir = value;
		break;
	case O_EVENTS:
		init->events = value;
		break;
	case O_OUTPUT:
		init->output = value;
		break;
	case O_EXPLAIN:
		init->explain = true;
		break;
	case O_NOW:
		init->survey.options.now_s = cli_time_s(cli, "now", value);
		break;
	default:
		cli_survey_set(&init->survey, option, value);
		break;
	}
}

static void
read_options(struct init *init)
{
	struct cli *cli = &init->cli;
	const char *value;
	int option;

	while ((option = cli_option(cli, &value)) >= 0)
		set_option(init, option, value);
	if ((init->dir == NULL) == (init->events == NULL))
		cli_usage(cli, "needs one of --db and --events");
	cli_survey_check(&init->survey);
	if (cli->at < cli->argc)
		cli_usage(cli, "takes no operands");
	if (init->output != NULL && strcmp(init->output, "-") == 0)
		init->output = NULL;
}

/* --- events from lines --- */

static void
show_bad(uint64_t number, enum gs_event_fault fault, const char *why, void *arg)
{
	struct init *init = arg;

	cli_bad_line(&init->bad, number, gs_event_fault_name(fault), why);
}

static bool
take_in(struct init *init, struct gs_store *store, int fd, struct gs_err *err)
{
	struct gs_ingest_options how = {
		.now_s = init->survey.options.now_s, .bad = show_bad, .arg = init
	};
	struct gs_tally tally = { .read = 0 };
	struct gs_ingest *ingest = gs_ingest_new(store, &how, err);
	struct gs_err read_err;
	bool ok = false;

	if (ingest == NULL)
		return false;
	if (isatty(fd) == 1)
		cli_say(&init->cli, "reading events from the terminal, end with ^D");
	init->bad = (struct cli_bad){ .cli = &init->cli, .file = init->events };
	if (gs_ingest_feed(ingest, fd, -1, &read_err) == GS_FEED_FAILED)
		gs_fail(err, read_err.code, "%s: %s", init->events, read_err.text);
	else
		ok = gs_ingest_finish(ingest, &tally, err);
	cli_bad_end(&init->bad);
	init->num_invalid = gs_figures_invalid(&tally);
	gs_tally_fini(&tally);
	gs_ingest_free(ingest);
	return ok;
}

/* The lines go through a store that nobody else sees: one set of rules for both. */
static struct gs_store *
store_lines(struct init *init, struct gs_err *err)
{
	struct gs_store_options how = { .scratch = true };
	int fd = gs_file_open(init->events, err);
	struct gs_store *store;

	if (fd < 0)
		return NULL;
	store = gs_store_open(NULL, &how, err);
	if (store != NULL && !take_in(init, store, fd, err)) {
		gs_store_close(store);
		store = NULL;
	}
	if (fd != STDIN_FILENO)
		(void)close(fd);
	return store;
}

static struct gs_store *
open_store(struct init *init, struct gs_err *err)
{
	struct gs_store_options how = { .read_only = true };

	return init->dir != NULL ? gs_store_open(init->dir, &how, err)
				 : store_lines(init, err);
}

/* --- what comes out --- */

static void
say_cut(const char *text, void *arg)
{
	struct init *init = arg;

	cli_survey_say_cut(&init->survey, text);
}

static void
add_relay(struct gs_buf *line, const struct gs_survey_relay *relay)
{
	gs_buf_add_str(line, relay->url != NULL ? "{\"url\":" : "{\"text\":");
	if (relay->url != NULL)
		gs_json_write_string(line, relay->url, strlen(relay->url));
	else
		gs_json_write_string(line, relay->text.ptr, relay->text.len);
	gs_buf_add_str(line, ",\"why\":");
	gs_json_write_string(line, relay->why, strlen(relay->why));
	gs_buf_add_char(line, '}');
}

static void
print_note(const struct gs_survey_note *note, void *arg)
{
	struct init *init = arg;
	struct gs_buf *line = &init->line;
	size_t i;

	gs_buf_clear(line);
	gs_buf_add_str(line, "{\"ref\":");
	gs_json_write_string(line, note->ref.ptr, note->ref.len);
	gs_buf_printf(line, ",\"followed\":%s,\"why\":\"%s\",\"created_at\":%" PRId64,
	    note->follow == GS_FOLLOWED ? "true" : "false", gs_follow_name(note->follow),
	    note->created_at);
	gs_buf_add_str(line, ",\"relays\":[");
	for (i = 0; i < note->num_relays; i++) {
		if (i > 0)
			gs_buf_add_char(line, ',');
		add_relay(line, &note->relays[i]);
	}
	gs_buf_add_str(line, "]}");
	(void)cli_line(&init->cli, line->data, line->len);
}

static bool
write_state(struct init *init, struct gs_state *state, struct gs_err *err)
{
	struct gs_buf text = GS_BUF_INIT;
	bool ok = true;

	gs_snapshot_write(state, &text);
	if (init->output != NULL)
		ok = gs_file_replace(init->output, text.data, text.len, err);
	else /* its newline is the line's own */
		(void)cli_line(&init->cli, text.data, text.len - 1);
	gs_buf_fini(&text);
	return ok;
}

static int
run(struct init *init)
{
	struct gs_err err;
	struct gs_store *store = open_store(init, &err);
	struct gs_state *state =
	    store != NULL ? gs_survey(store, &init->survey.options, &err) : NULL;
	bool ok = state != NULL;

	gs_store_close(store);
	if (ok)
		cli_survey_say_size(&init->survey, state);
	if (ok && (init->output != NULL || !init->explain))
		ok = write_state(init, state, &err);
	gs_state_free(state);
	if (!ok)
		return cli_fail(&init->cli, &err);
	return init->num_invalid > 0 ? GS_EDATA : GS_OK;
}

int
main(int argc, char **argv)
{
	struct init init = {
		.cli = { .name = "grasp-sync-init",
		    .usage = "--db DIR --service DOMAIN [OPTION]...\n"
			     "--events FILE --service DOMAIN [OPTION]...",
		    .about = "which repositories are followed, and on which relays",
		    .options = options },
	};
	int code;

	cli_init(&init.cli, argc, argv);
	cli_survey_init(&init.survey, &init.cli);
	read_options(&init);
	init.survey.options.cut = say_cut;
	init.survey.options.explain = init.explain ? print_note : NULL;
	init.survey.options.arg = &init;
	code = run(&init);
	gs_buf_fini(&init.line);
	cli_survey_fini(&init.survey);
	return cli_end(&init.cli, code, GS_OK);
}
