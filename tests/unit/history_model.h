/*
 * A relay that is played in memory, for tests of history: serves made events within
 * caps, and breaks rules on request.
 */
#ifndef HISTORY_MODEL_H
#define HISTORY_MODEL_H

#include "history.h"
#include "map.h"

struct model {
	struct gs_event *events; /* newest first, then by id */
	size_t num;
	size_t page;  /* events a filter */
	size_t total; /* events a REQ */
	bool ignores_until, ignores_limit, is_oldest_first, forgets_boundary;
	bool says_finish;
	size_t asked;
};

/* What one reading of a model came to. */
struct outcome {
	struct gs_history *history;
	struct gs_map *got; /* ids that were wanted */
};

/* num events of kinds 1 and 2 in turn, step seconds apart; tags t (7 values) and n. */
void add_events(struct model *model, size_t num, int64_t first_date, int64_t step);
void free_model(struct model *model);

/* A reading of these filters (NULL ends them), nothing asked yet. */
struct outcome start(const char *const *filters);
void finish(struct outcome *outcome);
/* Reads the filters to their end. */
struct outcome read_all(struct model *model, const char *const *filters);
enum gs_end end_of(const struct outcome *outcome, size_t i);
/* Every event of the model that filter i matches has come. */
bool has_all(const struct model *model, const struct outcome *outcome, size_t i);
/* One filter is read; all of it has come if it claims so.  got: how many events came. */
enum gs_end read_one(struct model *model, const char *filter, size_t *got);

#endif
