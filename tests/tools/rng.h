/*
 * Pseudo-random numbers for test data: the same on every machine, and a stream of
 * its own for each thing that is made, so that no state has to be kept.
 */
#ifndef RNG_H
#define RNG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* SplitMix64 (Steele, Lea, Flood 2014). */
#define RNG_STEP UINT64_C(0x9e3779b97f4a7c15)

struct rng {
	uint64_t state;
};

static inline uint64_t
rng_next(struct rng *rng)
{
	uint64_t z = rng->state += RNG_STEP;

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* The stream of thing number index of a sort (a letter, say) under a seed. */
static inline struct rng
rng_of(uint64_t seed, uint64_t sort, uint64_t index)
{
	struct rng rng = { seed };

	rng.state = rng_next(&rng) ^ (sort * RNG_STEP);
	rng.state = rng_next(&rng) ^ (index * RNG_STEP);
	return rng;
}

/* 0 .. num - 1; num is not 0.  The bias is under 2^-32 for what tests ask. */
static inline size_t
rng_below(struct rng *rng, size_t num)
{
	return (size_t)(rng_next(rng) % num);
}

/* True once in num times. */
static inline bool
rng_once_in(struct rng *rng, size_t num)
{
	return num != 0 && rng_below(rng, num) == 0;
}

#endif
