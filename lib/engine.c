/*
 * The set of relays: which there are is what the state says, what each is asked is
 * theirs.  One relay's trouble stays its own: nothing here waits for any of them.
 */
#include "engine.h"

#include <stdlib.h>
#include <string.h>

#include "engine_private.h"
#include "mem.h"
#include "retry.h"

#define LONG_AGO_MS (INT64_MIN / 2)

struct gs_engine *
gs_engine_new(const struct gs_engine_options *options, const struct gs_engine_ops *ops,
    struct gs_now now)
{
	struct gs_engine *engine = gs_mem_new(sizeof(*engine));

	engine->options = *options;
	engine->ops = *ops;
	engine->peers = gs_map_new();
	engine->due_ms = -1;
	engine->save_due_ms = now.mono_ms + GS_ENGINE_SAVE_MS;
	for (size_t i = 0; i < GS_ENGINE_DIALS_S; i++)
		engine->dialled_ms[i] = LONG_AGO_MS;
	return engine;
}

static void
free_peer(void *peer)
{
	gs_peer_free(peer);
}

void
gs_engine_free(struct gs_engine *engine)
{
	if (engine == NULL)
		return;
	gs_map_free(engine->peers, free_peer);
	gs_state_free(engine->state);
	free(engine);
}

void
gs_engine_note_due(struct gs_engine *engine, int64_t due_ms)
{
	engine->due_ms = gs_retry_earlier(engine->due_ms, due_ms);
}

void
gs_engine_tell(struct gs_peer *peer, enum gs_peer_change change)
{
	const struct gs_engine_ops *ops = &peer->engine->ops;

	if (ops->changed != NULL)
		ops->changed(peer, change, ops->arg);
}

static struct gs_peer *
add_peer(struct gs_engine *engine, struct gs_str url, struct gs_now now)
{
	struct gs_map_entry *entry = gs_map_add(engine->peers, url);

	if (entry->value == NULL)
		entry->value = gs_peer_new(engine, url, now);
	return entry->value;
}

/* --- what an earlier process knew --- */

void
gs_engine_restore(struct gs_engine *engine, const struct gs_progress_relay *relay,
    struct gs_now now)
{
	struct gs_peer *peer = add_peer(engine, relay->url, now);

	gs_health_restore(&peer->health, &relay->health, now.mono_ms, now.wall_s);
	peer->is_kept = relay->health.status == GS_HEALTH_HEALTHY &&
	    relay->health.last_success_s >= 0;
	peer->read_until_s = relay->read_until_s;
	peer->last_full_s = relay->last_full_s;
	if (relay->limits.subscriptions > 0)
		peer->limits = relay->limits;
	gs_peer_restore_refused(peer, relay);
}

void
gs_engine_restore_pair(struct gs_engine *engine, struct gs_str url, struct gs_str ref,
    uint64_t sequence, struct gs_now now)
{
	gs_plan_restore(add_peer(engine, url, now)->plan, ref, sequence);
}

/* --- success and failure of all --- */

bool
gs_engine_are_others_failing(const struct gs_peer *peer)
{
	struct gs_map_entry *entry;
	size_t num = 0, at = 0;

	while ((entry = gs_map_next(peer->engine->peers, &at)) != NULL) {
		const struct gs_peer *other = entry->value;

		if (other == peer || (other->entry == NULL && !other->is_bootstrap))
			continue;
		if (other->health.failures.num == 0)
			return false;
		num++;
	}
	peer->engine->were_all_failing |= num > 0;
	return num > 0;
}

void
gs_engine_note_success(struct gs_engine *engine, struct gs_now now)
{
	struct gs_map_entry *entry;
	size_t at = 0;

	if (!engine->were_all_failing)
		return;
	engine->were_all_failing = false;
	while ((entry = gs_map_next(engine->peers, &at)) != NULL) {
		struct gs_peer *peer = entry->value;

		if (peer->phase == GS_PEER_WAITING)
			gs_health_make_due(&peer->health, now.mono_ms);
	}
	gs_engine_note_due(engine, now.mono_ms);
}

/* --- the state --- */

/* A peer's entry in the new state; what it had is still there. */
static void
want(struct gs_peer *peer, const struct gs_relay_entry *entry, struct gs_now now)
{
	const struct gs_relay_entry *before = peer->entry;
	bool was_wanted = before != NULL || peer->is_bootstrap;
	bool is_wanted = entry != NULL;

	peer->entry = entry;
	peer->is_bootstrap = entry != NULL && entry->is_bootstrap;
	if (is_wanted) {
		peer->leave_ms = -1;
	} else if (peer->leave_ms < 0) {
		peer->leave_ms = now.mono_ms + GS_ENGINE_LINGER_MS;
	}
	if (is_wanted && !was_wanted)
		gs_engine_tell(peer, GS_PEER_ADDED);
	gs_peer_want(peer, before, now);
	gs_peer_update(peer, now);
}

static void
want_each(struct gs_engine *engine, struct gs_now now)
{
	struct gs_map_entry **relays = gs_map_sorted(engine->state->relays);
	size_t num = gs_map_count(engine->state->relays), at = 0;
	struct gs_map_entry *entry;

	for (size_t i = 0; i < num; i++)
		(void)add_peer(engine, relays[i]->key, now);
	free(relays);
	while ((entry = gs_map_next(engine->peers, &at)) != NULL)
		want(entry->value, gs_map_get(engine->state->relays, entry->key), now);
}

void
gs_engine_apply(struct gs_engine *engine, struct gs_state *state, uint64_t sequence,
    struct gs_now now)
{
	struct gs_state *before = engine->state;

	engine->state = state;
	engine->sequence = sequence;
	want_each(engine, now);
	gs_state_free(before);
	gs_engine_note_due(engine, now.mono_ms);
}

struct gs_state *
gs_engine_state(const struct gs_engine *engine)
{
	return engine->state;
}

void
gs_engine_make_full(struct gs_engine *engine, struct gs_now now)
{
	struct gs_map_entry *entry;
	size_t at = 0;

	while ((entry = gs_map_next(engine->peers, &at)) != NULL) {
		struct gs_peer *peer = entry->value;

		peer->last_full_s = -1;
		if (peer->session == NULL)
			continue;
		gs_session_make_full(peer->session, now);
		gs_peer_update(peer, now);
	}
}

/* --- time --- */

static void
remove_peer(struct gs_peer *peer)
{
	struct gs_engine *engine = peer->engine;
	const struct gs_record record = { .kind = GS_RECORD_END_RELAY,
		.url = gs_str_of(peer->url) };

	engine->ops.record(&record, engine->ops.arg);
	gs_engine_tell(peer, GS_PEER_REMOVED);
	(void)gs_map_del(engine->peers, record.url);
	gs_peer_free(peer);
}

/* The next one that has gone; one at a time, as the map must not change meanwhile. */
static struct gs_peer *
find_gone(const struct gs_engine *engine, struct gs_now now)
{
	struct gs_map_entry *entry;
	size_t at = 0;

	while ((entry = gs_map_next(engine->peers, &at)) != NULL) {
		struct gs_peer *peer = entry->value;

		if (peer->phase == GS_PEER_WAITING && peer->leave_ms >= 0 &&
		    now.mono_ms >= peer->leave_ms)
			return peer;
	}
	return NULL;
}

static void
tick_peers(struct gs_engine *engine, struct gs_now now)
{
	struct gs_map_entry *entry;
	struct gs_peer *peer;
	bool has_gone = false;
	size_t at = 0;

	while ((entry = gs_map_next(engine->peers, &at)) != NULL) {
		peer = entry->value;
		if (peer->due_ms >= 0 && now.mono_ms >= peer->due_ms) {
			gs_peer_tick(peer, now);
			has_gone |= peer->leave_ms >= 0;
		} else if (peer->due_ms >= 0) {
			gs_engine_note_due(engine, peer->due_ms);
		}
	}
	while (has_gone && (peer = find_gone(engine, now)) != NULL)
		remove_peer(peer);
}

void
gs_engine_save(struct gs_engine *engine, struct gs_now now)
{
	struct gs_map_entry *entry;
	size_t at = 0;

	engine->save_due_ms = now.mono_ms + GS_ENGINE_SAVE_MS;
	while ((entry = gs_map_next(engine->peers, &at)) != NULL)
		gs_peer_save(entry->value, now);
}

void
gs_engine_tick(struct gs_engine *engine, struct gs_now now)
{
	engine->due_ms = -1;
	tick_peers(engine, now);
	gs_engine_dial_due(engine, now);
	if (now.mono_ms >= engine->save_due_ms)
		gs_engine_save(engine, now);
}

int64_t
gs_engine_deadline_ms(const struct gs_engine *engine)
{
	return gs_retry_earlier(engine->due_ms, engine->save_due_ms);
}
