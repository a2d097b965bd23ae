/*
 * What we follow and what we keep (DESIGN 3 "State", "Acceptance").  Pure: it is
 * told what is known through a view, and answers with a reason.
 */
#ifndef GS_POLICY_H
#define GS_POLICY_H

#include "event.h"
#include "map.h"
#include "url.h"

enum gs_follow_rule {
	GS_FOLLOW_LISTED, /* it lists a service in `clone` and in `relays` */
	GS_FOLLOW_ALL,
	GS_FOLLOW_LIST, /* its ref or its author stands in a list */
};

/* What is newly stored within a day, and in all: DESIGN 6.  0: no cap. */
struct gs_policy_caps {
	uint64_t relay_events, relay_bytes; /* a relay, a day */
	uint64_t repo_events;		    /* a repository, a day */
	uint64_t store_bytes;		    /* --max-store: of the store's pages in use */
};
#define GS_POLICY_RELAY_EVENTS 1000000
#define GS_POLICY_RELAY_BYTES (UINT64_C(2) << 30)
#define GS_POLICY_REPO_EVENTS 100000

struct gs_policy {
	struct gs_service *services;
	size_t num_services, cap_services;
	enum gs_follow_rule rule;
	struct gs_map *followed; /* GS_FOLLOW_LIST: refs, and keys as 64 hex digits */
	struct gs_map *denied;	 /* refs, keys, GS_DENY_ID and ids; NULL: none */
	struct gs_policy_caps caps;
	char (*own_hosts)[GS_URL_BYTES + 1]; /* of --own-url; not those of services */
	size_t num_own_hosts, cap_own_hosts;
};

void gs_policy_init(struct gs_policy *policy);
void gs_policy_fini(struct gs_policy *policy);

/* A second time: nothing. */
bool gs_policy_add_service(struct gs_policy *policy, struct gs_str text,
    struct gs_err *err) GS_MUST;
bool gs_policy_add_own_url(struct gs_policy *policy, struct gs_str text,
    struct gs_err *err) GS_MUST;
/*
 * "listed", "all", or a list file's text: one repo ref, hex key or npub a line; '#'
 * begins a comment line.  On failure (GS_EDATA, with the line) the old rule holds.
 */
bool gs_policy_set_list(struct gs_policy *policy, struct gs_str text,
    struct gs_err *err) GS_MUST;

/*
 * --deny: a list file's text: one event id ("id:<hex>" or note1/nevent1), key (hex or
 * npub) or repo ref a line; '#' begins a comment line.  Adds to what is denied.  On
 * failure (GS_EDATA, with the line) nothing is added.
 */
bool gs_policy_add_deny(struct gs_policy *policy, struct gs_str text,
    struct gs_err *err) GS_MUST;

#define GS_DENY_ID "id:"
bool gs_policy_denies_id(const struct gs_policy *policy, const uint8_t id[static 32]);
bool gs_policy_denies_author(const struct gs_policy *policy,
    const uint8_t pubkey[static 32]);
/* The ref, or its author. */
bool gs_policy_denies_repo(const struct gs_policy *policy, struct gs_str ref);

/* Is this URL our own: its host is that of a service or of an own URL? */
bool gs_policy_is_own(const struct gs_policy *policy, const struct gs_url *url);

/* Why an announcement is followed or not; the names are those of --explain. */
enum gs_follow {
	GS_FOLLOWED,	       /* "followed" */
	GS_FOLLOW_NO_CLONE,    /* "clone-lacks-service" */
	GS_FOLLOW_NO_RELAY,    /* "relays-lacks-service" */
	GS_FOLLOW_NEITHER,     /* "service-not-listed" */
	GS_FOLLOW_NOT_IN_LIST, /* "not-in-list" */
	GS_FOLLOW_DENIED,      /* "denied": its id, author or ref */
};
const char *gs_follow_name(enum gs_follow follow);
enum gs_follow gs_policy_follow(const struct gs_policy *policy,
    const struct gs_event *announcement);

/*
 * SHA-256 over rule, services, own hosts, lists and caps, in whatever order they were
 * given: when it changes, what was judged is judged anew.
 */
void gs_policy_fingerprint(const struct gs_policy *policy, uint8_t out[static 32]);

/* What the policy may ask about what is stored; arg is passed through. */
struct gs_policy_view {
	/* stands in the store */
	bool (*has_event)(void *arg, const uint8_t id[static 32]);
	/* stands, or was ours and is gone */
	bool (*had_event)(void *arg, const uint8_t id[static 32]);
	/* something of this signer stands */
	bool (*has_author)(void *arg, const uint8_t pubkey[static 32]);
	/* a version stands or stood */
	bool (*has_address)(void *arg, const struct gs_address *address);
	bool (*is_followed)(void *arg, struct gs_str ref);
	/* in the maintainer closure of a followed announcement with this d? */
	bool (*is_maintainer)(void *arg, const uint8_t pubkey[static 32],
	    struct gs_str d);
	void *arg;
};

enum gs_verdict { GS_ACCEPT, GS_WAIT, GS_REJECT };

/*
 * What would free a waiting event, as a hash.  SHA-256 of
 *   "e:<id>"          an event of ours has come, even if it was deleted at once
 *   "a:<address>"     a version of it has come, or (a repo ref) it is followed now
 *   "m:<pubkey>:<d>"  the signer is in the maintainer closure of a followed repo now
 *   "p:<pubkey>"      something of this signer has come
 */
typedef uint8_t gs_ground[32];
void gs_ground_of_id(gs_ground out, const uint8_t id[static 32]);
void gs_ground_of_address(gs_ground out, struct gs_str address);
void gs_ground_of_maintainer(gs_ground out, const uint8_t pubkey[static 32],
    struct gs_str d);
void gs_ground_of_author(gs_ground out, const uint8_t pubkey[static 32]);

/*
 * The reasons, words for a machine.
 * Of GS_ACCEPT:
 *   followed        30617 of a repository that we follow
 *   maintainer      30617 or 30618 of a maintainer (closure) of a followed repository
 *   replaces        30617 whose earlier or later version is or was ours
 *   refers-repo     an a, A or q tag names a followed repository
 *   refers-event    an e, E or q tag names an event that is stored
 *   deletes         kind 5 that names an event or address that is or was ours
 *   vanish          kind 62 meant for us of a signer of stored events
 * Of GS_WAIT:
 *   clone-lacks-service, relays-lacks-service, service-not-listed, not-in-list
 *                   30617 that is not followed (gs_follow_name)
 *   not-maintainer  30618 of nobody that a followed repository names
 *   unknown-repo    names repositories, none of them followed
 *   unknown-event   names events, none of them stored
 *   unknown-target  kind 5 of nothing that we have
 *   unknown-author  kind 62 of nobody whose events we have
 *   nothing-of-ours no ground at all: nothing can free it, remember its id alone
 * Of GS_REJECT, which nothing later can change but another policy:
 *   denied          its id, its author, its address (30617), or all that it names is;
 *                   what takes away (kind 5 and 62 of a denied author that act on
 *                   something of theirs) is judged by that alone
 * And, said by the intake: over-relay-cap, over-repo-cap, store-full (skipped: not
 * judged, it may come again), expired, deleted, superseded.
 */
#define GS_ANSWER_WORDS 20
#define GS_ANSWER_WORD_BYTES 512
struct gs_answer {
	enum gs_verdict verdict;
	const char *reason; /* static */
	gs_ground *grounds; /* of GS_WAIT: sorted, each once; of others none */
	size_t num_grounds, cap_grounds;
	/*
	 * With wants_words (the caller's to set): the first grounds as text, in the order
	 * of the tags, each once, cut at GS_ANSWER_WORD_BYTES.
	 */
	bool wants_words;
	struct gs_buf text;
	size_t word_at[GS_ANSWER_WORDS], word_len[GS_ANSWER_WORDS]; /* in text */
	size_t num_words;
};

/*
 * Judges an event whose id and signature hold.  answer (zeroed before its first use)
 * is filled anew, its memory used again.
 */
void gs_policy_judge(const struct gs_policy *policy, const struct gs_policy_view *view,
    const struct gs_event *event, struct gs_answer *answer);
void gs_answer_fini(struct gs_answer *answer);

/*
 * Is it a NIP-62 request that concerns us: a `relay` tag is ALL_RELAYS, a service or
 * an own URL?  policy may be NULL: ALL_RELAYS alone.
 */
bool gs_policy_is_vanish(const struct gs_policy *policy, const struct gs_event *event);

#endif
