/*
 * What has to be in our store, worked out a second time: which announcement stands,
 * what is followed, on which relay an event may be asked for, and since when it could
 * have been here.  It knows the world, what was committed, and who was connected.
 */
#ifndef ENGINEMODEL_H
#define ENGINEMODEL_H

#include "engineworld.h"
#include "store.h"

struct model;

/* One relay as its connection looks from outside. */
struct model_link {
	bool is_open;
	unsigned connection; /* another number for each */
	bool is_named;	     /* a report says that something is not followed there */
	bool is_gone;	     /* nobody tracks it */
};

struct model *model_new(const struct world *world, bool has_daily);
void model_free(struct model *model);

/* A commit decided this about an event. */
void model_decided(struct model *model, const uint8_t id[static 32], enum gs_known known,
    int64_t now_ms);
/* Once a minute: is anything late? */
void model_sweep(struct model *model, const struct model_link links[WORLD_RELAYS],
    int64_t now_ms);
/* In the end: is all there that stands, and nothing else? */
void model_judge(struct model *model, struct gs_store *store, int64_t now_ms);
/* Relays that are wanted, a bit each; since when one is not, ms (-1: it is). */
uint64_t model_wanted(const struct model *model);
int64_t model_unwanted_ms(const struct model *model, size_t relay);
/* What was wrong first, or NULL. */
const char *model_complaint(const struct model *model);
size_t model_num_stored(const struct model *model);

#endif
