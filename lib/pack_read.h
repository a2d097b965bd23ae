/* The other way round: filters out of what people and pack wrote. */
#ifndef GS_PACK_READ_H
#define GS_PACK_READ_H

#include "filter.h"

/* Takes the filter; what it leaves in *filter is freed. */
typedef void gs_pack_read_fn(struct gs_filter *filter, void *arg);

/*
 * Reads a line that holds a filter, a list of filters, or a REQ frame; fn gets each.
 * A filter over max_bytes of JSON comes in parts.  False at the first that is wrong or
 * can't be parted; those before it were given.
 */
bool gs_pack_read(struct gs_str line, size_t max_bytes, gs_pack_read_fn *fn, void *arg,
    struct gs_err *err) GS_MUST;

#endif
