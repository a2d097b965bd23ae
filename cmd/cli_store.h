/* What is in a store, for people and for monitoring. */
#ifndef GS_CLI_STORE_H
#define GS_CLI_STORE_H

#include "cli.h"
#include "store.h"

/* Print one line or table on stdout, return how to exit. */
int cli_store_show(struct cli *cli, struct gs_store *store, bool json);
/* Proves it; each fault goes to stderr. */
int cli_store_check(struct cli *cli, struct gs_store *store, bool json);

#endif
