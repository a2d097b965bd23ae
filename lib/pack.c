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

/* The length of the longest list, to be halved; NULL: none has two values. */
static size_t *
find_longest_list(struct gs_filter *filter)
{
	size_t *longest = &filter->num_kinds;

	if (filter->num_authors >= *longest)
		longest = &filter->num_authors;
	if (filter->num_ids >= *longest)
		longest = &filter->num_ids;
	for (size_t i = 0; i < filter->num_tags; i++)
		if (filter->tags[i].num >= *longest)
			longest = &filter->tags[i].num;
	return *longest > 1 ? longest : NULL;
}

/* Moves the beginning of the list that has this length. */
static void
skip_values(struct gs_filter *filter, const size_t *list, size_t num)
{
	if (list == &filter->num_kinds)
		filter->kinds += num;
	else if (list == &filter->num_authors)
		filter->authors += num;
	else if (list == &filter->num_ids)
		filter->ids += num;
	for (size_t i = 0; i < filter->num_tags; i++) {
		struct gs_filter_tag *tag = &filter->tags[i];

		if (list == &tag->num && tag->ids != NULL)
			tag->ids += num;
		else if (list == &tag->num)
			tag->values += num;
	}
}

bool
gs_pack_halve(const struct gs_filter *filter, bool is_second, struct gs_filter *half,
    struct gs_filter_tag *tags)
{
	size_t *list, num;

	*half = *filter;
	half->tags = tags;
	for (size_t i = 0; i < filter->num_tags; i++)
		tags[i] = filter->tags[i];
	list = find_longest_list(half);
	if (list == NULL)
		return false;
	num = *list / 2;
	if (is_second)
		skip_values(half, list, num);
	*list = is_second ? *list - num : num;
	return true;
}

static bool
split_half(const struct gs_filter *filter, bool is_second, size_t max_bytes,
    gs_pack_part_fn *fn, void *arg)
{
	struct gs_filter_tag *tags = gs_mem_array(filter->num_tags, sizeof(*tags));
	struct gs_filter half;
	bool ok;

	(void)gs_pack_halve(filter, is_second, &half, tags);
	ok = gs_pack_split(&half, max_bytes, fn, arg);
	free(tags);
	return ok;
}

static bool
has_two(const struct gs_filter *filter)
{
	struct gs_filter view = *filter;

	return find_longest_list(&view) != NULL;
}

/* Recursion is as deep as the numbers of values have bits. */
bool
gs_pack_split(const struct gs_filter *filter, size_t max_bytes, gs_pack_part_fn *fn,
    void *arg)
{
	struct gs_buf json = GS_BUF_INIT;
	bool fits;

	gs_filter_write(filter, &json);
	fits = json.len <= max_bytes;
	gs_buf_fini(&json);
	if (fits || !has_two(filter))
		return fn(filter, fits, arg);
	return split_half(filter, false, max_bytes, fn, arg) &&
	    split_half(filter, true, max_bytes, fn, arg);
}
