/*
 * Packs filters into REQ frames (NIP-01): in their order, each whole, as many as
 * the limits allow.  Which filters, and what a relay's limits are, is not known here.
 */
#include "pack.h"

#include <stdlib.h>

#include "mem.h"

#define LONGEST_HEAD \
	"[\"REQ\",\"g18446744073709551615\"," /* a frame's bytes before its filters */

struct gs_pack {
	struct gs_pack_limits limits;
	gs_pack_fn *fn;
	void *arg;
	struct gs_buf frame; /* being filled, without its ] */
	size_t number;	     /* of frames handed over */
	size_t first, count; /* filters in frame */
};

struct gs_pack *
gs_pack_new(const struct gs_pack_limits *limits, gs_pack_fn *fn, void *arg)
{
	struct gs_pack *pack = gs_mem_new(sizeof(*pack));

	pack->limits = *limits;
	pack->fn = fn;
	pack->arg = arg;
	return pack;
}

void
gs_pack_free(struct gs_pack *pack)
{
	if (pack == NULL)
		return;
	gs_buf_fini(&pack->frame);
	free(pack);
}

bool
gs_pack_flush(struct gs_pack *pack)
{
	size_t first = pack->first;
	size_t count = pack->count;

	if (count == 0)
		return true;
	gs_buf_add_char(&pack->frame, ']');
	pack->first += count;
	pack->count = 0;
	pack->number++;
	return pack->fn(pack->number,
	    (struct gs_str){ pack->frame.data, pack->frame.len }, first, count,
	    pack->arg);
}

static void
begin_frame(struct gs_pack *pack)
{
	gs_buf_clear(&pack->frame);
	gs_buf_printf(&pack->frame, "[\"REQ\",\"g%zu\"", pack->number + 1);
}

/* With a comma before the filter and the bracket at the end. */
static bool
has_room(const struct gs_pack *pack, struct gs_str filter_json)
{
	size_t used = pack->frame.len + 2;

	return pack->count < pack->limits.max_filters && used <= pack->limits.max_bytes &&
	    filter_json.len <= pack->limits.max_bytes - used;
}

bool
gs_pack_add(struct gs_pack *pack, struct gs_str filter_json, bool *too_big)
{
	*too_big = false;
	if (pack->count > 0 && !has_room(pack, filter_json) && !gs_pack_flush(pack))
		return false;
	if (pack->count == 0)
		begin_frame(pack);
	if (!has_room(pack, filter_json)) {
		*too_big = true;
		return false;
	}
	gs_buf_add_char(&pack->frame, ',');
	gs_buf_add(&pack->frame, filter_json.ptr, filter_json.len);
	pack->count++;
	return true;
}

size_t
gs_pack_room(const struct gs_pack_limits *limits)
{
	size_t used = sizeof(LONGEST_HEAD "]") - 1;

	return limits->max_bytes > used ? limits->max_bytes - used : 0;
}

/* One of two halves of the filter's values. */
static bool
split_half(const struct gs_filter *filter, size_t from, size_t num, size_t max_bytes,
    gs_pack_part_fn *fn, void *arg)
{
	struct gs_filter_tag tag = filter->tags[0];
	struct gs_filter half = *filter;

	tag.values += from;
	tag.num = num;
	half.tags = &tag;
	return gs_pack_split(&half, max_bytes, fn, arg);
}

/* Recursion is as deep as the number of values has bits. */
bool
gs_pack_split(const struct gs_filter *filter, size_t max_bytes, gs_pack_part_fn *fn,
    void *arg)
{
	struct gs_buf json = GS_BUF_INIT;
	size_t num = filter->num_tags == 1 ? filter->tags[0].num : 0;
	bool fits;

	gs_filter_write(filter, &json);
	fits = json.len <= max_bytes;
	gs_buf_fini(&json);
	if (fits || num < 2)
		return fn(filter, fits, arg);
	return split_half(filter, 0, num / 2, max_bytes, fn, arg) &&
	    split_half(filter, num / 2, num - num / 2, max_bytes, fn, arg);
}
