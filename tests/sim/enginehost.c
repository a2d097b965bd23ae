/* What the daemon does around the engine: connections, in virtual time. */
#include "enginehost.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"

#define PONG_MS 60000
#define MUTE_MS 15000	/* DESIGN 6: from dial to open */
#define LATE_MS 180000	/* many are due at the same time, few are dialled at once */
#define MAX_FRAMES 2000 /* that one relay is sent without saying anything */
#define MAX_TICKS 50	/* at one moment */
#define HOUR_MS (3600 * INT64_C(1000))

struct gs_now
host_now(const struct host *host)
{
	return (struct gs_now){ .mono_ms = host->now_ms,
		.wall_s = MIMIC_EPOCH_S + host->now_ms / 1000 };
}

void
host_complain(struct host *host, const char *fmt, ...)
{
	va_list ap;

	if (host->complaint[0] != '\0')
		return;
	va_start(ap, fmt);
	(void)vsnprintf(host->complaint, sizeof(host->complaint), fmt, ap);
	va_end(ap);
}

void
host_say(const struct host *host, const char *fmt, ...)
{
	va_list ap;

	if (!host->is_loud)
		return;
	printf("%12.3f ", (double)host->now_ms / 1000);
	va_start(ap, fmt);
	(void)vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
}

static struct host_relay *
relay_of(struct gs_peer *peer, struct host *host)
{
	struct host_relay *relay = gs_peer_arg(peer);
	char *end;

	if (relay != NULL)
		return relay;
	relay = &host->relays[strtoul(gs_peer_url(peer) + strlen("wss://r"), &end, 10)];
	assert(strcmp(relay->at->url, gs_peer_url(peer)) == 0);
	gs_peer_set_arg(peer, relay);
	relay->peer = peer;
	return relay;
}

void
host_touch(struct host_relay *relay)
{
	relay->is_touched = true;
}

/* --- ops --- */

static void
check_due(struct host_relay *relay)
{
	struct host *host = relay->host;
	const struct dials *dials = &relay->dials;
	int64_t first_ms = dials->due_ms, last_ms = dials->due_ms + LATE_MS;

	if (relay->is_unsure || relay->at->sort == WAYS_LYING)
		return;
	/* It need not count every failure towards dead. */
	if (dials->is_dead)
		first_ms -= 23 * HOUR_MS;
	if (host->now_ms < first_ms || host->now_ms > last_ms)
		host_complain(host, "r%zu was dialled at %" PRId64 " ms, not %" PRId64,
		    relay->number, host->now_ms, dials->due_ms);
}

static void
check_rate(struct host *host)
{
	int64_t *oldest_ms = &host->dialled_ms[host->next_dialled];
	size_t num = 0;

	if (host->now_ms < *oldest_ms + 1000)
		host_complain(host, "more than %d dials a second", GS_ENGINE_DIALS_S);
	*oldest_ms = host->now_ms;
	host->next_dialled = (host->next_dialled + 1) % GS_ENGINE_DIALS_S;
	for (size_t i = 0; i < WORLD_RELAYS; i++)
		num += host->relays[i].phase == HOST_DIALLING;
	if (num > GS_ENGINE_DIALLING)
		host_complain(host, "%zu dials at a time", num);
}

static void
dial(struct gs_peer *peer, void *arg)
{
	struct host *host = arg;
	struct host_relay *relay = relay_of(peer, host);
	const struct world_outage *away =
	    world_away(host->world, relay->number, host->now_ms / 1000);

	if (relay->phase != HOST_IDLE)
		host_complain(host, "r%zu is dialled a second time", relay->number);
	host_say(host, "r%zu dialled", relay->number);
	check_due(relay);
	relay->phase = HOST_DIALLING;
	relay->will_open = away == NULL;
	relay->over_ms = host->now_ms + 1 + (int64_t)rng_below(&host->rng, 300);
	if (away != NULL && away->is_mute)
		relay->over_ms = host->now_ms + MUTE_MS;
	host->figures.dials++;
	check_rate(host);
	host_touch(relay);
}

static void
hang_up(struct gs_peer *peer, void *arg)
{
	struct host *host = arg;
	struct host_relay *relay = relay_of(peer, host);

	if (relay->phase != HOST_DIALLING && relay->phase != HOST_OPEN)
		host_complain(host, "r%zu is hung up, and was not connected",
		    relay->number);
	host_say(host, "r%zu hung up", relay->number);
	relay->was_open = relay->phase == HOST_OPEN;
	relay->phase = HOST_LEAVING;
	relay->over_ms = host->now_ms + (int64_t)rng_below(&host->rng, 50);
	host_touch(relay);
}

static void
wake(struct gs_peer *peer, void *arg)
{
	host_touch(relay_of(peer, arg));
}

static void
note_change(struct gs_peer *peer, enum gs_peer_change change, void *arg)
{
	struct host *host = arg;
	struct host_relay *relay = relay_of(peer, host);

	host_say(host, "r%zu change %d", relay->number, (int)change);
	if (change == GS_PEER_ADDED)
		relay->is_unsure = true;
	host->figures.repacks += change == GS_PEER_REPACKED;
	if (change != GS_PEER_REMOVED)
		return;
	host->figures.removed++;
	if (relay->number < host->world->num_bootstrap)
		host_complain(host, "r%zu is removed, a bootstrap relay", relay->number);
	if (relay->phase != HOST_IDLE)
		host_complain(host, "r%zu is removed while connected", relay->number);
	relay->peer = NULL;
	mimic_forget_client(relay->mimic);
}

struct gs_engine *
host_make_engine(struct host *host)
{
	const struct gs_engine_ops ops = {
		.dial = dial,
		.hang_up = hang_up,
		.wake = wake,
		.event = host_take_event,
		.record = host_take_record,
		.is_known = host_is_known,
		.changed = note_change,
		.arg = host,
	};
	const struct gs_engine_options options = {
		.silence_ms = GS_SESSION_SILENCE_MS,
		.auth = host->world->has_key ? host->world->pool->client : NULL,
		.per_address = GS_ENGINE_ADDRESS,
		.is_daily_off = !host->has_daily,
	};

	return gs_engine_new(&options, &ops, host_now(host));
}

/* --- frames --- */

static void
lower(int64_t *due_ms, int64_t other_ms)
{
	if (other_ms >= 0 && other_ms < *due_ms)
		*due_ms = other_ms;
}

static void
find_next(struct host_relay *relay)
{
	const struct world_relay *at = relay->at;

	relay->next_ms = INT64_MAX;
	switch (relay->phase) {
	case HOST_IDLE:
		return;
	case HOST_DIALLING:
	case HOST_LEAVING:
		relay->next_ms = relay->over_ms;
		return;
	case HOST_OPEN:
		break;
	}
	lower(&relay->next_ms, mimic_due_ms(relay->mimic));
	lower(&relay->next_ms, relay->pong_ms);
	if (relay->next_outage < at->num_outages)
		lower(&relay->next_ms, at->outages[relay->next_outage].from_s * 1000);
}

static void
say_frame(const struct host_relay *relay, const char *way, const struct gs_buf *frame)
{
	host_say(relay->host, "r%zu %s %.*s", relay->number, way,
	    frame->len < 600 ? (int)frame->len : 600, frame->data ? frame->data : "");
}

static void
send_frames(struct host_relay *relay)
{
	struct host *host = relay->host;
	size_t left = MAX_FRAMES;

	while (relay->phase == HOST_OPEN && left-- > 0) {
		gs_buf_clear(&host->frame);
		if (!gs_peer_next_frame(relay->peer, &host->frame, host_now(host)))
			break;
		say_frame(relay, ">", &host->frame);
		mimic_take(relay->mimic, host->frame.data, host->frame.len, host->now_ms);
		host->figures.frames++;
	}
	if (left == 0)
		host_complain(host, "r%zu: no end of frames", relay->number);
	if (mimic_complaint(relay->mimic) != NULL)
		host_complain(host, "r%zu: %s", relay->number,
		    mimic_complaint(relay->mimic));
}

void
host_settle(struct host *host)
{
	for (size_t i = 0; i < WORLD_RELAYS; i++) {
		struct host_relay *relay = &host->relays[i];

		if (!relay->is_touched)
			continue;
		relay->is_touched = false;
		send_frames(relay);
		find_next(relay);
	}
	host->engine_ms = gs_engine_deadline_ms(host->engine);
}

/* --- connections --- */

/* All that are tracked have failed since their last success. */
static bool
are_all_failing(const struct host *host)
{
	for (size_t i = 0; i < WORLD_RELAYS; i++)
		if (host->relays[i].peer != NULL && host->relays[i].dials.failures == 0)
			return false;
	return true;
}

/* Then the others are due, too. */
static void
note_success(struct host_relay *relay)
{
	struct host *host = relay->host;

	if (host->were_all_failing)
		for (size_t i = 0; i < WORLD_RELAYS; i++)
			host->relays[i].is_unsure = true;
	host->were_all_failing = false;
	relay->dials.is_answered = true;
	dials_succeed(&relay->dials);
}

static void
note_end(struct host_relay *relay)
{
	relay->host->were_all_failing |= are_all_failing(relay->host);
	/* How often it dropped before the restart nobody knows for sure. */
	if (relay->is_vague)
		relay->is_unsure = true;
}

static void
end(struct host_relay *relay, const char *name, bool was_open)
{
	const struct gs_peer_end how = { .name = name, .was_open = was_open };

	relay->phase = HOST_IDLE;
	host_say(relay->host, "r%zu ended: %s", relay->number, name);
	if (was_open)
		mimic_disconnected(relay->mimic);
	gs_peer_ended(relay->peer, &how, host_now(relay->host));
	host_touch(relay);
}

static void
open_relay(struct host_relay *relay)
{
	struct host *host = relay->host;
	size_t num = 0;

	host_say(host, "r%zu open", relay->number);
	relay->phase = HOST_OPEN;
	relay->connection++;
	relay->pong_ms = host->now_ms + PONG_MS;
	relay->dials.opened_ms = host->now_ms;
	relay->dials.is_answered = false;
	while (relay->next_outage < relay->at->num_outages &&
	    relay->at->outages[relay->next_outage].from_s * 1000 <= host->now_ms)
		relay->next_outage++;
	mimic_connected(relay->mimic, host->now_ms);
	ways_tell(&relay->at->ways, gs_peer_limits(relay->peer));
	gs_peer_opened(relay->peer, host_now(host));
	for (size_t i = 0; i < WORLD_RELAYS; i++)
		num += host->relays[i].phase == HOST_OPEN;
	if (num > host->figures.max_open)
		host->figures.max_open = num;
	host_touch(relay);
}

/* What our model does not know after a restart. */
static void
catch_up(struct host_relay *relay)
{
	struct gs_peer_view view;

	gs_peer_look(relay->peer, &view);
	relay->dials.failures = view.failures;
	relay->dials.is_dead = view.status == GS_HEALTH_DEAD;
	if (view.failures > 0 && relay->dials.first_failure_ms == 0)
		relay->dials.first_failure_ms = relay->host->now_ms;
	relay->is_unsure = false;
}

static void
finish_dial(struct host_relay *relay)
{
	struct host *host = relay->host;
	char address[24];

	if (relay->is_unsure)
		catch_up(relay);
	(void)snprintf(address, sizeof(address), "192.0.2.%zu", relay->number);
	if (!gs_peer_may_connect(relay->peer, address))
		host_complain(host, "r%zu: its address is crowded", relay->number);
	if (relay->will_open &&
	    world_away(host->world, relay->number, host->now_ms / 1000) == NULL) {
		open_relay(relay);
		return;
	}
	dials_fail(&relay->dials, host->now_ms);
	end(relay, "refused", false);
	note_end(relay);
}

/* The engine hung up: it was not wanted, or it was no good. */
static void
leave(struct host_relay *relay)
{
	struct host *host = relay->host;
	struct gs_peer_view view;

	end(relay, "left", relay->was_open);
	if (relay->peer == NULL)
		return;
	gs_peer_look(relay->peer, &view);
	if (view.fault != NULL && strcmp(view.fault, "left") != 0) {
		dials_fail(&relay->dials, host->now_ms);
		note_end(relay);
	} else {
		relay->is_unsure = true;
	}
}

void
host_drop(struct host_relay *relay)
{
	int64_t open_ms = relay->host->now_ms - relay->dials.opened_ms;

	dials_drop(&relay->dials, relay->host->now_ms);
	if (open_ms >= 60000)
		relay->is_vague = false;
	end(relay, "closed", true);
	note_end(relay);
}

static void
hear(struct host_relay *relay)
{
	struct host *host = relay->host;
	enum mimic_what what;

	gs_buf_clear(&host->frame);
	what = mimic_next(relay->mimic, &host->frame);
	if (what == MIMIC_DROP) {
		host_drop(relay);
		return;
	}
	say_frame(relay, "<", &host->frame);
	host->figures.frames++;
	gs_peer_frame(relay->peer, host->frame.data ? host->frame.data : "",
	    host->frame.len, host_now(host));
	if (what == MIMIC_EOSE || what == MIMIC_FINISH)
		note_success(relay);
	host_touch(relay);
}

static void
step_open(struct host_relay *relay)
{
	struct host *host = relay->host;
	const struct world_relay *at = relay->at;
	int64_t due_ms = mimic_due_ms(relay->mimic);

	if (relay->next_outage < at->num_outages &&
	    at->outages[relay->next_outage].from_s * 1000 <= host->now_ms) {
		host_drop(relay);
	} else if (due_ms >= 0 && due_ms <= host->now_ms) {
		hear(relay);
	} else if (relay->pong_ms <= host->now_ms) {
		relay->pong_ms = host->now_ms + PONG_MS;
		gs_peer_pong(relay->peer, host_now(host));
		host_touch(relay);
	}
}

void
host_step_relay(struct host_relay *relay)
{
	switch (relay->phase) {
	case HOST_IDLE:
		break;
	case HOST_DIALLING:
		finish_dial(relay);
		break;
	case HOST_LEAVING:
		leave(relay);
		break;
	case HOST_OPEN:
		step_open(relay);
		break;
	}
	find_next(relay);
	host_settle(relay->host);
}

void
host_tick(struct host *host)
{
	host->ticks_now = host->ticked_ms == host->now_ms ? host->ticks_now + 1 : 0;
	host->ticked_ms = host->now_ms;
	if (host->ticks_now > MAX_TICKS)
		host_complain(host, "the engine wants to be called again and again");
	gs_engine_tick(host->engine, host_now(host));
	host->figures.ticks++;
	host_settle(host);
}

int64_t
host_due_ms(const struct host *host)
{
	int64_t due_ms = INT64_MAX;

	if (host->back_ms >= 0)
		return host->back_ms;
	for (size_t i = 0; i < WORLD_RELAYS; i++)
		if (host->relays[i].next_ms < due_ms)
			due_ms = host->relays[i].next_ms;
	lower(&due_ms, host->commit_ms);
	lower(&due_ms, host->window_ms);
	lower(&due_ms, host->engine_ms);
	return due_ms;
}
