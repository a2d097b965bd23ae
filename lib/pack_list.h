/* A file of filters, read whole: each with the number of the line that it stood in. */
#ifndef GS_PACK_LIST_H
#define GS_PACK_LIST_H

#include "filter.h"

#define GS_PACK_LIST_MAX 100000 /* filters */

struct gs_pack_list {
	struct gs_filter *filters;
	uint64_t *lines;
	size_t num;
	size_t cap, cap_lines; /* private */
};

#define GS_PACK_LIST_INIT           \
	{                           \
		NULL, NULL, 0, 0, 0 \
	}

/* A line is left out, for this reason. */
typedef void gs_pack_list_bad(uint64_t line, const char *reason, const char *why,
    void *arg);

/*
 * Adds all of path ("-" is stdin): lines as gs_pack_read reads them.  Bad lines are
 * told; false: the file can't be read, the list holds what came before.
 */
bool gs_pack_list_read(struct gs_pack_list *list, const char *path, size_t max_bytes,
    gs_pack_list_bad *bad, void *arg, struct gs_err *err) GS_MUST;
/* None of them asks for older events than since_s (-1: any), or for more than limit. */
void gs_pack_list_narrow(struct gs_pack_list *list, int64_t since_s, int64_t limit);
void gs_pack_list_fini(struct gs_pack_list *list);

#endif
