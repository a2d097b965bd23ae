/*
 * What is to be read of each filter, since when, and how its readings end.  When a
 * round of them begins is session_rounds', what they prove session_until's.
 */
#include <stdlib.h>

#include "mem.h"
#include "session_private.h"

#define FIRST_WAIT_MS (60 * 1000)	   /* DESIGN 3 "Refusals" */
#define LONGEST_WAIT_MS (24 * 3600 * 1000) /* likewise */

/* Before the first connection, what was resumed is not owed: it goes with read_until. */
void
gs_reads_add(struct gs_session *session, const struct gs_session_part *part)
{
	struct gs_reads *reads = &session->reads;
	bool is_resumed = part->read_s == GS_READ_RESUMED;
	int64_t read_s = is_resumed ? reads->resumed_s : part->read_s;
	struct gs_read_item item = { .owed_s = read_s < 0 ? -1 : gs_since_before(read_s),
		.covered_s = read_s,
		.ended_s = -1,
		.full_s = read_s < 0 ? -1 : reads->last_full_s,
		.retry = GS_RETRY_INIT,
		.is_history = part->is_history };

	if (is_resumed && !reads->was_open)
		item.owed_s = GS_OWES_NOTHING;
	reads->items = gs_mem_more_tight(reads->items, reads->num, &reads->cap,
	    sizeof(*reads->items));
	reads->items[reads->num++] = item;
	reads->is_stale = true;
}

/* Was it read before, and all of it is to be read once more? */
static bool
is_read_anew(const struct gs_read_item *item)
{
	return !item->is_history && item->covered_s >= 0 &&
	    (item->owed_s == -1 || (item->is_reading && item->since_s < 0));
}

/* A full history that was not ended is due again, of what comes then. */
void
gs_reads_clear(struct gs_session *session, struct gs_now now)
{
	struct gs_reads *reads = &session->reads;

	for (size_t i = 0; i < reads->num && !session->options.undated; i++) {
		const struct gs_read_item *item = &reads->items[i];

		if (!is_read_anew(item))
			continue;
		reads->full_due_ms = now.mono_ms;
		if (!item->is_daily && !item->is_daily_owed)
			reads->is_full_asked = true;
	}
	reads->num = reads->num_told = 0;
	reads->retry_due_ms = -1;
	reads->is_stale = true;
}

void
gs_reads_fini(struct gs_reads *reads)
{
	free(reads->items);
	free(reads->told);
}

/* The end of a reading that is worth another try; what was read to its end is not. */
bool
gs_reads_has_failed(const struct gs_read_item *item)
{
	switch ((enum gs_end)item->end) {
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

bool
gs_reads_is_outstanding(const struct gs_read_item *item)
{
	return item->is_reading || item->owed_s != GS_OWES_NOTHING;
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
	item->is_daily = item->is_daily_owed;
	item->is_daily_owed = false;
	gs_history_read(session->history, i, item->since_s, gs_reads_has_failed(item));
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

static void
owe(struct gs_session *session, size_t i, int64_t since_s, bool is_daily,
    struct gs_now now)
{
	struct gs_read_item *item = &session->reads.items[i];

	note_owed(item, session->options.undated ? -1 : since_s);
	item->is_daily_owed = is_daily;
	session->reads.is_stale = true;
	if (session->is_open && may_begin(item))
		begin_reading(session, i, now);
}

void
gs_reads_owe(struct gs_session *session, size_t i, int64_t since_s, struct gs_now now)
{
	owe(session, i, since_s, false, now);
}

/* What was never read is no gap. */
void
gs_reads_owe_daily(struct gs_session *session, size_t i, struct gs_now now)
{
	owe(session, i, -1, session->reads.items[i].covered_s >= 0, now);
}

void
gs_reads_begin_part(struct gs_session *session, size_t i, struct gs_now now)
{
	struct gs_read_item *item = &session->reads.items[i];

	item->covered_s = gs_least(item->covered_s, now.wall_s);
	if (item->owed_s >= 0)
		item->owed_s = gs_since_before(item->covered_s);
	if (item->owed_s != GS_OWES_NOTHING)
		gs_reads_owe(session, i, item->owed_s, now);
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
	item->is_daily_owed = item->is_daily;
}

/* Nobody knows how much of it was read, if any. */
void
gs_reads_refuse(struct gs_session *session, size_t i, const struct gs_retry *retry)
{
	struct gs_reads *reads = &session->reads;
	struct gs_read_item *item = &reads->items[i];

	item->retry = *retry;
	item->end = GS_END_CLOSED;
	item->owed_s = item->covered_s = -1;
	reads->retry_due_ms = gs_retry_earlier(reads->retry_due_ms, retry->due_ms);
}

void
gs_reads_retry(struct gs_session *session, struct gs_now now)
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

/* Of several that nobody has asked for, the one that reaches farthest back. */
static void
tell(struct gs_reads *reads, size_t i)
{
	struct gs_read_item *item = &reads->items[i];

	if (item->told_end == GS_END_NONE) {
		reads->told = gs_mem_more(reads->told, reads->num_told, &reads->cap_told,
		    sizeof(*reads->told));
		reads->told[reads->num_told++] = (uint32_t)i;
	} else if (item->since_s > item->told_since_s ||
	    (item->since_s == item->told_since_s && item->told_end == GS_END_FINISHED)) {
		return;
	}
	item->told_since_s = item->since_s;
	item->told_end = item->end;
}

bool
gs_session_next_ended(struct gs_session *session, struct gs_session_ended *ended)
{
	struct gs_reads *reads = &session->reads;
	struct gs_read_item *item;

	if (reads->num_told == 0)
		return false;
	ended->i = reads->told[--reads->num_told];
	item = &reads->items[ended->i];
	ended->since_s = item->told_since_s;
	ended->end = (enum gs_end)item->told_end;
	item->told_end = GS_END_NONE;
	reads->is_stale = reads->is_stale || item->is_history;
	return true;
}

static void
end_reading(struct gs_session *session, size_t i, struct gs_now now)
{
	struct gs_read_item *item = &session->reads.items[i];

	item->is_reading = false;
	item->end = (uint8_t)gs_history_get(session->history, i)->end;
	if (session->options.once)
		return;
	tell(&session->reads, i);
	if (gs_reads_has_failed(item)) {
		if (!item->is_history)
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
		gs_reads_sum_up(&session->reads);
}
