/*
 * Which stored events a list of filters asks for.  Indexes narrow by kind and time;
 * an event is parsed only for filters with tags.  A `limit` is found first, newest
 * first, so that no result has to be kept in memory.
 */
#include "selection.h"

#include <stdlib.h>
#include <string.h>

#include "mem.h"

/* A filter, and the second in which its limit ends: its lowest ids count (NIP-01). */
struct pick {
	const struct gs_filter *filter;
	int64_t left; /* while the limit is looked for; -1: no limit */
	int64_t floor_s;
	uint64_t at_floor; /* that many events of the second */
};

struct selecting {
	struct pick *picks;
	size_t num_picks;
	struct gs_walk walk;
	uint16_t *kinds;
	gs_row_fn *fn;
	void *arg;
	struct gs_event event;
	bool is_parsed;
	bool is_damaged;
	struct gs_err *err;
};

/* For a filter without tags the row's own fields will do. */
static bool
load_event(struct selecting *selecting, const struct gs_row *row, bool wants_tags)
{
	struct gs_event *event = &selecting->event;

	if (wants_tags && !selecting->is_parsed) {
		if (gs_event_parse(event, row->json.ptr, row->json.len, selecting->err) !=
		    GS_EVENT_OK) {
			selecting->is_damaged = true;
			return gs_fail(selecting->err, GS_EDATA,
			    "store: event %llu can't be read",
			    (unsigned long long)row->sequence);
		}
		selecting->is_parsed = true;
	}
	memcpy(event->id, row->id, sizeof(event->id));
	memcpy(event->pubkey, row->pubkey, sizeof(event->pubkey));
	event->created_at = row->created_at;
	event->kind = row->kind;
	return true;
}

static bool
matches(struct selecting *selecting, const struct pick *pick, const struct gs_row *row)
{
	return load_event(selecting, row, pick->filter->num_tags > 0) &&
	    gs_filter_match(pick->filter, &selecting->event);
}

/* Newest first: counts each limit down and notes where it ends.  False: all have. */
static bool
find_floors(const struct gs_row *row, void *arg)
{
	struct selecting *selecting = arg;
	bool more = false;
	size_t i;

	selecting->is_parsed = false;
	for (i = 0; i < selecting->num_picks; i++) {
		struct pick *pick = &selecting->picks[i];

		if (pick->left <= 0)
			continue;
		if (matches(selecting, pick, row)) {
			if (row->created_at != pick->floor_s)
				pick->at_floor = 0;
			pick->floor_s = row->created_at;
			pick->at_floor++;
			pick->left--;
		}
		if (selecting->is_damaged)
			return false;
		more |= pick->left > 0;
	}
	return more;
}

/* Takes a match if the limit lets it through. */
static bool
is_within_limit(struct pick *pick, const struct gs_row *row)
{
	if (pick->filter->limit < 0 || row->created_at != pick->floor_s)
		return true;
	if (pick->at_floor == 0)
		return false;
	pick->at_floor--;
	return true;
}

static bool
is_below_limit(const struct pick *pick, const struct gs_row *row)
{
	return pick->filter->limit >= 0 && row->created_at < pick->floor_s;
}

static bool
select_row(const struct gs_row *row, void *arg)
{
	struct selecting *selecting = arg;
	bool is_wanted = selecting->num_picks == 0;
	size_t i;

	selecting->is_parsed = false;
	for (i = 0; i < selecting->num_picks; i++) {
		struct pick *pick = &selecting->picks[i];

		if (!is_below_limit(pick, row) && matches(selecting, pick, row) &&
		    is_within_limit(pick, row))
			is_wanted = true;
	}
	if (selecting->is_damaged)
		return false;
	return !is_wanted || selecting->fn(row, selecting->arg);
}

static int
compare_kinds(const void *a, const void *b)
{
	return *(const uint16_t *)a - *(const uint16_t *)b;
}

/* The kinds of all filters; none if a filter wants any kind. */
static void
narrow_kinds(struct selecting *selecting)
{
	size_t num = 0, kept = 0;
	size_t i;

	for (i = 0; i < selecting->num_picks; i++) {
		const struct gs_filter *filter = selecting->picks[i].filter;

		if (filter->num_kinds == 0)
			return;
		selecting->kinds = gs_mem_resize(selecting->kinds,
		    num + filter->num_kinds, sizeof(*selecting->kinds));
		memcpy(selecting->kinds + num, filter->kinds,
		    filter->num_kinds * sizeof(*selecting->kinds));
		num += filter->num_kinds;
	}
	if (num == 0)
		return;
	qsort(selecting->kinds, num, sizeof(*selecting->kinds), compare_kinds);
	for (i = 0; i < num; i++)
		if (kept == 0 || selecting->kinds[kept - 1] != selecting->kinds[i])
			selecting->kinds[kept++] = selecting->kinds[i];
	selecting->walk.kinds = selecting->kinds;
	selecting->walk.num_kinds = kept;
}

static bool
add_picks(struct selecting *selecting, const struct gs_selection *selection)
{
	bool has_limit = false;
	size_t i;

	selecting->num_picks = selection->num_filters;
	selecting->picks = gs_mem_array(selection->num_filters, sizeof(struct pick));
	for (i = 0; i < selection->num_filters; i++) {
		struct pick *pick = &selecting->picks[i];

		pick->filter = &selection->filters[i];
		pick->left = pick->filter->limit;
		pick->floor_s = pick->left == 0 ? INT64_MAX : -1;
		has_limit |= pick->left >= 0;
	}
	return has_limit;
}

bool
gs_selection_walk(struct gs_store *store, const struct gs_selection *selection,
    gs_row_fn *fn, void *arg, struct gs_err *err)
{
	struct selecting selecting = { .fn = fn, .arg = arg, .err = err };
	bool has_limit, ok = true;

	selecting.walk = (struct gs_walk){ .since = selection->since,
		.until = selection->until,
		.now_s = selection->now_s };
	has_limit = add_picks(&selecting, selection);
	narrow_kinds(&selecting);
	selecting.walk.newest_first = true;
	if (has_limit)
		ok = gs_store_walk(store, &selecting.walk, find_floors, &selecting, err);
	selecting.walk.newest_first = false;
	ok = ok && !selecting.is_damaged &&
	    gs_store_walk(store, &selecting.walk, select_row, &selecting, err) &&
	    !selecting.is_damaged;
	gs_event_fini(&selecting.event);
	free(selecting.kinds);
	free(selecting.picks);
	return ok;
}
