/* The process of the host's engine: it starts, dies, and finds its store again. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

#include "enginehost.h"

#define STRAYS 30 /* events of nobody on each relay */
#define MAX_ENGINE_BYTES ((size_t)WORLD_RELAYS * 128 * 1024)

void
host_start(struct host *host)
{
	host_say(host, "start");
	host->back_ms = -1;
	host->intake = gs_intake_new(&host->policy);
	host->window = gs_window_new(GS_WINDOW_MS);
	host->engine = host_make_engine(host);
	host->were_all_failing = false;
	for (size_t i = 0; i < GS_ENGINE_DIALS_S; i++)
		host->dialled_ms[i] = -1000;
	host->busy_ms = -1000 * INT64_C(1000);
	host_restore(host);
	host_look(host);
	host_settle(host);
}

/* A sanitizer has a heap of its own, of which malloc's figures say nothing. */
static bool
has_plain_heap(void)
{
#ifdef __SANITIZE_ADDRESS__
	return false;
#else
	return true;
#endif
}

/* What the engine held goes back to the heap. */
static void
free_engine(struct host *host)
{
	size_t before = mallinfo2().uordblks, after;

	gs_engine_free(host->engine);
	host->engine = NULL;
	after = mallinfo2().uordblks;
	if (before - after > host->figures.engine_bytes)
		host->figures.engine_bytes = before - after;
	if (before - after > MAX_ENGINE_BYTES && has_plain_heap())
		host_complain(host, "the engine held %zu bytes", before - after);
}

void
host_kill(struct host *host, int64_t back_ms)
{
	host_say(host, "killed, %zu items lost", host->num_items);
	host_drop_items(host);
	free_engine(host);
	gs_window_free(host->window);
	gs_intake_free(host->intake);
	host->window = NULL;
	host->intake = NULL;
	host->commit_ms = host->window_ms = host->engine_ms = -1;
	host->back_ms = back_ms;
	for (size_t i = 0; i < WORLD_RELAYS; i++) {
		struct host_relay *relay = &host->relays[i];

		mimic_disconnected(relay->mimic);
		mimic_forget_client(relay->mimic);
		relay->phase = HOST_IDLE;
		relay->peer = NULL;
		relay->is_touched = false;
		relay->is_unsure = relay->is_vague = true;
		relay->dials.short_drops = 0;
		relay->idle_ms = -1;
		relay->next_ms = INT64_MAX;
	}
}

static void
init_relay(struct host *host, size_t number, uint64_t seed)
{
	struct host_relay *relay = &host->relays[number];
	const struct world *world = host->world;
	struct rng rng = rng_of(seed, 'p', number);

	relay->host = host;
	relay->number = number;
	relay->at = &world->relays[number];
	relay->next_ms = INT64_MAX;
	relay->idle_ms = -1;
	relay->is_unsure = true;
	relay->mimic =
	    mimic_new(&relay->at->ways, world->pool, rng_of(seed, 'm', number));
	mimic_set_url(relay->mimic, relay->at->url);
	for (size_t i = 0; (world->faults & WORLD_STRAYS) != 0 && i < STRAYS; i++)
		mimic_store(relay->mimic,
		    &world->pool->events[rng_below(&rng, world->pool->num)]);
}

void
host_init(struct host *host, const struct world *world, struct model *model,
    uint64_t seed)
{
	const struct gs_store_options options = { .scratch = true };
	struct gs_err err = { .text = "" };
	bool ok;

	host->world = world;
	host->model = model;
	host->rng = rng_of(seed, 'h', 0);
	host->slow_every = 1 + rng_below(&host->rng, 40);
	host->commit_ms = host->window_ms = host->engine_ms = host->back_ms = -1;
	gs_policy_init(&host->policy);
	ok = gs_policy_add_service(&host->policy, gs_str_of(WORLD_SERVICE), &err);
	for (size_t i = 0; i < world->num_bootstrap; i++)
		ok = ok &&
		    gs_url_parse_relay(&host->bootstrap[i],
			gs_str_of(world->relays[i].url), false, &err);
	host->store = gs_store_open(NULL, &options, &err);
	if (!ok || host->store == NULL) {
		fprintf(stderr, "enginesim: %s\n", err.text);
		exit(70);
	}
	for (size_t i = 0; i < WORLD_RELAYS; i++)
		init_relay(host, i, seed);
}

void
host_fini(struct host *host)
{
	if (host->engine != NULL)
		host_kill(host, 0);
	for (size_t i = 0; i < WORLD_RELAYS; i++)
		mimic_free(host->relays[i].mimic);
	gs_store_close(host->store);
	gs_policy_fini(&host->policy);
	gs_tally_fini(&host->tally);
	gs_buf_fini(&host->frame);
}
