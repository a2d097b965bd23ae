/*
 * What one relay is to be asked: wanted minus read (DESIGN 3 "State").  Wanted is what
 * a state says of the relay, read is one number a pair (relay, repository).  The
 * difference comes out as parts, each of them one filter for the session, in the order
 * of the session's numbers.  Pure.
 */
#ifndef GS_PLAN_H
#define GS_PLAN_H

#include "filter.h"
#include "now.h"
#include "state.h"

#define GS_PLAN_MANY 70	    /* live filters, then packing is considered: v2 */
#define GS_PLAN_SAVES 30    /* filters that packing must save: DESIGN 3 */
#define GS_PLAN_KEEP_S 60   /* a pair that ended keeps its number so long */
#define GS_PLAN_TIDY_S 3600 /* so long after removals all is packed anew */

/* One filter, the caller's. */
struct gs_plan_part {
	struct gs_filter filter;
	bool is_read; /* by an earlier history: what is new since is enough */
};

struct gs_plan;
struct gs_plan *gs_plan_new(void);
void gs_plan_free(struct gs_plan *plan);

/* What the store knows of a pair; before the first gs_plan_pack. */
void gs_plan_restore(struct gs_plan *plan, struct gs_str ref, uint64_t sequence);
/*
 * Nothing is read any more (a forced full history of another policy), nor is what parts
 * given out until now read; gs_plan_pack is due.
 */
void gs_plan_forget(struct gs_plan *plan);

/*
 * Before the first gs_plan_pack, while nothing can be asked: the pairs that entry (may
 * be NULL) has not end, and lose their numbers in time.
 */
void gs_plan_keep(struct gs_plan *plan, const struct gs_relay_entry *entry,
    struct gs_now now);

/*
 * Drops all parts and plans anew: read pairs and read roots (up to the pair's number)
 * in full chunks, then what is not read yet, repository by repository.  entry NULL:
 * layer 1 alone.  sequence: of the store when the state was surveyed; it becomes a
 * pair's number when the pair is read.
 */
void gs_plan_pack(struct gs_plan *plan, const struct gs_relay_entry *entry,
    uint64_t sequence, struct gs_now now);
/*
 * Adds parts for what after has and before has not; notes what after has not.
 * Both sorted, either may be NULL.
 */
void gs_plan_grow(struct gs_plan *plan, const struct gs_relay_entry *before,
    const struct gs_relay_entry *after, uint64_t sequence, struct gs_now now);
/* The next part not given out yet; false: none.  Its number is the count before. */
bool gs_plan_next(struct gs_plan *plan, struct gs_plan_part *part);
size_t gs_plan_num_parts(const struct gs_plan *plan);
/* Of the last pack or grow: parts not given out yet. */
size_t gs_plan_num_waiting(const struct gs_plan *plan);

/* Part i was read completely without since.  (In any other way: don't call.) */
void gs_plan_note_read(struct gs_plan *plan, size_t i);
/*
 * Pairs with a new number: ref ("" for layer 1) is valid until the next call.  A number
 * goes back when an old root that may not have been read comes to a pair.
 */
bool gs_plan_next_read(struct gs_plan *plan, struct gs_str *ref, uint64_t *sequence);
/* Pairs whose number is lost: GS_PLAN_KEEP_S after they ended. */
bool gs_plan_next_ended(struct gs_plan *plan, struct gs_str *ref, struct gs_now now);

/* How many parts gs_plan_pack would make now. */
size_t gs_plan_num_packed(const struct gs_plan *plan, const struct gs_relay_entry *entry);
/* Was something removed so long ago that packing anew is due? */
bool gs_plan_is_untidy(const struct gs_plan *plan, struct gs_now now);
int64_t gs_plan_deadline_ms(const struct gs_plan *plan); /* next_ended, untidy; -1 */
/* Refs ("": layer 1) that are not read yet, sorted; the array is the caller's. */
struct gs_str *gs_plan_list_pending(const struct gs_plan *plan, size_t *num);

#endif
