/*
 * From the store to the state: which repositories are followed, their roots, the
 * relays that they list.  Reads indexes; parses no event but announcements.
 */
#ifndef GS_SURVEY_H
#define GS_SURVEY_H

#include "policy.h"
#include "state.h"
#include "store.h"

struct gs_survey_caps { /* DESIGN 6 */
	size_t relays_per_repo;	  /* 20 */
	size_t relays_per_author; /* 64 */
	size_t relays;		  /* 1,024, fairly shared among authors; bootstrap relays are over it */
	size_t roots_per_repo;	  /* 10,000; the newest are kept */
};
#define GS_SURVEY_CAPS { 20, 64, 1024, 10000 }

/* One announcement that stands, and what became of its relays. */
struct gs_survey_note {
	const struct gs_event *event;
	struct gs_str ref;
	enum gs_follow follow;
	const struct gs_survey_relay *relays; /* each value of its `relays` tags, in order */
	size_t num_relays;
};
struct gs_survey_relay {
	struct gs_str text;   /* as announced */
	const char *url;      /* canonical, or NULL: refused */
	const char *why;      /* "used", "own", "twice", "over-cap", or why it was refused */
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
	/* what a cap cut off, for a person; may be NULL */
	void (*cut)(const char *text, void *arg);
	void *arg;
};

/* The state (sorted), the caller's; NULL and err on I/O faults. */
struct gs_state *gs_survey(struct gs_store *store, const struct gs_survey_options *options, struct gs_err *err) GS_MUST;

#endif
