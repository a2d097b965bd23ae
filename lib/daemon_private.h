/*
 * A daemon from within.  daemon: start, signals, end; daemon_peer: connections;
 * daemon_ingest: events on their way into the store; daemon_job: surveys and the state
 * file, beside the loop; daemon_http: what it shows; daemon_say: what it logs.
 */
#ifndef GS_DAEMON_PRIVATE_H
#define GS_DAEMON_PRIVATE_H

#include <pthread.h>

#include "daemon.h"
#include "httpd.h"
#include "ingest.h"
#include "link.h"
#include "post.h"
#include "wake.h"
#include "window.h"

/* What the writer thread tells the loop. */
struct gs_ledger {
	pthread_mutex_t lock;
	uint64_t stored[GS_SOURCES];
	uint64_t results[GS_KNOWN_EXPIRED + 1]; /* decisions */
	uint64_t duplicates, invalid;
	struct gs_map *gaps;   /* URL -> uint64_t *: stored by a daily history */
	struct gs_map *capped; /* URLs: their share of the day is used up */
	uint64_t commits, lost_decisions;
	bool has_room; /* again */
	bool is_troubled;
	char trouble[320];
	bool has_new_trouble;
};

enum gs_job {
	GS_JOB_NONE,
	GS_JOB_SURVEY, /* what is followed now */
	GS_JOB_EXPORT, /* and written to the state file */
};

/* One job at a time, in a thread of its own. */
struct gs_worker {
	pthread_t thread;
	bool has_thread;
	pthread_mutex_t lock;
	pthread_cond_t wanted;
	enum gs_job job; /* to be done, or being done */
	bool is_done, is_ending;
	int64_t trimmed_ms;
	/* in */
	struct gs_survey_options options;
	struct gs_state *statuses; /* relays of the state file, for an export */
	/* out */
	struct gs_state *state;
	uint64_t sequence;
	struct gs_err err;
	uint64_t num_cuts;
	char cut[320]; /* the first thing that a cap left out */
};

struct gs_daemon {
	struct gs_daemon_settings settings;
	struct gs_daemon_ops ops;
	struct gs_loop *loop;
	struct gs_store *store;
	struct gs_resolver *resolver;
	struct gs_httpd *httpd;
	struct gs_engine *engine;
	struct gs_ingest *ingest;
	struct gs_window *window;
	struct gs_wake *wake; /* others may write to the store, too */
	struct gs_watch *wake_watch;
	struct gs_timer *engine_timer, *window_timer, *export_timer;
	struct gs_post *ingest_post, *job_post;
	struct gs_ledger ledger;
	struct gs_worker worker;
	int decisions_fd; /* -1: none */

	int64_t engine_due_ms; /* as engine_timer is set; -1: it is not */
	bool is_paused;	       /* the ingest is full: sockets are not read */
	bool wants_survey;     /* once the worker is free */
	bool is_survey_late;   /* the last one failed */
	bool wants_export, is_changed;
	bool is_ready; /* a state was applied */
	bool is_ending;
	bool is_policy_new; /* at the start: the store was judged by another one */
	int64_t started_s, exported_ms;
	uint64_t num_batches, num_exports;
	int64_t last_batch_s;
	uint64_t num_cuts; /* that were told */
	enum gs_code code;
};

/* A peer's connection. */
struct gs_daemon_peer {
	struct gs_daemon *daemon;
	struct gs_peer *peer;
	struct gs_url url;
	struct gs_link *link;
	bool was_open;	/* once: for the log */
	int64_t lost_s; /* since then it fails; 0: it does not */
};

/* --- daemon --- */

void gs_daemon_fail(struct gs_daemon *daemon, const struct gs_err *err);
/* After everything that the engine was told: its timer. */
void gs_daemon_follow_engine(struct gs_daemon *daemon);

/* --- daemon_peer --- */

void gs_daemon_fill_ops(struct gs_engine_ops *ops);
void gs_daemon_free_peers(struct gs_daemon *daemon); /* before its engine */
void gs_daemon_pause(struct gs_daemon *daemon, bool is_paused);
/* What was not read says nothing about a relay. */
void gs_daemon_excuse_pause(struct gs_daemon *daemon);

/* --- daemon_ingest --- */

bool gs_daemon_start_ingest(struct gs_daemon *daemon, struct gs_err *err) GS_MUST;
/* Commits everything that was handed over. */
bool gs_daemon_finish_ingest(struct gs_daemon *daemon, struct gs_err *err) GS_MUST;
void gs_daemon_take_event(struct gs_peer *peer, struct gs_str line, enum gs_source source,
    void *arg);
void gs_daemon_take_record(const struct gs_record *record, void *arg);
/* What the writer thread has told since. */
void gs_daemon_take_news(struct gs_daemon *daemon);
void gs_ledger_init(struct gs_ledger *ledger);
void gs_ledger_fini(struct gs_ledger *ledger);
void gs_ledger_forget(struct gs_ledger *ledger, struct gs_str url);

/* --- daemon_job --- */

bool gs_daemon_start_worker(struct gs_daemon *daemon, struct gs_err *err) GS_MUST;
void gs_daemon_stop_worker(struct gs_daemon *daemon);
/* Looks at what was committed; surveys when a window is over. */
void gs_daemon_look(struct gs_daemon *daemon);
void gs_daemon_take_job(void *arg);	     /* of job_post */
void gs_daemon_export_if_changed(void *arg); /* of export_timer */
void gs_daemon_want_export(struct gs_daemon *daemon);
/* At the end: in this thread. */
bool gs_daemon_export_now(struct gs_daemon *daemon, struct gs_err *err) GS_MUST;

/* --- daemon_http --- */

void gs_daemon_show(struct gs_str path, struct gs_httpd_answer *answer, void *arg);

/* --- daemon_say --- */

void gs_daemon_say_change(const struct gs_daemon *daemon, struct gs_peer *peer,
    enum gs_peer_change change);
size_t gs_daemon_count_repos(const struct gs_state
	*state); /* that a relay is asked for */
void gs_daemon_say_start(struct gs_daemon *daemon);
void gs_daemon_dump(struct gs_daemon *daemon); /* SIGUSR1 */

#endif
