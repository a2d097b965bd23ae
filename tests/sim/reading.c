/*
 * The property of a reading with --once: every filter that is said to be complete has
 * all that the relay gives, nothing comes that was not asked for, and a relay without
 * faults is never called incomplete.
 */
#include "reading.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"
#include "talk.h"
#include "ways.h"

#define MAX_DAYS 60
#define DAY_S 86400

struct reading {
	const struct pool *pool;
	struct mimic_ways ways;
	enum ways_sort sort;
	struct wants wants;
	struct mimic *mimic;
	struct talk talk;
	bool has_key;
};

/* A part of the pool, thinned out: dense seconds stay dense or don't. */
static void
store_corpus(struct reading *reading, struct rng *rng)
{
	size_t num = 1 + rng_below(rng, rng_once_in(rng, 4) ? 3000 : 600);
	size_t first = rng_below(rng, reading->pool->num - num);
	size_t keep = rng_once_in(rng, 2) ? 1 : 1 + rng_below(rng, 4);

	if (rng_once_in(rng, 4)) /* with the beginning of time */
		first = reading->pool->num - num;
	if (rng_once_in(rng, 40))
		return;
	for (size_t i = first; i < first + num; i++)
		if (rng_below(rng, keep) == 0)
			mimic_store(reading->mimic, &reading->pool->events[i]);
}

static void
begin(struct reading *reading, const struct pool *pool, uint64_t seed)
{
	struct rng rng = rng_of(seed, 'r', 0);

	*reading = (struct reading){ .pool = pool };
	reading->sort = (enum ways_sort)rng_below(&rng, WAYS_LYING + 1);
	ways_draw(&reading->ways, reading->sort, &rng);
	reading->mimic = mimic_new(&reading->ways, pool, rng_of(seed, 'm', 0));
	store_corpus(reading, &rng);
	wants_draw(&reading->wants, &rng, pool, WANTS_MAX, true);
	reading->has_key = !rng_once_in(&rng, 3);
	talk_init(&reading->talk, reading->mimic, &reading->ways, true,
	    reading->has_key ? pool->client : NULL);
	reading->talk.pool = pool;
	talk_add(&reading->talk, &reading->wants);
}

static void
end(struct reading *reading)
{
	talk_fini(&reading->talk);
	mimic_free(reading->mimic);
	wants_fini(&reading->wants);
}

/* What one filter has in the relay, as far as it can be got. */
struct truth {
	size_t num, missing;
	size_t densest;	   /* events of one second */
	int64_t oldest;	   /* date */
	bool misses_above; /* something newer than the oldest second is missing */
};

/* The stored events run newest first, so a second's stand together. */
static struct truth
find_truth(const struct reading *reading, const struct asked_filter *filter)
{
	struct truth truth = { .oldest = -1 };
	size_t wanted = filter->limit >= 0 ? (size_t)filter->limit : SIZE_MAX;
	size_t in_second = 0;

	mimic_arrange(reading->mimic);
	for (size_t i = 0; i < mimic_num_stored(reading->mimic); i++) {
		const struct pool_event *event = mimic_stored(reading->mimic, i);

		if (!asked_match(filter, reading->pool, event))
			continue;
		in_second = event->created_at == truth.oldest ? in_second + 1 : 1;
		if (in_second > truth.densest)
			truth.densest = in_second;
		if (event->created_at != truth.oldest)
			truth.misses_above = truth.missing > 0;
		truth.oldest = event->created_at;
		if (!mimic_gives(reading->mimic, event))
			continue;
		truth.num++;
		if (truth.num <= wanted && !talk_has(&reading->talk, event))
			truth.missing++;
	}
	return truth;
}

/* Which of one second are the newest is the relay's to say: count them. */
static bool
has_enough(const struct reading *reading, const struct asked_filter *filter)
{
	size_t got = 0;

	if (filter->limit < 0)
		return false;
	for (size_t i = 0; i < mimic_num_stored(reading->mimic); i++) {
		const struct pool_event *event = mimic_stored(reading->mimic, i);

		if (asked_match(filter, reading->pool, event) &&
		    talk_has(&reading->talk, event))
			got++;
	}
	return got >= (size_t)filter->limit;
}

/*
 * DESIGN counts on it that no relay cuts its answers shorter than 20; below that, what
 * a second holds beyond the cap can't be found out where nothing older follows.
 */
static bool
is_hidden(const struct reading *reading, const struct truth *truth)
{
	size_t page = ways_page(&reading->ways);
	bool in_order = (reading->ways.lies & (MIMIC_OLDEST_FIRST | MIMIC_SHUFFLES)) == 0;

	if ((reading->ways.lies & MIMIC_EOSE_FIRST) != 0)
		return true;
	return page < 20 && truth->densest >= page && !(in_order && truth->misses_above);
}

static bool
is_faultless(const struct reading *reading, const struct truth *truth)
{
	const struct mimic_ways *ways = &reading->ways;

	return ways_let_in(ways, reading->has_key) && ways->lies == 0 &&
	    ways->drop_every == 0 && ways->refuse_every == 0 &&
	    ways->refuse_letter == '\0' && truth->densest < 20 &&
	    truth->densest < ways_page(ways);
}

static void
judge_filter(struct reading *reading, size_t i, struct sim_result *result)
{
	const struct gs_history_report *report =
	    gs_history_get(gs_session_history(reading->talk.session), i);
	const struct want *want = &reading->wants.wants[i];
	struct truth truth = find_truth(reading, &want->filter);
	bool is_complete = report->end == GS_END_FINISHED;

	result->complete += is_complete;
	if (report->end == GS_END_NONE)
		talk_complain(&reading->talk, "filter %zu has no end: %s", i, want->text);
	if (is_complete && truth.missing > 0 && !is_hidden(reading, &truth) &&
	    !has_enough(reading, &want->filter))
		talk_complain(&reading->talk,
		    "filter %zu is said to be complete, but %zu of %zu are missing: %s",
		    i, truth.missing, truth.num, want->text);
	if (!is_complete && is_faultless(reading, &truth))
		talk_complain(&reading->talk,
		    "filter %zu of a relay without faults ends as %s%s%s: %s", i,
		    gs_end_name(report->end), report->reason ? ":" : "",
		    report->reason ? report->reason : "", want->text);
}

/* Nothing came that was not asked for. */
static void
judge_events(struct reading *reading)
{
	size_t asked_for = 0;

	for (size_t i = 0; i < mimic_num_stored(reading->mimic); i++) {
		const struct pool_event *event = mimic_stored(reading->mimic, i);

		if (talk_has(&reading->talk, event) &&
		    wants_match(&reading->wants, reading->pool, event))
			asked_for++;
	}
	if (asked_for != gs_map_count(reading->talk.got))
		talk_complain(&reading->talk, "%zu events came that no filter wants",
		    gs_map_count(reading->talk.got) - asked_for);
}

static void
print(const struct reading *reading, uint64_t seed)
{
	static const char *const sorts[] = { "honest", "limited", "faulty", "lying" };

	printf("seed %llu: %s, a %s relay with %zu events, %zu filters, %zu REQs, %lld "
	       "s\n",
	    (unsigned long long)seed,
	    reading->talk.complaint[0] != '\0' ? reading->talk.complaint : "right",
	    sorts[reading->sort], mimic_num_stored(reading->mimic), reading->wants.num,
	    mimic_num_reqs(reading->mimic), (long long)reading->talk.now_ms / 1000);
	ways_print(&reading->ways);
	for (size_t i = 0; i < reading->wants.num; i++) {
		const struct gs_history_report *report =
		    gs_history_get(gs_session_history(reading->talk.session), i);

		printf("  %zu: %s%s%s, %llu pages, %llu new: %s\n", i,
		    gs_end_name(report->end), report->reason ? ":" : "",
		    report->reason ? report->reason : "",
		    (unsigned long long)report->pages, (unsigned long long)report->fresh,
		    reading->wants.wants[i].text);
	}
}

struct sim_result
reading_run(const struct pool *pool, uint64_t seed, bool loud)
{
	struct sim_result result = { .is_right = false };
	struct reading reading;

	begin(&reading, pool, seed);
	reading.talk.is_traced = loud;
	if (talk_run(&reading.talk, MAX_DAYS * DAY_S)) {
		if (reading.talk.now_ms >= INT64_C(1000) * MAX_DAYS * DAY_S)
			talk_complain(&reading.talk, "no end after %d days", MAX_DAYS);
		for (size_t i = 0; i < reading.wants.num; i++)
			judge_filter(&reading, i, &result);
		judge_events(&reading);
	}
	result.is_right = reading.talk.complaint[0] == '\0';
	result.steps = reading.talk.steps;
	result.filters = reading.wants.num;
	result.events = gs_map_count(reading.talk.got);
	result.reqs = mimic_num_reqs(reading.mimic);
	if (loud || !result.is_right)
		print(&reading, seed);
	end(&reading);
	return result;
}
