/* One relay of an engine: its connections, its health, and what is told of it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine_private.h"
#include "mem.h"
#include "retry.h"

#define TURN_OPEN_MS 60000  /* a turn lasts so long at least */
#define TURN_AGAIN_MS 10000 /* what is not read by then is looked at so often */

struct gs_peer *
gs_peer_new(struct gs_engine *engine, struct gs_str url, struct gs_now now)
{
	struct gs_peer *peer = gs_mem_new(sizeof(*peer));

	peer->engine = engine;
	peer->url = gs_mem_dup(url.ptr, url.len);
	peer->leave_ms = peer->not_before_ms = peer->opened_ms = peer->due_ms = -1;
	peer->consolidated_s = peer->read_until_s = peer->last_full_s = -1;
	gs_health_init(&peer->health, now.mono_ms, false, engine->options.max_backoff_ms);
	gs_limits_init(&peer->limits);
	peer->plan = gs_plan_new();
	return peer;
}

void
gs_peer_free(struct gs_peer *peer)
{
	if (peer == NULL)
		return;
	gs_session_free(peer->session);
	gs_plan_free(peer->plan);
	free(peer->part_flags);
	free(peer->refused);
	free(peer->url);
	free(peer);
}

/* --- what is due --- */

/* While it consolidates it waits with tidying up: that ends with all packed anew. */
static bool
has_plan_due(const struct gs_peer *peer, struct gs_now now)
{
	return peer->consolidated_s < 0 || !gs_plan_is_untidy(peer->plan, now);
}

static int64_t
find_due_ms(const struct gs_peer *peer, struct gs_now now)
{
	int64_t due_ms = peer->phase == GS_PEER_LEAVING ? -1 : peer->leave_ms;

	if (has_plan_due(peer, now))
		due_ms = gs_retry_earlier(due_ms, gs_plan_deadline_ms(peer->plan));
	if (peer->phase != GS_PEER_OPEN)
		return due_ms;
	if (peer->takes_turns)
		due_ms = gs_retry_earlier(due_ms, peer->turn_ms);
	due_ms = gs_retry_earlier(due_ms, gs_health_deadline_ms(&peer->health));
	return gs_retry_earlier(due_ms, gs_session_deadline_ms(peer->session));
}

static void
tell_filters(struct gs_peer *peer)
{
	struct gs_session_filters filters = gs_session_filters(peer->session);

	if (filters.polled == peer->told.polled && filters.failed == peer->told.failed)
		return;
	peer->told = filters;
	gs_engine_tell(peer, GS_PEER_FILTERS);
}

void
gs_peer_leave(struct gs_peer *peer, enum gs_leave leave)
{
	if (peer->phase != GS_PEER_OPEN && peer->phase != GS_PEER_DIALLING)
		return;
	if (peer->phase == GS_PEER_DIALLING)
		gs_engine_dial_over(peer);
	peer->leave = leave;
	peer->phase = GS_PEER_LEAVING;
	peer->engine->ops.hang_up(peer, peer->engine->ops.arg);
}

static void
leave_if_unwell(struct gs_peer *peer)
{
	switch (gs_session_fault(peer->session)) {
	case GS_FAULT_NONE:
		return;
	case GS_FAULT_SILENT:
		(void)snprintf(peer->fault, sizeof(peer->fault), "silent");
		break;
	case GS_FAULT_NOISY:
		(void)snprintf(peer->fault, sizeof(peer->fault), "protocol");
		break;
	}
	gs_peer_leave(peer, GS_LEAVE_FAULT);
}

void
gs_peer_update(struct gs_peer *peer, struct gs_now now)
{
	if (peer->session != NULL && peer->phase == GS_PEER_OPEN) {
		/* to count them takes a while: not for each frame */
		if (gs_peer_settle(peer, now))
			tell_filters(peer);
		leave_if_unwell(peer);
	}
	peer->due_ms = find_due_ms(peer, now);
	if (peer->due_ms >= 0)
		gs_engine_note_due(peer->engine, peer->due_ms);
	if (peer->phase == GS_PEER_OPEN)
		peer->engine->ops.wake(peer, peer->engine->ops.arg);
}

/* All that it had was read, and others wait for its place. */
static void
end_turn(struct gs_peer *peer, struct gs_now now)
{
	if (!peer->takes_turns || now.mono_ms < peer->turn_ms)
		return;
	peer->turn_ms = now.mono_ms + TURN_AGAIN_MS;
	if (!peer->is_bootstrap &&
	    gs_history_num_left(gs_session_history(peer->session)) == 0)
		gs_peer_leave(peer, GS_LEAVE_OURS);
}

static void
tick_open(struct gs_peer *peer, struct gs_now now)
{
	if (gs_health_tick(&peer->health, now.mono_ms, now.wall_s)) {
		gs_engine_note_success(peer->engine, now);
		gs_engine_tell(peer, GS_PEER_STATUS);
	}
	gs_session_tick(peer->session, now);
	tell_filters(peer);
	end_turn(peer, now);
}

void
gs_peer_tick(struct gs_peer *peer, struct gs_now now)
{
	gs_peer_tidy(peer, now);
	if (peer->leave_ms >= 0 && now.mono_ms >= peer->leave_ms)
		gs_peer_leave(peer, GS_LEAVE_OURS);
	if (peer->phase == GS_PEER_OPEN)
		tick_open(peer, now);
	gs_peer_update(peer, now);
}

/* --- a connection --- */

void
gs_peer_opened(struct gs_peer *peer, struct gs_now now)
{
	if (peer->phase != GS_PEER_DIALLING)
		return;
	gs_engine_dial_over(peer);
	peer->phase = GS_PEER_OPEN;
	peer->opened_ms = now.mono_ms;
	peer->turn_ms = now.mono_ms + TURN_OPEN_MS;
	peer->attempts_ok++;
	gs_health_opened(&peer->health, now.mono_ms);
	if (peer->session == NULL)
		gs_peer_begin_session(peer, now);
	gs_session_opened(peer->session, now);
	gs_engine_tell(peer, GS_PEER_OPENED);
	gs_engine_note_due(peer->engine, now.mono_ms);
	gs_peer_update(peer, now);
}

static enum gs_source
find_source(const struct gs_session *session)
{
	switch (gs_session_way(session)) {
	case GS_WAY_LIVE:
		return GS_SOURCE_LIVE;
	case GS_WAY_DAILY:
		return GS_SOURCE_DAILY;
	case GS_WAY_HISTORY:
		break;
	}
	return GS_SOURCE_CATCHUP;
}

void
gs_peer_frame(struct gs_peer *peer, const char *text, size_t len, struct gs_now now)
{
	const struct gs_engine_ops *ops = &peer->engine->ops;

	if (peer->phase != GS_PEER_OPEN)
		return;
	if (gs_session_frame(peer->session, text, len, now) != NULL)
		ops->event(peer, (struct gs_str){ text, len }, find_source(peer->session),
		    ops->arg);
	if (peer->health.phase != GS_HEALTH_ANSWERED &&
	    gs_session_had_eose(peer->session)) {
		bool has_changed = gs_health_answered(&peer->health, now.wall_s);

		peer->is_kept = true;
		gs_engine_note_success(peer->engine, now);
		if (has_changed)
			gs_engine_tell(peer, GS_PEER_STATUS);
	}
	gs_peer_update(peer, now);
}

void
gs_peer_pong(struct gs_peer *peer, struct gs_now now)
{
	if (peer->phase == GS_PEER_OPEN)
		gs_session_pong(peer->session, now);
}

void
gs_peer_paused(struct gs_peer *peer, int64_t for_ms)
{
	if (peer->phase == GS_PEER_OPEN)
		gs_session_paused(peer->session, for_ms);
}

bool
gs_peer_next_frame(struct gs_peer *peer, struct gs_buf *frame, struct gs_now now)
{
	bool has_frame;

	if (peer->phase != GS_PEER_OPEN)
		return false;
	has_frame = gs_session_next_frame(peer->session, frame, now);
	peer->due_ms = find_due_ms(peer, now);
	if (peer->due_ms >= 0)
		gs_engine_note_due(peer->engine, peer->due_ms);
	return has_frame;
}

/* What the end says about the relay; true: its status has changed. */
static bool
tell_health(struct gs_peer *peer, const struct gs_peer_end *end, struct gs_now now)
{
	bool all_fail;

	if (peer->leave == GS_LEAVE_OURS || end->is_crowded) {
		gs_health_left(&peer->health, now.mono_ms);
		return false;
	}
	all_fail = gs_engine_are_others_failing(peer);
	if (peer->leave == GS_LEAVE_FAULT || !end->was_open)
		return gs_health_failed(&peer->health, now.mono_ms, end->retry_after_s,
		    all_fail);
	return gs_health_dropped(&peer->health, now.mono_ms, now.wall_s, all_fail);
}

static void
count_end(struct gs_peer *peer, const struct gs_peer_end *end)
{
	if (end->was_open || end->is_crowded || peer->leave == GS_LEAVE_OURS)
		return;
	peer->attempts_failed++;
	peer->is_kept = false;
}

void
gs_peer_ended(struct gs_peer *peer, const struct gs_peer_end *end, struct gs_now now)
{
	bool has_changed;

	if (peer->phase == GS_PEER_WAITING)
		return;
	if (peer->phase == GS_PEER_DIALLING)
		gs_engine_dial_over(peer);
	if (peer->session != NULL)
		gs_session_closed(peer->session, now);
	if (peer->leave != GS_LEAVE_FAULT)
		(void)snprintf(peer->fault, sizeof(peer->fault), "%s", end->name);
	count_end(peer, end);
	has_changed = tell_health(peer, end, now);
	peer->phase = GS_PEER_WAITING;
	gs_engine_free_address(peer, end->is_crowded, now);
	gs_engine_tell(peer, GS_PEER_CLOSED);
	if (has_changed)
		gs_engine_tell(peer, GS_PEER_STATUS);
	if (peer->session != NULL)
		(void)gs_peer_settle(peer, now);
	gs_engine_note_due(peer->engine, now.mono_ms);
	gs_peer_update(peer, now);
}

void
gs_peer_cap(struct gs_peer *peer, int64_t until_s, struct gs_now now)
{
	if (until_s <= now.wall_s)
		return;
	peer->not_before_ms = now.mono_ms + (until_s - now.wall_s) * 1000;
	peer->is_capped = true;
	gs_engine_tell(peer, GS_PEER_CAPPED);
	gs_peer_leave(peer, GS_LEAVE_OURS);
}
