/*
 * Wanted minus read, of one relay.  What is not read yet goes into parts of its own, and
 * each pair counts the parts that it still hangs on: when the last one was read, so was
 * the pair.  How parts are cut is plan_parts'.
 */
#include <stdlib.h>
#include <string.h>

#include "mem.h"
#include "plan_private.h"
#include "retry.h"

#define MS 1000

struct gs_plan *
gs_plan_new(void)
{
	struct gs_plan *plan = gs_mem_new(sizeof(*plan));

	plan->pairs = gs_map_new();
	plan->removed_ms = plan->ended_ms = -1;
	return plan;
}

static void
free_pair(void *pair)
{
	free(pair);
}

static void
free_lost(struct gs_plan *plan)
{
	size_t num = 0;

	for (size_t i = 0; i < plan->num_ready; i++)
		if (!plan->ready[i]->is_lost)
			plan->ready[num++] = plan->ready[i];
	plan->num_ready = num;
	while (plan->lost != NULL) {
		struct gs_plan_pair *pair = plan->lost;

		plan->lost = pair->next;
		free(pair);
	}
}

void
gs_plan_free(struct gs_plan *plan)
{
	if (plan == NULL)
		return;
	gs_plan_drop_parts(plan);
	free_lost(plan);
	free(plan->parts);
	free(plan->ready);
	free(plan->due);
	gs_buf_fini(&plan->text);
	gs_map_free(plan->pairs, free_pair);
	free(plan);
}

static struct gs_plan_pair *
add_pair(struct gs_plan *plan, struct gs_str ref)
{
	struct gs_map_entry *entry = gs_map_add(plan->pairs, ref);
	struct gs_plan_pair *pair = entry->value;

	if (pair != NULL)
		return pair;
	pair = gs_mem_new(sizeof(*pair));
	pair->ref = entry->key;
	pair->ended_ms = -1;
	entry->value = pair;
	return pair;
}

void
gs_plan_restore(struct gs_plan *plan, struct gs_str ref, uint64_t sequence)
{
	struct gs_plan_pair *pair = add_pair(plan, ref);

	pair->is_read = true;
	pair->sequence = sequence;
}

/* What is being read began before: it proves nothing any more. */
void
gs_plan_forget(struct gs_plan *plan)
{
	struct gs_map_entry *entry;
	size_t at = 0;

	gs_plan_release_parts(plan);
	plan->num_ready = 0;
	while ((entry = gs_map_next(plan->pairs, &at)) != NULL)
		((struct gs_plan_pair *)entry->value)->is_read = false;
}

/* --- what is wanted --- */

static void
end_pair(struct gs_plan *plan, struct gs_plan_pair *pair, struct gs_now now)
{
	if (pair->ended_ms >= 0)
		return;
	pair->ended_ms = now.mono_ms;
	plan->ended_ms = gs_retry_earlier(plan->ended_ms, now.mono_ms);
}

/* Is a root in the part of a repository that was read? */
static bool
is_root_read(const struct gs_plan_pair *pair, const struct gs_repo *repo, size_t i)
{
	return pair->is_read && repo->sequences != NULL &&
	    repo->sequences[i] <= pair->sequence;
}

static void
cut_root(struct gs_plan_cut *cut, struct gs_plan_pair *pair, const struct gs_repo *repo,
    size_t i)
{
	if (is_root_read(pair, repo, i))
		gs_plan_cut_read_root(cut, repo->roots[i]);
	else
		gs_plan_cut_root(cut, pair, repo->roots[i]);
}

/* A repository that is new here, or that all is planned anew for. */
static void
cut_repo(struct gs_plan_cut *cut, const struct gs_repo *repo)
{
	struct gs_plan_pair *pair = add_pair(cut->plan, repo->ref);

	pair->ended_ms = -1;
	gs_plan_cut_ref(cut, pair);
	for (size_t i = 0; i < repo->num_roots; i++)
		cut_root(cut, pair, repo, i);
}

static bool
has_repo(const struct gs_relay_entry *entry, struct gs_str ref)
{
	for (size_t low = 0, high = entry != NULL ? entry->num_repos : 0; low < high;) {
		size_t middle = low + (high - low) / 2;
		int order = gs_str_compare(entry->repos[middle]->ref, ref);

		if (order == 0)
			return true;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

static void
end_others(struct gs_plan *plan, const struct gs_relay_entry *entry, struct gs_now now)
{
	struct gs_map_entry *found;
	size_t at = 0;

	while ((found = gs_map_next(plan->pairs, &at)) != NULL)
		if (found->key.len > 0 && !has_repo(entry, found->key))
			end_pair(plan, found->value, now);
}

void
gs_plan_keep(struct gs_plan *plan, const struct gs_relay_entry *entry, struct gs_now now)
{
	end_others(plan, entry, now);
	for (size_t i = 0; entry != NULL && i < entry->num_repos; i++) {
		struct gs_plan_pair *pair = gs_map_get(plan->pairs, entry->repos[i]->ref);

		if (pair != NULL)
			pair->ended_ms = -1;
	}
}

void
gs_plan_pack(struct gs_plan *plan, const struct gs_relay_entry *entry, uint64_t sequence,
    struct gs_now now)
{
	struct gs_plan_cut cut;

	gs_plan_drop_parts(plan);
	free_lost(plan);
	plan->removed_ms = -1;
	end_others(plan, entry, now);
	gs_plan_cut_init(&cut, plan, sequence);
	gs_plan_cut_layer_1(&cut, add_pair(plan, GS_STR("")));
	for (size_t i = 0; entry != NULL && i < entry->num_repos; i++)
		cut_repo(&cut, entry->repos[i]);
	gs_plan_cut_finish(&cut);
}

/* --- what has changed --- */

static void
note_removed(struct gs_plan *plan, struct gs_now now)
{
	if (plan->removed_ms < 0)
		plan->removed_ms = now.mono_ms;
}

static void
note_ready(struct gs_plan *plan, struct gs_plan_pair *pair)
{
	plan->ready = gs_mem_more(plan->ready, plan->num_ready, &plan->cap_ready,
	    sizeof(struct gs_plan_pair *));
	plan->ready[plan->num_ready++] = pair;
}

/*
 * A root that is new here.  An old one (of those beyond the cap on roots, another one
 * left) was perhaps never read: the pair's number goes back behind it, in the store too.
 */
static void
add_root(struct gs_plan_cut *cut, struct gs_plan_pair *pair, const struct gs_repo *repo,
    size_t i)
{
	if (is_root_read(pair, repo, i)) {
		pair->sequence = repo->sequences[i] > 0 ? repo->sequences[i] - 1 : 0;
		note_ready(cut->plan, pair);
	}
	gs_plan_cut_root(cut, pair, repo->roots[i]);
}

/* Roots of a repository that was there before; both lists are sorted. */
static void
compare_roots(struct gs_plan_cut *cut, const struct gs_repo *before,
    const struct gs_repo *after, struct gs_now now)
{
	struct gs_plan_pair *pair = add_pair(cut->plan, after->ref);
	size_t at = 0, i = 0;

	while (i < after->num_roots || at < before->num_roots) {
		int order = at == before->num_roots ? 1
		    : i == after->num_roots
		    ? -1
		    : memcmp(before->roots[at], after->roots[i], sizeof(*after->roots));

		if (order > 0)
			add_root(cut, pair, after, i);
		else if (order < 0)
			note_removed(cut->plan, now);
		i += order >= 0;
		at += order <= 0;
	}
}

static void
compare_repos(struct gs_plan_cut *cut, const struct gs_relay_entry *before,
    const struct gs_relay_entry *after, struct gs_now now)
{
	size_t num_before = before != NULL ? before->num_repos : 0;
	size_t num_after = after != NULL ? after->num_repos : 0;
	size_t at = 0, i = 0;

	while (i < num_after || at < num_before) {
		int order = at == num_before ? 1
		    : i == num_after
		    ? -1
		    : gs_str_compare(before->repos[at]->ref, after->repos[i]->ref);

		if (order > 0) {
			cut_repo(cut, after->repos[i]);
		} else if (order < 0) {
			end_pair(cut->plan, add_pair(cut->plan, before->repos[at]->ref),
			    now);
			note_removed(cut->plan, now);
		} else if (before->repos[at] != after->repos[i]) {
			compare_roots(cut, before->repos[at], after->repos[i], now);
		}
		i += order >= 0;
		at += order <= 0;
	}
}

void
gs_plan_grow(struct gs_plan *plan, const struct gs_relay_entry *before,
    const struct gs_relay_entry *after, uint64_t sequence, struct gs_now now)
{
	struct gs_plan_cut cut;

	gs_plan_cut_init(&cut, plan, sequence);
	compare_repos(&cut, before, after, now);
	gs_plan_cut_finish(&cut);
}

size_t
gs_plan_num_packed(const struct gs_plan *plan, const struct gs_relay_entry *entry)
{
	struct gs_plan_count count = { 0 };

	for (size_t i = 0; entry != NULL && i < entry->num_repos; i++) {
		const struct gs_repo *repo = entry->repos[i];
		const struct gs_plan_pair *pair = gs_map_get(plan->pairs, repo->ref);
		const struct gs_plan_pair unread = { .ref = repo->ref };

		if (pair == NULL)
			pair = &unread;
		gs_plan_count_ref(&count, pair);
		for (size_t at = 0; at < repo->num_roots; at++)
			if (is_root_read(pair, repo, at))
				gs_plan_count_read_root(&count, repo->roots[at]);
			else
				count.unread_roots++;
	}
	return gs_plan_count_finish(&count);
}

/* --- what was read --- */

void
gs_plan_note_read(struct gs_plan *plan, size_t i)
{
	struct gs_plan_held *part = &plan->parts[i];

	for (size_t at = 0; at < part->num; at++) {
		struct gs_plan_pair *pair = part->pairs[at];

		if (--pair->outstanding > 0 || pair->is_lost)
			continue;
		if (!pair->is_read || pair->target > pair->sequence)
			pair->sequence = pair->target;
		pair->is_read = true;
		note_ready(plan, pair);
	}
	free(part->pairs);
	*part = (struct gs_plan_held){ NULL, 0 };
}

bool
gs_plan_next_read(struct gs_plan *plan, struct gs_str *ref, uint64_t *sequence)
{
	while (plan->num_ready > 0) {
		const struct gs_plan_pair *pair = plan->ready[--plan->num_ready];

		if (pair->is_lost)
			continue;
		*ref = pair->ref;
		*sequence = pair->sequence;
		return true;
	}
	return false;
}

/* The pair may still be named by parts: it goes with them. */
static void
lose(struct gs_plan *plan, struct gs_plan_pair *pair)
{
	gs_buf_clear(&plan->text);
	gs_buf_add(&plan->text, pair->ref.ptr, pair->ref.len);
	(void)gs_map_del(plan->pairs, (struct gs_str){ plan->text.data, plan->text.len });
	pair->is_lost = true;
	pair->ref = GS_STR("");
	pair->next = plan->lost;
	plan->lost = pair;
}

static bool
is_due(const struct gs_plan_pair *pair, struct gs_now now)
{
	return pair->ended_ms >= 0 &&
	    now.mono_ms >= pair->ended_ms + (int64_t)GS_PLAN_KEEP_S * MS;
}

static void
list_due(struct gs_plan *plan, struct gs_now now)
{
	struct gs_map_entry *entry;
	size_t at = 0;

	plan->ended_ms = -1;
	while ((entry = gs_map_next(plan->pairs, &at)) != NULL) {
		struct gs_plan_pair *pair = entry->value;

		if (!is_due(pair, now)) {
			plan->ended_ms = gs_retry_earlier(plan->ended_ms, pair->ended_ms);
			continue;
		}
		plan->due = gs_mem_more(plan->due, plan->num_due, &plan->cap_due,
		    sizeof(struct gs_plan_pair *));
		plan->due[plan->num_due++] = pair;
	}
}

/* The pairs whose time is over are listed at once: there may be thousands. */
bool
gs_plan_next_ended(struct gs_plan *plan, struct gs_str *ref, struct gs_now now)
{
	int64_t keep_ms = (int64_t)GS_PLAN_KEEP_S * MS;

	if (plan->num_due == 0 && plan->ended_ms >= 0 &&
	    now.mono_ms >= plan->ended_ms + keep_ms)
		list_due(plan, now);
	while (plan->num_due > 0) {
		struct gs_plan_pair *pair = plan->due[--plan->num_due];

		if (!is_due(pair, now))
			continue;
		lose(plan, pair);
		*ref = (struct gs_str){ plan->text.data, plan->text.len };
		return true;
	}
	return false;
}

bool
gs_plan_is_untidy(const struct gs_plan *plan, struct gs_now now)
{
	return plan->removed_ms >= 0 &&
	    now.mono_ms >= plan->removed_ms + (int64_t)GS_PLAN_TIDY_S * MS;
}

static int64_t
add_s(int64_t ms, int seconds)
{
	return ms < 0 ? -1 : ms + (int64_t)seconds * MS;
}

int64_t
gs_plan_deadline_ms(const struct gs_plan *plan)
{
	if (plan->num_due > 0)
		return 0;
	return gs_retry_earlier(add_s(plan->ended_ms, GS_PLAN_KEEP_S),
	    add_s(plan->removed_ms, GS_PLAN_TIDY_S));
}

static bool
is_pending(const struct gs_plan_pair *pair)
{
	return pair->ended_ms < 0 && (!pair->is_read || pair->outstanding > 0);
}

static int
compare_refs(const void *a, const void *b)
{
	const struct gs_str *left = a;
	const struct gs_str *right = b;

	return gs_str_compare(*left, *right);
}

struct gs_str *
gs_plan_list_pending(const struct gs_plan *plan, size_t *num)
{
	struct gs_str *refs = gs_mem_array(gs_map_count(plan->pairs) + 1, sizeof(*refs));
	struct gs_map_entry *entry;
	size_t at = 0;

	*num = 0;
	while ((entry = gs_map_next(plan->pairs, &at)) != NULL)
		if (is_pending(entry->value))
			refs[(*num)++] = entry->key;
	qsort(refs, *num, sizeof(*refs), compare_refs);
	return refs;
}
