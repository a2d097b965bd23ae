/*
 * Takes events into the store by the policy: keeps, rejects, or lets them wait
 * until what they hang on has come, then judges them again (DESIGN "Acceptance").
 */
#ifndef GS_WAITING_H
#define GS_WAITING_H

#include "decision.h"
#include "store.h"
#include "tally.h"

#define GS_WAITING_BYTES \
	(INT64_C(64) << 20) /* of waiting events kept whole; beyond: the id alone */
#define GS_WAITING_S (INT64_C(7) * 86400)
#define GS_JUDGED_ROWS 1000000 /* remembered ids, oldest out */

/* Where an event comes from. */
struct gs_origin {
	struct gs_str from; /* relay, or empty */
	uint32_t tag;	    /* handed back in the decision */
};

/* policy NULL: every valid event is stored, nothing waits. */
struct gs_intake;
struct gs_intake *gs_intake_new(const struct gs_policy *policy);
void gs_intake_free(struct gs_intake *intake);
/*
 * Each decision, in order, from gs_intake_settle of a committed txn: one for every event
 * that was offered, one for each that this freed, replaced, deleted or let expire.
 * Before the first begin; NULL: not wanted.
 */
void gs_intake_set_decided(struct gs_intake *intake, gs_decision_fn *fn, void *arg);

/*
 * First in every write txn: a changed policy judges anew what waits; what expired by
 * now_s leaves.  The calls up to settle belong to this txn and this time.
 */
bool gs_intake_begin(struct gs_intake *intake, struct gs_txn *txn, int64_t now_s,
    struct gs_err *err) GS_MUST;
/*
 * One verified event; what it frees is judged too.  *known is its own fate; GS_UNKNOWN:
 * it is over a cap of the policy and was not judged; it may come again (the decision
 * says why, and until when).
 */
bool gs_intake_offer(struct gs_intake *intake, const struct gs_event *event,
    const struct gs_origin *origin, enum gs_known *known, struct gs_err *err) GS_MUST;
/*
 * Has this relay had its share of the day?  What it brings is not judged until then.
 * Known once an event of it was refused; any time, from the thread that offers.
 */
bool gs_intake_is_capped(const struct gs_intake *intake, struct gs_str from,
    int64_t *until_s);
/* Before each commit: keeps waiting and judged within their caps. */
bool gs_intake_trim(struct gs_intake *intake, struct gs_err *err) GS_MUST;
/* After it: what was counted since the last one goes to tally, if it was committed. */
void gs_intake_settle(struct gs_intake *intake, bool committed, struct gs_tally *tally);

#endif
