/* What the commands that read a relay of their own share: how it goes, for people. */
#include "cli_mirror.h"

void
cli_mirror_set_url(const struct cli *cli, struct gs_url *url, struct gs_policy *policy,
    const char *value)
{
	struct gs_err err;

	/* who types an address knows it */
	if (!gs_url_parse_relay(url, gs_str_of(value), true, &err))
		cli_bad_value(cli, "relay", value, &err);
	cli_add_own_url(cli, policy, url->text);
}

void
cli_mirror_say_state(const struct cli *cli, const struct gs_mirror *mirror)
{
	const struct gs_relay *relay = gs_mirror_relay(mirror);
	struct gs_buf text = GS_BUF_INIT;

	gs_relay_write_state(relay, &text);
	cli_say(cli, "%s: %s", gs_relay_url(relay)->text, text.data);
	gs_buf_fini(&text);
}

struct causes {
	const struct cli *cli;
	const char *url;
};

static void
complain_cause(const char *text, void *arg)
{
	const struct causes *causes = arg;

	cli_complain(causes->cli, "%s: %s", causes->url, text);
}

int
cli_mirror_fail(const struct cli *cli, const struct gs_mirror *mirror)
{
	static const uint64_t lines[] = { 1 };
	const struct gs_relay *relay = gs_mirror_relay(mirror);
	struct causes causes = { cli, gs_relay_url(relay)->text };
	enum gs_code code = gs_relay_code(relay);
	struct gs_err err;

	if (!gs_mirror_check(mirror, &err))
		return cli_fail(cli, &err);
	gs_relay_each_cause(relay, lines, complain_cause, &causes);
	return code != GS_OK ? (int)code : GS_EINCOMPLETE;
}
