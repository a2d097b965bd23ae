/*
 * Reading what a relay has stored, filter by filter, page by page, with a proof for
 * each that nothing was left out (DESIGN 3 "History").  Here: the filters, their
 * reports, and which of them wait.  REQs are history_request's, what a page proves
 * for a filter is history_reading's.
 */
#include "history.h"

#include <stdlib.h>

#include "history_private.h"
#include "mem.h"

const char *
gs_end_name(enum gs_end end)
{
	switch (end) {
	case GS_END_NONE:
		return "unread";
	case GS_END_FINISHED:
		return "finished";
	case GS_END_CAP:
		return "cap";
	case GS_END_CLOSED:
		return "closed";
	case GS_END_TIMEOUT:
		return "timeout";
	case GS_END_DROPPED:
		return "dropped";
	case GS_END_INCONSISTENT:
		return "inconsistent";
	case GS_END_LOSS:
		return "loss";
	}
	return "";
}

struct gs_history *
gs_history_new(const struct gs_limits *limits)
{
	struct gs_history *history = gs_mem_new(sizeof(*history));

	history->limits = limits;
	return history;
}

static void
free_item(struct gs_history_item *item)
{
	gs_filter_fini(&item->filter);
	free(item->report.reason);
	free(item);
}

/* Frees all readings, as they are. */
static void
drop_readings(struct gs_history *history)
{
	while (history->num_requests > 0) {
		struct gs_request *request = history->requests[--history->num_requests];

		for (size_t i = 0; i < request->num; i++)
			gs_reading_free(request->readings[i]);
		free(request);
	}
	gs_reading_free(history->peeked);
	history->peeked = NULL;
	history->first = history->last = NULL;
}

static void
drop_items(struct gs_history *history)
{
	while (history->num > 0)
		free_item(history->items[--history->num]);
}

void
gs_history_free(struct gs_history *history)
{
	if (history == NULL)
		return;
	drop_readings(history);
	free(history->requests);
	free(history->ended);
	drop_items(history);
	free(history->items);
	free(history);
}

void
gs_history_clear(struct gs_history *history)
{
	drop_readings(history);
	drop_items(history);
	history->left = history->num_ended = 0;
}

static void
reset_report(struct gs_history_report *report)
{
	free(report->reason);
	*report = (struct gs_history_report){ .oldest = -1, .newest = -1 };
}

void
gs_history_add(struct gs_history *history, struct gs_filter *filter)
{
	struct gs_history_item *item = gs_mem_new(sizeof(*item));

	item->number = (uint32_t)history->num;
	item->filter = *filter;
	*filter = (struct gs_filter)GS_FILTER_INIT;
	reset_report(&item->report);
	history->items = gs_mem_more_tight(history->items, history->num, &history->cap,
	    sizeof(struct gs_history_item *));
	history->items[history->num++] = item;
}

static void
queue_item(struct gs_history *history, struct gs_history_item *item)
{
	item->next = NULL;
	if (history->first == NULL)
		history->first = item;
	else
		history->last->next = item;
	history->last = item;
}

static void
end_item(struct gs_history *history, struct gs_history_item *item)
{
	item->report.end = item->worst;
	history->left--;
	history->ended = gs_mem_more(history->ended, history->num_ended,
	    &history->cap_ended, sizeof(*history->ended));
	history->ended[history->num_ended++] = item->number;
}

/* Is there anything to ask for at all: a limit of 0 or an empty window ends it. */
static bool
is_vain(const struct gs_filter *filter, int64_t since_s)
{
	return filter->limit == 0 ||
	    (filter->until >= 0 &&
		(filter->since > filter->until || since_s > filter->until));
}

void
gs_history_read(struct gs_history *history, size_t i, int64_t since_s, bool is_alone)
{
	struct gs_history_item *item = history->items[i];

	reset_report(&item->report);
	item->since_s = since_s;
	item->is_alone = is_alone || item->filter.limit >= 0;
	item->worst = GS_END_FINISHED;
	item->num_pieces = 1;
	history->left++;
	if (!is_vain(&item->filter, since_s)) {
		queue_item(history, item);
		return;
	}
	item->num_pieces = 0;
	end_item(history, item);
}

/* What is worse than the other is told; a refusal has most to say. */
static unsigned
weigh_end(enum gs_end end)
{
	switch (end) {
	case GS_END_NONE:
	case GS_END_FINISHED:
		return 0;
	case GS_END_LOSS:
		return 1;
	case GS_END_CAP:
		return 2;
	case GS_END_INCONSISTENT:
		return 3;
	case GS_END_TIMEOUT:
		return 4;
	case GS_END_DROPPED:
		return 5;
	case GS_END_CLOSED:
		return 6;
	}
	return 0;
}

void
gs_history_settle(struct gs_history *history, struct gs_reading *reading)
{
	struct gs_history_item *item = reading->item;

	if (weigh_end(reading->end) > weigh_end(item->worst)) {
		item->worst = reading->end;
		item->report.reason = reading->reason;
		reading->reason = NULL;
	}
	gs_reading_free(reading);
	if (--item->num_pieces == 0)
		end_item(history, item);
}

bool
gs_history_next_ended(struct gs_history *history, size_t *i)
{
	if (history->num_ended == 0)
		return false;
	*i = history->ended[--history->num_ended];
	return true;
}

void
gs_history_abort(struct gs_history *history, enum gs_end end)
{
	drop_readings(history);
	for (size_t i = 0; i < history->num; i++) {
		struct gs_history_item *item = history->items[i];

		if (item->report.end != GS_END_NONE)
			continue;
		item->num_pieces = 0;
		item->report.end = end;
	}
	history->left = 0;
	history->num_ended = 0;
}

size_t
gs_history_count(const struct gs_history *history)
{
	return history->num;
}

const struct gs_history_report *
gs_history_get(const struct gs_history *history, size_t i)
{
	return &history->items[i]->report;
}

const struct gs_filter *
gs_history_filter(const struct gs_history *history, size_t i)
{
	return &history->items[i]->filter;
}

size_t
gs_history_num_left(const struct gs_history *history)
{
	return history->left;
}
