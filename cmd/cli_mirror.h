/* What the commands that read a relay of their own share: how it goes, for people. */
#ifndef GS_CLI_MIRROR_H
#define GS_CLI_MIRROR_H

#include "cli.h"
#include "mirror.h"

/* The relay that the survey is made of, which is ours, too; wrong: ends the process. */
void cli_mirror_set_url(const struct cli *cli, struct gs_url *url,
    struct gs_policy *policy, const char *value);
/* "URL: connected", or what it waits for. */
void cli_mirror_say_state(const struct cli *cli, const struct gs_mirror *mirror);
/* Complains of all that kept it from being whole, and returns the exit code. */
int cli_mirror_fail(const struct cli *cli, const struct gs_mirror *mirror);

#endif
