/*
 * Signed events, made once for all seeds: signing is what takes time.  They have our
 * own form here, so that what is right is known without the library's matching.
 */
#ifndef POOL_H
#define POOL_H

#include <stddef.h>
#include <stdint.h>

#include "tools/rng.h"

#define POOL_EVENTS 4000
#define POOL_AUTHORS 8
#define POOL_KINDS 9
#define POOL_REFS 16  /* repositories that tags name */
#define POOL_ROOTS 24 /* events that tags name */
#define POOL_TAGS 3
#define POOL_HEX 65
#define POOL_VALUE 88

struct pool_tag {
	char letter;
	char value[POOL_VALUE];
};

struct pool_event {
	char id[POOL_HEX];
	size_t author;
	int64_t created_at;
	unsigned kind;
	struct pool_tag tags[POOL_TAGS];
	size_t num_tags;
	char *json;
};

struct pool {
	struct pool_event *events; /* newest first, then by id, like a relay's */
	size_t num;
	char authors[POOL_AUTHORS][POOL_HEX];
	struct pool_signers *signers;
	struct gs_auth *client; /* who reads, where a relay wants to know */
};

extern const unsigned pool_kinds[POOL_KINDS];
extern const char pool_letters[]; /* of the tags, up to a NUL */

struct pool *pool_new(void);
void pool_free(struct pool *pool);

/* An event of that date, the rest by chance, signed; its json is the caller's. */
void pool_make(const struct pool *pool, struct pool_event *event, struct rng *rng,
    int64_t created_at);
/* A value as such a tag has, number below POOL_ROOTS. */
void pool_value(const struct pool *pool, char letter, size_t number,
    char value[static POOL_VALUE]);
/* For qsort: newest first, then the lower id. */
int pool_compare(const void *a, const void *b);

#endif
