/*
 * The reading of one filter: its cursor, and what a page proves.  The rules are
 * DESIGN 3 "History".  Two things are always true of a reading: every event of the
 * filter that is newer than the cursor was seen, if the relay keeps to newest first
 * and cuts all answers at the same length; and what was seen at or below the cursor
 * is remembered, so that the next page can be compared with it.
 */
#include "history_private.h"

#include <stdlib.h>
#include <string.h>

#include "mem.h"
#include "pack.h"

#define REASON_BYTES 1024 /* kept of a relay's text: DESIGN 6 */
#define PRUNE_AT 4096 /* remembered ids; a dense second needs that many, pages do not */

struct seen {
	int64_t created_at;
	uint64_t page; /* that brought it last */
	bool is_own;   /* came as this filter's own, so this filter must bring it again */
};

static void
drop_parts(struct gs_reading *reading)
{
	while (reading->num_parts > 0)
		free(reading->parts[--reading->num_parts].tags);
}

struct gs_reading *
gs_reading_new(struct gs_history_item *item, const struct gs_limits *limits)
{
	struct gs_reading *reading = gs_mem_new(sizeof(*reading));

	reading->item = item;
	reading->filter = item->filter;
	if (item->since_s > reading->filter.since)
		reading->filter.since = item->since_s;
	reading->until = reading->filter.until;
	reading->limits = limits;
	reading->seen = gs_map_new();
	reading->prune_at = PRUNE_AT;
	return reading;
}

void
gs_reading_free(struct gs_reading *reading)
{
	if (reading == NULL)
		return;
	drop_parts(reading);
	free(reading->parts);
	gs_map_free(reading->seen, free);
	free(reading->tags);
	free(reading->reason);
	free(reading);
}

struct gs_reading *
gs_reading_halve(const struct gs_reading *reading, bool is_second)
{
	struct gs_reading *half = gs_reading_new(reading->item, reading->limits);

	half->tags = gs_mem_array(reading->filter.num_tags, sizeof(*half->tags));
	half->until = reading->until;
	half->has_loss = reading->has_loss;
	if (gs_pack_halve(&reading->filter, is_second, &half->filter, half->tags))
		return half;
	gs_reading_free(half);
	return NULL;
}

void
gs_reading_end(struct gs_reading *reading, enum gs_end end, struct gs_str reason)
{
	struct gs_buf shown = GS_BUF_INIT;

	reading->end = end;
	if (end != GS_END_CLOSED)
		return;
	gs_buf_add_shown(&shown, reason.ptr, reason.len, REASON_BYTES);
	reading->reason = gs_buf_take(&shown);
}

void
gs_reading_finish(struct gs_reading *reading)
{
	gs_reading_end(reading, reading->has_loss ? GS_END_LOSS : GS_END_FINISHED,
	    GS_STR(""));
}

static enum gs_reading_next
end_reading(struct gs_reading *reading, enum gs_end end)
{
	gs_reading_end(reading, end, GS_STR(""));
	return GS_READING_ENDED;
}

static enum gs_reading_next
finish_reading(struct gs_reading *reading)
{
	gs_reading_finish(reading);
	return GS_READING_ENDED;
}

static int64_t
page_limit(const struct gs_reading *reading)
{
	int64_t limit = reading->filter.limit;

	if (limit < 0 || limit > GS_HISTORY_LIMIT)
		limit = GS_HISTORY_LIMIT;
	return limit < reading->limits->limit ? limit : reading->limits->limit;
}

static const struct gs_reading_part *
current_part(const struct gs_reading *reading)
{
	return reading->num_parts > 0 ? &reading->parts[reading->num_parts - 1] : NULL;
}

/* What to ask for now, as a view. */
static struct gs_filter
current_filter(const struct gs_reading *reading)
{
	const struct gs_reading_part *part = current_part(reading);
	struct gs_filter filter = part != NULL ? part->filter : reading->filter;

	if (part == NULL)
		filter.until = reading->until;
	filter.limit = page_limit(reading);
	return filter;
}

void
gs_reading_write(const struct gs_reading *reading, struct gs_buf *buf)
{
	struct gs_filter filter = current_filter(reading);

	gs_filter_write(&filter, buf);
}

void
gs_reading_begin_page(struct gs_reading *reading)
{
	reading->page = (struct gs_reading_page){
		.oldest_own = -1, .last_own = -1, .limit = page_limit(reading)
	};
	reading->page_number++;
}

enum gs_reading_fit
gs_reading_fit(const struct gs_reading *reading, const struct gs_event *event)
{
	struct gs_filter filter = current_filter(reading);

	if (gs_filter_match(&filter, event))
		return GS_READING_INSIDE;
	filter = reading->filter;
	filter.since = filter.until = -1;
	if (!gs_filter_match(&filter, event))
		return GS_READING_FOREIGN;
	return gs_filter_match(&reading->item->filter, event) ? GS_READING_OUTSIDE
							      : GS_READING_BEYOND;
}

/* Forgets what lies above date; what this page has not brought yet only with all. */
static void
prune_seen(struct gs_reading *reading, int64_t date, bool all)
{
	struct gs_map *kept = gs_map_new();
	struct gs_map_entry *entry;
	size_t at = 0;

	while ((entry = gs_map_next(reading->seen, &at)) != NULL) {
		const struct seen *seen = entry->value;
		bool keep = seen->created_at <= date ||
		    (!all && seen->page != reading->page_number);

		if (!keep)
			continue;
		gs_map_add(kept, entry->key)->value = entry->value;
		entry->value = NULL;
	}
	gs_map_free(reading->seen, free);
	reading->seen = kept;
	reading->prune_at = 2 * gs_map_count(kept);
	if (reading->prune_at < PRUNE_AT)
		reading->prune_at = PRUNE_AT;
}

/* Remembers an event; false if this page has brought it already. */
static bool
remember(struct gs_reading *reading, const struct gs_event *event, bool is_own,
    bool *is_fresh)
{
	struct gs_str id = { (const char *)event->id, sizeof(event->id) };
	struct gs_map_entry *entry = gs_map_add(reading->seen, id);
	struct seen *seen = entry->value;

	*is_fresh = seen == NULL;
	if (seen == NULL) {
		seen = entry->value = gs_mem_new(sizeof(*seen));
		seen->created_at = event->created_at;
	}
	if (seen->page == reading->page_number)
		return false;
	seen->page = reading->page_number;
	seen->is_own = seen->is_own || is_own;
	return true;
}

static void
count_frame(struct gs_reading *reading, const struct gs_event *event, bool is_fresh,
    bool is_valid)
{
	struct gs_history_report *report = &reading->item->report;

	report->frames++;
	if (!is_valid) {
		report->invalid++;
		reading->invalid++;
		return;
	}
	if (!is_fresh) {
		report->duplicate++;
		return;
	}
	report->fresh++;
	reading->fresh++;
	if (report->oldest < 0 || event->created_at < report->oldest)
		report->oldest = event->created_at;
	if (event->created_at > report->newest)
		report->newest = event->created_at;
}

/*
 * Only own events move the cursor: what came for another filter says nothing about
 * how deep the relay has looked for this one.
 */
static void
note_own(struct gs_reading_page *page, int64_t created_at)
{
	page->own++;
	if (page->last_own >= 0 && created_at > page->last_own)
		page->is_disordered = true;
	page->last_own = created_at;
	if (page->oldest_own < 0 || created_at < page->oldest_own)
		page->oldest_own = created_at;
}

bool
gs_reading_take(struct gs_reading *reading, const struct gs_event *event, bool is_own,
    bool is_valid)
{
	struct gs_reading_page *page = &reading->page;
	bool is_fresh, is_first;

	is_first = remember(reading, event, is_own, &is_fresh);
	page->matched++;
	count_frame(reading, event, is_fresh, is_valid);
	if (!is_first)
		return false;
	page->fresh += is_fresh;
	if (is_own)
		note_own(page, event->created_at);
	if (gs_map_count(reading->seen) >= reading->prune_at)
		prune_seen(reading, page->oldest_own < 0 ? INT64_MAX : page->oldest_own,
		    false);
	return true;
}

/* Does the cursor's second lack an event that it had, on all pages from this one on? */
static bool
is_missing(const struct gs_reading *reading, uint64_t from_page)
{
	struct gs_map_entry *entry;
	size_t at = 0;

	while ((entry = gs_map_next(reading->seen, &at)) != NULL) {
		const struct seen *seen = entry->value;

		if (seen->is_own && seen->created_at == reading->until &&
		    seen->page < from_page)
			return true;
	}
	return false;
}

static bool
is_contradictory(const struct gs_reading *reading)
{
	return reading->page.is_outside || reading->page.is_disordered;
}

static bool
move_cursor(struct gs_reading *reading)
{
	int64_t oldest = reading->page.oldest_own;

	if (oldest < 0 || (reading->until >= 0 && oldest >= reading->until))
		return false;
	reading->until = oldest;
	prune_seen(reading, oldest, true);
	return true;
}

/*
 * Is the page surely not cut?  A relay that cuts answers has given so many for one
 * filter before (and so many in all), and would have again.
 */
static bool
is_short(const struct gs_reading *reading, const struct gs_reading_answer *answer)
{
	uint64_t listed = answer->is_shared ? reading->page.matched : answer->frames;

	if (answer->frames == 0 || answer->is_finish)
		return true;
	return listed < answer->longest_one && answer->frames < answer->longest &&
	    listed < (uint64_t)reading->page.limit;
}

static enum gs_reading_next
step_below(struct gs_reading *reading)
{
	int64_t floor = reading->filter.since > 0 ? reading->filter.since : 0;

	if (reading->until <= floor)
		return finish_reading(reading);
	reading->until--;
	prune_seen(reading, reading->until, true);
	return GS_READING_AGAIN;
}

static bool
push_part(struct gs_reading *reading, const struct gs_filter *filter, bool is_second)
{
	struct gs_reading_part *part;
	struct gs_filter_tag *tags = gs_mem_array(filter->num_tags, sizeof(*tags));
	struct gs_filter half;

	if (!gs_pack_halve(filter, is_second, &half, tags)) {
		free(tags);
		return false;
	}
	half.since = half.until = reading->until;
	reading->parts = gs_mem_more(reading->parts, reading->num_parts,
	    &reading->cap_parts, sizeof(*reading->parts));
	part = &reading->parts[reading->num_parts++];
	part->filter = half;
	part->tags = tags;
	return true;
}

/* Puts the halves of a filter, for the cursor's second alone, on the parts to ask for. */
static bool
halve_filter(struct gs_reading *reading, struct gs_filter filter)
{
	return push_part(reading, &filter, true) && push_part(reading, &filter, false);
}

static enum gs_reading_next
judge_part(struct gs_reading *reading, const struct gs_reading_answer *answer)
{
	struct gs_reading_part part;

	if (is_contradictory(reading))
		return end_reading(reading, GS_END_INCONSISTENT);
	part = reading->parts[--reading->num_parts];
	if (!is_short(reading, answer) && !halve_filter(reading, part.filter))
		reading->has_loss = true;
	free(part.tags);
	if (reading->num_parts > 0)
		return GS_READING_AGAIN;
	if (!reading->has_loss && is_missing(reading, reading->parts_from))
		return end_reading(reading, GS_END_INCONSISTENT);
	return step_below(reading);
}

/* A page as long as the longest brought nothing new: its second may hold more. */
static enum gs_reading_next
look_closer(struct gs_reading *reading, const struct gs_reading_answer *answer)
{
	bool may_be_cut = answer->frames >= GS_HISTORY_MIN_PAGE ||
	    reading->page.matched >= (uint64_t)reading->page.limit;

	if (reading->until < 0)
		return may_be_cut ? end_reading(reading, GS_END_INCONSISTENT)
				  : finish_reading(reading);
	reading->parts_from = reading->page_number + 1;
	if (may_be_cut && halve_filter(reading, reading->filter))
		return GS_READING_AGAIN;
	reading->has_loss = reading->has_loss || may_be_cut;
	reading->is_doubtful = true;
	return step_below(reading);
}

static bool
has_enough(const struct gs_reading *reading)
{
	return reading->filter.limit >= 0 &&
	    reading->fresh + reading->invalid >= (uint64_t)reading->filter.limit;
}

static enum gs_reading_next
judge_alone(struct gs_reading *reading, const struct gs_reading_answer *answer)
{
	if (is_contradictory(reading) || is_missing(reading, reading->page_number))
		return end_reading(reading, GS_END_INCONSISTENT);
	if (has_enough(reading))
		return finish_reading(reading);
	if (reading->is_doubtful && reading->page.matched > 0)
		reading->has_loss = true;
	reading->is_doubtful = false;
	if (move_cursor(reading) || reading->page.fresh > 0)
		return GS_READING_AGAIN;
	if (is_short(reading, answer))
		return finish_reading(reading);
	return look_closer(reading, answer);
}

static enum gs_reading_next
judge_shared(struct gs_reading *reading, const struct gs_reading_answer *answer)
{
	if (is_contradictory(reading) || is_missing(reading, reading->page_number))
		return GS_READING_ALONE;
	if (move_cursor(reading) || reading->page.fresh > 0)
		return GS_READING_AGAIN;
	return is_short(reading, answer) && !reading->page.is_ambiguous
	    ? GS_READING_SETTLED
	    : GS_READING_LONG;
}

enum gs_reading_next
gs_reading_judge(struct gs_reading *reading, const struct gs_reading_answer *answer)
{
	reading->item->report.pages++;
	if (answer->is_shared)
		return judge_shared(reading, answer);
	if (reading->num_parts > 0)
		return judge_part(reading, answer);
	return judge_alone(reading, answer);
}
