/*
 * From the store to the state: which repositories are followed, their roots, the
 * relays that they list.  Reads indexes; parses no event but announcements.
 */
#ifndef GS_SURVEY_H
#define GS_SURVEY_H

#include "policy.h"
#include "state.h"
#include "store.h"

struct gs_survey_caps {
	size_t relays_per_repo;
	size_t relays_per_author;
	size_t relays; /* fairly shared among authors; bootstrap relays are over it */
	size_t roots_per_repo; /* the newest are kept */
};

/* What DESIGN 6 says of them. */
#define GS_SURVEY_RELAYS_PER_REPO 20
#define GS_SURVEY_RELAYS_PER_AUTHOR 64
#define GS_SURVEY_RELAYS 1024
#define GS_SURVEY_ROOTS_PER_REPO 10000

/*
 * A value of an announcement's `relays` tags.  why is "used", "own", "twice",
 * "over-cap", "not-followed", or why it was refused.
 */
struct gs_survey_relay {
	struct gs_str text; /* as announced */
	const char *url;    /* canonical, or NULL: refused */
	const char *why;
};

/* One announcement that stands, and what became of its relays; valid during the call. */
struct gs_survey_note {
	struct gs_str ref;
	int64_t created_at;
	enum gs_follow follow;
	const struct gs_survey_relay *relays; /* in the order of the announcement */
	size_t num_relays;
};

struct gs_survey_options {
	const struct gs_policy *policy;
	const struct gs_url *bootstrap;
	size_t num_bootstrap;
	bool allow_private;
	int64_t now_s;
	struct gs_survey_caps caps;
	/* for --explain; called in the order of refs; may be NULL */
	void (*explain)(const struct gs_survey_note *note, void *arg);
	/* what was left out, for a person; may be NULL */
	void (*cut)(const char *text, void *arg);
	void *arg;
};

/* The state (sorted), the caller's; NULL and err on I/O faults. */
struct gs_state *gs_survey(struct gs_store *store,
    const struct gs_survey_options *options, struct gs_err *err) GS_MUST;

#endif
