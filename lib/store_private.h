/* What the files of the store share: handles, keys, rows.  For store*.c alone. */
#ifndef GS_STORE_PRIVATE_H
#define GS_STORE_PRIVATE_H

#include <limits.h>
#include <lmdb.h>
#include <pthread.h>
#include <string.h>

#include "store.h"

enum db {
	DB_META,
	DB_EVENT,
	DB_ID,
	DB_KIND,
	DB_TAG,
	DB_ADDR,
	DB_AUTHOR,
	DB_EXPIRY,
	DB_GONE,
	DB_JUDGED,
	DB_WAITING,
	DB_RELAY, /* this one and those behind it are missing in older stores */
	DB_PROGRESS,
	NUM_DBS
};

#define NO_DB UINT_MAX /* not there, and we only read: no rows */

struct gs_store {
	MDB_env *env;
	MDB_dbi dbs[NUM_DBS];
	char *name; /* the folder, for messages */
	bool read_only;
	pthread_rwlock_t
	    map; /* held for reading by every txn, for writing while the map moves */
};

struct gs_txn {
	struct gs_store *store;
	MDB_txn *txn;
	bool writes;
	int fault; /* a read that LMDB could not do: nothing is proven, no commit */
	uint64_t next_sequence;	 /* a writer's; saved by the commit */
	int64_t waiting_bytes;	 /* likewise: of events that wait */
	int64_t ground_bytes;	 /* likewise: of what they wait for */
	struct gs_event scratch; /* of the row that is being removed */
	struct gs_buf removed;	 /* its line */
};

/* Keys are big-endian, so that the default comparator sorts them. */
#define SEQUENCE_BYTES 8
#define KIND_KEY_BYTES (2 + 8 + 32)
#define ADDR_KEY_BYTES (2 + 32 + 32)
#define AUTHOR_KEY_BYTES (32 + SEQUENCE_BYTES)
#define EXPIRY_KEY_BYTES (8 + 32)
#define TAG_VALUE_BYTES 200 /* a longer one is hashed */
#define TAG_HASHED 0xff	    /* stands before a hash; no UTF-8 begins so */
#define TAG_TAIL_BYTES (8 + 32)
#define TAG_KEY_BYTES (1 + TAG_VALUE_BYTES + TAG_TAIL_BYTES)
#define SETTLED_BYTES (SEQUENCE_BYTES + 8 + 2) /* value of `id` for what does not stand */

static inline uint8_t *
put_u16(uint8_t *at, uint16_t value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
	return at + 2;
}

static inline uint8_t *
put_u64(uint8_t *at, uint64_t value)
{
	int i;

	for (i = 0; i < 8; i++)
		at[i] = (uint8_t)(value >> (56 - 8 * i));
	return at + 8;
}

static inline uint8_t *
put_bytes(uint8_t *at, const void *bytes, size_t len)
{
	memcpy(at, bytes, len);
	return at + len;
}

static inline uint16_t
take_u16(const uint8_t *at)
{
	return (uint16_t)(at[0] << 8 | at[1]);
}

static inline uint64_t
take_u64(const uint8_t *at)
{
	uint64_t value = 0;
	int i;

	for (i = 0; i < 8; i++)
		value = value << 8 | at[i];
	return value;
}

#define VAL(bytes, len) ((MDB_val){ (len), (void *)(uintptr_t)(bytes) })

/* --- store.c --- */

/* Says what an LMDB result means; returns false.  A full map is GS_EINCOMPLETE. */
bool store_fail(const struct gs_store *store, int rc, struct gs_err *err);
/* One row; false: absent, or txn->fault. */
bool store_get(struct gs_txn *txn, enum db db, MDB_val key, MDB_val *value);
bool store_set(struct gs_txn *txn, enum db db, MDB_val key, MDB_val value,
    struct gs_err *err) GS_MUST;
bool store_del(struct gs_txn *txn, enum db db, MDB_val key, struct gs_err *err) GS_MUST;
/* A cursor, to be closed; NULL: txn->fault, or the table is missing. */
MDB_cursor *store_open(struct gs_txn *txn, enum db db);
/* Moves a cursor; false: no such row, or txn->fault. */
bool store_seek(struct gs_txn *txn, MDB_cursor *cursor, MDB_val *key, MDB_val *value,
    MDB_cursor_op op);
/* Were all reads of the txn done? */
bool store_was_read(const struct gs_txn *txn, struct gs_err *err) GS_MUST;
uint64_t store_count(struct gs_txn *txn, enum db db);
/* Calls fn with every row of a table; fn changes nothing. */
typedef void store_each_fn(void *arg, MDB_val key, MDB_val value);
bool store_each(struct gs_txn *txn, enum db db, store_each_fn *fn, void *arg,
    struct gs_err *err) GS_MUST;

uint64_t store_get_number(struct gs_txn *txn, const char *name); /* of meta; 0: none */
bool store_set_number(struct gs_txn *txn, const char *name, uint64_t number,
    struct gs_err *err) GS_MUST;

/* --- store_scratch.c --- */

char *scratch_make(struct gs_err *err); /* the caller's; NULL: GS_ECREATE */
/* Nobody finds it, and a crash leaves nothing.  Once it is open. */
void scratch_unlink(const char *dir);

/* --- store_row.c: one event and its indexes --- */

bool row_decode(struct gs_row *row, uint64_t sequence, MDB_val value);
bool row_get(struct gs_txn *txn, uint64_t sequence, struct gs_row *row);
/* Stores the event; its address must be free. */
bool row_insert(struct gs_txn *txn, const struct gs_event *event,
    const struct gs_put *put, struct gs_err *err) GS_MUST;
/* Takes a row and all its index rows out, tells ops, remembers why. */
bool row_remove(struct gs_txn *txn, const struct gs_row *row, enum gs_known why,
    const struct gs_put *put, struct gs_err *err) GS_MUST;

void row_addr_key(uint8_t key[static ADDR_KEY_BYTES], unsigned kind,
    const uint8_t pubkey[static 32], struct gs_str d);
void row_kind_key(uint8_t key[static KIND_KEY_BYTES], unsigned kind, int64_t created_at,
    const uint8_t id[static 32]);
/* Letter and value, the part of a tag key before its tail; returns its length. */
size_t row_tag_prefix(uint8_t key[static TAG_KEY_BYTES], char letter,
    struct gs_str value);

/* Calls fn with every tag key of the event (not sorted; may repeat). */
typedef bool row_tag_fn(MDB_val key, void *arg);
bool row_each_tag(const struct gs_event *event, row_tag_fn *fn, void *arg);
bool row_has_address(unsigned kind); /* replaceable or addressable */
/* The d that counts for the address: "" for plain replaceable kinds. */
struct gs_str row_d(const struct gs_event *event);

/* --- store_judged.c: ids that do not stand, and what waits --- */

struct judged {
	enum gs_known result;
	int64_t until;
	struct gs_str reason;
};

bool judged_put(struct gs_txn *txn, unsigned kind, int64_t created_at,
    const uint8_t id[static 32], const struct judged *judged, struct gs_err *err) GS_MUST;
bool judged_get(struct gs_txn *txn, const uint8_t id[static 32], struct judged *judged);
bool judged_decode(struct judged *judged, MDB_val value);

/* --- store_progress.c --- */

/* Is the row sound, and canonical? */
bool progress_is_relay(MDB_val key, MDB_val value);
bool progress_is_pair(MDB_val key, MDB_val value, uint64_t next_sequence);

#endif
