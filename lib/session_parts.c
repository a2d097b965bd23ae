/* Filters that come and go while the conversation lasts. */
#include "session_private.h"

static void
add_filter(struct gs_session *session, struct gs_filter *filter,
    const struct gs_session_part *part)
{
	size_t i = gs_history_count(session->history);

	gs_history_add(session->history, filter);
	gs_live_add(session->live,
	    part->is_history ? NULL : gs_history_filter(session->history, i));
	gs_reads_add(session, part);
}

void
gs_session_add(struct gs_session *session, struct gs_filter *filter)
{
	const struct gs_session_part part = { .read_s = GS_READ_RESUMED };

	add_filter(session, filter, &part);
}

/*
 * Its reading may have ended at once; that is settled with the next call, when all that
 * is added together is here.
 */
void
gs_session_add_part(struct gs_session *session, struct gs_filter *filter,
    const struct gs_session_part *part, struct gs_now now)
{
	size_t i = gs_history_count(session->history);

	add_filter(session, filter, part);
	gs_refused_apply(session, i, now);
	gs_reads_begin_part(session, i, now);
}

void
gs_session_clear(struct gs_session *session, struct gs_now now)
{
	gs_refused_keep(session, now);
	for (size_t i = 0; i < GS_SUBS_MAX; i++) {
		struct gs_sub *sub = &session->subs[i];

		if (sub->request != NULL || sub->live != NULL)
			gs_sub_free(session, sub, true);
	}
	gs_live_clear(session->live);
	gs_history_clear(session->history);
	gs_reads_clear(session, now);
}

enum gs_session_way
gs_session_way(const struct gs_session *session)
{
	return session->way;
}
