/* A hash map of byte strings, keyed with a random secret: peers choose the strings. */
#ifndef GS_MAP_H
#define GS_MAP_H

#include <stdbool.h>
#include <stddef.h>

#include "buf.h"

struct gs_map;

/* value is the caller's to read and write; the map never frees it. */
struct gs_map_entry {
	struct gs_str key; /* a copy that the map owns */
	void *value;
};

struct gs_map *gs_map_new(void);
void gs_map_free(struct gs_map *map,
    void (*free_value)(void *)); /* free_value may be NULL */

/* The entry of key, or NULL.  Valid until the next add or del. */
struct gs_map_entry *gs_map_find(const struct gs_map *map, struct gs_str key);
/* The entry of key, made with a NULL value if it was not there. */
struct gs_map_entry *gs_map_add(struct gs_map *map, struct gs_str key);
/* Takes the entry out; its value (NULL if there was none) is the caller's. */
void *gs_map_del(struct gs_map *map, struct gs_str key);

void *gs_map_get(const struct gs_map *map, struct gs_str key); /* the value or NULL */
size_t gs_map_count(const struct gs_map *map);

/* In any order: *at starts at 0; NULL is the end.  No add or del in between. */
struct gs_map_entry *gs_map_next(const struct gs_map *map, size_t *at);
/* All entries sorted by key; the array is the caller's, the entries are the map's. */
struct gs_map_entry **gs_map_sorted(const struct gs_map *map);

#endif
