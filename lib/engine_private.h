/*
 * An engine from within.  engine: the set of relays and what is wanted; engine_dial: who
 * is dialled when; engine_peer: one relay's conversation; engine_parts: what it is asked
 * and what that proved; engine_view: looking.
 */
#ifndef GS_ENGINE_PRIVATE_H
#define GS_ENGINE_PRIVATE_H

#include <netinet/in.h>

#include "engine.h"
#include "map.h"

#define GS_ENGINE_REMEMBERED 512 /* ids a session: the store knows the others */

/* Why we hang up; what health makes of it. */
enum gs_leave {
	GS_LEAVE_NOT,
	GS_LEAVE_FAULT, /* the session had enough: a failure */
	GS_LEAVE_OURS,	/* not wanted now: says nothing about the relay */
};

/* What was recorded last. */
struct gs_peer_saved {
	struct gs_health_saved health;
	int64_t read_until_s, last_full_s;
	struct gs_limits limits;
	size_t num_refused;
	uint64_t refusals; /* of them all */
};

struct gs_peer {
	struct gs_engine *engine;
	char *url;
	void *arg;
	const struct gs_relay_entry *entry; /* of the engine's state; NULL: not wanted */
	bool is_bootstrap;
	int64_t leave_ms; /* it goes then; -1: it stays */

	enum gs_peer_phase phase;
	enum gs_leave leave;
	struct gs_health health;
	int64_t not_before_ms; /* beyond health: turns and caps; -1 */
	bool is_capped;
	char address[INET6_ADDRSTRLEN]; /* the last one */
	bool takes_turns;		/* that has more relays than connections */
	int64_t opened_ms;		/* the last time; -1: never */
	int64_t turn_ms;		/* its turn may be over then */
	bool is_kept;			/* its last dial succeeded */
	bool was_kept;			/* when it was dialled */
	char fault[32];
	uint64_t attempts_ok, attempts_failed;
	int64_t due_ms; /* of tick; -1: none */

	struct gs_limits limits;
	struct gs_session *session; /* NULL: it was never open in this run */
	struct gs_plan *plan;
	uint8_t *part_flags; /* by the session's number */
	size_t num_parts, cap_parts;
	size_t consolidating;	/* parts of the first step without an end; 0: no step */
	int64_t consolidated_s; /* when that step began */
	int64_t read_until_s, last_full_s;   /* restored, until there is a session */
	struct gs_progress_refused *refused; /* likewise */
	size_t num_refused;
	struct gs_session_filters told;

	struct gs_peer_saved saved;
	bool was_saved;
};

struct gs_engine {
	struct gs_engine_options options;
	struct gs_engine_ops ops;
	struct gs_map *peers; /* URL -> struct gs_peer */
	struct gs_state *state;
	uint64_t sequence; /* of the store, when that was surveyed */
	size_t num_dialling, num_kept_dialling;
	int64_t dialled_ms[GS_ENGINE_DIALS_S]; /* the last ones, a ring */
	size_t next_dialled;
	bool were_all_failing;
	int64_t due_ms; /* the earliest of all, or earlier; -1: none */
	int64_t save_due_ms;
};

/* Its time may have come earlier. */
void gs_engine_note_due(struct gs_engine *engine, int64_t due_ms);
void gs_engine_tell(struct gs_peer *peer, enum gs_peer_change change);
/* Every other wanted relay has failed since its last success, and there is one. */
bool gs_engine_are_others_failing(const struct gs_peer *peer);
/* A relay has answered: what failed together with all is due. */
void gs_engine_note_success(struct gs_engine *engine, struct gs_now now);

/* --- engine_dial --- */

void gs_engine_dial_due(struct gs_engine *engine, struct gs_now now);
/* Its dial is over, in whatever way. */
void gs_engine_dial_over(struct gs_peer *peer);
/* When it may be dialled; -1: not now. */
int64_t gs_peer_dial_due_ms(const struct gs_peer *peer);
/* Its turn at a crowded address is over, or was none: another relay may have its own. */
void gs_engine_free_address(struct gs_peer *peer, bool was_none, struct gs_now now);

/* --- engine_peer --- */

struct gs_peer *gs_peer_new(struct gs_engine *engine, struct gs_str url,
    struct gs_now now);
void gs_peer_free(struct gs_peer *peer);
void gs_peer_tick(struct gs_peer *peer, struct gs_now now);
void gs_peer_leave(struct gs_peer *peer, enum gs_leave leave);
/* Anything may have changed: deadline, frames to send. */
void gs_peer_update(struct gs_peer *peer, struct gs_now now);
void gs_peer_save(struct gs_peer *peer, struct gs_now now);

/* --- engine_parts --- */

/* It is open for the first time: its session, with all that is wanted. */
void gs_peer_begin_session(struct gs_peer *peer, struct gs_now now);
/* Another state: entry is the new one, before the old one; both still there. */
void gs_peer_want(struct gs_peer *peer, const struct gs_relay_entry *before,
    struct gs_now now);
/* Takes over which readings have ended, and what that proves.  False: none has. */
bool gs_peer_settle(struct gs_peer *peer, struct gs_now now);
/* Filters that the relay refused, into and out of the store. */
void gs_peer_restore_refused(struct gs_peer *peer, const struct gs_progress_relay *relay);
/* relay->refused is the caller's to free. */
void gs_peer_list_refused(const struct gs_peer *peer, struct gs_progress_relay *relay,
    struct gs_now now);
void gs_peer_tidy(struct gs_peer *peer, struct gs_now now);

#endif
