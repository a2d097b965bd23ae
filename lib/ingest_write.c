/*
 * What the writer does with verified batches: it stores them in one transaction a
 * group.  The group's batches are kept until the commit, because a map that is full
 * gives up the transaction, and all of it is done again in a larger one.
 */
#include "ingest_private.h"

#include "clock.h"

#define GROUP_BYTES ((size_t)32 << 20) /* of lines that are kept to be done again */

static int64_t
get_now_s(const struct gs_ingest *ingest)
{
	return ingest->options.now_s >= 0 ? ingest->options.now_s : gs_clock_now().wall_s;
}

static void
tell_bad(const struct gs_ingest *ingest, const struct item *item)
{
	if (item->fault != GS_EVENT_OK && ingest->options.bad != NULL)
		ingest->options.bad(item->number, item->fault, item->why,
		    ingest->options.arg);
}

static struct gs_str
get_from(const struct batch *batch, const struct item *item)
{
	if (item->from_len == 0)
		return (struct gs_str){ "", 0 };
	return (struct gs_str){ batch->text.data + item->from_at, item->from_len };
}

/* What was settled when the worker looked may be gone by now. */
static bool
is_known(struct gs_ingest *ingest, const struct batch *batch, struct item *item,
    enum gs_known *known)
{
	struct gs_buf scratch = GS_BUF_INIT;

	if (!item->is_settled)
		return false;
	*known = gs_store_known(ingest->txn, item->event.id);
	if (ingest_is_settled(ingest, *known))
		return true;
	item->is_settled = false;
	ingest_verify_item(ingest, batch, item, &scratch);
	gs_buf_fini(&scratch);
	tell_bad(ingest, item);
	return false;
}

/* Lines that intake never sees. */
static bool
count_line(struct gs_ingest *ingest, uint64_t *counter)
{
	ingest->counts.read++;
	(*counter)++;
	return true;
}

static bool
count_duplicate(struct gs_ingest *ingest, const struct batch *batch,
    const struct item *item, enum gs_known known)
{
	struct gs_decision decision = { .id = item->event.id,
		.pubkey = item->is_parsed ? item->event.pubkey : NULL,
		.kind = item->is_parsed ? item->event.kind : 0,
		.from = get_from(batch, item),
		.tag = item->tag,
		.known = known,
		.is_duplicate = true };

	if (ingest->options.decided != NULL)
		gs_decisions_add(ingest->decisions, &decision);
	return count_line(ingest, &ingest->counts.duplicate);
}

static bool
store_item(struct gs_ingest *ingest, const struct batch *batch, struct item *item,
    struct gs_err *err)
{
	struct gs_origin origin = { get_from(batch, item), item->tag };
	enum gs_known known;

	if (item->fault == GS_EVENT_OK && is_known(ingest, batch, item, &known))
		return count_duplicate(ingest, batch, item, known);
	if (item->fault != GS_EVENT_OK)
		return count_line(ingest, &ingest->counts.invalid[item->fault]);
	return gs_intake_offer(ingest->intake, &item->event, &origin, &known, err);
}

static bool
store_batch(struct gs_ingest *ingest, struct batch *batch, struct gs_err *err)
{
	size_t i;

	for (i = 0; i < batch->num; i++)
		if (!store_item(ingest, batch, &batch->items[i], err))
			return false;
	return batch_put_records(batch, ingest->txn, err);
}

static bool
begin_txn(struct gs_ingest *ingest, struct gs_err *err)
{
	ingest->txn = gs_store_write(ingest->store, err);
	return ingest->txn != NULL &&
	    gs_intake_begin(ingest->intake, ingest->txn, get_now_s(ingest), err);
}

static bool
end_txn(struct gs_ingest *ingest, struct gs_err *err)
{
	struct gs_txn *txn = ingest->txn;

	if (!gs_intake_trim(ingest->intake, err))
		return false;
	ingest->txn = NULL;
	return gs_txn_commit(txn, err);
}

static void
reset_counts(struct gs_ingest *ingest)
{
	gs_tally_fini(&ingest->counts);
	ingest->counts = (struct gs_tally){ .read = 0 };
}

void
ingest_give_up(struct gs_ingest *ingest)
{
	gs_txn_end(ingest->txn);
	ingest->txn = NULL;
	gs_intake_settle(ingest->intake, false, &ingest->tally);
	gs_decisions_clear(ingest->decisions);
	reset_counts(ingest);
}

static bool
store_group(struct gs_ingest *ingest, struct gs_err *err)
{
	struct batch *batch;

	if (!begin_txn(ingest, err))
		return false;
	for (batch = ingest->group; batch != NULL; batch = batch->next)
		if (!store_batch(ingest, batch, err))
			return false;
	return true;
}

/* Everything of the group once more, in a larger map. */
static bool
repeat_larger(struct gs_ingest *ingest, struct gs_err *err)
{
	ingest_give_up(ingest);
	return gs_store_grow(ingest->store, err) && store_group(ingest, err);
}

bool
ingest_repeat(struct gs_ingest *ingest, struct gs_err *err)
{
	bool ok;

	ingest_give_up(ingest);
	ok = store_group(ingest, err);
	while (!ok && err->code == GS_EINCOMPLETE)
		ok = repeat_larger(ingest, err);
	return ok;
}

static void
append_batch(struct gs_ingest *ingest, struct batch *batch)
{
	batch->next = NULL;
	if (ingest->group == NULL) {
		ingest->group = batch;
		ingest->group_since_ms = gs_clock_now().mono_ms;
	} else {
		ingest->group_last->next = batch;
	}
	ingest->group_last = batch;
	ingest->group_lines += batch->num;
	ingest->group_bytes += batch->text.len;
}

bool
ingest_add(struct gs_ingest *ingest, struct batch *batch, struct gs_err *err)
{
	bool ok;
	size_t i;

	for (i = 0; i < batch->num; i++)
		tell_bad(ingest, &batch->items[i]);
	append_batch(ingest, batch);
	ok = (ingest->txn != NULL || begin_txn(ingest, err)) &&
	    store_batch(ingest, batch, err);
	while (!ok && err->code == GS_EINCOMPLETE)
		ok = repeat_larger(ingest, err);
	return ok;
}

bool
ingest_is_full(const struct gs_ingest *ingest)
{
	if (ingest->group_lines >= ingest->group_limit ||
	    ingest->group_bytes >= GROUP_BYTES)
		return true;
	return ingest->options.commit_when_idle &&
	    gs_clock_now().mono_ms - ingest->group_since_ms >= GS_INGEST_COMMIT_MS;
}

bool
ingest_commit(struct gs_ingest *ingest, struct gs_err *err)
{
	bool ok = end_txn(ingest, err);
	bool took_lines = ingest->group_lines > 0;

	while (!ok && err->code == GS_EINCOMPLETE)
		ok = repeat_larger(ingest, err) && end_txn(ingest, err);
	if (!ok)
		return false;
	if (took_lines && ingest->group_limit < GS_INGEST_COMMIT_EVENTS)
		ingest->group_limit *= 2;
	gs_tally_add(&ingest->tally, &ingest->counts);
	gs_intake_settle(ingest->intake, true, &ingest->tally);
	if (ingest->options.decided != NULL)
		gs_decisions_tell(ingest->decisions, ingest->options.decided,
		    ingest->options.arg);
	reset_counts(ingest);
	if (took_lines && ingest->options.committed != NULL)
		ingest->options.committed(&ingest->tally, ingest->options.arg);
	return true;
}

struct batch *
ingest_take_group(struct gs_ingest *ingest)
{
	struct batch *group = ingest->group;

	ingest->group = NULL;
	ingest->group_last = NULL;
	ingest->group_lines = 0;
	ingest->group_bytes = 0;
	return group;
}
