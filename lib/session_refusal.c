/*
 * What a relay does not want to answer: CLOSED, notices that may be about any
 * request, silence; and what is then asked otherwise, later, or not at all (DESIGN 3
 * "Refusals", in that order).
 */
#include <string.h>

#include "session_private.h"

#define NOTICE_MS 2000 /* an unanswered request gets so long to answer in spite of it */
#define QUIET_MS 1000  /* without a frame, then those that were not answered never are */
#define MAX_HOLD_MS 10000 /* but some relays are never quiet */
#define RATE_MS 65000	  /* a window of a minute, and a little more */
#define LONGEST_RATE_MS (3600 * 1000)
#define MAX_TRIES 3	  /* once, a filter: DESIGN 3 */
#define MAX_DUPLICATE 100 /* names that a relay claims to know, a connection */
#define MAX_REFUSED (2 * GS_SUBS_MAX) /* what is asked at a time, and again */
#define TEXT_BYTES 1024		      /* kept of a relay's text: DESIGN 6 */

void
gs_refusal_begin(struct gs_session *session)
{
	session->noticed = NULL;
	session->hold_due_ms = -1;
	session->num_duplicate = session->num_refused = 0;
}

bool
gs_refusal_forbids(const struct gs_session *session)
{
	return session->hold_due_ms >= 0 || session->rate.due_ms >= 0;
}

/* Its own clock: only an hour without a refusal makes it forget. */
static void
wait_for_rate(struct gs_session *session, struct gs_now now)
{
	const struct gs_retry_waits waits = { RATE_MS, LONGEST_RATE_MS,
		session->options.max_backoff_ms };

	if (session->rate.due_ms >= 0)
		return;
	if (now.mono_ms - session->rated_ms > LONGEST_RATE_MS)
		session->rate.failures = 0;
	gs_retry_fail(&session->rate, &waits, now.mono_ms);
	session->rated_ms = session->rate.due_ms;
}

bool
gs_refusal_may_retry(struct gs_session *session, const struct gs_request *request)
{
	bool may_retry = true;

	if (!session->options.once)
		return true;
	for (size_t i = 0; i < gs_request_count(request); i++) {
		size_t item = gs_request_item(request, i);

		if (++session->reads.items[item].tries > MAX_TRIES)
			may_retry = false;
	}
	return may_retry;
}

static void
close_live(struct gs_session *session, struct gs_sub *sub, enum gs_live_end how,
    bool tell, struct gs_now now)
{
	gs_live_end(session->live, sub->live, how, now);
	session->reads.is_stale = true;
	gs_sub_free(session, sub, tell);
}

static void
fail_history(struct gs_session *session, struct gs_sub *sub, enum gs_end end,
    struct gs_str reason, bool tell, struct gs_now now)
{
	gs_history_fail(session->history, sub->request, end, reason);
	gs_sub_free(session, sub, tell);
	gs_reads_settle(session, now);
}

/* One of several filters may be to blame, so they are asked one by one. */
static void
refuse_plainly(struct gs_session *session, struct gs_sub *sub, struct gs_str reason,
    bool tell, struct gs_now now)
{
	if (sub->live != NULL) {
		close_live(session, sub,
		    gs_live_sub_count(sub->live) > 1 && !sub->is_answered
			? GS_LIVE_SPLIT
			: GS_LIVE_REFUSED,
		    tell, now);
	} else if (gs_history_is_shared(sub->request)) {
		gs_history_split(session->history, sub->request);
		gs_sub_free(session, sub, tell);
	} else {
		fail_history(session, sub, GS_END_CLOSED, reason, tell, now);
	}
}

static void
refuse_for_good(struct gs_session *session, struct gs_sub *sub, struct gs_str reason,
    bool tell, struct gs_now now)
{
	if (sub->live != NULL)
		close_live(session, sub, GS_LIVE_REFUSED, tell, now);
	else
		fail_history(session, sub, GS_END_CLOSED, reason, tell, now);
}

/* How much sub was of what was too much, and what we think is allowed. */
static uint32_t *
find_limit(struct gs_session *session, const struct gs_sub *sub, enum gs_refusal refusal,
    int64_t *was)
{
	switch (refusal) {
	case GS_REFUSAL_FILTERS:
		*was = (int64_t)sub->num_filters;
		return &session->limits->filters;
	case GS_REFUSAL_SUBSCRIPTIONS:
		*was = (int64_t)sub->num_open;
		return &session->limits->subscriptions;
	case GS_REFUSAL_BYTES:
		*was = (int64_t)sub->bytes;
		return &session->limits->bytes;
	case GS_REFUSAL_LIMIT:
		*was = sub->limit;
		return &session->limits->limit;
	case GS_REFUSAL_OTHER:
	case GS_REFUSAL_EMPTY:
	case GS_REFUSAL_RATE_LIMITED:
	case GS_REFUSAL_AUTH_REQUIRED:
	case GS_REFUSAL_RESTRICTED:
	case GS_REFUSAL_SUBID:
	case GS_REFUSAL_DUPLICATE:
	case GS_REFUSAL_RESULTS:
	case GS_REFUSAL_UNSUPPORTED:
		break;
	}
	return NULL;
}

/*
 * Lowers what was too much; false: it can't be less.  Several that were asked at a
 * time are refused at a time: what is less by now is not halved for the others.
 */
static bool
learn_limit(struct gs_session *session, const struct gs_sub *sub, enum gs_refusal refusal,
    int64_t number)
{
	int64_t was = 0;
	uint32_t *limit = find_limit(session, sub, refusal, &was);

	if (limit == NULL || was <= 0)
		return false;
	if (was > *limit)
		return true;
	*limit = (uint32_t)was;
	return gs_limits_learn(session->limits, refusal, number);
}

/* Subscriptions that stay open leave room for histories, by the limit of now. */
static void
shed_live(struct gs_session *session, struct gs_now now)
{
	for (size_t i = GS_SUBS_MAX; i-- > 0;) {
		struct gs_sub *sub = &session->subs[i];

		if (gs_live_num_open(session->live) <= gs_session_live_places(session))
			return;
		if (sub->live != NULL)
			close_live(session, sub, GS_LIVE_POLL, true, now);
	}
}

static bool
may_rename(struct gs_session *session)
{
	return ++session->num_duplicate <= MAX_DUPLICATE;
}

/* Is it about some of our filters?  Not once it has refused so many, and no other. */
static bool
is_picky(struct gs_session *session)
{
	return session->had_eose || ++session->num_refused <= MAX_REFUSED;
}

/* May sub be asked again, now or when that has become possible? */
static bool
find_remedy(struct gs_session *session, struct gs_sub *sub, enum gs_refusal refusal,
    int64_t number, struct gs_now now)
{
	switch (refusal) {
	case GS_REFUSAL_RATE_LIMITED:
		wait_for_rate(session, now);
		return sub->live != NULL || gs_refusal_may_retry(session, sub->request);
	case GS_REFUSAL_AUTH_REQUIRED:
		return gs_login_want(session, sub, now);
	case GS_REFUSAL_DUPLICATE:
		return may_rename(session);
	case GS_REFUSAL_FILTERS:
	case GS_REFUSAL_SUBSCRIPTIONS:
	case GS_REFUSAL_BYTES:
	case GS_REFUSAL_LIMIT:
		return learn_limit(session, sub, refusal, number);
	case GS_REFUSAL_OTHER:
	case GS_REFUSAL_EMPTY:
	case GS_REFUSAL_RESTRICTED:
	case GS_REFUSAL_SUBID:
	case GS_REFUSAL_RESULTS:
	case GS_REFUSAL_UNSUPPORTED:
		break;
	}
	return false;
}

/* reason is raw; tell: the relay may still hold the subscription. */
static void
refuse_sub(struct gs_session *session, struct gs_sub *sub, struct gs_str reason,
    bool tell, struct gs_now now)
{
	struct gs_str text = gs_message_strip(reason);
	int64_t number = 0;
	enum gs_refusal refusal = gs_refusal_parse(reason, &number);

	if (find_remedy(session, sub, refusal, number, now))
		gs_sub_retract(session, sub, tell, now);
	else if (refusal == GS_REFUSAL_EMPTY && sub->live != NULL)
		close_live(session, sub, GS_LIVE_ENDED, tell, now);
	else if (refusal == GS_REFUSAL_RATE_LIMITED || !is_picky(session))
		refuse_for_good(session, sub, text, tell, now);
	else
		refuse_plainly(session, sub, text, tell, now);
	shed_live(session, now);
}

void
gs_session_take_closed(struct gs_session *session, const struct gs_message *message,
    struct gs_now now)
{
	struct gs_sub *sub = gs_sub_find(session, message->sub);

	/* Also the answer of some relays to our own CLOSE. */
	if (sub == NULL) {
		gs_session_count_unopened(session, message->sub);
		return;
	}
	gs_session_note_useful(session, sub, now);
	gs_buf_clear(&session->scratch);
	gs_json_decode(&session->scratch, message->text);
	refuse_sub(session, sub,
	    (struct gs_str){ session->scratch.data, session->scratch.len }, false, now);
}

static bool
may_concern_all(enum gs_refusal refusal)
{
	switch (refusal) {
	case GS_REFUSAL_RATE_LIMITED:
	case GS_REFUSAL_FILTERS:
	case GS_REFUSAL_SUBSCRIPTIONS:
	case GS_REFUSAL_BYTES:
	case GS_REFUSAL_LIMIT:
		return true;
	case GS_REFUSAL_OTHER:
	case GS_REFUSAL_EMPTY:
	case GS_REFUSAL_AUTH_REQUIRED:
	case GS_REFUSAL_RESTRICTED:
	case GS_REFUSAL_SUBID:
	case GS_REFUSAL_DUPLICATE:
	case GS_REFUSAL_RESULTS:
	case GS_REFUSAL_UNSUPPORTED:
		break;
	}
	return false;
}

/* Nobody knows which of them it is about: those that stay unanswered. */
static void
hold_requests(struct gs_session *session, struct gs_str text, struct gs_now now)
{
	int64_t number;
	enum gs_refusal refusal = gs_refusal_parse(text, &number);

	if (session->hold_due_ms >= 0 || !may_concern_all(refusal))
		return;
	session->held_for = refusal;
	session->held_number = number;
	session->hold_due_ms = now.mono_ms + QUIET_MS;
	session->hold_until_ms = now.mono_ms + MAX_HOLD_MS;
}

void
gs_session_take_notice(struct gs_session *session, const struct gs_message *message,
    struct gs_now now)
{
	struct gs_str text;

	session->counts.notices++;
	session->noise++;
	gs_buf_clear(&session->notice_raw);
	gs_json_decode(&session->notice_raw, message->text);
	text = (struct gs_str){ session->notice_raw.data, session->notice_raw.len };
	gs_buf_clear(&session->notice);
	gs_buf_add_shown(&session->notice, text.ptr, text.len, TEXT_BYTES);
	if (text.len > TEXT_BYTES) {
		gs_buf_cut(&session->notice_raw, TEXT_BYTES);
		text.len = TEXT_BYTES;
	}
	session->noticed = NULL;
	if (session->num_unanswered > 1)
		hold_requests(session, text, now);
	if (session->num_unanswered != 1)
		return;
	for (size_t i = 0; i < GS_SUBS_MAX; i++)
		if (gs_sub_is_waiting(&session->subs[i]) && !session->subs[i].has_frames)
			session->noticed = &session->subs[i];
	session->notice_due_ms = now.mono_ms + NOTICE_MS;
}

void
gs_refusal_note_frame(struct gs_session *session, struct gs_now now)
{
	if (session->hold_due_ms < 0)
		return;
	session->hold_due_ms = now.mono_ms + QUIET_MS;
	if (session->hold_due_ms > session->hold_until_ms)
		session->hold_due_ms = session->hold_until_ms;
}

static size_t
most_of(size_t a, size_t b)
{
	return a > b ? a : b;
}

/* The limit that the notice was about, by the most of what is unanswered. */
static void
learn_from_hold(struct gs_session *session)
{
	struct gs_sub most = { .num_open = session->num_subs };

	for (size_t i = 0; i < GS_SUBS_MAX; i++) {
		const struct gs_sub *sub = &session->subs[i];

		if (!gs_sub_is_waiting(sub))
			continue;
		most.num_filters = most_of(most.num_filters, sub->num_filters);
		most.bytes = most_of(most.bytes, sub->bytes);
		if (sub->limit > most.limit)
			most.limit = sub->limit;
	}
	(void)learn_limit(session, &most, session->held_for, session->held_number);
}

static void
ask_again(struct gs_session *session, struct gs_sub *sub, struct gs_now now)
{
	bool is_rated = session->held_for == GS_REFUSAL_RATE_LIMITED;

	if (is_rated && sub->request != NULL &&
	    !gs_refusal_may_retry(session, sub->request))
		refuse_for_good(session, sub,
		    (struct gs_str){ session->notice_raw.data, session->notice_raw.len },
		    true, now);
	else
		gs_sub_retract(session, sub, true, now);
}

static void
end_hold(struct gs_session *session, struct gs_now now)
{
	session->hold_due_ms = -1;
	if (session->num_unanswered == 0)
		return;
	if (session->held_for == GS_REFUSAL_RATE_LIMITED)
		wait_for_rate(session, now);
	else
		learn_from_hold(session);
	for (size_t i = 0; i < GS_SUBS_MAX; i++)
		if (gs_sub_is_waiting(&session->subs[i]))
			ask_again(session, &session->subs[i], now);
	shed_live(session, now);
}

void
gs_refusal_time_out(struct gs_session *session, struct gs_sub *sub, struct gs_now now)
{
	if (sub->live != NULL)
		close_live(session, sub, GS_LIVE_UNANSWERED, true, now);
	else
		fail_history(session, sub, GS_END_TIMEOUT, GS_STR(""), true, now);
}

void
gs_refusal_tick(struct gs_session *session, struct gs_now now)
{
	if (gs_retry_is_due(&session->rate, now.mono_ms))
		gs_retry_begin(&session->rate);
	if (session->noticed != NULL && now.mono_ms >= session->notice_due_ms)
		refuse_sub(session, session->noticed,
		    (struct gs_str){ session->notice_raw.data, session->notice_raw.len },
		    true, now);
	if (session->hold_due_ms >= 0 && now.mono_ms >= session->hold_due_ms)
		end_hold(session, now);
}

int64_t
gs_refusal_deadline_ms(const struct gs_session *session)
{
	int64_t due_ms = gs_retry_earlier(session->rate.due_ms, session->hold_due_ms);

	if (session->noticed != NULL)
		due_ms = gs_retry_earlier(due_ms, session->notice_due_ms);
	return due_ms;
}
