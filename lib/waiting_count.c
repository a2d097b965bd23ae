/*
 * What became of what: the counts of one run, and the decisions that are told once
 * they are committed.  An event of this run that leaves changes its counter.
 */
#include <stdlib.h>

#include "mem.h"
#include "waiting_private.h"

/* --- the sequences of a run --- */

static bool
is_of_this_run(const struct gs_intake *intake, uint64_t sequence)
{
	size_t low = 0, high = intake->num_ranges;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (sequence >= intake->ranges[middle].end)
			low = middle + 1;
		else
			high = middle;
	}
	return low < intake->num_ranges && sequence >= intake->ranges[low].first;
}

void
intake_open_range(struct gs_intake *intake, const struct gs_txn *txn)
{
	struct range range = { gs_store_next_sequence(txn), UINT64_MAX };
	struct range *last;

	intake->txn_first = range.first;
	if (intake->num_ranges > 0) {
		last = &intake->ranges[intake->num_ranges - 1];
		if (last->end == range.first) { /* nobody else wrote: one range goes on */
			last->end = UINT64_MAX;
			return;
		}
	}
	intake->ranges = gs_mem_more(intake->ranges, intake->num_ranges,
	    &intake->cap_ranges, sizeof(*intake->ranges));
	intake->ranges[intake->num_ranges++] = range;
}

void
intake_close_range(struct gs_intake *intake, const struct gs_txn *txn)
{
	if (intake->num_ranges > 0)
		intake->ranges[intake->num_ranges - 1].end = gs_store_next_sequence(txn);
}

/* The sequences of a txn that was given up are nobody's. */
static void
give_up_range(struct gs_intake *intake)
{
	struct range *last;

	if (intake->num_ranges == 0)
		return;
	last = &intake->ranges[intake->num_ranges - 1];
	if (last->first == intake->txn_first)
		intake->num_ranges--;
	else
		last->end = intake->txn_first;
}

/* --- decisions --- */

/* Of what the policy had no say in. */
static const char *
name_known(enum gs_known known)
{
	static const char *const names[] = { [GS_UNKNOWN] = NULL,
		[GS_KNOWN_STORED] = "stored",
		[GS_KNOWN_WAITING] = "waiting",
		[GS_KNOWN_REJECTED] = "rejected",
		[GS_KNOWN_DELETED] = "deleted",
		[GS_KNOWN_SUPERSEDED] = "superseded",
		[GS_KNOWN_EXPIRED] = "expired" };

	return names[known];
}

static struct gs_decision
draft_decision(const struct gs_event *event, const struct gs_origin *origin,
    enum gs_known known)
{
	return (struct gs_decision){ .id = event->id,
		.pubkey = event->pubkey,
		.kind = event->kind,
		.from = origin->from,
		.tag = origin->tag,
		.known = known,
		.reason = name_known(known) };
}

/* What the answer of the policy says of an event that it stored or did not. */
static void
note(struct gs_intake *intake, const struct gs_event *event,
    const struct gs_origin *origin, enum gs_known known)
{
	const struct gs_answer *answer = &intake->answer;
	struct gs_decision decision = draft_decision(event, origin, known);
	struct gs_str words[GS_ANSWER_WORDS];
	size_t i;

	if (known == GS_KNOWN_STORED || known == GS_KNOWN_WAITING ||
	    known == GS_KNOWN_REJECTED || known == GS_UNKNOWN)
		decision.reason = answer->reason;
	if (known == GS_UNKNOWN)
		decision.until_s = intake->capped_until_s;
	if (known == GS_KNOWN_WAITING) {
		for (i = 0; i < answer->num_words; i++)
			words[i] =
			    (struct gs_str){ answer->text.data + answer->word_at[i],
				    answer->word_len[i] };
		decision.words = words;
		decision.num_words = answer->num_words;
		decision.num_grounds = answer->num_grounds;
	}
	gs_decisions_add(intake->decisions, &decision);
}

void
gs_intake_set_decided(struct gs_intake *intake, gs_decision_fn *fn, void *arg)
{
	intake->decided = fn;
	intake->arg = arg;
	intake->answer.wants_words = fn != NULL;
}

/* --- counting --- */

void
intake_count(struct gs_intake *intake, const struct gs_event *event,
    const struct gs_origin *origin, enum gs_known known)
{
	(*gs_tally_counter(&intake->delta, known))++;
	if (intake->decided != NULL)
		note(intake, event, origin, known);
}

void
intake_count_duplicate(struct gs_intake *intake, const struct gs_event *event,
    const struct gs_origin *origin, enum gs_known known)
{
	struct gs_decision decision;

	intake->delta.duplicate++;
	if (intake->decided == NULL)
		return;
	decision = draft_decision(event, origin, known);
	decision.is_duplicate = true;
	gs_decisions_add(intake->decisions, &decision);
}

static void
note_removed(struct gs_intake *intake, const struct gs_row *row, enum gs_known why)
{
	struct gs_decision decision = { .id = row->id,
		.pubkey = row->pubkey,
		.kind = row->kind,
		.from = row->from,
		.tag = GS_TAG_FREED,
		.known = why,
		.reason = name_known(why) };

	gs_decisions_add(intake->decisions, &decision);
}

/* One of this run changes its counter, others are `removed`. */
void
intake_removed(const struct gs_row *row, enum gs_known why, void *arg)
{
	struct gs_intake *intake = arg;

	if (row->kind == GS_KIND_ANNOUNCEMENT && intake->closure != NULL)
		gs_closure_forget_row(intake->closure, row);
	if (intake->decided != NULL)
		note_removed(intake, row, why);
	if (!is_of_this_run(intake, row->sequence)) {
		intake->delta.removed++;
		return;
	}
	intake->delta.stored--;
	(*gs_tally_counter(&intake->delta, why))++;
}

void
gs_intake_settle(struct gs_intake *intake, bool committed, struct gs_tally *tally)
{
	if (committed) {
		gs_tally_add(tally, &intake->delta);
		intake->has_settled = true;
	} else
		give_up_range(intake);
	if (!intake->has_settled)
		intake->run = 0;
	gs_tally_fini(&intake->delta);
	intake->delta = (struct gs_tally){ .read = 0 };
	if (!committed && intake->closure != NULL)
		gs_closure_forget_all(intake->closure);
	if (committed && intake->decided != NULL)
		gs_decisions_tell(intake->decisions, intake->decided, intake->arg);
	gs_decisions_clear(intake->decisions);
}
