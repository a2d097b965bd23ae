/*
 * The daemon's brain: many relays, one state.  Which are wanted, when each is dialled,
 * what its session asks, what was proven; one relay's trouble is its own (DESIGN 3).
 * Pure: the owner connects, passes frames and the time, and stores in the order in which
 * events and records are handed to it.
 */
#ifndef GS_ENGINE_H
#define GS_ENGINE_H

#include "auth.h"
#include "health.h"
#include "now.h"
#include "plan.h"
#include "progress.h"
#include "session.h"
#include "state.h"

#define GS_ENGINE_DIALS_S 10  /* dials a second: DESIGN 3 "Health" */
#define GS_ENGINE_DIALLING 16 /* at a time */
#define GS_ENGINE_KEPT 8 /* of them for bootstrap and those whose last dial succeeded */
#define GS_ENGINE_ADDRESS 32	  /* connections to one address: DESIGN 6 */
#define GS_ENGINE_LINGER_MS 60000 /* a relay without repositories is left then */
#define GS_ENGINE_SAVE_MS 60000	  /* changed relays are recorded so often */

/* How an event was found: the label of v2's metric. */
enum gs_source {
	GS_SOURCE_LIVE,	   /* live_sync */
	GS_SOURCE_CATCHUP, /* first history, or of a reconnect, or a poll */
	GS_SOURCE_DAILY,   /* daily_catchup: a gap, if it was not there */
	GS_SOURCE_DIRECT,  /* not from a relay */
};
#define GS_SOURCES (GS_SOURCE_DIRECT + 1)
const char *gs_source_name(enum gs_source source);

struct gs_peer; /* one relay */

enum gs_peer_change {
	GS_PEER_ADDED,
	GS_PEER_REMOVED, /* freed after the call */
	GS_PEER_OPENED,
	GS_PEER_CLOSED, /* or the dial failed: gs_peer_fault */
	GS_PEER_STATUS, /* health: healthy, backoff, dead */
	GS_PEER_REPACKED,
	GS_PEER_FILTERS, /* polled or failed ones: their number is another */
	GS_PEER_CAPPED,	 /* its daily share is used up: left until the day is over */
};

struct gs_engine_ops {
	/* Connect to gs_peer_url; ends with gs_peer_opened or gs_peer_ended. */
	void (*dial)(struct gs_peer *peer, void *arg);
	/* The connection, or the dial, is to end: gs_peer_ended follows, later. */
	void (*hang_up)(struct gs_peer *peer, void *arg);
	/* There may be a frame to send, or another deadline. */
	void (*wake)(struct gs_peer *peer, void *arg);
	/*
	 * Its signature is to be verified, then it is to be stored.  line: the
	 * event's JSON as it came.  Valid during the call.
	 */
	void (*event)(struct gs_peer *peer, struct gs_str line, enum gs_source source,
	    void *arg);
	/* To be stored behind all events that came before. */
	void (*record)(const struct gs_record *record, void *arg);
	/* Is the id settled in the store? */
	bool (*is_known)(const uint8_t id[static 32], void *arg);
	void (*changed)(struct gs_peer *peer, enum gs_peer_change change,
	    void *arg); /* may be NULL */
	void *arg;
};

struct gs_engine_options {
	int64_t silence_ms;	    /* GS_SESSION_SILENCE_MS */
	int64_t max_backoff_ms;	    /* caps every wait; 0: not */
	const struct gs_auth *auth; /* NULL: nobody.  Borrowed. */
	size_t per_address;	    /* GS_ENGINE_ADDRESS; 0: any number */
	bool is_daily_off;	    /* for simulations: no full history but the first */
};

struct gs_engine;
struct gs_engine *gs_engine_new(const struct gs_engine_options *options,
    const struct gs_engine_ops *ops, struct gs_now now);
/* No op is called. */
void gs_engine_free(struct gs_engine *engine);

/* --- what an earlier process knew; before the first gs_engine_apply --- */

/* Kept aside until a state names the relay; then it is used. */
void gs_engine_restore(struct gs_engine *engine, const struct gs_progress_relay *relay,
    struct gs_now now);
void gs_engine_restore_pair(struct gs_engine *engine, struct gs_str url,
    struct gs_str ref, uint64_t sequence, struct gs_now now);

/*
 * What is followed now: takes the sorted state.  sequence: the store's last one when it
 * was surveyed.  New relays are dialled, new content is asked for, what is gone leaves.
 */
void gs_engine_apply(struct gs_engine *engine, struct gs_state *state, uint64_t sequence,
    struct gs_now now);
/* What is applied, borrowed until the next apply; NULL: nothing yet. */
struct gs_state *gs_engine_state(const struct gs_engine *engine);
/* The policy is another one: a full history is due on every relay. */
void gs_engine_make_full(struct gs_engine *engine, struct gs_now now);

void gs_engine_tick(struct gs_engine *engine, struct gs_now now);
int64_t gs_engine_deadline_ms(const struct gs_engine *engine); /* of all its peers; -1 */
/* A record of every relay that changed since its last one. */
void gs_engine_save(struct gs_engine *engine, struct gs_now now);

/* --- the owner tells of a connection --- */

/*
 * Before it connects to this numeric address (also for the next address of a dial);
 * false: that address has enough: try another one, or end the dial with
 * is_crowded.  Relays that share a crowded address take turns.
 */
bool gs_peer_may_connect(struct gs_peer *peer, const char *address);
void gs_peer_opened(struct gs_peer *peer, struct gs_now now);
void gs_peer_frame(struct gs_peer *peer, const char *text, size_t len, struct gs_now now);
void gs_peer_pong(struct gs_peer *peer, struct gs_now now);
/* The socket was not read for so long. */
void gs_peer_paused(struct gs_peer *peer, int64_t for_ms);
struct gs_peer_end {
	const char *name; /* "dns", "refused", "http-429", "closed", ... */
	bool was_open, is_crowded;
	int64_t retry_after_s;
};
void gs_peer_ended(struct gs_peer *peer, const struct gs_peer_end *end,
    struct gs_now now);
bool gs_peer_next_frame(struct gs_peer *peer, struct gs_buf *frame, struct gs_now now);
/* The store took this much from it within a day that ends then: it is left until. */
void gs_peer_cap(struct gs_peer *peer, int64_t until_s, struct gs_now now);

/* --- looking --- */

const char *gs_peer_url(const struct gs_peer *peer);
struct gs_limits *gs_peer_limits(struct gs_peer *peer); /* for its NIP-11 document */
bool gs_peer_is_bootstrap(const struct gs_peer *peer);
/* Bootstrap, or its last dial succeeded: places are kept for it. */
bool gs_peer_is_kept(const struct gs_peer *peer);
/* The owner's own thing of this peer; NULL at first. */
void gs_peer_set_arg(struct gs_peer *peer, void *arg);
void *gs_peer_arg(const struct gs_peer *peer);

enum gs_peer_phase {
	GS_PEER_WAITING, /* until due */
	GS_PEER_DIALLING,
	GS_PEER_OPEN,
	GS_PEER_LEAVING, /* hang_up was called */
};
const char *gs_peer_phase_name(enum gs_peer_phase phase); /* "waiting", "dialling", ... */
struct gs_peer_view {
	enum gs_peer_phase phase;
	enum gs_health_status status;
	uint32_t failures;
	int64_t last_success_s, read_until_s, last_full_s; /* wall; -1 */
	int64_t due_ms;	       /* of the next dial, mono; -1: none */
	size_t repos, pending; /* pairs; those not read yet */
	struct gs_session_filters filters;
	size_t num_filters;
	bool is_bootstrap, takes_turns, is_capped, is_lingering;
	uint64_t attempts_ok, attempts_failed; /* dials */
	const struct gs_session_counts *counts;
	const char *fault;  /* of the last end: "dns", "silent"...; NULL */
	const char *notice; /* printable; "" */
};
void gs_peer_look(const struct gs_peer *peer, struct gs_peer_view *view);
/* By URL.  False stops. */
void gs_engine_each(const struct gs_engine *engine,
    bool (*fn)(struct gs_peer *peer, void *arg), void *arg);
/* NULL: not there. */
struct gs_peer *gs_engine_find(const struct gs_engine *engine, struct gs_str url);
struct gs_engine_counts {
	size_t tracked, connected, dead, dialling;
};
struct gs_engine_counts gs_engine_count(const struct gs_engine *engine);
/* Puts "relays" of the state file into a state. */
void gs_engine_write_status(const struct gs_engine *engine, struct gs_state *state);

#endif
