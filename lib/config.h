/*
 * The format of a configuration file: "key = value" a line, '#' comments, blank lines.
 * Which keys there are is the commands'.
 */
#ifndef GS_CONFIG_H
#define GS_CONFIG_H

#include "buf.h"
#include "err.h"

/*
 * Blanks around key and value are none of theirs.  A value in double quotes loses them,
 * so that it may be empty, or begin or end with a blank.  There are no escapes.  A
 * comment begins with '#' where the line begins.
 */
struct gs_config {
	const char *path; /* for errors */
	const char *at, *end;
	unsigned line; /* of what was read last, from 1 */
	struct gs_str key, value;
};

/* path and text are borrowed. */
void gs_config_init(struct gs_config *config, const char *path, struct gs_str text);

enum gs_config_result {
	GS_CONFIG_VALUE, /* key and value are valid as long as the text */
	GS_CONFIG_END,
	GS_CONFIG_BAD, /* "FILE:LINE: why", GS_ECONFIG */
};
/* The next setting. */
enum gs_config_result gs_config_next(struct gs_config *config, struct gs_err *err);
/* "FILE:LINE: KEY: fmt" of the line that was read last, GS_ECONFIG; returns false. */
bool gs_config_fail(const struct gs_config *config, struct gs_err *err, const char *fmt,
    ...) __attribute__((format(printf, 3, 4)));

/* No control bytes: a line can hold it. */
bool gs_config_is_value(struct gs_str value);
/* Adds a line that is read as this key and value. */
void gs_config_write(struct gs_buf *buf, const char *key, struct gs_str value);

#endif
