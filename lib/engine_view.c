/* Looking at an engine: one relay, all of them, and what the store keeps of each. */
#include <stdlib.h>
#include <string.h>

#include "engine_private.h"
#include "mem.h"

const char *
gs_source_name(enum gs_source source)
{
	switch (source) {
	case GS_SOURCE_LIVE:
		return "live_sync";
	case GS_SOURCE_CATCHUP:
		return "catchup";
	case GS_SOURCE_DAILY:
		return "daily_catchup";
	case GS_SOURCE_DIRECT:
		break;
	}
	return "direct";
}

const char *
gs_peer_phase_name(enum gs_peer_phase phase)
{
	switch (phase) {
	case GS_PEER_WAITING:
		return "waiting";
	case GS_PEER_DIALLING:
		return "dialling";
	case GS_PEER_OPEN:
		return "connected";
	case GS_PEER_LEAVING:
		break;
	}
	return "leaving";
}

const char *
gs_peer_url(const struct gs_peer *peer)
{
	return peer->url;
}

struct gs_limits *
gs_peer_limits(struct gs_peer *peer)
{
	return &peer->limits;
}

bool
gs_peer_is_bootstrap(const struct gs_peer *peer)
{
	return peer->is_bootstrap;
}

bool
gs_peer_is_kept(const struct gs_peer *peer)
{
	return peer->is_bootstrap || peer->is_kept;
}

void
gs_peer_set_arg(struct gs_peer *peer, void *arg)
{
	peer->arg = arg;
}

void *
gs_peer_arg(const struct gs_peer *peer)
{
	return peer->arg;
}

static int64_t
get_read_until_s(const struct gs_peer *peer)
{
	return peer->session != NULL ? gs_session_read_until_s(peer->session)
				     : peer->read_until_s;
}

static int64_t
get_last_full_s(const struct gs_peer *peer)
{
	return peer->session != NULL ? gs_session_last_full_s(peer->session)
				     : peer->last_full_s;
}

static size_t
count_pending(const struct gs_peer *peer)
{
	size_t num;

	free(gs_plan_list_pending(peer->plan, &num));
	return peer->session != NULL || peer->entry == NULL ? num
							    : peer->entry->num_repos;
}

static void
look_at_session(const struct gs_peer *peer, struct gs_peer_view *view)
{
	static const struct gs_session_counts none;

	view->counts = &none;
	view->notice = "";
	if (peer->session == NULL)
		return;
	view->counts = gs_session_counts(peer->session);
	view->notice = gs_session_notice(peer->session);
	view->filters = gs_session_filters(peer->session);
	view->num_filters = peer->num_parts;
}

void
gs_peer_look(const struct gs_peer *peer, struct gs_peer_view *view)
{
	*view = (struct gs_peer_view){
		.phase = peer->phase,
		.status = peer->health.status,
		.failures = peer->health.failures.num,
		.last_success_s = peer->health.last_success_s,
		.read_until_s = get_read_until_s(peer),
		.last_full_s = get_last_full_s(peer),
		.due_ms = gs_peer_dial_due_ms(peer),
		.repos = peer->entry != NULL ? peer->entry->num_repos : 0,
		.pending = count_pending(peer),
		.is_bootstrap = peer->is_bootstrap,
		.takes_turns = peer->takes_turns,
		.is_capped = peer->is_capped,
		.is_lingering = peer->leave_ms >= 0,
		.attempts_ok = peer->attempts_ok,
		.attempts_failed = peer->attempts_failed,
		.fault = peer->fault[0] != '\0' ? peer->fault : NULL,
	};
	look_at_session(peer, view);
}

void
gs_engine_each(const struct gs_engine *engine,
    bool (*fn)(struct gs_peer *peer, void *arg), void *arg)
{
	struct gs_map_entry **entries = gs_map_sorted(engine->peers);
	size_t num = gs_map_count(engine->peers);

	for (size_t i = 0; i < num; i++)
		if (!fn(entries[i]->value, arg))
			break;
	free(entries);
}

struct gs_peer *
gs_engine_find(const struct gs_engine *engine, struct gs_str url)
{
	return gs_map_get(engine->peers, url);
}

struct gs_engine_counts
gs_engine_count(const struct gs_engine *engine)
{
	struct gs_engine_counts counts = { .dialling = engine->num_dialling };
	struct gs_map_entry *entry;
	size_t at = 0;

	while ((entry = gs_map_next(engine->peers, &at)) != NULL) {
		const struct gs_peer *peer = entry->value;

		counts.tracked += peer->entry != NULL;
		counts.connected += peer->phase == GS_PEER_OPEN;
		counts.dead +=
		    peer->entry != NULL && peer->health.status == GS_HEALTH_DEAD;
	}
	return counts;
}

/* --- the state file --- */

static bool
write_status(struct gs_peer *peer, void *arg)
{
	struct gs_state *state = arg;
	struct gs_relay_entry *entry = gs_map_get(state->relays, gs_str_of(peer->url));
	struct gs_relay_status *status;
	struct gs_str *refs;
	size_t num;

	if (entry == NULL || entry->status != NULL)
		return true;
	status = gs_relay_add_status(entry);
	status->status = gs_mem_str(gs_health_status_name(peer->health.status));
	status->failures = peer->health.failures.num;
	status->read_until = get_read_until_s(peer);
	status->last_success = peer->health.last_success_s;
	status->last_full_sync = get_last_full_s(peer);
	refs = gs_plan_list_pending(peer->plan, &num);
	for (size_t i = 0; i < num; i++)
		if (refs[i].len > 0)
			gs_status_add_pending(status, refs[i]);
	free(refs);
	return true;
}

void
gs_engine_write_status(const struct gs_engine *engine, struct gs_state *state)
{
	gs_engine_each(engine, write_status, state);
}

/* --- what the store keeps --- */

static bool
is_saved(const struct gs_peer *peer, const struct gs_peer_saved *saved)
{
	const struct gs_peer_saved *old = &peer->saved;

	return peer->was_saved && saved->num_refused == old->num_refused &&
	    saved->refusals == old->refusals &&
	    saved->read_until_s == old->read_until_s &&
	    saved->last_full_s == old->last_full_s &&
	    saved->health.status == old->health.status &&
	    saved->health.failures == old->health.failures &&
	    saved->health.short_drops == old->health.short_drops &&
	    saved->health.counted_s == old->health.counted_s &&
	    saved->health.due_s == old->health.due_s &&
	    saved->health.last_success_s == old->health.last_success_s &&
	    memcmp(&saved->limits, &old->limits, sizeof(saved->limits)) == 0;
}

void
gs_peer_save(struct gs_peer *peer, struct gs_now now)
{
	const struct gs_engine_ops *ops = &peer->engine->ops;
	struct gs_peer_saved saved = {
		.health = gs_health_save(&peer->health, now.mono_ms, now.wall_s),
		.read_until_s = get_read_until_s(peer),
		.last_full_s = get_last_full_s(peer),
		.limits = peer->limits,
	};
	struct gs_progress_relay relay = {
		.url = gs_str_of(peer->url),
		.health = saved.health,
		.read_until_s = saved.read_until_s,
		.last_full_s = saved.last_full_s,
		.limits = saved.limits,
	};
	const struct gs_record record = {
		.kind = GS_RECORD_RELAY, .url = relay.url, .relay = &relay
	};

	if (peer->entry == NULL)
		return;
	gs_peer_list_refused(peer, &relay, now);
	saved.num_refused = relay.num_refused;
	for (size_t i = 0; i < relay.num_refused; i++)
		saved.refusals += relay.refused[i].failures;
	if (!is_saved(peer, &saved))
		ops->record(&record, ops->arg);
	peer->saved = saved;
	peer->was_saved = true;
	free((void *)(uintptr_t)relay.refused);
}
