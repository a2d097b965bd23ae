/* What became of the events of one import or session, for its summary. */
#ifndef GS_TALLY_H
#define GS_TALLY_H

#include <stdint.h>

#include "map.h"
#include "store.h"

/*
 * Counts of one run: read + freed = stored + duplicate + replaced + deleted + expired +
 * waiting + rejected + skipped + invalid; each is what became of the event by now.
 */
struct gs_tally {
	uint64_t read, stored, duplicate, replaced, deleted, expired, waiting;
	uint64_t rejected;	/* sum of reasons */
	uint64_t skipped;	/* over a cap: not judged, unknown still */
	uint64_t invalid[5];	/* by enum gs_event_fault */
	uint64_t freed;		/* that waited since an earlier run, judged anew now */
	uint64_t removed;	/* earlier stored ones that left now */
	struct gs_map *reasons; /* rejected: reason -> uint64_t *, made when needed */
};
void gs_tally_fini(struct gs_tally *tally);
void gs_tally_add(struct gs_tally *into, const struct gs_tally *from);
/* The counter of a fate. */
uint64_t *gs_tally_counter(struct gs_tally *tally, enum gs_known known);
void gs_tally_reason(struct gs_tally *tally, struct gs_str reason, uint64_t num);

#endif
