/*
 * A session that stays: everything that is published while it is connected, or that a
 * history after a reconnect must bring, arrives; read_until never passes what was not
 * read; each dial comes at its second.
 */
#include "following.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "dials.h"
#include "mem.h"
#include "ways.h"

#define DAY_S 86400
#define HOUR_S 3600
#define OVERLAP_S 900	      /* DESIGN: 15 min before read_until, or before a live REQ */
#define MAX_BACKDATED_S 840   /* what live must bring in spite of its date */
#define QUIET_S (50 * HOUR_S) /* long enough for the daily history, and for retries */
#define MAX_OUTAGES 6000
#define STORED 400
#define REDIALLED_S (2 * HOUR_S) /* after an outage, unless it is dead */
#define PROMPT_S 900 /* a new event of a relay without faults is here by then */

struct following {
	const struct pool *pool;
	struct mimic_ways ways;
	enum ways_sort sort;
	struct wants wants;
	struct mimic *mimic;
	struct talk talk;
	bool has_key;
	struct dials dials;
	struct talk_outage outages[MAX_OUTAGES];
	struct talk_post *posts;
	struct talk_script script;
	int64_t days;
	size_t checked; /* posts that read_until has passed */
	bool is_stored_checked;
};

/* Of each second a few: more than a page of one second is another story. */
static void
store_corpus(struct following *following, struct rng *rng)
{
	const struct pool *pool = following->pool;
	size_t first = rng_below(rng, pool->num - STORED), in_second = 0;

	for (size_t i = first; i < first + STORED; i++) {
		if (pool->events[i].created_at == pool->events[i - (i > 0)].created_at)
			in_second++;
		else
			in_second = 0;
		if (in_second < 5)
			mimic_store(following->mimic, &pool->events[i]);
	}
}

static int64_t
draw_date(struct rng *rng, int64_t at_s)
{
	int64_t wall_s = TALK_EPOCH_S + at_s;

	switch (rng_below(rng, 8)) {
	case 0:
		return wall_s - (int64_t)rng_below(rng, MAX_BACKDATED_S);
	case 1:
		return wall_s + (int64_t)rng_below(rng, MAX_BACKDATED_S);
	case 2:
		return wall_s - (int64_t)rng_below(rng, 10 * DAY_S);
	default:
		return wall_s - (int64_t)rng_below(rng, 10);
	}
}

static int
compare_posts(const void *a, const void *b)
{
	const struct talk_post *x = a, *y = b;

	return (x->at_s > y->at_s) - (x->at_s < y->at_s);
}

static void
draw_posts(struct following *following, struct rng *rng, size_t num)
{
	following->posts = gs_mem_array(num, sizeof(*following->posts));
	for (size_t i = 0; i < num; i++) {
		struct talk_post *post = &following->posts[i];

		post->at_s = (int64_t)rng_below(rng, (size_t)(following->days * DAY_S));
		pool_make(following->pool, &post->event, rng, draw_date(rng, post->at_s));
	}
	qsort(following->posts, num, sizeof(*following->posts), compare_posts);
	following->script.posts = following->posts;
	following->script.num_posts = num;
}

static void
add_outage(struct following *following, int64_t *at_s, int64_t after_s, int64_t lasts_s)
{
	struct talk_script *script = &following->script;

	if (script->num_outages == MAX_OUTAGES)
		return;
	*at_s += after_s;
	following->outages[script->num_outages++] =
	    (struct talk_outage){ *at_s, *at_s + lasts_s };
	*at_s += lasts_s;
	script->outages = following->outages;
}

/* Short drops, outages of minutes and hours, and now and then one of more than a day. */
static void
draw_outages(struct following *following, struct rng *rng)
{
	int64_t at_s = 0;

	while (at_s < (following->days - 1) * DAY_S) {
		switch (rng_below(rng, 4)) {
		case 0:
			add_outage(following, &at_s, (int64_t)rng_below(rng, 120), 0);
			break;
		case 1:
			add_outage(following, &at_s, (int64_t)rng_below(rng, 6 * HOUR_S),
			    (int64_t)rng_below(rng, 3 * HOUR_S));
			break;
		case 2:
			add_outage(following, &at_s, (int64_t)rng_below(rng, 12 * HOUR_S),
			    0);
			break;
		default:
			add_outage(following, &at_s, (int64_t)rng_below(rng, 12 * HOUR_S),
			    rng_once_in(rng, 4) ? 26 * HOUR_S : 600);
			break;
		}
	}
}

/* It flaps for days in different ways, is away for 26 h, and flaps again. */
static void
draw_months(struct following *following, struct rng *rng)
{
	int64_t at_s = 0;

	for (size_t i = 0; i < 300; i++)
		add_outage(following, &at_s, 1 + (int64_t)rng_below(rng, 90), 0);
	at_s = 3 * DAY_S;
	for (size_t i = 0; i < 200; i++)
		add_outage(following, &at_s, 60 + (int64_t)rng_below(rng, 600),
		    (int64_t)rng_below(rng, 300));
	at_s = 12 * DAY_S;
	add_outage(following, &at_s, 7, 26 * HOUR_S);
	at_s = 20 * DAY_S;
	for (size_t i = 0; i < 100; i++)
		add_outage(following, &at_s, 1 + (int64_t)rng_below(rng, HOUR_S),
		    (int64_t)rng_below(rng, 2 * HOUR_S));
}

/* Nothing that loses events for good: no lies but noise, no page under 20. */
static void
draw_ways(struct following *following, struct rng *rng)
{
	static const unsigned noises[] = { 0, MIMIC_REPEATS, MIMIC_UNMATCHED,
		MIMIC_UNKNOWN_SUB, MIMIC_CORRUPTS, MIMIC_JUNK };
	struct mimic_ways *ways = &following->ways;

	following->sort = (enum ways_sort)rng_below(rng, WAYS_LYING + 1);
	ways_draw(ways, following->sort, rng);
	/* Of a liar nothing is due, but that no rule is broken. */
	if (following->sort == WAYS_LYING)
		return;
	if (ways->page_cap > 0 && ways->page_cap < 20)
		ways->page_cap = 20;
	if (ways->req_cap > 0 && ways->req_cap < 20)
		ways->req_cap = 20;
	if (ways->frame_ms > 200)
		ways->frame_ms = 200;
	if (following->sort == WAYS_FAULTY)
		ways->lies = noises[rng_below(rng, sizeof(noises) / sizeof(noises[0]))];
	/* Silence concerns all filters of a REQ. */
	if (ways->refusal_for_good.text == NULL)
		ways->refuse_letter = '\0';
}

static void
begin(struct following *following, const struct pool *pool, uint64_t seed, bool months)
{
	struct rng rng = rng_of(seed, 'f', months);

	following->pool = pool;
	following->days = months ? 30 : 1 + (int64_t)rng_below(&rng, 5);
	draw_ways(following, &rng);
	following->mimic = mimic_new(&following->ways, pool, rng_of(seed, 'm', months));
	store_corpus(following, &rng);
	wants_draw(&following->wants, &rng, pool, months ? WANTS_FEW : WANTS_MAX, false);
	draw_posts(following, &rng, months ? 600 : 20 + rng_below(&rng, 150));
	if (months)
		draw_months(following, &rng);
	else
		draw_outages(following, &rng);
	following->has_key = !rng_once_in(&rng, 3);
	talk_init(&following->talk, following->mimic, &following->ways, false,
	    following->has_key ? pool->client : NULL);
	following->talk.pool = pool;
	following->talk.script = &following->script;
	following->talk.watch = dials_watch;
	following->talk.arg = &following->dials;
	talk_add(&following->talk, &following->wants);
}

static void
end(struct following *following)
{
	talk_fini(&following->talk);
	mimic_free(following->mimic);
	wants_fini(&following->wants);
	for (size_t i = 0; i < following->script.num_posts; i++)
		free(following->posts[i].event.json);
	free(following->posts);
	free(following);
}

static bool
has_letter(const struct asked_filter *filter, char letter)
{
	for (size_t i = 0; i < filter->num_lists; i++)
		if (filter->lists[i].what == letter)
			return true;
	return false;
}

/* Must it come, sooner or later? */
static bool
is_owed(const struct following *following, const struct pool_event *event)
{
	if (!ways_let_in(&following->ways, following->has_key))
		return false;
	for (size_t i = 0; i < following->wants.num; i++) {
		const struct asked_filter *filter = &following->wants.wants[i].filter;

		if (following->sort != WAYS_LYING &&
		    !has_letter(filter, following->ways.refuse_letter) &&
		    asked_match(filter, following->pool, event))
			return mimic_gives(following->mimic, event);
	}
	return false;
}

static void
check_event(struct following *following, const struct pool_event *event, const char *when)
{
	if (is_owed(following, event) && !talk_has(&following->talk, event))
		talk_complain(&following->talk, "event %s of %" PRId64 " is missing %s",
		    event->id, event->created_at - TALK_EPOCH_S, when);
}

static bool
is_backdated(const struct talk_post *post)
{
	return post->event.created_at < TALK_EPOCH_S + post->at_s - MAX_BACKDATED_S;
}

/*
 * A history after this moment asks for nothing older: it must be here.  What is
 * refused now and then is not waited for, and is asked for in full later.
 */
static void
check_read_until(struct talk *talk, void *arg)
{
	struct following *following = arg;
	int64_t from_s = talk->read_until_s - OVERLAP_S - TALK_EPOCH_S;

	if (following->ways.refuse_every > 0)
		return;
	if (!following->is_stored_checked) {
		for (size_t i = 0; i < mimic_num_stored(following->mimic); i++) {
			const struct pool_event *event =
			    mimic_stored(following->mimic, i);

			if (event->created_at < TALK_EPOCH_S)
				check_event(following, event, "after the first history");
		}
		following->is_stored_checked = true;
	}
	for (; following->checked < following->script.num_posts; following->checked++) {
		const struct talk_post *post = &following->posts[following->checked];

		if (post->at_s >= from_s)
			break;
		if (!is_backdated(post))
			check_event(following, &post->event, "below read_until");
	}
}

/* Was the relay there all the time around this moment? */
static bool
is_quiet_around(const struct following *following, int64_t at_s)
{
	for (size_t i = 0; i < following->script.num_outages; i++) {
		const struct talk_outage *outage = &following->outages[i];

		if (outage->at_s <= at_s + PROMPT_S &&
		    outage->back_s + REDIALLED_S >= at_s - PROMPT_S)
			return false;
	}
	return at_s > REDIALLED_S;
}

static void
check_prompt(struct following *following)
{
	if (following->sort != WAYS_HONEST || following->dials.num_dead > 0 ||
	    gs_session_filters(following->talk.session).polled > 0)
		return;
	for (size_t i = 0; i < following->script.num_posts; i++) {
		const struct talk_post *post = &following->posts[i];
		int64_t at_ms = talk_arrival_ms(&following->talk, &post->event);

		if (!is_backdated(post) && is_owed(following, &post->event) &&
		    is_quiet_around(following, post->at_s) &&
		    at_ms > (post->at_s + PROMPT_S) * 1000)
			talk_complain(&following->talk,
			    "event %s, published at %" PRId64 ", came at %" PRId64,
			    post->event.id, post->at_s, at_ms / 1000);
	}
}

static void
judge(struct following *following)
{
	for (size_t i = 0; i < mimic_num_stored(following->mimic); i++)
		check_event(following, mimic_stored(following->mimic, i), "in the end");
	check_prompt(following);
	if (following->sort != WAYS_LYING &&
	    ways_let_in(&following->ways, following->has_key) &&
	    following->talk.read_until_s < 0 && following->ways.refuse_letter == '\0')
		talk_complain(&following->talk, "read_until was never known");
}

static void
print(const struct following *following, uint64_t seed, const char *name)
{
	static const char *const sorts[] = { "honest", "limited", "faulty", "lying" };
	struct gs_session_filters filters = gs_session_filters(following->talk.session);

	printf("%s seed %llu: %s, a %s relay, %lld days, %zu events, %zu filters (%zu "
	       "live, "
	       "%zu polled, %zu failed), %zu REQs, %u dials (%u dead) at %lld s\n",
	    name, (unsigned long long)seed,
	    following->talk.complaint[0] != '\0' ? following->talk.complaint : "right",
	    sorts[following->sort], (long long)following->days,
	    mimic_num_stored(following->mimic), following->wants.num, filters.live,
	    filters.polled, filters.failed, mimic_num_reqs(following->mimic),
	    following->dials.num, following->dials.num_dead,
	    (long long)following->talk.now_ms / 1000);
	ways_print(&following->ways);
	for (size_t i = 0; i < following->wants.num; i++)
		printf("  %zu: %s\n", i, following->wants.wants[i].text);
	for (size_t i = 0; i < following->script.num_outages; i++)
		printf("  away from %lld to %lld\n",
		    (long long)following->outages[i].at_s,
		    (long long)following->outages[i].back_s);
}

static struct sim_result
run(const struct pool *pool, uint64_t seed, bool months, bool loud)
{
	struct following *following = gs_mem_new(sizeof(*following));
	struct sim_result result = { .is_right = false };

	begin(following, pool, seed, months);
	following->talk.is_traced = loud;
	following->talk.read_arg = following;
	following->talk.read_moved = check_read_until;
	if (talk_run(&following->talk, following->days * DAY_S)) {
		mimic_calm(following->mimic);
		if (talk_run(&following->talk, following->days * DAY_S + QUIET_S))
			judge(following);
	}
	result.is_right = following->talk.complaint[0] == '\0';
	result.steps = following->talk.steps;
	result.filters = following->wants.num;
	result.events = gs_map_count(following->talk.got);
	result.reqs = mimic_num_reqs(following->mimic);
	if (loud || !result.is_right)
		print(following, seed, months ? "months" : "following");
	end(following);
	return result;
}

struct sim_result
following_run(const struct pool *pool, uint64_t seed, bool loud)
{
	return run(pool, seed, false, loud);
}

struct sim_result
months_run(const struct pool *pool, uint64_t seed, bool loud)
{
	return run(pool, seed, true, loud);
}
