/* The properties of a session that stays: nothing is missing, and no dial is off. */
#ifndef FOLLOWING_H
#define FOLLOWING_H

#include "reading.h"

/* Days of drops and outages by chance, then two quiet ones. */
struct sim_result following_run(const struct pool *pool, uint64_t seed, bool loud);
/* 30 days against a relay that flaps, dies for 26 h, and comes back. */
struct sim_result months_run(const struct pool *pool, uint64_t seed, bool loud);

#endif
