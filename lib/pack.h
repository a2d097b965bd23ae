/* Packs filters into REQ frames (NIP-01) within a relay's limits: whole filters only. */
#ifndef GS_PACK_H
#define GS_PACK_H

#include "buf.h"
#include "filter.h"

#define GS_PACK_FILTERS 10	   /* a REQ, when the relay tells nothing: DESIGN 3 */
#define GS_PACK_BYTES (60u * 1024) /* a message */

struct gs_pack_limits {
	size_t max_filters;
	size_t max_bytes; /* of the frame from [ to ] */
};

/*
 * Called with a REQ's subscription number (1, 2, ...), its frame, and the filters in
 * it: the number of the first (from 0, as they were added), and how many.
 */
typedef bool gs_pack_fn(size_t number, struct gs_str frame, size_t first, size_t count,
    void *arg);

struct gs_pack;
struct gs_pack *gs_pack_new(const struct gs_pack_limits *limits, gs_pack_fn *fn,
    void *arg);
/*
 * Adds a filter, as JSON, to the frame that is being filled; hands the frame over
 * first if it would not fit.  False with *too_big set if it fits no frame at all;
 * false also if fn returned false.
 */
bool gs_pack_add(struct gs_pack *pack, struct gs_str filter_json, bool *too_big);
bool gs_pack_flush(struct gs_pack *pack); /* the last frame, if any */
void gs_pack_free(struct gs_pack *pack);
/* Bytes of one filter's JSON that fit into a frame of its own, whatever its number. */
size_t gs_pack_room(const struct gs_pack_limits *limits);

/*
 * One half of a filter, its longest list cut, as a view into it; tags is room for its
 * num_tags.  False: no list has two values.
 */
bool gs_pack_halve(const struct gs_filter *filter, bool is_second, struct gs_filter *half,
    struct gs_filter_tag *tags);

/*
 * A filter, cut in halves until each is at most max_bytes of JSON; fn gets each.  fits
 * false: it can't be cut further.
 */
/* filter is valid during the call.  False stops. */
typedef bool gs_pack_part_fn(const struct gs_filter *filter, bool fits, void *arg);
bool gs_pack_split(const struct gs_filter *filter, size_t max_bytes, gs_pack_part_fn *fn,
    void *arg);

#endif
