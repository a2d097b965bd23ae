/*
 * The subscriptions of one relay that stay open.  A filter is in one state, a REQ has
 * some filters; the two are told apart so that filters outlive connections.
 */
#include "live.h"

#include <stdlib.h>
#include <string.h>

#include "history.h"
#include "mem.h"
#include "message.h"

#define FIRST_WAIT_MS (60 * 1000)	   /* DESIGN 3 "Refusals" */
#define LONGEST_WAIT_MS (24 * 3600 * 1000) /* likewise */
#define HEAD_BYTES (sizeof("[\"REQ\",\"1234567890\"]"))

/* There are many of them: small things stand together. */
struct item {
	const struct gs_filter *filter; /* NULL: never asked for */
	int64_t gap_s;			/* -1: none */
	int64_t opened_ms;		/* the last time */
	struct gs_retry retry;
	uint8_t state;	  /* enum gs_live_state */
	bool is_alone;	  /* in a REQ of its own, on this connection */
	bool is_suspect;  /* and on the next one: it got no EOSE the last time */
	bool is_refused;  /* waits because the relay said no */
	bool is_soft_gap; /* nothing was missed if it is opened again soon */
};

struct gs_live_sub {
	uint32_t items[GS_HISTORY_FILTERS];
	size_t num;
	int64_t opened_s;
};

struct gs_live {
	const struct gs_limits *limits;
	int64_t max_backoff_ms;
	bool is_undated;
	struct item *items;
	size_t num, cap;
	size_t num_in[GS_LIVE_PAST + 1];
	int64_t due_ms; /* the earliest of those that wait, or earlier; -1: none */
	struct gs_live_sub **subs;
	size_t num_subs, cap_subs;
};

struct gs_live *
gs_live_new(const struct gs_limits *limits, int64_t max_backoff_ms)
{
	struct gs_live *live = gs_mem_new(sizeof(*live));

	live->limits = limits;
	live->max_backoff_ms = max_backoff_ms;
	live->due_ms = -1;
	return live;
}

void
gs_live_set_undated(struct gs_live *live)
{
	live->is_undated = true;
}

static void
drop_subs(struct gs_live *live)
{
	while (live->num_subs > 0)
		free(live->subs[--live->num_subs]);
}

void
gs_live_free(struct gs_live *live)
{
	if (live == NULL)
		return;
	drop_subs(live);
	free(live->subs);
	free(live->items);
	free(live);
}

void
gs_live_add(struct gs_live *live, const struct gs_filter *filter)
{
	enum gs_live_state state = filter != NULL ? GS_LIVE_WANTED : GS_LIVE_PAST;

	live->items =
	    gs_mem_more_tight(live->items, live->num, &live->cap, sizeof(*live->items));
	live->items[live->num++] = (struct item){ .filter = filter,
		.state = (uint8_t)state,
		.gap_s = -1,
		.retry = GS_RETRY_INIT };
	live->num_in[state]++;
}

void
gs_live_clear(struct gs_live *live)
{
	drop_subs(live);
	live->num = 0;
	memset(live->num_in, 0, sizeof(live->num_in));
	live->due_ms = -1;
}

static void
set_state(struct gs_live *live, struct item *item, enum gs_live_state state)
{
	live->num_in[item->state]--;
	item->state = (uint8_t)state;
	live->num_in[state]++;
}

static int64_t
since_before(int64_t time_s)
{
	return time_s > GS_LIVE_OVERLAP_S ? time_s - GS_LIVE_OVERLAP_S : 0;
}

static bool
is_past(const struct item *item, struct gs_now now)
{
	return item->filter == NULL ||
	    (item->filter->until >= 0 && item->filter->until < since_before(now.wall_s));
}

void
gs_live_begin(struct gs_live *live, struct gs_now now)
{
	drop_subs(live);
	for (size_t i = 0; i < live->num; i++) {
		struct item *item = &live->items[i];

		item->is_alone = item->is_suspect;
		if (item->state == GS_LIVE_WAITING && item->is_refused)
			continue;
		gs_retry_begin(&item->retry);
		set_state(live, item, is_past(item, now) ? GS_LIVE_PAST : GS_LIVE_WANTED);
	}
	gs_live_tick(live, now);
}

void
gs_live_tick(struct gs_live *live, struct gs_now now)
{
	if (live->due_ms < 0 || now.mono_ms < live->due_ms)
		return;
	live->due_ms = -1;
	for (size_t i = 0; i < live->num; i++) {
		struct item *item = &live->items[i];

		if (item->state != GS_LIVE_WAITING)
			continue;
		if (gs_retry_is_due(&item->retry, now.mono_ms)) {
			gs_retry_begin(&item->retry);
			set_state(live, item, GS_LIVE_WANTED);
		}
		live->due_ms = gs_retry_earlier(live->due_ms, item->retry.due_ms);
	}
}

int64_t
gs_live_deadline_ms(const struct gs_live *live)
{
	return live->due_ms;
}

bool
gs_live_has_wanted(const struct gs_live *live)
{
	return live->num_in[GS_LIVE_WANTED] > 0;
}

/* The filter as it is asked for: what is new, from a while before now on. */
static struct gs_str
write_filter(const struct gs_live *live, const struct item *item, struct gs_now now,
    struct gs_buf *text)
{
	struct gs_filter view = *item->filter;

	view.limit = -1;
	if (!live->is_undated && view.since < since_before(now.wall_s))
		view.since = since_before(now.wall_s);
	gs_filter_write(&view, text);
	return (struct gs_str){ text->data, text->len };
}

/* The REQ that is being put together. */
struct packing {
	struct gs_live_sub *sub;
	struct gs_str filters[GS_HISTORY_FILTERS];
	struct gs_buf texts[GS_HISTORY_FILTERS];
	size_t bytes;
};

static size_t
max_filters(const struct gs_live *live)
{
	return live->limits->filters < GS_HISTORY_FILTERS ? live->limits->filters
							  : GS_HISTORY_FILTERS;
}

/* Puts filter i in; false: the REQ is full. */
static bool
pack_item(struct gs_live *live, struct packing *packing, size_t i, struct gs_now now)
{
	struct gs_live_sub *sub = packing->sub;
	struct gs_buf *text = &packing->texts[sub->num];
	struct item *item = &live->items[i];

	if (is_past(item, now)) {
		set_state(live, item, GS_LIVE_PAST);
		return true;
	}
	if (item->is_alone && sub->num > 0)
		return true;
	gs_buf_clear(text);
	packing->filters[sub->num] = write_filter(live, item, now, text);
	if (HEAD_BYTES + text->len + 1 > live->limits->bytes) {
		set_state(live, item, GS_LIVE_POLLED);
		return true;
	}
	if (packing->bytes + text->len + 1 > live->limits->bytes)
		return false;
	packing->bytes += text->len + 1;
	sub->items[sub->num++] = (uint32_t)i;
	set_state(live, item, GS_LIVE_ASKED);
	item->opened_ms = now.mono_ms;
	return !item->is_alone && sub->num < max_filters(live);
}

static void
keep_sub(struct gs_live *live, struct gs_live_sub *sub)
{
	live->subs = gs_mem_more(live->subs, live->num_subs, &live->cap_subs,
	    sizeof(struct gs_live_sub *));
	live->subs[live->num_subs++] = sub;
}

struct gs_live_sub *
gs_live_ask(struct gs_live *live, const char *sub, struct gs_buf *frame,
    struct gs_now now)
{
	struct packing packing = { .bytes = HEAD_BYTES };
	bool has_room = live->num_in[GS_LIVE_WANTED] > 0;

	if (!has_room)
		return NULL;
	packing.sub = gs_mem_new(sizeof(*packing.sub));
	packing.sub->opened_s = now.wall_s;
	for (size_t i = 0; i < live->num && has_room; i++)
		if (live->items[i].state == GS_LIVE_WANTED)
			has_room = pack_item(live, &packing, i, now);
	if (packing.sub->num > 0) {
		gs_message_write_req(frame, sub, packing.filters, packing.sub->num);
		keep_sub(live, packing.sub);
	} else {
		free(packing.sub);
		packing.sub = NULL;
	}
	for (size_t i = 0; i < GS_HISTORY_FILTERS; i++)
		gs_buf_fini(&packing.texts[i]);
	return packing.sub;
}

void
gs_live_poll_wanted(struct gs_live *live)
{
	if (!gs_live_has_wanted(live))
		return;
	for (size_t i = 0; i < live->num; i++)
		if (live->items[i].state == GS_LIVE_WANTED)
			set_state(live, &live->items[i], GS_LIVE_POLLED);
}

size_t
gs_live_num_open(const struct gs_live *live)
{
	return live->num_subs;
}

size_t
gs_live_sub_count(const struct gs_live_sub *sub)
{
	return sub->num;
}

size_t
gs_live_sub_item(const struct gs_live_sub *sub, size_t at)
{
	return sub->items[at];
}

bool
gs_live_sub_match(const struct gs_live *live, const struct gs_live_sub *sub,
    const struct gs_event *event)
{
	for (size_t i = 0; i < sub->num; i++)
		if (gs_filter_match(live->items[sub->items[i]].filter, event))
			return true;
	return false;
}

void
gs_live_eose(struct gs_live *live, struct gs_live_sub *sub)
{
	for (size_t i = 0; i < sub->num; i++) {
		struct item *item = &live->items[sub->items[i]];

		item->is_refused = item->is_suspect = false;
		set_state(live, item, GS_LIVE_OPEN);
	}
}

/* A subscription that has lasted longer than its last wait begins anew. */
static void
let_wait(struct gs_live *live, struct item *item, struct gs_now now)
{
	const struct gs_retry_waits waits = { FIRST_WAIT_MS, LONGEST_WAIT_MS,
		live->max_backoff_ms };

	if (item->state == GS_LIVE_OPEN &&
	    now.mono_ms - item->opened_ms > item->retry.wait_ms)
		item->retry.failures = 0;
	gs_retry_fail(&item->retry, &waits, now.mono_ms);
	live->due_ms = gs_retry_earlier(live->due_ms, item->retry.due_ms);
	set_state(live, item, GS_LIVE_WAITING);
}

static void
end_item(struct gs_live *live, struct item *item, enum gs_live_end how, struct gs_now now)
{
	switch (how) {
	case GS_LIVE_SPLIT:
		item->is_alone = true;
		set_state(live, item, GS_LIVE_WANTED);
		break;
	case GS_LIVE_AGAIN:
		set_state(live, item, GS_LIVE_WANTED);
		break;
	case GS_LIVE_POLL:
		set_state(live, item, GS_LIVE_POLLED);
		break;
	case GS_LIVE_REFUSED:
	case GS_LIVE_UNANSWERED:
	case GS_LIVE_ENDED:
		item->is_refused = how == GS_LIVE_REFUSED;
		item->is_suspect = item->is_alone = how != GS_LIVE_ENDED;
		let_wait(live, item, now);
		break;
	}
}

static void
drop_sub(struct gs_live *live, struct gs_live_sub *sub)
{
	for (size_t i = 0; i < live->num_subs; i++)
		if (live->subs[i] == sub) {
			live->subs[i] = live->subs[--live->num_subs];
			break;
		}
	free(sub);
}

/* What never was open, and soon will be, leaves no gap: its `since` reaches back. */
static void
note_gap(struct item *item, int64_t gap_s, enum gs_live_end how)
{
	bool is_soft = item->state == GS_LIVE_ASKED &&
	    (how == GS_LIVE_AGAIN || how == GS_LIVE_SPLIT);

	item->is_soft_gap = is_soft && (item->gap_s < 0 || item->is_soft_gap);
	if (item->gap_s < 0 || gap_s < item->gap_s)
		item->gap_s = gap_s;
}

void
gs_live_end(struct gs_live *live, struct gs_live_sub *sub, enum gs_live_end how,
    struct gs_now now)
{
	for (size_t i = 0; i < sub->num; i++) {
		struct item *item = &live->items[sub->items[i]];

		note_gap(item, since_before(sub->opened_s), how);
		end_item(live, item, how, now);
	}
	drop_sub(live, sub);
}

enum gs_live_state
gs_live_state(const struct gs_live *live, size_t i)
{
	return (enum gs_live_state)live->items[i].state;
}

size_t
gs_live_num_in(const struct gs_live *live, enum gs_live_state state)
{
	return live->num_in[state];
}

struct gs_retry
gs_live_refused(const struct gs_live *live, size_t i)
{
	const struct item *item = &live->items[i];

	return item->state == GS_LIVE_WAITING && item->is_refused
	    ? item->retry
	    : (struct gs_retry)GS_RETRY_INIT;
}

void
gs_live_refuse(struct gs_live *live, size_t i, const struct gs_retry *retry)
{
	struct item *item = &live->items[i];

	item->is_refused = item->is_suspect = item->is_alone = true;
	item->retry = *retry;
	live->due_ms = gs_retry_earlier(live->due_ms, retry->due_ms);
	set_state(live, item, GS_LIVE_WAITING);
}

int64_t
gs_live_take_gap(struct gs_live *live, size_t i, struct gs_now now)
{
	struct item *item = &live->items[i];
	int64_t gap_s = item->gap_s;
	bool is_closed = item->is_soft_gap && !live->is_undated &&
	    item->state != GS_LIVE_POLLED &&
	    since_before(now.wall_s) <= gap_s + GS_LIVE_OVERLAP_S;

	item->gap_s = -1;
	item->is_soft_gap = false;
	return is_closed ? -1 : gap_s;
}
