/* What the commands that survey a store share: their options, and what they say. */
#include "cli_survey.h"

#include <inttypes.h>
#include <stdlib.h>

#include "clock.h"
#include "mem.h"

#define MAX_CAP 1000000000
#define SHOWN_CUTS 20	 /* more of them say nothing new */
#define MANY_REPOS 10000 /* from here on nobody has tried: DESIGN 6 */
#define MANY_RELAYS 500

void
cli_survey_init(struct cli_survey *survey, const struct cli *cli)
{
	*survey = (struct cli_survey){ .cli = cli,
		.options = { .now_s = gs_clock_now().wall_s,
		    .caps = { GS_SURVEY_RELAYS_PER_REPO, GS_SURVEY_RELAYS_PER_AUTHOR,
			GS_SURVEY_RELAYS, GS_SURVEY_ROOTS_PER_REPO } } };
	gs_policy_init(&survey->policy);
	survey->options.policy = &survey->policy;
}

void
cli_survey_fini(struct cli_survey *survey)
{
	free(survey->bootstrap);
	gs_policy_fini(&survey->policy);
}

static void
add_bootstrap(struct cli_survey *survey, const char *value)
{
	size_t num = survey->options.num_bootstrap;
	struct gs_err err;

	survey->bootstrap =
	    gs_mem_resize(survey->bootstrap, num + 1, sizeof(*survey->bootstrap));
	survey->options.bootstrap = survey->bootstrap;
	/* who types an address knows it */
	if (!gs_url_parse_relay(&survey->bootstrap[num], gs_str_of(value), true, &err))
		cli_bad_value(survey->cli, "bootstrap", value, &err);
	survey->options.num_bootstrap++;
}

static void
set_cap(const struct cli_survey *survey, size_t *cap, int option, const char *value)
{
	*cap = (size_t)cli_count(survey->cli, survey->cli->options[option].name, value, 1,
	    MAX_CAP);
}

void
cli_survey_set(struct cli_survey *survey, int option, const char *value)
{
	struct gs_survey_caps *caps = &survey->options.caps;

	switch (option) {
	case CLI_SURVEY_SERVICE:
		cli_add_service(survey->cli, &survey->policy, value);
		break;
	case CLI_SURVEY_BOOTSTRAP:
		add_bootstrap(survey, value);
		break;
	case CLI_SURVEY_FOLLOW:
		cli_set_follow(survey->cli, &survey->policy, value);
		break;
	case CLI_SURVEY_DENY:
		cli_add_deny(survey->cli, &survey->policy, value);
		break;
	case CLI_SURVEY_OWN_URL:
		cli_add_own_url(survey->cli, &survey->policy, value);
		break;
	case CLI_SURVEY_ALLOW_PRIVATE:
		survey->options.allow_private = true;
		break;
	case CLI_SURVEY_MAX_RELAYS:
		set_cap(survey, &caps->relays, option, value);
		break;
	case CLI_SURVEY_MAX_RELAYS_REPO:
		set_cap(survey, &caps->relays_per_repo, option, value);
		break;
	case CLI_SURVEY_MAX_RELAYS_AUTHOR:
		set_cap(survey, &caps->relays_per_author, option, value);
		break;
	default:
		set_cap(survey, &caps->roots_per_repo, option, value);
		break;
	}
}

void
cli_survey_check(struct cli_survey *survey)
{
	if (survey->policy.num_services == 0)
		cli_usage(survey->cli, "--service is needed");
}

void
cli_survey_say_cut(struct cli_survey *survey, const char *text)
{
	if (survey->num_cuts++ < SHOWN_CUTS || survey->cli->loud > 0)
		cli_say(survey->cli, "%s", text);
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

void
cli_survey_say_size(const struct cli_survey *survey, const struct gs_state *state)
{
	const struct cli *cli = survey->cli;
	size_t num_relays;
	size_t num_repos = count_followed(state, &num_relays);

	if (survey->num_cuts > SHOWN_CUTS && cli->loud <= 0)
		cli_say(cli, "and %" PRIu64 " more were cut, see -v",
		    survey->num_cuts - SHOWN_CUTS);
	cli_tell(cli, "%zu repositories on %zu relays", num_repos, num_relays);
	if (num_repos > MANY_REPOS || num_relays > MANY_RELAYS)
		cli_say(cli, "%zu repositories on %zu relays: more than %d on %d is much",
		    num_repos, num_relays, MANY_REPOS, MANY_RELAYS);
}
