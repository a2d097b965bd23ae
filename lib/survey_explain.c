/* What became of each announcement and its relays, for people.  Runs after the caps. */
#include "survey_private.h"

#include <stdlib.h>
#include <string.h>

#include "mem.h"

struct note {
	struct gs_survey_relay *relays;
	size_t num, cap;
	bool *is_used; /* by index into the announcement's sites */
};

/* How a usable URL fared. */
static const char *
explain_url(const struct announcement *announcement, const struct note *note,
    const char *url)
{
	size_t i;

	if (announcement->follow != GS_FOLLOWED)
		return "not-followed";
	for (i = 0; i < announcement->num_sites; i++) {
		const struct site *site = announcement->sites[i];

		if (site->standing != SITE_CHOSEN || strcmp(site->url, url) != 0)
			continue;
		if (note->is_used[i])
			return "twice";
		note->is_used[i] = true;
		return "used";
	}
	return "over-cap";
}

static void
explain_relay(const struct survey *survey, const struct announcement *announcement,
    struct note *note, struct gs_str text)
{
	struct gs_err refusal;
	struct gs_url url;
	const char *why = survey_read_relay(survey, text, &url, &refusal);

	if (why == NULL)
		why = explain_url(announcement, note, url.text);
	note->relays =
	    gs_mem_more(note->relays, note->num, &note->cap, sizeof(*note->relays));
	note->relays[note->num++] = (struct gs_survey_relay){ .text = text,
		.url = url.text[0] != '\0' ? gs_mem_str(url.text) : NULL,
		.why = gs_mem_str(why) };
}

static void
fini_note(struct note *note)
{
	size_t i;

	for (i = 0; i < note->num; i++) {
		free((char *)(uintptr_t)note->relays[i].url);
		free((char *)(uintptr_t)note->relays[i].why);
	}
	free(note->relays);
	free(note->is_used);
}

/* The event is parsed again: all of them at once may be more than memory holds. */
static void
explain_event(struct survey *survey, const struct announcement *announcement)
{
	const struct gs_event *event = &survey->event;
	struct note note = { .num = 0 };
	size_t i, j;

	note.is_used = gs_mem_array(announcement->num_sites, sizeof(bool));
	for (i = 0; i < event->num_tags; i++)
		for (j = 1;
		     gs_tag_is(&event->tags[i], "relays") && j < event->tags[i].num; j++)
			explain_relay(survey, announcement, &note,
			    event->tags[i].values[j]);
	survey->options->explain(&(struct gs_survey_note){ .ref = announcement->ref,
				     .created_at = announcement->created_at,
				     .follow = announcement->follow,
				     .relays = note.relays,
				     .num_relays = note.num },
	    survey->options->arg);
	fini_note(&note);
}

/* One that another process has taken away since is passed over. */
static bool
explain_announcement(struct survey *survey, const struct announcement *announcement)
{
	struct gs_txn *txn = gs_store_read(survey->store, survey->err);
	struct gs_row row;
	bool found, ok = true;

	if (txn == NULL)
		return false;
	found = gs_store_find(txn, announcement->id, &row);
	if (found)
		ok = survey_parse_row(survey, &row);
	gs_txn_end(txn);
	if (found && ok)
		explain_event(survey, announcement);
	return ok;
}

bool
survey_explain(struct survey *survey)
{
	size_t i;

	for (i = 0; survey->options->explain != NULL && i < survey->num_announcements;
	     i++)
		if (!explain_announcement(survey, &survey->announcements[i]))
			return false;
	return true;
}
