/*
 * Which relays the caps let through (DESIGN 6).  The same announcements give the
 * same choice, whatever the order in which they came.
 */
#include "survey_private.h"

#include <string.h>

#include "hex.h"
#include "mem.h"

/* Refs sort by signer, so that an author's announcements stand together. */
static struct author *
author_of(struct survey *survey, const struct announcement *announcement)
{
	struct author *author = survey->authors + survey->num_authors;

	if (survey->num_authors > 0 &&
	    memcmp(author[-1].pubkey, announcement->pubkey, 32) == 0)
		return author - 1;
	survey->authors = gs_mem_more(survey->authors, survey->num_authors,
	    &survey->cap_authors, sizeof(*survey->authors));
	author = &survey->authors[survey->num_authors++];
	*author = (struct author){ .pubkey = announcement->pubkey };
	return author;
}

static bool
has_site(struct site *const *sites, size_t num, const struct site *site)
{
	size_t i;

	for (i = 0; i < num; i++)
		if (sites[i] == site)
			return true;
	return false;
}

static void
cut_author(struct survey *survey, struct author *author)
{
	if (author->is_cut)
		return;
	author->is_cut = true;
	gs_buf_clear(&survey->text);
	gs_buf_add_str(&survey->text, "author ");
	gs_hex_write(gs_buf_room(&survey->text, 64), author->pubkey, 32);
	survey->text.len += 64;
	gs_buf_printf(&survey->text, ": more than %zu relays, the first are kept",
	    survey->options->caps.relays_per_author);
	survey_tell_cut(survey);
}

static bool
allow_author(struct survey *survey, struct author *author, struct site *site)
{
	size_t cap = survey->options->caps.relays_per_author;

	if (has_site(author->sites, author->num_sites, site))
		return true;
	if (author->num_sites < cap) {
		author->sites = gs_mem_more(author->sites, author->num_sites,
		    &author->cap_sites, sizeof(struct site *));
		author->sites[author->num_sites++] = site;
		if (site->standing == SITE_LISTED)
			site->standing = SITE_WANTED;
		return true;
	}
	cut_author(survey, author);
	return false;
}

static void
limit_authors(struct survey *survey)
{
	size_t i, j;

	for (i = 0; i < survey->num_announcements; i++) {
		struct announcement *announcement = &survey->announcements[i];
		struct author *author;
		size_t num = 0;

		if (announcement->num_sites == 0)
			continue;
		author = author_of(survey, announcement);
		for (j = 0; j < announcement->num_sites; j++)
			if (allow_author(survey, author, announcement->sites[j]))
				announcement->sites[num++] = announcement->sites[j];
		announcement->num_sites = num;
	}
}

/* The author's next relay that nobody has chosen yet, or NULL. */
static struct site *
next_site(struct author *author)
{
	while (author->next < author->num_sites) {
		struct site *site = author->sites[author->next++];

		if (site->standing != SITE_CHOSEN)
			return site;
	}
	return NULL;
}

/* True if the author has added one; *left is how many there is room for. */
static bool
choose_next(struct author *author, size_t *left)
{
	struct site *site = *left > 0 ? next_site(author) : NULL;

	if (site == NULL)
		return false;
	site->standing = SITE_CHOSEN;
	(*left)--;
	return true;
}

static size_t
count_left_out(const struct survey *survey)
{
	const struct gs_map_entry *entry;
	size_t at = 0, num = 0;

	while ((entry = gs_map_next(survey->sites, &at)) != NULL)
		num += ((const struct site *)entry->value)->standing == SITE_WANTED;
	return num;
}

/* In turn, so that nobody crowds out the others with many announcements. */
static void
share_relays(struct survey *survey)
{
	size_t left = survey->options->caps.relays;
	bool more = true;
	size_t i;

	while (more) {
		more = false;
		for (i = 0; i < survey->num_authors; i++)
			more |= choose_next(&survey->authors[i], &left);
	}
	if (left > 0 || count_left_out(survey) == 0)
		return;
	gs_buf_clear(&survey->text);
	gs_buf_printf(&survey->text, "relays: over the cap of %zu, %zu are left out",
	    survey->options->caps.relays, count_left_out(survey));
	survey_tell_cut(survey);
}

void
survey_share(struct survey *survey)
{
	limit_authors(survey);
	share_relays(survey);
}
