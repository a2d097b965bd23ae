/* A hash map of byte strings, keyed with a random secret: peers choose the strings. */
#include "map.h"

#include <sodium.h>
#include <stdint.h>
#include <stdlib.h>

#include "mem.h"

#define FIRST_SLOTS 16

/* Linear probing over a power of two; an empty slot has no entry. */
struct gs_map {
	struct gs_map_entry **slots;
	size_t num_slots;
	size_t count;
	unsigned char secret[crypto_shorthash_KEYBYTES];
};

struct gs_map *
gs_map_new(void)
{
	struct gs_map *map = gs_mem_new(sizeof(*map));

	map->num_slots = FIRST_SLOTS;
	map->slots = gs_mem_array(map->num_slots, sizeof(*map->slots));
	randombytes_buf(map->secret, sizeof(map->secret));
	return map;
}

static void
free_entry(struct gs_map_entry *entry)
{
	free((char *)(uintptr_t)entry->key.ptr);
	free(entry);
}

void
gs_map_free(struct gs_map *map, void (*free_value)(void *))
{
	size_t i;

	if (map == NULL)
		return;
	for (i = 0; i < map->num_slots; i++) {
		if (map->slots[i] == NULL)
			continue;
		if (free_value != NULL)
			free_value(map->slots[i]->value);
		free_entry(map->slots[i]);
	}
	free(map->slots);
	free(map);
}

static size_t
home_of(const struct gs_map *map, struct gs_str key)
{
	uint64_t hash;

	crypto_shorthash((unsigned char *)&hash, (const unsigned char *)key.ptr, key.len,
	    map->secret);
	return (size_t)hash & (map->num_slots - 1);
}

/* The slot that holds key, or the empty one where it would stand. */
static size_t
slot_of(const struct gs_map *map, struct gs_str key)
{
	size_t i = home_of(map, key);

	while (map->slots[i] != NULL && !gs_str_equal(map->slots[i]->key, key))
		i = (i + 1) & (map->num_slots - 1);
	return i;
}

static void
grow(struct gs_map *map)
{
	struct gs_map_entry **old = map->slots;
	size_t num_old = map->num_slots;
	size_t i;

	map->num_slots *= 2;
	map->slots = gs_mem_array(map->num_slots, sizeof(*map->slots));
	for (i = 0; i < num_old; i++)
		if (old[i] != NULL)
			map->slots[slot_of(map, old[i]->key)] = old[i];
	free(old);
}

struct gs_map_entry *
gs_map_find(const struct gs_map *map, struct gs_str key)
{
	return map->slots[slot_of(map, key)];
}

struct gs_map_entry *
gs_map_add(struct gs_map *map, struct gs_str key)
{
	struct gs_map_entry *entry = gs_map_find(map, key);

	if (entry != NULL)
		return entry;
	if (map->count * 3 >= map->num_slots * 2)
		grow(map);
	entry = gs_mem_new(sizeof(*entry));
	entry->key.ptr = gs_mem_dup(key.ptr, key.len);
	entry->key.len = key.len;
	map->slots[slot_of(map, key)] = entry;
	map->count++;
	return entry;
}

/* Moves back what a hole at i would hide from its probe. */
static void
close_hole(struct gs_map *map, size_t i)
{
	size_t mask = map->num_slots - 1;
	size_t j = i;

	for (;;) {
		size_t home;

		j = (j + 1) & mask;
		if (map->slots[j] == NULL)
			return;
		home = home_of(map, map->slots[j]->key);
		if (((j - home) & mask) < ((j - i) & mask))
			continue;
		map->slots[i] = map->slots[j];
		map->slots[j] = NULL;
		i = j;
	}
}

void *
gs_map_del(struct gs_map *map, struct gs_str key)
{
	size_t i = slot_of(map, key);
	void *value;

	if (map->slots[i] == NULL)
		return NULL;
	value = map->slots[i]->value;
	free_entry(map->slots[i]);
	map->slots[i] = NULL;
	map->count--;
	close_hole(map, i);
	return value;
}

void *
gs_map_get(const struct gs_map *map, struct gs_str key)
{
	const struct gs_map_entry *entry = gs_map_find(map, key);

	return entry ? entry->value : NULL;
}

size_t
gs_map_count(const struct gs_map *map)
{
	return map->count;
}

struct gs_map_entry *
gs_map_next(const struct gs_map *map, size_t *at)
{
	while (*at < map->num_slots) {
		struct gs_map_entry *entry = map->slots[(*at)++];

		if (entry != NULL)
			return entry;
	}
	return NULL;
}

static int
compare_entries(const void *a, const void *b)
{
	struct gs_map_entry *const *left = a;
	struct gs_map_entry *const *right = b;

	return gs_str_compare((*left)->key, (*right)->key);
}

struct gs_map_entry **
gs_map_sorted(const struct gs_map *map)
{
	struct gs_map_entry **all = gs_mem_array(map->count, sizeof(*all));
	struct gs_map_entry *entry;
	size_t at = 0, n = 0;

	while ((entry = gs_map_next(map, &at)) != NULL)
		all[n++] = entry;
	qsort(all, n, sizeof(*all), compare_entries);
	return all;
}
