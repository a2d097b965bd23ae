/* The world of a seed: how its events are made, and found again. */
#include "engineworld.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hex.h"
#include "map.h"
#include "mem.h"
#include "tools/draft.h"

const char world_fault_letters[] = "wlrdoyakncxsb";

struct world_draft {
	struct world *world;
	struct draft draft;
	struct world_event made;
};

bool
world_is_root(unsigned kind)
{
	return kind == 1617 || kind == 1618 || kind == 1619 || kind == 1621;
}

struct world_draft *
world_draft_new(struct world *world)
{
	struct world_draft *draft = gs_mem_new(sizeof(*draft));

	draft->world = world;
	return draft;
}

void
world_draft_free(struct world_draft *draft)
{
	draft_fini(&draft->draft);
	free(draft);
}

void
world_begin(struct world_draft *draft, unsigned kind, size_t author, int64_t created_at)
{
	draft_begin(&draft->draft, kind, created_at);
	draft->made = (struct world_event){ .repo = SIZE_MAX, .expires_s = -1 };
	draft->made.event.author = author;
	draft->made.event.kind = kind;
	draft->made.event.created_at = created_at;
}

void
world_tag(struct world_draft *draft, const char *name, const char *value)
{
	draft_tag(&draft->draft, name, value, NULL);
}

static void
tag_link(struct world_draft *draft, char letter, const char *value, size_t repo,
    size_t event)
{
	struct pool_event *made = &draft->made.event;
	const char name[] = { letter, '\0' };
	size_t i = made->num_tags++;

	assert(i < POOL_TAGS);
	made->tags[i].letter = letter;
	(void)snprintf(made->tags[i].value, sizeof(made->tags[i].value), "%s", value);
	draft->made.repos[i] = repo;
	draft->made.events[i] = event;
	world_tag(draft, name, value);
}

void
world_tag_repo(struct world_draft *draft, char letter, size_t repo)
{
	tag_link(draft, letter, draft->world->repos[repo].ref, repo, SIZE_MAX);
}

void
world_tag_event(struct world_draft *draft, char letter, size_t event)
{
	tag_link(draft, letter, draft->world->events[event].event.id, SIZE_MAX, event);
}

void
world_tag_d(struct world_draft *draft, size_t repo)
{
	draft->made.repo = repo;
	world_tag(draft, "d", draft->world->repos[repo].d);
}

void
world_tag_sites(struct world_draft *draft, uint64_t relays, bool is_listed)
{
	draft->made.relays = relays;
	draft->made.is_listed = is_listed;
	draft_tag(&draft->draft, "clone", "https://other.example/x.git", NULL);
	if (is_listed)
		draft_value(&draft->draft, "https://" WORLD_SERVICE "/npub/x.git");
	draft_tag(&draft->draft, "relays", NULL);
	if (is_listed)
		draft_value(&draft->draft, "wss://" WORLD_SERVICE);
	for (size_t i = 0; i < WORLD_RELAYS; i++)
		if ((relays >> i & 1) != 0)
			draft_value(&draft->draft, draft->world->relays[i].url);
}

void
world_tag_expiry(struct world_draft *draft, int64_t expires_s)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "%" PRId64, expires_s);
	world_tag(draft, "expiration", text);
	draft->made.expires_s = expires_s;
}

/* Who looks at signatures here compares whole lines: that saves signing. */
static void
write_line(struct world_draft *draft, struct gs_event *event)
{
	struct world_event *made = &draft->made;
	struct gs_buf scratch = GS_BUF_INIT;
	struct gs_buf line = GS_BUF_INIT;
	bool is_read = gs_hex_parse(event->pubkey, sizeof(event->pubkey),
	    draft->world->pool->authors[made->event.author], POOL_HEX - 1);

	assert(is_read);
	(void)is_read;
	gs_event_compute_id(event, &scratch, event->id);
	memcpy(event->sig, event->id, sizeof(event->id));
	gs_event_write(event, &line);
	memcpy(made->id, event->id, sizeof(made->id));
	*gs_hex_write(made->event.id, made->id, sizeof(made->id)) = '\0';
	gs_buf_fini(&scratch);
	made->event.json = gs_buf_take(&line);
}

size_t
world_end(struct world_draft *draft)
{
	struct world *world = draft->world;
	struct gs_str values[DRAFT_VALUES];
	struct gs_tag tags[DRAFT_TAGS];
	struct gs_event event = GS_EVENT_INIT;
	char content[24];

	draft_point_tags(&draft->draft, tags, values);
	(void)snprintf(content, sizeof(content), "%zu", world->num_events);
	event.kind = (uint16_t)draft->draft.kind;
	event.created_at = draft->draft.created_at;
	event.tags = tags;
	event.num_tags = draft->draft.num_tags;
	event.content = gs_str_of(content);
	write_line(draft, &event);
	world->events = gs_mem_more(world->events, world->num_events, &world->cap_events,
	    sizeof(*world->events));
	world->events[world->num_events] = draft->made;
	return world->num_events++;
}

void
world_post(struct world *world, size_t event, size_t relay, int64_t at_s)
{
	world->posts = gs_mem_more(world->posts, world->num_posts, &world->cap_posts,
	    sizeof(*world->posts));
	world->posts[world->num_posts++] = (struct world_post){ at_s, event, relay };
}

static int
compare_posts(const void *a, const void *b)
{
	const struct world_post *x = a, *y = b;

	if (x->at_s != y->at_s)
		return x->at_s < y->at_s ? -1 : 1;
	if (x->event != y->event)
		return x->event < y->event ? -1 : 1;
	return (x->relay > y->relay) - (x->relay < y->relay);
}

/* Each event once a relay. */
static void
sort_posts(struct world *world)
{
	size_t num = 0;

	qsort(world->posts, world->num_posts, sizeof(*world->posts), compare_posts);
	for (size_t i = 0; i < world->num_posts; i++) {
		const struct world_post *post = &world->posts[i];
		struct world_event *event = &world->events[post->event];
		uint64_t bit = UINT64_C(1) << post->relay;

		/* num_places holds the relays that have it, for a while. */
		if ((event->num_places & bit) != 0)
			continue;
		event->num_places |= bit;
		world->posts[num++] = *post;
	}
	world->num_posts = num;
}

static void
index_posts(struct world *world)
{
	size_t at = 0;

	world->places = gs_mem_array(world->num_posts + 1, sizeof(*world->places));
	for (size_t i = 0; i < world->num_events; i++) {
		struct world_event *event = &world->events[i];

		event->first_place = at;
		at += (size_t)__builtin_popcountll(event->num_places);
		event->num_places = 0;
		gs_map_add(world->ids, gs_str_of(event->event.id))->value = event;
	}
	for (size_t i = 0; i < world->num_posts; i++) {
		struct world_event *event = &world->events[world->posts[i].event];

		world->places[event->first_place + event->num_places++] = i;
	}
}

struct world *
world_new(const struct pool *pool, uint64_t seed, unsigned faults)
{
	struct world *world = gs_mem_new(sizeof(*world));
	struct rng rng = rng_of(seed, 'w', 0);

	world->pool = pool;
	world->faults = faults;
	world->has_key = rng_once_in(&rng, 2);
	world->num_bootstrap = 1 + rng_below(&rng, 2);
	world->ids = gs_map_new();
	world_draw_relays(world, seed);
	world_draw_repos(world, seed);
	sort_posts(world);
	index_posts(world);
	return world;
}

void
world_free(struct world *world)
{
	for (size_t i = 0; i < world->num_events; i++)
		free(world->events[i].event.json);
	for (size_t i = 0; i < world->num_repos; i++)
		free(world->repos[i].versions);
	for (size_t i = 0; i < WORLD_RELAYS; i++)
		free(world->relays[i].outages);
	gs_map_free(world->ids, NULL);
	free(world->events);
	free(world->posts);
	free(world->places);
	free(world->kills);
	free(world);
}

struct world_event *
world_find(const struct world *world, const uint8_t id[static 32])
{
	char hex[POOL_HEX];

	*gs_hex_write(hex, id, 32) = '\0';
	return gs_map_get(world->ids, gs_str_of(hex));
}

const struct world_outage *
world_away(const struct world *world, size_t relay, int64_t now_s)
{
	const struct world_relay *at = &world->relays[relay];

	for (size_t i = 0; i < at->num_outages; i++)
		if (now_s >= at->outages[i].from_s && now_s < at->outages[i].to_s)
			return &at->outages[i];
	return NULL;
}
