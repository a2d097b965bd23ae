/* The property of a reading with --once: all that the relay gives, or said incomplete. */
#ifndef READING_H
#define READING_H

#include "pool.h"

struct sim_result {
	bool is_right;
	uint64_t steps;
	size_t filters, complete, events, reqs;
};

/* Prints what is wrong; loud: everything. */
struct sim_result reading_run(const struct pool *pool, uint64_t seed, bool loud);

#endif
