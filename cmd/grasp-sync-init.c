/* From events to the state: what is followed, and which relays to ask for it. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli_mirror.h"
#include "cli_survey.h"
#include "clock.h"
#include "figures.h"
#include "ingest.h"
#include "json.h"
#include "snapshot.h"

enum {
	O_DB = CLI_SURVEY_NUM,
	O_EVENTS,
	O_RELAY,
	O_OUTPUT,
	O_EXPLAIN,
	O_NOW,
};
static const struct cli_option options[] = {
	CLI_SURVEY_OPTIONS,
	{ "db", 0, "DIR", "read the store" },
	{ "events", 0, "FILE", "read events, one a line, instead" },
	{ "relay", 0, "URL", "read our own relay instead" },
	{ "output", 'o', "FILE", "replace FILE with the state" },
	{ "explain", 0, NULL, "say of each announcement why it is followed or not" },
	{ "now", 0, "TIME", "judge expiry at this time" },
	{ NULL, 0, NULL, NULL },
};

struct init {
	struct cli cli;
	const char *dir, *events, *output;
	struct gs_url url; /* of our own relay; "": none */
	bool explain;
	struct cli_survey survey;
	struct cli_bad bad;
	uint64_t num_invalid;
	struct gs_loop *loop;
	struct gs_mirror *mirror; /* of --relay: it owns the store */
	struct gs_buf line;	  /* of --explain */
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
	case O_RELAY:
		cli_mirror_set_url(cli, &init->url, &init->survey.policy, value);
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
	if ((init->dir != NULL) + (init->events != NULL) + (init->url.text[0] != '\0') !=
	    1)
		cli_usage(cli, "needs one of --db, --events and --relay");
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

/* --- events from our own relay --- */

static void
take_signal(int number, void *arg)
{
	const struct init *init = arg;

	(void)number;
	gs_loop_stop(init->loop);
}

static void
end_relay(void *arg)
{
	const struct init *init = arg;

	gs_loop_stop(init->loop);
}

/* Whole or not at all: half of a relay would be a state that asks for less. */
static struct gs_store *
read_relay(struct init *init, struct gs_err *err)
{
	const struct gs_loop_ops signals = { .signalled = take_signal, .arg = init };
	const struct gs_mirror_ops ops = { .ended = end_relay, .arg = init };
	const struct gs_mirror_options how = { &init->url, &init->survey.policy, true };

	init->loop = gs_loop_new(&signals, NULL, err);
	if (init->loop == NULL)
		return NULL;
	init->mirror = gs_mirror_new(init->loop, &how, &ops, err);
	if (init->mirror == NULL)
		return NULL;
	gs_loop_run(init->loop);
	if (gs_mirror_is_whole(init->mirror))
		return gs_mirror_store(init->mirror);
	(void)gs_fail(err, (enum gs_code)cli_mirror_fail(&init->cli, init->mirror),
	    "%s: not read to its end, so there is no state", init->url.text);
	return NULL;
}

static void
close_store(struct init *init, struct gs_store *store)
{
	if (init->mirror == NULL)
		gs_store_close(store);
	gs_mirror_free(init->mirror);
	gs_loop_free(init->loop);
}

static struct gs_store *
open_store(struct init *init, struct gs_err *err)
{
	struct gs_store_options how = { .read_only = true };

	if (init->dir != NULL)
		return gs_store_open(init->dir, &how, err);
	return init->events != NULL ? store_lines(init, err) : read_relay(init, err);
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

	close_store(init, store);
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
			     "--events FILE --service DOMAIN [OPTION]...\n"
			     "--relay URL --service DOMAIN [OPTION]...",
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
