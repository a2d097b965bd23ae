/*
 * Readings of relays of every sort in virtual time, by seeds.  A seed that fails says
 * so, and fails again in the same way when it is run alone.
 */
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "following.h"

typedef struct sim_result run_fn(const struct pool *pool, uint64_t seed, bool loud);

struct totals {
	uint64_t seeds, failed, steps, filters, complete, events, reqs;
};

static void
add(struct totals *totals, const struct sim_result *result)
{
	totals->seeds++;
	totals->failed += !result->is_right;
	totals->steps += result->steps;
	totals->filters += result->filters;
	totals->complete += result->complete;
	totals->events += result->events;
	totals->reqs += result->reqs;
}

static bool
read_number(const char *text, uint64_t *number)
{
	char *end;

	*number = strtoull(text, &end, 10);
	return *text >= '0' && *text <= '9' && *end == '\0';
}

static run_fn *
find_property(const char *name)
{
	static const struct {
		const char *name;
		run_fn *run;
	} properties[] = { { "reading", reading_run }, { "following", following_run },
		{ "months", months_run } };

	for (size_t i = 0; i < sizeof(properties) / sizeof(properties[0]); i++)
		if (strcmp(name, properties[i].name) == 0)
			return properties[i].run;
	return NULL;
}

static int
complain_usage(void)
{
	fprintf(stderr, "usage: relaysim [-v] reading|following|months SEED [COUNT]\n");
	return 64;
}

int
main(int argc, char **argv)
{
	struct totals totals = { .seeds = 0 };
	uint64_t seed, count = 1;
	struct pool *pool;
	bool loud = false;
	run_fn *run;
	int option;

	while ((option = getopt(argc, argv, "v")) != -1) {
		if (option != 'v')
			return complain_usage();
		loud = true;
	}
	argc -= optind;
	argv += optind;
	if (argc < 2 || argc > 3 || (run = find_property(argv[0])) == NULL ||
	    !read_number(argv[1], &seed) || (argc == 3 && !read_number(argv[2], &count)))
		return complain_usage();
	if (sodium_init() < 0)
		return 70;
	pool = pool_new();
	for (; count > 0; count--, seed++) {
		struct sim_result result = run(pool, seed, loud);

		add(&totals, &result);
	}
	pool_free(pool);
	printf("%" PRIu64 " seeds, %" PRIu64 " failed; %" PRIu64 " steps, %" PRIu64
	       " REQs, %" PRIu64 " events, %" PRIu64 " filters, %" PRIu64 " complete\n",
	    totals.seeds, totals.failed, totals.steps, totals.reqs, totals.events,
	    totals.filters, totals.complete);
	return totals.failed > 0;
}
