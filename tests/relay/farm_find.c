/* What a filter gets of one of the farm's relays, by the indexes of farm_world. */
#include <stdlib.h>
#include <string.h>

#include "farm.h"

struct gs_str
farm_filter_value(const struct gs_filter_tag *tag, size_t i, char hex[static DRAFT_HEX])
{
	if (tag->values != NULL)
		return tag->values[i];
	*gs_hex_write(hex, tag->ids[i], sizeof(tag->ids[i])) = '\0';
	return (struct gs_str){ hex, 2 * sizeof(tag->ids[i]) };
}

static int
compare_relays(const void *a, const void *b)
{
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

	return left < right ? -1 : left > right;
}

static bool
holds(const struct farm_set *set, uint32_t relay)
{
	return bsearch(&relay, set->relays, set->num, sizeof(relay), compare_relays) !=
	    NULL;
}

/* The events that a search looks at. */
struct search {
	struct farm *farm;
	const struct farm_relay *relay;
	const struct gs_filter *filter;
	bool is_exact; /* what the index gives needs no second look */
	struct farm_list found;
};

static void
look_at(struct search *search, const struct farm_list *list)
{
	static struct gs_event parsed;
	const struct gs_filter *filter = search->filter;

	for (size_t i = 0; list != NULL && i < list->num; i++) {
		struct farm_event *event = list->events[i];

		if (event->is_replaced ||
		    (filter->since >= 0 && event->created_at < filter->since) ||
		    (filter->until >= 0 && event->created_at > filter->until) ||
		    !holds(event->on, search->relay->number))
			continue;
		if (!search->is_exact &&
		    (gs_event_parse(&parsed, event->line, event->len, NULL) !=
			    GS_EVENT_OK ||
			!gs_filter_match(filter, &parsed)))
			continue;
		farm_list_add(&search->found, event);
	}
}

/* A root that was made at a rate is asked for. */
static void
note_asked(const struct farm *farm, struct gs_str value)
{
	struct farm_event *event;
	uint8_t id[32];

	if (!gs_hex_parse(id, sizeof(id), value.ptr, value.len))
		return;
	event = gs_map_get(farm->ids, farm_key_id(id));
	if (event != NULL && event->live_ms != 0 && event->asked_ms == 0)
		event->asked_ms = farm_wall_ms();
}

static void
look_by_tag(struct search *search, const struct gs_filter_tag *tag)
{
	struct gs_buf room = GS_BUF_INIT;
	char hex[65];

	for (size_t i = 0; i < tag->num; i++) {
		struct gs_str value = farm_filter_value(tag, i, hex);

		note_asked(search->farm, value);
		look_at(search,
		    gs_map_get(search->farm->tags,
			farm_key_tag(&room, tag->letter, value)));
	}
	gs_buf_fini(&room);
}

static void
look_by_kind(struct search *search)
{
	char kind[8];

	for (size_t i = 0; i < search->filter->num_kinds; i++)
		look_at(search,
		    gs_map_get(search->relay->kinds,
			farm_key_kind(search->filter->kinds[i], kind)));
}

static int
compare_events(const void *a, const void *b)
{
	const struct farm_event *left = *(struct farm_event *const *)a;
	const struct farm_event *right = *(struct farm_event *const *)b;

	if (left == right)
		return 0;
	return farm_is_newer(left, right) ? -1 : 1;
}

/* Sorted, each once, as many as are asked for and allowed. */
static size_t
finish(const struct farm *farm, const struct gs_filter *filter, struct farm_list *found)
{
	size_t most = (size_t)farm->options.page, num = 0;

	if (filter->limit >= 0 && (size_t)filter->limit < most)
		most = (size_t)filter->limit;
	if (found->num > 1)
		qsort(found->events, found->num, sizeof(struct farm_event *),
		    compare_events);
	for (size_t i = 0; i < found->num && num < most; i++)
		if (num == 0 || found->events[num - 1] != found->events[i])
			found->events[num++] = found->events[i];
	return num;
}

size_t
farm_world_find(struct farm *farm, struct farm_relay *relay,
    const struct gs_filter *filter, struct farm_event ***found)
{
	struct search search = { .farm = farm, .relay = relay, .filter = filter };
	const struct gs_filter_tag *tag = filter->num_tags > 0 ? filter->tags : NULL;
	bool is_plain = filter->num_ids == 0 && filter->num_authors == 0;

	if (tag != NULL && strchr(FARM_INDEXED, tag->letter) != NULL) {
		search.is_exact =
		    is_plain && filter->num_tags == 1 && filter->num_kinds == 0;
		look_by_tag(&search, tag);
	} else if (filter->num_kinds > 0) {
		search.is_exact = is_plain && filter->num_tags == 0;
		look_by_kind(&search);
	} else {
		look_at(&search, &relay->all);
	}
	*found = search.found.events;
	return finish(farm, filter, &search.found);
}
