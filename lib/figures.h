/* What a run or a store comes to, as text: one line, a table, one JSON object. */
#ifndef GS_FIGURES_H
#define GS_FIGURES_H

#include "waiting.h"

/* All invalid lines of a tally. */
uint64_t gs_figures_invalid(const struct gs_tally *tally);
/* Adds "read 52, stored 50, ..., rejected 1 (denied 1), invalid 0". */
void gs_figures_write_tally(struct gs_buf *buf, const struct gs_tally *tally);

/* Adds a table for people; no newline behind the last line. */
void gs_figures_write_stat(struct gs_buf *buf, const struct gs_store_stat *stat);
/* Adds one JSON object, sorted, without a newline. */
void gs_figures_write_stat_json(struct gs_buf *buf, const struct gs_store_stat *stat);

#endif
