/* Files and streams: read whole, read by lines, written by lines, replaced at once. */
#ifndef GS_FILE_H
#define GS_FILE_H

#include <stdint.h>

#include "buf.h"
#include "err.h"

/* Opens for reading; "-" is stdin.  -1 and GS_ENOINPUT when it can't be opened. */
int gs_file_open(const char *path, struct gs_err *err);

/* Reads all of path ("-" is stdin) into buf; over max_bytes is GS_EDATA. */
bool gs_file_read(struct gs_buf *buf, const char *path, size_t max_bytes,
    struct gs_err *err) GS_MUST;

/*
 * Replaces path as a whole: a temporary file beside it, fsync, rename, fsync of
 * the folder.  Readers see the old or the new content, never a part.  Keeps the
 * mode of an existing file.  GS_ECREATE or GS_EIO.
 */
bool gs_file_replace(const char *path, const char *data, size_t len,
    struct gs_err *err) GS_MUST;

/* Lines of a stream.  A last line without newline counts; a CR is left in. */
struct gs_lines {
	int fd;
	size_t max_bytes; /* a longer line is skipped and told */
	uint64_t number;  /* of the line that was returned last, from 1 */
	struct gs_buf buf;
	size_t at;
	bool at_end;
	bool skipping;
};

enum gs_line {
	GS_LINE_OK,
	GS_LINE_TOO_LONG, /* line is its beginning */
	GS_LINE_WAIT, /* nothing buffered, and reading now would block (see may_block) */
	GS_LINE_END,
	GS_LINE_FAILED, /* errno says why */
};

void gs_lines_init(struct gs_lines *lines, int fd, size_t max_bytes);
/*
 * The next line without its newline; *line is valid until the next call.  With
 * may_block false it answers GS_LINE_WAIT instead of waiting for input.
 */
enum gs_line gs_lines_next(struct gs_lines *lines, bool may_block, struct gs_str *line);
void gs_lines_fini(struct gs_lines *lines); /* does not close fd */
/* Nothing but spaces, tabs and carriage returns: such a line is skipped. */
bool gs_line_is_blank(struct gs_str line);

/* A stream that is written by lines; its error sticks. */
struct gs_out {
	int fd;
	struct gs_buf buf;
	int error; /* errno of the first failed write; EPIPE: the reader left */
};

void gs_out_init(struct gs_out *out, int fd);
/* Adds data and a newline.  False once the stream has failed. */
bool gs_out_line(struct gs_out *out, const char *data, size_t len);
bool gs_out_flush(struct gs_out *out);
void gs_out_fini(struct gs_out *out); /* does not close fd */

#endif
