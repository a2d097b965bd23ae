/* The options that say what is followed, denied and capped, for all commands. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

#define LIST_BYTES ((size_t)16 << 20) /* of a --follow or --deny file */
#define MAX_COUNT INT64_C(1000000000000)

void
cli_add_service(const struct cli *cli, struct gs_policy *policy, const char *value)
{
	struct gs_err err;

	if (!gs_policy_add_service(policy, gs_str_of(value), &err))
		cli_bad_value(cli, "service", value, &err);
}

void
cli_add_own_url(const struct cli *cli, struct gs_policy *policy, const char *value)
{
	struct gs_err err;

	if (!gs_policy_add_own_url(policy, gs_str_of(value), &err))
		cli_bad_value(cli, "own-url", value, &err);
}

/* A newline behind a file's text: a file that holds the word "all" is a list still. */
void
cli_set_follow(const struct cli *cli, struct gs_policy *policy, const char *value)
{
	bool is_word = strcmp(value, "listed") == 0 || strcmp(value, "all") == 0;
	struct gs_buf text = GS_BUF_INIT;
	struct gs_err err;
	bool ok = true;

	if (is_word)
		gs_buf_add_str(&text, value);
	else if ((ok = gs_file_read(&text, value, LIST_BYTES, &err)))
		gs_buf_add_char(&text, '\n');
	if (ok) {
		ok = gs_policy_set_list(policy, (struct gs_str){ text.data, text.len },
		    &err);
		if (!ok)
			gs_fail_in(&err, "%s", value);
	}
	gs_buf_fini(&text);
	if (ok)
		return;
	cli_complain(cli, "--follow: %s", err.text);
	exit((int)err.code);
}

void
cli_add_deny(const struct cli *cli, struct gs_policy *policy, const char *value)
{
	struct gs_buf text = GS_BUF_INIT;
	struct gs_err err;
	bool ok = gs_file_read(&text, value, LIST_BYTES, &err);

	if (ok) {
		ok = gs_policy_add_deny(policy, (struct gs_str){ text.data, text.len },
		    &err);
		if (!ok)
			gs_fail_in(&err, "%s", value);
	}
	gs_buf_fini(&text);
	if (ok)
		return;
	cli_complain(cli, "--deny: %s", err.text);
	exit((int)err.code);
}

static uint64_t
read_count(const struct cli *cli, const char *option, const char *value)
{
	return (uint64_t)cli_count(cli, option, value, 0, MAX_COUNT);
}

static uint64_t
read_size(const struct cli *cli, const char *option, const char *value)
{
	return (uint64_t)cli_size(cli, option, value);
}

bool
cli_set_policy(const struct cli *cli, struct gs_policy *policy, const char *option,
    const char *value)
{
	static const struct {
		const char *option;
		void (*set)(const struct cli *, struct gs_policy *, const char *);
	} setters[] = { { "service", cli_add_service }, { "own-url", cli_add_own_url },
		{ "follow", cli_set_follow }, { "deny", cli_add_deny } };
	const struct {
		const char *option;
		uint64_t *cap;
		uint64_t (*read)(const struct cli *, const char *, const char *);
	} caps[] = { { "max-store", &policy->caps.store_bytes, read_size },
		{ "max-events-relay", &policy->caps.relay_events, read_count },
		{ "max-bytes-relay", &policy->caps.relay_bytes, read_size },
		{ "max-events-repo", &policy->caps.repo_events, read_count } };
	size_t i;

	for (i = 0; i < sizeof(setters) / sizeof(setters[0]); i++)
		if (strcmp(option, setters[i].option) == 0) {
			setters[i].set(cli, policy, value);
			return true;
		}
	for (i = 0; i < sizeof(caps) / sizeof(caps[0]); i++)
		if (strcmp(option, caps[i].option) == 0) {
			*caps[i].cap = caps[i].read(cli, option, value);
			return true;
		}
	return false;
}
