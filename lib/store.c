/*
 * The store's environment: opening, transactions, a map that grows, and single
 * rows.  What the rows mean is in store_row, store_put, store_walk and so on.
 */
#include "store.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "mem.h"
#include "store_private.h"

#define SCHEMA_VERSION 1
#define MAX_READERS 512
#define LARGE_MAP_BYTES ((size_t)1 << 40) /* sparse: costs addresses, not disk */
#define SMALL_MAP_BYTES ((size_t)1 << 26) /* where a limit on addresses forbids more */

static const char *const db_names[NUM_DBS] = { "meta", "event", "id", "kind", "tag",
	"addr", "author", "expiry", "gone", "judged", "waiting", "relay", "progress" };

static bool
is_disk_full(const struct gs_store *store)
{
	struct statvfs fs;

	return statvfs(store->name, &fs) == 0 && fs.f_bavail < 16;
}

bool
store_fail(const struct gs_store *store, int rc, struct gs_err *err)
{
	switch (rc) {
	case MDB_MAP_FULL:
		return gs_fail(err, GS_EINCOMPLETE, "%s: the map is full", store->name);
	case MDB_INVALID:
	case MDB_CORRUPTED:
	case MDB_PAGE_NOTFOUND:
		return gs_fail(err, GS_EDATA, "%s: not an LMDB store, or damaged: %s",
		    store->name, mdb_strerror(rc));
	case MDB_PANIC: /* a meta page was not written: no txn works any more */
		return gs_fail(err, GS_EUNAVAILABLE,
		    "%s: can't be written, and must be opened anew", store->name);
	case MDB_VERSION_MISMATCH:
		return gs_fail(err, GS_EDATA,
		    "%s: made or held open by another LMDB version", store->name);
	case EIO:
	case ENOSPC:
		if (is_disk_full(store))
			return gs_fail(err, GS_EIO,
			    "%s: the disk is full; what was reported stored is safe",
			    store->name);
		return gs_fail(err, GS_EIO, "%s: can't be written: %s", store->name,
		    strerror(rc));
	default:
		return gs_fail(err, GS_EIO, "%s: %s", store->name, mdb_strerror(rc));
	}
}

/* --- rows --- */

/* "Not there" and "can't be read" are two things. */
static bool
note_read(struct gs_txn *txn, int rc)
{
	if (rc != 0 && rc != MDB_NOTFOUND && txn->fault == 0)
		txn->fault = rc;
	return rc == 0;
}

MDB_cursor *
store_open(struct gs_txn *txn, enum db db)
{
	MDB_cursor *cursor = NULL;

	if (txn->store->dbs[db] == NO_DB)
		return NULL;
	(void)note_read(txn, mdb_cursor_open(txn->txn, txn->store->dbs[db], &cursor));
	return cursor;
}

bool
store_seek(struct gs_txn *txn, MDB_cursor *cursor, MDB_val *key, MDB_val *value,
    MDB_cursor_op op)
{
	return note_read(txn, mdb_cursor_get(cursor, key, value, op));
}

bool
store_was_read(const struct gs_txn *txn, struct gs_err *err)
{
	return txn->fault == 0 || store_fail(txn->store, txn->fault, err);
}

bool
store_get(struct gs_txn *txn, enum db db, MDB_val key, MDB_val *value)
{
	return txn->store->dbs[db] != NO_DB &&
	    note_read(txn, mdb_get(txn->txn, txn->store->dbs[db], &key, value));
}

bool
store_set(struct gs_txn *txn, enum db db, MDB_val key, MDB_val value, struct gs_err *err)
{
	unsigned flags = db == DB_EVENT ? MDB_APPEND : 0;
	int rc = mdb_put(txn->txn, txn->store->dbs[db], &key, &value, flags);

	return rc == 0 || store_fail(txn->store, rc, err);
}

bool
store_del(struct gs_txn *txn, enum db db, MDB_val key, struct gs_err *err)
{
	int rc = mdb_del(txn->txn, txn->store->dbs[db], &key, NULL);

	return rc == 0 || rc == MDB_NOTFOUND || store_fail(txn->store, rc, err);
}

uint64_t
store_count(struct gs_txn *txn, enum db db)
{
	MDB_stat stat;

	return mdb_stat(txn->txn, txn->store->dbs[db], &stat) == 0 ? stat.ms_entries : 0;
}

bool
store_each(struct gs_txn *txn, enum db db, store_each_fn *fn, void *arg,
    struct gs_err *err)
{
	MDB_cursor *cursor = store_open(txn, db);
	MDB_cursor_op op = MDB_FIRST;
	MDB_val key, value;

	if (cursor == NULL)
		return store_was_read(txn, err);
	while (store_seek(txn, cursor, &key, &value, op)) {
		fn(arg, key, value);
		op = MDB_NEXT;
	}
	mdb_cursor_close(cursor);
	return store_was_read(txn, err);
}

/* --- transactions --- */

/*
 * Another process has made the map larger: take its size over.  If a txn of ours is
 * open, another thread has done so already; to wait for it might be to wait for ever.
 */
static int
follow_map(struct gs_store *store)
{
	int rc;

	if (pthread_rwlock_trywrlock(&store->map) != 0)
		return sched_yield();
	rc = mdb_env_set_mapsize(store->env, 0);
	(void)pthread_rwlock_unlock(&store->map);
	return rc;
}

static struct gs_txn *
begin(struct gs_store *store, bool writes, struct gs_err *err)
{
	MDB_txn *mdb_txn = NULL;
	struct gs_txn *txn;
	int rc;

	for (;;) {
		(void)pthread_rwlock_rdlock(&store->map);
		rc = mdb_txn_begin(store->env, NULL, writes ? 0 : MDB_RDONLY, &mdb_txn);
		if (rc == 0)
			break;
		(void)pthread_rwlock_unlock(&store->map);
		if (rc == MDB_MAP_RESIZED)
			rc = follow_map(store);
		else if (rc == MDB_READERS_FULL)
			rc = mdb_reader_check(store->env, NULL) == 0 ? rc : 0;
		if (rc != 0) {
			(void)store_fail(store, rc, err);
			return NULL;
		}
	}
	txn = gs_mem_new(sizeof(*txn));
	txn->store = store;
	txn->txn = mdb_txn;
	txn->writes = writes;
	return txn;
}

uint64_t
store_get_number(struct gs_txn *txn, const char *name)
{
	MDB_val value;

	if (!store_get(txn, DB_META, VAL(name, strlen(name)), &value) ||
	    value.mv_size != 8)
		return 0;
	return take_u64(value.mv_data);
}

bool
store_set_number(struct gs_txn *txn, const char *name, uint64_t number,
    struct gs_err *err)
{
	uint8_t bytes[8];

	(void)put_u64(bytes, number);
	return store_set(txn, DB_META, VAL(name, strlen(name)), VAL(bytes, sizeof(bytes)),
	    err);
}

struct gs_txn *
gs_store_read(struct gs_store *store, struct gs_err *err)
{
	return begin(store, false, err);
}

static void
load_numbers(struct gs_txn *txn)
{
	txn->next_sequence = store_get_number(txn, "next_sequence");
	txn->waiting_bytes = (int64_t)store_get_number(txn, "waiting_bytes");
	txn->ground_bytes = (int64_t)store_get_number(txn, "ground_bytes");
}

static bool
save_numbers(struct gs_txn *txn, struct gs_err *err)
{
	return store_set_number(txn, "next_sequence", txn->next_sequence, err) &&
	    store_set_number(txn, "waiting_bytes", (uint64_t)txn->waiting_bytes, err) &&
	    store_set_number(txn, "ground_bytes", (uint64_t)txn->ground_bytes, err);
}

struct gs_txn *
gs_store_write(struct gs_store *store, struct gs_err *err)
{
	struct gs_txn *txn = begin(store, true, err);

	if (txn == NULL)
		return NULL;
	load_numbers(txn);
	return txn;
}

/* Frees what a txn holds; its LMDB part has ended. */
static void
release(struct gs_txn *txn)
{
	(void)pthread_rwlock_unlock(&txn->store->map);
	gs_event_fini(&txn->scratch);
	gs_buf_fini(&txn->removed);
	free(txn);
}

bool
gs_txn_commit(struct gs_txn *txn, struct gs_err *err)
{
	struct gs_store *store = txn->store;
	int rc;

	if (!store_was_read(txn, err) || !save_numbers(txn, err)) {
		gs_txn_end(txn);
		return false;
	}
	rc = mdb_txn_commit(txn->txn);
	release(txn);
	return rc == 0 || store_fail(store, rc, err);
}

void
gs_txn_end(struct gs_txn *txn)
{
	if (txn == NULL)
		return;
	mdb_txn_abort(txn->txn);
	release(txn);
}

bool
gs_store_grow(struct gs_store *store, struct gs_err *err)
{
	MDB_envinfo info;
	int rc;

	(void)pthread_rwlock_wrlock(&store->map);
	rc = mdb_env_info(store->env, &info);
	if (rc == 0)
		rc = mdb_env_set_mapsize(store->env, info.me_mapsize * 2);
	(void)pthread_rwlock_unlock(&store->map);
	return rc == 0 || store_fail(store, rc, err);
}

/* --- opening --- */

static bool
make_folder(const char *dir, struct gs_err *err)
{
	if (mkdir(dir, 0700) == 0 || errno == EEXIST)
		return true;
	return gs_fail(err, GS_ECREATE, "%s: can't be made: %s", dir, strerror(errno));
}

static bool
has_store(const char *dir, struct gs_err *err)
{
	struct gs_buf path = GS_BUF_INIT;
	struct stat st;
	bool found;

	gs_buf_printf(&path, "%s/data.mdb", dir);
	found = stat(path.data, &st) == 0 && st.st_size > 0;
	gs_buf_fini(&path);
	if (found)
		return true;
	return gs_fail(err, GS_ENOINPUT,
	    "%s: no store is there (grasp-sync-store import makes one)", dir);
}

/* Opens the environment with the largest map that is to be had. */
static int
open_env(struct gs_store *store, const char *dir, const struct gs_store_options *options)
{
	unsigned flags = MDB_NOTLS | (options->read_only ? MDB_RDONLY : 0) |
	    (options->scratch ? MDB_NOSYNC : 0);
	size_t size =
	    options->map_bytes > 0 ? (size_t)options->map_bytes : LARGE_MAP_BYTES;
	int rc;

	for (;; size /= 2) {
		rc = mdb_env_create(&store->env);
		if (rc != 0)
			return rc;
		(void)mdb_env_set_maxdbs(store->env, NUM_DBS);
		(void)mdb_env_set_maxreaders(store->env, MAX_READERS);
		if (!options->read_only)
			(void)mdb_env_set_mapsize(store->env, size);
		rc = mdb_env_open(store->env, dir, flags, 0600);
		if (rc != ENOMEM || options->read_only || size / 2 < SMALL_MAP_BYTES)
			return rc;
		mdb_env_close(store->env);
		store->env = NULL;
	}
}

/* Is there anything in this environment that is not ours? */
static bool
is_empty(MDB_txn *txn)
{
	MDB_dbi main_db;
	MDB_stat stat;

	return mdb_dbi_open(txn, NULL, 0, &main_db) == 0 &&
	    mdb_stat(txn, main_db, &stat) == 0 && stat.ms_entries == 0;
}

/* A writer makes what an older store lacks; a reader goes without. */
static int
open_db(struct gs_store *store, struct gs_txn *txn, enum db db, unsigned flags)
{
	int rc;

	if (db >= DB_RELAY && txn->writes)
		flags = MDB_CREATE;
	rc = mdb_dbi_open(txn->txn, db_names[db], flags, &store->dbs[db]);
	if (rc == MDB_NOTFOUND && db >= DB_RELAY) {
		store->dbs[db] = NO_DB;
		return 0;
	}
	return rc;
}

static bool
open_dbs(struct gs_store *store, bool create, struct gs_err *err)
{
	struct gs_txn *txn = begin(store, create, err);
	unsigned flags;
	uint64_t version;
	int rc = 0, i;

	if (txn == NULL)
		return false;
	flags = create && is_empty(txn->txn) ? MDB_CREATE : 0;
	for (i = 0; i < NUM_DBS && rc == 0; i++)
		rc = open_db(store, txn, (enum db)i, flags);
	if (rc != 0) {
		gs_txn_end(txn);
		if (rc == MDB_NOTFOUND)
			return gs_fail(err, GS_EDATA, "%s: not a store of grasp-sync",
			    store->name);
		return store_fail(store, rc, err);
	}
	if (flags != 0 &&
	    (!store_set_number(txn, "version", SCHEMA_VERSION, err) ||
		!store_set_number(txn, "next_sequence", 1, err))) {
		gs_txn_end(txn);
		return false;
	}
	version = store_get_number(txn, "version");
	load_numbers(txn);
	if (version != SCHEMA_VERSION) {
		gs_txn_end(txn);
		return gs_fail(err, GS_EDATA, "%s: store version %llu is not %d",
		    store->name, (unsigned long long)version, SCHEMA_VERSION);
	}
	/* handles live on only if their txn is committed */
	if (txn->writes)
		return gs_txn_commit(txn, err);
	rc = mdb_txn_commit(txn->txn);
	release(txn);
	return rc == 0 || store_fail(store, rc, err);
}

static bool
open_at(struct gs_store *store, const char *dir, const struct gs_store_options *options,
    struct gs_err *err)
{
	int dead, rc;

	rc = open_env(store, dir, options);
	if (options->scratch)
		scratch_unlink(dir);
	if (rc == EACCES || rc == EROFS)
		return gs_fail(err, options->read_only ? GS_ENOINPUT : GS_ECREATE,
		    "%s: %s (LMDB needs to write lock.mdb, also to read)", dir,
		    strerror(rc));
	if (rc == ENOENT || rc == ENOTDIR)
		return gs_fail(err, GS_ENOINPUT, "%s: %s", dir, strerror(rc));
	if (rc != 0)
		return store_fail(store, rc, err);
	(void)mdb_reader_check(store->env, &dead);
	return open_dbs(store, !options->read_only, err);
}

static void
init_locks(struct gs_store *store)
{
	pthread_rwlockattr_t attr;

	(void)pthread_rwlockattr_init(&attr);
	(void)pthread_rwlockattr_setkind_np(&attr,
	    PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	(void)pthread_rwlock_init(&store->map, &attr);
	(void)pthread_rwlockattr_destroy(&attr);
}

struct gs_store *
gs_store_open(const char *dir, const struct gs_store_options *options, struct gs_err *err)
{
	struct gs_store *store;
	char *name = options->scratch ? scratch_make(err) : gs_mem_str(dir);

	if (name == NULL)
		return NULL;
	if (!options->scratch &&
	    ((options->create && !make_folder(name, err)) ||
		(!options->create && !has_store(name, err)))) {
		free(name);
		return NULL;
	}
	store = gs_mem_new(sizeof(*store));
	store->name = name;
	store->read_only = options->read_only;
	init_locks(store);
	if (open_at(store, name, options, err))
		return store;
	gs_store_close(store);
	return NULL;
}

void
gs_store_close(struct gs_store *store)
{
	if (store == NULL)
		return;
	if (store->env != NULL)
		mdb_env_close(store->env);
	(void)pthread_rwlock_destroy(&store->map);
	free(store->name);
	free(store);
}
