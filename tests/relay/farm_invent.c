/*
 * Events that the farm signs itself: of relays that have some for every second, whatever
 * is asked, and new ones at a rate.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "farm.h"
#include "mem.h"

#define KEYS_OF_FARM 79 /* a sort of keys that no other tool makes */
#define A_SECOND 4	/* inventions */
#define KIND_ISSUE 1621
#define KIND_COMMENT 1111
#define MOST_A_TICK 1000

struct farm_invention {
	const struct farm_relay *relay;
	char letter; /* 0: announcements */
	char *value;
	int64_t at_s, since; /* dates go down */
	int64_t number, left;
	char room[]; /* of value */
};

struct farm_invention *
farm_invention_new(const struct farm *farm, const struct farm_relay *relay,
    const struct gs_filter *filter)
{
	const struct gs_filter_tag *tag = filter->num_tags > 0 ? filter->tags : NULL;
	struct farm_invention *invention;
	struct gs_str value = GS_STR("");
	bool announces = false;
	char hex[DRAFT_HEX];

	for (size_t i = 0; i < filter->num_kinds; i++)
		announces |= filter->kinds[i] == GS_KIND_ANNOUNCEMENT;
	if (tag == NULL && !announces)
		return NULL;
	if (tag != NULL)
		value = farm_filter_value(tag, 0, hex);
	invention = gs_mem_new(sizeof(*invention) + value.len + 1);
	invention->relay = relay;
	invention->letter = tag ? tag->letter : '\0';
	invention->value = invention->room;
	memcpy(invention->room, value.ptr, value.len);
	invention->at_s = farm_wall_ms() / 1000;
	if (filter->until >= 0 && filter->until < invention->at_s)
		invention->at_s = filter->until;
	invention->since = filter->since > 0 ? filter->since : 0;
	invention->left = farm->options.page;
	if (filter->limit >= 0 && filter->limit < invention->left)
		invention->left = filter->limit;
	return invention;
}

static void
draft_announcement(struct farm *farm, const struct farm_invention *invention)
{
	struct draft *draft = &farm->draft;
	char text[320];

	draft_begin(draft, GS_KIND_ANNOUNCEMENT, invention->at_s);
	(void)snprintf(text, sizeof(text), "invented-%" PRId64 "-%" PRId64,
	    invention->at_s, invention->number);
	draft_tag(draft, "d", text, NULL);
	(void)snprintf(text, sizeof(text), "https://%s/npub1/invented.git",
	    farm->options.service);
	draft_tag(draft, "clone", text, NULL);
	(void)snprintf(text, sizeof(text), "wss://%s", farm->options.service);
	draft_tag(draft, "relays", text, NULL);
	(void)snprintf(text, sizeof(text), "ws://127.0.0.1:%" PRId64 "/%s",
	    farm->options.port, invention->relay->name);
	draft_value(draft, text);
}

static void
draft_belonging(struct farm *farm, const struct farm_invention *invention)
{
	struct draft *draft = &farm->draft;
	const char name[] = { invention->letter, '\0' };
	bool is_root = invention->letter == 'a';

	draft_begin(draft, is_root ? KIND_ISSUE : KIND_COMMENT, invention->at_s);
	draft_tag(draft, name, invention->value, NULL);
	gs_buf_printf(&draft->content, "invented by %s, number %" PRId64,
	    invention->relay->name, invention->number);
}

bool
farm_invention_next(struct farm *farm, struct farm_invention *invention)
{
	char id[DRAFT_HEX];

	if (invention->left == 0 || invention->at_s < invention->since)
		return false;
	invention->left--;
	if (invention->letter == '\0')
		draft_announcement(farm, invention);
	else
		draft_belonging(farm, invention);
	draft_sign(&farm->draft, &farm->people[invention->at_s % FARM_PEOPLE], id);
	if (++invention->number == A_SECOND) {
		invention->number = 0;
		invention->at_s--;
	}
	return true;
}

/* ---- at a rate */

void
farm_rate_init(struct farm *farm, uint64_t seed)
{
	static secp256k1_context *secp;

	if (secp == NULL)
		secp = sign_context();
	farm->rng = rng_of(seed, KEYS_OF_FARM, 0);
	for (size_t i = 0; i < FARM_PEOPLE; i++)
		signer_init(&farm->people[i], secp, seed, KEYS_OF_FARM, i);
}

static bool
draft_root(struct farm *farm)
{
	const struct farm_repo *repo;

	if (farm->num_repos == 0)
		return false;
	repo = farm->repos[rng_below(&farm->rng, farm->num_repos)];
	draft_tag(&farm->draft, "a", repo->ref, NULL);
	draft_tag(&farm->draft, "subject", "made while it runs", NULL);
	return repo->on->num > 0;
}

static bool
draft_comment(struct farm *farm)
{
	const struct farm_event *root;
	char hex[DRAFT_HEX];

	if (farm->roots.num == 0)
		return false;
	root = farm->roots.events[rng_below(&farm->rng, farm->roots.num)];
	*gs_hex_write(hex, root->id, sizeof(root->id)) = '\0';
	draft_tag(&farm->draft, "E", hex, NULL);
	draft_tag(&farm->draft, "e", hex, NULL);
	return root->on->num > 0;
}

static void
make_one(struct farm *farm)
{
	bool is_root =
	    farm->rate.root_each > 0 && farm->rate.made % farm->rate.root_each == 0;
	struct farm_event *event;
	char id[DRAFT_HEX];

	draft_begin(&farm->draft, is_root ? KIND_ISSUE : KIND_COMMENT,
	    farm_wall_ms() / 1000);
	if (!(is_root ? draft_root(farm) : draft_comment(farm)))
		return;
	gs_buf_printf(&farm->draft.content, "number %" PRId64 " at %" PRId64,
	    farm->rate.made, farm_wall_ms());
	draft_sign(&farm->draft, &farm->people[rng_below(&farm->rng, FARM_PEOPLE)], id);
	event = farm_world_add(farm,
	    (struct gs_str){ farm->draft.line.data, farm->draft.line.len }, NULL);
	if (event == NULL)
		return;
	event->live_ms = is_root ? farm_wall_ms() : 0;
	farm_serve_live(farm, event);
}

void
farm_rate_tick(struct farm *farm, int64_t now_ms)
{
	struct farm_rate *rate = &farm->rate;
	int64_t until_ms = now_ms < rate->end_ms ? now_ms : rate->end_ms;
	int64_t due, most = MOST_A_TICK;

	if (rate->per_s == 0)
		return;
	due = (until_ms - rate->begin_ms) * rate->per_s / 1000;
	for (; rate->made < due && most > 0; most--) {
		make_one(farm);
		rate->made++;
	}
	if (now_ms >= rate->end_ms && rate->made >= due)
		rate->per_s = 0;
}
