/* A plan from within: plan has pairs and what is wanted of them, plan_parts the parts. */
#ifndef GS_PLAN_PRIVATE_H
#define GS_PLAN_PRIVATE_H

#include "map.h"
#include "plan.h"

struct gs_plan_pair {
	struct gs_str ref; /* of the map's key */
	bool is_read;	   /* sequence is its number */
	uint64_t sequence;
	size_t outstanding; /* unread parts that it hangs on */
	uint64_t target;    /* its number once they are read */
	int64_t ended_ms;   /* not wanted since then; -1 */
	bool is_lost;	    /* out of the map */
	struct gs_plan_pair *next;
};

/* A part that was given out, or waits to be: the pairs that hang on it. */
struct gs_plan_held {
	struct gs_plan_pair **pairs;
	size_t num;
};

struct gs_plan {
	struct gs_map *pairs; /* ref -> struct gs_plan_pair */
	struct gs_plan_pair *lost;
	int64_t ended_ms;   /* of the one that ended first; -1 */
	int64_t removed_ms; /* something was, first then, since the last pack; -1 */
	struct gs_plan_held *parts; /* by the session's number, then those that wait */
	size_t num_parts, cap_parts;
	struct gs_plan_part *waiting; /* the last ones of parts; next_waiting on */
	size_t num_waiting, cap_waiting, next_waiting;
	struct gs_plan_pair **ready; /* read, and not told yet */
	size_t num_ready, cap_ready;
	struct gs_plan_pair *
	    *due; /* ended so long ago that they are lost: not told yet */
	size_t num_due, cap_due;
	struct gs_buf text;
};

void gs_plan_drop_parts(struct gs_plan *plan);
void gs_plan_release_parts(struct gs_plan *plan); /* no pair hangs on a part any more */

/* What is cut into parts: first all of it is given, then finish cuts. */
struct gs_plan_cut {
	struct gs_plan *plan;
	uint64_t sequence;
	struct gs_str *read_refs, *refs;
	size_t num_read_refs, cap_read_refs, num_refs, cap_refs;
	struct gs_plan_pair **ref_pairs; /* of refs */
	size_t cap_ref_pairs;
	uint8_t (*read_roots)[32];
	size_t num_read_roots, cap_read_roots;
	uint8_t (*roots)[32];
	size_t num_roots, cap_roots;
	struct gs_plan_pair **root_pairs; /* of roots */
	size_t cap_root_pairs;
};
void gs_plan_cut_init(struct gs_plan_cut *cut, struct gs_plan *plan, uint64_t sequence);
void gs_plan_cut_layer_1(struct gs_plan_cut *cut, struct gs_plan_pair *pair);
void gs_plan_cut_ref(struct gs_plan_cut *cut, struct gs_plan_pair *pair);
void gs_plan_cut_read_root(struct gs_plan_cut *cut, const uint8_t id[static 32]);
void gs_plan_cut_root(struct gs_plan_cut *cut, struct gs_plan_pair *pair,
    const uint8_t id[static 32]);
void gs_plan_cut_finish(struct gs_plan_cut *cut);

/* How many parts that would be. */
struct gs_plan_count {
	size_t read_refs, refs, long_refs, unread_roots;
	const uint8_t **read_roots; /* to be told apart */
	size_t num_read_roots, cap_read_roots;
};
void gs_plan_count_ref(struct gs_plan_count *count, const struct gs_plan_pair *pair);
void gs_plan_count_read_root(struct gs_plan_count *count, const uint8_t id[static 32]);
size_t gs_plan_count_finish(struct gs_plan_count *count);

#endif
