/* Files and streams: read whole, read by lines, written by lines, replaced at once. */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mem.h"

#define READ_BYTES 65536
#define OUT_BYTES 65536 /* written when so much is waiting */

int
gs_file_open(const char *path, struct gs_err *err)
{
	int fd;

	if (strcmp(path, "-") == 0)
		return STDIN_FILENO;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		gs_fail(err, GS_ENOINPUT, "%s: %s", path, strerror(errno));
	return fd;
}

/* Reads once; -1 on error, 0 at the end. */
static ssize_t
read_some(int fd, struct gs_buf *buf)
{
	ssize_t got;

	do
		got = read(fd, gs_buf_room(buf, READ_BYTES), READ_BYTES);
	while (got < 0 && errno == EINTR);
	if (got > 0) {
		buf->len += (size_t)got;
		buf->data[buf->len] = '\0';
	}
	return got;
}

bool
gs_file_read(struct gs_buf *buf, const char *path, size_t max_bytes, struct gs_err *err)
{
	int fd = gs_file_open(path, err);
	ssize_t got = 0;
	bool ok = true;

	if (fd < 0)
		return false;
	while (buf->len <= max_bytes && (got = read_some(fd, buf)) > 0)
		continue;
	if (got < 0)
		ok = gs_fail(err, errno == EISDIR ? GS_ENOINPUT : GS_EIO, "%s: %s", path,
		    strerror(errno));
	else if (buf->len > max_bytes)
		ok = gs_fail(err, GS_EDATA, "%s: longer than %zu bytes", path, max_bytes);
	if (fd != STDIN_FILENO)
		(void)close(fd);
	return ok;
}

static bool
write_all(int fd, const char *data, size_t len)
{
	while (len > 0) {
		ssize_t put = write(fd, data, len);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return false;
		data += put;
		len -= (size_t)put;
	}
	return true;
}

/* The folder keeps the new name only after an fsync of its own. */
static bool
sync_folder(const char *path)
{
	char *copy = gs_mem_str(path);
	int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool ok = fd >= 0 && fsync(fd) == 0;

	if (fd >= 0)
		(void)close(fd);
	free(copy);
	return ok;
}

static mode_t
mode_of(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? st.st_mode & 07777 : 0644;
}

bool
gs_file_replace(const char *path, const char *data, size_t len, struct gs_err *err)
{
	struct gs_buf temp = GS_BUF_INIT;
	bool ok = true;
	int fd;

	gs_buf_printf(&temp, "%s.XXXXXX", path);
	fd = mkostemp(temp.data, O_CLOEXEC);
	if (fd < 0) {
		ok = gs_fail(err, GS_ECREATE, "%s: %s", path, strerror(errno));
		goto out;
	}
	if (!write_all(fd, data, len) || fchmod(fd, mode_of(path)) != 0 ||
	    fsync(fd) != 0 || rename(temp.data, path) != 0 || !sync_folder(path)) {
		ok = gs_fail(err, GS_EIO, "%s: %s", path, strerror(errno));
		(void)unlink(temp.data);
	}
	(void)close(fd);
out:
	gs_buf_fini(&temp);
	return ok;
}

void
gs_lines_init(struct gs_lines *lines, int fd, size_t max_bytes)
{
	*lines = (struct gs_lines){ .fd = fd, .max_bytes = max_bytes };
}

static bool
would_block(int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	return poll(&pfd, 1, 0) == 0;
}

/* A whole line that is buffered, if there is one. */
static bool
take_buffered(struct gs_lines *lines, struct gs_str *line)
{
	size_t len = lines->buf.len - lines->at;
	const char *from = len ? lines->buf.data + lines->at : NULL;
	const char *newline = len ? memchr(from, '\n', len) : NULL;

	if (newline == NULL && !(lines->at_end && len > 0))
		return false;
	*line = (struct gs_str){ from, newline ? (size_t)(newline - from) : len };
	lines->at += line->len + (newline != NULL);
	return true;
}

static void
drop_used(struct gs_lines *lines)
{
	size_t rest = lines->buf.len - lines->at;

	if (lines->at == 0)
		return;
	memmove(lines->buf.data, lines->buf.data + lines->at, rest);
	gs_buf_cut(&lines->buf, rest);
	lines->at = 0;
}

enum gs_line
gs_lines_next(struct gs_lines *lines, bool may_block, struct gs_str *line)
{
	for (;;) {
		ssize_t got;

		if (take_buffered(lines, line)) {
			bool was_skipping = lines->skipping;

			lines->skipping = false;
			if (was_skipping)
				continue;
			lines->number++;
			return line->len > lines->max_bytes ? GS_LINE_TOO_LONG
							    : GS_LINE_OK;
		}
		if (lines->at_end)
			return GS_LINE_END;
		drop_used(lines);
		if (lines->skipping)
			gs_buf_clear(&lines->buf);
		if (lines->buf.len > lines->max_bytes) {
			lines->skipping = true;
			lines->number++;
			*line = (struct gs_str){ lines->buf.data, lines->buf.len };
			lines->at = lines->buf.len;
			return GS_LINE_TOO_LONG;
		}
		if (!may_block && would_block(lines->fd))
			return GS_LINE_WAIT;
		got = read_some(lines->fd, &lines->buf);
		if (got < 0)
			return GS_LINE_FAILED;
		lines->at_end = got == 0;
	}
}

bool
gs_line_is_blank(struct gs_str line)
{
	size_t i;

	for (i = 0; i < line.len; i++)
		if (line.ptr[i] != ' ' && line.ptr[i] != '\t' && line.ptr[i] != '\r')
			return false;
	return true;
}

void
gs_lines_fini(struct gs_lines *lines)
{
	gs_buf_fini(&lines->buf);
}

void
gs_out_init(struct gs_out *out, int fd)
{
	*out = (struct gs_out){ .fd = fd };
}

bool
gs_out_line(struct gs_out *out, const char *data, size_t len)
{
	if (out->error != 0)
		return false;
	gs_buf_add(&out->buf, data, len);
	gs_buf_add_char(&out->buf, '\n');
	return out->buf.len < OUT_BYTES || gs_out_flush(out);
}

bool
gs_out_flush(struct gs_out *out)
{
	if (out->error == 0 && !write_all(out->fd, out->buf.data, out->buf.len))
		out->error = errno;
	gs_buf_clear(&out->buf);
	return out->error == 0;
}

void
gs_out_fini(struct gs_out *out)
{
	gs_buf_fini(&out->buf);
}
