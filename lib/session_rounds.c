/*
 * Which filter is read when: the first history, that of a reconnect, of polls, of
 * each day, and what was asked for.
 */
#include "session_private.h"

#define FULL_S (24 * 3600)  /* from one full history to the next */
#define POLL_MS (60 * 1000) /* what finds no place is read so often at the most */
#define MS 1000

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

	return read_s < 0 ? -1 : gs_since_before(gs_least(read_s, now.wall_s));
}

/* What is read once goes on as it is, or begins. */
static void
begin_history(struct gs_session *session, size_t i, struct gs_now now)
{
	int64_t owed_s = session->reads.items[i].owed_s;

	if (owed_s != GS_OWES_NOTHING)
		gs_reads_owe(session, i, owed_s, now);
}

/*
 * All filters anew, also those that wait: at most once a day.  Others who check what is
 * handed out may have left some of it, or judge by other rules now: they see it again.
 */
static void
begin_full(struct gs_session *session, bool is_daily, struct gs_now now)
{
	struct gs_reads *reads = &session->reads;

	if (session->options.leaves_signatures)
		gs_recent_clear(session->handed);
	reads->is_full_asked = false;
	reads->full_due_ms =
	    session->options.is_daily_off ? -1 : now.mono_ms + (int64_t)FULL_S * MS;
	for (size_t i = 0; i < reads->num; i++)
		if (reads->items[i].is_history)
			begin_history(session, i, now);
		else if (is_daily)
			gs_reads_owe_daily(session, i, now);
		else
			gs_reads_owe(session, i, -1, now);
}

void
gs_session_make_full(struct gs_session *session, struct gs_now now)
{
	if (session->is_open)
		begin_full(session, false, now);
	else
		session->reads.is_full_asked = true;
}

/* A reading that goes on has seen what was new when it began, and nothing since. */
static void
begin_incremental(struct gs_session *session, struct gs_now now)
{
	struct gs_reads *reads = &session->reads;

	for (size_t i = 0; i < reads->num; i++) {
		struct gs_read_item *item = &reads->items[i];
		int64_t since_s = item->is_reading
		    ? gs_since_before(gs_least(item->started_s, now.wall_s))
		    : since_last(reads, item, now);

		if (item->is_history)
			begin_history(session, i, now);
		else
			gs_reads_owe(session, i, since_s, now);
	}
}

static bool
is_full_due(const struct gs_session *session, struct gs_now now)
{
	const struct gs_reads *reads = &session->reads;

	return reads->num > 0 &&
	    (reads->is_full_asked ||
		(reads->full_due_ms >= 0 && now.mono_ms >= reads->full_due_ms));
}

static int64_t
first_full_due_ms(const struct gs_reads *reads, struct gs_now now)
{
	int64_t left_s = reads->last_full_s + FULL_S - now.wall_s;

	if (reads->last_full_s < 0 || left_s < 0)
		left_s = 0;
	return now.mono_ms + gs_least(left_s, FULL_S) * MS;
}

static void
begin_once(struct gs_session *session, struct gs_now now)
{
	if (session->reads.was_open)
		return;
	for (size_t i = 0; i < session->reads.num; i++)
		gs_reads_owe(session, i, -1, now);
}

/* Those that were added before the first connection. */
static void
apply_refused(struct gs_session *session, struct gs_now now)
{
	for (size_t i = 0; i < session->reads.num; i++)
		gs_refused_apply(session, i, now);
}

static void
begin_first(struct gs_session *session, struct gs_now now)
{
	if (session->reads.was_open)
		return;
	if (!session->options.is_daily_off)
		session->reads.full_due_ms = first_full_due_ms(&session->reads, now);
	apply_refused(session, now);
}

void
gs_reads_begin(struct gs_session *session, struct gs_now now)
{
	struct gs_reads *reads = &session->reads;

	reads->read_until_s = gs_least(reads->read_until_s, now.wall_s);
	reads->poll_due_ms = now.mono_ms + POLL_MS;
	reads->is_stale = true;
	if (session->options.once) {
		begin_once(session, now);
	} else {
		begin_first(session, now);
		if (is_full_due(session, now))
			begin_full(session, false, now);
		else
			begin_incremental(session, now);
	}
	reads->was_open = true;
	gs_reads_settle(session, now);
}

/* What a second is too dense to give, it won't give the next time. */
static int64_t
since_last_poll(const struct gs_reads *reads, const struct gs_read_item *item,
    struct gs_now now)
{
	int64_t since_s = since_last(reads, item, now);
	int64_t ended_s = gs_least(item->ended_s, now.wall_s);

	if (ended_s >= 0 && gs_since_before(ended_s) > since_s)
		return gs_since_before(ended_s);
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
		gs_reads_owe(session, i, gap_s >= 0 ? gs_least(since_s, gap_s) : since_s,
		    now);
	}
}

void
gs_reads_tick(struct gs_session *session, struct gs_now now)
{
	if (session->options.once)
		return;
	gs_reads_retry(session, now);
	poll_filters(session, now);
	if (is_full_due(session, now))
		begin_full(session, !session->reads.is_full_asked, now);
	gs_reads_settle(session, now);
}

int64_t
gs_reads_deadline_ms(const struct gs_session *session)
{
	const struct gs_reads *reads = &session->reads;
	int64_t due_ms;

	if (session->options.once)
		return -1;
	due_ms = reads->retry_due_ms;
	if (reads->num > 0)
		due_ms = gs_retry_earlier(due_ms, reads->full_due_ms);
	if (gs_live_num_in(session->live, GS_LIVE_POLLED) > 0)
		due_ms = gs_retry_earlier(due_ms, reads->poll_due_ms);
	return due_ms;
}
