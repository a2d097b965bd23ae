/* What became of one event, and why: told after its commit, and written as a line. */
#ifndef GS_DECISION_H
#define GS_DECISION_H

#include "store.h"

/* Pointers are valid during the call that tells it. */
struct gs_decision {
	const uint8_t *id, *pubkey; /* pubkey NULL: not known, nor is kind */
	uint16_t kind;
	struct gs_str from;  /* relay, or empty */
	uint32_t tag;	     /* of its line; of what was freed or left: GS_TAG_FREED */
	enum gs_known known; /* what it is now; GS_UNKNOWN: skipped, see until_s */
	bool is_duplicate;   /* it had been settled before */
	const char *reason;  /* policy's word, static; or NULL */
	int64_t until_s;     /* skipped: nothing more is taken until then; 0: no time */
	/* GS_KNOWN_WAITING: what it waits for in words (see gs_ground), the first ones */
	const struct gs_str *words;
	size_t num_words;
	size_t num_grounds; /* of all */
};
#define GS_TAG_FREED UINT32_MAX

typedef void gs_decision_fn(const struct gs_decision *decision, void *arg);

/*
 * stored, duplicate, waiting, rejected, deleted, superseded, expired, skipped (over a
 * cap: not judged, it may come again).
 */
const char *gs_decision_result(const struct gs_decision *decision);
/*
 * Adds one JSON object, no newline: id, kind, author, relay, result, reason, waits_for,
 * then waits_for_more if that was cut, and until if it has a time.
 */
void gs_decision_write(struct gs_buf *buf, const struct gs_decision *decision);

/* Decisions that wait for their commit. */
struct gs_decisions;
struct gs_decisions *gs_decisions_new(void);
void gs_decisions_free(struct gs_decisions *decisions);
void gs_decisions_add(struct gs_decisions *decisions,
    const struct gs_decision *decision); /* copied */
/* Tells each in the order in which they were added, and forgets them. */
void gs_decisions_tell(struct gs_decisions *decisions, gs_decision_fn *fn, void *arg);
void gs_decisions_clear(struct gs_decisions *decisions);

#endif
