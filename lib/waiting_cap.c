/*
 * Caps of what is newly stored a day (DESIGN 6).  What is over one is not judged and
 * not remembered, so that it is taken when it comes again on another day: nothing is
 * lost for ever.
 */
#include "waiting_private.h"

#define DAY_S INT64_C(86400)
#define COUNTED_REPOS 64 /* that one event names; who names more is no comment */

static int64_t
end_of_day_s(int64_t now_s)
{
	return now_s - now_s % DAY_S + DAY_S;
}

static bool
has_caps(const struct gs_intake *intake)
{
	const struct gs_policy_caps *caps;

	if (intake->policy == NULL)
		return false;
	caps = &intake->policy->caps;
	return caps->relay_events != 0 || caps->relay_bytes != 0 ||
	    caps->repo_events != 0 || caps->store_bytes != 0;
}

bool
intake_begin_day(struct gs_intake *intake, struct gs_err *err)
{
	if (intake->now_s >= intake->capped_until_s) {
		gs_map_free(intake->capped, NULL);
		intake->capped = gs_map_new();
		intake->capped_until_s = end_of_day_s(intake->now_s);
	}
	return !has_caps(intake) ||
	    gs_store_begin_day(intake->txn, (uint64_t)(intake->now_s / DAY_S), err);
}

bool
gs_intake_is_capped(const struct gs_intake *intake, struct gs_str from, int64_t *until_s)
{
	if (gs_map_find(intake->capped, from) == NULL)
		return false;
	*until_s = intake->capped_until_s;
	return true;
}

static bool
is_over_relay(struct gs_intake *intake, struct gs_str from)
{
	const struct gs_policy_caps *caps = &intake->policy->caps;
	struct gs_usage usage;

	if (from.len == 0 || (caps->relay_events == 0 && caps->relay_bytes == 0))
		return false;
	usage = gs_store_usage(intake->txn, from);
	if ((caps->relay_events == 0 || usage.events < caps->relay_events) &&
	    (caps->relay_bytes == 0 || usage.bytes < caps->relay_bytes))
		return false;
	(void)gs_map_add(intake->capped, from);
	return true;
}

const char *
intake_over_cap(struct gs_intake *intake, const struct gs_origin *origin)
{
	if (!has_caps(intake))
		return NULL;
	if (intake->policy->caps.store_bytes != 0 &&
	    gs_store_used_bytes(intake->txn) >= intake->policy->caps.store_bytes)
		return "store-full";
	return is_over_relay(intake, origin->from) ? "over-relay-cap" : NULL;
}

/* --- of a repository --- */

/* The followed repositories that an event names, each once; returns how many. */
static size_t
list_repos(struct gs_intake *intake, const struct gs_event *event,
    struct gs_str refs[static COUNTED_REPOS])
{
	size_t num = 0, i, j;

	for (i = 0; i < event->num_tags && num < COUNTED_REPOS; i++) {
		const struct gs_tag *tag = &event->tags[i];
		struct gs_str ref = gs_tag_value(tag);

		if (!gs_tag_is(tag, "a") && !gs_tag_is(tag, "A") && !gs_tag_is(tag, "q"))
			continue;
		for (j = 0; j < num && !gs_str_equal(refs[j], ref); j++)
			continue;
		if (j == num && gs_address_is_repo(ref) &&
		    gs_closure_is_followed(intake->closure, intake->txn, ref))
			refs[num++] = ref;
	}
	return num;
}

/* What a repository can't do without. */
static bool
is_exempt(unsigned kind)
{
	return kind == GS_KIND_ANNOUNCEMENT || kind == GS_KIND_STATE ||
	    kind == GS_KIND_DELETION || kind == GS_KIND_VANISH;
}

/* One that has room is enough: a full one must not keep out what is another's, too. */
bool
intake_is_over_repo(struct gs_intake *intake, const struct gs_event *event)
{
	struct gs_str refs[COUNTED_REPOS];
	uint64_t cap = intake->policy->caps.repo_events;
	size_t num, i;

	if (cap == 0 || is_exempt(event->kind))
		return false;
	num = list_repos(intake, event, refs);
	for (i = 0; i < num; i++)
		if (gs_store_usage(intake->txn, refs[i]).events < cap)
			return false;
	return num > 0;
}

bool
intake_use(struct gs_intake *intake, const struct gs_event *event,
    const struct gs_origin *origin, struct gs_err *err)
{
	const struct gs_policy_caps *caps = &intake->policy->caps;
	struct gs_str refs[COUNTED_REPOS];
	struct gs_row row;
	size_t num = 0, i;

	if (caps->repo_events != 0 && !is_exempt(event->kind))
		num = list_repos(intake, event, refs);
	for (i = 0; i < num; i++)
		if (!gs_store_use(intake->txn, refs[i], 0, err))
			return false;
	if (origin->from.len == 0 || (caps->relay_events == 0 && caps->relay_bytes == 0))
		return true;
	return !gs_store_find(intake->txn, event->id, &row) ||
	    gs_store_use(intake->txn, origin->from, row.json.len, err);
}
