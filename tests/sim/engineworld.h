/*
 * The world of a seed: repositories that list our service, or did, or never will;
 * what is written about them, when, and on which of 60 relays it is published; how
 * these relays behave, and when they are away.  All of it is known beforehand.
 */
#ifndef ENGINEWORLD_H
#define ENGINEWORLD_H

#include "ways.h"

#define WORLD_RELAYS 60
#define WORLD_REPOS 48
#define WORLD_SERVICE "git.example.com"
#define WORLD_MINUTE_S INT64_C(60)
#define WORLD_HOUR_S INT64_C(3600)
#define WORLD_DAY_S INT64_C(86400)
#define WORLD_ACTIVE_S (3 * WORLD_DAY_S)
#define WORLD_URL 32
#define WORLD_REF 96

/* What may go wrong, each by itself; the world is the same without it. */
enum world_fault {
	WORLD_SLOW = 1 << 0,	   /* w: answers that take seconds */
	WORLD_LIMITS = 1 << 1,	   /* l: limits that are not stated */
	WORLD_REFUSES = 1 << 2,	   /* r: refusals now and then, or for good */
	WORLD_DROPS = 1 << 3,	   /* d: connections drop */
	WORLD_OUTAGES = 1 << 4,	   /* o: relays are away, minutes to a day */
	WORLD_LIES = 1 << 5,	   /* y */
	WORLD_DOORS = 1 << 6,	   /* a: relays that ask who reads */
	WORLD_KILLS = 1 << 7,	   /* k: our process dies */
	WORLD_NO_NET = 1 << 8,	   /* n: no relay is to be reached for a while */
	WORLD_CHANGES = 1 << 9,	   /* c: announcements change */
	WORLD_REMOVALS = 1 << 10,  /* x: deletions, vanish requests, expiry */
	WORLD_STRAYS = 1 << 11,	   /* s: what belongs to nobody */
	WORLD_BACKDATES = 1 << 12, /* b: events that are days older than they say */
	WORLD_EVERYTHING = (1 << 13) - 1,
};
extern const char world_fault_letters[]; /* by bit */

/* An event beside its form on the wire. */
struct world_event {
	struct pool_event event;
	uint8_t id[32];
	size_t repo;	   /* that it announces, or whose state it is; SIZE_MAX */
	uint64_t relays;   /* that an announcement lists, a bit each */
	bool is_listed;	   /* an announcement lists our service */
	int64_t expires_s; /* wall; -1 */
	/* What each tag of event names: a repo, an event, or nothing (SIZE_MAX). */
	size_t repos[POOL_TAGS], events[POOL_TAGS];
	size_t first_place, num_places;
};

struct world_repo {
	char ref[WORLD_REF], d[24];
	size_t owner;
	bool is_stranger; /* never lists us */
	size_t *versions; /* events, by date */
	size_t num_versions, cap_versions;
	int64_t last_s; /* date of the newest version */
	uint64_t relays;
};

/* An event gets to a relay; at_s < 0: before all began. */
struct world_post {
	int64_t at_s;
	size_t event, relay;
};

struct world_outage {
	int64_t from_s, to_s; /* the same: a drop */
	bool is_mute;	      /* dials are not refused, they get no answer */
};

struct world_relay {
	char url[WORLD_URL];
	struct mimic_ways ways;
	enum ways_sort sort;
	struct world_outage *outages;
	size_t num_outages, cap_outages;
};

struct world {
	const struct pool *pool;
	unsigned faults;
	bool has_key;
	size_t num_bootstrap; /* the first relays */
	struct world_relay relays[WORLD_RELAYS];
	struct world_repo repos[WORLD_REPOS];
	size_t num_repos;
	struct world_event *events;
	size_t num_events, cap_events;
	struct world_post *posts; /* by time */
	size_t num_posts, cap_posts;
	size_t *places;	    /* posts by event */
	struct gs_map *ids; /* hex -> struct world_event */
	int64_t *kills;	    /* when our process dies, s */
	size_t num_kills, cap_kills;
};

struct world *world_new(const struct pool *pool, uint64_t seed, unsigned faults);
void world_free(struct world *world);
struct world_event *world_find(const struct world *world, const uint8_t id[static 32]);
/* Is a relay away? */
const struct world_outage *world_away(const struct world *world, size_t relay,
    int64_t now_s);
bool world_is_root(unsigned kind);

/* --- for its parts --- */

void world_draw_relays(struct world *world, uint64_t seed);
void world_draw_repos(struct world *world, uint64_t seed);
/* Events in the making: begin, tag, end. */
struct world_draft;
struct world_draft *world_draft_new(struct world *world);
void world_draft_free(struct world_draft *draft);
void world_begin(struct world_draft *draft, unsigned kind, size_t author,
    int64_t created_at);
void world_tag(struct world_draft *draft, const char *name, const char *value);
/* Tags that relays can be asked for. */
void world_tag_repo(struct world_draft *draft, char letter, size_t repo);
void world_tag_event(struct world_draft *draft, char letter, size_t event);
/* The announcement's or state's own things. */
void world_tag_d(struct world_draft *draft, size_t repo);
void world_tag_sites(struct world_draft *draft, uint64_t relays, bool is_listed);
void world_tag_expiry(struct world_draft *draft, int64_t expires_s);
size_t world_end(struct world_draft *draft); /* its number */
void world_post(struct world *world, size_t event, size_t relay, int64_t at_s);

#endif
