/* A relay that is played in memory: which stored events a REQ gets, and in what form. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "map.h"
#include "mem.h"
#include "mimic_private.h"

#define ONCE_IN 16 /* frames, where a lie is told now and then */
#define MISS_IN 4  /* answers */

/* What goes out for one REQ. */
struct picks {
	const struct pool_event **events;
	size_t num, cap;
	struct gs_map *ids; /* of them */
	bool has_more;
};

static bool
tells(const struct mimic *mimic, enum mimic_lie lie)
{
	return (mimic->ways.lies & (unsigned)lie) != 0;
}

static bool
is_hidden(const struct mimic *mimic, const struct pool_event *event)
{
	return tells(mimic, MIMIC_MISLABELS) && mimic_is_mislabelled(event);
}

static void
send_hidden(struct mimic *mimic, const struct pool_event *event)
{
	struct mimic_sub *sub = &mimic->subs[mimic->num_subs - 1];
	struct mimic_out out = { .what = MIMIC_EVENT, .name = "not yours" };

	out.event = event;
	out.due_ms = sub->last_ms;
	mimic_send(mimic, out);
}

static bool
is_full(const struct mimic *mimic, const struct picks *picks)
{
	return mimic->ways.req_cap > 0 && !mimic->ways.merges &&
	    picks->num >= mimic->ways.req_cap;
}

static void
pick(struct picks *picks, const struct pool_event *event, bool again)
{
	struct gs_str id = gs_str_of(event->id);

	if (!again && gs_map_find(picks->ids, id) != NULL)
		return;
	(void)gs_map_add(picks->ids, id);
	picks->events =
	    gs_mem_more(picks->events, picks->num, &picks->cap, sizeof(*picks->events));
	picks->events[picks->num++] = event;
}

static size_t
page_of(const struct mimic *mimic, const struct asked_filter *filter)
{
	size_t page = mimic->ways.page_cap > 0 ? mimic->ways.page_cap : SIZE_MAX;
	size_t limit = SIZE_MAX;

	if (filter->limit >= 0 && !tells(mimic, MIMIC_IGNORES_LIMIT))
		limit = (size_t)filter->limit;
	else if (mimic->ways.default_limit > 0)
		limit = mimic->ways.default_limit;
	return limit < page ? limit : page;
}

static void
pick_for(struct mimic *mimic, struct picks *picks, const struct asked_filter *filter)
{
	struct asked_filter meant = *filter;
	size_t page = page_of(mimic, filter);

	if (tells(mimic, MIMIC_IGNORES_UNTIL))
		meant.until = -1;
	if (tells(mimic, MIMIC_UNTIL_EXCLUSIVE) && meant.until > 0)
		meant.until--;
	for (size_t i = 0; i < mimic->num_stored; i++) {
		const struct pool_event *event = mimic->stored[i];

		if (tells(mimic, MIMIC_OLDEST_FIRST))
			event = mimic->stored[mimic->num_stored - 1 - i];
		if (event->created_at < meant.since && !tells(mimic, MIMIC_OLDEST_FIRST))
			break;
		if (!asked_match(&meant, mimic->pool, event))
			continue;
		if (page == 0 || is_full(mimic, picks)) {
			picks->has_more = true;
			break;
		}
		/* What is hidden takes no place: who counts pages could not tell it. */
		if (is_hidden(mimic, event)) {
			send_hidden(mimic, event);
			continue;
		}
		pick(picks, event, mimic->ways.repeats_across_filters);
		page--;
	}
}

static int
compare_picks(const void *a, const void *b)
{
	const struct pool_event *const *x = a, *const *y = b;

	return pool_compare(*x, *y);
}

static void
arrange(struct mimic *mimic, struct picks *picks)
{
	if (mimic->ways.merges) {
		if (picks->num > 0)
			qsort(picks->events, picks->num, sizeof(*picks->events),
			    compare_picks);
		if (mimic->ways.req_cap > 0 && picks->num > mimic->ways.req_cap) {
			picks->num = mimic->ways.req_cap;
			picks->has_more = true;
		}
	}
	if (!tells(mimic, MIMIC_SHUFFLES))
		return;
	for (size_t i = picks->num; i > 1; i--) {
		size_t j = rng_below(&mimic->rng, i);
		const struct pool_event *event = picks->events[i - 1];

		picks->events[i - 1] = picks->events[j];
		picks->events[j] = event;
	}
}

/* Queues a frame behind what was queued for this subscription. */
static void
send_behind(struct mimic *mimic, struct mimic_sub *sub, struct mimic_out out)
{
	sub->last_ms += mimic->ways.frame_ms;
	out.due_ms = sub->last_ms;
	if (out.name[0] == '\0')
		memcpy(out.name, sub->asked.name, sizeof(out.name));
	mimic_send(mimic, out);
}

/*
 * Never the name of one that asks for it: an answer with an older event at its end
 * looks like any other.
 */
static void
mislabel(struct mimic *mimic, struct mimic_out *out)
{
	const struct mimic_sub *other =
	    &mimic->subs[rng_below(&mimic->rng, mimic->num_subs)];

	if (mimic_asks_for(mimic, other, out->event))
		(void)snprintf(out->name, sizeof(out->name), "not yours");
	else
		memcpy(out->name, other->asked.name, sizeof(out->name));
}

/* An event that was not asked for; NULL: chance found none. */
static const struct pool_event *
draw_unmatched(struct mimic *mimic, const struct mimic_sub *sub)
{
	const struct pool_event *event =
	    mimic->stored[rng_below(&mimic->rng, mimic->num_stored)];

	return mimic_asks_for(mimic, sub, event) ? NULL : event;
}

/* What comes beside an event. */
static void
send_noise(struct mimic *mimic, struct mimic_sub *sub, struct mimic_out out)
{
	static const char *const junk[] = { "[]", "{}", "[\"EOSE\"]", "[\"EOSE\",null]",
		"\"x\"", "[\"EVENT\"]", "[\"EVENT\",\"1\"]", "[\"OK\",1]", "", "nonsense",
		"[\"CLOSED\"]", "[\"NOTICE\",\"thank you for using us\"]" };

	if (tells(mimic, MIMIC_REPEATS) && rng_once_in(&mimic->rng, ONCE_IN))
		send_behind(mimic, sub, out);
	if (tells(mimic, MIMIC_UNKNOWN_SUB) && rng_once_in(&mimic->rng, ONCE_IN)) {
		struct mimic_out copy = out;

		mislabel(mimic, &copy);
		send_behind(mimic, sub, copy);
	}
	if (tells(mimic, MIMIC_UNMATCHED) && rng_once_in(&mimic->rng, ONCE_IN)) {
		struct mimic_out other = out;

		other.event = draw_unmatched(mimic, sub);
		other.is_corrupt = false;
		if (other.event != NULL)
			send_behind(mimic, sub, other);
	}
	if (tells(mimic, MIMIC_JUNK) && rng_once_in(&mimic->rng, ONCE_IN)) {
		out.what = MIMIC_RAW;
		out.text = junk[rng_below(&mimic->rng, sizeof(junk) / sizeof(junk[0]))];
		send_behind(mimic, sub, out);
	}
}

static void
send_event(struct mimic *mimic, struct mimic_sub *sub, const struct pool_event *event,
    const char *name)
{
	struct mimic_out out = { .what = MIMIC_EVENT, .event = event };

	if (name != NULL)
		(void)snprintf(out.name, sizeof(out.name), "%s", name);
	out.is_corrupt = tells(mimic, MIMIC_CORRUPTS) && mimic_is_corrupted(event);
	send_behind(mimic, sub, out);
	send_noise(mimic, sub, out);
}

void
mimic_answer(struct mimic *mimic, struct mimic_sub *sub, int64_t now_ms)
{
	struct picks picks = { .ids = gs_map_new() };
	struct mimic_out eose = { .what = MIMIC_EOSE };
	bool says_eose =
	    !tells(mimic, MIMIC_NO_EOSE) || !rng_once_in(&mimic->rng, MISS_IN);
	bool is_first =
	    tells(mimic, MIMIC_EOSE_FIRST) && rng_once_in(&mimic->rng, MISS_IN);
	const char *name = NULL;

	mimic_arrange(mimic);
	sub->last_ms = now_ms + mimic->ways.answer_ms;
	for (size_t i = 0; i < sub->asked.num_filters; i++)
		pick_for(mimic, &picks, &sub->asked.filters[i]);
	arrange(mimic, &picks);
	if (mimic->ways.says_finish && !picks.has_more)
		eose.what = MIMIC_FINISH;
	if (tells(mimic, MIMIC_MISANSWERS) && rng_once_in(&mimic->rng, MISS_IN))
		name = "not yours";
	if (name != NULL)
		(void)snprintf(eose.name, sizeof(eose.name), "%s", name);
	if (is_first && says_eose)
		send_behind(mimic, sub, eose);
	for (size_t i = 0; i < picks.num; i++)
		send_event(mimic, sub, picks.events[i], name);
	if (!is_first && says_eose)
		send_behind(mimic, sub, eose);
	gs_map_free(picks.ids, NULL);
	free(picks.events);
}
