/* The three layers of v2: which filters to ask one relay for. */
#ifndef GS_LAYERS_H
#define GS_LAYERS_H

#include <stdint.h>

#include "filter.h"
#include "state.h"

#define GS_LAYERS_CHUNK 100 /* values a filter: v2 decision 9 */
/* Bytes of d: with a longer one the ref is over what strfry indexes (255 bytes). */
#define GS_LAYERS_LONG_D 184
#define GS_LAYERS_ALL 7u /* bits: 1 << (layer - 1) */

struct gs_layers_options {
	unsigned layers; /* bits 1, 2, 4: layers 1, 2, 3 */
	size_t chunk;	 /* 1 .. */
	int64_t since;	 /* -1: none */
};

/* filter is valid during the call.  False stops. */
typedef bool gs_layers_fn(unsigned layer, const struct gs_filter *filter, void *arg);

/*
 * Layer 1 (also for a relay without repositories), then layer 2: the relay's refs
 * in order, chunk by chunk as #a, #A, #q, then each long ref alone as three; then
 * layer 3: the root ids of all its repos, sorted, each once, as #e, #E, #q.
 * relay NULL: a relay that is not in the state, layer 1 only.  The state must be sorted.
 * Returns false if fn did.
 */
bool gs_layers_each(const struct gs_relay_entry *relay,
    const struct gs_layers_options *options, gs_layers_fn *fn, void *arg);
bool gs_layers_is_long(struct gs_str ref); /* it is asked for alone */

#endif
