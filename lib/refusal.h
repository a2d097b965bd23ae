/*
 * What a relay's text asks us to do: CLOSED, NOTICE and NEG-ERR, as relays really
 * write them.  Which request it is about and what is then done are session's.
 */
#ifndef GS_REFUSAL_H
#define GS_REFUSAL_H

#include <stdint.h>

#include "buf.h"

#define GS_REFUSAL_TEXT_BYTES 1024 /* what stands behind is not read: DESIGN 6 */

enum gs_refusal {
	GS_REFUSAL_OTHER,	  /* refused, for good or for reasons of its own */
	GS_REFUSAL_EMPTY,	  /* no text: the subscription just ended */
	GS_REFUSAL_RATE_LIMITED,  /* wait; also "rate-limited: too many REQs" */
	GS_REFUSAL_AUTH_REQUIRED, /* NIP-42, then again */
	GS_REFUSAL_RESTRICTED,	  /* not for us; also: pay first */
	GS_REFUSAL_FILTERS,	  /* too many filters in the REQ */
	GS_REFUSAL_SUBSCRIPTIONS, /* too many at a time */
	GS_REFUSAL_BYTES,	  /* our message is too long */
	GS_REFUSAL_LIMIT,	  /* the filter's limit is too high */
	GS_REFUSAL_SUBID,	  /* the subscription's name is too long */
	GS_REFUSAL_DUPLICATE,	/* a subscription of that name is open: take a new one */
	GS_REFUSAL_RESULTS,	/* NIP-77: the filter matches more than it reconciles */
	GS_REFUSAL_UNSUPPORTED, /* it does not know what we sent (NIP-77: use pages) */
};

/* By its NIP-01 prefix alone ("restricted:"); without one: GS_REFUSAL_OTHER. */
enum gs_refusal gs_refusal_prefix(struct gs_str text);

/* "other", "empty", "rate-limited", ...: for reports and labels. */
const char *gs_refusal_name(enum gs_refusal refusal);

/*
 * Reads a text, decoded but otherwise as it came: the prefix first ("ERROR: " of
 * strfry before it left aside), then whole words, in any case.  *number (may be NULL)
 * is what a GS_REFUSAL_LIMIT names, else 0.
 */
enum gs_refusal gs_refusal_parse(struct gs_str text, int64_t *number);

#endif
