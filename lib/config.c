/*
 * The format of a configuration file: "key = value" a line, '#' comments, blank lines.
 * Which keys there are is the commands'.
 */
#include "config.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define SHOWN_BYTES 60 /* of a key: enough to find it */

void
gs_config_init(struct gs_config *config, const char *path, struct gs_str text)
{
	*config = (struct gs_config){ .path = path };
	config->at = text.ptr;
	config->end = text.len > 0 ? text.ptr + text.len : text.ptr;
}

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static struct gs_str
trim(struct gs_str text)
{
	while (text.len > 0 && is_blank(text.ptr[0])) {
		text.ptr++;
		text.len--;
	}
	while (text.len > 0 && is_blank(text.ptr[text.len - 1]))
		text.len--;
	return text;
}

static bool
is_quoted(struct gs_str value)
{
	return value.len >= 2 && value.ptr[0] == '"' && value.ptr[value.len - 1] == '"';
}

static bool
next_line(struct gs_config *config, struct gs_str *line)
{
	size_t left = (size_t)(config->end - config->at);
	const char *newline = left > 0 ? memchr(config->at, '\n', left) : NULL;

	if (left == 0)
		return false;
	line->ptr = config->at;
	line->len = newline != NULL ? (size_t)(newline - config->at) : left;
	config->at = newline != NULL ? newline + 1 : config->end;
	if (line->len > 0 && line->ptr[line->len - 1] == '\r')
		line->len--;
	config->line++;
	return true;
}

bool
gs_config_fail(const struct gs_config *config, struct gs_err *err, const char *fmt, ...)
{
	struct gs_buf key = GS_BUF_INIT;
	char why[sizeof(err->text)];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	gs_buf_add_shown(&key, config->key.ptr, config->key.len, SHOWN_BYTES);
	(void)gs_fail(err, GS_ECONFIG, "%s:%u: %s%s%s", config->path, config->line,
	    key.len > 0 ? key.data : "", key.len > 0 ? ": " : "", why);
	gs_buf_fini(&key);
	return false;
}

/* Divides a line. */
static bool
take_line(struct gs_config *config, struct gs_str line, struct gs_err *err)
{
	const char *equals = memchr(line.ptr, '=', line.len);
	size_t len = equals != NULL ? (size_t)(equals - line.ptr) : line.len;

	config->key = trim((struct gs_str){ line.ptr, len });
	if (equals == NULL)
		return gs_config_fail(config, err, "no '=' behind it");
	if (config->key.len == 0)
		return gs_config_fail(config, err, "no key before '='");
	config->value = trim((struct gs_str){ equals + 1, line.len - len - 1 });
	if (config->value.len == 0)
		return gs_config_fail(config, err, "needs a value");
	if (is_quoted(config->value)) {
		config->value.ptr++;
		config->value.len -= 2;
	}
	return gs_config_is_value(config->value) ||
	    gs_config_fail(config, err, "a control byte in its value");
}

enum gs_config_result
gs_config_next(struct gs_config *config, struct gs_err *err)
{
	struct gs_str line;

	while (next_line(config, &line)) {
		line = trim(line);
		if (line.len > 0 && line.ptr[0] != '#')
			return take_line(config, line, err) ? GS_CONFIG_VALUE
							    : GS_CONFIG_BAD;
	}
	return GS_CONFIG_END;
}

bool
gs_config_is_value(struct gs_str value)
{
	for (size_t i = 0; i < value.len; i++)
		if ((unsigned char)value.ptr[i] < 0x20 || value.ptr[i] == 0x7f)
			return false;
	return true;
}

void
gs_config_write(struct gs_buf *buf, const char *key, struct gs_str value)
{
	bool needs_quotes =
	    trim(value).len != value.len || value.len == 0 || is_quoted(value);

	gs_buf_printf(buf, "%s = %s", key, needs_quotes ? "\"" : "");
	gs_buf_add(buf, value.ptr, value.len);
	gs_buf_add_str(buf, needs_quotes ? "\"\n" : "\n");
}
