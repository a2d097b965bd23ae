/* The world of a seed: its repositories, and what is written about them. */
#include <stdio.h>
#include <stdlib.h>

#include "engineworld.h"
#include "mem.h"

#define FEW_REPOS 10
#define STRANGERS 4 /* repositories that never list us */
#define MAX_SITES 5 /* relays of an announcement */
#define FRESH_S 840 /* dated so well that live brings it */
#define OLDEST_S (60 * WORLD_DAY_S)
#define LIVES 5 /* versions of an announcement */

struct story {
	struct world *world;
	struct world_draft *draft;
	struct rng rng;
	size_t repo;
	int64_t born_s;
	bool is_hot;
};

static bool
has(const struct story *story, enum world_fault fault)
{
	return (story->world->faults & (unsigned)fault) != 0;
}

static struct world_repo *
repo_of(struct story *story)
{
	return &story->world->repos[story->repo];
}

static int64_t
draw_between(struct rng *rng, int64_t from_s, int64_t to_s)
{
	if (to_s <= from_s)
		return from_s;
	return from_s + (int64_t)rng_below(rng, (size_t)(to_s - from_s));
}

static int64_t
draw_date(struct story *story, int64_t at_s)
{
	struct rng *rng = &story->rng;
	int64_t wall_s = MIMIC_EPOCH_S + at_s;
	size_t sort = rng_below(rng, 12);
	int64_t aside_s = (int64_t)rng_below(rng, FRESH_S);
	int64_t days_s = (int64_t)rng_below(rng, (size_t)(10 * WORLD_DAY_S));

	if (sort == 0)
		return wall_s - aside_s;
	if (sort == 1)
		return wall_s + aside_s;
	if (sort == 2 && has(story, WORLD_BACKDATES))
		return wall_s - days_s;
	return wall_s - aside_s % 5;
}

static uint64_t
draw_sites(struct story *story)
{
	size_t left = 1 + rng_below(&story->rng, MAX_SITES);
	uint64_t relays = 0;

	for (; left > 0; left--)
		relays |= UINT64_C(1) << rng_below(&story->rng, WORLD_RELAYS);
	return relays;
}

/* A copy gets there at once, or some time later. */
static int64_t
draw_copy_s(struct story *story, int64_t at_s)
{
	struct rng *rng = &story->rng;
	int64_t later_s = rng_once_in(rng, 12) ? draw_between(rng, 0, WORLD_DAY_S)
					       : draw_between(rng, 0, 5);

	if (at_s < 0 || at_s + later_s >= WORLD_ACTIVE_S)
		return at_s;
	return at_s + later_s;
}

/* On some of these relays, on one at least, and at times on a strange one. */
static void
publish(struct story *story, size_t event, uint64_t relays, int64_t at_s)
{
	struct rng *rng = &story->rng;
	size_t sure = rng_below(rng, WORLD_RELAYS);

	while (relays != 0 && (relays >> sure & 1) == 0)
		sure = (sure + 1) % WORLD_RELAYS;
	for (size_t i = 0; i < WORLD_RELAYS; i++)
		if ((relays >> i & 1) != 0 && (i == sure || rng_once_in(rng, 2)))
			world_post(story->world, event, i, draw_copy_s(story, at_s));
	if (relays == 0 || rng_once_in(rng, 10))
		world_post(story->world, event, rng_below(rng, WORLD_RELAYS),
		    draw_copy_s(story, at_s));
}

/* --- announcements --- */

struct version {
	uint64_t relays;
	bool is_listed;
	int64_t expires_s; /* -1 */
};

static void
announce(struct story *story, int64_t at_s, const struct version *version)
{
	struct world *world = story->world;
	struct world_repo *repo = repo_of(story);
	int64_t date_s = MIMIC_EPOCH_S + at_s;
	uint64_t everywhere = version->relays | repo->relays;
	size_t event;

	if (date_s <= repo->last_s)
		date_s = repo->last_s + 1;
	repo->last_s = date_s;
	repo->relays = version->relays;
	world_begin(story->draft, 30617, repo->owner, date_s);
	world_tag_d(story->draft, story->repo);
	world_tag_sites(story->draft, version->relays, version->is_listed);
	if (version->expires_s >= 0)
		world_tag_expiry(story->draft, version->expires_s);
	event = world_end(story->draft);
	repo->versions = gs_mem_more(repo->versions, repo->num_versions,
	    &repo->cap_versions, sizeof(*repo->versions));
	repo->versions[repo->num_versions++] = event;
	for (size_t i = 0; i < world->num_bootstrap; i++)
		if (i == 0 || rng_once_in(&story->rng, 2))
			world_post(world, event, i, at_s);
	publish(story, event, everywhere, at_s);
}

/* The announcement goes, and at times another one comes. */
static void
delete_repo(struct story *story, int64_t at_s, bool vanishes)
{
	struct world_repo *repo = repo_of(story);
	int64_t date_s = MIMIC_EPOCH_S + at_s;
	size_t event;

	if (date_s < repo->last_s)
		date_s = repo->last_s;
	world_begin(story->draft, vanishes ? 62 : 5, repo->owner, date_s);
	world_tag_repo(story->draft, 'a', story->repo);
	if (vanishes)
		world_tag(story->draft, "relay", "ALL_RELAYS");
	event = world_end(story->draft);
	publish(story, event, repo->relays, at_s);
	repo->last_s = date_s;
}

static uint64_t
drop_one(struct story *story, uint64_t relays)
{
	uint64_t left = relays & (relays - 1);

	return left != 0 && rng_once_in(&story->rng, 2) ? left : relays;
}

/* What becomes of it next.  False: it has its end. */
static bool
change(struct story *story, int64_t *at_s)
{
	struct rng *rng = &story->rng;
	struct version version = { repo_of(story)->relays, true, -1 };
	uint64_t more = draw_sites(story);

	switch (rng_below(rng, 9)) {
	case 0: /* dropped, and listed again soon */
		version.relays = drop_one(story, version.relays);
		announce(story, *at_s, &version);
		*at_s += draw_between(rng, 1, 200);
		version.relays |= more;
		break;
	case 1: /* without us, and with us again soon, or not */
		version.is_listed = false;
		announce(story, *at_s, &version);
		*at_s += draw_between(rng, 1, rng_once_in(rng, 2) ? 120 : WORLD_DAY_S);
		if (rng_once_in(rng, 3) || *at_s >= WORLD_ACTIVE_S)
			return false;
		version.is_listed = true;
		break;
	case 2:
		version.relays = more;
		break;
	case 3:
		if (!has(story, WORLD_REMOVALS))
			break;
		delete_repo(story, *at_s, rng_once_in(rng, 3));
		*at_s += draw_between(rng, 1, WORLD_DAY_S);
		if (rng_once_in(rng, 2) || *at_s >= WORLD_ACTIVE_S)
			return false;
		break;
	case 4:
		if (!has(story, WORLD_REMOVALS))
			break;
		version.expires_s =
		    MIMIC_EPOCH_S + *at_s + draw_between(rng, 60, WORLD_DAY_S);
		announce(story, *at_s, &version);
		return false;
	case 5:
		version.relays = drop_one(story, version.relays);
		break;
	default:
		version.relays |= more & (more - 1);
		break;
	}
	announce(story, *at_s, &version);
	return true;
}

static void
tell_versions(struct story *story)
{
	struct rng *rng = &story->rng;
	struct version version = { 0, !repo_of(story)->is_stranger, -1 };
	size_t left = rng_below(rng, LIVES);
	int64_t at_s = story->born_s;

	version.relays = draw_sites(story);
	announce(story, at_s, &version);
	if (!has(story, WORLD_CHANGES) || repo_of(story)->is_stranger)
		return;
	for (; left > 0; left--) {
		at_s = draw_between(rng, at_s > 0 ? at_s : 0, WORLD_ACTIVE_S);
		if (!change(story, &at_s))
			break;
	}
}

/* --- what is written about it --- */

/* The relays that it lists then. */
static uint64_t
sites_at(struct story *story, int64_t at_s)
{
	const struct world_repo *repo = repo_of(story);
	uint64_t relays = 0;

	for (size_t i = 0; i < repo->num_versions; i++) {
		const struct world_event *version =
		    &story->world->events[repo->versions[i]];

		if (i == 0 || version->event.created_at <= MIMIC_EPOCH_S + at_s)
			relays = version->relays;
	}
	return relays;
}

static int64_t
draw_after(struct story *story, int64_t at_s)
{
	int64_t soon_s = at_s + 6 * WORLD_HOUR_S;

	if (rng_once_in(&story->rng, 3) && soon_s < WORLD_ACTIVE_S)
		return draw_between(&story->rng, at_s, soon_s);
	return draw_between(&story->rng, at_s, WORLD_ACTIVE_S);
}

static void
tag_comment(struct story *story, size_t root, size_t parent)
{
	struct world_draft *draft = story->draft;

	switch (rng_below(&story->rng, 6)) {
	case 0:
		world_tag_event(draft, 'q', root);
		break;
	case 1:
		world_tag_repo(draft, 'q', story->repo);
		break;
	case 2:
		world_tag_repo(draft, 'A', story->repo);
		world_tag_event(draft, 'e', parent);
		break;
	case 3:
		world_tag_event(draft, 'e', root);
		break;
	default:
		world_tag_event(draft, 'E', root);
		world_tag_event(draft, 'e', parent);
		break;
	}
}

static void
tell_comments(struct story *story, size_t root, int64_t root_s)
{
	static const unsigned kinds[] = { 1111, 1111, 1, 7, 1985 };
	struct rng *rng = &story->rng;
	size_t left = rng_below(rng, story->is_hot ? 2 : 5), parent = root;

	for (; left > 0; left--) {
		int64_t at_s = draw_after(story, root_s);

		world_begin(story->draft, kinds[rng_below(rng, 5)],
		    rng_below(rng, POOL_AUTHORS), draw_date(story, at_s));
		tag_comment(story, root, parent);
		if (has(story, WORLD_REMOVALS) && rng_once_in(rng, 20))
			world_tag_expiry(story->draft,
			    MIMIC_EPOCH_S + at_s + draw_between(rng, 0, WORLD_DAY_S));
		parent = world_end(story->draft);
		publish(story, parent, sites_at(story, at_s), at_s);
	}
}

static void
delete_root(struct story *story, size_t root, int64_t root_s)
{
	const struct world_event *event = &story->world->events[root];
	int64_t at_s = draw_after(story, root_s);
	size_t deletion;

	world_begin(story->draft, 5, event->event.author, MIMIC_EPOCH_S + at_s);
	world_tag_event(story->draft, 'e', root);
	deletion = world_end(story->draft);
	publish(story, deletion, sites_at(story, at_s), at_s);
}

static void
tell_root(struct story *story)
{
	static const unsigned kinds[] = { 1617, 1618, 1619, 1621 };
	struct rng *rng = &story->rng;
	int64_t at_s = draw_after(story, story->born_s);
	size_t other = rng_below(rng, story->repo + 1), root;

	world_begin(story->draft, kinds[rng_below(rng, 4)], rng_below(rng, POOL_AUTHORS),
	    draw_date(story, at_s));
	world_tag_repo(story->draft, 'a', story->repo);
	if (other != story->repo && rng_once_in(rng, 4))
		world_tag_repo(story->draft, 'a', other);
	root = world_end(story->draft);
	publish(story, root, sites_at(story, at_s), at_s);
	tell_comments(story, root, at_s);
	if (has(story, WORLD_REMOVALS) && rng_once_in(rng, 15))
		delete_root(story, root, at_s);
}

static void
tell_states(struct story *story)
{
	struct world_repo *repo = repo_of(story);
	size_t left = rng_below(&story->rng, 4);

	for (; left > 0; left--) {
		int64_t at_s = draw_after(story, story->born_s);
		size_t event;

		world_begin(story->draft, 30618, repo->owner, MIMIC_EPOCH_S + at_s);
		world_tag_d(story->draft, story->repo);
		event = world_end(story->draft);
		publish(story, event, sites_at(story, at_s), at_s);
	}
}

static void
tell_story(struct story *story)
{
	struct rng *rng = &story->rng;
	size_t roots = rng_below(rng, 10);

	story->born_s = draw_between(rng, -OLDEST_S, 0);
	if (rng_once_in(rng, 3))
		story->born_s = draw_between(rng, 0, WORLD_ACTIVE_S);
	story->is_hot = rng_once_in(rng, 16);
	if (story->is_hot)
		roots = 30 + rng_below(rng, 110);
	tell_versions(story);
	tell_states(story);
	for (; roots > 0; roots--)
		tell_root(story);
}

static void
name_repo(struct world *world, size_t number, struct rng *rng)
{
	struct world_repo *repo = &world->repos[number];

	repo->owner = rng_below(rng, POOL_AUTHORS);
	repo->is_stranger = number < STRANGERS;
	(void)snprintf(repo->d, sizeof(repo->d), "tool:%u", (unsigned)number % 100000);
	(void)snprintf(repo->ref, sizeof(repo->ref), "30617:%s:%s",
	    world->pool->authors[repo->owner], repo->d);
}

void
world_draw_repos(struct world *world, uint64_t seed)
{
	struct rng rng = rng_of(seed, 's', 0);
	struct world_draft *draft = world_draft_new(world);

	world->num_repos = FEW_REPOS + rng_below(&rng, WORLD_REPOS - FEW_REPOS + 1);
	for (size_t i = 0; i < world->num_repos; i++) {
		struct story story = { world, draft, rng_of(seed, 'R', i), i, 0, false };

		name_repo(world, i, &story.rng);
		if (i >= STRANGERS || (world->faults & WORLD_STRAYS) != 0)
			tell_story(&story);
	}
	world_draft_free(draft);
}
