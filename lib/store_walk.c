/*
 * Walks over what stands: all of it in the order of export, by tag value, and the
 * root events of repositories out of the tag index.
 */
#include <stdlib.h>

#include "mem.h"
#include "store_private.h"

#define CHUNK_ROWS 1000		  /* copied out before the read transaction ends */
#define CHUNK_BYTES (1024 * 1024) /* likewise */

/* --- merged walk: one lane a kind, the next row on top of a heap --- */

struct lane {
	MDB_cursor *cursor;
	uint16_t kind;
	uint8_t at[8 + 32]; /* created_at and id, as in the key */
	uint64_t sequence;
};

struct merge {
	struct gs_txn *txn;
	const struct gs_walk *walk;
	struct lane *heap;
	size_t num, cap;
	uint8_t last[8 + 32]; /* where the walk stands */
	bool has_last;
};

/* Does a come before b in this walk? */
static bool
comes_first(const struct merge *merge, const struct lane *a, const struct lane *b)
{
	int order = memcmp(a->at, b->at, sizeof(a->at));

	return merge->walk->newest_first ? order > 0 : order < 0;
}

static void
sift_down(struct merge *merge, size_t i)
{
	for (;;) {
		size_t child = 2 * i + 1;
		struct lane lane;

		if (child >= merge->num)
			return;
		if (child + 1 < merge->num &&
		    comes_first(merge, &merge->heap[child + 1], &merge->heap[child]))
			child++;
		if (!comes_first(merge, &merge->heap[child], &merge->heap[i]))
			return;
		lane = merge->heap[i];
		merge->heap[i] = merge->heap[child];
		merge->heap[child] = lane;
		i = child;
	}
}

/* Takes over what a lane's cursor points to; false when it has left the kind. */
static bool
load_lane(struct lane *lane, MDB_val key, MDB_val value)
{
	if (key.mv_size != KIND_KEY_BYTES || value.mv_size != SEQUENCE_BYTES ||
	    take_u16(key.mv_data) != lane->kind)
		return false;
	memcpy(lane->at, (const uint8_t *)key.mv_data + 2, sizeof(lane->at));
	lane->sequence = take_u64(value.mv_data);
	return true;
}

static bool
step_lane(const struct merge *merge, struct lane *lane)
{
	MDB_val key, value;

	return store_seek(merge->txn, lane->cursor, &key, &value,
		   merge->walk->newest_first ? MDB_PREV : MDB_NEXT) &&
	    load_lane(lane, key, value);
}

/* The key at which a lane begins: the bound of the walk, or right behind the last row. */
static void
make_start(const struct merge *merge, uint16_t kind, uint8_t key[static KIND_KEY_BYTES])
{
	const struct gs_walk *walk = merge->walk;
	uint8_t *at = put_u16(key, kind);

	if (merge->has_last) {
		(void)put_bytes(at, merge->last, sizeof(merge->last));
		return;
	}
	if (walk->newest_first) {
		at = put_u64(at, walk->until >= 0 ? (uint64_t)walk->until : UINT64_MAX);
		memset(at, 0xff, 32);
	} else {
		at = put_u64(at, walk->since >= 0 ? (uint64_t)walk->since : 0);
		memset(at, 0, 32);
	}
}

static bool
seek_lane(const struct merge *merge, struct lane *lane)
{
	uint8_t start[KIND_KEY_BYTES];
	MDB_val key = VAL(start, sizeof(start));
	MDB_val value;
	bool found, is_at;

	make_start(merge, lane->kind, start);
	found = store_seek(merge->txn, lane->cursor, &key, &value, MDB_SET_RANGE);
	is_at = found && key.mv_size == sizeof(start) &&
	    memcmp(key.mv_data, start, sizeof(start)) == 0;
	if (merge->walk->newest_first && (!is_at || merge->has_last))
		/* SET_RANGE is at or behind: the one before */
		found = store_seek(merge->txn, lane->cursor, &key, &value,
		    found ? MDB_PREV : MDB_LAST);
	else if (is_at && merge->has_last)
		return step_lane(merge, lane);
	return found && load_lane(lane, key, value);
}

static bool
add_lane(struct merge *merge, uint16_t kind, struct gs_err *err)
{
	struct lane lane = { .kind = kind, .cursor = store_open(merge->txn, DB_KIND) };

	if (lane.cursor == NULL)
		return store_was_read(merge->txn, err);
	if (!seek_lane(merge, &lane)) {
		mdb_cursor_close(lane.cursor);
		return true;
	}
	merge->heap =
	    gs_mem_more(merge->heap, merge->num, &merge->cap, sizeof(*merge->heap));
	merge->heap[merge->num++] = lane;
	return true;
}

/* A lane for each kind that is in the index. */
static bool
add_all_kinds(struct merge *merge, struct gs_err *err)
{
	MDB_cursor *cursor = store_open(merge->txn, DB_KIND);
	uint32_t kind = 0;
	bool ok = true;

	if (cursor == NULL)
		return store_was_read(merge->txn, err);
	while (ok && kind <= UINT16_MAX) {
		uint8_t start[2];
		MDB_val key = VAL(start, sizeof(start));
		MDB_val value;

		(void)put_u16(start, (uint16_t)kind);
		if (!store_seek(merge->txn, cursor, &key, &value, MDB_SET_RANGE) ||
		    key.mv_size < 2)
			break;
		kind = take_u16(key.mv_data);
		ok = add_lane(merge, (uint16_t)kind, err);
		kind++;
	}
	mdb_cursor_close(cursor);
	return ok;
}

static bool
add_kinds(struct merge *merge, struct gs_err *err)
{
	bool seen[UINT16_MAX + 1] = { false };
	size_t i;

	for (i = 0; i < merge->walk->num_kinds; i++) {
		uint16_t kind = merge->walk->kinds[i];

		if (!seen[kind] && !add_lane(merge, kind, err))
			return false;
		seen[kind] = true;
	}
	return true;
}

static bool
add_lanes(struct merge *merge, struct gs_err *err)
{
	size_t i;
	bool ok = merge->walk->kinds != NULL ? add_kinds(merge, err)
					     : add_all_kinds(merge, err);

	for (i = merge->num; i-- > 0;)
		sift_down(merge, i);
	return ok;
}

static void
drop_lanes(struct merge *merge)
{
	while (merge->num > 0)
		mdb_cursor_close(merge->heap[--merge->num].cursor);
}

static void
pop(struct merge *merge)
{
	struct lane *top = &merge->heap[0];

	memcpy(merge->last, top->at, sizeof(merge->last));
	merge->has_last = true;
	if (!step_lane(merge, top)) {
		mdb_cursor_close(top->cursor);
		*top = merge->heap[--merge->num];
	}
	sift_down(merge, 0);
}

/* Is the top row behind the walk's bound? */
static bool
is_past(const struct merge *merge)
{
	int64_t created_at = (int64_t)take_u64(merge->heap[0].at);
	const struct gs_walk *walk = merge->walk;

	if (walk->newest_first)
		return walk->since >= 0 && created_at < walk->since;
	return walk->until >= 0 && created_at > walk->until;
}

/* Rows copied out of the map, so that no reader is held while fn takes its time. */
struct chunk {
	struct gs_row *rows; /* from.ptr and json.ptr are offsets until finished */
	size_t num, cap;
	struct gs_buf text;
};

static void
copy_row(struct chunk *chunk, const struct gs_row *row)
{
	struct gs_row *copy;

	chunk->rows =
	    gs_mem_more(chunk->rows, chunk->num, &chunk->cap, sizeof(*chunk->rows));
	copy = &chunk->rows[chunk->num++];
	*copy = *row;
	gs_buf_add(&chunk->text, row->from.ptr, row->from.len + row->json.len);
}

/* Fills a chunk; false in *more when the walk has come to its end. */
static bool
fill_chunk(struct merge *merge, struct chunk *chunk, bool *more, struct gs_err *err)
{
	struct gs_row row;

	*more = true;
	while (chunk->num < CHUNK_ROWS && chunk->text.len < CHUNK_BYTES) {
		if (merge->num == 0 || is_past(merge)) {
			*more = false;
			return true;
		}
		if (!row_get(merge->txn, merge->heap[0].sequence, &row))
			return gs_fail(err, GS_EDATA,
			    "%s: an index names no row (see stat --check)",
			    merge->txn->store->name);
		pop(merge);
		if (row.expires_at < 0 || row.expires_at > merge->walk->now_s)
			copy_row(chunk, &row);
	}
	return true;
}

static bool
hand_over(struct chunk *chunk, gs_row_fn *fn, void *arg)
{
	const char *at = chunk->text.data;
	size_t i;

	for (i = 0; i < chunk->num; i++) {
		struct gs_row *row = &chunk->rows[i];

		row->from.ptr = at;
		row->json.ptr = at + row->from.len;
		at += row->from.len + row->json.len;
		if (!fn(row, arg))
			return false;
	}
	chunk->num = 0;
	gs_buf_clear(&chunk->text);
	return true;
}

bool
gs_store_walk(struct gs_store *store, const struct gs_walk *walk, gs_row_fn *fn,
    void *arg, struct gs_err *err)
{
	struct merge merge = { .walk = walk };
	struct chunk chunk = { 0 };
	bool more = true;
	bool ok = true;

	while (ok && more) {
		merge.txn = gs_store_read(store, err);
		ok = merge.txn != NULL && add_lanes(&merge, err) &&
		    fill_chunk(&merge, &chunk, &more, err) &&
		    store_was_read(merge.txn, err);
		drop_lanes(&merge);
		gs_txn_end(merge.txn);
		if (ok && !hand_over(&chunk, fn, arg))
			break;
	}
	free(merge.heap);
	free(chunk.rows);
	gs_buf_fini(&chunk.text);
	return ok;
}

/* --- by tag --- */

/* Is this a row of exactly that letter and value, and not of a longer one? */
static bool
is_tag_row(MDB_val key, const uint8_t *prefix, size_t len)
{
	return key.mv_size == len + TAG_TAIL_BYTES &&
	    memcmp(key.mv_data, prefix, len) == 0;
}

bool
gs_store_tagged(struct gs_txn *txn, char letter, struct gs_str value, gs_row_fn *fn,
    void *arg)
{
	uint8_t prefix[TAG_KEY_BYTES];
	size_t len = row_tag_prefix(prefix, letter, value);
	MDB_val key = VAL(prefix, len);
	MDB_val found;
	MDB_cursor_op op = MDB_SET_RANGE;
	MDB_cursor *cursor = store_open(txn, DB_TAG);
	bool go_on = true;

	if (cursor == NULL)
		return false;
	/* dates are below 2^53: a longer value without NUL stands behind these rows */
	while (go_on && store_seek(txn, cursor, &key, &found, op) && key.mv_size >= len &&
	    memcmp(key.mv_data, prefix, len) == 0) {
		struct gs_row row;

		if (key.mv_size > len && ((const uint8_t *)key.mv_data)[len] != 0)
			break;
		if (is_tag_row(key, prefix, len) &&
		    row_get(txn, take_u64(found.mv_data), &row))
			go_on = fn(&row, arg);
		op = MDB_NEXT;
	}
	mdb_cursor_close(cursor);
	return store_was_read(txn, NULL);
}

/* --- roots --- */

static bool
list_expired(struct gs_txn *txn, int64_t now_s, struct gs_map *expired,
    struct gs_err *err)
{
	MDB_cursor *cursor = store_open(txn, DB_EXPIRY);
	MDB_val key, value;
	MDB_cursor_op op = MDB_FIRST;

	if (cursor == NULL)
		return store_was_read(txn, err);
	while (store_seek(txn, cursor, &key, &value, op) &&
	    key.mv_size == EXPIRY_KEY_BYTES && (int64_t)take_u64(key.mv_data) <= now_s) {
		(void)gs_map_add(expired,
		    (struct gs_str){ (const char *)key.mv_data + 8, 32 });
		op = MDB_NEXT;
	}
	mdb_cursor_close(cursor);
	return store_was_read(txn, err);
}

/* Values over TAG_VALUE_BYTES are hashed in the key: their refs stand in the event. */
static bool
tell_long_refs(struct gs_txn *txn, uint64_t sequence, MDB_val key, gs_root_fn *fn,
    void *arg)
{
	struct gs_row row;
	uint8_t made[TAG_KEY_BYTES];
	size_t i;

	if (!row_get(txn, sequence, &row) ||
	    gs_event_parse(&txn->scratch, row.json.ptr, row.json.len, NULL) !=
		GS_EVENT_OK)
		return true;
	for (i = 0; i < txn->scratch.num_tags; i++) {
		struct gs_str value = gs_tag_value(&txn->scratch.tags[i]);
		size_t len;

		if (!gs_tag_is(&txn->scratch.tags[i], "a") || !gs_address_is_repo(value))
			continue;
		len = row_tag_prefix(made, 'a', value);
		if (is_tag_row(key, made, len))
			return fn(&(struct gs_stored_root){ value, row.id, row.created_at,
				      sequence },
			    arg);
	}
	return true;
}

static bool
tell_root(struct gs_txn *txn, MDB_val key, MDB_val value, gs_root_fn *fn, void *arg)
{
	const uint8_t *bytes = key.mv_data;
	const uint8_t *tail = bytes + key.mv_size - TAG_TAIL_BYTES;
	struct gs_str ref = { (const char *)bytes + 1, key.mv_size - 1 - TAG_TAIL_BYTES };

	const struct gs_stored_root root = { ref, tail + 8, (int64_t)take_u64(tail),
		take_u64(value.mv_data) };

	if (ref.len > 0 && bytes[1] == TAG_HASHED)
		return tell_long_refs(txn, root.sequence, key, fn, arg);
	return !gs_address_is_repo(ref) || fn(&root, arg);
}

bool
gs_store_roots(struct gs_txn *txn, int64_t now_s, gs_root_fn *fn, void *arg,
    struct gs_err *err)
{
	struct gs_map *expired = gs_map_new();
	MDB_val key = VAL("a", 1);
	MDB_cursor *cursor = store_open(txn, DB_TAG);
	MDB_cursor_op op = MDB_SET_RANGE;
	MDB_val value;
	bool ok = cursor != NULL && list_expired(txn, now_s, expired, err);

	while (ok && store_seek(txn, cursor, &key, &value, op) &&
	    *(const char *)key.mv_data == 'a') {
		const char *id = (const char *)key.mv_data + key.mv_size - 32;

		op = MDB_NEXT;
		if (key.mv_size <= TAG_TAIL_BYTES ||
		    value.mv_size != SEQUENCE_BYTES + 2 ||
		    !gs_kind_is_root(take_u16((const uint8_t *)value.mv_data +
			SEQUENCE_BYTES)) ||
		    gs_map_find(expired, (struct gs_str){ id, 32 }) != NULL)
			continue;
		if (!tell_root(txn, key, value, fn, arg))
			break;
	}
	if (cursor != NULL)
		mdb_cursor_close(cursor);
	gs_map_free(expired, NULL);
	return store_was_read(txn, err) && ok;
}
