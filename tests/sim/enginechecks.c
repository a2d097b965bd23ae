/* Once a minute: how the host's connections look, and whether they are those wanted. */
#include <inttypes.h>

#include "enginehost.h"

#define LEFT_MS (300 * 1000) /* 60 s, the window, commits, and the minute of a look */
#define DIALLED_MS (240 * 1000)

/* Something that we ask of it has no answer. */
static bool
is_named(const struct host_relay *relay)
{
	struct gs_peer_view view;

	gs_peer_look(relay->peer, &view);
	return view.pending > 0 || view.filters.failed > 0 || view.filters.held > 0 ||
	    view.filters.live + view.filters.polled < view.num_filters;
}

void
host_fill_links(struct host *host, struct model_link links[WORLD_RELAYS])
{
	for (size_t i = 0; i < WORLD_RELAYS; i++) {
		struct host_relay *relay = &host->relays[i];
		struct model_link *link = &links[i];

		link->is_open = relay->phase == HOST_OPEN;
		link->connection = relay->connection;
		link->is_named =
		    link->is_open && relay->at->sort != WAYS_HONEST && is_named(relay);
	}
}

/* Due later, by what it says itself; that is checked when it is dialled. */
static bool
is_waiting(const struct host_relay *relay)
{
	struct gs_peer_view view;

	if (relay->peer == NULL)
		return false;
	gs_peer_look(relay->peer, &view);
	return view.due_ms > relay->host->now_ms;
}

static void
check_wanted(struct host_relay *relay)
{
	struct host *host = relay->host;

	if (relay->phase != HOST_IDLE || is_waiting(relay)) {
		relay->idle_ms = -1;
		return;
	}
	if (relay->idle_ms < 0)
		relay->idle_ms = host->now_ms;
	if (host->now_ms - relay->idle_ms > DIALLED_MS)
		host_complain(host, "r%zu is wanted, and not dialled since %" PRId64 " s",
		    relay->number, relay->idle_ms / 1000);
}

static void
check_unwanted(struct host_relay *relay, int64_t since_ms)
{
	struct host *host = relay->host;

	relay->idle_ms = -1;
	if (host->now_ms - since_ms > LEFT_MS &&
	    (relay->peer != NULL || relay->phase != HOST_IDLE))
		host_complain(host,
		    "r%zu is not wanted since %" PRId64 " s, and still here at %" PRId64,
		    relay->number, since_ms / 1000, host->now_ms / 1000);
}

void
host_check(struct host *host)
{
	uint64_t wanted = model_wanted(host->model);
	struct gs_engine_counts counts = gs_engine_count(host->engine);
	size_t num = 0;

	for (size_t i = 0; i < WORLD_RELAYS; i++) {
		struct host_relay *relay = &host->relays[i];

		num += relay->phase == HOST_OPEN || relay->phase == HOST_LEAVING;
		if ((wanted >> i & 1) != 0)
			check_wanted(relay);
		else
			check_unwanted(relay, model_unwanted_ms(host->model, i));
	}
	if (counts.connected > num)
		host_complain(host, "%zu are connected, and %zu counted", num,
		    counts.connected);
}
