/* How relays behave, drawn from a seed. */
#ifndef WAYS_H
#define WAYS_H

#include "limits.h"
#include "mimic.h"

enum ways_sort {
	WAYS_HONEST,  /* caps, limits that it states, slow answers */
	WAYS_LIMITED, /* and limits that it refuses to go beyond without stating them */
	WAYS_FAULTY,  /* and drops, refusals */
	WAYS_LYING,   /* and lies */
};

void ways_draw(struct mimic_ways *ways, enum ways_sort sort, struct rng *rng);
/* Does the client get in, with a key or without? */
bool ways_let_in(const struct mimic_ways *ways, bool has_key);
/* What a client that fetched the NIP-11 document knows. */
void ways_tell(const struct mimic_ways *ways, struct gs_limits *limits);
/* The longest answer to one filter alone; SIZE_MAX: any. */
size_t ways_page(const struct mimic_ways *ways);
void ways_print(const struct mimic_ways *ways);

#endif
