/* From events to the state: what is followed, and which relays to ask for it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "clock.h"
#include "figures.h"
#include "ingest.h"
#include "json.h"
#include "mem.h"
#include "snapshot.h"
#include "survey.h"

#define MAX_CAP 1000000000
#define SHOWN_CUTS 20	 /* more of them say nothing new */
#define MANY_REPOS 10000 /* from here on nobody has tried: DESIGN 6 */
#define MANY_RELAYS 500

enum {
	O_DB,
	O_EVENTS,
	O_SERVICE,
	O_BOOTSTRAP,
	O_FOLLOW,
	O_OWN_URL,
	O_ALLOW_PRIVATE,
	O_OUTPUT,
	O_EXPLAIN,
	O_NOW,
	O_MAX_RELAYS,
	O_MAX_RELAYS_REPO,
	O_MAX_RELAYS_AUTHOR,
	O_MAX_ROOTS,
};
static const struct cli_option options[] = {
	{ "db", 0, "DIR", "read the store" },
	{ "events", 0, "FILE", "read events, one a line, instead" },
	{ "service", 0, "DOMAIN",
	    "our domain, as repositories list it; may be repeated" },
	{ "bootstrap", 0, "URL", "a relay to ask in any case; may be repeated" },
	{ "follow", 0, "RULE", "listed (the default), all, or a FILE of refs and keys" },
	{ "own-url", 0, "URL", "another URL of our own relay; may be repeated" },
	{ "allow-private", 0, NULL, "keep relays at private addresses" },
	{ "output", 'o', "FILE", "replace FILE with the state" },
	{ "explain", 0, NULL, "say of each announcement why it is followed or not" },
	{ "now", 0, "TIME", "judge expiry at this time" },
	{ "max-relays", 0, "N", "relays in all, fairly shared among authors" },
	{ "max-relays-repo", 0, "N", "relays of one repository" },
	{ "max-relays-author", 0, "N", "relays of one author" },
	{ "max-roots", 0, "N", "root events of one repository; the newest are kept" },
	{ NULL, 0, NULL, NULL },
};

struct init {
	struct cli cli;
	const char *dir, *events, *output;
	bool explain;
	struct gs_policy policy;
	struct gs_url *bootstrap;
	struct gs_survey_options survey;
	struct cli_bad bad;
	uint64_t num_invalid;
	uint64_t num_cuts;
	struct gs_buf line; /* of --explain */
};

static void
add_bootstrap(struct init *init, const char *value)
{
	size_t num = init->survey.num_bootstrap;
	struct gs_err err;

	init->bootstrap =
	    gs_mem_resize(init->bootstrap, num + 1, sizeof(*init->bootstrap));
	/* who types an address knows it */
	if (!gs_url_parse_relay(&init->bootstrap[num], gs_str_of(value), true, &err))
		cli_bad_value(&init->cli, "bootstrap", value, &err);
	init->survey.num_bootstrap++;
}

static size_t
parse_cap(const struct init *init, int option, const char *value)
{
	return (size_t)cli_count(&init->cli, options[option].name, value, 1, MAX_CAP);
}

static void
set_cap(struct init *init, int option, const char *value)
{
	struct gs_survey_caps *caps = &init->survey.caps;
	size_t cap = parse_cap(init, option, value);

	if (option == O_MAX_RELAYS)
		caps->relays = cap;
	else if (option == O_MAX_RELAYS_REPO)
		caps->relays_per_repo = cap;
	else if (option == O_MAX_RELAYS_AUTHOR)
		caps->relays_per_author = cap;
	else
		caps->roots_per_repo = cap;
}

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
	case O_SERVICE:
		cli_add_service(cli, &init->policy, value);
		break;
	case O_BOOTSTRAP:
		add_bootstrap(init, value);
		break;
	case O_FOLLOW:
		cli_set_follow(cli, &init->policy, value);
		break;
	case O_OWN_URL:
		cli_add_own_url(cli, &init->policy, value);
		break;
	case O_ALLOW_PRIVATE:
		init->survey.allow_private = true;
		break;
	case O_OUTPUT:
		init->output = value;
		break;
	case O_EXPLAIN:
		init->explain = true;
		break;
	case O_NOW:
		init->survey.now_s = cli_time_s(cli, "now", value);
		break;
	default:
		set_cap(init, option, value);
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
	if (init->policy.num_services == 0)
		cli_usage(cli, "--service is needed");
	if (cli->at < cli->argc)
		cli_usage(cli, "takes no operands");
	if (init->output != NULL && strcmp(init->output, "-") == 0)
		init->output = NULL;
	init->survey.policy = &init->policy;
	init->survey.bootstrap = init->bootstrap;
	init->survey.arg = init;
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
		.now_s = init->survey.now_s, .bad = show_bad, .arg = init
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

	if (init->num_cuts++ < SHOWN_CUTS || init->cli.loud > 0)
		cli_say(&init->cli, "%s", text);
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

static size_t
count_followed(const struct gs_state *state, size_t *num_relays)
{
	struct gs_map *refs = gs_map_new();
	const struct gs_map_entry *entry;
	size_t at = 0, num, i;

	*num_relays = 0;
	while ((entry = gs_map_next(state->relays, &at)) != NULL) {
		const struct gs_relay_entry *relay = entry->value;

		*num_relays += relay->is_synced;
		for (i = 0; i < relay->num_repos; i++)
			(void)gs_map_add(refs, relay->repos[i]->ref);
	}
	num = gs_map_count(refs);
	gs_map_free(refs, NULL);
	return num;
}

static void
say_size(const struct init *init, const struct gs_state *state)
{
	size_t num_relays;
	size_t num_repos = count_followed(state, &num_relays);

	if (init->num_cuts > SHOWN_CUTS && init->cli.loud <= 0)
		cli_say(&init->cli, "and %" PRIu64 " more were cut, see -v",
		    init->num_cuts - SHOWN_CUTS);
	cli_tell(&init->cli, "%zu repositories on %zu relays", num_repos, num_relays);
	if (num_repos > MANY_REPOS || num_relays > MANY_RELAYS)
		cli_say(&init->cli,
		    "%zu repositories on %zu relays: more than %d on %d is much",
		    num_repos, num_relays, MANY_REPOS, MANY_RELAYS);
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
	    store != NULL ? gs_survey(store, &init->survey, &err) : NULL;
	bool ok = state != NULL;

	gs_store_close(store);
	if (ok)
		say_size(init, state);
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
		.survey = { .now_s = gs_clock_now().wall_s,
		    .cut = say_cut,
		    .caps = { GS_SURVEY_RELAYS_PER_REPO, GS_SURVEY_RELAYS_PER_AUTHOR,
			GS_SURVEY_RELAYS, GS_SURVEY_ROOTS_PER_REPO } },
	};
	int code;

	gs_policy_init(&init.policy);
	cli_init(&init.cli, argc, argv);
	read_options(&init);
	init.survey.explain = init.explain ? print_note : NULL;
	code = run(&init);
	gs_buf_fini(&init.line);
	free(init.bootstrap);
	gs_policy_fini(&init.policy);
	return cli_end(&init.cli, code, GS_OK);
}
