/* What the files of survey share: one survey under way.  For survey*.c alone. */
#ifndef GS_SURVEY_PRIVATE_H
#define GS_SURVEY_PRIVATE_H

#include "survey.h"

/* A relay that some followed announcement lists. */
enum standing {
	SITE_LISTED,
	SITE_WANTED, /* within the cap of an author */
	SITE_CHOSEN,
};

struct site {
	char *url;
	enum standing standing;
};

struct announcement {
	struct gs_str ref; /* owned */
	uint8_t id[32], pubkey[32];
	int64_t created_at;
	enum gs_follow follow;
	struct site **sites; /* its first valid ones, each once */
	size_t num_sites, cap_sites;
};

/* A signer's relays in the order of his refs, and how far the sharing out has come. */
struct author {
	const uint8_t *pubkey;
	struct site **sites;
	size_t num_sites, cap_sites;
	size_t next;
	bool is_cut;
};

struct survey {
	struct gs_store *store;
	const struct gs_survey_options *options;
	struct gs_state *state;
	struct gs_map *sites; /* URL -> struct site */
	struct announcement *announcements;
	size_t num_announcements, cap_announcements;
	struct author *authors;
	size_t num_authors, cap_authors;
	struct gs_repo *repo; /* whose roots are being read */
	size_t num_seen;      /* roots of it */
	struct gs_event event;
	struct gs_buf text;
	bool is_damaged;
	struct gs_err *err;
};

/* --- survey.c --- */

/* Begins a message in survey->text about a ref or a URL; tells it. */
void survey_begin_cut(struct survey *survey, struct gs_str about);
void survey_tell_cut(struct survey *survey);
/* Into survey->event; false and survey->is_damaged if the store holds no event there. */
bool survey_parse_row(struct survey *survey, const struct gs_row *row);
/*
 * What a `relays` value is by itself: NULL if it may be used, else why not;
 * url->text is empty if it is no URL.
 */
const char *survey_read_relay(const struct survey *survey, struct gs_str text,
    struct gs_url *url, struct gs_err *err);

/* --- survey_share.c --- */

/* Takes from the sorted announcements what is over their authors' cap, then chooses. */
void survey_share(struct survey *survey);

/* --- survey_explain.c --- */

bool survey_explain(struct survey *survey);

#endif
