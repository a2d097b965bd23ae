/*
 * What a relay is asked, filter by filter, and what its answers prove: new content in
 * filters of its own first, all packed anew when they have become many (v2's two-phase
 * consolidation as DESIGN 3 "Filters and packing" bounds it).
 */
#include <stdlib.h>
#include <string.h>

#include "engine_private.h"
#include "mem.h"

/* Of a part. */
#define PART_READ 1u	/* all that is stored of it was read once */
#define PART_AWAITED 2u /* the first step of a consolidation waits for its end */

/* --- filters that the relay refused, over restarts --- */

static struct gs_session_refused
to_session(const struct gs_progress_refused *from)
{
	struct gs_session_refused refused = { .failures = from->failures,
		.due_s = from->due_s };

	memcpy(refused.filter, from->filter, sizeof(refused.filter));
	return refused;
}

static void
keep_refused(const struct gs_session_refused *refused, void *arg)
{
	struct gs_progress_relay *relay = arg;
	struct gs_progress_refused *list;

	if (relay->num_refused >= GS_PROGRESS_REFUSED)
		return;
	list = gs_mem_resize((void *)(uintptr_t)relay->refused, relay->num_refused + 1,
	    sizeof(*list));
	list[relay->num_refused].failures = refused->failures;
	list[relay->num_refused].due_s = refused->due_s;
	memcpy(list[relay->num_refused].filter, refused->filter, sizeof(list->filter));
	relay->refused = list;
	relay->num_refused++;
}

void
gs_peer_restore_refused(struct gs_peer *peer, const struct gs_progress_relay *relay)
{
	free(peer->refused);
	peer->num_refused = relay->num_refused;
	peer->refused =
	    gs_mem_dup(relay->refused, relay->num_refused * sizeof(*relay->refused));
}

static void
hand_over_refused(struct gs_peer *peer)
{
	for (size_t i = 0; i < peer->num_refused; i++) {
		const struct gs_session_refused refused = to_session(&peer->refused[i]);

		gs_session_restore_refused(peer->session, &refused);
	}
	free(peer->refused);
	peer->refused = NULL;
	peer->num_refused = 0;
}

void
gs_peer_list_refused(const struct gs_peer *peer, struct gs_progress_relay *relay,
    struct gs_now now)
{
	if (peer->session != NULL) {
		gs_session_each_refused(peer->session, keep_refused, relay, now);
		return;
	}
	for (size_t i = 0; i < peer->num_refused; i++) {
		const struct gs_session_refused refused = to_session(&peer->refused[i]);

		keep_refused(&refused, relay);
	}
}

/* --- parts --- */

static uint8_t *
add_flags(struct gs_peer *peer)
{
	peer->part_flags = gs_mem_more(peer->part_flags, peer->num_parts,
	    &peer->cap_parts, sizeof(*peer->part_flags));
	peer->part_flags[peer->num_parts] = 0;
	return &peer->part_flags[peer->num_parts++];
}

/* Hands the session what the plan has made.  read_s: up to when read parts are read. */
static void
add_parts(struct gs_peer *peer, int64_t read_s, bool is_first_step, struct gs_now now)
{
	struct gs_plan_part part;

	while (gs_plan_next(peer->plan, &part)) {
		struct gs_session_part how = { part.is_read ? read_s : -1,
			is_first_step };
		uint8_t *flags = add_flags(peer);

		if (part.is_read)
			*flags = PART_READ;
		if (is_first_step) {
			*flags |= PART_AWAITED;
			peer->consolidating++;
		}
		gs_session_add_part(peer->session, &part.filter, &how, now);
	}
}

static void
record_pairs(struct gs_peer *peer, struct gs_now now)
{
	const struct gs_engine_ops *ops = &peer->engine->ops;
	struct gs_record record = { .url = gs_str_of(peer->url) };

	record.kind = GS_RECORD_PAIR;
	while (gs_plan_next_read(peer->plan, &record.ref, &record.sequence))
		ops->record(&record, ops->arg);
	record.kind = GS_RECORD_END_PAIR;
	record.sequence = 0;
	while (gs_plan_next_ended(peer->plan, &record.ref, now))
		ops->record(&record, ops->arg);
}

void
gs_peer_begin_session(struct gs_peer *peer, struct gs_now now)
{
	const struct gs_engine *engine = peer->engine;
	const struct gs_session_options options = {
		.silence_ms = engine->options.silence_ms,
		.max_backoff_ms = engine->options.max_backoff_ms > 0
		    ? engine->options.max_backoff_ms
		    : -1,
		.auth = engine->options.auth,
		.url = peer->url,
		.leaves_signatures = true,
		.is_known = engine->ops.is_known,
		.arg = engine->ops.arg,
		.remembered = GS_ENGINE_REMEMBERED,
		.is_daily_off = engine->options.is_daily_off,
	};

	peer->session = gs_session_new(&options, &peer->limits, now);
	gs_session_resume(peer->session, peer->read_until_s, peer->last_full_s);
	hand_over_refused(peer);
	gs_plan_pack(peer->plan, peer->entry, engine->sequence, now);
	add_parts(peer, GS_READ_RESUMED, false, now);
	record_pairs(peer, now);
}

/*
 * Up to when all that is read was read: what is packed together is asked for since
 * then.
 */
static int64_t
find_read_s(const struct gs_peer *peer, struct gs_now now)
{
	int64_t read_s = now.wall_s;

	for (size_t i = 0; i < peer->num_parts; i++) {
		int64_t part_s;

		if (!(peer->part_flags[i] & PART_READ))
			continue;
		part_s = gs_session_part_read_s(peer->session, i, now);
		if (part_s < 0)
			part_s = gs_session_read_until_s(peer->session);
		if (part_s < read_s)
			read_s = part_s;
	}
	return read_s;
}

static void
repack(struct gs_peer *peer, struct gs_now now)
{
	int64_t read_s = find_read_s(peer, now);

	if (peer->consolidated_s >= 0 && peer->consolidated_s < read_s)
		read_s = peer->consolidated_s;
	peer->consolidating = 0;
	peer->consolidated_s = -1;
	peer->num_parts = 0;
	record_pairs(peer, now);
	gs_session_clear(peer->session, now);
	gs_plan_pack(peer->plan, peer->entry, peer->engine->sequence, now);
	add_parts(peer, read_s, false, now);
	record_pairs(peer, now);
	gs_engine_tell(peer, GS_PEER_REPACKED);
}

/* Many filters are open, or not all find a place, and packing anew helps. */
static bool
is_packing_due(const struct gs_peer *peer)
{
	size_t num = gs_plan_num_parts(peer->plan);
	bool is_short = gs_session_filters(peer->session).polled > 0;
	size_t packed;

	if (num <= GS_PLAN_MANY && !is_short)
		return false;
	packed = gs_plan_num_packed(peer->plan, peer->entry);
	return num >= packed + GS_PLAN_SAVES ||
	    (is_short && num > packed + packed / 4 + 2);
}

void
gs_peer_want(struct gs_peer *peer, const struct gs_relay_entry *before, struct gs_now now)
{
	bool is_due;

	if (peer->session == NULL) {
		gs_plan_keep(peer->plan, peer->entry, now);
		return;
	}
	gs_plan_grow(peer->plan, before, peer->entry, peer->engine->sequence, now);
	record_pairs(peer, now);
	if (gs_plan_num_waiting(peer->plan) == 0)
		return;
	is_due = peer->consolidated_s < 0 && is_packing_due(peer);
	if (is_due && peer->phase != GS_PEER_OPEN) {
		repack(peer, now);
		return;
	}
	if (is_due)
		peer->consolidated_s = now.wall_s;
	add_parts(peer, GS_READ_RESUMED, is_due, now);
}

static void
note_ended(struct gs_peer *peer, const struct gs_session_ended *ended)
{
	uint8_t *flags = &peer->part_flags[ended->i];

	if (*flags & PART_AWAITED) {
		*flags &= (uint8_t)~PART_AWAITED;
		peer->consolidating--;
	}
	if (ended->since_s >= 0 || ended->end != GS_END_FINISHED)
		return;
	*flags |= PART_READ;
	gs_plan_note_read(peer->plan, ended->i);
}

bool
gs_peer_settle(struct gs_peer *peer, struct gs_now now)
{
	struct gs_session_ended ended;
	bool has_ended = false;

	while (gs_session_next_ended(peer->session, &ended)) {
		has_ended = true;
		note_ended(peer, &ended);
	}
	if (!has_ended)
		return false;
	record_pairs(peer, now);
	if (peer->consolidated_s >= 0 && peer->consolidating == 0)
		repack(peer, now);
	return true;
}

/* What was removed costs places; what ended is forgotten. */
void
gs_peer_tidy(struct gs_peer *peer, struct gs_now now)
{
	record_pairs(peer, now);
	if (peer->session != NULL && peer->consolidated_s < 0 &&
	    gs_plan_is_untidy(peer->plan, now))
		repack(peer, now);
}
