/* What changed in the store since somebody looked: new rows, and those that expire. */
#include "store_private.h"

uint64_t
gs_store_last_sequence(struct gs_txn *txn)
{
	MDB_cursor *cursor = store_open(txn, DB_EVENT);
	MDB_val key, value;
	uint64_t last = 0;

	if (cursor == NULL)
		return 0;
	if (store_seek(txn, cursor, &key, &value, MDB_LAST) &&
	    key.mv_size == SEQUENCE_BYTES)
		last = take_u64(key.mv_data);
	mdb_cursor_close(cursor);
	return last;
}

bool
gs_store_since(struct gs_txn *txn, uint64_t sequence, gs_row_fn *fn, void *arg,
    struct gs_err *err)
{
	uint8_t start[SEQUENCE_BYTES];
	MDB_val key = VAL(start, sizeof(start));
	MDB_cursor_op op = MDB_SET_RANGE;
	MDB_cursor *cursor = store_open(txn, DB_EVENT);
	MDB_val value;
	struct gs_row row;

	if (cursor == NULL)
		return store_was_read(txn, err);
	(void)put_u64(start, sequence + 1);
	while (store_seek(txn, cursor, &key, &value, op) &&
	    key.mv_size == SEQUENCE_BYTES &&
	    row_decode(&row, take_u64(key.mv_data), value) && fn(&row, arg))
		op = MDB_NEXT;
	mdb_cursor_close(cursor);
	return store_was_read(txn, err);
}

bool
gs_store_expiring(struct gs_txn *txn, int64_t after_s, gs_row_fn *fn, void *arg,
    struct gs_err *err)
{
	uint8_t start[EXPIRY_KEY_BYTES] = { 0 };
	MDB_val key = VAL(start, sizeof(start));
	MDB_cursor_op op = MDB_SET_RANGE;
	MDB_cursor *cursor = store_open(txn, DB_EXPIRY);
	MDB_val value;
	struct gs_row row;

	if (cursor == NULL)
		return store_was_read(txn, err);
	(void)put_u64(start, (uint64_t)after_s + 1);
	while (store_seek(txn, cursor, &key, &value, op) &&
	    value.mv_size == SEQUENCE_BYTES &&
	    row_get(txn, take_u64(value.mv_data), &row) && fn(&row, arg))
		op = MDB_NEXT;
	mdb_cursor_close(cursor);
	return store_was_read(txn, err);
}

uint64_t
gs_store_count_kind(struct gs_txn *txn, uint16_t kind)
{
	uint8_t start[2];
	MDB_val key = VAL(start, sizeof(start));
	MDB_cursor_op op = MDB_SET_RANGE;
	MDB_cursor *cursor = store_open(txn, DB_KIND);
	MDB_val value;
	uint64_t num = 0;

	if (cursor == NULL)
		return 0;
	(void)put_u16(start, kind);
	while (store_seek(txn, cursor, &key, &value, op) &&
	    key.mv_size == KIND_KEY_BYTES && take_u16(key.mv_data) == kind) {
		num++;
		op = MDB_NEXT;
	}
	mdb_cursor_close(cursor);
	return num;
}

bool
gs_store_is_newest(const struct gs_txn *txn)
{
	MDB_envinfo info;

	return mdb_env_info(txn->store->env, &info) != 0 ||
	    info.me_last_txnid == mdb_txn_id(txn->txn);
}
