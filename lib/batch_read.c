/* Batches out of a file or a pipe, as they come. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "batch.h"
#include "file.h"

struct reading {
	gs_batch_fn *fn;
	gs_batch_bad_fn *bad;
	void *arg;
	uint64_t line;
};

static bool
take_line(const struct reading *reading, struct gs_str line)
{
	struct gs_batch batch = { 0 };
	struct gs_err err;
	bool go_on = true;

	if (gs_batch_parse(&batch, line.ptr, line.len, &err))
		go_on = reading->fn(&batch, reading->arg);
	else
		reading->bad(reading->line, err.text, reading->arg);
	gs_batch_fini(&batch);
	return go_on;
}

/* How it ended: GS_LINE_END, also when fn stopped it, or GS_LINE_FAILED. */
static enum gs_line
read_lines(struct reading *reading, int fd)
{
	enum gs_line got = GS_LINE_OK;
	struct gs_lines lines;
	struct gs_str line;

	gs_lines_init(&lines, fd, GS_BATCH_BYTES);
	while (got != GS_LINE_END && got != GS_LINE_FAILED) {
		got = gs_lines_next(&lines, true, &line);
		reading->line = lines.number;
		if (got == GS_LINE_TOO_LONG)
			reading->bad(reading->line, "line too long", reading->arg);
		else if (got == GS_LINE_OK && !gs_line_is_blank(line) &&
		    !take_line(reading, line))
			got = GS_LINE_END;
	}
	gs_lines_fini(&lines);
	return got;
}

bool
gs_batch_read(const char *path, gs_batch_fn *fn, gs_batch_bad_fn *bad, void *arg,
    struct gs_err *err)
{
	struct reading reading = { fn, bad, arg, 0 };
	int fd = gs_file_open(path, err);
	bool ok;

	if (fd < 0)
		return false;
	ok = read_lines(&reading, fd) == GS_LINE_END ||
	    gs_fail(err, GS_EIO, "%s: %s", path, strerror(errno));
	if (fd != STDIN_FILENO)
		(void)close(fd);
	return ok;
}
