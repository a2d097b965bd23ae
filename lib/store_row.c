/* One event in the store: its row, and all index rows that point to it. */
#include <sodium.h>

#include "store_private.h"

#define HEADER_BYTES (32 + 32 + 8 + 2 + 8 + 8 + 1) /* up to the length of `from` */
#define FROM_BYTES 255

/* --- keys --- */

void
row_addr_key(uint8_t key[static ADDR_KEY_BYTES], unsigned kind,
    const uint8_t pubkey[static 32], struct gs_str d)
{
	uint8_t *at = put_u16(key, (uint16_t)kind);

	at = put_bytes(at, pubkey, 32);
	(void)crypto_hash_sha256(at, (const uint8_t *)(d.len ? d.ptr : ""), d.len);
}

void
row_kind_key(uint8_t key[static KIND_KEY_BYTES], unsigned kind, int64_t created_at,
    const uint8_t id[static 32])
{
	uint8_t *at = put_u16(key, (uint16_t)kind);

	at = put_u64(at, (uint64_t)created_at);
	(void)put_bytes(at, id, 32);
}

size_t
row_tag_prefix(uint8_t key[static TAG_KEY_BYTES], char letter, struct gs_str value)
{
	key[0] = (uint8_t)letter;
	if (value.len <= TAG_VALUE_BYTES) {
		(void)put_bytes(key + 1, value.len ? value.ptr : "", value.len);
		return 1 + value.len;
	}
	key[1] = TAG_HASHED;
	(void)crypto_hash_sha256(key + 2, (const uint8_t *)value.ptr, value.len);
	return 2 + crypto_hash_sha256_BYTES;
}

static MDB_val
finish_tag_key(uint8_t *key, size_t len, const struct gs_event *event)
{
	uint8_t *at = put_u64(key + len, (uint64_t)event->created_at);

	at = put_bytes(at, event->id, 32);
	return VAL(key, (size_t)(at - key));
}

bool
row_has_address(unsigned kind)
{
	return gs_kind_is_replaceable(kind) || gs_kind_is_addressable(kind);
}

struct gs_str
row_d(const struct gs_event *event)
{
	return gs_kind_is_addressable(event->kind) ? gs_event_d(event)
						   : (struct gs_str){ "", 0 };
}

/* The letter under which a tag is indexed, or 0.  `d` is indexed apart. */
static char
indexed_letter(const struct gs_tag *tag)
{
	if (tag->num < 2 || tag->values[0].len != 1 ||
	    memchr("aAeEq", tag->values[0].ptr[0], 5) == NULL)
		return '\0';
	return tag->values[0].ptr[0];
}

bool
row_each_tag(const struct gs_event *event, row_tag_fn *fn, void *arg)
{
	uint8_t key[TAG_KEY_BYTES];
	size_t i, len;

	for (i = 0; i < event->num_tags; i++) {
		char letter = indexed_letter(&event->tags[i]);

		if (letter == '\0')
			continue;
		len = row_tag_prefix(key, letter, gs_tag_value(&event->tags[i]));
		if (!fn(finish_tag_key(key, len, event), arg))
			return false;
	}
	/* an addressable event without `d` has the empty one (NIP-01) */
	if (!gs_kind_is_addressable(event->kind) && gs_event_tag(event, "d") == NULL)
		return true;
	len = row_tag_prefix(key, 'd', gs_event_d(event));
	return fn(finish_tag_key(key, len, event), arg);
}

/* --- the row itself --- */

bool
row_decode(struct gs_row *row, uint64_t sequence, MDB_val value)
{
	const uint8_t *at = value.mv_data;

	if (value.mv_size < HEADER_BYTES ||
	    value.mv_size < HEADER_BYTES + (size_t)at[HEADER_BYTES - 1])
		return false;
	row->sequence = sequence;
	memcpy(row->id, at, 32);
	memcpy(row->pubkey, at + 32, 32);
	row->created_at = (int64_t)take_u64(at + 64);
	row->kind = take_u16(at + 72);
	row->first_seen_s = (int64_t)take_u64(at + 74);
	row->expires_at = (int64_t)take_u64(at + 82);
	row->from =
	    (struct gs_str){ (const char *)at + HEADER_BYTES, at[HEADER_BYTES - 1] };
	row->json.ptr = row->from.ptr + row->from.len;
	row->json.len = value.mv_size - HEADER_BYTES - row->from.len;
	return true;
}

bool
row_get(struct gs_txn *txn, uint64_t sequence, struct gs_row *row)
{
	uint8_t key[SEQUENCE_BYTES];
	MDB_val value;

	(void)put_u64(key, sequence);
	if (store_get(txn, DB_EVENT, VAL(key, sizeof(key)), &value) &&
	    row_decode(row, sequence, value))
		return true;
	if (txn->fault == 0) /* whoever asks has the sequence from an index */
		txn->fault = MDB_CORRUPTED;
	return false;
}

static bool
insert_row(struct gs_txn *txn, const struct gs_event *event, const struct gs_put *put,
    const uint8_t sequence[static SEQUENCE_BYTES], struct gs_err *err)
{
	uint8_t header[HEADER_BYTES + FROM_BYTES];
	size_t from_len = put->from.len <= FROM_BYTES ? put->from.len : 0;
	uint8_t *at = header;

	at = put_bytes(at, event->id, 32);
	at = put_bytes(at, event->pubkey, 32);
	at = put_u64(at, (uint64_t)event->created_at);
	at = put_u16(at, event->kind);
	at = put_u64(at, (uint64_t)put->now_s);
	at = put_u64(at, (uint64_t)gs_event_expiration(event));
	*at++ = (uint8_t)from_len;
	at = put_bytes(at, from_len ? put->from.ptr : "", from_len);
	gs_buf_clear(&txn->removed);
	gs_buf_add(&txn->removed, header, (size_t)(at - header));
	gs_event_write(event, &txn->removed);
	return store_set(txn, DB_EVENT, VAL(sequence, SEQUENCE_BYTES),
	    VAL(txn->removed.data, txn->removed.len), err);
}

struct tag_job {
	struct gs_txn *txn;
	MDB_val value; /* NULL data: take the row out */
	struct gs_err *err;
};

static bool
do_tag(MDB_val key, void *arg)
{
	struct tag_job *job = arg;

	if (job->value.mv_data == NULL)
		return store_del(job->txn, DB_TAG, key, job->err);
	return store_set(job->txn, DB_TAG, key, job->value, job->err);
}

static bool
insert_indexes(struct gs_txn *txn, const struct gs_event *event,
    const uint8_t sequence[static SEQUENCE_BYTES], struct gs_err *err)
{
	MDB_val seq = VAL(sequence, SEQUENCE_BYTES);
	uint8_t kind_key[KIND_KEY_BYTES], addr_key[ADDR_KEY_BYTES];
	uint8_t author_key[AUTHOR_KEY_BYTES], expiry_key[EXPIRY_KEY_BYTES];
	uint8_t tag_value[SEQUENCE_BYTES + 2];
	int64_t expires_at = gs_event_expiration(event);
	struct tag_job job = { txn, VAL(tag_value, sizeof(tag_value)), err };

	row_kind_key(kind_key, event->kind, event->created_at, event->id);
	(void)put_bytes(put_bytes(author_key, event->pubkey, 32), sequence,
	    SEQUENCE_BYTES);
	(void)put_u16(put_bytes(tag_value, sequence, SEQUENCE_BYTES), event->kind);
	if (!store_set(txn, DB_ID, VAL(event->id, 32), seq, err) ||
	    !store_set(txn, DB_KIND, VAL(kind_key, sizeof(kind_key)), seq, err) ||
	    !store_set(txn, DB_AUTHOR, VAL(author_key, sizeof(author_key)), VAL("", 0),
		err) ||
	    !row_each_tag(event, do_tag, &job))
		return false;
	if (expires_at >= 0) {
		(void)put_bytes(put_u64(expiry_key, (uint64_t)expires_at), event->id, 32);
		if (!store_set(txn, DB_EXPIRY, VAL(expiry_key, sizeof(expiry_key)), seq,
			err))
			return false;
	}
	if (!row_has_address(event->kind))
		return true;
	row_addr_key(addr_key, event->kind, event->pubkey, row_d(event));
	return store_set(txn, DB_ADDR, VAL(addr_key, sizeof(addr_key)), seq, err);
}

bool
row_insert(struct gs_txn *txn, const struct gs_event *event, const struct gs_put *put,
    struct gs_err *err)
{
	uint8_t sequence[SEQUENCE_BYTES];

	(void)put_u64(sequence, txn->next_sequence);
	if (!insert_row(txn, event, put, sequence, err) ||
	    !insert_indexes(txn, event, sequence, err))
		return false;
	txn->next_sequence++;
	return true;
}

/* `addr` keeps its row with sequence 0: a version of ours stood here. */
static bool
remove_indexes(struct gs_txn *txn, const struct gs_row *row, const struct gs_event *event,
    struct gs_err *err)
{
	static const uint8_t none[SEQUENCE_BYTES] = { 0 };
	uint8_t kind_key[KIND_KEY_BYTES], addr_key[ADDR_KEY_BYTES];
	uint8_t author_key[AUTHOR_KEY_BYTES], expiry_key[EXPIRY_KEY_BYTES];
	struct tag_job job = { txn, VAL(NULL, 0), err };

	row_kind_key(kind_key, row->kind, row->created_at, row->id);
	(void)put_u64(put_bytes(author_key, row->pubkey, 32), row->sequence);
	(void)put_bytes(put_u64(expiry_key, (uint64_t)row->expires_at), row->id, 32);
	if (!store_del(txn, DB_KIND, VAL(kind_key, sizeof(kind_key)), err) ||
	    !store_del(txn, DB_AUTHOR, VAL(author_key, sizeof(author_key)), err) ||
	    !store_del(txn, DB_EXPIRY, VAL(expiry_key, sizeof(expiry_key)), err) ||
	    !row_each_tag(event, do_tag, &job))
		return false;
	if (!row_has_address(row->kind))
		return true;
	row_addr_key(addr_key, row->kind, row->pubkey, row_d(event));
	return store_set(txn, DB_ADDR, VAL(addr_key, sizeof(addr_key)),
	    VAL(none, sizeof(none)), err);
}

bool
row_remove(struct gs_txn *txn, const struct gs_row *row, enum gs_known why,
    const struct gs_put *put, struct gs_err *err)
{
	struct gs_row copy = *row;
	struct judged judged = { .result = why, .until = put->now_s };
	uint8_t sequence[SEQUENCE_BYTES];

	/* the map's memory moves with the first change */
	gs_buf_clear(&txn->removed);
	gs_buf_add(&txn->removed, row->from.ptr, row->from.len + row->json.len);
	copy.from.ptr = txn->removed.data;
	copy.json.ptr = txn->removed.data + row->from.len;
	if (gs_event_parse(&txn->scratch, copy.json.ptr, copy.json.len, err) !=
	    GS_EVENT_OK)
		return gs_fail(err, GS_EDATA,
		    "%s: row %llu is damaged (see stat --check)", txn->store->name,
		    (unsigned long long)row->sequence);
	(void)put_u64(sequence, copy.sequence);
	if (!store_del(txn, DB_EVENT, VAL(sequence, sizeof(sequence)), err) ||
	    !remove_indexes(txn, &copy, &txn->scratch, err) ||
	    !judged_put(txn, copy.kind, copy.created_at, copy.id, &judged, err))
		return false;
	if (put->ops != NULL)
		put->ops->removed(&copy, why, put->ops->arg);
	return true;
}

/* --- looks --- */

bool
gs_store_find(struct gs_txn *txn, const uint8_t id[static 32], struct gs_row *row)
{
	MDB_val value;

	return store_get(txn, DB_ID, VAL(id, 32), &value) &&
	    value.mv_size == SEQUENCE_BYTES && row_get(txn, take_u64(value.mv_data), row);
}

bool
gs_store_current(struct gs_txn *txn, const struct gs_address *address, struct gs_row *row)
{
	uint8_t key[ADDR_KEY_BYTES];
	MDB_val value;
	uint64_t sequence;

	row_addr_key(key, address->kind, address->pubkey, address->d);
	if (!store_get(txn, DB_ADDR, VAL(key, sizeof(key)), &value) ||
	    value.mv_size != SEQUENCE_BYTES)
		return false;
	sequence = take_u64(value.mv_data);
	return sequence != 0 && row_get(txn, sequence, row);
}

bool
gs_store_had_address(struct gs_txn *txn, const struct gs_address *address)
{
	uint8_t key[ADDR_KEY_BYTES];
	MDB_val value;

	row_addr_key(key, address->kind, address->pubkey, address->d);
	return store_get(txn, DB_ADDR, VAL(key, sizeof(key)), &value);
}

bool
gs_store_has_author(struct gs_txn *txn, const uint8_t pubkey[static 32])
{
	uint8_t first[AUTHOR_KEY_BYTES] = { 0 };
	MDB_val key = VAL(first, sizeof(first));
	MDB_val value;
	MDB_cursor *cursor = store_open(txn, DB_AUTHOR);
	bool found;

	(void)put_bytes(first, pubkey, 32);
	if (cursor == NULL)
		return false;
	found = store_seek(txn, cursor, &key, &value, MDB_SET_RANGE) &&
	    key.mv_size == AUTHOR_KEY_BYTES && memcmp(key.mv_data, pubkey, 32) == 0;
	mdb_cursor_close(cursor);
	return found;
}
