/*
 * The engine against 60 relays in virtual time, three days a seed, by seeds.  A seed
 * that fails says so, and fails again in the same way when it is run alone.
 */
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "enginehost.h"
#include "mem.h"

#define SWEEP_MS 60000
#define QUIET_S (4 * WORLD_HOUR_S)
#define QUIET_DAILY_S (28 * WORLD_HOUR_S)
#define MAX_DOWN_S 1800
#define PATIENT_MS (4 * 3600 * 1000)
#define MAX_STEPS 20000000

/*
 * Maps are keyed with random bytes, and what is looked at in their order comes in
 * another one each time: here it is the seed's.  libsodium hands over no argument.
 */
static struct rng bytes_rng;

static const char *
name_bytes(void)
{
	return "seeded";
}

static uint32_t
draw_word(void)
{
	return (uint32_t)rng_next(&bytes_rng);
}

static void
draw_bytes(void *buf, const size_t len)
{
	uint8_t *bytes = buf;

	for (size_t i = 0; i < len; i++)
		bytes[i] = (uint8_t)rng_next(&bytes_rng);
}

static randombytes_implementation seeded_bytes = {
	.implementation_name = name_bytes,
	.random = draw_word,
	.buf = draw_bytes,
};

struct sim {
	struct world *world;
	struct model *model;
	struct host host;
	struct model_link links[WORLD_RELAYS];
	size_t next_post, next_kill;
	int64_t sweep_ms;
	bool is_calm;
};

struct totals {
	uint64_t seeds, failed, events, stored, dials, frames, reqs, steps, kills;
	uint64_t repacks, removed;
	size_t engine_bytes;
};

static void
play_posts(struct sim *sim)
{
	const struct world *world = sim->world;

	for (; sim->next_post < world->num_posts; sim->next_post++) {
		const struct world_post *post = &world->posts[sim->next_post];
		const struct pool_event *event = &world->events[post->event].event;
		struct host_relay *relay = &sim->host.relays[post->relay];

		if (post->at_s * 1000 > sim->host.now_ms)
			break;
		if (post->at_s < 0) {
			mimic_store(relay->mimic, event);
			continue;
		}
		host_say(&sim->host, "r%zu gets %zu: %s", post->relay, post->event,
		    event->json);
		mimic_publish(relay->mimic, event, sim->host.now_ms);
		if (sim->host.engine != NULL) {
			host_touch(relay);
			host_settle(&sim->host);
		}
	}
}

/* It dies with something in its hands, every other time with the worst. */
static bool
is_time_to_die(struct sim *sim)
{
	struct host *host = &sim->host;
	int64_t kill_ms = sim->world->kills[sim->next_kill] * 1000;

	if (host->now_ms < kill_ms)
		return false;
	if (host->now_ms > kill_ms + PATIENT_MS)
		return true;
	if (sim->next_kill % 2 == 0)
		return host->is_ripe;
	return host->num_lines > 0 && rng_once_in(&host->rng, 16);
}

static void
play_kills(struct sim *sim)
{
	const struct world *world = sim->world;
	struct host *host = &sim->host;
	int64_t down_ms = (int64_t)rng_below(&host->rng, 5000);

	if (sim->next_kill == world->num_kills || host->engine == NULL ||
	    !is_time_to_die(sim))
		return;
	sim->next_kill++;
	if (rng_once_in(&host->rng, 4))
		down_ms = 1000 * (int64_t)rng_below(&host->rng, MAX_DOWN_S);
	host->figures.kills++;
	host_kill(host, host->now_ms + down_ms);
}

static void
play_sweep(struct sim *sim)
{
	struct host *host = &sim->host;

	if (sim->sweep_ms > host->now_ms)
		return;
	sim->sweep_ms += SWEEP_MS;
	if (!sim->is_calm && host->now_ms >= WORLD_ACTIVE_S * 1000) {
		sim->is_calm = true;
		for (size_t i = 0; i < WORLD_RELAYS; i++)
			mimic_calm(host->relays[i].mimic);
	}
	if (host->engine == NULL)
		return;
	host_fill_links(host, sim->links);
	model_sweep(sim->model, sim->links, host->now_ms);
	host_check(host);
}

static void
play_host(struct sim *sim)
{
	struct host *host = &sim->host;

	if (host->back_ms >= 0 && host->back_ms <= host->now_ms)
		host_start(host);
	if (host->engine == NULL)
		return;
	for (size_t i = 0; i < WORLD_RELAYS; i++)
		if (host->relays[i].next_ms <= host->now_ms)
			host_step_relay(&host->relays[i]);
	if (host->commit_ms >= 0 && host->commit_ms <= host->now_ms)
		host_commit(host);
	if (host->window_ms >= 0 && host->window_ms <= host->now_ms)
		host_look(host);
	if (host->engine_ms >= 0 && host->engine_ms <= host->now_ms)
		host_tick(host);
}

static void
lower(int64_t *due_ms, int64_t other_ms)
{
	if (other_ms < *due_ms)
		*due_ms = other_ms;
}

static int64_t
next_due_ms(const struct sim *sim)
{
	const struct world *world = sim->world;
	int64_t due_ms = host_due_ms(&sim->host);

	lower(&due_ms, sim->sweep_ms);
	if (sim->next_post < world->num_posts)
		lower(&due_ms, world->posts[sim->next_post].at_s * 1000);
	return due_ms;
}

static const char *
find_complaint(struct sim *sim)
{
	const char *complaint = model_complaint(sim->model);

	return sim->host.complaint[0] != '\0' ? sim->host.complaint : complaint;
}

static void
play(struct sim *sim, int64_t until_ms)
{
	struct host *host = &sim->host;

	play_posts(sim);
	host_start(host);
	while (find_complaint(sim) == NULL) {
		int64_t due_ms = next_due_ms(sim);

		if (due_ms > until_ms)
			break;
		if (due_ms > host->now_ms)
			host->now_ms = due_ms;
		if (++host->figures.steps > MAX_STEPS)
			host_complain(host, "no end after %d steps", MAX_STEPS);
		play_posts(sim);
		play_kills(sim);
		play_host(sim);
		play_sweep(sim);
	}
	if (host->engine != NULL && host->num_items > 0)
		host_commit(host);
	model_judge(sim->model, host->store, host->now_ms);
	if (host->engine != NULL)
		host_kill(host, -1);
}

static void
count(struct totals *totals, struct sim *sim)
{
	const struct host_figures *figures = &sim->host.figures;

	totals->seeds++;
	totals->failed += find_complaint(sim) != NULL;
	totals->events += sim->world->num_events;
	totals->stored += model_num_stored(sim->model);
	totals->dials += figures->dials;
	totals->frames += figures->frames;
	totals->steps += figures->steps;
	totals->kills += figures->kills;
	totals->repacks += figures->repacks;
	totals->removed += figures->removed;
	for (size_t i = 0; i < WORLD_RELAYS; i++)
		totals->reqs += mimic_num_reqs(sim->host.relays[i].mimic);
	if (figures->engine_bytes > totals->engine_bytes)
		totals->engine_bytes = figures->engine_bytes;
}

static void
print(struct sim *sim, uint64_t seed)
{
	static const char *const sorts[] = { "honest", "limited", "faulty", "lying" };
	const char *complaint = find_complaint(sim);
	const struct world *world = sim->world;

	printf("seed %" PRIu64 ": %s\n", seed, complaint != NULL ? complaint : "right");
	if (!sim->host.is_loud)
		return;
	for (size_t i = 0; i < WORLD_RELAYS; i++) {
		const struct world_relay *relay = &world->relays[i];

		printf("%s: %s\n", relay->url, sorts[relay->sort]);
		ways_print(&relay->ways);
		for (size_t j = 0; j < relay->num_outages; j++)
			printf("  away from %" PRId64 " to %" PRId64 "%s\n",
			    relay->outages[j].from_s, relay->outages[j].to_s,
			    relay->outages[j].is_mute ? ", mute" : "");
	}
	for (size_t i = 0; i < world->num_events; i++)
		printf("%zu: %s\n", i, world->events[i].event.json);
}

struct options {
	unsigned faults;
	bool has_daily, is_loud;
};

static void
run(struct totals *totals, const struct pool *pool, uint64_t seed,
    const struct options *options)
{
	struct sim *sim = gs_mem_new(sizeof(*sim));
	int64_t until_s = WORLD_ACTIVE_S + (options->has_daily ? QUIET_DAILY_S : QUIET_S);

	bytes_rng = rng_of(seed, 'b', 0);
	sim->world = world_new(pool, seed, options->faults);
	sim->model = model_new(sim->world, options->has_daily);
	sim->host.is_loud = options->is_loud;
	sim->host.has_daily = options->has_daily;
	host_init(&sim->host, sim->world, sim->model, seed);
	play(sim, until_s * 1000);
	count(totals, sim);
	if (options->is_loud || find_complaint(sim) != NULL)
		print(sim, seed);
	host_fini(&sim->host);
	model_free(sim->model);
	world_free(sim->world);
	free(sim);
}

/* --- options --- */

static bool
read_number(const char *text, uint64_t *number)
{
	char *end;

	*number = strtoull(text, &end, 10);
	return *text >= '0' && *text <= '9' && *end == '\0';
}

static bool
read_faults(const char *letters, unsigned *faults)
{
	*faults = 0;
	if (strcmp(letters, "none") == 0)
		return true;
	for (; *letters != '\0'; letters++) {
		const char *at = strchr(world_fault_letters, *letters);

		if (at == NULL)
			return false;
		*faults |= 1u << (at - world_fault_letters);
	}
	return true;
}

static int
complain_usage(void)
{
	fprintf(stderr,
	    "usage: enginesim [-dv] [-k FAULTS] SEED [COUNT]\n"
	    "  -d: with the daily history; -k: these faults alone, or none:\n"
	    "  w slow, l limits, r refusals, d drops, o outages, y lies, a doors, k "
	    "kills,\n"
	    "  n no network, c announcements change, x removals, s strays, b "
	    "back-dated\n");
	return 64;
}

static bool
read_options(struct options *options, int argc, char **argv)
{
	int option;

	while ((option = getopt(argc, argv, "dvk:")) != -1) {
		if (option == 'd')
			options->has_daily = true;
		else if (option == 'v')
			options->is_loud = true;
		else if (option != 'k' || !read_faults(optarg, &options->faults))
			return false;
	}
	return true;
}

int
main(int argc, char **argv)
{
	struct options options = { .faults = WORLD_EVERYTHING };
	struct totals totals = { .seeds = 0 };
	uint64_t seed, num = 1;
	struct pool *pool;

	if (!read_options(&options, argc, argv) || argc - optind < 1 ||
	    argc - optind > 2 || !read_number(argv[optind], &seed) ||
	    (argc - optind == 2 && !read_number(argv[optind + 1], &num)))
		return complain_usage();
	if (randombytes_set_implementation(&seeded_bytes) < 0 || sodium_init() < 0)
		return 70;
	pool = pool_new();
	for (; num > 0; num--, seed++)
		run(&totals, pool, seed, &options);
	pool_free(pool);
	printf("%" PRIu64 " seeds, %" PRIu64 " failed; %" PRIu64 " events, %" PRIu64
	       " stored, %" PRIu64 " dials, %" PRIu64 " REQs, %" PRIu64
	       " frames, %" PRIu64 " steps, %" PRIu64 " kills, %" PRIu64
	       " repacks, %" PRIu64 " relays removed, an engine %zu KiB\n",
	    totals.seeds, totals.failed, totals.events, totals.stored, totals.dials,
	    totals.reqs, totals.frames, totals.steps, totals.kills, totals.repacks,
	    totals.removed, totals.engine_bytes / 1024);
	return totals.failed > 0;
}
