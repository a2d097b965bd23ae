/* Filters of a relay as lines, held back as long as the form of the lines wants it. */
#include "listing.h"

#include <stdlib.h>

#include "json.h"
#include "mem.h"

struct gs_listing {
	struct gs_listing_options options;
	struct gs_str url;
	struct gs_pack *pack;
	struct gs_buf filter, list, line;
	struct gs_listing_counts counts;
};

static bool
give_line(struct gs_listing *listing, const char *member, struct gs_str json)
{
	const struct gs_listing_options *options = &listing->options;
	struct gs_buf *line = &listing->line;

	if (options->is_bare)
		return options->line(json.ptr, json.len, options->arg);
	gs_buf_clear(line);
	gs_buf_add_str(line, "{\"relay\":");
	gs_json_write_string(line, listing->url.ptr, listing->url.len);
	gs_buf_printf(line, ",%s:", member);
	gs_buf_add(line, json.ptr, json.len);
	gs_buf_add_char(line, '}');
	return options->line(line->data, line->len, options->arg);
}

static bool
give_frame(size_t number, struct gs_str frame, size_t first, size_t count, void *arg)
{
	struct gs_listing *listing = arg;

	(void)number;
	(void)first;
	listing->counts.filters += count;
	listing->counts.messages++;
	listing->counts.bytes += frame.len;
	return give_line(listing, "\"req\"", frame);
}

static struct gs_str
written(const struct gs_listing *listing)
{
	return (struct gs_str){ listing->filter.data, listing->filter.len };
}

/* A part is the smallest that there is: if it fits no message, it is left out. */
static bool
pack_part(const struct gs_filter *filter, bool fits, void *arg)
{
	struct gs_listing *listing = arg;
	bool too_big;

	(void)fits;
	gs_buf_clear(&listing->filter);
	gs_filter_write(filter, &listing->filter);
	if (gs_pack_add(listing->pack, written(listing), &too_big))
		return true;
	listing->counts.left_out += too_big;
	return too_big;
}

static bool
pack_filter(struct gs_listing *listing, const struct gs_filter *filter)
{
	bool too_big;

	if (gs_pack_add(listing->pack, written(listing), &too_big))
		return true;
	return too_big &&
	    gs_pack_split(filter, gs_pack_room(&listing->options.limits), pack_part,
		listing);
}

static bool
give_filter(struct gs_listing *listing, unsigned layer)
{
	char member[sizeof("\"layer\":0,\"filter\"")] = "\"layer\":0,\"filter\"";

	member[sizeof("\"layer\":") - 1] = (char)('0' + layer);
	return give_line(listing, member, written(listing));
}

bool
gs_listing_add(unsigned layer, const struct gs_filter *filter, void *arg)
{
	struct gs_listing *listing = arg;

	gs_buf_clear(&listing->filter);
	gs_filter_write(filter, &listing->filter);
	if (listing->options.form == GS_LISTING_REQ)
		return pack_filter(listing, filter);
	listing->counts.filters++;
	listing->counts.bytes += listing->filter.len;
	if (listing->options.form == GS_LISTING_FILTERS)
		return give_filter(listing, layer);
	gs_buf_add_char(&listing->list, listing->list.len == 0 ? '[' : ',');
	gs_buf_add(&listing->list, listing->filter.data, listing->filter.len);
	return true;
}

void
gs_listing_begin(struct gs_listing *listing, struct gs_str url)
{
	gs_pack_free(listing->pack);
	listing->pack = gs_pack_new(&listing->options.limits, give_frame, listing);
	listing->url = url;
	listing->counts = (struct gs_listing_counts){ 0 };
	gs_buf_clear(&listing->list);
}

bool
gs_listing_end(struct gs_listing *listing, struct gs_listing_counts *counts)
{
	bool ok = true;

	if (listing->options.form == GS_LISTING_REQ)
		ok = gs_pack_flush(listing->pack);
	else if (listing->list.len > 0) {
		gs_buf_add_char(&listing->list, ']');
		ok = give_line(listing, "\"filters\"",
		    (struct gs_str){ listing->list.data, listing->list.len });
	}
	*counts = listing->counts;
	return ok;
}

struct gs_listing *
gs_listing_new(const struct gs_listing_options *options)
{
	struct gs_listing *listing = gs_mem_new(sizeof(*listing));

	listing->options = *options;
	return listing;
}

void
gs_listing_free(struct gs_listing *listing)
{
	if (listing == NULL)
		return;
	gs_pack_free(listing->pack);
	gs_buf_fini(&listing->filter);
	gs_buf_fini(&listing->list);
	gs_buf_fini(&listing->line);
	free(listing);
}
