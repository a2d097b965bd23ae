/* What has to be in our store, worked out a second time. */
#include "enginemodel.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "map.h"
#include "mem.h"

#define DATED_S 840		   /* live brings what is dated so well */
#define PROMPT_MS (20 * 60 * 1000) /* the promise */
#define FLAPPING_MIN 45		   /* and over several connections */
#define DAILY_MS (25 * 3600 * 1000 + 1800 * 1000)
#define FORGOTTEN_MS (300 * 1000) /* a pair that ended has lost its number by then */
#define MINUTE_MS 60000		  /* from one look to the next */

struct model_event {
	int64_t stored_ms; /* first; -1 */
	bool is_gone;	   /* deleted, vanished, expired */
	bool is_superseded;
	bool is_settled; /* nothing more is due */
};

struct model_place {
	int64_t wanted_ms, seen_ms;   /* that it is asked for there; -1 */
	int64_t clock_ms;	      /* it could come since; -1 */
	unsigned connection, minutes; /* in all that it could have come */
	bool is_new;		      /* a whole history is due */
};

struct model_repo {
	size_t standing; /* version; SIZE_MAX */
	bool is_followed, was_followed;
};

struct model {
	const struct world *world;
	bool has_daily, is_stale;
	struct model_event *events;
	struct model_place *places; /* as world->places */
	struct model_repo repos[WORLD_REPOS];
	size_t *effects; /* stored deletions and vanish requests */
	size_t num_effects, cap_effects;
	uint64_t wanted;
	int64_t unwanted_ms[WORLD_RELAYS];
	int64_t wanted_ms[WORLD_RELAYS]; /* nothing was known of it then */
	int64_t next_expiry_s;		 /* when something goes by itself */
	char complaint[400];
};

static void complain(struct model *model, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void
complain(struct model *model, const char *fmt, ...)
{
	va_list ap;

	if (model->complaint[0] != '\0')
		return;
	va_start(ap, fmt);
	(void)vsnprintf(model->complaint, sizeof(model->complaint), fmt, ap);
	va_end(ap);
}

struct model *
model_new(const struct world *world, bool has_daily)
{
	struct model *model = gs_mem_new(sizeof(*model));

	model->world = world;
	model->has_daily = has_daily;
	model->is_stale = true;
	model->events = gs_mem_array(world->num_events, sizeof(*model->events));
	model->places = gs_mem_array(world->num_posts + 1, sizeof(*model->places));
	for (size_t i = 0; i < world->num_events; i++)
		model->events[i].stored_ms = -1;
	for (size_t i = 0; i < world->num_posts; i++)
		model->places[i] = (struct model_place){ -1, -1, -1, 0, 0, false };
	return model;
}

void
model_free(struct model *model)
{
	free(model->events);
	free(model->places);
	free(model->effects);
	free(model);
}

const char *
model_complaint(const struct model *model)
{
	return model->complaint[0] != '\0' ? model->complaint : NULL;
}

size_t
model_num_stored(const struct model *model)
{
	size_t num = 0;

	for (size_t i = 0; i < model->world->num_events; i++)
		num += model->events[i].stored_ms >= 0;
	return num;
}

/* --- what stands --- */

static bool
is_newer(const struct pool_event *a, const struct pool_event *b)
{
	if (a->created_at != b->created_at)
		return a->created_at > b->created_at;
	return strcmp(a->id, b->id) < 0;
}

static bool
is_effect_on(const struct world_event *effect, const struct world_event *event,
    size_t number)
{
	const struct pool_event *how = &effect->event, *what = &event->event;

	if (how->author != what->author || effect == event || what->kind == 62)
		return false;
	if (how->kind == 62)
		return what->created_at <= how->created_at;
	if (what->kind == 5)
		return false;
	for (size_t i = 0; i < how->num_tags; i++) {
		if (how->tags[i].letter == 'e' && effect->events[i] == number)
			return true;
		if (how->tags[i].letter == 'a' && what->kind == 30617 &&
		    effect->repos[i] == event->repo &&
		    what->created_at <= how->created_at)
			return true;
	}
	return false;
}

static bool
is_gone(const struct model *model, size_t number, int64_t wall_s)
{
	const struct world_event *event = &model->world->events[number];

	if (event->expires_s >= 0 && event->expires_s <= wall_s)
		return true;
	for (size_t i = 0; i < model->num_effects; i++)
		if (is_effect_on(&model->world->events[model->effects[i]], event, number))
			return true;
	return false;
}

static void
update_repo(struct model *model, size_t number)
{
	const struct world_repo *at = &model->world->repos[number];
	struct model_repo *repo = &model->repos[number];

	repo->standing = SIZE_MAX;
	for (size_t i = 0; i < at->num_versions; i++) {
		const struct model_event *version = &model->events[at->versions[i]];

		if (version->stored_ms >= 0 && !version->is_gone &&
		    !version->is_superseded)
			repo->standing = at->versions[i];
	}
	repo->is_followed =
	    repo->standing != SIZE_MAX && model->world->events[repo->standing].is_listed;
	repo->was_followed |= repo->is_followed;
	if (repo->is_followed)
		model->wanted |= model->world->events[repo->standing].relays;
}

/* Who stands and is followed now. */
static void
update(struct model *model, int64_t now_ms)
{
	const struct world *world = model->world;
	int64_t wall_s = MIMIC_EPOCH_S + now_ms / 1000;

	if (!model->is_stale && wall_s < model->next_expiry_s)
		return;
	model->is_stale = false;
	model->next_expiry_s = INT64_MAX;
	for (size_t i = 0; i < world->num_events; i++) {
		int64_t expires_s = world->events[i].expires_s;

		model->events[i].is_gone = is_gone(model, i, wall_s);
		if (expires_s > wall_s && expires_s < model->next_expiry_s)
			model->next_expiry_s = expires_s;
	}
	model->wanted = (UINT64_C(1) << world->num_bootstrap) - 1;
	for (size_t i = 0; i < world->num_repos; i++)
		update_repo(model, i);
	for (size_t i = 0; i < WORLD_RELAYS; i++) {
		int64_t *unwanted_ms = &model->unwanted_ms[i];

		if ((model->wanted >> i & 1) == 0 && *unwanted_ms >= 0)
			continue;
		if (*unwanted_ms >= 0 && now_ms - *unwanted_ms > FORGOTTEN_MS)
			model->wanted_ms[i] = now_ms;
		*unwanted_ms = (model->wanted >> i & 1) != 0 ? -1 : now_ms;
	}
}

uint64_t
model_wanted(const struct model *model)
{
	return model->wanted;
}

int64_t
model_unwanted_ms(const struct model *model, size_t relay)
{
	return model->unwanted_ms[relay];
}

/* --- what was decided --- */

/* May an event be stored that hangs on what this tag names? */
static bool
has_ground(const struct model *model, const struct world_event *event, size_t tag)
{
	size_t repo = event->repos[tag], other = event->events[tag];

	if (repo != SIZE_MAX)
		return model->world->repos[repo].num_versions > 0 &&
		    !model->world->repos[repo].is_stranger;
	return other != SIZE_MAX && model->events[other].stored_ms >= 0;
}

static bool
may_be_stored(const struct model *model, const struct world_event *event)
{
	if (event->repo != SIZE_MAX)
		return !model->world->repos[event->repo].is_stranger;
	for (size_t i = 0; i < event->event.num_tags; i++)
		if (has_ground(model, event, i))
			return true;
	return false;
}

/* It takes the place of older versions, whatever becomes of it. */
static void
supersede(struct model *model, const struct world_event *event, size_t number)
{
	for (size_t i = 0; i < model->world->num_events; i++) {
		const struct world_event *other = &model->world->events[i];

		if (i != number && other->repo == event->repo &&
		    other->event.kind == event->event.kind &&
		    is_newer(&event->event, &other->event))
			model->events[i].is_superseded = true;
	}
	model->events[number].is_superseded = false;
}

void
model_decided(struct model *model, const uint8_t id[static 32], enum gs_known known,
    int64_t now_ms)
{
	const struct world_event *event = world_find(model->world, id);
	size_t number;

	if (event == NULL)
		return;
	number = (size_t)(event - model->world->events);
	/* Had it come in time, it would have taken their place, too. */
	if (known == GS_KNOWN_EXPIRED && event->repo != SIZE_MAX)
		supersede(model, event, number);
	if (known == GS_KNOWN_EXPIRED)
		model->is_stale = true;
	if (known != GS_KNOWN_STORED)
		return;
	if (model->events[number].stored_ms >= 0)
		return;
	if (!may_be_stored(model, event))
		complain(model, "event %s of kind %u is nobody's, and was stored",
		    event->event.id, event->event.kind);
	model->events[number].stored_ms = now_ms;
	model->is_stale = true;
	if (event->event.kind == 5 || event->event.kind == 62) {
		model->effects = gs_mem_more(model->effects, model->num_effects,
		    &model->cap_effects, sizeof(*model->effects));
		model->effects[model->num_effects++] = number;
	}
	if (event->repo != SIZE_MAX)
		supersede(model, event, number);
	/* What is followed for a moment only counts as well. */
	if (event->repo != SIZE_MAX || event->event.kind == 5 || event->event.kind == 62)
		update(model, now_ms);
}

/* --- what is asked for --- */

static bool
is_repo_on(const struct model *model, size_t repo, size_t relay)
{
	return model->repos[repo].is_followed &&
	    (model->world->events[model->repos[repo].standing].relays >> relay & 1) != 0;
}

/* A root of a repository that the relay has: its id is asked for there. */
static bool
is_root_on(const struct model *model, size_t number, size_t relay)
{
	const struct world_event *root = &model->world->events[number];

	if (!world_is_root(root->event.kind) || model->events[number].stored_ms < 0 ||
	    model->events[number].is_gone)
		return false;
	for (size_t i = 0; i < root->event.num_tags; i++)
		if (root->event.tags[i].letter == 'a' && root->repos[i] != SIZE_MAX &&
		    is_repo_on(model, root->repos[i], relay))
			return true;
	return false;
}

static bool
is_layer_1_wanted(const struct model *model, const struct world_event *event)
{
	if (event->event.kind == 30618)
		return model->repos[event->repo].is_followed;
	/* Of others it is said only that they go. */
	return event->is_listed || model->repos[event->repo].standing != SIZE_MAX;
}

static bool
is_asked(const struct model *model, const struct world_event *event, size_t relay)
{
	char refused = model->world->relays[relay].ways.refuse_letter;

	if ((model->wanted >> relay & 1) == 0)
		return false;
	if (event->repo != SIZE_MAX)
		return is_layer_1_wanted(model, event);
	for (size_t i = 0; i < event->event.num_tags; i++) {
		if (event->event.tags[i].letter == refused)
			continue;
		if (event->repos[i] != SIZE_MAX &&
		    is_repo_on(model, event->repos[i], relay))
			return true;
		if (event->events[i] != SIZE_MAX &&
		    is_root_on(model, event->events[i], relay))
			return true;
	}
	return false;
}

/* --- what is late --- */

static bool
gives(const struct model *model, size_t relay, const struct pool_event *event)
{
	const struct world_relay *at = &model->world->relays[relay];

	return at->sort != WAYS_LYING && ways_let_in(&at->ways, model->world->has_key) &&
	    !((at->ways.lies & MIMIC_CORRUPTS) != 0 && event->id[61] == '7');
}

static bool
is_dated(const struct world_post *post, const struct pool_event *event)
{
	int64_t aside_s = event->created_at - MIMIC_EPOCH_S - post->at_s;

	return aside_s >= -DATED_S && aside_s <= DATED_S;
}

/* Notes since when it is asked for there. */
static void
want_place(struct model_place *place, int64_t now_ms)
{
	if (place->wanted_ms < 0) {
		place->is_new =
		    place->seen_ms < 0 || now_ms - place->seen_ms > FORGOTTEN_MS;
		place->wanted_ms = now_ms;
	}
	place->seen_ms = now_ms;
}

/*
 * Was it there before it was asked for without `since`?  Looked at once a minute, that
 * may be known a minute late; layer 1 is asked for as soon as the relay is wanted.
 */
static bool
is_read_whole(const struct model *model, size_t number, const struct world_post *post,
    const struct model_place *place)
{
	bool is_layer_1 = model->world->events[number].repo != SIZE_MAX;
	int64_t asked_ms = is_layer_1 ? model->wanted_ms[post->relay] : place->wanted_ms;

	return place->is_new &&
	    (post->at_s < 0 || post->at_s * 1000 + MINUTE_MS <= asked_ms);
}

static bool
is_late(const struct model_place *place, bool is_prompt, int64_t now_ms)
{
	int64_t had_ms = now_ms - place->clock_ms;

	if (!is_prompt)
		return had_ms > DAILY_MS;
	return had_ms > PROMPT_MS || place->minutes > FLAPPING_MIN;
}

static void
sweep_place(struct model *model, size_t number, size_t at,
    const struct model_link links[WORLD_RELAYS], int64_t now_ms)
{
	const struct world *world = model->world;
	const struct pool_event *event = &world->events[number].event;
	const struct world_post *post = &world->posts[world->places[at]];
	const struct model_link *link = &links[post->relay];
	struct model_place *place = &model->places[at];
	bool is_honest = world->relays[post->relay].sort == WAYS_HONEST, is_prompt;

	if (!is_asked(model, &world->events[number], post->relay)) {
		place->wanted_ms = place->clock_ms = -1;
		place->minutes = 0;
		return;
	}
	want_place(place, now_ms);
	is_prompt = is_dated(post, event) || is_read_whole(model, number, post, place);
	if (post->at_s * 1000 > now_ms || !gives(model, post->relay, event) ||
	    (!is_prompt && !model->has_daily))
		return;
	if (!is_honest && link->is_named)
		place->minutes = 0;
	if (!link->is_open || (!is_honest && link->is_named)) {
		place->clock_ms = -1;
		return;
	}
	if (place->clock_ms < 0 || place->connection != link->connection) {
		place->clock_ms = now_ms;
		place->connection = link->connection;
	}
	place->minutes++;
	if (is_late(place, is_prompt, now_ms))
		complain(model,
		    "event %s (number %zu, kind %u, of %" PRId64 ", published at %" PRId64
		    " s on r%zu, asked for since %" PRId64 " s, to be had since %" PRId64
		    " s) is not here at %" PRId64 " s",
		    event->id, number, event->kind, event->created_at - MIMIC_EPOCH_S,
		    post->at_s, post->relay, place->wanted_ms / 1000,
		    place->clock_ms / 1000, now_ms / 1000);
}

void
model_sweep(struct model *model, const struct model_link links[WORLD_RELAYS],
    int64_t now_ms)
{
	const struct world *world = model->world;

	update(model, now_ms);
	for (size_t i = 0; i < world->num_events; i++) {
		const struct world_event *event = &world->events[i];
		const struct model_event *known = &model->events[i];

		if (known->stored_ms >= 0 || known->is_gone || known->is_superseded)
			continue;
		for (size_t at = event->first_place;
		     at < event->first_place + event->num_places; at++)
			sweep_place(model, i, at, links, now_ms);
	}
}

/* --- in the end --- */

void
model_judge(struct model *model, struct gs_store *store, int64_t now_ms)
{
	struct gs_err err;
	struct gs_txn *txn = gs_store_read(store, &err);

	if (txn == NULL) {
		complain(model, "%s", err.text);
		return;
	}
	update(model, now_ms);
	for (size_t i = 0; i < model->world->num_events; i++) {
		const struct world_event *event = &model->world->events[i];
		const struct model_event *known = &model->events[i];
		bool stands = gs_store_known(txn, event->id) == GS_KNOWN_STORED;
		bool must =
		    known->stored_ms >= 0 && !known->is_gone && !known->is_superseded;

		if (must && !stands)
			complain(model, "event %s of kind %u was stored, and is lost",
			    event->event.id, event->event.kind);
		/* What expired goes with the next commit. */
		if (stands && !must && event->expires_s < 0)
			complain(model, "event %s of kind %u stands, and must not",
			    event->event.id, event->event.kind);
	}
	gs_txn_end(txn);
}
