/* The world of a seed: how its relays behave, when they are away, when we die. */
#include <stdio.h>
#include <stdlib.h>

#include "engineworld.h"
#include "mem.h"

#define KILLS 12
#define SAFE_PAGE 20 /* below it, a second with as many events is lost for good */

static bool
has(const struct world *world, enum world_fault fault)
{
	return (world->faults & (unsigned)fault) != 0;
}

static enum ways_sort
draw_sort(const struct world *world, struct rng *rng)
{
	switch (rng_below(rng, 8)) {
	case 0:
		return has(world, WORLD_LIMITS) ? WAYS_LIMITED : WAYS_HONEST;
	case 1:
	case 2:
		return has(world, WORLD_REFUSES) ? WAYS_FAULTY : WAYS_HONEST;
	case 3:
		return has(world, WORLD_LIES) ? WAYS_LYING : WAYS_HONEST;
	default:
		return WAYS_HONEST;
	}
}

static void
lift(size_t *value, size_t least)
{
	if (*value > 0 && *value < least)
		*value = least;
}

static void
lower_time(int64_t *value, int64_t most)
{
	if (*value > most)
		*value %= most + 1;
}

/* Nothing that loses events for good, and for the honest nothing that takes long. */
static void
tame(const struct world *world, struct world_relay *relay, struct rng *rng)
{
	static const unsigned noises[] = { 0, MIMIC_REPEATS, MIMIC_UNMATCHED,
		MIMIC_UNKNOWN_SUB, MIMIC_CORRUPTS, MIMIC_JUNK };
	struct mimic_ways *ways = &relay->ways;
	unsigned noise = noises[rng_below(rng, sizeof(noises) / sizeof(noises[0]))];

	if (!has(world, WORLD_DOORS))
		ways->door = MIMIC_OPEN;
	if (!has(world, WORLD_DROPS))
		ways->drop_every = 0;
	lower_time(&ways->answer_ms, has(world, WORLD_SLOW) ? 5000 : 300);
	lower_time(&ways->frame_ms, has(world, WORLD_SLOW) ? 200 : 2);
	if (relay->sort == WAYS_LYING)
		return;
	lift(&ways->page_cap, SAFE_PAGE);
	lift(&ways->req_cap, SAFE_PAGE);
	/* A hundred refs have to fit into a message. */
	lift(&ways->limits.bytes, 16384);
	lift(&ways->stated.bytes, 16384);
	if (relay->sort == WAYS_HONEST) {
		lift(&ways->limits.subs, 2);
		lift(&ways->stated.subs, 2);
	}
	if (relay->sort == WAYS_FAULTY)
		ways->lies = noise;
	/* Silence concerns all filters of a REQ. */
	if (ways->refusal_for_good.text == NULL)
		ways->refuse_letter = '\0';
}

static void
add_outage(struct world_relay *relay, int64_t from_s, int64_t lasts_s, bool is_mute)
{
	relay->outages = gs_mem_more(relay->outages, relay->num_outages,
	    &relay->cap_outages, sizeof(*relay->outages));
	relay->outages[relay->num_outages++] =
	    (struct world_outage){ from_s, from_s + lasts_s, is_mute };
}

static int64_t
draw_length(struct rng *rng)
{
	switch (rng_below(rng, 6)) {
	case 0:
		return WORLD_DAY_S + (int64_t)rng_below(rng, (size_t)WORLD_HOUR_S);
	case 1:
	case 2:
		return (int64_t)rng_below(rng, (size_t)(6 * WORLD_HOUR_S));
	default:
		return (int64_t)rng_below(rng, 900);
	}
}

/* Half of the relays are always there. */
static void
draw_outages(struct world *world, struct world_relay *relay, struct rng *rng)
{
	bool is_stable = rng_once_in(rng, 2);
	size_t mean_h = 2 + rng_below(rng, 40);
	int64_t at_s = (int64_t)rng_below(rng, mean_h * 3600);

	while (!is_stable && at_s < WORLD_ACTIVE_S) {
		bool is_drop = rng_once_in(rng, 2);
		int64_t lasts_s = is_drop ? 0 : draw_length(rng);
		bool is_mute = rng_once_in(rng, 2);

		if (has(world, is_drop ? WORLD_DROPS : WORLD_OUTAGES))
			add_outage(relay, at_s, lasts_s, is_mute);
		at_s += lasts_s + 1 + (int64_t)rng_below(rng, mean_h * 2 * 3600);
	}
}

static int
compare_outages(const void *a, const void *b)
{
	const struct world_outage *x = a, *y = b;

	return (x->from_s > y->from_s) - (x->from_s < y->from_s);
}

/* Our own network is away. */
static void
draw_no_net(struct world *world, struct rng *rng)
{
	size_t times = rng_below(rng, 3);

	for (; times > 0; times--) {
		int64_t at_s = (int64_t)rng_below(rng, (size_t)WORLD_ACTIVE_S);
		int64_t lasts_s = (int64_t)rng_below(rng, (size_t)(4 * WORLD_HOUR_S));
		bool is_mute = rng_once_in(rng, 2);

		for (size_t i = 0; has(world, WORLD_NO_NET) && i < WORLD_RELAYS; i++)
			add_outage(&world->relays[i], at_s, lasts_s, is_mute);
	}
}

static int
compare_times(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Many of them while it begins: that is when most is read. */
static int64_t
draw_kill(struct rng *rng)
{
	switch (rng_below(rng, 4)) {
	case 0:
		return (int64_t)rng_below(rng, 30);
	case 1:
		return (int64_t)rng_below(rng, 900);
	default:
		return (int64_t)rng_below(rng, (size_t)WORLD_ACTIVE_S);
	}
}

static void
draw_kills(struct world *world, struct rng *rng)
{
	size_t times = 1 + rng_below(rng, KILLS);

	if (!has(world, WORLD_KILLS))
		return;
	for (; times > 0; times--) {
		world->kills = gs_mem_more(world->kills, world->num_kills,
		    &world->cap_kills, sizeof(*world->kills));
		world->kills[world->num_kills++] = draw_kill(rng);
	}
	qsort(world->kills, world->num_kills, sizeof(*world->kills), compare_times);
}

void
world_draw_relays(struct world *world, uint64_t seed)
{
	struct rng rng = rng_of(seed, 'n', 0);

	for (size_t i = 0; i < WORLD_RELAYS; i++) {
		struct world_relay *relay = &world->relays[i];
		struct rng own = rng_of(seed, 'r', i);

		(void)snprintf(relay->url, sizeof(relay->url), "wss://r%zu.example", i);
		relay->sort = draw_sort(world, &own);
		/* What is found first is found by the honest. */
		if (i < world->num_bootstrap)
			relay->sort = WAYS_HONEST;
		ways_draw(&relay->ways, relay->sort, &own);
		tame(world, relay, &own);
		if (i < world->num_bootstrap)
			relay->ways.door = MIMIC_OPEN;
		own = rng_of(seed, 'o', i);
		draw_outages(world, relay, &own);
	}
	draw_no_net(world, &rng);
	for (size_t i = 0; i < WORLD_RELAYS; i++)
		if (world->relays[i].num_outages > 1)
			qsort(world->relays[i].outages, world->relays[i].num_outages,
			    sizeof(struct world_outage), compare_outages);
	draw_kills(world, &rng);
}
