/* Growing bytes, and borrowed bytes.  A NUL always stands behind the data. */
#include "buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"

#define FIRST_BYTES 64

struct gs_str
gs_str_of(const char *text)
{
	return (struct gs_str){ text, text ? strlen(text) : 0 };
}

bool
gs_str_is(struct gs_str a, const char *text)
{
	return gs_str_equal(a, gs_str_of(text));
}

bool
gs_str_equal(struct gs_str a, struct gs_str b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

int
gs_str_compare(struct gs_str a, struct gs_str b)
{
	size_t len = a.len < b.len ? a.len : b.len;
	int order = len ? memcmp(a.ptr, b.ptr, len) : 0;

	if (order != 0)
		return order;
	return (a.len > b.len) - (a.len < b.len);
}

char *
gs_buf_room(struct gs_buf *buf, size_t len)
{
	size_t cap = buf->cap ? buf->cap : FIRST_BYTES;

	while (cap - buf->len <= len)
		cap *= 2;
	if (cap != buf->cap) {
		buf->data = gs_mem_resize(buf->data, cap, 1);
		buf->cap = cap;
	}
	return buf->data + buf->len;
}

void
gs_buf_add(struct gs_buf *buf, const void *data, size_t len)
{
	char *to = gs_buf_room(buf, len);

	if (len != 0)
		memcpy(to, data, len);
	buf->len += len;
	buf->data[buf->len] = '\0';
}

void
gs_buf_add_str(struct gs_buf *buf, const char *text)
{
	gs_buf_add(buf, text, strlen(text));
}

void
gs_buf_add_char(struct gs_buf *buf, char c)
{
	gs_buf_add(buf, &c, 1);
}

void
gs_buf_printf(struct gs_buf *buf, const char *fmt, ...)
{
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (len <= 0)
		return;
	(void)gs_buf_room(buf, (size_t)len);
	va_start(ap, fmt);
	(void)vsnprintf(buf->data + buf->len, (size_t)len + 1, fmt, ap);
	va_end(ap);
	buf->len += (size_t)len;
}

void
gs_buf_add_shown(struct gs_buf *buf, const char *text, size_t len, size_t max)
{
	size_t i;

	for (i = 0; i < len && i < max; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c >= 0x20 && c < 0x7f && c != '\\')
			gs_buf_add_char(buf, (char)c);
		else
			gs_buf_printf(buf, "\\x%02x", c);
	}
	if (len > max)
		gs_buf_add_str(buf, "...");
}

void
gs_buf_clear(struct gs_buf *buf)
{
	gs_buf_cut(buf, 0);
}

void
gs_buf_cut(struct gs_buf *buf, size_t len)
{
	if (buf->data == NULL || len > buf->len)
		return;
	buf->len = len;
	buf->data[len] = '\0';
}

char *
gs_buf_take(struct gs_buf *buf)
{
	char *data = buf->data ? buf->data : gs_mem_str("");

	*buf = (struct gs_buf)GS_BUF_INIT;
	return data;
}

void
gs_buf_fini(struct gs_buf *buf)
{
	free(buf->data);
	*buf = (struct gs_buf)GS_BUF_INIT;
}
