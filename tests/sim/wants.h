/* The filters that a seed reads: as text for the library, in our own form for us. */
#ifndef WANTS_H
#define WANTS_H

#include "asked.h"

#define WANTS_MAX 200
#define WANTS_FEW 24

struct want {
	char *text;
	struct asked_filter filter;
};

struct wants {
	struct want wants[WANTS_MAX];
	size_t num;
};

/*
 * Few as a rule, at times up to max.  bounded: some of them with since, until and limit.
 */
void wants_draw(struct wants *wants, struct rng *rng, const struct pool *pool, size_t max,
    bool bounded);
void wants_fini(struct wants *wants);
bool wants_match(const struct wants *wants, const struct pool *pool,
    const struct pool_event *event);

#endif
