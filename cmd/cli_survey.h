/* What the commands that survey a store share: their options, and what they say. */
#ifndef GS_CLI_SURVEY_H
#define GS_CLI_SURVEY_H

#include "cli.h"
#include "survey.h"

/* The first ones of a command's table. */
enum {
	CLI_SURVEY_SERVICE,
	CLI_SURVEY_BOOTSTRAP,
	CLI_SURVEY_FOLLOW,
	CLI_SURVEY_DENY,
	CLI_SURVEY_OWN_URL,
	CLI_SURVEY_ALLOW_PRIVATE,
	CLI_SURVEY_MAX_RELAYS,
	CLI_SURVEY_MAX_RELAYS_REPO,
	CLI_SURVEY_MAX_RELAYS_AUTHOR,
	CLI_SURVEY_MAX_ROOTS,
	CLI_SURVEY_NUM
};
/* clang-format off */
#define CLI_SURVEY_OPTIONS \
	{ "service", 0, "DOMAIN", \
	    "our domain, as repositories list it; may be repeated" }, \
	{ "bootstrap", 0, "URL", "a relay to ask in any case; may be repeated" }, \
	{ "follow", 0, "RULE", \
	    "listed (the default), all, or a FILE of refs and keys" }, \
	{ "deny", 0, "FILE", \
	    "never follow these events, keys and repositories; may be repeated" }, \
	{ "own-url", 0, "URL", "another URL of our own relay; may be repeated" }, \
	{ "allow-private", 0, NULL, "keep relays at private addresses" }, \
	{ "max-relays", 0, "N", "relays in all, fairly shared among authors" }, \
	{ "max-relays-repo", 0, "N", "relays of one repository" }, \
	{ "max-relays-author", 0, "N", "relays of one author" }, \
	{ "max-roots", 0, "N", "root events of one repository; the newest are kept" }
/* clang-format on */

struct cli_survey {
	const struct cli *cli;
	struct gs_policy policy;
	struct gs_url *bootstrap;
	struct gs_survey_options options; /* arg is the caller's */
	uint64_t num_cuts;
};

/* options.now_s is the clock's; options.cut and .arg are the caller's to set. */
void cli_survey_init(struct cli_survey *survey, const struct cli *cli);
void cli_survey_fini(struct cli_survey *survey);
/* One of the table's first options; a wrong value ends the process. */
void cli_survey_set(struct cli_survey *survey, int option, const char *value);
/* After the last option: ends the process if the service is missing. */
void cli_survey_check(struct cli_survey *survey);

/* What a cap left out: the first ones are told, all with -v. */
void cli_survey_say_cut(struct cli_survey *survey, const char *text);
/* How much is followed: with -v, and if it is more than anybody has tried. */
void cli_survey_say_size(const struct cli_survey *survey, const struct gs_state *state);

#endif
