/*
 * The store: verified events in one LMDB environment, with replacement (NIP-01),
 * deletion (NIP-09), expiration (NIP-40) and vanish (NIP-62) applied as they come
 * in, so that what stands never depends on the order of arrival.  DESIGN 4.
 *
 * Any number of processes may use one store; within a process one handle, any
 * number of threads, one write transaction at a time.
 */
#ifndef GS_STORE_H
#define GS_STORE_H

#include "event.h"
#include "filter.h"
#include "policy.h"

struct gs_store;
struct gs_txn; /* a view of one moment, or a change; short, of one thread */

struct gs_store_options {
	bool create; /* the folder (0700) and an empty store, if missing */
	bool read_only;
	bool
	    scratch; /* thrown away: no dir, in $TMPDIR, unlinked at once, never synced */
	int64_t map_bytes; /* first size of the map, which grows; 0: large, sparse */
};

/* NULL: GS_ENOINPUT (no store there), GS_EDATA (not one of ours), GS_ECREATE, GS_EIO. */
struct gs_store *gs_store_open(const char *dir, const struct gs_store_options *options,
    struct gs_err *err) GS_MUST;
void gs_store_close(struct gs_store *store);

struct gs_txn *gs_store_read(struct gs_store *store, struct gs_err *err) GS_MUST;
/* Waits for other writers.  NULL only on I/O faults. */
struct gs_txn *gs_store_write(struct gs_store *store, struct gs_err *err) GS_MUST;
/* Ends a write; on false nothing of it is stored.  GS_EIO: full disk or I/O fault. */
bool gs_txn_commit(struct gs_txn *txn, struct gs_err *err) GS_MUST;
void gs_txn_end(struct gs_txn
	*txn); /* of a reader; of a writer: gives up all of it.  NULL is fine */
/*
 * A writing call answered false because the map is full (err->code GS_EINCOMPLETE): end
 * the txn, call this, and do the same changes again.
 */
bool gs_store_grow(struct gs_store *store, struct gs_err *err) GS_MUST;

/* One stored event; pointers are valid during the txn and until its next write. */
struct gs_row {
	uint64_t sequence;
	uint8_t id[32], pubkey[32];
	int64_t created_at, first_seen_s;
	int64_t expires_at; /* NIP-40; -1: never */
	uint16_t kind;
	struct gs_str from; /* URL of the relay that brought it, or empty */
	struct gs_str json; /* canonical line */
};

bool gs_store_find(struct gs_txn *txn, const uint8_t id[static 32], struct gs_row *row);
/* The version of an addressable or replaceable event that stands. */
bool gs_store_current(struct gs_txn *txn, const struct gs_address *address,
    struct gs_row *row);

/* Does a version stand at this address, or did one ever? */
bool gs_store_had_address(struct gs_txn *txn, const struct gs_address *address);
/* Does anything of this signer stand? */
bool gs_store_has_author(struct gs_txn *txn, const uint8_t pubkey[static 32]);

/* Is the id settled: stored, or judged and remembered? */
enum gs_known {
	GS_UNKNOWN,
	GS_KNOWN_STORED,
	GS_KNOWN_WAITING,
	GS_KNOWN_REJECTED,
	GS_KNOWN_DELETED,
	GS_KNOWN_SUPERSEDED,
	GS_KNOWN_EXPIRED
};
enum gs_known gs_store_known(struct gs_txn *txn, const uint8_t id[static 32]);

/* False stops the walk; the walk then returns true all the same. */
typedef bool gs_row_fn(const struct gs_row *row, void *arg);

/* All that stands of these kinds, oldest first, then by id; or the other way round. */
struct gs_walk {
	const uint16_t *kinds;
	size_t num_kinds;
	int64_t since, until; /* inclusive; -1: open */
	int64_t now_s;	      /* events that expired by then are passed over */
	bool newest_first;
};
/* Renews its read transactions as it goes, so that a slow fn pins nothing. */
bool gs_store_walk(struct gs_store *store, const struct gs_walk *walk, gs_row_fn *fn,
    void *arg, struct gs_err *err) GS_MUST;

/* The rows whose tag has this first value, oldest first; in one txn.  False: damaged. */
bool gs_store_tagged(struct gs_txn *txn, char letter, struct gs_str value, gs_row_fn *fn,
    void *arg);

/*
 * Every (repo ref, root event) pair that stands at now_s, from the tag index: by ref,
 * then oldest first.
 */
struct gs_stored_root {
	struct gs_str ref;
	const uint8_t *id; /* 32 bytes */
	int64_t created_at;
	uint64_t sequence;
};
typedef bool gs_root_fn(const struct gs_stored_root *root, void *arg);
bool gs_store_roots(struct gs_txn *txn, int64_t now_s, gs_root_fn *fn, void *arg,
    struct gs_err *err) GS_MUST;

/* --- what came since --- */

/* The sequence of the newest row; 0: none. */
uint64_t gs_store_last_sequence(struct gs_txn *txn);
/* The rows after that sequence, in the order in which they were stored.  In one txn. */
bool gs_store_since(struct gs_txn *txn, uint64_t sequence, gs_row_fn *fn, void *arg,
    struct gs_err *err) GS_MUST;
/* The rows that expire after after_s, by time.  In one txn. */
bool gs_store_expiring(struct gs_txn *txn, int64_t after_s, gs_row_fn *fn, void *arg,
    struct gs_err *err) GS_MUST;
/* How many rows of this kind stand; expired ones that are still there count. */
uint64_t gs_store_count_kind(struct gs_txn *txn, uint16_t kind);
/*
 * Has nothing been committed since this view?  A process may be woken by a commit a
 * moment before it can see it.
 */
bool gs_store_is_newest(const struct gs_txn *txn);

/* --- writing: all calls return false with err on I/O faults or a full map --- */

/* What happened to an event that came in, and to those that it moved. */
struct gs_store_ops {
	/* a row left: it was replaced, deleted or expired (never _STORED) */
	void (*removed)(const struct gs_row *row, enum gs_known why, void *arg);
	void *arg;
};

struct gs_put {
	struct gs_str from; /* relay, or empty */
	int64_t now_s;
	bool vanish; /* a kind 62 that concerns us: gs_policy_is_vanish */
	const struct gs_store_ops *ops; /* may be NULL */
};

/*
 * Takes in a verified event.  *known says what became of it: _STORED, or why it
 * does not stand; the effects of a deletion or vanish request are applied in any case.
 * The caller has asked gs_store_known first.
 */
bool gs_store_put(struct gs_txn *txn, const struct gs_event *event,
    const struct gs_put *put, enum gs_known *known, struct gs_err *err) GS_MUST;
/* Lets go of what expired by now_s. */
bool gs_store_expire(struct gs_txn *txn, int64_t now_s, const struct gs_store_ops *ops,
    struct gs_err *err) GS_MUST;

/* --- what does not stand is remembered by id; what waits is kept --- */

/* Remembers the event as settled; until orders what is forgotten first. */
bool gs_store_judge(struct gs_txn *txn, const struct gs_event *event,
    enum gs_known result, struct gs_str reason, int64_t until,
    struct gs_err *err) GS_MUST;
/* Makes a judged id unknown again; nothing if it stands. */
bool gs_store_forget(struct gs_txn *txn, const uint8_t id[static 32],
    struct gs_err *err) GS_MUST;
/* Forgets the oldest tenth when there are more. */
bool gs_store_trim_judged(struct gs_txn *txn, uint64_t max_rows,
    struct gs_err *err) GS_MUST;

/* A waiting event; pointers as in struct gs_row. */
struct gs_waiter {
	uint64_t run;	    /* of the intake that made it wait */
	int64_t until;	    /* kept whole so long */
	struct gs_str json; /* empty: only the id is left, the event must come again */
};

bool gs_store_waiter_put(struct gs_txn *txn, const struct gs_event *event,
    const struct gs_answer *answer, const struct gs_waiter *waiter,
    struct gs_err *err) GS_MUST;
bool gs_store_waiter_get(struct gs_txn *txn, const uint8_t id[static 32],
    struct gs_waiter *waiter);
bool gs_store_waiter_del(struct gs_txn *txn, const uint8_t id[static 32],
    struct gs_err *err) GS_MUST;
/* Adds the ids (32 bytes each) of what waits on a ground, or of all that waits (NULL). */
void gs_store_waiters(struct gs_txn *txn, const uint8_t *ground, struct gs_buf *ids);
uint64_t gs_store_num_waiting(struct gs_txn *txn); /* rows; 0: nothing waits */
/*
 * Within max_bytes nothing happens, unless sweep asks to look for those whose time is
 * over.  Else the oldest keep their id alone; of those, beyond max_bytes, the oldest
 * are forgotten.
 */
bool gs_store_trim_waiters(struct gs_txn *txn, int64_t max_bytes, int64_t now_s,
    bool sweep, struct gs_err *err) GS_MUST;

/* The policy whose judgements are stored; false and zeroes: none yet. */
bool gs_store_get_policy(struct gs_txn *txn, uint8_t fingerprint[static 32]);
bool gs_store_set_policy(struct gs_txn *txn, const uint8_t fingerprint[static 32],
    struct gs_err *err) GS_MUST;
/* Something was stored without policy: the next run with one judges what waits anew. */
bool gs_store_needs_judging(struct gs_txn *txn);
bool gs_store_set_needs_judging(struct gs_txn *txn, bool needs,
    struct gs_err *err) GS_MUST;
/* Forgets every id that policy rejected. */
bool gs_store_forget_rejected(struct gs_txn *txn, struct gs_err *err) GS_MUST;
/* A number that no earlier run had. */
bool gs_store_next_run(struct gs_txn *txn, uint64_t *run, struct gs_err *err) GS_MUST;
uint64_t gs_store_next_sequence(const struct gs_txn *txn);

/* --- what was newly stored today, by relay or repository --- */

struct gs_usage {
	uint64_t events, bytes;
};
/* First in a txn that asks or counts: another day (of UTC, since 1970) begins at 0. */
bool gs_store_begin_day(struct gs_txn *txn, uint64_t day, struct gs_err *err) GS_MUST;
struct gs_usage gs_store_usage(struct gs_txn *txn, struct gs_str name);
/* One event more. */
bool gs_store_use(struct gs_txn *txn, struct gs_str name, uint64_t bytes,
    struct gs_err *err) GS_MUST;
/* Pages in use, those of this txn too; cheap. */
uint64_t gs_store_used_bytes(struct gs_txn *txn);

/* --- numbers --- */

struct gs_store_stat {
	struct gs_kind_stat {
		uint16_t kind;
		uint64_t events, bytes;
	} * kinds; /* by kind */
	size_t num_kinds;
	uint64_t events, bytes;			    /* bytes: of the canonical lines */
	uint64_t file_bytes, map_bytes, used_bytes; /* used: pages in use */
	int64_t oldest, newest;			    /* created_at; -1: empty */
	uint64_t waiting, waiting_bytes;
	uint64_t judged[GS_KNOWN_EXPIRED + 1]; /* by result */
	struct gs_map *reasons; /* "waiting:unknown-repo" and so on -> uint64_t * */
};
bool gs_store_stat(struct gs_store *store, struct gs_store_stat *stat,
    struct gs_err *err) GS_MUST;
void gs_store_stat_fini(struct gs_store_stat *stat);

/* Proves every row and its indexes both ways.  fn gets each of *faults faults. */
typedef void gs_fault_fn(const char *text, void *arg);
bool gs_store_check(struct gs_store *store, gs_fault_fn *fn, void *arg, uint64_t *faults,
    struct gs_err *err) GS_MUST;

#endif
