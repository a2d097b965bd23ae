/*
 * Which filter is read when: the first history, that of a reconnect, of a live
 * subscription that had ended, of polls, of each day; and what has been read by then
 * (DESIGN 3 "Health").
 */
#include <stdlib.h>

#include "mem.h"
#include "session_private.h"

#define FIRST_WAIT_MS (60 * 1000)	   /* DESIGN 3 "Refusals" */
#define LONGEST_WAIT_MS (24 * 3600 * 1000) /* likewise */
#define FULL_S (24 * 3600)		   /* from one full history to the next */
#define POLL_MS (60 * 1000) /* what finds no place is read so often at the most */
#define MS 1000

void
gs_reads_add(struct gs_session *session)
{
	struct gs_reads *reads = &session->reads;

	reads->items =
	    gs_mem_more(reads->items, reads->num, &reads->cap, sizeof(*reads->items));
	reads->items[reads->num++] = (struct gs_read_item){ .owed_s = GS_OWES_NOTHING,
		.covered_s = -1,
		.ended_s = -1,
		.full_s = -1,
		.retry = GS_RETRY_INIT };
}

void
gs_reads_fini(struct gs_reads *reads)
{
	free(reads->items);
}

/* The end of a reading that is worth another try; what was read to its end is not. */
static bool
is_failure(enum gs_end end)
{
	switch (end) {
	case GS_END_CLOSED:
	case GS_END_TIMEOUT:
	case GS_END_DROPPED:
	case GS_END_INCONSISTENT:
		return true;
	case GS_END_NONE:
	case GS_END_FINISHED:
	case GS_END_CAP:
	case GS_END_LOSS:
		break;
	}
	return false;
}

/* Alone after it had failed: others would share its fate. */
static void
begin_reading(struct gs_session *session, size_t i, struct gs_now now)
{
	struct gs_read_item *item = &session->reads.items[i];

	item->since_s = item->owed_s;
	item->owed_s = GS_OWES_NOTHING;
	item->started_s = now.wall_s;
	item->is_reading = true;
	gs_history_read(session->history, i, item->since_s, is_failure(item->end));
}

static bool
may_begin(const struct gs_read_item *item)
{
	return item->owed_s != GS_OWES_NOTHING && !item->is_reading &&
	    item->retry.due_ms < 0;
}

static void
note_owed(struct gs_read_item *item, int64_t since_s)
{
	if (item->owed_s == GS_OWES_NOTHING || since_s < item->owed_s)
		item->owed_s = since_s;
}

void
gs_reads_owe(struct gs_session *session, size_t i, int64_t since_s, struct gs_now now)
{
	struct gs_read_item *item = &session->reads.items[i];

	note_owed(item, session->options.undated ? -1 : since_s);
	session->reads.is_stale = true;
	if (may_begin(item))
		begin_reading(session, i, now);
}

static void
let_wait(struct gs_session *session, struct gs_read_item *item, struct gs_now now)
{
	const struct gs_retry_waits waits = { FIRST_WAIT_MS, LONGEST_WAIT_MS,
		session->options.max_backoff_ms };
	struct gs_reads *reads = &session->reads;

	gs_retry_fail(&item->retry, &waits, now.mono_ms);
	reads->retry_due_ms = gs_retry_earlier(reads->retry_due_ms, item->retry.due_ms);
	note_owed(item, item->since_s);
}

static void
end_reading(struct gs_session *session, size_t i, struct gs_now now)
{
	struct gs_read_item *item = &session->reads.items[i];

	item->is_reading = false;
	item->end = gs_history_get(session->history, i)->end;
	if (session->options.once)
		return;
	if (is_failure(item->end)) {
		let_wait(session, item, now);
		return;
	}
	item->retry = (struct gs_retry)GS_RETRY_INIT;
	item->ended_s = item->started_s;
	if (item->since_s < 0)
		item->full_s = item->started_s;
	if (item->end == GS_END_FINISHED)
		item->covered_s = item->started_s;
	if (may_begin(item))
		begin_reading(session, i, now);
}

static int64_t
least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/*
 * What do the histories that have ended prove of all filters together?  Where many are
 * polled, one is always being read.
 */
static void
sum_up(struct gs_reads *reads)
{
	int64_t covered_s = INT64_MAX, full_s = INT64_MAX;

	for (size_t i = 0; i < reads->num; i++) {
		const struct gs_read_item *item = &reads->items[i];

		if (item->end == GS_END_CLOSED)
			continue;
		covered_s = least(covered_s, item->covered_s);
		full_s = least(full_s, item->full_s);
	}
	if (covered_s != INT64_MAX && covered_s > reads->read_until_s)
		reads->read_until_s = covered_s;
	if (full_s != INT64_MAX && full_s > reads->last_full_s)
		reads->last_full_s = full_s;
}

void
gs_reads_settle(struct gs_session *session, struct gs_now now)
{
	bool has_ended = false;
	size_t i;

	while (gs_history_next_ended(session->history, &i)) {
		has_ended = true;
		end_reading(session, i, now);
	}
	if (!has_ended)
		return;
	session->reads.is_stale = true;
	if (!session->options.once)
		sum_up(&session->reads);
}

static int64_t
since_before(int64_t time_s)
{
	return time_s > GS_LIVE_OVERLAP_S ? time_s - GS_LIVE_OVERLAP_S : 0;
}

/*
 * Since when a filter is to be read after the relay was away: read_until is of all
 * filters together; what is known of this one alone may be more.
 */
static int64_t
since_last(const struct gs_reads *reads, const struct gs_read_item *item,
    struct gs_now now)
{
	int64_t read_s =
	    item->covered_s > reads->read_until_s ? item->covered_s : reads->read_until_s;

	return read_s < 0 ? -1 : since_before(least(read_s, now.wall_s));
}

/* All filters anew, also those that wait: at most once a day. */
static void
begin_full(struct gs_session *session, struct gs_now now)
{
	session->reads.full_due_ms = now.mono_ms + (int64_t)FULL_S * MS;
	for (size_t i = 0; i < session->reads.num; i++)
		gs_reads_owe(session, i, -1, now);
}

/* A reading that goes on has seen what was new when it began, and nothing since. */
static void
begin_incremental(struct gs_session *session, struct gs_now now)
{
	struct gs_reads *reads = &session->reads;

	for (size_t i = 0; i < reads->num; i++) {
		struct gs_read_item *item = &reads->items[i];
		int64_t since_s = item->is_reading
		    ? since_before(least(item->started_s, now.wall_s))
		    : since_last(reads, item, now);

		gs_reads_owe(session, i, since_s, now);
	}
}

static int64_t
first_full_due_ms(const struct gs_reads *reads, struct gs_now now)
{
	int64_t left_s = reads->last_full_s + FULL_S - now.wall_s;

	if (reads->last_full_s < 0 || left_s < 0)
		left_s = 0;
	return now.mono_ms + least(left_s, FULL_S) * MS;
}

static void
begin_once(struct gs_session *session, struct gs_now now)
{
	if (session->reads.was_open)
		return;
	for (size_t i = 0; i < session->reads.num; i++)
		gs_reads_owe(session, i, -1, now);
}

void
gs_reads_begin(struct gs_session *session, struct gs_now now)
{
	struct gs_reads *reads = &session->reads;

	reads->read_until_s = least(reads->read_until_s, now.wall_s);
	reads->poll_due_ms = now.mono_ms + POLL_MS;
	reads->is_stale = true;
	if (session->options.once) {
		begin_once(session, now);
	} else {
		if (!reads->was_open)
			reads->full_due_ms = first_full_due_ms(reads, now);
		if (now.mono_ms >= reads->full_due_ms)
			begin_full(session, now);
		else
			begin_incremental(session, now);
	}
	reads->was_open = true;
	gs_reads_settle(session, now);
}

static void
retry_filters(struct gs_session *session, struct gs_now now)
{
	struct gs_reads *reads = &session->reads;

	if (reads->retry_due_ms < 0 || now.mono_ms < reads->retry_due_ms)
		return;
	reads->retry_due_ms = -1;
	for (size_t i = 0; i < reads->num; i++) {
		struct gs_read_item *item = &reads->items[i];

		if (gs_retry_is_due(&item->retry, now.mono_ms)) {
			gs_retry_begin(&item->retry);
			if (may_begin(item))
				begin_reading(session, i, now);
		}
		reads->retry_due_ms =
		    gs_retry_earlier(reads->retry_due_ms, item->retry.due_ms);
	}
}

/* What a second is too dense to give, it won't give the next time. */
static int64_t
since_last_poll(const struct gs_reads *reads, const struct gs_read_item *item,
    struct gs_now now)
{
	int64_t since_s = since_last(reads, item, now);
	int64_t ended_s = least(item->ended_s, now.wall_s);

	if (ended_s >= 0 && since_before(ended_s) > since_s)
		return since_before(ended_s);
	return since_s;
}

/* What finds no place live; what is still being read waits for the next round. */
static void
poll_filters(struct gs_session *session, struct gs_now now)
{
	struct gs_reads *reads = &session->reads;

	if (now.mono_ms < reads->poll_due_ms)
		return;
	reads->poll_due_ms = now.mono_ms + POLL_MS;
	if (gs_live_num_in(session->live, GS_LIVE_POLLED) == 0)
		return;
	for (size_t i = 0; i < reads->num; i++) {
		struct gs_read_item *item = &reads->items[i];
		int64_t since_s, gap_s;

		if (gs_live_state(session->live, i) != GS_LIVE_POLLED ||
		    item->is_reading || item->retry.due_ms >= 0)
			continue;
		since_s = since_last_poll(reads, item, now);
		gap_s = gs_live_take_gap(session->live, i, now);
		gs_reads_owe(session, i, gap_s >= 0 ? least(since_s, gap_s) : since_s,
		    now);
	}
}

void
gs_reads_tick(struct gs_session *session, struct gs_now now)
{
	if (session->options.once)
		return;
	retry_filters(session, now);
	poll_filters(session, now);
	if (now.mono_ms >= session->reads.full_due_ms)
		begin_full(session, now);
	gs_reads_settle(session, now);
}

int64_t
gs_reads_deadline_ms(const struct gs_session *session)
{
	const struct gs_reads *reads = &session->reads;
	int64_t due_ms;

	if (session->options.once)
		return -1;
	due_ms = gs_retry_earlier(reads->retry_due_ms, reads->full_due_ms);
	if (gs_live_num_in(session->live, GS_LIVE_POLLED) > 0)
		due_ms = gs_retry_earlier(due_ms, reads->poll_due_ms);
	return due_ms;
}

/* Is all that the relay gives of filter i read, and followed? */
static bool
is_followed(const struct gs_session *session, size_t i)
{
	enum gs_live_state state = gs_live_state(session->live, i);

	return !is_failure(session->reads.items[i].end) &&
	    (state == GS_LIVE_OPEN || state == GS_LIVE_PAST);
}

static void
look_again(struct gs_session *session)
{
	struct gs_reads *reads = &session->reads;
	size_t followed = 0, refused = 0;

	for (size_t i = 0; i < reads->num; i++) {
		refused += reads->items[i].end == GS_END_CLOSED;
		followed += is_followed(session, i);
	}
	reads->is_following = followed > 0 && followed + refused == reads->num;
	reads->is_stale = false;
}

void
gs_reads_note_alive(struct gs_session *session, struct gs_now now)
{
	struct gs_reads *reads = &session->reads;

	reads->read_until_s = least(reads->read_until_s, now.wall_s);
	if (session->options.once || gs_history_num_left(session->history) > 0)
		return;
	if (reads->is_stale)
		look_again(session);
	if (reads->is_following)
		reads->read_until_s = now.wall_s;
}
