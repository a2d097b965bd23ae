/*
 * What one relay allows: what its NIP-11 document says, else what any relay takes,
 * and less once it refuses.  Fetching the document (GS_LIMITS_DOCUMENT_BYTES at
 * most), packing within the limits and keeping them are others'.
 */
#ifndef GS_LIMITS_H
#define GS_LIMITS_H

#include <stdint.h>

#include "buf.h"
#include "err.h"
#include "refusal.h"

#define GS_LIMITS_DOCUMENT_BYTES (64u * 1024)

struct gs_limits {
	uint32_t subscriptions; /* open at a time */
	uint32_t filters;	/* in a REQ */
	uint32_t bytes;		/* of a message that we send */
	uint32_t limit;		/* of a filter */
	uint32_t subid_len;	/* bytes of a subscription's name */
};

/* What is safe with a relay that we know nothing of. */
void gs_limits_init(struct gs_limits *limits);

/*
 * Takes over what `limitation` of a NIP-11 document says, up to our own ceilings.
 * Other members, and values that are no integers or too small to be meant, are passed
 * over.  GS_EDATA if it is no JSON object; the limits are then as before.
 */
bool gs_limits_read(struct gs_limits *limits, struct gs_str document,
    struct gs_err *err) GS_MUST;

/*
 * The relay refused: halves what was too much; the limit becomes number if that is
 * less than it was (0: none said).  False: nothing that we could lower.
 */
bool gs_limits_learn(struct gs_limits *limits, enum gs_refusal refusal, int64_t number);

#endif
