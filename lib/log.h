/* Log lines on stderr, as text or JSON: one fact for an operator each. */
#ifndef GS_LOG_H
#define GS_LOG_H

#include "buf.h"

enum gs_log_level { GS_LOG_ERROR, GS_LOG_WARNING, GS_LOG_INFO, GS_LOG_DEBUG };

struct gs_log {
	enum gs_log_level level; /* what is above it is left out */
	bool is_json;  /* {"time":...,"level":"info","about":"wss://x","text":"..."} */
	bool has_time; /* text: RFC 3339 in front; not under systemd (JOURNAL_STREAM) */
	const char *name; /* of the program, in front of text lines */
	int fd;
};

/*
 * about: what it is about (a relay's URL), or NULL.  Printable ASCII only comes out,
 * everything else as \xNN; a line is at most 2 KiB, one write.
 */
void gs_log_line(const struct gs_log *log, enum gs_log_level level, const char *about,
    const char *fmt, ...) __attribute__((format(printf, 4, 5)));
bool gs_log_level_parse(enum gs_log_level *level, struct gs_str name); /* "info", ... */

#endif
