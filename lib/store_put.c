/*
 * What stands: replacement, deletion, vanish and expiry, so that any order of
 * arrival ends the same.  Per address there is a cut: every version up to it in the
 * order of replacement (older date first, then higher id) is gone for good.
 *
 * `gone` keys: 1 + id + signer (deleted by `e`), 2 + address (its cut: date, id),
 * 3 + pubkey (vanished up to this date).
 */
#include "hex.h"
#include "mem.h"
#include "store_private.h"

#define GONE_ID 1
#define GONE_CUT 2
#define GONE_VANISHED 3
#define GONE_KEY_BYTES (1 + ADDR_KEY_BYTES)
#define CUT_BYTES (8 + 32)

/* A place in the order of versions. */
struct version {
	int64_t created_at;
	uint8_t id[32];
};

/* Does a win over b, or is it b: newer, or as old with an id that is not higher? */
static bool
is_at_least(const struct version *a, const struct version *b)
{
	if (a->created_at != b->created_at)
		return a->created_at > b->created_at;
	return memcmp(a->id, b->id, 32) <= 0;
}

static struct version
version_of(int64_t created_at, const uint8_t id[static 32])
{
	struct version version = { .created_at = created_at };

	memcpy(version.id, id, 32);
	return version;
}

/* --- gone --- */

static MDB_val
key_of_id(uint8_t key[static GONE_KEY_BYTES], const uint8_t id[static 32],
    const uint8_t signer[static 32])
{
	key[0] = GONE_ID;
	(void)put_bytes(put_bytes(key + 1, id, 32), signer, 32);
	return VAL(key, 1 + 32 + 32);
}

static MDB_val
key_of_vanished(uint8_t key[static GONE_KEY_BYTES], const uint8_t pubkey[static 32])
{
	key[0] = GONE_VANISHED;
	(void)put_bytes(key + 1, pubkey, 32);
	return VAL(key, 1 + 32);
}

static MDB_val
key_of_cut(uint8_t key[static GONE_KEY_BYTES], const uint8_t addr[static ADDR_KEY_BYTES])
{
	key[0] = GONE_CUT;
	(void)put_bytes(key + 1, addr, ADDR_KEY_BYTES);
	return VAL(key, GONE_KEY_BYTES);
}

static bool
get_cut(struct gs_txn *txn, const uint8_t addr[static ADDR_KEY_BYTES],
    struct version *cut)
{
	uint8_t key[GONE_KEY_BYTES];
	MDB_val value;

	if (!store_get(txn, DB_GONE, key_of_cut(key, addr), &value) ||
	    value.mv_size != CUT_BYTES)
		return false;
	*cut = version_of((int64_t)take_u64(value.mv_data),
	    (const uint8_t *)value.mv_data + 8);
	return true;
}

static bool
is_deleted_id(struct gs_txn *txn, const struct gs_event *event)
{
	uint8_t key[GONE_KEY_BYTES];
	MDB_val value;

	return store_get(txn, DB_GONE, key_of_id(key, event->id, event->pubkey), &value);
}

static bool
is_vanished(struct gs_txn *txn, const struct gs_event *event)
{
	uint8_t key[GONE_KEY_BYTES];
	MDB_val value;

	return store_get(txn, DB_GONE, key_of_vanished(key, event->pubkey), &value) &&
	    value.mv_size == 8 && event->created_at <= (int64_t)take_u64(value.mv_data);
}

/* The version that stands at an address; false if none does. */
static bool
get_standing(struct gs_txn *txn, const uint8_t addr[static ADDR_KEY_BYTES],
    struct gs_row *row)
{
	MDB_val value;
	uint64_t sequence;

	if (!store_get(txn, DB_ADDR, VAL(addr, ADDR_KEY_BYTES), &value) ||
	    value.mv_size != SEQUENCE_BYTES)
		return false;
	sequence = take_u64(value.mv_data);
	return sequence != 0 && row_get(txn, sequence, row);
}

/* Raises the cut of an address, and takes out what stands at or below it. */
static bool
cut_address(struct gs_txn *txn, const uint8_t addr[static ADDR_KEY_BYTES],
    const struct version *at, enum gs_known why, const struct gs_put *put,
    struct gs_err *err)
{
	uint8_t key[GONE_KEY_BYTES], value[CUT_BYTES];
	struct version old, standing;
	struct gs_row row;

	if (!get_cut(txn, addr, &old) || !is_at_least(&old, at)) {
		(void)put_bytes(put_u64(value, (uint64_t)at->created_at), at->id, 32);
		if (!store_set(txn, DB_GONE, key_of_cut(key, addr),
			VAL(value, sizeof(value)), err))
			return false;
	}
	if (!get_standing(txn, addr, &row))
		return true;
	standing = version_of(row.created_at, row.id);
	return !is_at_least(at, &standing) || row_remove(txn, &row, why, put, err);
}

/* --- NIP-09 --- */

static bool
may_be_deleted(unsigned kind)
{
	return kind != GS_KIND_DELETION && kind != GS_KIND_VANISH;
}

/* Takes a row out; older versions of its address go with it, whoever brings them. */
static bool
take_out(struct gs_txn *txn, const struct gs_row *row, enum gs_known why,
    const struct gs_put *put, struct gs_err *err)
{
	struct version at = version_of(row->created_at, row->id);
	uint8_t addr[ADDR_KEY_BYTES];

	if (!row_has_address(row->kind))
		return row_remove(txn, row, why, put, err);

	if (gs_event_parse(&txn->scratch, row->json.ptr, row->json.len, err) !=
	    GS_EVENT_OK)
		return gs_fail(err, GS_EDATA,
		    "%s: row %llu is damaged (see stat --check)", txn->store->name,
		    (unsigned long long)row->sequence);
	row_addr_key(addr, row->kind, row->pubkey, row_d(&txn->scratch));
	return cut_address(txn, addr, &at, why, put, err);
}

static bool
delete_id(struct gs_txn *txn, const struct gs_event *request, struct gs_str text,
    const struct gs_put *put, struct gs_err *err)
{
	uint8_t id[32], key[GONE_KEY_BYTES], until[8];
	struct gs_row row;

	if (!gs_hex_parse(id, 32, text.ptr, text.len))
		return true;
	(void)put_u64(until, (uint64_t)request->created_at);
	if (!store_set(txn, DB_GONE, key_of_id(key, id, request->pubkey),
		VAL(until, sizeof(until)), err))
		return false;
	if (!gs_store_find(txn, id, &row) ||
	    memcmp(row.pubkey, request->pubkey, 32) != 0 || !may_be_deleted(row.kind))
		return true;
	return take_out(txn, &row, GS_KNOWN_DELETED, put, err);
}

static bool
delete_address(struct gs_txn *txn, const struct gs_event *request, struct gs_str text,
    const struct gs_put *put, struct gs_err *err)
{
	/* the lowest id stands last in its second: all versions of it are taken */
	struct version at = { .created_at = request->created_at, .id = { 0 } };
	struct gs_address address;
	uint8_t addr[ADDR_KEY_BYTES];

	if (!gs_address_parse(&address, text) ||
	    memcmp(address.pubkey, request->pubkey, 32) != 0 ||
	    !row_has_address(address.kind) ||
	    (gs_kind_is_replaceable(address.kind) && address.d.len != 0))
		return true;
	row_addr_key(addr, address.kind, address.pubkey, address.d);
	return cut_address(txn, addr, &at, GS_KNOWN_DELETED, put, err);
}

static bool
apply_deletion(struct gs_txn *txn, const struct gs_event *request,
    const struct gs_put *put, struct gs_err *err)
{
	size_t i;

	for (i = 0; i < request->num_tags; i++) {
		const struct gs_tag *tag = &request->tags[i];

		if (gs_tag_is(tag, "e") &&
		    !delete_id(txn, request, gs_tag_value(tag), put, err))
			return false;
		if (gs_tag_is(tag, "a") &&
		    !delete_address(txn, request, gs_tag_value(tag), put, err))
			return false;
	}
	return true;
}

/* --- NIP-62 --- */

/* Sequences of all that stands of a signer up to a date; the caller's buffer. */
static bool
list_vanished(struct gs_txn *txn, const struct gs_event *request,
    struct gs_buf *sequences, struct gs_err *err)
{
	uint8_t first[AUTHOR_KEY_BYTES] = { 0 };
	MDB_val key = VAL(first, sizeof(first));
	MDB_cursor_op op = MDB_SET_RANGE;
	MDB_cursor *cursor = store_open(txn, DB_AUTHOR);
	MDB_val value;
	struct gs_row row;

	if (cursor == NULL)
		return store_was_read(txn, err);
	(void)put_bytes(first, request->pubkey, 32);
	while (store_seek(txn, cursor, &key, &value, op) &&
	    key.mv_size == AUTHOR_KEY_BYTES &&
	    memcmp(key.mv_data, request->pubkey, 32) == 0) {
		uint64_t sequence = take_u64((const uint8_t *)key.mv_data + 32);

		op = MDB_NEXT;
		if (row_get(txn, sequence, &row) && row.kind != GS_KIND_VANISH &&
		    row.created_at <= request->created_at)
			gs_buf_add(sequences, &sequence, sizeof(sequence));
	}
	mdb_cursor_close(cursor);
	return store_was_read(txn, err);
}

static bool
remove_listed(struct gs_txn *txn, const struct gs_buf *sequences,
    const struct gs_put *put, struct gs_err *err)
{
	struct gs_row row;
	uint64_t sequence;
	size_t at;

	for (at = 0; at < sequences->len; at += sizeof(sequence)) {
		memcpy(&sequence, sequences->data + at, sizeof(sequence));
		if (row_get(txn, sequence, &row) &&
		    !row_remove(txn, &row, GS_KNOWN_DELETED, put, err))
			return false;
	}
	return true;
}

static bool
apply_vanish(struct gs_txn *txn, const struct gs_event *request, const struct gs_put *put,
    struct gs_err *err)
{
	struct gs_buf sequences = GS_BUF_INIT;
	uint8_t key[GONE_KEY_BYTES], until[8];
	bool ok;

	if (is_vanished(txn, request)) /* by a later request */
		return true;
	(void)put_u64(until, (uint64_t)request->created_at);
	ok = store_set(txn, DB_GONE, key_of_vanished(key, request->pubkey),
		 VAL(until, sizeof(until)), err) &&
	    list_vanished(txn, request, &sequences, err) &&
	    remove_listed(txn, &sequences, put, err);
	gs_buf_fini(&sequences);
	return ok;
}

/* --- an event comes in --- */

/* Where an event with an address falls against its cut and what stands there. */
static bool
judge_version(struct gs_txn *txn, const struct gs_event *event,
    const uint8_t addr[static ADDR_KEY_BYTES], enum gs_known *known,
    const struct gs_put *put, struct gs_err *err)
{
	struct version mine = version_of(event->created_at, event->id);
	struct version other;
	struct gs_row row;

	if (*known ==
	    GS_KNOWN_DELETED) /* by id, or vanished: older versions go with it */
		return cut_address(txn, addr, &mine, GS_KNOWN_DELETED, put, err);
	if (get_cut(txn, addr, &other) && is_at_least(&other, &mine)) {
		*known = GS_KNOWN_DELETED;
		return true;
	}
	if (get_standing(txn, addr, &row)) {
		other = version_of(row.created_at, row.id);
		if (is_at_least(&other, &mine)) {
			*known = GS_KNOWN_SUPERSEDED;
			return true;
		}
	}
	if (*known == GS_KNOWN_EXPIRED) /* it replaced them before it expired */
		return cut_address(txn, addr, &mine, GS_KNOWN_SUPERSEDED, put, err);
	return !get_standing(txn, addr, &row) ||
	    row_remove(txn, &row, GS_KNOWN_SUPERSEDED, put, err);
}

static bool
is_expired(const struct gs_event *event, int64_t now_s)
{
	int64_t expires_at = gs_event_expiration(event);

	return expires_at >= 0 && expires_at <= now_s;
}

/* Marks that a version of ours came to this address, though it does not stand. */
static bool
mark_address(struct gs_txn *txn, const uint8_t addr[static ADDR_KEY_BYTES],
    struct gs_err *err)
{
	static const uint8_t none[SEQUENCE_BYTES] = { 0 };
	MDB_val value;

	if (store_get(txn, DB_ADDR, VAL(addr, ADDR_KEY_BYTES), &value))
		return true;
	return store_set(txn, DB_ADDR, VAL(addr, ADDR_KEY_BYTES), VAL(none, sizeof(none)),
	    err);
}

static enum gs_known
judge_event(struct gs_txn *txn, const struct gs_event *event, int64_t now_s)
{
	if (event->kind != GS_KIND_VANISH && is_vanished(txn, event))
		return GS_KNOWN_DELETED;
	if (may_be_deleted(event->kind) && is_deleted_id(txn, event))
		return GS_KNOWN_DELETED;
	return is_expired(event, now_s) ? GS_KNOWN_EXPIRED : GS_KNOWN_STORED;
}

bool
gs_store_put(struct gs_txn *txn, const struct gs_event *event, const struct gs_put *put,
    enum gs_known *known, struct gs_err *err)
{
	uint8_t addr[ADDR_KEY_BYTES];
	bool has_address = row_has_address(event->kind);

	if (event->kind == GS_KIND_DELETION && !apply_deletion(txn, event, put, err))
		return false;
	if (put->vanish && !apply_vanish(txn, event, put, err))
		return false;
	*known = judge_event(txn, event, put->now_s);
	if (has_address) {
		row_addr_key(addr, event->kind, event->pubkey, row_d(event));
		if (!judge_version(txn, event, addr, known, put, err))
			return false;
	}
	if (*known == GS_KNOWN_STORED)
		return row_insert(txn, event, put, err);
	if (has_address && !mark_address(txn, addr, err))
		return false;
	return gs_store_judge(txn, event, *known, (struct gs_str){ "", 0 }, put->now_s,
	    err);
}

bool
gs_store_expire(struct gs_txn *txn, int64_t now_s, const struct gs_store_ops *ops,
    struct gs_err *err)
{
	struct gs_put put = { .now_s = now_s, .ops = ops };
	MDB_cursor *cursor = store_open(txn, DB_EXPIRY);
	MDB_val key, value;
	struct gs_row row;

	if (cursor == NULL)
		return store_was_read(txn, err);
	/* each round takes the first row out, so the next is first then */
	while (store_seek(txn, cursor, &key, &value, MDB_FIRST) &&
	    key.mv_size == EXPIRY_KEY_BYTES && value.mv_size == SEQUENCE_BYTES &&
	    (int64_t)take_u64(key.mv_data) <= now_s) {
		if (!row_get(txn, take_u64(value.mv_data), &row)) {
			mdb_cursor_close(cursor);
			return gs_fail(err, GS_EDATA,
			    "%s: expiry names no row (see stat --check)",
			    txn->store->name);
		}
		if (!take_out(txn, &row, GS_KNOWN_EXPIRED, &put, err)) {
			mdb_cursor_close(cursor);
			return false;
		}
	}
	mdb_cursor_close(cursor);
	return true;
}
