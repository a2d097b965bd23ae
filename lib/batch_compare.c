/* Two states, compared: what the later one has and the earlier one had not. */
#include "batch.h"

#include <stdlib.h>
#include <string.h>

#include "batch_private.h"
#include "mem.h"

#define ID_BYTES 32

/* A relay as far as it is synced from; NULL: it is not. */
static const struct gs_relay_entry *
find_synced(const struct gs_state *state, struct gs_str url)
{
	const struct gs_relay_entry *relay =
	    state != NULL ? gs_map_get(state->relays, url) : NULL;

	return relay != NULL && relay->is_synced ? relay : NULL;
}

/* The relay's repo of that ref, from *at on; both lists are sorted. */
static const struct gs_repo *
find_repo(const struct gs_relay_entry *relay, struct gs_str ref, size_t *at)
{
	if (relay == NULL)
		return NULL;
	while (*at < relay->num_repos && gs_str_compare(relay->repos[*at]->ref, ref) < 0)
		(*at)++;
	if (*at < relay->num_repos && gs_str_equal(relay->repos[*at]->ref, ref))
		return relay->repos[*at];
	return NULL;
}

/* Those roots of the repo that it had not before. */
static void
add_roots(struct gs_batch_relay *to, const struct gs_repo *before,
    const struct gs_repo *after)
{
	size_t at = 0;
	size_t i;

	for (i = 0; i < after->num_roots; i++) {
		int order = 1;

		while (before != NULL && at < before->num_roots &&
		    (order = memcmp(before->roots[at], after->roots[i], ID_BYTES)) < 0)
			at++;
		if (before == NULL || at == before->num_roots || order > 0)
			batch_add_root(to, after->roots[i]);
	}
}

/* A root may name several repositories: what another one brought is not new. */
static void
drop_known_roots(struct gs_batch_relay *of, const struct gs_relay_entry *before)
{
	size_t i, num_known, num = 0;
	const uint8_t **known;

	if (before == NULL || of->num_roots == 0)
		return;
	known = gs_relay_list_roots(before, &num_known);
	for (i = 0; i < of->num_roots; i++) {
		const uint8_t *id = of->roots[i];

		if (num_known == 0 || !gs_roots_have(known, num_known, id))
			memmove(of->roots[num++], id, ID_BYTES);
	}
	of->num_roots = num;
	free(known);
}

static void
compare_relay(struct gs_batch *batch, const struct gs_relay_entry *before,
    const struct gs_relay_entry *after)
{
	struct gs_batch_relay *to = batch_add_relay(batch, after->url);
	size_t at = 0;
	size_t i;

	to->is_new = before == NULL;
	for (i = 0; i < after->num_repos; i++) {
		const struct gs_repo *repo = after->repos[i];
		const struct gs_repo *old = find_repo(before, repo->ref, &at);

		if (old == NULL)
			batch_add_string(batch_repos(to), repo->ref);
		add_roots(to, old, repo);
	}
	drop_known_roots(to, before);
}

static bool
has_news(const struct gs_batch_relay *relay)
{
	return relay->is_new || relay->num_repos > 0 || relay->num_roots > 0;
}

static void
compare_relays(struct gs_batch *batch, const struct gs_state *before,
    const struct gs_state *after)
{
	const struct gs_map_entry *entry;
	size_t at = 0;

	while ((entry = gs_map_next(after->relays, &at)) != NULL) {
		const struct gs_relay_entry *relay = entry->value;

		if (!relay->is_synced)
			continue;
		compare_relay(batch, find_synced(before, relay->url), relay);
		if (has_news(&batch->relays[batch->num_relays - 1]))
			continue;
		free((char *)(uintptr_t)batch->relays[--batch->num_relays].url.ptr);
		free(batch->relays[batch->num_relays].roots);
	}
}

/* The refs that any relay has. */
static struct gs_map *
list_refs(const struct gs_state *state)
{
	struct gs_map *refs = gs_map_new();
	const struct gs_map_entry *entry;
	size_t at = 0;

	while ((entry = gs_map_next(state->relays, &at)) != NULL) {
		const struct gs_relay_entry *relay = entry->value;
		size_t i;

		for (i = 0; i < relay->num_repos; i++)
			(void)gs_map_add(refs, relay->repos[i]->ref);
	}
	return refs;
}

static void
list_removed(struct gs_batch *batch, const struct gs_state *before,
    const struct gs_state *after)
{
	struct gs_map *old = list_refs(before);
	struct gs_map *now = list_refs(after);
	const struct gs_map_entry *entry;
	size_t at = 0;

	while ((entry = gs_map_next(old, &at)) != NULL)
		if (gs_map_find(now, entry->key) == NULL)
			batch_add_string(batch_removed_repos(batch), entry->key);
	for (at = 0; (entry = gs_map_next(before->relays, &at)) != NULL;) {
		const struct gs_relay_entry *relay = entry->value;

		if (relay->is_synced && find_synced(after, relay->url) == NULL)
			batch_add_string(batch_removed_relays(batch), relay->url);
	}
	gs_map_free(now, NULL);
	gs_map_free(old, NULL);
}

void
gs_batch_compare(struct gs_batch *batch, const struct gs_state *before,
    const struct gs_state *after)
{
	compare_relays(batch, before, after);
	if (before != NULL)
		list_removed(batch, before, after);
	batch_sort(batch);
}
