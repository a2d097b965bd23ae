/*
 * A relay that is played in memory and virtual time: it serves events of the pool
 * within its limits, refuses, drops and lies as its ways say, and sees to it that the
 * client keeps to the rules.
 */
#ifndef MIMIC_H
#define MIMIC_H

#include "asked.h"
#include "buf.h"

enum mimic_lie {
	MIMIC_IGNORES_UNTIL = 1 << 0,
	MIMIC_IGNORES_LIMIT = 1 << 1,
	MIMIC_OLDEST_FIRST = 1 << 2,
	MIMIC_SHUFFLES = 1 << 3,
	MIMIC_UNTIL_EXCLUSIVE = 1 << 4,
	MIMIC_REPEATS = 1 << 5,	    /* sends some events twice */
	MIMIC_UNMATCHED = 1 << 6,   /* events that were not asked for, between */
	MIMIC_UNKNOWN_SUB = 1 << 7, /* and copies under other names */
	MIMIC_MISLABELS = 1 << 8,   /* the same events always go under another name */
	MIMIC_MISANSWERS = 1 << 9,  /* now and then a whole answer does */
	MIMIC_CORRUPTS = 1 << 10,   /* the same events always have a wrong signature */
	MIMIC_NO_EOSE = 1 << 11,    /* now and then */
	MIMIC_EOSE_FIRST = 1 << 12, /* now and then */
	MIMIC_JUNK = 1 << 13,
	MIMIC_LIES = 14, /* how many */
};

/* What it allows; 0: anything. */
struct mimic_limits {
	size_t subs, filters, bytes, limit, name;
};

/* What it says about a REQ; text NULL: nothing at all. */
struct mimic_refusal {
	const char *text;
	bool is_notice;
};

/* Does it want to know the client (NIP-42)? */
enum mimic_door {
	MIMIC_OPEN,
	MIMIC_ASKS_FIRST, /* a challenge with the connection */
	MIMIC_ASKS_LATER, /* when a REQ was refused */
	MIMIC_NEVER_ASKS, /* refuses, and gives no challenge */
};

#define MIMIC_URL "wss://relay.example" /* unless mimic_set_url says another */
#define MIMIC_EPOCH_S 1767200000	/* wall time at 0 ms */

struct mimic_ways {
	enum mimic_door door;
	bool knows_client;	    /* accepts its answer */
	size_t page_cap, req_cap;   /* events a filter, a REQ; 0: none */
	size_t default_limit;	    /* of a filter without; 0: none */
	struct mimic_limits limits; /* refused beyond ... */
	struct mimic_limits stated; /* ... and what the client has been told */
	struct mimic_refusal over_subs, over_filters, over_bytes, over_limit, over_name;

	size_t refuse_every; /* REQs; 0: never */
	struct mimic_refusal refusal;
	char refuse_letter; /* REQs with that tag, always; 0: none */
	struct mimic_refusal refusal_for_good;
	size_t drop_every; /* frames that it sent; 0: never */
	size_t max_drops;

	bool merges; /* all filters of a REQ by date, not one filter after the other */
	bool repeats_across_filters;
	bool says_finish; /* NIP-67 */
	int64_t answer_ms, frame_ms;
	unsigned lies;
};

enum mimic_what {
	MIMIC_EVENT,
	MIMIC_EOSE,
	MIMIC_FINISH,
	MIMIC_CLOSED,
	MIMIC_NOTICE,
	MIMIC_RAW,
	MIMIC_DROP,
};

struct mimic;

/* The ways and the pool are borrowed; the rng is for what it does by chance. */
struct mimic *mimic_new(const struct mimic_ways *ways, const struct pool *pool,
    struct rng rng);
void mimic_free(struct mimic *mimic);
void mimic_set_url(struct mimic *mimic, const char *url); /* borrowed */
/* Not connected: who comes next is another client, which knows nothing of this one. */
void mimic_forget_client(struct mimic *mimic);

/* Stores events; borrowed.  They need not come in order. */
void mimic_store(struct mimic *mimic, const struct pool_event *event);
/* Stores an event, and sends it to whom it concerns. */
void mimic_publish(struct mimic *mimic, const struct pool_event *event, int64_t now_ms);

/* The client connects, and sends. */
void mimic_connected(struct mimic *mimic, int64_t now_ms);
void mimic_take(struct mimic *mimic, const char *text, size_t len, int64_t now_ms);
/* The connection ends; what was on its way is lost. */
void mimic_disconnected(struct mimic *mimic);

/* When its next frame comes; -1: none is on its way. */
int64_t mimic_due_ms(const struct mimic *mimic);
/* That frame; MIMIC_DROP: the connection ends now instead. */
enum mimic_what mimic_next(struct mimic *mimic, struct gs_buf *frame);

/* From now on it refuses and drops nothing but what is over its limits, or for good. */
void mimic_calm(struct mimic *mimic);

/* Can the client get this event at all, in a form that counts? */
bool mimic_gives(const struct mimic *mimic, const struct pool_event *event);
/* Newest first, once mimic_arrange was called. */
void mimic_arrange(struct mimic *mimic);
size_t mimic_num_stored(const struct mimic *mimic);
const struct pool_event *mimic_stored(const struct mimic *mimic, size_t i);
/* What the client did wrong first, or NULL. */
const char *mimic_complaint(const struct mimic *mimic);
size_t mimic_num_reqs(const struct mimic *mimic);

#endif
