/* Which stored events a list of filters asks for, each with its own limit. */
#ifndef GS_SELECTION_H
#define GS_SELECTION_H

#include "filter.h"
#include "store.h"

/* An event is in it if one of the filters matches; without filters every event is. */
struct gs_selection {
	/* `limit` keeps the newest that a filter matches; of a second the lowest ids */
	const struct gs_filter *filters;
	size_t num_filters;
	int64_t since, until; /* inclusive; -1: open */
	int64_t now_s;
};

/* In the order of export: oldest first, then by id.  False: a fault, err says which. */
bool gs_selection_walk(struct gs_store *store, const struct gs_selection *selection,
    gs_row_fn *fn, void *arg, struct gs_err *err) GS_MUST;

#endif
