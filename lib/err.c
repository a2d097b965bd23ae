/* What went wrong, for a person and for the exit code. */
#include "err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool
gs_fail(struct gs_err *err, enum gs_code code, const char *fmt, ...)
{
	va_list ap;

	if (err == NULL)
		return false;
	err->code = code;
	va_start(ap, fmt);
	(void)vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	return false;
}

bool
gs_fail_in(struct gs_err *err, const char *fmt, ...)
{
	char why[sizeof(err->text)];
	va_list ap;
	size_t len;

	if (err == NULL)
		return false;
	memcpy(why, err->text, sizeof(why));
	va_start(ap, fmt);
	(void)vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	len = strlen(err->text);
	(void)snprintf(err->text + len, sizeof(err->text) - len, ": %s", why);
	return false;
}
