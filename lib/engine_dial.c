/*
 * Which relay is dialled when: no more than so many a second and at a time, some places
 * kept for those that are known to work, so that a crowd of dead names delays nobody
 * else; and who has his turn where many names share one address.
 */
#include <stdlib.h>
#include <string.h>

#include "engine_private.h"

#define SECOND_MS 1000
#define TURN_MS (10 * 60 * 1000) /* whom nobody makes room asks again */

int64_t
gs_peer_dial_due_ms(const struct gs_peer *peer)
{
	int64_t due_ms = gs_health_due_ms(&peer->health);

	if (peer->phase != GS_PEER_WAITING || due_ms < 0 || peer->leave_ms >= 0 ||
	    (peer->entry == NULL && !peer->is_bootstrap))
		return -1;
	return due_ms > peer->not_before_ms ? due_ms : peer->not_before_ms;
}

/* For these some places are kept. */
static bool
is_kept(const struct gs_peer *peer)
{
	return peer->is_bootstrap || peer->is_kept;
}

/* When the next dial is allowed by the number of those in the last second. */
static int64_t
rate_due_ms(const struct gs_engine *engine)
{
	return engine->dialled_ms[engine->next_dialled] + SECOND_MS;
}

static bool
has_place(const struct gs_engine *engine, bool kept)
{
	const size_t open_to_all = GS_ENGINE_DIALLING - GS_ENGINE_KEPT;
	size_t strangers = engine->num_dialling - engine->num_kept_dialling;

	return engine->num_dialling < GS_ENGINE_DIALLING &&
	    (kept || strangers < open_to_all);
}

static void
dial(struct gs_peer *peer, struct gs_now now)
{
	struct gs_engine *engine = peer->engine;

	engine->dialled_ms[engine->next_dialled] = now.mono_ms;
	engine->next_dialled = (engine->next_dialled + 1) % GS_ENGINE_DIALS_S;
	engine->num_dialling++;
	engine->num_kept_dialling += is_kept(peer);
	peer->was_kept = is_kept(peer);
	peer->phase = GS_PEER_DIALLING;
	peer->leave = GS_LEAVE_NOT;
	peer->not_before_ms = -1;
	peer->is_capped = false;
	peer->address[0] = '\0';
	gs_health_dialled(&peer->health);
	peer->due_ms = -1;
	engine->ops.dial(peer, engine->ops.arg);
}

/* Due before the other?  Kept ones first, then who has waited longest. */
static bool
is_before(const struct gs_peer *a, const struct gs_peer *b)
{
	if (is_kept(a) != is_kept(b))
		return is_kept(a);
	return gs_peer_dial_due_ms(a) < gs_peer_dial_due_ms(b);
}

/* The next one to dial that has a place; *soonest_ms: when another one is due. */
static struct gs_peer *
find_due(const struct gs_engine *engine, struct gs_now now, int64_t *soonest_ms)
{
	struct gs_peer *best = NULL;
	struct gs_map_entry *entry;
	size_t at = 0;

	*soonest_ms = -1;
	while ((entry = gs_map_next(engine->peers, &at)) != NULL) {
		struct gs_peer *peer = entry->value;
		int64_t due_ms = gs_peer_dial_due_ms(peer);

		if (due_ms < 0)
			continue;
		if (due_ms > now.mono_ms) {
			if (*soonest_ms < 0 || due_ms < *soonest_ms)
				*soonest_ms = due_ms;
		} else if (has_place(engine, is_kept(peer)) &&
		    (best == NULL || is_before(peer, best))) {
			best = peer;
		}
	}
	return best;
}

/* Who finds no place waits until a dial is over: that asks again. */
void
gs_engine_dial_due(struct gs_engine *engine, struct gs_now now)
{
	struct gs_peer *peer;
	int64_t soonest_ms;

	while ((peer = find_due(engine, now, &soonest_ms)) != NULL) {
		if (rate_due_ms(engine) > now.mono_ms) {
			soonest_ms = rate_due_ms(engine);
			break;
		}
		dial(peer, now);
	}
	if (soonest_ms >= 0)
		gs_engine_note_due(engine, soonest_ms);
}

void
gs_engine_dial_over(struct gs_peer *peer)
{
	struct gs_engine *engine = peer->engine;

	engine->num_dialling--;
	engine->num_kept_dialling -= peer->was_kept;
}

/* --- many names, one address --- */

static bool
is_connected(const struct gs_peer *peer)
{
	return peer->phase != GS_PEER_WAITING;
}

bool
gs_peer_may_connect(struct gs_peer *peer, const char *address)
{
	struct gs_engine *engine = peer->engine;
	struct gs_map_entry *entry;
	size_t num = 0, at = 0;

	(void)strncpy(peer->address, address, sizeof(peer->address) - 1);
	if (engine->options.per_address == 0)
		return true;
	while ((entry = gs_map_next(engine->peers, &at)) != NULL) {
		const struct gs_peer *other = entry->value;

		num += other != peer && is_connected(other) &&
		    strcmp(other->address, address) == 0;
	}
	if (num < engine->options.per_address)
		return true;
	at = 0;
	while ((entry = gs_map_next(engine->peers, &at)) != NULL) {
		struct gs_peer *other = entry->value;

		if (strcmp(other->address, address) != 0 || other->takes_turns)
			continue;
		other->takes_turns = true;
		other->due_ms = 0;
		gs_engine_note_due(engine, 0);
	}
	return false;
}

static int64_t
later(int64_t a_ms, int64_t b_ms)
{
	return a_ms > b_ms ? a_ms : b_ms;
}

/* The one that has been away longest is next. */
void
gs_engine_free_address(struct gs_peer *peer, bool was_none, struct gs_now now)
{
	struct gs_engine *engine = peer->engine;
	struct gs_peer *next = NULL;
	struct gs_map_entry *entry;
	size_t at = 0;

	if (!peer->takes_turns)
		return;
	peer->not_before_ms = later(peer->not_before_ms, now.mono_ms + TURN_MS);
	if (was_none)
		return;
	while ((entry = gs_map_next(engine->peers, &at)) != NULL) {
		struct gs_peer *other = entry->value;

		if (other == peer || other->phase != GS_PEER_WAITING ||
		    other->is_capped || !other->takes_turns ||
		    strcmp(other->address, peer->address) != 0)
			continue;
		if (next == NULL || other->opened_ms < next->opened_ms)
			next = other;
	}
	if (next != NULL && next->not_before_ms > now.mono_ms)
		next->not_before_ms = -1;
}
