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

struct entry {
	uint8_t id[GS_RECENT_ID];
	uint64_t mark; /* a keyed hash of the bytes that it came in */
};

struct gs_recent {
	struct entry *entries;
	size_t num, cap, max;
	size_t oldest;	    /* in a full ring, the one to go next */
	uint32_t *slots;    /* places in entries */
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
	free(recent->entries);
	free(recent->slots);
	free(recent);
}

void
gs_recent_clear(struct gs_recent *recent)
{
	free(recent->entries);
	free(recent->slots);
	recent->entries = NULL;
	recent->slots = NULL;
	recent->num = recent->cap = recent->oldest = recent->num_slots = 0;
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

static size_t
slot_behind(const struct gs_recent *recent, size_t slot)
{
	return (slot + 1) & (recent->num_slots - 1);
}

/* From slot on, the next one of an id, or the first empty one. */
static size_t
find_next(const struct gs_recent *recent, const uint8_t *id, size_t slot)
{
	while (recent->slots[slot] != EMPTY &&
	    memcmp(recent->entries[recent->slots[slot]].id, id, GS_RECENT_ID) != 0)
		slot = slot_behind(recent, slot);
	return slot;
}

static size_t
find_first(const struct gs_recent *recent, const uint8_t *id)
{
	return find_next(recent, id, find_home(recent, id));
}

/* The empty slot where an entry of that id would go. */
static size_t
find_empty(const struct gs_recent *recent, const uint8_t *id)
{
	size_t slot = find_home(recent, id);

	while (recent->slots[slot] != EMPTY)
		slot = slot_behind(recent, slot);
	return slot;
}

static size_t
find_place(const struct gs_recent *recent, size_t place)
{
	size_t slot = find_home(recent, recent->entries[place].id);

	while (recent->slots[slot] != place)
		slot = slot_behind(recent, slot);
	return slot;
}

bool
gs_recent_has(const struct gs_recent *recent, const uint8_t id[static GS_RECENT_ID])
{
	return recent->num_slots > 0 && recent->slots[find_first(recent, id)] != EMPTY;
}

size_t
gs_recent_variants(const struct gs_recent *recent, const uint8_t id[static GS_RECENT_ID])
{
	size_t num = 0;

	if (recent->num_slots == 0)
		return 0;
	for (size_t slot = find_first(recent, id); recent->slots[slot] != EMPTY;
	     slot = find_next(recent, id, slot_behind(recent, slot)))
		num++;
	return num;
}

/* Short and keyed: whoever does not know the secret can't make two alike. */
static uint64_t
mark_bytes(const struct gs_recent *recent, struct gs_str bytes)
{
	uint8_t key[crypto_shorthash_KEYBYTES];
	uint64_t mark;

	static_assert(sizeof(key) == sizeof(recent->secret), "two words");
	static_assert(sizeof(mark) == crypto_shorthash_BYTES, "one word");
	memcpy(key, recent->secret, sizeof(key));
	(void)crypto_shorthash((unsigned char *)&mark, (const unsigned char *)bytes.ptr,
	    bytes.len, key);
	return mark;
}

bool
gs_recent_is_copy(const struct gs_recent *recent, const uint8_t id[static GS_RECENT_ID],
    struct gs_str bytes)
{
	uint64_t mark;

	if (!gs_recent_has(recent, id))
		return false;
	mark = mark_bytes(recent, bytes);
	for (size_t slot = find_first(recent, id); recent->slots[slot] != EMPTY;
	     slot = find_next(recent, id, slot_behind(recent, slot)))
		if (recent->entries[recent->slots[slot]].mark == mark)
			return true;
	return false;
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
		recent->slots[find_empty(recent, recent->entries[i].id)] = (uint32_t)i;
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
		home = find_home(recent, recent->entries[recent->slots[next]].id);
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
		clear_slot(recent, find_place(recent, place));
		recent->oldest = (place + 1) % recent->max;
		return place;
	}
	assert(recent->num < EMPTY);
	if (2 * (recent->num + 1) > recent->num_slots)
		grow_table(recent);
	recent->entries = gs_mem_more(recent->entries, recent->num, &recent->cap,
	    sizeof(*recent->entries));
	return recent->num++;
}

void
gs_recent_add(struct gs_recent *recent, const uint8_t id[static GS_RECENT_ID],
    struct gs_str bytes)
{
	size_t place = make_place(recent);

	memcpy(recent->entries[place].id, id, GS_RECENT_ID);
	recent->entries[place].mark = mark_bytes(recent, bytes);
	recent->slots[find_empty(recent, id)] = (uint32_t)place;
}
