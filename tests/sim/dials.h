/*
 * When a relay is dialled, worked out a second time from DESIGN "Health" and from
 * what became of the dials before, so that the library's clock is not its own judge.
 */
#ifndef DIALS_H
#define DIALS_H

#include "talk.h"

struct dials {
	int64_t due_ms; /* of the next dial */
	int64_t opened_ms, first_failure_ms;
	unsigned failures, short_drops;
	bool is_answered, is_dead;
	unsigned num, num_dead; /* dials; those while it was dead */
};

/* What became of a dial, for those who tell it themselves. */
void dials_fail(struct dials *dials, int64_t now_ms);
void dials_succeed(struct dials *dials); /* its first EOSE */
void dials_drop(struct dials *dials, int64_t now_ms);

/* arg is a struct dials, all 0 in the beginning. */
talk_watch_fn dials_watch;

#endif
