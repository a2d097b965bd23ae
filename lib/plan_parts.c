/*
 * How what is wanted is cut into filters: 100 values each, three letters a chunk, the
 * three of them sharing their values.  What is read goes apart from what is not.
 */
#include <stdlib.h>
#include <string.h>

#include "layers.h"
#include "mem.h"
#include "plan_private.h"

#define LETTERS 3

static const char ref_letters[LETTERS + 1] = "aAq";
static const char root_letters[LETTERS + 1] = "eEq";

void
gs_plan_release_parts(struct gs_plan *plan)
{
	struct gs_map_entry *entry;
	size_t at = 0;

	for (size_t i = 0; i < plan->num_parts; i++) {
		free(plan->parts[i].pairs);
		plan->parts[i] = (struct gs_plan_held){ NULL, 0 };
	}
	while ((entry = gs_map_next(plan->pairs, &at)) != NULL)
		((struct gs_plan_pair *)entry->value)->outstanding = 0;
}

/* There are many only while they wait. */
static void
free_waiting(struct gs_plan *plan)
{
	free(plan->waiting);
	plan->waiting = NULL;
	plan->num_waiting = plan->cap_waiting = plan->next_waiting = 0;
}

void
gs_plan_drop_parts(struct gs_plan *plan)
{
	gs_plan_release_parts(plan);
	plan->num_parts = 0;
	for (size_t i = plan->next_waiting; i < plan->num_waiting; i++)
		gs_filter_fini(&plan->waiting[i].filter);
	free_waiting(plan);
}

/* --- giving out --- */

bool
gs_plan_next(struct gs_plan *plan, struct gs_plan_part *part)
{
	if (plan->next_waiting == plan->num_waiting) {
		free_waiting(plan);
		return false;
	}
	*part = plan->waiting[plan->next_waiting++];
	return true;
}

size_t
gs_plan_num_parts(const struct gs_plan *plan)
{
	return plan->num_parts;
}

size_t
gs_plan_num_waiting(const struct gs_plan *plan)
{
	return plan->num_waiting - plan->next_waiting;
}

/* --- cutting --- */

/* Takes the filter; the pairs (each once) hang on it. */
static void
add_part(struct gs_plan *plan, struct gs_filter *filter, struct gs_plan_pair **pairs,
    size_t num)
{
	struct gs_plan_held *held;

	plan->parts = gs_mem_more(plan->parts, plan->num_parts, &plan->cap_parts,
	    sizeof(*plan->parts));
	held = &plan->parts[plan->num_parts++];
	*held = (struct gs_plan_held){ NULL, num };
	if (num > 0)
		held->pairs = gs_mem_dup(pairs, num * sizeof(struct gs_plan_pair *));
	for (size_t i = 0; i < num; i++)
		pairs[i]->outstanding++;
	plan->waiting = gs_mem_more(plan->waiting, plan->num_waiting, &plan->cap_waiting,
	    sizeof(*plan->waiting));
	plan->waiting[plan->num_waiting++] =
	    (struct gs_plan_part){ .filter = *filter, .is_read = num == 0 };
}

/* Gives up its own reference to the values. */
static void
add_letters(struct gs_plan *plan, const char letters[static LETTERS],
    struct gs_values *values, struct gs_plan_pair **pairs, size_t num)
{
	for (size_t i = 0; i < LETTERS; i++) {
		struct gs_filter filter = GS_FILTER_INIT;

		gs_filter_share(&filter, letters[i], values);
		add_part(plan, &filter, pairs, num);
	}
	gs_values_release(values);
}

void
gs_plan_cut_init(struct gs_plan_cut *cut, struct gs_plan *plan, uint64_t sequence)
{
	*cut = (struct gs_plan_cut){ .plan = plan, .sequence = sequence };
}

/* The pair's number, once all its parts are read. */
static void
aim(const struct gs_plan_cut *cut, struct gs_plan_pair *pair)
{
	if (pair->outstanding == 0 || cut->sequence > pair->target)
		pair->target = cut->sequence;
}

void
gs_plan_cut_layer_1(struct gs_plan_cut *cut, struct gs_plan_pair *pair)
{
	static const uint16_t kinds[] = { GS_KIND_ANNOUNCEMENT, GS_KIND_STATE };
	struct gs_filter filter = GS_FILTER_INIT;

	filter.kinds = gs_mem_dup(kinds, sizeof(kinds));
	filter.num_kinds = sizeof(kinds) / sizeof(*kinds);
	aim(cut, pair);
	add_part(cut->plan, &filter, &pair, pair->is_read ? 0 : 1);
}

void
gs_plan_cut_ref(struct gs_plan_cut *cut, struct gs_plan_pair *pair)
{
	if (pair->is_read) {
		cut->read_refs = gs_mem_more(cut->read_refs, cut->num_read_refs,
		    &cut->cap_read_refs, sizeof(*cut->read_refs));
		cut->read_refs[cut->num_read_refs++] = pair->ref;
		return;
	}
	cut->refs =
	    gs_mem_more(cut->refs, cut->num_refs, &cut->cap_refs, sizeof(*cut->refs));
	cut->ref_pairs = gs_mem_more(cut->ref_pairs, cut->num_refs, &cut->cap_ref_pairs,
	    sizeof(struct gs_plan_pair *));
	cut->refs[cut->num_refs] = pair->ref;
	cut->ref_pairs[cut->num_refs++] = pair;
	aim(cut, pair);
}

void
gs_plan_cut_read_root(struct gs_plan_cut *cut, const uint8_t id[static 32])
{
	cut->read_roots = gs_mem_more(cut->read_roots, cut->num_read_roots,
	    &cut->cap_read_roots, sizeof(*cut->read_roots));
	memcpy(cut->read_roots[cut->num_read_roots++], id, sizeof(*cut->read_roots));
}

void
gs_plan_cut_root(struct gs_plan_cut *cut, struct gs_plan_pair *pair,
    const uint8_t id[static 32])
{
	cut->roots =
	    gs_mem_more(cut->roots, cut->num_roots, &cut->cap_roots, sizeof(*cut->roots));
	cut->root_pairs = gs_mem_more(cut->root_pairs, cut->num_roots,
	    &cut->cap_root_pairs, sizeof(struct gs_plan_pair *));
	memcpy(cut->roots[cut->num_roots], id, sizeof(*cut->roots));
	cut->root_pairs[cut->num_roots++] = pair;
	aim(cut, pair);
}

/* pairs NULL: they are read. */
static void
cut_refs(struct gs_plan *plan, const struct gs_str *refs, struct gs_plan_pair **pairs,
    size_t num)
{
	struct gs_str chunk[GS_LAYERS_CHUNK];
	struct gs_plan_pair *chunk_pairs[GS_LAYERS_CHUNK];
	size_t len = 0, i;

	for (i = 0; i < num; i++) {
		if (gs_layers_is_long(refs[i]))
			continue;
		if (pairs != NULL)
			chunk_pairs[len] = pairs[i];
		chunk[len++] = refs[i];
		if (len < GS_LAYERS_CHUNK)
			continue;
		add_letters(plan, ref_letters, gs_values_new_texts(chunk, len),
		    chunk_pairs, pairs != NULL ? len : 0);
		len = 0;
	}
	if (len > 0)
		add_letters(plan, ref_letters, gs_values_new_texts(chunk, len),
		    chunk_pairs, pairs != NULL ? len : 0);
	for (i = 0; i < num; i++)
		if (gs_layers_is_long(refs[i]))
			add_letters(plan, ref_letters, gs_values_new_texts(&refs[i], 1),
			    pairs != NULL ? &pairs[i] : NULL, pairs != NULL);
}

static int
compare_ids(const void *a, const void *b)
{
	return memcmp(a, b, 32);
}

static void
cut_read_roots(struct gs_plan_cut *cut)
{
	uint8_t(*ids)[32] = cut->read_roots;
	size_t num = 0;

	if (cut->num_read_roots > 0)
		qsort(ids, cut->num_read_roots, sizeof(*ids), compare_ids);
	for (size_t i = 0; i < cut->num_read_roots; i++)
		if (num == 0 || compare_ids(ids[num - 1], ids[i]) != 0)
			memmove(ids[num++], ids[i], sizeof(*ids));
	for (size_t at = 0; at < num; at += GS_LAYERS_CHUNK) {
		size_t len = num - at < GS_LAYERS_CHUNK ? num - at : GS_LAYERS_CHUNK;

		add_letters(cut->plan, root_letters,
		    gs_values_new_ids((const uint8_t(*)[32])ids + at, len), NULL, 0);
	}
}

/* Those of one repository stand together: each pair is named once. */
static size_t
list_pairs(struct gs_plan_pair **pairs, struct gs_plan_pair **of, size_t num)
{
	size_t len = 0;

	for (size_t i = 0; i < num; i++)
		if (len == 0 || pairs[len - 1] != of[i])
			pairs[len++] = of[i];
	return len;
}

static void
cut_roots(struct gs_plan_cut *cut)
{
	struct gs_plan_pair *pairs[GS_LAYERS_CHUNK];

	for (size_t at = 0; at < cut->num_roots; at += GS_LAYERS_CHUNK) {
		size_t left = cut->num_roots - at;
		size_t len = left < GS_LAYERS_CHUNK ? left : GS_LAYERS_CHUNK;
		size_t num = list_pairs(pairs, cut->root_pairs + at, len);

		add_letters(cut->plan, root_letters,
		    gs_values_new_ids((const uint8_t(*)[32])cut->roots + at, len), pairs,
		    num);
	}
}

void
gs_plan_cut_finish(struct gs_plan_cut *cut)
{
	cut_refs(cut->plan, cut->read_refs, NULL, cut->num_read_refs);
	cut_read_roots(cut);
	cut_refs(cut->plan, cut->refs, cut->ref_pairs, cut->num_refs);
	cut_roots(cut);
	free(cut->read_refs);
	free(cut->refs);
	free(cut->ref_pairs);
	free(cut->read_roots);
	free(cut->roots);
	free(cut->root_pairs);
}

/* --- counting --- */

void
gs_plan_count_ref(struct gs_plan_count *count, const struct gs_plan_pair *pair)
{
	if (gs_layers_is_long(pair->ref))
		count->long_refs++;
	else if (pair->is_read)
		count->read_refs++;
	else
		count->refs++;
}

void
gs_plan_count_read_root(struct gs_plan_count *count, const uint8_t id[static 32])
{
	count->read_roots = gs_mem_more(count->read_roots, count->num_read_roots,
	    &count->cap_read_roots, sizeof(const uint8_t *));
	count->read_roots[count->num_read_roots++] = id;
}

static int
compare_borrowed(const void *a, const void *b)
{
	return memcmp(*(const uint8_t *const *)a, *(const uint8_t *const *)b, 32);
}

static size_t
num_chunks(size_t num)
{
	return (num + GS_LAYERS_CHUNK - 1) / GS_LAYERS_CHUNK;
}

size_t
gs_plan_count_finish(struct gs_plan_count *count)
{
	size_t num = 0;

	if (count->num_read_roots > 0)
		qsort(count->read_roots, count->num_read_roots, sizeof(const uint8_t *),
		    compare_borrowed);
	for (size_t i = 0; i < count->num_read_roots; i++)
		num += i == 0 ||
		    compare_borrowed(&count->read_roots[i - 1], &count->read_roots[i]) !=
			0;
	free(count->read_roots);
	return 1 +
	    LETTERS *
	    (num_chunks(count->read_refs) + num_chunks(count->refs) + count->long_refs +
		num_chunks(num) + num_chunks(count->unread_roots));
}
