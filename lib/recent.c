/*
 * Which ids were handed out.  The ids stand in a ring in the order of their coming; a
 * table of places in it, open addressing with linear probing, finds them.
 */
#include "recent.h"

#include <assert.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"

#define FIRST_SLOTS 64
#define EMPTY UINT32_MAX

struct gs_recent {
	uint8_t (*ids)[GS_RECENT_ID];
	size_t num, cap, max;
	size_t oldest;	    /* in a full ring, the one to go next */
	uint32_t *slots;    /* places in ids */
	size_t num_slots;   /* a power of two, at least twice num */
	uint64_t secret[2]; /* peers choose ids */
};

struct gs_recent *
gs_recent_new(size_t max)
{
	struct gs_recent *recent = gs_mem_new(sizeof(*recent));

	recent->max = max;
	randombytes_buf(recent->secret, sizeof(recent->secret));
	return recent;
}

void
gs_recent_free(struct gs_recent *recent)
{
	if (recent == NULL)
		return;
	free(recent->ids);
	free(recent->slots);
	free(recent);
}

/* Ids are hashes already; the secret keeps others from choosing what collides. */
static size_t
find_home(const struct gs_recent *recent, const uint8_t *id)
{
	uint64_t word;

	memcpy(&word, id, sizeof(word));
	word = (word ^ recent->secret[0]) * (recent->secret[1] | 1);
	return (size_t)(word >> 32) & (recent->num_slots - 1);
}

/* The slot of an id, or the empty one where it would go. */
static size_t
find_slot(const struct gs_recent *recent, const uint8_t *id)
{
	size_t slot = find_home(recent, id);

	while (recent->slots[slot] != EMPTY &&
	    memcmp(recent->ids[recent->slots[slot]], id, GS_RECENT_ID) != 0)
		slot = (slot + 1) & (recent->num_slots - 1);
	return slot;
}

bool
gs_recent_has(const struct gs_recent *recent, const uint8_t id[static GS_RECENT_ID])
{
	return recent->num_slots > 0 && recent->slots[find_slot(recent, id)] != EMPTY;
}

size_t
gs_recent_count(const struct gs_recent *recent)
{
	return recent->num;
}

static void
grow_table(struct gs_recent *recent)
{
	recent->num_slots = recent->num_slots ? 2 * recent->num_slots : FIRST_SLOTS;
	free(recent->slots);
	recent->slots = gs_mem_array(recent->num_slots, sizeof(*recent->slots));
	memset(recent->slots, 0xff, recent->num_slots * sizeof(*recent->slots));
	for (size_t i = 0; i < recent->num; i++)
		recent->slots[find_slot(recent, recent->ids[i])] = (uint32_t)i;
}

/* Empties a slot; those behind it that could stand there move up. */
static void
clear_slot(struct gs_recent *recent, size_t slot)
{
	const size_t mask = recent->num_slots - 1;
	size_t next = slot;

	for (;;) {
		size_t home;

		next = (next + 1) & mask;
		if (recent->slots[next] == EMPTY)
			break;
		home = find_home(recent, recent->ids[recent->slots[next]]);
		if (((next - home) & mask) < ((next - slot) & mask))
			continue;
		recent->slots[slot] = recent->slots[next];
		slot = next;
	}
	recent->slots[slot] = EMPTY;
}

/* The place for one more id: behind the others, or that of the oldest. */
static size_t
make_place(struct gs_recent *recent)
{
	size_t place = recent->oldest;

	if (recent->max > 0 && recent->num == recent->max) {
		clear_slot(recent, find_slot(recent, recent->ids[place]));
		recent->oldest = (place + 1) % recent->max;
		return place;
	}
	assert(recent->num < EMPTY);
	if (2 * (recent->num + 1) > recent->num_slots)
		grow_table(recent);
	recent->ids =
	    gs_mem_more(recent->ids, recent->num, &recent->cap, sizeof(*recent->ids));
	return recent->num++;
}

void
gs_recent_add(struct gs_recent *recent, const uint8_t id[static GS_RECENT_ID])
{
	size_t place = make_place(recent);

	memcpy(recent->ids[place], id, GS_RECENT_ID);
	recent->slots[find_slot(recent, id)] = (uint32_t)place;
}
