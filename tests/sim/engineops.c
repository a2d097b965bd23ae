/* What the engine asks of its host, checked against what it may ask. */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "enginehost.h"

#define MUTE_MS 15000 /* DESIGN 6: from dial to open */
#define SOON_MS 10
#define STAYED_MS 60000
#define BUSY_MS 1100   /* then dials have been waiting for their turn */
#define MAX_REPACKS 15 /* of a relay in an hour */
#define HOUR_MS (3600 * INT64_C(1000))

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

/* A connection of 60 s is a success as well: then all that failed together is due. */
static void
note_stayed(struct host *host)
{
	for (size_t i = 0; host->were_all_failing && i < WORLD_RELAYS; i++) {
		const struct host_relay *relay = &host->relays[i];

		/* It may be over at this very moment. */
		if (relay->phase != HOST_IDLE && relay->phase != HOST_DIALLING &&
		    host->now_ms - relay->dials.opened_ms >= STAYED_MS)
			host_note_success(host);
	}
}

static void
check_due(struct host_relay *relay)
{
	struct host *host = relay->host;
	const struct dials *dials = &relay->dials;
	int64_t first_ms = dials->due_ms;
	bool is_late = host->now_ms > dials->due_ms + SOON_MS &&
	    host->busy_ms < host->now_ms - BUSY_MS;

	note_stayed(host);
	if (relay->is_unsure || relay->at->sort == WAYS_LYING)
		return;
	/* It need not count every failure towards dead. */
	if (dials->is_dead)
		first_ms -= 23 * HOUR_MS;
	if (host->now_ms < first_ms || is_late)
		host_complain(host, "r%zu was dialled at %" PRId64 " ms, not %" PRId64,
		    relay->number, host->now_ms, dials->due_ms);
}

/* No more dials at the moment, of strangers at least. */
void
host_note_busy(struct host *host)
{
	size_t num = 0;

	for (size_t i = 0; i < WORLD_RELAYS; i++)
		num += host->relays[i].phase == HOST_DIALLING;
	if (num >= GS_ENGINE_DIALLING - GS_ENGINE_KEPT ||
	    host->now_ms < host->dialled_ms[host->next_dialled] + 1000)
		host->busy_ms = host->now_ms;
	if (num > GS_ENGINE_DIALLING)
		host_complain(host, "%zu dials at a time", num);
}

static void
check_rate(struct host *host)
{
	int64_t *oldest_ms = &host->dialled_ms[host->next_dialled];

	if (host->now_ms < *oldest_ms + 1000)
		host_complain(host, "more than %d dials a second", GS_ENGINE_DIALS_S);
	*oldest_ms = host->now_ms;
	host->next_dialled = (host->next_dialled + 1) % GS_ENGINE_DIALS_S;
	host_note_busy(host);
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

/* Now and then that saves something; a loop of it reads for ever. */
static void
note_repacked(struct host_relay *relay)
{
	int64_t hour = relay->host->now_ms / HOUR_MS;

	relay->host->figures.repacks++;
	relay->repacks = hour == relay->packed_h ? relay->repacks + 1 : 1;
	relay->packed_h = hour;
	if (relay->repacks > MAX_REPACKS)
		host_complain(relay->host, "r%zu is packed anew again and again",
		    relay->number);
}

static void
note_change(struct gs_peer *peer, enum gs_peer_change change, void *arg)
{
	struct host *host = arg;
	struct host_relay *relay = relay_of(peer, host);

	host_say(host, "r%zu change %d", relay->number, (int)change);
	if (change == GS_PEER_ADDED)
		relay->is_unsure = true;
	if (change == GS_PEER_REPACKED)
		note_repacked(relay);
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
