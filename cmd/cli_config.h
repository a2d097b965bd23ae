/*
 * Settings of a daemon from four places: flags, then GRASP_SYNC_* in the environment,
 * then "key = value" lines of a file, then defaults.  A key is an option's long name.
 */
#ifndef GS_CLI_CONFIG_H
#define GS_CLI_CONFIG_H

#include "cli.h"
#include "map.h"

enum cli_place { CLI_DEFAULT, CLI_FILE, CLI_ENVIRONMENT, CLI_FLAG };

/* A value that was given, in the order in which it is to be set. */
struct cli_setting {
	int option;	   /* its index in the table */
	const char *value; /* NULL: of an option that takes none */
	enum cli_place place;
	const char
	    *where; /* "--service", "GRASP_SYNC_SERVICE" or "FILE:12", for messages */
};

struct cli_config {
	/* Set before reading: options that may be given more than once; NULL ends. */
	const char *const *repeats;

	struct cli *cli;
	const char *file_option;
	struct cli_setting *settings;
	size_t num, cap;
	struct gs_map *texts; /* what settings point to, until the end */
};

/*
 * Takes the flags (stops at the first operand, cli->at), the environment, and the file
 * that the option of that name (such as "config"; a flag) leads to, if any.  Repeatable
 * options of a higher place replace all those of lower ones; in the environment their
 * values are parted by blanks.  Options without argument: true or false.  Among flags the
 * last one counts.  False: GS_ECONFIG with the place: unknown key, missing value, key
 * given twice, no such file.  file_option, print-config and check-config are flags only.
 */
bool cli_config_read(struct cli_config *config, struct cli *cli, const char *file_option,
    struct gs_err *err) GS_MUST;
/*
 * Only the file and environment again: the flags stay.  False: all stays as it was.
 * Values of before stay valid, too, until the end.
 */
bool cli_config_reread(struct cli_config *config, struct gs_err *err) GS_MUST;
void cli_config_fini(struct cli_config *config);
/* Adds "key = value" lines, that read gives the same settings; with where as comments. */
void cli_config_write(const struct cli_config *config, struct gs_buf *buf);

#endif
