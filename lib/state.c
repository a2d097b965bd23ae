/*
 * What is followed and where.  Lists grow unsorted, as the caller finds things,
 * and are put in order once; reading and writing files is snapshot's.
 */
#include "state.h"

#include <stdlib.h>
#include <string.h>

#include "mem.h"

struct gs_state *
gs_state_new(void)
{
	struct gs_state *state = gs_mem_new(sizeof(*state));

	state->repos = gs_map_new();
	state->relays = gs_map_new();
	return state;
}

static void
free_list(struct gs_str *list, size_t num)
{
	size_t i;

	for (i = 0; i < num; i++)
		free((char *)(uintptr_t)list[i].ptr);
	free(list);
}

static void
free_repo(void *value)
{
	struct gs_repo *repo = value;

	if (repo == NULL)
		return;
	free(repo->roots);
	free(repo->sequences);
	free(repo);
}

static void
free_status(struct gs_relay_status *status)
{
	if (status == NULL)
		return;
	free(status->status);
	free_list(status->pending, status->num_pending);
	free(status);
}

static void
free_relay(void *value)
{
	struct gs_relay_entry *relay = value;

	if (relay == NULL)
		return;
	free_status(relay->status);
	free(relay->repos);
	free(relay);
}

void
gs_state_free(struct gs_state *state)
{
	if (state == NULL)
		return;
	gs_map_free(state->relays, free_relay);
	gs_map_free(state->repos, free_repo);
	free_list(state->services, state->num_services);
	free(state);
}

static struct gs_str
copy_str(struct gs_str text)
{
	return (struct gs_str){ gs_mem_dup(text.ptr, text.len), text.len };
}

void
gs_state_add_service(struct gs_state *state, struct gs_str service)
{
	size_t i;

	for (i = 0; i < state->num_services; i++)
		if (gs_str_equal(state->services[i], service))
			return;
	state->services = gs_mem_resize(state->services, state->num_services + 1,
	    sizeof(*state->services));
	state->services[state->num_services++] = copy_str(service);
}

/* ref and url borrow the map's copy of the key: it lives as long as the value. */
struct gs_repo *
gs_state_add_repo(struct gs_state *state, struct gs_str ref)
{
	struct gs_map_entry *entry = gs_map_add(state->repos, ref);
	struct gs_repo *repo = entry->value;

	if (repo != NULL)
		return repo;
	repo = gs_mem_new(sizeof(*repo));
	repo->ref = entry->key;
	entry->value = repo;
	return repo;
}

struct gs_relay_entry *
gs_state_add_relay(struct gs_state *state, struct gs_str url)
{
	struct gs_map_entry *entry = gs_map_add(state->relays, url);
	struct gs_relay_entry *relay = entry->value;

	if (relay != NULL)
		return relay;
	relay = gs_mem_new(sizeof(*relay));
	relay->url = entry->key;
	entry->value = relay;
	return relay;
}

void
gs_repo_add_root(struct gs_repo *repo, const uint8_t id[static 32])
{
	repo->roots = gs_mem_more(repo->roots, repo->num_roots, &repo->cap_roots,
	    sizeof(*repo->roots));
	memcpy(repo->roots[repo->num_roots++], id, sizeof(*repo->roots));
}

void
gs_repo_add_stored_root(struct gs_repo *repo, const uint8_t id[static 32],
    uint64_t sequence)
{
	repo->sequences = gs_mem_more(repo->sequences, repo->num_roots,
	    &repo->cap_sequences, sizeof(*repo->sequences));
	repo->sequences[repo->num_roots] = sequence;
	gs_repo_add_root(repo, id);
}

void
gs_relay_add_repo(struct gs_relay_entry *relay, struct gs_repo *repo)
{
	relay->repos = gs_mem_more(relay->repos, relay->num_repos, &relay->cap_repos,
	    sizeof(*relay->repos));
	relay->repos[relay->num_repos++] = repo;
	relay->is_synced = true;
}

struct gs_relay_status *
gs_relay_add_status(struct gs_relay_entry *relay)
{
	if (relay->status != NULL)
		return relay->status;
	relay->status = gs_mem_new(sizeof(*relay->status));
	relay->status->failures = -1;
	relay->status->read_until = -1;
	relay->status->last_success = -1;
	relay->status->last_full_sync = -1;
	return relay->status;
}

void
gs_status_add_pending(struct gs_relay_status *status, struct gs_str ref)
{
	status->pending = gs_mem_more(status->pending, status->num_pending,
	    &status->cap_pending, sizeof(*status->pending));
	status->pending[status->num_pending++] = copy_str(ref);
}

static int
compare_ids(const void *a, const void *b)
{
	return memcmp(a, b, 32);
}

/* A root while its list is sorted. */
struct placed_root {
	uint8_t id[32];
	uint64_t sequence;
};

static struct placed_root *
list_placed(const struct gs_repo *repo)
{
	struct placed_root *list = gs_mem_array(repo->num_roots, sizeof(*list));

	for (size_t i = 0; i < repo->num_roots; i++) {
		memcpy(list[i].id, repo->roots[i], sizeof(list[i].id));
		list[i].sequence = repo->sequences != NULL ? repo->sequences[i] : 0;
	}
	return list;
}

/* What was found twice goes, and so does the room that growing left over. */
static void
sort_roots(struct gs_repo *repo)
{
	struct placed_root *list;
	size_t num = 0;

	if (repo->num_roots == 0)
		return;
	list = list_placed(repo);
	qsort(list, repo->num_roots, sizeof(*list), compare_ids);
	for (size_t i = 0; i < repo->num_roots; i++) {
		if (num > 0 && compare_ids(repo->roots[num - 1], list[i].id) == 0)
			continue;
		memcpy(repo->roots[num], list[i].id, sizeof(*repo->roots));
		if (repo->sequences != NULL)
			repo->sequences[num] = list[i].sequence;
		num++;
	}
	free(list);
	repo->num_roots = num;
	if (repo->cap_roots != num)
		repo->roots = gs_mem_resize(repo->roots, num, sizeof(*repo->roots));
	if (repo->sequences != NULL && repo->cap_sequences != num)
		repo->sequences =
		    gs_mem_resize(repo->sequences, num, sizeof(*repo->sequences));
	repo->cap_roots = repo->cap_sequences = num;
}

static int
compare_repos(const void *a, const void *b)
{
	const struct gs_repo *const *left = a;
	const struct gs_repo *const *right = b;

	return gs_str_compare((*left)->ref, (*right)->ref);
}

/* A ref has one struct gs_repo, so equal pointers are equal refs. */
static void
sort_repos(struct gs_relay_entry *relay)
{
	size_t num = 0;
	size_t i;

	if (relay->num_repos == 0)
		return;
	qsort(relay->repos, relay->num_repos, sizeof(struct gs_repo *), compare_repos);
	for (i = 0; i < relay->num_repos; i++)
		if (num == 0 || relay->repos[num - 1] != relay->repos[i])
			relay->repos[num++] = relay->repos[i];
	relay->num_repos = num;
}

static int
compare_strs(const void *a, const void *b)
{
	const struct gs_str *left = a;
	const struct gs_str *right = b;

	return gs_str_compare(*left, *right);
}

static void
sort_pending(struct gs_relay_status *status)
{
	size_t num = 0;
	size_t i;

	if (status->num_pending == 0)
		return;
	qsort(status->pending, status->num_pending, sizeof(*status->pending),
	    compare_strs);
	for (i = 0; i < status->num_pending; i++) {
		if (num != 0 &&
		    gs_str_equal(status->pending[num - 1], status->pending[i]))
			free((char *)(uintptr_t)status->pending[i].ptr);
		else
			status->pending[num++] = status->pending[i];
	}
	status->num_pending = num;
}

void
gs_state_sort(struct gs_state *state)
{
	struct gs_map_entry *entry;
	size_t at = 0;

	while ((entry = gs_map_next(state->repos, &at)) != NULL)
		sort_roots(entry->value);
	for (at = 0; (entry = gs_map_next(state->relays, &at)) != NULL;) {
		struct gs_relay_entry *relay = entry->value;

		relay->is_synced = relay->is_synced || relay->is_bootstrap;
		sort_repos(relay);
		if (relay->status != NULL)
			sort_pending(relay->status);
	}
}

static int
compare_borrowed_ids(const void *a, const void *b)
{
	return memcmp(*(const uint8_t *const *)a, *(const uint8_t *const *)b, 32);
}

const uint8_t **
gs_relay_list_roots(const struct gs_relay_entry *relay, size_t *num)
{
	const uint8_t **ids;
	size_t all = 0;
	size_t i, j;

	for (i = 0; i < relay->num_repos; i++)
		all += relay->repos[i]->num_roots;
	ids = gs_mem_array(all, sizeof(*ids));
	all = 0;
	for (i = 0; i < relay->num_repos; i++)
		for (j = 0; j < relay->repos[i]->num_roots; j++)
			ids[all++] = relay->repos[i]->roots[j];
	qsort(ids, all, sizeof(*ids), compare_borrowed_ids);
	*num = 0;
	for (i = 0; i < all; i++)
		if (*num == 0 || compare_borrowed_ids(&ids[*num - 1], &ids[i]) != 0)
			ids[(*num)++] = ids[i];
	return ids;
}

bool
gs_roots_have(const uint8_t **ids, size_t num, const uint8_t id[static 32])
{
	return bsearch(&id, ids, num, sizeof(*ids), compare_borrowed_ids) != NULL;
}
