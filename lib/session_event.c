/*
 * EVENT frames: whose they are, whether they are what they say, and who has seen them
 * before.
 */
#include "num.h"
#include "session_private.h"
#include "verify.h"

#define MAX_SIGNATURES 4 /* that an id comes with, when others check which is true */

/* Handed out for others to check; a false signature must not shut out the true one. */
static bool
pass_on(struct gs_session *session, bool *is_known)
{
	const struct gs_event *event = &session->event;
	const struct gs_str sig = { (const char *)event->sig, sizeof(event->sig) };

	if (gs_verify_id(event, &session->scratch) != GS_EVENT_OK)
		return false;
	*is_known = gs_recent_is_copy(session->handed, event->id, sig);
	if (*is_known)
		return true;
	if (gs_recent_variants(session->handed, event->id) >= MAX_SIGNATURES)
		return false;
	gs_recent_add(session->handed, event->id, sig);
	return true;
}

/* Checks the signature of an id once; a copy must still have the bytes of that id. */
static bool
verify(struct gs_session *session, struct gs_str raw, bool *is_known)
{
	const struct gs_event *event = &session->event;

	*is_known = gs_recent_has(session->handed, event->id);
	if (*is_known && gs_recent_is_copy(session->handed, event->id, raw))
		return true;
	if (gs_verify_id(event, &session->scratch) != GS_EVENT_OK)
		return false;
	if (*is_known)
		return true;
	if (gs_verify_sig(event) != GS_EVENT_OK)
		return false;
	gs_recent_add(session->handed, event->id, raw);
	return true;
}

/* is_known: it is not to be handed out. */
static bool
verify_event(struct gs_session *session, struct gs_str raw, bool *is_known)
{
	const struct gs_session_options *options = &session->options;

	*is_known = options->is_known != NULL &&
	    options->is_known(session->event.id, options->arg);
	if (*is_known)
		return true;
	return options->leaves_signatures ? pass_on(session, is_known)
					  : verify(session, raw, is_known);
}

/* Names are never used again, so what comes late for one is easily told from noise. */
void
gs_session_count_unopened(struct gs_session *session, struct gs_json_value name)
{
	int64_t number;

	if (gs_num_parse(&number, name.raw.ptr, name.raw.len,
		(int64_t)session->last_sub) &&
	    number > 0) {
		session->counts.late++;
	} else {
		session->counts.unknown++;
		session->noise++;
	}
}

static void
count_event(struct gs_session *session, bool is_foreign, bool is_invalid, bool is_valid)
{
	session->counts.foreign += is_foreign;
	session->counts.invalid += is_invalid;
	session->noise += is_foreign || is_invalid;
	session->worth += is_valid;
}

static void
end_overlong(struct gs_session *session, struct gs_sub *sub, struct gs_now now)
{
	if (!gs_history_is_over(sub->request))
		return;
	gs_history_fail(session->history, sub->request, GS_END_CAP, GS_STR(""));
	gs_sub_free(session, sub, true);
	gs_reads_settle(session, now);
}

/* Daily if all filters that it is for are read because a day is over. */
static enum gs_session_way
way_of(const struct gs_session *session, const struct gs_sub *sub, struct gs_fit fit)
{
	for (size_t at = 0; at < gs_request_count(sub->request); at++) {
		size_t i = gs_request_item(sub->request, at);

		if (((fit.inside | fit.outside) & (1u << at)) != 0 &&
		    !session->reads.items[i].is_daily)
			return GS_WAY_HISTORY;
	}
	return GS_WAY_DAILY;
}

/* Result: valid, wanted, and not handed out before. */
static bool
take_stored(struct gs_session *session, struct gs_sub *sub, struct gs_str raw,
    bool is_readable, struct gs_now now)
{
	struct gs_fit fit = { 0, 0, false };
	bool is_valid, is_known = false;

	if (is_readable)
		fit = gs_history_fit(sub->request, &session->event);
	session->way = way_of(session, sub, fit);
	is_valid = is_readable && fit.is_wanted && verify_event(session, raw, &is_known);
	count_event(session, is_readable && fit.inside == 0 && fit.outside == 0,
	    !is_readable || (fit.is_wanted && !is_valid), is_valid);
	if (gs_history_event(sub->request, fit, is_readable ? &session->event : NULL,
		is_valid))
		gs_session_note_useful(session, sub, now);
	end_overlong(session, sub, now);
	return is_valid && !is_known;
}

static bool
take_live(struct gs_session *session, struct gs_sub *sub, struct gs_str raw,
    bool is_readable, struct gs_now now)
{
	bool is_wanted =
	    is_readable && gs_live_sub_match(session->live, sub->live, &session->event);
	bool is_known = false;
	bool is_valid = is_wanted && verify_event(session, raw, &is_known);

	session->way = GS_WAY_LIVE;
	count_event(session, is_readable && !is_wanted,
	    !is_readable || (is_wanted && !is_valid), is_valid);
	if (!is_valid || is_known)
		return false;
	gs_session_note_useful(session, sub, now);
	return true;
}

const struct gs_event *
gs_session_take_event(struct gs_session *session, const struct gs_message *message,
    struct gs_now now)
{
	struct gs_sub *sub = gs_sub_find(session, message->sub);
	bool is_readable, is_fresh;

	if (sub == NULL) {
		gs_session_count_unopened(session, message->sub);
		return NULL;
	}
	sub->has_frames = true;
	is_readable = gs_event_parse(&session->event, message->event.ptr,
			  message->event.len, NULL) == GS_EVENT_OK;
	is_fresh = sub->request != NULL
	    ? take_stored(session, sub, message->event, is_readable, now)
	    : take_live(session, sub, message->event, is_readable, now);
	if (!is_fresh)
		return NULL;
	session->counts.events++;
	return &session->event;
}
