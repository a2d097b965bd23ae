/*
 * What the daemon does around the engine, in memory and virtual time: it connects,
 * stores in groups, surveys what is followed, dies and comes back.  Everything that the
 * engine does is checked here against what it may do.
 */
#ifndef ENGINEHOST_H
#define ENGINEHOST_H

#include "dials.h"
#include "engine.h"
#include "enginemodel.h"
#include "tally.h"
#include "waiting.h"
#include "window.h"

enum host_phase {
	HOST_IDLE,
	HOST_DIALLING,
	HOST_OPEN,
	HOST_LEAVING, /* the engine hung up, and has not heard of it yet */
};

struct host;

struct host_relay {
	struct host *host;
	size_t number;
	const struct world_relay *at;
	struct mimic *mimic;
	struct gs_peer *peer; /* NULL: the engine does not know it */
	enum host_phase phase;
	bool was_open, will_open, is_touched;
	int64_t over_ms; /* when dialling or leaving is over */
	int64_t pong_ms;
	unsigned connection;
	size_t next_outage;

	struct dials dials; /* when it is due, worked out a second time */
	bool is_unsure;	    /* of a restart or a new peer: the next dial tells nothing */
	bool is_vague;	    /* its short drops before a restart are not known */
	int64_t idle_ms;    /* wanted and due, and not dialled, since; -1 */
	int64_t next_ms;    /* whatever comes next */

	int64_t packed_h; /* the hour in which it was packed anew last, and how often */
	size_t repacks;
};

/* Waits for its commit. */
struct host_item {
	struct host_item *next;
	char *line; /* NULL: a record */
	size_t len, relay;
	struct gs_record record;
	struct gs_progress_relay row;
};

struct host_figures {
	uint64_t steps, ticks, dials, frames, events, records, commits, surveys;
	uint64_t max_open, kills, repacks, removed;
	size_t engine_bytes; /* the most that one held */
};

struct host {
	const struct world *world;
	struct model *model;
	bool is_loud, has_daily;
	int64_t now_ms;
	struct rng rng;
	struct host_relay relays[WORLD_RELAYS];

	struct gs_policy policy;
	struct gs_url bootstrap[2];
	struct gs_store *store;
	struct gs_tally tally;

	/* of one process */
	struct gs_engine *engine;
	struct gs_intake *intake;
	struct gs_window *window;
	struct host_item *first, *last;
	size_t num_items, num_lines; /* those that are events */
	bool is_ripe;	   /* something is said to be read, and not stored yet */
	size_t slow_every; /* commits */
	int64_t commit_ms, window_ms, engine_ms; /* due; -1 */
	int64_t back_ms;			 /* it starts again; -1: it runs */
	bool were_all_failing;

	int64_t dialled_ms[GS_ENGINE_DIALS_S];
	size_t next_dialled, ticks_now;
	int64_t busy_ms; /* the last time that no more could be dialled */
	int64_t ticked_ms;
	struct gs_buf frame;
	struct host_figures figures;
	char complaint[400];
};

void host_init(struct host *host, const struct world *world, struct model *model,
    uint64_t seed);
void host_fini(struct host *host);
void host_complain(struct host *host, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void host_say(const struct host *host, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
struct gs_now host_now(const struct host *host);

/* The process starts, and dies. */
void host_start(struct host *host);
void host_kill(struct host *host, int64_t back_ms);
/* Whatever is due now; each calls the engine. */
void host_step_relay(struct host_relay *relay);
void host_commit(struct host *host);
void host_look(struct host *host);
void host_tick(struct host *host);
/* The relay's own doing. */
void host_drop(struct host_relay *relay);
/* When something is due; INT64_MAX: nothing. */
int64_t host_due_ms(const struct host *host);
void host_fill_links(struct host *host, struct model_link links[WORLD_RELAYS]);
void host_check(struct host *host);

/* --- for its parts --- */

/* After every call into the engine: frames to send, and when it wants to be called. */
void host_settle(struct host *host);
void host_touch(struct host_relay *relay);
void host_note_busy(struct host *host);
/* Some relay was reached. */
void host_note_success(struct host *host);
void host_restore(struct host *host);
void host_drop_items(struct host *host);
struct gs_engine *host_make_engine(struct host *host);

/* The ops. */
void host_take_event(struct gs_peer *peer, struct gs_str line, enum gs_source source,
    void *arg);
void host_take_record(const struct gs_record *record, void *arg);
bool host_is_known(const uint8_t id[static 32], void *arg);

#endif
