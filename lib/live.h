/*
 * The subscriptions of one relay that stay open (DESIGN 3 "Filters and packing"):
 * which filters are in which, which are closed and when they are opened again, and
 * which find no place and have to be polled.  Pure: makes REQs, is told what became
 * of them.  Names, how many may be open, and the histories beside them are session's.
 */
#ifndef GS_LIVE_H
#define GS_LIVE_H

#include "filter.h"
#include "limits.h"
#include "now.h"
#include "retry.h"

#define GS_LIVE_OVERLAP_S (15 * 60) /* `since` is so long before: DESIGN 1 */

struct gs_live;
/* limits is borrowed, may change; max_backoff_ms caps the waits (-1: nothing does). */
struct gs_live *gs_live_new(const struct gs_limits *limits, int64_t max_backoff_ms);
void gs_live_free(struct gs_live *live);
/* Asked without `since`: of what comes some was made long ago. */
void gs_live_set_undated(struct gs_live *live);
/* filter is borrowed; NULL: it is not followed.  Filters are numbered from 0. */
void gs_live_add(struct gs_live *live, const struct gs_filter *filter);
/* All filters leave; all REQs are invalid afterwards. */
void gs_live_clear(struct gs_live *live);

/* A new connection: nothing is open, all want to be but those that were refused. */
void gs_live_begin(struct gs_live *live, struct gs_now now);
/* What was refused is wanted again when its time has come. */
void gs_live_tick(struct gs_live *live, struct gs_now now);
int64_t gs_live_deadline_ms(const struct gs_live *live); /* of tick; -1: none */

/* One REQ and its filters; the live's, invalid once it ended. */
struct gs_live_sub;

bool gs_live_has_wanted(const struct gs_live *live);
/*
 * Opens the next REQ under this name: adds it to frame.  NULL: nothing is wanted.  A
 * filter that is too long for the relay is polled.
 */
struct gs_live_sub *gs_live_ask(struct gs_live *live, const char *sub,
    struct gs_buf *frame, struct gs_now now);
/* No place is left: what is still wanted is polled. */
void gs_live_poll_wanted(struct gs_live *live);
size_t gs_live_num_open(const struct gs_live *live); /* REQs */

size_t gs_live_sub_count(const struct gs_live_sub *sub);
size_t gs_live_sub_item(const struct gs_live_sub *sub, size_t at);
/* Matches one of its filters as it was given. */
bool gs_live_sub_match(const struct gs_live *live, const struct gs_live_sub *sub,
    const struct gs_event *event);

void gs_live_eose(struct gs_live *live, struct gs_live_sub *sub);

/* How a subscription ends. */
enum gs_live_end {
	GS_LIVE_AGAIN,	    /* not because of its filters: asked again at once */
	GS_LIVE_SPLIT,	    /* refused as a whole: each filter alone, at once */
	GS_LIVE_POLL,	    /* its place is needed: polled from now on */
	GS_LIVE_ENDED,	    /* without a reason: opened again when its time comes */
	GS_LIVE_UNANSWERED, /* likewise, each filter alone: who knows which it was */
	GS_LIVE_REFUSED,    /* likewise, and a new connection changes nothing */
};
void gs_live_end(struct gs_live *live, struct gs_live_sub *sub, enum gs_live_end how,
    struct gs_now now);

enum gs_live_state {
	GS_LIVE_WANTED,	 /* to be opened */
	GS_LIVE_ASKED,	 /* opened, no EOSE yet */
	GS_LIVE_OPEN,	 /* opened, EOSE came */
	GS_LIVE_WAITING, /* ended; its time has not come */
	GS_LIVE_POLLED,
	GS_LIVE_PAST, /* nothing new can match it: its `until` is over, or not followed */
};
enum gs_live_state gs_live_state(const struct gs_live *live, size_t i);
size_t gs_live_num_in(const struct gs_live *live, enum gs_live_state state); /* filters */

/* Refused, so many times, until then (due_ms -1: it is not); and as it once was. */
struct gs_retry gs_live_refused(const struct gs_live *live, size_t i);
void gs_live_refuse(struct gs_live *live, size_t i, const struct gs_retry *retry);

/*
 * Since when filter i may have missed events because its subscription ended, -1 if
 * not; asking makes it -1.  For when it is open again, or polled.
 */
int64_t gs_live_take_gap(struct gs_live *live, size_t i, struct gs_now now);

#endif
