/*
 * Filters that the relay refuses, beyond a process and beyond the filters that come and
 * go: what is added again waits as long as it would have.
 */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"
#include "session_private.h"

#define LONGEST_WAIT_S (24 * 3600) /* DESIGN 3 "Refusals" */
#define MS 1000

/* Since and until move; the rest is what the relay refuses. */
static void
hash_filter(const struct gs_filter *filter, uint8_t hash[static 32])
{
	struct gs_filter view = *filter;
	struct gs_buf text = GS_BUF_INIT;

	view.since = view.until = -1;
	gs_filter_write(&view, &text);
	(void)crypto_hash_sha256(hash, (const unsigned char *)text.data, text.len);
	gs_buf_fini(&text);
}

void
gs_session_restore_refused(struct gs_session *session,
    const struct gs_session_refused *refused)
{
	if (session->num_restored == GS_SESSION_REFUSED)
		return;
	session->restored = gs_mem_more(session->restored, session->num_restored,
	    &session->cap_restored, sizeof(*session->restored));
	session->restored[session->num_restored++] = *refused;
}

static bool
take_restored(struct gs_session *session, const struct gs_filter *filter,
    struct gs_session_refused *refused)
{
	uint8_t hash[32];

	if (session->num_restored == 0)
		return false;
	hash_filter(filter, hash);
	for (size_t i = 0; i < session->num_restored; i++) {
		if (memcmp(session->restored[i].filter, hash, sizeof(hash)) != 0)
			continue;
		*refused = session->restored[i];
		session->restored[i] = session->restored[--session->num_restored];
		return true;
	}
	return false;
}

static struct gs_retry
retry_of(const struct gs_session *session, const struct gs_session_refused *refused,
    struct gs_now now)
{
	int64_t cap_ms = session->options.max_backoff_ms;
	int64_t wait_ms = 0;

	if (refused->due_s > now.wall_s)
		wait_ms = gs_least(refused->due_s - now.wall_s, LONGEST_WAIT_S) * MS;
	if (cap_ms >= 0)
		wait_ms = gs_least(wait_ms, cap_ms);
	return (struct gs_retry){ refused->failures, (uint32_t)wait_ms,
		now.mono_ms + wait_ms };
}

/* What is read once is asked for: its owner waits for its end. */
void
gs_refused_apply(struct gs_session *session, size_t i, struct gs_now now)
{
	struct gs_session_refused refused;
	struct gs_retry retry;

	if (session->reads.items[i].is_history ||
	    !take_restored(session, gs_history_filter(session->history, i), &refused))
		return;
	retry = retry_of(session, &refused, now);
	gs_reads_refuse(session, i, &retry);
	gs_live_refuse(session->live, i, &retry);
}

/* Is filter i refused?  Not if it may be followed although its history is refused. */
static bool
find_refusal(const struct gs_session *session, size_t i, struct gs_retry *retry)
{
	const struct gs_read_item *item = &session->reads.items[i];
	const struct gs_retry live = gs_live_refused(session->live, i);

	*retry = live;
	if (item->is_history)
		return false;
	if (item->end == GS_END_CLOSED && item->retry.due_ms >= 0 &&
	    gs_live_state(session->live, i) != GS_LIVE_OPEN) {
		retry->due_ms = gs_retry_earlier(live.due_ms, item->retry.due_ms);
		if (item->retry.failures > live.failures)
			retry->failures = item->retry.failures;
	}
	return retry->due_ms >= 0;
}

static int64_t
due_wall_s(const struct gs_retry *retry, struct gs_now now)
{
	int64_t left_ms = retry->due_ms - now.mono_ms;

	return left_ms <= 0 ? now.wall_s : now.wall_s + (left_ms + MS - 1) / MS;
}

void
gs_session_each_refused(const struct gs_session *session, gs_session_refused_fn *fn,
    void *arg, struct gs_now now)
{
	size_t left = GS_SESSION_REFUSED;
	struct gs_retry retry;

	for (size_t i = 0; i < session->reads.num && left > 0; i++) {
		struct gs_session_refused refused;

		if (!find_refusal(session, i, &retry))
			continue;
		hash_filter(gs_history_filter(session->history, i), refused.filter);
		refused.failures = retry.failures;
		refused.due_s = due_wall_s(&retry, now);
		fn(&refused, arg);
		left--;
	}
	for (size_t i = 0; i < session->num_restored && left > 0; i++, left--)
		fn(&session->restored[i], arg);
}

struct kept {
	struct gs_session_refused *all;
	size_t num, cap;
};

static void
keep(const struct gs_session_refused *refused, void *arg)
{
	struct kept *kept = arg;

	kept->all = gs_mem_more(kept->all, kept->num, &kept->cap, sizeof(*kept->all));
	kept->all[kept->num++] = *refused;
}

void
gs_refused_keep(struct gs_session *session, struct gs_now now)
{
	struct kept kept = { NULL, 0, 0 };

	gs_session_each_refused(session, keep, &kept, now);
	free(session->restored);
	session->restored = kept.all;
	session->num_restored = kept.num;
	session->cap_restored = kept.cap;
}
