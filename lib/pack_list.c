/* A file of filters, read whole: each with the number of the line that it stood in. */
#include "pack_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file.h"
#include "mem.h"
#include "pack_read.h"

struct reading {
	struct gs_pack_list *list;
	uint64_t line;
};

static void
keep_filter(struct gs_filter *filter, void *arg)
{
	struct reading *reading = arg;
	struct gs_pack_list *list = reading->list;

	if (list->num >= GS_PACK_LIST_MAX)
		return;
	list->filters =
	    gs_mem_more(list->filters, list->num, &list->cap, sizeof(*list->filters));
	list->lines =
	    gs_mem_more(list->lines, list->num, &list->cap_lines, sizeof(*list->lines));
	list->filters[list->num] = *filter;
	list->lines[list->num++] = reading->line;
	*filter = (struct gs_filter)GS_FILTER_INIT;
}

/* Why the line is left out; NULL: it is not. */
static const char *
read_line(struct reading *reading, struct gs_str line, size_t max_bytes,
    struct gs_err *err)
{
	if (gs_line_is_blank(line))
		return NULL;
	if (reading->list->num >= GS_PACK_LIST_MAX)
		return "too many filters";
	return gs_pack_read(line, max_bytes, keep_filter, reading, err) ? NULL
									: err->text;
}

bool
gs_pack_list_read(struct gs_pack_list *list, const char *path, size_t max_bytes,
    gs_pack_list_bad *bad, void *arg, struct gs_err *err)
{
	struct reading reading = { list, 0 };
	enum gs_line got = GS_LINE_OK;
	struct gs_lines lines;
	struct gs_str line;
	int fd = gs_file_open(path, err);

	if (fd < 0)
		return false;
	gs_lines_init(&lines, fd, GS_FILTER_BYTES);
	while (got == GS_LINE_OK || got == GS_LINE_TOO_LONG) {
		const char *why = NULL;

		got = gs_lines_next(&lines, true, &line);
		reading.line = lines.number;
		if (got == GS_LINE_OK)
			why = read_line(&reading, line, max_bytes, err);
		if (got == GS_LINE_TOO_LONG)
			bad(reading.line, "size", "line too long", arg);
		else if (why != NULL)
			bad(reading.line, "filter", why, arg);
	}
	if (got == GS_LINE_FAILED)
		(void)gs_fail(err, GS_EIO, "%s: %s", path, strerror(errno));
	gs_lines_fini(&lines);
	if (fd != STDIN_FILENO)
		(void)close(fd);
	return got == GS_LINE_END;
}

void
gs_pack_list_narrow(struct gs_pack_list *list, int64_t since_s, int64_t limit)
{
	for (size_t i = 0; i < list->num; i++) {
		struct gs_filter *filter = &list->filters[i];

		if (since_s > filter->since)
			filter->since = since_s;
		if (limit >= 0 && (filter->limit < 0 || limit < filter->limit))
			filter->limit = limit;
	}
}

void
gs_pack_list_fini(struct gs_pack_list *list)
{
	for (size_t i = 0; i < list->num; i++)
		gs_filter_fini(&list->filters[i]);
	free(list->filters);
	free(list->lines);
	*list = (struct gs_pack_list)GS_PACK_LIST_INIT;
}
