/* What the files of batch share: how one grows and is put in order. */
#ifndef GS_BATCH_PRIVATE_H
#define GS_BATCH_PRIVATE_H

#include "batch.h"

/* A list of strings of a batch, with what grows it. */
struct batch_list {
	struct gs_str **list;
	size_t *num, *cap;
};

/* Adds a copy. */
void batch_add_string(struct batch_list to, struct gs_str text);
void batch_add_root(struct gs_batch_relay *relay, const uint8_t id[static 32]);
struct gs_batch_relay *batch_add_relay(struct gs_batch *batch, struct gs_str url);
/* Sorts and drops what is there twice; relays of one URL become one. */
void batch_sort(struct gs_batch *batch);

static inline struct batch_list
batch_repos(struct gs_batch_relay *relay)
{
	return (struct batch_list){ &relay->repos, &relay->num_repos, &relay->cap_repos };
}

static inline struct batch_list
batch_removed_relays(struct gs_batch *batch)
{
	return (struct batch_list){ &batch->removed_relays, &batch->num_removed_relays,
		&batch->cap_removed_relays };
}

static inline struct batch_list
batch_removed_repos(struct gs_batch *batch)
{
	return (struct batch_list){ &batch->removed_repos, &batch->num_removed_repos,
		&batch->cap_removed_repos };
}

#endif
