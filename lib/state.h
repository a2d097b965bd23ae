/*
 * What is followed and where: repositories with their root events, relays with
 * their repositories.  The two maps of v2 in one structure; snapshot is its file.
 */
#ifndef GS_STATE_H
#define GS_STATE_H

#include <stdint.h>

#include "buf.h"
#include "map.h"

struct gs_repo {
	struct gs_str ref; /* "30617:<pubkey>:<d>" */
	uint8_t (*roots)[32];
	uint64_t *sequences; /* of the roots, in the store; NULL: not known */
	size_t num_roots, cap_roots, cap_sequences;
};

/* "relays" of the state file: a relay's health.  Absent values are -1 or NULL. */
struct gs_relay_status {
	char *status; /* "healthy", "backoff", "dead", or NULL */
	int64_t failures, read_until, last_success, last_full_sync;
	struct gs_str *pending;
	size_t num_pending, cap_pending;
};

struct gs_relay_entry {
	struct gs_str url;
	bool is_bootstrap;
	bool is_synced; /* stands in sync_relays */
	struct gs_repo **repos;
	size_t num_repos, cap_repos;
	struct gs_relay_status *status; /* NULL: not in "relays" */
};

struct gs_state {
	struct gs_str *services;
	size_t num_services;
	int64_t created_at;
	struct gs_map *repos;  /* ref -> struct gs_repo, followed or not */
	struct gs_map *relays; /* url -> struct gs_relay_entry */
};

struct gs_state *gs_state_new(void); /* libsodium must have been started */
void gs_state_free(struct gs_state *state);

/* A second time: nothing. */
void gs_state_add_service(struct gs_state *state, struct gs_str service);
/* The repo or relay of that name, made if it is not there. */
struct gs_repo *gs_state_add_repo(struct gs_state *state, struct gs_str ref);
struct gs_relay_entry *gs_state_add_relay(struct gs_state *state, struct gs_str url);
/* Adds without looking for duplicates; gs_state_sort removes them. */
void gs_repo_add_root(struct gs_repo *repo, const uint8_t id[static 32]);
/* Likewise, with where it stands in the store; for all roots of a repo or none. */
void gs_repo_add_stored_root(struct gs_repo *repo, const uint8_t id[static 32],
    uint64_t sequence);
void gs_relay_add_repo(struct gs_relay_entry *relay, struct gs_repo *repo); /* synced */
struct gs_relay_status *gs_relay_add_status(struct gs_relay_entry *relay);
void gs_status_add_pending(struct gs_relay_status *status, struct gs_str ref);

/*
 * Sorts every list (roots by id, repos by ref) and drops duplicates; bootstrap relays
 * are synced.
 */
void gs_state_sort(struct gs_state *state);

/*
 * Root ids of all the relay's repos, sorted, each once; the array is the caller's, the
 * ids are borrowed.  gs_roots_have looks into it.
 */
const uint8_t **gs_relay_list_roots(const struct gs_relay_entry *relay, size_t *num);
bool gs_roots_have(const uint8_t **ids, size_t num, const uint8_t id[static 32]);

#endif
