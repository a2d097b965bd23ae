/*
 * From the store to the state.  Roots come out of the tag index; announcements
 * are parsed one at a time.  Who is followed is policy's to say; how the state is
 * written is snapshot's; which relays the caps let through is survey_share's.
 */
#include "survey.h"

#include <stdlib.h>
#include <string.h>

#include "mem.h"
#include "survey_private.h"

#define SHOWN_BYTES 160 /* of a peer's text in a message */

void
survey_tell_cut(struct survey *survey)
{
	if (survey->options->cut != NULL)
		survey->options->cut(survey->text.data, survey->options->arg);
}

void
survey_begin_cut(struct survey *survey, struct gs_str about)
{
	gs_buf_clear(&survey->text);
	gs_buf_add_shown(&survey->text, about.ptr, about.len, SHOWN_BYTES);
	gs_buf_add_str(&survey->text, ": ");
}

static void
note_date(struct survey *survey, int64_t created_at)
{
	if (created_at > survey->state->created_at)
		survey->state->created_at = created_at;
}

/* --- roots --- */

static void
end_roots(struct survey *survey)
{
	size_t cap = survey->options->caps.roots_per_repo;

	if (survey->repo == NULL || survey->num_seen <= cap)
		return;
	survey_begin_cut(survey, survey->repo->ref);
	gs_buf_printf(&survey->text, "%zu roots, the newest %zu are kept",
	    survey->num_seen, cap);
	survey_tell_cut(survey);
}

static void
begin_roots(struct survey *survey, struct gs_str ref)
{
	end_roots(survey);
	survey->repo = gs_state_add_repo(survey->state, ref);
	survey->num_seen = survey->repo->num_roots;
}

/* They come oldest first: over the cap, each takes the place of the oldest. */
static bool
take_root(const struct gs_stored_root *root, void *arg)
{
	struct survey *survey = arg;
	size_t cap = survey->options->caps.roots_per_repo;

	if (survey->repo == NULL || !gs_str_equal(survey->repo->ref, root->ref))
		begin_roots(survey, root->ref);
	if (survey->num_seen < cap) {
		gs_repo_add_stored_root(survey->repo, root->id, root->sequence);
	} else {
		memcpy(survey->repo->roots[survey->num_seen % cap], root->id, 32);
		survey->repo->sequences[survey->num_seen % cap] = root->sequence;
	}
	survey->num_seen++;
	note_date(survey, root->created_at);
	return true;
}

static bool
read_roots(struct survey *survey)
{
	struct gs_txn *txn = gs_store_read(survey->store, survey->err);
	bool ok;

	if (txn == NULL)
		return false;
	ok = gs_store_roots(txn, survey->options->now_s, take_root, survey, survey->err);
	gs_txn_end(txn);
	end_roots(survey);
	return ok;
}

/* --- announcements --- */

const char *
survey_read_relay(const struct survey *survey, struct gs_str text, struct gs_url *url,
    struct gs_err *err)
{
	if (!gs_url_parse_relay(url, text, survey->options->allow_private, err)) {
		url->text[0] = '\0';
		return err->text;
	}
	return gs_policy_is_own(survey->options->policy, url) ? "own" : NULL;
}

static struct site *
add_site(struct survey *survey, const char *url)
{
	struct gs_map_entry *entry = gs_map_add(survey->sites, gs_str_of(url));
	struct site *site = entry->value;

	if (site == NULL) {
		site = gs_mem_new(sizeof(*site));
		site->url = gs_mem_str(url);
		entry->value = site;
	}
	return site;
}

static bool
has_url(const struct announcement *announcement, const char *url)
{
	size_t i;

	for (i = 0; i < announcement->num_sites; i++)
		if (strcmp(announcement->sites[i]->url, url) == 0)
			return true;
	return false;
}

/* False: the announcement has all that it may have. */
static bool
take_relay(struct survey *survey, struct announcement *announcement, struct gs_str text)
{
	size_t cap = survey->options->caps.relays_per_repo;
	struct gs_err why;
	struct gs_url url;

	if (survey_read_relay(survey, text, &url, &why) != NULL ||
	    has_url(announcement, url.text))
		return true;
	if (announcement->num_sites == cap) {
		survey_begin_cut(survey, announcement->ref);
		gs_buf_printf(&survey->text, "more than %zu relays, the first are kept",
		    cap);
		survey_tell_cut(survey);
		return false;
	}
	announcement->sites = gs_mem_more(announcement->sites, announcement->num_sites,
	    &announcement->cap_sites, sizeof(struct site *));
	announcement->sites[announcement->num_sites++] = add_site(survey, url.text);
	return true;
}

static void
take_relays(struct survey *survey, struct announcement *announcement)
{
	const struct gs_event *event = &survey->event;
	size_t i, j;

	for (i = 0; i < event->num_tags; i++) {
		if (!gs_tag_is(&event->tags[i], "relays"))
			continue;
		for (j = 1; j < event->tags[i].num; j++)
			if (!take_relay(survey, announcement, event->tags[i].values[j]))
				return;
	}
}

static struct announcement *
add_announcement(struct survey *survey, const struct gs_row *row)
{
	struct announcement *announcement;

	survey->announcements =
	    gs_mem_more(survey->announcements, survey->num_announcements,
		&survey->cap_announcements, sizeof(*survey->announcements));
	announcement = &survey->announcements[survey->num_announcements++];
	gs_buf_clear(&survey->text);
	gs_address_write(&survey->text, row->kind, row->pubkey,
	    gs_event_d(&survey->event));
	*announcement = (struct announcement){ .created_at = row->created_at };
	announcement->ref.ptr = gs_mem_dup(survey->text.data, survey->text.len);
	announcement->ref.len = survey->text.len;
	memcpy(announcement->id, row->id, sizeof(announcement->id));
	memcpy(announcement->pubkey, row->pubkey, sizeof(announcement->pubkey));
	return announcement;
}

bool
survey_parse_row(struct survey *survey, const struct gs_row *row)
{
	if (gs_event_parse(&survey->event, row->json.ptr, row->json.len, survey->err) ==
	    GS_EVENT_OK)
		return true;
	survey->is_damaged = true;
	if (survey->err != NULL)
		survey->err->code = GS_EDATA;
	return gs_fail_in(survey->err, "store: event %llu",
	    (unsigned long long)row->sequence);
}

static bool
take_announcement(const struct gs_row *row, void *arg)
{
	struct survey *survey = arg;
	struct announcement *announcement;
	enum gs_follow follow;

	if (!survey_parse_row(survey, row))
		return false;
	follow = gs_policy_follow(survey->options->policy, &survey->event);
	if (follow != GS_FOLLOWED && survey->options->explain == NULL)
		return true;
	announcement = add_announcement(survey, row);
	announcement->follow = follow;
	if (follow == GS_FOLLOWED) {
		note_date(survey, row->created_at);
		take_relays(survey, announcement);
	}
	return true;
}

static int
compare_announcements(const void *a, const void *b)
{
	const struct announcement *left = a;
	const struct announcement *right = b;

	return gs_str_compare(left->ref, right->ref);
}

static bool
read_announcements(struct survey *survey)
{
	static const uint16_t kinds[] = { GS_KIND_ANNOUNCEMENT };
	struct gs_walk walk = {
		.kinds = kinds, .num_kinds = 1, .since = -1, .until = -1
	};

	walk.now_s = survey->options->now_s;
	if (!gs_store_walk(survey->store, &walk, take_announcement, survey,
		survey->err) ||
	    survey->is_damaged)
		return false;
	if (survey->num_announcements > 0)
		qsort(survey->announcements, survey->num_announcements,
		    sizeof(*survey->announcements), compare_announcements);
	return true;
}

/* --- the state --- */

static void
add_bootstrap(struct survey *survey)
{
	const struct gs_survey_options *options = survey->options;
	size_t i;

	for (i = 0; i < options->num_bootstrap; i++) {
		const struct gs_url *url = &options->bootstrap[i];
		struct gs_relay_entry *relay;

		if (gs_policy_is_own(options->policy, url)) {
			survey_begin_cut(survey, gs_str_of(url->text));
			gs_buf_add_str(&survey->text,
			    "our own relay, no bootstrap relay");
			survey_tell_cut(survey);
			continue;
		}
		add_site(survey, url->text)->standing = SITE_CHOSEN;
		relay = gs_state_add_relay(survey->state, gs_str_of(url->text));
		relay->is_bootstrap = true;
		relay->is_synced = true;
	}
}

static void
add_repo(struct survey *survey, const struct announcement *announcement)
{
	struct gs_repo *repo = gs_state_add_repo(survey->state, announcement->ref);
	size_t i;

	for (i = 0; i < announcement->num_sites; i++)
		if (announcement->sites[i]->standing == SITE_CHOSEN)
			gs_relay_add_repo(gs_state_add_relay(survey->state,
					      gs_str_of(announcement->sites[i]->url)),
			    repo);
}

static void
fill_state(struct survey *survey)
{
	const struct gs_policy *policy = survey->options->policy;
	size_t i;

	for (i = 0; i < policy->num_services; i++)
		gs_state_add_service(survey->state, gs_str_of(policy->services[i].text));
	for (i = 0; i < survey->num_announcements; i++)
		if (survey->announcements[i].follow == GS_FOLLOWED)
			add_repo(survey, &survey->announcements[i]);
	gs_state_sort(survey->state);
}

/* --- all of it --- */

static void
free_site(void *value)
{
	struct site *site = value;

	free(site->url);
	free(site);
}

static void
fini_survey(struct survey *survey)
{
	size_t i;

	for (i = 0; i < survey->num_announcements; i++) {
		free((char *)(uintptr_t)survey->announcements[i].ref.ptr);
		free(survey->announcements[i].sites);
	}
	free(survey->announcements);
	for (i = 0; i < survey->num_authors; i++)
		free(survey->authors[i].sites);
	free(survey->authors);
	gs_map_free(survey->sites, free_site);
	gs_event_fini(&survey->event);
	gs_buf_fini(&survey->text);
	gs_state_free(survey->state);
}

struct gs_state *
gs_survey(struct gs_store *store, const struct gs_survey_options *options,
    struct gs_err *err)
{
	struct survey survey = { .store = store, .options = options, .err = err };
	struct gs_state *state = NULL;

	survey.state = gs_state_new();
	survey.sites = gs_map_new();
	if (!read_roots(&survey) || !read_announcements(&survey))
		goto out;
	add_bootstrap(&survey);
	survey_share(&survey);
	if (!survey_explain(&survey))
		goto out;
	fill_state(&survey);
	state = survey.state;
	survey.state = NULL;
out:
	fini_survey(&survey);
	return state;
}
