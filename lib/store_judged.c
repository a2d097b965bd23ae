/*
 * Ids that are settled but do not stand: replaced, deleted, expired, rejected, or
 * waiting.  `id` points to them, so that one look tells whether an id is new.
 */
#include <stdlib.h>

#include "mem.h"
#include "store_private.h"

#define HEADER_BYTES (1 + 8)
#define REASON_BYTES 64
#define EVICT_PART 10 /* a tenth goes when the cap is reached */

bool
judged_decode(struct judged *judged, MDB_val value)
{
	const uint8_t *at = value.mv_data;

	if (value.mv_size < HEADER_BYTES || at[0] < GS_KNOWN_WAITING ||
	    at[0] > GS_KNOWN_EXPIRED)
		return false;
	judged->result = (enum gs_known)at[0];
	judged->until = (int64_t)take_u64(at + 1);
	judged->reason = (struct gs_str){ (const char *)at + HEADER_BYTES,
		value.mv_size - HEADER_BYTES };
	return true;
}

bool
judged_put(struct gs_txn *txn, unsigned kind, int64_t created_at,
    const uint8_t id[static 32], const struct judged *judged, struct gs_err *err)
{
	uint8_t key[KIND_KEY_BYTES];
	uint8_t value[HEADER_BYTES + REASON_BYTES];
	uint8_t settled[SETTLED_BYTES] = { 0 };
	size_t len =
	    judged->reason.len < REASON_BYTES ? judged->reason.len : REASON_BYTES;

	row_kind_key(key, kind, created_at, id);
	value[0] = (uint8_t)judged->result;
	(void)put_bytes(put_u64(value + 1, (uint64_t)judged->until),
	    len ? judged->reason.ptr : "", len);
	(void)put_bytes(settled + SEQUENCE_BYTES, key + 2, 8);
	(void)put_bytes(settled + SEQUENCE_BYTES + 8, key, 2);
	return store_set(txn, DB_JUDGED, VAL(key, sizeof(key)),
		   VAL(value, HEADER_BYTES + len), err) &&
	    store_set(txn, DB_ID, VAL(id, 32), VAL(settled, sizeof(settled)), err);
}

/* The judged key that `id` points to; false if the id stands or is unknown. */
static bool
find_key(struct gs_txn *txn, const uint8_t id[static 32],
    uint8_t key[static KIND_KEY_BYTES])
{
	MDB_val value;
	const uint8_t *at;

	if (!store_get(txn, DB_ID, VAL(id, 32), &value) || value.mv_size != SETTLED_BYTES)
		return false;
	at = (const uint8_t *)value.mv_data + SEQUENCE_BYTES;
	(void)put_bytes(put_bytes(put_bytes(key, at + 8, 2), at, 8), id, 32);
	return true;
}

bool
judged_get(struct gs_txn *txn, const uint8_t id[static 32], struct judged *judged)
{
	uint8_t key[KIND_KEY_BYTES];
	MDB_val value;

	return find_key(txn, id, key) &&
	    store_get(txn, DB_JUDGED, VAL(key, sizeof(key)), &value) &&
	    judged_decode(judged, value);
}

enum gs_known
gs_store_known(struct gs_txn *txn, const uint8_t id[static 32])
{
	struct judged judged;
	MDB_val value;

	if (!store_get(txn, DB_ID, VAL(id, 32), &value))
		return GS_UNKNOWN;
	if (value.mv_size == SEQUENCE_BYTES)
		return GS_KNOWN_STORED;
	return judged_get(txn, id, &judged) ? judged.result : GS_UNKNOWN;
}

bool
gs_store_judge(struct gs_txn *txn, const struct gs_event *event, enum gs_known result,
    struct gs_str reason, int64_t until, struct gs_err *err)
{
	struct judged judged = { result, until, reason };

	return judged_put(txn, event->kind, event->created_at, event->id, &judged, err);
}

bool
gs_store_forget(struct gs_txn *txn, const uint8_t id[static 32], struct gs_err *err)
{
	uint8_t key[KIND_KEY_BYTES];

	if (!find_key(txn, id, key))
		return true;
	return store_del(txn, DB_JUDGED, VAL(key, sizeof(key)), err) &&
	    store_del(txn, DB_ID, VAL(id, 32), err);
}

static int
compare_times(const void *a, const void *b)
{
	const int64_t *left = a;
	const int64_t *right = b;

	return (*left > *right) - (*left < *right);
}

/* The `until` up to which rows go, so that about a tenth of them does. */
static int64_t
evict_until(struct gs_txn *txn, MDB_cursor *cursor, uint64_t rows)
{
	int64_t *times = gs_mem_array((size_t)rows, sizeof(*times));
	MDB_val key, value;
	size_t n = 0;
	int64_t until;

	while (n < rows &&
	    store_seek(txn, cursor, &key, &value, n ? MDB_NEXT : MDB_FIRST)) {
		struct judged judged;

		times[n++] = judged_decode(&judged, value) ? judged.until : 0;
	}
	qsort(times, n, sizeof(*times), compare_times);
	until = n ? times[n / EVICT_PART] : 0;
	free(times);
	return until;
}

static bool
is_old(const struct judged *judged, const void *until)
{
	return judged->until <= *(const int64_t *)until;
}

static bool
is_rejected(const struct judged *judged, const void *unused)
{
	(void)unused;
	return judged->result == GS_KNOWN_REJECTED;
}

typedef bool pick_fn(const struct judged *judged, const void *arg);

/* Forgets every id that pick picks. */
static bool
forget_each(struct gs_txn *txn, MDB_cursor *cursor, pick_fn *pick, const void *arg,
    struct gs_err *err)
{
	MDB_val key, value;
	MDB_cursor_op op = MDB_FIRST;
	int rc;

	while (store_seek(txn, cursor, &key, &value, op)) {
		struct judged judged;
		uint8_t id[32];

		op = MDB_NEXT;
		if (key.mv_size != KIND_KEY_BYTES || !judged_decode(&judged, value) ||
		    !pick(&judged, arg))
			continue;
		memcpy(id, (const uint8_t *)key.mv_data + KIND_KEY_BYTES - 32, 32);
		rc = mdb_cursor_del(cursor, 0);
		if (rc != 0)
			return store_fail(txn->store, rc, err);
		if (!store_del(txn, DB_ID, VAL(id, 32), err))
			return false;
		if (judged.result == GS_KNOWN_WAITING &&
		    !gs_store_waiter_del(txn, id, err))
			return false;
	}
	return store_was_read(txn, err);
}

bool
gs_store_trim_judged(struct gs_txn *txn, uint64_t max_rows, struct gs_err *err)
{
	uint64_t rows = store_count(txn, DB_JUDGED);
	MDB_cursor *cursor;
	int64_t until;
	bool ok;

	if (rows <= max_rows)
		return true;
	cursor = store_open(txn, DB_JUDGED);
	if (cursor == NULL)
		return store_was_read(txn, err);
	until = evict_until(txn, cursor, rows);
	ok = forget_each(txn, cursor, is_old, &until, err);
	mdb_cursor_close(cursor);
	return ok;
}

bool
gs_store_forget_rejected(struct gs_txn *txn, struct gs_err *err)
{
	MDB_cursor *cursor = store_open(txn, DB_JUDGED);
	bool ok;

	if (cursor == NULL)
		return store_was_read(txn, err);
	ok = forget_each(txn, cursor, is_rejected, NULL, err);
	mdb_cursor_close(cursor);
	return ok;
}
