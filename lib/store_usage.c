/*
 * What was newly stored today by each relay and for each repository: rows of `meta`, so
 * that they are committed with the events and no restart sets them back.  And how much
 * of the disk is in use.
 */
#include <sodium.h>

#include "store_private.h"

#define PREFIX "used:" /* then the SHA-256 of the name */
#define PREFIX_BYTES (sizeof(PREFIX) - 1)
#define USAGE_KEY_BYTES (PREFIX_BYTES + crypto_hash_sha256_BYTES)
#define USAGE_BYTES (8 + 8)

static void
make_key(uint8_t key[static USAGE_KEY_BYTES], struct gs_str name)
{
	memcpy(key, PREFIX, PREFIX_BYTES);
	(void)crypto_hash_sha256(key + PREFIX_BYTES, (const uint8_t *)name.ptr, name.len);
}

struct gs_usage
gs_store_usage(struct gs_txn *txn, struct gs_str name)
{
	uint8_t key[USAGE_KEY_BYTES];
	MDB_val value;
	const uint8_t *at;

	make_key(key, name);
	if (!store_get(txn, DB_META, VAL(key, sizeof(key)), &value) ||
	    value.mv_size != USAGE_BYTES)
		return (struct gs_usage){ 0, 0 };
	at = value.mv_data;
	return (struct gs_usage){ take_u64(at), take_u64(at + 8) };
}

bool
gs_store_use(struct gs_txn *txn, struct gs_str name, uint64_t bytes, struct gs_err *err)
{
	struct gs_usage usage = gs_store_usage(txn, name);
	uint8_t key[USAGE_KEY_BYTES], value[USAGE_BYTES];

	make_key(key, name);
	(void)put_u64(put_u64(value, usage.events + 1), usage.bytes + bytes);
	return store_set(txn, DB_META, VAL(key, sizeof(key)), VAL(value, sizeof(value)),
	    err);
}

static bool
forget_usage(struct gs_txn *txn, struct gs_err *err)
{
	MDB_cursor *cursor = store_open(txn, DB_META);
	MDB_cursor_op op = MDB_SET_RANGE;
	MDB_val key = VAL(PREFIX, PREFIX_BYTES);
	MDB_val value;
	int rc = 0;

	if (cursor == NULL)
		return store_was_read(txn, err);
	while (rc == 0 && store_seek(txn, cursor, &key, &value, op) &&
	    key.mv_size == USAGE_KEY_BYTES &&
	    memcmp(key.mv_data, PREFIX, PREFIX_BYTES) == 0) {
		rc = mdb_cursor_del(cursor, 0);
		op = MDB_NEXT;
	}
	mdb_cursor_close(cursor);
	return rc == 0 ? store_was_read(txn, err) : store_fail(txn->store, rc, err);
}

bool
gs_store_begin_day(struct gs_txn *txn, uint64_t day, struct gs_err *err)
{
	if (store_get_number(txn, "used_day") == day)
		return true;
	return store_set_number(txn, "used_day", day, err) && forget_usage(txn, err);
}

uint64_t
gs_store_used_bytes(struct gs_txn *txn)
{
	uint64_t bytes = 0;
	MDB_stat pages;
	int db;

	for (db = 0; db < NUM_DBS; db++)
		if (mdb_stat(txn->txn, txn->store->dbs[db], &pages) == 0)
			bytes += (uint64_t)pages.ms_psize *
			    (pages.ms_branch_pages + pages.ms_leaf_pages +
				pages.ms_overflow_pages);
	return bytes;
}
