/* Log lines on stderr, as text or JSON: one fact for an operator each. */
#include "log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"

#define LINE_BYTES 2048
#define ABOUT_BYTES 512 /* of a line: a URL, escaped */
#define TIME_BYTES 32
#define CUT "..."
#define TAIL_BYTES (sizeof(CUT "\"}\n") - 1) /* what may follow a part that was cut */

static const struct {
	const char *name, *mark; /* the mark: in text lines */
} levels[] = {
	[GS_LOG_ERROR] = { "error", "error: " },
	[GS_LOG_WARNING] = { "warning", "warning: " },
	[GS_LOG_INFO] = { "info", "" },
	[GS_LOG_DEBUG] = { "debug", "debug: " },
};

/* One byte as it may stand in a line; within JSON a backslash needs another one. */
static int
escape(char out[static 6], unsigned char c, bool is_json)
{
	if (is_json && (c == '"' || c == '\\'))
		return snprintf(out, 6, "\\%c", c);
	if (c >= 0x20 && c < 0x7f)
		return snprintf(out, 6, "%c", c);
	return snprintf(out, 6, "%s\\x%02x", is_json ? "\\" : "", c);
}

/* The line grows to at most max bytes, and a mark where it was cut. */
static void
add_part(struct gs_buf *line, const char *text, bool is_json, size_t max)
{
	char out[6];

	for (; *text != '\0'; text++) {
		int len = escape(out, (unsigned char)*text, is_json);

		if (line->len + (size_t)len > max) {
			gs_buf_add_str(line, CUT);
			return;
		}
		gs_buf_add(line, out, (size_t)len);
	}
}

/* RFC 3339. */
static void
write_time(char text[static TIME_BYTES])
{
	time_t now = (time_t)gs_clock_now().wall_s;
	struct tm parts;

	if (gmtime_r(&now, &parts) == NULL ||
	    strftime(text, TIME_BYTES, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0)
		text[0] = '\0';
}

static void
add_head(struct gs_buf *line, const struct gs_log *log, enum gs_log_level level)
{
	char now[TIME_BYTES] = "";

	if (log->is_json || log->has_time)
		write_time(now);
	if (log->is_json)
		gs_buf_printf(line, "{\"time\":\"%s\",\"level\":\"%s\"", now,
		    levels[level].name);
	else
		gs_buf_printf(line, "%s%s%s: %s", now, log->has_time ? " " : "",
		    log->name, levels[level].mark);
}

/* In one write: others may share the descriptor.  What fails is lost: there is no log. */
static void
write_line(int fd, const struct gs_buf *line)
{
	while (write(fd, line->data, line->len) < 0 && errno == EINTR)
		continue;
}

void
gs_log_line(const struct gs_log *log, enum gs_log_level level, const char *about,
    const char *fmt, ...)
{
	struct gs_buf line = GS_BUF_INIT;
	char text[LINE_BYTES];
	va_list ap;

	if (level > log->level)
		return;
	va_start(ap, fmt);
	if (vsnprintf(text, sizeof(text), fmt, ap) < 0)
		text[0] = '\0';
	va_end(ap);
	add_head(&line, log, level);
	if (about != NULL) {
		gs_buf_add_str(&line, log->is_json ? ",\"about\":\"" : "");
		add_part(&line, about, log->is_json, line.len + ABOUT_BYTES);
		gs_buf_add_str(&line, log->is_json ? "\"" : ": ");
	}
	gs_buf_add_str(&line, log->is_json ? ",\"text\":\"" : "");
	add_part(&line, text, log->is_json, LINE_BYTES - TAIL_BYTES);
	gs_buf_add_str(&line, log->is_json ? "\"}\n" : "\n");
	write_line(log->fd, &line);
	gs_buf_fini(&line);
}

bool
gs_log_level_parse(enum gs_log_level *level, struct gs_str name)
{
	for (int i = GS_LOG_ERROR; i <= GS_LOG_DEBUG; i++) {
		if (gs_str_is(name, levels[i].name)) {
			*level = (enum gs_log_level)i;
			return true;
		}
	}
	return false;
}
