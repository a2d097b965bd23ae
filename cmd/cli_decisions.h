/* --decisions FILE: what became of each event, a JSON line each, appended. */
#ifndef GS_CLI_DECISIONS_H
#define GS_CLI_DECISIONS_H

#include "cli.h"
#include "decision.h"

struct cli_decisions {
	struct cli *cli;
	const char *file; /* NULL: not wanted */
	struct gs_out *out;
	struct gs_out own; /* of a file; of "-" it is the command's stdout */
	struct gs_buf line;
};

/* file NULL: nothing is written.  GS_OK, or a complaint and how to exit. */
int cli_decisions_open(struct cli_decisions *decisions, struct cli *cli,
    const char *file);
/* A gs_decision_fn; arg is the struct cli_decisions. */
void cli_decisions_write(const struct gs_decision *decision, void *arg);
/* Whole lines reach the file; false once it has failed, which close reports. */
bool cli_decisions_flush(struct cli_decisions *decisions);
/* Returns code, or how to exit if the file could not be written. */
int cli_decisions_close(struct cli_decisions *decisions, int code);

#endif
