/*
 * Takes events in by the policy: keeps, rejects, or lets them wait until what they
 * hang on has come, then judges them again.  The policy decides, the store keeps;
 * this file answers the policy's questions and follows what each event sets free.
 */
#include "waiting.h"

#include <stdlib.h>
#include <string.h>

#include "mem.h"
#include "waiting_private.h"

/* --- what the policy asks --- */

static bool
has_event(void *arg, const uint8_t id[static 32])
{
	const struct gs_intake *intake = arg;

	return gs_store_known(intake->txn, id) == GS_KNOWN_STORED;
}

static bool
had_event(void *arg, const uint8_t id[static 32])
{
	const struct gs_intake *intake = arg;
	enum gs_known known = gs_store_known(intake->txn, id);

	return known == GS_KNOWN_STORED || known == GS_KNOWN_DELETED ||
	    known == GS_KNOWN_SUPERSEDED;
}

static bool
has_author(void *arg, const uint8_t pubkey[static 32])
{
	const struct gs_intake *intake = arg;

	return gs_store_has_author(intake->txn, pubkey);
}

static bool
has_address(void *arg, const struct gs_address *address)
{
	const struct gs_intake *intake = arg;

	return gs_store_had_address(intake->txn, address);
}

static bool
is_followed(void *arg, struct gs_str ref)
{
	struct gs_intake *intake = arg;

	return gs_closure_is_followed(intake->closure, intake->txn, ref);
}

static bool
is_maintainer(void *arg, const uint8_t pubkey[static 32], struct gs_str d)
{
	struct gs_intake *intake = arg;

	return gs_closure_has(intake->closure, intake->txn, pubkey, d);
}

static void
judge(struct gs_intake *intake, const struct gs_event *event)
{
	struct gs_policy_view view = { has_event, had_event, has_author, has_address,
		is_followed, is_maintainer, intake };

	gs_policy_judge(intake->policy, &view, event, &intake->answer);
}

/* --- what an event sets free --- */

static void
free_ground(struct gs_intake *intake, const gs_ground ground)
{
	gs_buf_add(&intake->freed, ground, sizeof(gs_ground));
}

static void
free_maintainer(const uint8_t pubkey[static 32], struct gs_str d, void *arg)
{
	struct gs_intake *intake = arg;
	gs_ground ground;

	gs_ground_of_maintainer(ground, pubkey, d);
	free_ground(intake, ground);
}

static void
free_address(struct gs_intake *intake, const struct gs_event *event)
{
	struct gs_str d = gs_kind_is_addressable(event->kind) ? gs_event_d(event)
							      : (struct gs_str){ "", 0 };
	struct gs_buf address = GS_BUF_INIT;
	gs_ground ground;

	gs_address_write(&address, event->kind, event->pubkey, d);
	gs_ground_of_address(ground, (struct gs_str){ address.data, address.len });
	free_ground(intake, ground);
	gs_buf_fini(&address);
}

/* Notes which grounds an accepted event fulfils. */
static void
free_by(struct gs_intake *intake, const struct gs_event *event)
{
	gs_ground ground;

	if (gs_store_num_waiting(intake->txn) == 0)
		return;
	gs_ground_of_id(ground, event->id);
	free_ground(intake, ground);
	gs_ground_of_author(ground, event->pubkey);
	free_ground(intake, ground);
	if (gs_kind_is_replaceable(event->kind) || gs_kind_is_addressable(event->kind))
		free_address(intake, event);
	if (event->kind == GS_KIND_ANNOUNCEMENT)
		gs_closure_each(intake->closure, intake->txn, gs_event_d(event),
		    free_maintainer, intake);
}

/* --- taking in --- */

static bool
store_event(struct gs_intake *intake, const struct gs_event *event,
    const struct gs_origin *origin, enum gs_known *known, struct gs_err *err)
{
	struct gs_store_ops ops = { intake_removed, intake };
	struct gs_put put = { .from = origin->from, .now_s = intake->now_s, .ops = &ops };

	put.vanish =
	    event->kind == GS_KIND_VANISH && gs_policy_is_vanish(intake->policy, event);
	if (!gs_store_put(intake->txn, event, &put, known, err))
		return false;
	if (intake->policy == NULL) /* what waits can't be judged now */
		return gs_store_num_waiting(intake->txn) == 0 ||
		    gs_store_set_needs_judging(intake->txn, true, err);
	if (event->kind == GS_KIND_ANNOUNCEMENT)
		gs_closure_forget(intake->closure, event->pubkey, gs_event_d(event));
	free_by(intake, event);
	return *known != GS_KNOWN_STORED || intake_use(intake, event, origin, err);
}

/* Expired for good: but an expired version still replaces, a request still acts. */
static bool
is_spent(const struct gs_event *event, int64_t now_s)
{
	int64_t expires_at = gs_event_expiration(event);

	return expires_at >= 0 && expires_at <= now_s &&
	    !gs_kind_is_replaceable(event->kind) &&
	    !gs_kind_is_addressable(event->kind) && event->kind != GS_KIND_DELETION &&
	    event->kind != GS_KIND_VANISH;
}

static bool
let_wait(struct gs_intake *intake, const struct gs_event *event, struct gs_err *err)
{
	struct gs_waiter waiter = { .run = intake->run,
		.until = intake->now_s + GS_WAITING_S };
	struct gs_buf line = GS_BUF_INIT;
	bool ok;

	if (intake->answer.num_grounds > 0)
		gs_event_write(event, &line);
	waiter.json = (struct gs_str){ line.data, line.len };
	ok = gs_store_waiter_put(intake->txn, event, &intake->answer, &waiter, err);
	gs_buf_fini(&line);
	return ok;
}

/* Neither judged nor remembered. */
static bool
skip(struct gs_intake *intake, const char *reason, enum gs_known *known)
{
	intake->answer.reason = reason;
	*known = GS_UNKNOWN;
	return true;
}

/* Judges and does what the policy says. */
static bool
take_in(struct gs_intake *intake, const struct gs_event *event,
    const struct gs_origin *origin, enum gs_known *known, struct gs_err *err)
{
	struct gs_str none = { "", 0 };
	const char *over;

	intake->answer.reason = NULL; /* of policy NULL */
	if (intake->policy == NULL)
		return store_event(intake, event, origin, known, err);
	if ((over = intake_over_cap(intake, origin)) != NULL)
		return skip(intake, over, known);
	if (is_spent(event, intake->now_s)) {
		*known = GS_KNOWN_EXPIRED;
		return gs_store_judge(intake->txn, event, *known, none, intake->now_s,
		    err);
	}
	judge(intake, event);
	switch (intake->answer.verdict) {
	case GS_ACCEPT:
		if (intake_is_over_repo(intake, event))
			return skip(intake, "over-repo-cap", known);
		return store_event(intake, event, origin, known, err);
	case GS_WAIT:
		*known = GS_KNOWN_WAITING;
		return let_wait(intake, event, err);
	case GS_REJECT:
		break;
	}
	*known = GS_KNOWN_REJECTED;
	gs_tally_reason(&intake->delta, gs_str_of(intake->answer.reason), 1);
	return gs_store_judge(intake->txn, event, *known,
	    gs_str_of(intake->answer.reason), intake->now_s + GS_WAITING_S, err);
}

/* The event is unknown again, as if it came in now. */
static bool
unwait(struct gs_intake *intake, const struct gs_waiter *waiter,
    const uint8_t id[static 32], struct gs_err *err)
{
	if (waiter->run == intake->run)
		intake->delta.waiting--;
	else if (waiter->json.len != 0)
		intake->delta.freed++;
	return gs_store_waiter_del(intake->txn, id, err) &&
	    gs_store_forget(intake->txn, id, err);
}

/* Judges one waiting event again; with force it leaves in any case and comes in anew. */
static bool
rejudge(struct gs_intake *intake, const uint8_t id[static 32], bool force,
    struct gs_err *err)
{
	static const struct gs_origin freed = { { "", 0 }, GS_TAG_FREED };
	struct gs_waiter waiter;
	enum gs_known known;

	if (!gs_store_waiter_get(intake->txn, id, &waiter))
		return true;
	if (waiter.json.len == 0) /* the id alone is left: the next history brings it */
		return unwait(intake, &waiter, id, err);
	if (gs_event_parse(&intake->waiter, waiter.json.ptr, waiter.json.len, err) !=
	    GS_EVENT_OK)
		return gs_fail_in(err, "a waiting event is damaged (see stat --check)");
	if (!force) {
		judge(intake, &intake->waiter);
		if (intake->answer.verdict == GS_WAIT)
			return true;
	}
	if (!unwait(intake, &waiter, id, err) ||
	    !take_in(intake, &intake->waiter, &freed, &known, err))
		return false;
	intake_count(intake, &intake->waiter, &freed, known);
	return true;
}

/* Judges all that the freed grounds concern, and what that frees, to the end. */
static bool
follow_freed(struct gs_intake *intake, struct gs_err *err)
{
	struct gs_buf ids = GS_BUF_INIT;
	size_t at, i;
	bool ok = true;

	for (at = 0; ok && at < intake->freed.len; at += sizeof(gs_ground)) {
		gs_ground ground;

		memcpy(ground, intake->freed.data + at, sizeof(ground));
		gs_buf_clear(&ids);
		gs_store_waiters(intake->txn, ground, &ids);
		for (i = 0; ok && i < ids.len; i += 32)
			ok = rejudge(intake, (const uint8_t *)ids.data + i, false, err);
	}
	gs_buf_clear(&intake->freed);
	gs_buf_fini(&ids);
	return ok;
}

bool
gs_intake_offer(struct gs_intake *intake, const struct gs_event *event,
    const struct gs_origin *origin, enum gs_known *known, struct gs_err *err)
{
	struct gs_txn *txn = intake->txn;

	intake->delta.read++;
	*known = gs_store_known(txn, event->id);
	/* without a policy what only policy kept out is let in */
	if (intake->policy == NULL &&
	    (*known == GS_KNOWN_REJECTED || *known == GS_KNOWN_WAITING)) {
		if (!gs_store_waiter_del(txn, event->id, err) ||
		    !gs_store_forget(txn, event->id, err))
			return false;
		*known = GS_UNKNOWN;
	}
	if (*known != GS_UNKNOWN) {
		intake_count_duplicate(intake, event, origin, *known);
		return true;
	}
	if (!take_in(intake, event, origin, known, err))
		return false;
	intake_count(intake, event, origin, *known);
	return follow_freed(intake, err);
}

/* --- a run --- */

/* All that waits comes in anew under the changed policy. */
static bool
rejudge_all(struct gs_intake *intake, struct gs_err *err)
{
	struct gs_buf ids = GS_BUF_INIT;
	bool ok = gs_store_forget_rejected(intake->txn, err);
	size_t i;

	gs_store_waiters(intake->txn, NULL, &ids);
	for (i = 0; ok && i < ids.len; i += 32)
		ok = rejudge(intake, (const uint8_t *)ids.data + i, true, err) &&
		    follow_freed(intake, err);
	gs_buf_fini(&ids);
	return ok;
}

static bool
follow_policy(struct gs_intake *intake, struct gs_err *err)
{
	uint8_t now[32], stored[32];

	gs_policy_fingerprint(intake->policy, now);
	if (gs_store_get_policy(intake->txn, stored) && memcmp(now, stored, 32) == 0 &&
	    !gs_store_needs_judging(intake->txn))
		return true;
	return gs_store_set_policy(intake->txn, now, err) &&
	    gs_store_set_needs_judging(intake->txn, false, err) &&
	    rejudge_all(intake, err);
}

bool
gs_intake_begin(struct gs_intake *intake, struct gs_txn *txn, int64_t now_s,
    struct gs_err *err)
{
	struct gs_store_ops ops = { intake_removed, intake };

	intake->txn = txn;
	intake->now_s = now_s;
	/* another process may have written since our last txn */
	if (intake->closure != NULL)
		gs_closure_forget_all(intake->closure);
	intake_open_range(intake, txn);
	if (intake->run == 0 && !gs_store_next_run(txn, &intake->run, err))
		return false;
	if (!intake_begin_day(intake, err) || !gs_store_expire(txn, now_s, &ops, err))
		return false;
	return intake->policy == NULL || follow_policy(intake, err);
}

bool
gs_intake_trim(struct gs_intake *intake, struct gs_err *err)
{
	struct gs_txn *txn = intake->txn;
	bool sweep = !intake->has_swept;

	intake->has_swept = true;
	intake_close_range(intake, txn);
	if (intake->policy != NULL &&
	    !gs_store_trim_waiters(txn, GS_WAITING_BYTES, intake->now_s, sweep, err))
		return false;
	return gs_store_trim_judged(txn, GS_JUDGED_ROWS, err);
}

struct gs_intake *
gs_intake_new(const struct gs_policy *policy)
{
	struct gs_intake *intake = gs_mem_new(sizeof(*intake));

	intake->policy = policy;
	intake->decisions = gs_decisions_new();
	intake->capped = gs_map_new();
	if (policy != NULL)
		intake->closure = gs_closure_new(policy);
	return intake;
}

void
gs_intake_free(struct gs_intake *intake)
{
	if (intake == NULL)
		return;
	gs_closure_free(intake->closure);
	gs_decisions_free(intake->decisions);
	gs_map_free(intake->capped, NULL);
	gs_answer_fini(&intake->answer);
	gs_buf_fini(&intake->freed);
	free(intake->ranges);
	gs_event_fini(&intake->waiter);
	gs_tally_fini(&intake->delta);
	free(intake);
}
