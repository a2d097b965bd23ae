/* What the files of waiting share. */
#ifndef GS_WAITING_PRIVATE_H
#define GS_WAITING_PRIVATE_H

#include "closure.h"
#include "waiting.h"

/* Sequences that this run gave: other writers may have given those between. */
struct range {
	uint64_t first, end;
};

struct gs_intake {
	const struct gs_policy *policy;
	struct gs_closure *closure; /* who is followed; NULL without policy */
	struct gs_txn *txn;	    /* that was begun last, and when */
	int64_t now_s;
	struct gs_answer answer;
	struct gs_buf freed; /* grounds, 32 bytes each: their waiters are judged again */
	struct gs_event waiter;
	uint64_t run;	  /* 0: not begun */
	bool has_settled; /* a txn of this run was committed */
	bool has_swept;
	struct range *ranges; /* a run's sequences; the last range is open */
	size_t num_ranges, cap_ranges;
	uint64_t txn_first;    /* the sequence at which this txn began */
	struct gs_tally delta; /* since the last commit */

	struct gs_map *capped; /* relays that have reached their cap, until then */
	int64_t capped_until_s;

	gs_decision_fn *decided; /* NULL: nobody wants to hear */
	void *arg;
	struct gs_decisions *decisions; /* since the last commit */
};

/* --- waiting_count.c: what became of what --- */

/* A txn begins: the sequences that it gives are of this run. */
void intake_open_range(struct gs_intake *intake, const struct gs_txn *txn);
void intake_close_range(struct gs_intake *intake, const struct gs_txn *txn);
/* A stored event left, as struct gs_store_ops has it. */
void intake_removed(const struct gs_row *row, enum gs_known why, void *arg);
/* Counts what an event is now, and notes the decision; the answer is the last one. */
void intake_count(struct gs_intake *intake, const struct gs_event *event,
    const struct gs_origin *origin, enum gs_known known);
/* It had been settled before. */
void intake_count_duplicate(struct gs_intake *intake, const struct gs_event *event,
    const struct gs_origin *origin, enum gs_known known);

/* --- waiting_cap.c: caps of a day --- */

bool intake_begin_day(struct gs_intake *intake, struct gs_err *err) GS_MUST;
/* Why nothing is taken from there now, static; NULL: it is. */
const char *intake_over_cap(struct gs_intake *intake, const struct gs_origin *origin);
/* Has every followed repository that it names had its share? */
bool intake_is_over_repo(struct gs_intake *intake, const struct gs_event *event);
/* It was stored. */
bool intake_use(struct gs_intake *intake, const struct gs_event *event,
    const struct gs_origin *origin, struct gs_err *err) GS_MUST;

#endif
