/*
 * What the store knows of each relay (DESIGN 4, tables `relay` and `progress`): its
 * health, how far it was read as a whole, and for each pair (relay, repository) the
 * store sequence up to which its roots were read there.  A pair's ref is empty for
 * layer 1.  Records carry the same on its way behind the events that prove it.
 */
#ifndef GS_PROGRESS_H
#define GS_PROGRESS_H

#include "health.h"
#include "limits.h"
#include "store.h"

#define GS_PROGRESS_REFUSED 1000 /* filters of a relay; those beyond are forgotten */

/* A filter that failed, by the SHA-256 of its JSON without since and until. */
struct gs_progress_refused {
	uint8_t filter[32];
	uint32_t failures;
	int64_t due_s; /* wall: tried again then */
};

/* One relay.  Pointers are borrowed; of a row that was read: during the fn's call. */
struct gs_progress_relay {
	struct gs_str url; /* canonical */
	struct gs_health_saved health;
	int64_t read_until_s, last_full_s; /* wall; -1: none yet */
	struct gs_limits limits;	   /* learnt; all 0: nothing */
	const struct gs_progress_refused *refused;
	size_t num_refused;
};

enum gs_record_kind {
	GS_RECORD_RELAY,     /* relay is its new row */
	GS_RECORD_PAIR,	     /* url, ref: read up to sequence */
	GS_RECORD_END_PAIR,  /* url, ref: its number is lost */
	GS_RECORD_END_RELAY, /* url: row and pairs are lost */
};

/* All pointers are borrowed during the call that gets it. */
struct gs_record {
	enum gs_record_kind kind;
	struct gs_str url, ref;
	uint64_t sequence;
	const struct gs_progress_relay *relay;
};

/* Writes what a record says; as store.h says of writing calls. */
bool gs_progress_put(struct gs_txn *txn, const struct gs_record *record,
    struct gs_err *err) GS_MUST;

/* False stops.  Rows that can't be read are passed over; *damaged is their number. */
typedef bool gs_progress_relay_fn(const struct gs_progress_relay *relay, void *arg);
bool gs_progress_relays(struct gs_txn *txn, gs_progress_relay_fn *fn, void *arg,
    size_t *damaged, struct gs_err *err) GS_MUST;
/* Every pair of a relay; damaged rows are passed over. */
typedef bool gs_progress_pair_fn(struct gs_str ref, uint64_t sequence, void *arg);
bool gs_progress_pairs(struct gs_txn *txn, struct gs_str url, gs_progress_pair_fn *fn,
    void *arg, struct gs_err *err) GS_MUST;

#endif
