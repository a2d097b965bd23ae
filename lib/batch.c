/*
 * A batch: what it holds, and the filters that it leads to.  How it comes out of two
 * states is in batch_compare, how it is read and written in batch_json.
 */
#include "batch.h"

#include <stdlib.h>
#include <string.h>

#include "batch_private.h"
#include "mem.h"

#define ID_BYTES 32

static void
free_string(struct gs_str text)
{
	free((char *)(uintptr_t)text.ptr);
}

static void
free_strings(struct gs_str *list, size_t num)
{
	size_t i;

	for (i = 0; i < num; i++)
		free_string(list[i]);
	free(list);
}

static void
fini_relay(struct gs_batch_relay *relay)
{
	free_string(relay->url);
	free_strings(relay->repos, relay->num_repos);
	free(relay->roots);
}

void
gs_batch_fini(struct gs_batch *batch)
{
	size_t i;

	for (i = 0; i < batch->num_relays; i++)
		fini_relay(&batch->relays[i]);
	free(batch->relays);
	free_strings(batch->removed_relays, batch->num_removed_relays);
	free_strings(batch->removed_repos, batch->num_removed_repos);
	*batch = (struct gs_batch){ 0 };
}

bool
gs_batch_is_empty(const struct gs_batch *batch)
{
	return batch->num_relays + batch->num_removed_relays + batch->num_removed_repos ==
	    0;
}

/* --- growing, for batch_compare and batch_json --- */

void
batch_add_string(struct batch_list to, struct gs_str text)
{
	*to.list = gs_mem_more(*to.list, *to.num, to.cap, sizeof(**to.list));
	(*to.list)[(*to.num)++] =
	    (struct gs_str){ gs_mem_dup(text.ptr, text.len), text.len };
}

void
batch_add_root(struct gs_batch_relay *relay, const uint8_t id[static 32])
{
	relay->roots = gs_mem_more(relay->roots, relay->num_roots, &relay->cap_roots,
	    sizeof(*relay->roots));
	memcpy(relay->roots[relay->num_roots++], id, ID_BYTES);
}

struct gs_batch_relay *
batch_add_relay(struct gs_batch *batch, struct gs_str url)
{
	struct gs_batch_relay *relay;

	batch->relays = gs_mem_more(batch->relays, batch->num_relays, &batch->cap_relays,
	    sizeof(*batch->relays));
	relay = &batch->relays[batch->num_relays++];
	*relay =
	    (struct gs_batch_relay){ .url = { gs_mem_dup(url.ptr, url.len), url.len } };
	return relay;
}

/* --- order --- */

static int
compare_strings(const void *a, const void *b)
{
	const struct gs_str *left = a;
	const struct gs_str *right = b;

	return gs_str_compare(*left, *right);
}

static void
sort_strings(struct batch_list of)
{
	struct gs_str *list = *of.list;
	size_t num = 0;
	size_t i;

	if (*of.num > 0)
		qsort(list, *of.num, sizeof(*list), compare_strings);
	for (i = 0; i < *of.num; i++) {
		if (num > 0 && gs_str_equal(list[num - 1], list[i]))
			free_string(list[i]);
		else
			list[num++] = list[i];
	}
	*of.num = num;
}

static int
compare_ids(const void *a, const void *b)
{
	return memcmp(a, b, ID_BYTES);
}

static void
sort_roots(struct gs_batch_relay *relay)
{
	size_t num = 0;
	size_t i;

	if (relay->num_roots > 0)
		qsort(relay->roots, relay->num_roots, sizeof(*relay->roots), compare_ids);
	for (i = 0; i < relay->num_roots; i++)
		if (num == 0 || compare_ids(relay->roots[num - 1], relay->roots[i]) != 0)
			memmove(relay->roots[num++], relay->roots[i], ID_BYTES);
	relay->num_roots = num;
}

static int
compare_relays(const void *a, const void *b)
{
	const struct gs_batch_relay *left = a;
	const struct gs_batch_relay *right = b;

	return gs_str_compare(left->url, right->url);
}

/* What either spelling of a relay brought is new on it. */
static void
join_relays(struct gs_batch_relay *relay, struct gs_batch_relay *other)
{
	size_t i;

	relay->is_new = relay->is_new || other->is_new;
	for (i = 0; i < other->num_repos; i++)
		batch_add_string(batch_repos(relay), other->repos[i]);
	for (i = 0; i < other->num_roots; i++)
		batch_add_root(relay, other->roots[i]);
	fini_relay(other);
}

void
batch_sort(struct gs_batch *batch)
{
	struct gs_batch_relay *relays = batch->relays;
	size_t num = 0;
	size_t i;

	if (batch->num_relays > 0)
		qsort(relays, batch->num_relays, sizeof(*relays), compare_relays);
	for (i = 0; i < batch->num_relays; i++) {
		if (num > 0 && compare_relays(&relays[num - 1], &relays[i]) == 0)
			join_relays(&relays[num - 1], &relays[i]);
		else
			relays[num++] = relays[i];
	}
	batch->num_relays = num;
	for (i = 0; i < num; i++) {
		sort_strings(batch_repos(&relays[i]));
		sort_roots(&relays[i]);
	}
	sort_strings(batch_removed_relays(batch));
	sort_strings(batch_removed_repos(batch));
}

/* --- filters --- */

/* Layers 1 and 2: the new repositories as if the relay had no others. */
static bool
give_repos(const struct gs_batch_relay *relay, const struct gs_layers_options *options,
    gs_layers_fn *fn, void *arg)
{
	size_t num = relay->num_repos;
	struct gs_repo *repos = gs_mem_array(num, sizeof(*repos));
	struct gs_repo **list = gs_mem_array(num, sizeof(*list));
	struct gs_relay_entry entry = {
		.url = relay->url, .repos = list, .num_repos = num
	};
	size_t i;
	bool ok;

	for (i = 0; i < num; i++) {
		repos[i].ref = relay->repos[i];
		list[i] = &repos[i];
	}
	ok = gs_layers_each(&entry, options, fn, arg);
	free(list);
	free(repos);
	return ok;
}

/* Layer 3: whose roots they are does not matter there. */
static bool
give_roots(const struct gs_batch_relay *relay, const struct gs_layers_options *options,
    gs_layers_fn *fn, void *arg)
{
	struct gs_repo repo = { .roots = relay->roots, .num_roots = relay->num_roots };
	struct gs_repo *list[] = { &repo };
	const struct gs_relay_entry entry = {
		.url = relay->url, .repos = list, .num_repos = 1
	};

	return gs_layers_each(&entry, options, fn, arg);
}

bool
gs_batch_layers(const struct gs_batch_relay *relay,
    const struct gs_layers_options *options, gs_layers_fn *fn, void *arg)
{
	struct gs_layers_options of_repos = *options;
	struct gs_layers_options of_roots = *options;

	of_repos.layers &= relay->is_new ? 1u | 2u : 2u;
	of_roots.layers &= 4u;
	return give_repos(relay, &of_repos, fn, arg) &&
	    give_roots(relay, &of_roots, fn, arg);
}
