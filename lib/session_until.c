/*
 * Up to when everything has come, of all filters together and of each (DESIGN 3
 * "Health").
 */
#include "session_private.h"

/* Read once, and told so: nothing depends on it any more. */
static bool
is_over(const struct gs_read_item *item)
{
	return !gs_reads_is_outstanding(item) && item->told_end == GS_END_NONE;
}

/* What holds up nobody: a filter that the relay refuses, a history that is over. */
static bool
is_left_out(const struct gs_read_item *item)
{
	return item->is_history ? is_over(item) : item->end == GS_END_CLOSED;
}

/* Where many are polled, one is always being read. */
void
gs_reads_sum_up(struct gs_reads *reads)
{
	int64_t covered_s = INT64_MAX, full_s = INT64_MAX;

	for (size_t i = 0; i < reads->num; i++) {
		const struct gs_read_item *item = &reads->items[i];

		if (is_left_out(item))
			continue;
		covered_s = gs_least(covered_s, item->covered_s);
		full_s = gs_least(full_s, item->full_s);
	}
	if (covered_s != INT64_MAX && covered_s > reads->read_until_s)
		reads->read_until_s = covered_s;
	if (full_s != INT64_MAX && full_s > reads->last_full_s)
		reads->last_full_s = full_s;
}

/* Is all that the relay gives of filter i read, and followed? */
static bool
is_followed(const struct gs_session *session, size_t i)
{
	const struct gs_read_item *item = &session->reads.items[i];
	enum gs_live_state state = gs_live_state(session->live, i);

	return !item->is_history && !gs_reads_has_failed(item) &&
	    (state == GS_LIVE_OPEN || state == GS_LIVE_PAST);
}

static void
look_again(struct gs_session *session)
{
	struct gs_reads *reads = &session->reads;
	size_t followed = 0, left_out = 0;

	for (size_t i = 0; i < reads->num; i++) {
		left_out += is_left_out(&reads->items[i]);
		followed += is_followed(session, i);
	}
	reads->is_following = followed > 0 && followed + left_out == reads->num;
	reads->is_stale = false;
}

void
gs_reads_note_alive(struct gs_session *session, struct gs_now now)
{
	struct gs_reads *reads = &session->reads;

	reads->read_until_s = gs_least(reads->read_until_s, now.wall_s);
	if (session->options.once || gs_history_num_left(session->history) > 0)
		return;
	if (reads->is_stale)
		look_again(session);
	if (reads->is_following)
		reads->read_until_s = now.wall_s;
}

int64_t
gs_session_part_read_s(const struct gs_session *session, size_t i, struct gs_now now)
{
	const struct gs_reads *reads = &session->reads;
	const struct gs_read_item *item = &reads->items[i];
	bool is_settled = item->covered_s >= 0 && !item->is_history &&
	    !gs_reads_is_outstanding(item) && !gs_reads_has_failed(item);
	int64_t read_s = item->covered_s;

	if (is_settled && session->is_open && is_followed(session, i))
		return now.wall_s;
	if (is_settled && reads->read_until_s > read_s)
		read_s = reads->read_until_s;
	return gs_least(read_s, now.wall_s);
}
