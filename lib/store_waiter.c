/*
 * What waits: the event under its id, and a row for each thing that would free it.
 * Which events wait, and when they are judged again, is waiting's.
 */
#include <stdlib.h>

#include "mem.h"
#include "store_private.h"

#define HEADER_BYTES (8 + 8 + 4) /* until, run, number of grounds */
#define ROW_BYTES (32 + 32)	 /* key of a row: ground, id */
#define GROUND_BYTES \
	(ROW_BYTES + 32) /* what a ground costs: its row, and its place in the event's */

/* The event's own row stands under a ground of zeroes, which no hash is. */
static void
row_key(uint8_t key[static ROW_BYTES], const uint8_t *ground, const uint8_t id[static 32])
{
	static const uint8_t none[32] = { 0 };

	(void)put_bytes(put_bytes(key, ground ? ground : none, 32), id, 32);
}

struct waiter_row {
	struct gs_waiter waiter;
	uint32_t num_grounds;
	const uint8_t *grounds;
};

static bool
decode(struct waiter_row *row, MDB_val value)
{
	const uint8_t *at = value.mv_data;
	size_t used;

	if (value.mv_size < HEADER_BYTES)
		return false;
	row->waiter.until = (int64_t)take_u64(at);
	row->waiter.run = take_u64(at + 8);
	row->num_grounds = (uint32_t)take_u16(at + 16) << 16 | take_u16(at + 18);
	row->grounds = at + HEADER_BYTES;
	used = HEADER_BYTES + (size_t)row->num_grounds * 32;
	if (value.mv_size < used)
		return false;
	row->waiter.json =
	    (struct gs_str){ (const char *)at + used, value.mv_size - used };
	return true;
}

static bool
get_row(struct gs_txn *txn, const uint8_t id[static 32], struct waiter_row *row)
{
	uint8_t key[ROW_BYTES];
	MDB_val value;

	row_key(key, NULL, id);
	return store_get(txn, DB_WAITING, VAL(key, sizeof(key)), &value) &&
	    decode(row, value);
}

/* Writes the event's own row from its parts. */
static bool
set_row(struct gs_txn *txn, const uint8_t id[static 32], const struct waiter_row *row,
    struct gs_err *err)
{
	struct gs_buf value = GS_BUF_INIT;
	uint8_t header[HEADER_BYTES], key[ROW_BYTES];
	uint8_t *at =
	    put_u64(put_u64(header, (uint64_t)row->waiter.until), row->waiter.run);
	bool ok;

	at = put_u16(at, (uint16_t)(row->num_grounds >> 16));
	(void)put_u16(at, (uint16_t)row->num_grounds);
	gs_buf_add(&value, header, sizeof(header));
	gs_buf_add(&value, row->grounds, (size_t)row->num_grounds * 32);
	gs_buf_add(&value, row->waiter.json.ptr, row->waiter.json.len);
	row_key(key, NULL, id);
	ok = store_set(txn, DB_WAITING, VAL(key, sizeof(key)), VAL(value.data, value.len),
	    err);
	gs_buf_fini(&value);
	return ok;
}

bool
gs_store_waiter_put(struct gs_txn *txn, const struct gs_event *event,
    const struct gs_answer *answer, const struct gs_waiter *waiter, struct gs_err *err)
{
	struct waiter_row row = { *waiter, (uint32_t)answer->num_grounds,
		(const uint8_t *)answer->grounds };
	uint8_t key[ROW_BYTES];
	size_t i;

	for (i = 0; i < answer->num_grounds; i++) {
		row_key(key, answer->grounds[i], event->id);
		if (!store_set(txn, DB_WAITING, VAL(key, sizeof(key)), VAL("", 0), err))
			return false;
	}
	txn->waiting_bytes += (int64_t)waiter->json.len;
	txn->ground_bytes += (int64_t)(answer->num_grounds * GROUND_BYTES);
	return set_row(txn, event->id, &row, err) &&
	    gs_store_judge(txn, event, GS_KNOWN_WAITING, gs_str_of(answer->reason),
		waiter->until, err);
}

bool
gs_store_waiter_get(struct gs_txn *txn, const uint8_t id[static 32],
    struct gs_waiter *waiter)
{
	struct waiter_row row;

	if (!get_row(txn, id, &row))
		return false;
	*waiter = row.waiter;
	return true;
}

bool
gs_store_waiter_del(struct gs_txn *txn, const uint8_t id[static 32], struct gs_err *err)
{
	struct waiter_row row;
	uint8_t key[ROW_BYTES];
	uint8_t *grounds;
	bool ok = true;
	uint32_t i;

	if (!get_row(txn, id, &row))
		return true;
	txn->waiting_bytes -= (int64_t)row.waiter.json.len;
	txn->ground_bytes -= (int64_t)row.num_grounds * GROUND_BYTES;
	grounds = gs_mem_dup(row.grounds, (size_t)row.num_grounds * 32);
	for (i = 0; i < row.num_grounds && ok; i++) {
		row_key(key, grounds + (size_t)i * 32, id);
		ok = store_del(txn, DB_WAITING, VAL(key, sizeof(key)), err);
	}
	free(grounds);
	row_key(key, NULL, id);
	return ok && store_del(txn, DB_WAITING, VAL(key, sizeof(key)), err);
}

void
gs_store_waiters(struct gs_txn *txn, const uint8_t *ground, struct gs_buf *ids)
{
	static const uint8_t lowest[32] = { 0 };
	uint8_t first[ROW_BYTES];
	MDB_val key = VAL(first, sizeof(first));
	MDB_val value;
	MDB_cursor *cursor = store_open(txn, DB_WAITING);
	MDB_cursor_op op = MDB_SET_RANGE;

	row_key(first, ground, lowest);
	if (cursor == NULL)
		return;
	while (store_seek(txn, cursor, &key, &value, op) && key.mv_size == ROW_BYTES &&
	    memcmp(key.mv_data, first, 32) == 0) {
		gs_buf_add(ids, (const uint8_t *)key.mv_data + 32, 32);
		op = MDB_NEXT;
	}
	mdb_cursor_close(cursor);
}

uint64_t
gs_store_num_waiting(struct gs_txn *txn)
{
	return store_count(txn, DB_WAITING);
}

/* --- keeping within bounds --- */

struct age {
	int64_t until;
	uint8_t id[32];
	bool whole;
};

static int
compare_ages(const void *a, const void *b)
{
	const struct age *left = a;
	const struct age *right = b;

	if (left->until != right->until)
		return left->until < right->until ? -1 : 1;
	return memcmp(left->id, right->id, 32);
}

/* All that waits, oldest first; the caller's. */
static struct age *
list_ages(struct gs_txn *txn, size_t *num)
{
	struct gs_buf ids = GS_BUF_INIT;
	struct age *ages;
	size_t i;

	gs_store_waiters(txn, NULL, &ids);
	*num = ids.len / 32;
	ages = gs_mem_array(*num, sizeof(*ages));
	for (i = 0; i < *num; i++) {
		struct waiter_row row = { 0 };

		memcpy(ages[i].id, ids.data + i * 32, 32);
		(void)get_row(txn, ages[i].id, &row);
		ages[i].until = row.waiter.until;
		ages[i].whole = row.waiter.json.len != 0;
	}
	gs_buf_fini(&ids);
	qsort(ages, *num, sizeof(*ages), compare_ages);
	return ages;
}

static bool
drop_body(struct gs_txn *txn, const uint8_t id[static 32], struct gs_err *err)
{
	struct waiter_row row;
	uint8_t *grounds;
	bool ok;

	if (!get_row(txn, id, &row))
		return true;
	txn->waiting_bytes -= (int64_t)row.waiter.json.len;
	grounds = gs_mem_dup(row.grounds, (size_t)row.num_grounds * 32);
	row.grounds = grounds;
	row.waiter.json = (struct gs_str){ "", 0 };
	ok = set_row(txn, id, &row, err);
	free(grounds);
	return ok;
}

bool
gs_store_trim_waiters(struct gs_txn *txn, int64_t max_bytes, int64_t now_s, bool sweep,
    struct gs_err *err)
{
	int64_t low_bytes = max_bytes - max_bytes / 10;
	bool too_whole = txn->waiting_bytes > max_bytes;
	bool too_many = txn->ground_bytes > max_bytes;
	struct age *ages;
	size_t num, i;
	bool ok = true;

	if (!too_whole && !too_many && !sweep)
		return true;
	ages = list_ages(txn, &num);
	for (i = 0; i < num && ok; i++) {
		if (too_many && txn->ground_bytes > low_bytes)
			ok = gs_store_waiter_del(txn, ages[i].id, err) &&
			    gs_store_forget(txn, ages[i].id, err);
		else if (ages[i].whole &&
		    (ages[i].until < now_s ||
			(too_whole && txn->waiting_bytes > low_bytes)))
			ok = drop_body(txn, ages[i].id, err);
	}
	free(ages);
	return ok;
}

/* --- whose judgements they are --- */

bool
gs_store_get_policy(struct gs_txn *txn, uint8_t fingerprint[static 32])
{
	MDB_val value;

	memset(fingerprint, 0, 32);
	if (!store_get(txn, DB_META, VAL("policy", 6), &value) || value.mv_size != 32)
		return false;
	memcpy(fingerprint, value.mv_data, 32);
	return true;
}

bool
gs_store_set_policy(struct gs_txn *txn, const uint8_t fingerprint[static 32],
    struct gs_err *err)
{
	return store_set(txn, DB_META, VAL("policy", 6), VAL(fingerprint, 32), err);
}

bool
gs_store_needs_judging(struct gs_txn *txn)
{
	return store_get_number(txn, "needs_judging") != 0;
}

bool
gs_store_set_needs_judging(struct gs_txn *txn, bool needs, struct gs_err *err)
{
	return store_set_number(txn, "needs_judging", needs, err);
}

bool
gs_store_next_run(struct gs_txn *txn, uint64_t *run, struct gs_err *err)
{
	*run = store_get_number(txn, "run") + 1;
	return store_set_number(txn, "run", *run, err);
}

uint64_t
gs_store_next_sequence(const struct gs_txn *txn)
{
	return txn->next_sequence;
}
