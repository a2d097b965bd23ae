/* Who is followed, and who maintains it; see the header. */
#include "closure.h"

#include <stdlib.h>
#include <string.h>

#include "hex.h"
#include "mem.h"

#define MAX_REMEMBERED 65536 /* answers kept; then all are forgotten */
#define MAX_MEMBERS \
	10000 /* of one `d`: strangers choose how many maintainers they name */

struct gs_closure {
	const struct gs_policy *policy;
	struct gs_map *followed; /* ref -> &answers[1] if followed, else &answers[0] */
	struct gs_map *members;	 /* d -> map of public keys */
	bool answers[2];
	struct gs_event event;
};

static void
free_members(void *members)
{
	gs_map_free(members, NULL);
}

struct gs_closure *
gs_closure_new(const struct gs_policy *policy)
{
	struct gs_closure *closure = gs_mem_new(sizeof(*closure));

	closure->policy = policy;
	closure->followed = gs_map_new();
	closure->members = gs_map_new();
	return closure;
}

void
gs_closure_free(struct gs_closure *closure)
{
	if (closure == NULL)
		return;
	gs_map_free(closure->followed, NULL);
	gs_map_free(closure->members, free_members);
	gs_event_fini(&closure->event);
	free(closure);
}

void
gs_closure_forget_all(struct gs_closure *closure)
{
	gs_map_free(closure->followed, NULL);
	gs_map_free(closure->members, free_members);
	closure->followed = gs_map_new();
	closure->members = gs_map_new();
}

void
gs_closure_forget(struct gs_closure *closure, const uint8_t pubkey[static 32],
    struct gs_str d)
{
	struct gs_buf ref = GS_BUF_INIT;

	gs_address_write(&ref, GS_KIND_ANNOUNCEMENT, pubkey, d);
	(void)gs_map_del(closure->followed, (struct gs_str){ ref.data, ref.len });
	free_members(gs_map_del(closure->members, d));
	gs_buf_fini(&ref);
}

static bool
parse_row(struct gs_closure *closure, const struct gs_row *row)
{
	return gs_event_parse(&closure->event, row->json.ptr, row->json.len, NULL) ==
	    GS_EVENT_OK;
}

void
gs_closure_forget_row(struct gs_closure *closure, const struct gs_row *row)
{
	if (parse_row(closure, row))
		gs_closure_forget(closure, row->pubkey, gs_event_d(&closure->event));
	else
		gs_closure_forget_all(closure);
}

static bool
look_up_followed(struct gs_closure *closure, struct gs_txn *txn, struct gs_str ref)
{
	struct gs_address address;
	struct gs_row row;

	return gs_address_is_repo(ref) && gs_address_parse(&address, ref) &&
	    gs_store_current(txn, &address, &row) && parse_row(closure, &row) &&
	    gs_policy_follow(closure->policy, &closure->event) == GS_FOLLOWED;
}

bool
gs_closure_is_followed(struct gs_closure *closure, struct gs_txn *txn, struct gs_str ref)
{
	struct gs_map_entry *entry;

	if (gs_map_count(closure->followed) >= MAX_REMEMBERED)
		gs_closure_forget_all(closure);
	entry = gs_map_add(closure->followed, ref);
	if (entry->value == NULL)
		entry->value = &closure->answers[look_up_followed(closure, txn, ref)];
	return entry->value == &closure->answers[1];
}

/* --- the maintainers of one d --- */

struct maintainers {
	uint8_t author[32];
	bool is_followed;
	uint8_t (*names)[32];
	size_t num, cap;
};

struct gathering {
	struct gs_closure *closure;
	struct maintainers *all;
	size_t num, cap;
};

static void
add_names(struct maintainers *who, const struct gs_policy *policy,
    const struct gs_tag *tag)
{
	size_t i;

	for (i = 1; i < tag->num && who->num < MAX_MEMBERS; i++) {
		uint8_t key[32];

		if (!gs_hex_parse(key, 32, tag->values[i].ptr, tag->values[i].len) ||
		    gs_policy_denies_author(policy, key))
			continue;
		who->names =
		    gs_mem_more(who->names, who->num, &who->cap, sizeof(*who->names));
		memcpy(who->names[who->num++], key, 32);
	}
}

static bool
gather(const struct gs_row *row, void *arg)
{
	struct gathering *gathering = arg;
	struct gs_closure *closure = gathering->closure;
	struct maintainers *who;
	enum gs_follow follow;
	size_t i;

	if (row->kind != GS_KIND_ANNOUNCEMENT || !parse_row(closure, row))
		return true;
	follow = gs_policy_follow(closure->policy, &closure->event);
	if (follow == GS_FOLLOW_DENIED) /* it names nobody */
		return true;
	gathering->all = gs_mem_more(gathering->all, gathering->num, &gathering->cap,
	    sizeof(*gathering->all));
	who = &gathering->all[gathering->num++];
	*who = (struct maintainers){ .is_followed = follow == GS_FOLLOWED };
	memcpy(who->author, row->pubkey, 32);
	for (i = 0; i < closure->event.num_tags; i++)
		if (gs_tag_is(&closure->event.tags[i], "maintainers"))
			add_names(who, closure->policy, &closure->event.tags[i]);
	return true;
}

static struct gs_str
key_of(const uint8_t pubkey[static 32])
{
	return (struct gs_str){ (const char *)pubkey, 32 };
}

/* A member's own announcement names further ones: again until nobody is new. */
static void
spread(const struct gathering *gathering, struct gs_map *members)
{
	size_t before, i, j;

	do {
		before = gs_map_count(members);
		for (i = 0; i < gathering->num; i++) {
			const struct maintainers *who = &gathering->all[i];

			if (gs_map_find(members, key_of(who->author)) == NULL)
				continue;
			for (j = 0; j < who->num && gs_map_count(members) < MAX_MEMBERS;
			     j++)
				(void)gs_map_add(members, key_of(who->names[j]));
		}
	} while (gs_map_count(members) != before);
}

static struct gs_map *
look_up_members(struct gs_closure *closure, struct gs_txn *txn, struct gs_str d)
{
	struct gathering gathering = { .closure = closure };
	struct gs_map *members = gs_map_new();
	size_t i;

	(void)gs_store_tagged(txn, 'd', d, gather, &gathering);
	for (i = 0; i < gathering.num; i++)
		if (gathering.all[i].is_followed)
			(void)gs_map_add(members, key_of(gathering.all[i].author));
	spread(&gathering, members);
	for (i = 0; i < gathering.num; i++)
		free(gathering.all[i].names);
	free(gathering.all);
	return members;
}

static struct gs_map *
members_of(struct gs_closure *closure, struct gs_txn *txn, struct gs_str d)
{
	struct gs_map_entry *entry;

	if (gs_map_count(closure->members) >= MAX_REMEMBERED)
		gs_closure_forget_all(closure);
	entry = gs_map_add(closure->members, d);
	if (entry->value == NULL)
		entry->value = look_up_members(closure, txn, d);
	return entry->value;
}

bool
gs_closure_has(struct gs_closure *closure, struct gs_txn *txn,
    const uint8_t pubkey[static 32], struct gs_str d)
{
	return gs_map_find(members_of(closure, txn, d), key_of(pubkey)) != NULL;
}

void
gs_closure_each(struct gs_closure *closure, struct gs_txn *txn, struct gs_str d,
    gs_closure_fn *fn, void *arg)
{
	const struct gs_map *members = members_of(closure, txn, d);
	const struct gs_map_entry *entry;
	size_t at = 0;

	while ((entry = gs_map_next(members, &at)) != NULL)
		fn((const uint8_t *)entry->key.ptr, d, arg);
}
