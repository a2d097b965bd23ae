/*
 * The tables `relay` and `progress`: what is known of each relay, as canonical JSON,
 * and how far each pair was read.  Every row names what its key is the hash of.
 */
#include "progress.h"

#include <assert.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdlib.h>

#include "hex.h"
#include "json.h"
#include "mem.h"
#include "store_private.h"
#include "url.h"

#define HASH_BYTES 32
#define PAIR_KEY_BYTES ((size_t)2 * HASH_BYTES)
#define PAIR_HEAD_BYTES ((size_t)SEQUENCE_BYTES + 2) /* and the length of the URL */
#define ROW_DEPTH 4				     /* of a relay's JSON */

/* --- keys --- */

static void
hash_text(uint8_t hash[static HASH_BYTES], struct gs_str text)
{
	(void)crypto_hash_sha256(hash, (const uint8_t *)text.ptr, text.len);
}

static void
pair_key(uint8_t key[static PAIR_KEY_BYTES], struct gs_str url, struct gs_str ref)
{
	hash_text(key, url);
	memset(key + HASH_BYTES, 0, HASH_BYTES);
	if (ref.len != 0)
		hash_text(key + HASH_BYTES, ref);
}

/* --- a relay's row --- */

static void
write_refused(struct gs_buf *buf, const struct gs_progress_refused *refused)
{
	char filter[2 * HASH_BYTES];

	(void)gs_hex_write(filter, refused->filter, HASH_BYTES);
	gs_buf_add_str(buf, "[\"");
	gs_buf_add(buf, filter, sizeof(filter));
	gs_buf_printf(buf, "\",%" PRIu32 ",%" PRId64 "]", refused->failures,
	    refused->due_s);
}

static void
write_health(struct gs_buf *buf, const struct gs_health_saved *health)
{
	gs_buf_printf(buf,
	    ",\"status\":\"%s\",\"failures\":%" PRIu32 ",\"short_drops\":%" PRIu32
	    ",\"counted\":%" PRId64 ",\"due\":%" PRId64 ",\"last_success\":%" PRId64,
	    gs_health_status_name(health->status), health->failures, health->short_drops,
	    health->counted_s, health->due_s, health->last_success_s);
}

static void
write_relay(struct gs_buf *buf, const struct gs_progress_relay *relay)
{
	const struct gs_limits *limits = &relay->limits;
	size_t i;

	gs_buf_add_str(buf, "{\"url\":");
	gs_json_write_string(buf, relay->url.ptr, relay->url.len);
	write_health(buf, &relay->health);
	gs_buf_printf(buf, ",\"read_until\":%" PRId64 ",\"last_full\":%" PRId64,
	    relay->read_until_s, relay->last_full_s);
	gs_buf_printf(buf,
	    ",\"subscriptions\":%" PRIu32 ",\"filters\":%" PRIu32 ",\"bytes\":%" PRIu32
	    ",\"limit\":%" PRIu32 ",\"subid_len\":%" PRIu32 ",\"refused\":[",
	    limits->subscriptions, limits->filters, limits->bytes, limits->limit,
	    limits->subid_len);
	for (i = 0; i < relay->num_refused && i < GS_PROGRESS_REFUSED; i++) {
		if (i > 0)
			gs_buf_add_char(buf, ',');
		write_refused(buf, &relay->refused[i]);
	}
	gs_buf_add_str(buf, "]}");
}

/* One row as it is read; the memory is used again for the next. */
struct relay_row {
	struct gs_progress_relay relay;
	struct gs_buf url;
	struct gs_progress_refused *refused;
	size_t cap_refused;
};

static void
fini_row(struct relay_row *row)
{
	gs_buf_fini(&row->url);
	free(row->refused);
}

static bool
read_i64(struct gs_json *json, int64_t *out)
{
	struct gs_json_value value;

	return gs_json_next(json, &value) && gs_json_int(value, out);
}

static bool
read_u32(struct gs_json *json, uint32_t *out)
{
	int64_t number;

	if (!read_i64(json, &number) || number < 0 || number > UINT32_MAX)
		return false;
	*out = (uint32_t)number;
	return true;
}

static bool
read_item(struct gs_json *json, bool first)
{
	bool more;

	return gs_json_item(json, first, &more) && more;
}

static bool
read_refused(struct gs_json *json, struct gs_progress_refused *refused)
{
	struct gs_json_value value;
	bool more;

	return gs_json_next(json, &value) && value.type == GS_JSON_ARRAY &&
	    read_item(json, true) && gs_json_next(json, &value) &&
	    value.type == GS_JSON_STRING &&
	    gs_hex_parse(refused->filter, HASH_BYTES, value.raw.ptr, value.raw.len) &&
	    read_item(json, false) && read_u32(json, &refused->failures) &&
	    read_item(json, false) && read_i64(json, &refused->due_s) &&
	    gs_json_item(json, false, &more) && !more;
}

static bool
read_all_refused(struct gs_json *json, struct relay_row *row)
{
	size_t *num = &row->relay.num_refused;
	struct gs_json_value value;
	bool more;

	if (!gs_json_next(json, &value) || value.type != GS_JSON_ARRAY ||
	    !gs_json_item(json, true, &more))
		return false;
	for (*num = 0; more; ++*num) {
		row->refused = gs_mem_more(row->refused, *num, &row->cap_refused,
		    sizeof(*row->refused));
		if (*num == GS_PROGRESS_REFUSED ||
		    !read_refused(json, &row->refused[*num]) ||
		    !gs_json_item(json, false, &more))
			return false;
	}
	row->relay.refused = row->refused;
	return true;
}

static bool
read_status(struct gs_json *json, enum gs_health_status *out)
{
	struct gs_json_value value;
	int status;

	if (!gs_json_next(json, &value))
		return false;
	for (status = GS_HEALTH_HEALTHY; status <= GS_HEALTH_DEAD; status++)
		if (gs_json_is(value,
			gs_health_status_name((enum gs_health_status)status))) {
			*out = (enum gs_health_status)status;
			return true;
		}
	return false;
}

static bool
read_url(struct gs_json *json, struct relay_row *row)
{
	struct gs_json_value value;

	if (!gs_json_next(json, &value) || value.type != GS_JSON_STRING)
		return false;
	gs_buf_clear(&row->url);
	gs_json_decode(&row->url, value);
	row->relay.url = (struct gs_str){ row->url.data, row->url.len };
	return row->url.len > 0 && row->url.len <= GS_URL_BYTES;
}

/* Unknown members are those of a later version. */
static bool
read_member(struct gs_json *json, struct gs_json_value key, struct relay_row *row)
{
	struct gs_progress_relay *relay = &row->relay;
	struct gs_json_value value;
	size_t i;
	const struct {
		const char *name;
		int64_t *out;
	} times[] = {
		{ "counted", &relay->health.counted_s },
		{ "due", &relay->health.due_s },
		{ "last_success", &relay->health.last_success_s },
		{ "read_until", &relay->read_until_s },
		{ "last_full", &relay->last_full_s },
	};
	const struct {
		const char *name;
		uint32_t *out;
	} counts[] = {
		{ "failures", &relay->health.failures },
		{ "short_drops", &relay->health.short_drops },
		{ "subscriptions", &relay->limits.subscriptions },
		{ "filters", &relay->limits.filters },
		{ "bytes", &relay->limits.bytes },
		{ "limit", &relay->limits.limit },
		{ "subid_len", &relay->limits.subid_len },
	};

	for (i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		if (gs_json_is(key, times[i].name))
			return read_i64(json, times[i].out);
	for (i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		if (gs_json_is(key, counts[i].name))
			return read_u32(json, counts[i].out);
	if (gs_json_is(key, "url"))
		return read_url(json, row);
	if (gs_json_is(key, "status"))
		return read_status(json, &relay->health.status);
	if (gs_json_is(key, "refused"))
		return read_all_refused(json, row);
	return gs_json_skip(json, &value);
}

static bool
read_members(struct gs_json *json, struct relay_row *row)
{
	struct gs_json_value value, key;
	bool more;

	if (!gs_json_next(json, &value) || value.type != GS_JSON_OBJECT ||
	    !gs_json_member(json, true, &key, &more))
		return false;
	while (more)
		if (!read_member(json, key, row) ||
		    !gs_json_member(json, false, &key, &more))
			return false;
	return gs_json_end(json);
}

/* False: damaged; what is missing would be taken for "never read". */
static bool
read_row(struct relay_row *row, MDB_val key, MDB_val value)
{
	uint8_t hash[HASH_BYTES];
	struct gs_json json;

	row->relay = (struct gs_progress_relay){ .url = { "", 0 },
		.health.last_success_s = -1,
		.read_until_s = -1,
		.last_full_s = -1 };
	gs_json_init(&json, value.mv_data, value.mv_size, ROW_DEPTH);
	if (!read_members(&json, row) || row->relay.url.len == 0)
		return false;
	hash_text(hash, row->relay.url);
	return key.mv_size == HASH_BYTES && memcmp(key.mv_data, hash, HASH_BYTES) == 0;
}

/* --- writing --- */

static bool
put_relay(struct gs_txn *txn, const struct gs_progress_relay *relay, struct gs_err *err)
{
	struct gs_buf json = GS_BUF_INIT;
	uint8_t key[HASH_BYTES];
	bool ok;

	hash_text(key, relay->url);
	write_relay(&json, relay);
	ok = store_set(txn, DB_RELAY, VAL(key, sizeof(key)), VAL(json.data, json.len),
	    err);
	gs_buf_fini(&json);
	return ok;
}

static bool
put_pair(struct gs_txn *txn, const struct gs_record *record, struct gs_err *err)
{
	uint8_t key[PAIR_KEY_BYTES], head[PAIR_HEAD_BYTES];
	struct gs_buf value = GS_BUF_INIT;
	bool ok;

	assert(record->url.len <= GS_URL_BYTES);
	pair_key(key, record->url, record->ref);
	(void)put_u16(put_u64(head, record->sequence), (uint16_t)record->url.len);
	gs_buf_add(&value, head, sizeof(head));
	gs_buf_add(&value, record->url.ptr, record->url.len);
	gs_buf_add(&value, record->ref.ptr, record->ref.len);
	ok = store_set(txn, DB_PROGRESS, VAL(key, sizeof(key)),
	    VAL(value.data, value.len), err);
	gs_buf_fini(&value);
	return ok;
}

static bool
end_pair(struct gs_txn *txn, const struct gs_record *record, struct gs_err *err)
{
	uint8_t key[PAIR_KEY_BYTES];

	pair_key(key, record->url, record->ref);
	return store_del(txn, DB_PROGRESS, VAL(key, sizeof(key)), err);
}

/* The first or next row of a relay's pairs. */
static bool
seek_pair(struct gs_txn *txn, MDB_cursor *cursor, const uint8_t *hash, MDB_val *key,
    MDB_val *value, MDB_cursor_op op)
{
	return store_seek(txn, cursor, key, value, op) && key->mv_size >= HASH_BYTES &&
	    memcmp(key->mv_data, hash, HASH_BYTES) == 0;
}

static bool
end_relay(struct gs_txn *txn, struct gs_str url, struct gs_err *err)
{
	MDB_cursor *cursor = store_open(txn, DB_PROGRESS);
	MDB_cursor_op op = MDB_SET_RANGE;
	uint8_t hash[HASH_BYTES];
	MDB_val key = VAL(hash, sizeof(hash)), value;
	int rc = 0;

	hash_text(hash, url);
	while (rc == 0 && cursor != NULL &&
	    seek_pair(txn, cursor, hash, &key, &value, op)) {
		rc = mdb_cursor_del(cursor, 0);
		op = MDB_NEXT;
	}
	mdb_cursor_close(cursor);
	if (rc != 0)
		return store_fail(txn->store, rc, err);
	return store_was_read(txn, err) &&
	    store_del(txn, DB_RELAY, VAL(hash, sizeof(hash)), err);
}

bool
gs_progress_put(struct gs_txn *txn, const struct gs_record *record, struct gs_err *err)
{
	switch (record->kind) {
	case GS_RECORD_RELAY:
		return put_relay(txn, record->relay, err);
	case GS_RECORD_PAIR:
		return put_pair(txn, record, err);
	case GS_RECORD_END_PAIR:
		return end_pair(txn, record, err);
	case GS_RECORD_END_RELAY:
		return end_relay(txn, record->url, err);
	}
	return true;
}

/* --- reading --- */

bool
gs_progress_relays(struct gs_txn *txn, gs_progress_relay_fn *fn, void *arg,
    size_t *damaged, struct gs_err *err)
{
	MDB_cursor *cursor = store_open(txn, DB_RELAY);
	struct relay_row row = { .cap_refused = 0 };
	MDB_cursor_op op = MDB_FIRST;
	MDB_val key, value;
	bool more = true;

	*damaged = 0;
	for (; more && cursor != NULL && store_seek(txn, cursor, &key, &value, op);
	     op = MDB_NEXT) {
		if (read_row(&row, key, value))
			more = fn(&row.relay, arg);
		else
			++*damaged;
	}
	fini_row(&row);
	mdb_cursor_close(cursor);
	return store_was_read(txn, err);
}

/* What a pair's row says; false: damaged. */
static bool
read_pair(struct gs_record *pair, MDB_val key, MDB_val value)
{
	uint8_t expected[PAIR_KEY_BYTES];
	const char *at = value.mv_data;
	size_t url_len;

	if (value.mv_size < PAIR_HEAD_BYTES)
		return false;
	url_len = take_u16((const uint8_t *)at + SEQUENCE_BYTES);
	if (url_len == 0 || url_len > value.mv_size - PAIR_HEAD_BYTES)
		return false;
	pair->sequence = take_u64((const uint8_t *)at);
	pair->url = (struct gs_str){ at + PAIR_HEAD_BYTES, url_len };
	pair->ref = (struct gs_str){ pair->url.ptr + url_len,
		value.mv_size - PAIR_HEAD_BYTES - url_len };
	pair_key(expected, pair->url, pair->ref);
	return key.mv_size == sizeof(expected) &&
	    memcmp(key.mv_data, expected, sizeof(expected)) == 0;
}

bool
gs_progress_pairs(struct gs_txn *txn, struct gs_str url, gs_progress_pair_fn *fn,
    void *arg, struct gs_err *err)
{
	MDB_cursor *cursor = store_open(txn, DB_PROGRESS);
	MDB_cursor_op op = MDB_SET_RANGE;
	uint8_t hash[HASH_BYTES];
	MDB_val key = VAL(hash, sizeof(hash)), value;
	struct gs_record pair;
	bool more = true;

	hash_text(hash, url);
	for (; more && cursor != NULL && seek_pair(txn, cursor, hash, &key, &value, op);
	     op = MDB_NEXT)
		if (read_pair(&pair, key, value))
			more = fn(pair.ref, pair.sequence, arg);
	mdb_cursor_close(cursor);
	return store_was_read(txn, err);
}

/* --- proof --- */

bool
progress_is_relay(MDB_val key, MDB_val value)
{
	struct relay_row row = { .cap_refused = 0 };
	struct gs_buf again = GS_BUF_INIT;
	bool ok = read_row(&row, key, value);

	if (ok) {
		write_relay(&again, &row.relay);
		ok = again.len == value.mv_size &&
		    memcmp(again.data, value.mv_data, again.len) == 0;
	}
	gs_buf_fini(&again);
	fini_row(&row);
	return ok;
}

bool
progress_is_pair(MDB_val key, MDB_val value, uint64_t next_sequence)
{
	struct gs_record pair;

	return read_pair(&pair, key, value) && pair.sequence <= next_sequence;
}
