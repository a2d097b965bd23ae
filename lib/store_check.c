/*
 * Proves the store: every row is a sound event with all its index rows, and every
 * index row points to such a row (they are counted: as many as the rows ask for).
 */
#include <stdio.h>

#include "hex.h"
#include "mem.h"
#include "store_private.h"
#include "verify.h"

#define FAULT_BYTES 256

struct check {
	struct gs_txn *txn;
	gs_fault_fn *fn;
	void *arg;
	uint64_t faults;
	uint64_t expected[NUM_DBS]; /* index rows that events ask for */
	struct gs_event event;
	struct gs_buf text;
	struct gs_map *tag_keys; /* of one event: the same tag twice is one row */
	const struct gs_row *row;
};

static void
report(struct check *check, const char *what)
{
	char text[FAULT_BYTES];
	char id[65] = "";

	check->faults++;
	if (check->row != NULL) {
		*gs_hex_write(id, check->row->id, 32) = '\0';
		(void)snprintf(text, sizeof(text), "row %llu (%s): %s",
		    (unsigned long long)check->row->sequence, id, what);
	} else
		(void)snprintf(text, sizeof(text), "%s", what);
	if (check->fn != NULL)
		check->fn(text, check->arg);
}

/* An index row must be there and name the sequence. */
static void
expect(struct check *check, enum db db, MDB_val key, bool has_sequence,
    const char *missing)
{
	MDB_val value;

	check->expected[db]++;
	if (!store_get(check->txn, db, key, &value))
		report(check, missing);
	else if (has_sequence &&
	    (value.mv_size < SEQUENCE_BYTES ||
		take_u64(value.mv_data) != check->row->sequence))
		report(check, "an index row names another row");
}

static bool
expect_tag(MDB_val key, void *arg)
{
	struct check *check = arg;
	struct gs_str bytes = { key.mv_data, key.mv_size };

	if (gs_map_find(check->tag_keys, bytes) != NULL)
		return true;
	(void)gs_map_add(check->tag_keys, bytes);
	expect(check, DB_TAG, key, true, "its tag row is missing");
	return true;
}

static void
check_indexes(struct check *check)
{
	const struct gs_row *row = check->row;
	uint8_t kind_key[KIND_KEY_BYTES], addr_key[ADDR_KEY_BYTES];
	uint8_t author_key[AUTHOR_KEY_BYTES], expiry_key[EXPIRY_KEY_BYTES];

	row_kind_key(kind_key, row->kind, row->created_at, row->id);
	(void)put_u64(put_bytes(author_key, row->pubkey, 32), row->sequence);
	expect(check, DB_ID, VAL(row->id, 32), true, "its id row is missing");
	expect(check, DB_KIND, VAL(kind_key, sizeof(kind_key)), true,
	    "its kind row is missing");
	expect(check, DB_AUTHOR, VAL(author_key, sizeof(author_key)), false,
	    "its author row is missing");
	check->tag_keys = gs_map_new();
	(void)row_each_tag(&check->event, expect_tag, check);
	gs_map_free(check->tag_keys, NULL);
	if (row->expires_at >= 0) {
		(void)put_bytes(put_u64(expiry_key, (uint64_t)row->expires_at), row->id,
		    32);
		expect(check, DB_EXPIRY, VAL(expiry_key, sizeof(expiry_key)), true,
		    "its expiry row is missing");
	}
	if (row_has_address(row->kind)) {
		row_addr_key(addr_key, row->kind, row->pubkey, row_d(&check->event));
		expect(check, DB_ADDR, VAL(addr_key, sizeof(addr_key)), true,
		    "its address row is missing");
	}
}

static bool
has_row_fields(const struct gs_row *row, const struct gs_event *event)
{
	return memcmp(row->id, event->id, 32) == 0 &&
	    memcmp(row->pubkey, event->pubkey, 32) == 0 &&
	    row->created_at == event->created_at && row->kind == event->kind &&
	    row->expires_at == gs_event_expiration(event);
}

static void
check_row(struct check *check, const struct gs_row *row)
{
	struct gs_buf canonical = GS_BUF_INIT;

	check->row = row;
	if (gs_event_parse(&check->event, row->json.ptr, row->json.len, NULL) !=
	    GS_EVENT_OK) {
		report(check, "is no event");
		return;
	}
	if (gs_verify_id(&check->event, &check->text) != GS_EVENT_OK)
		report(check, "its id is not the hash of its content");
	if (!has_row_fields(row, &check->event))
		report(check, "its header differs from its event");
	gs_event_write(&check->event, &canonical);
	if (!gs_str_equal(row->json, (struct gs_str){ canonical.data, canonical.len }))
		report(check, "its line is not canonical");
	gs_buf_fini(&canonical);
	check_indexes(check);
}

static void
check_event_row(void *arg, MDB_val key, MDB_val value)
{
	struct check *check = arg;
	struct gs_row row;

	check->row = NULL;
	if (key.mv_size != SEQUENCE_BYTES ||
	    !row_decode(&row, take_u64(key.mv_data), value)) {
		report(check, "a row of events can't be read");
		return;
	}
	if (row.sequence >= check->txn->next_sequence)
		report(check, "a sequence is not below the next one");
	check_row(check, &row);
}

/* What is judged must be named by `id`; what waits must be there. */
static void
check_judged_row(void *arg, MDB_val key, MDB_val value)
{
	struct check *check = arg;
	struct judged judged, named;
	struct gs_waiter waiter;
	const uint8_t *id = (const uint8_t *)key.mv_data + KIND_KEY_BYTES - 32;

	if (key.mv_size != KIND_KEY_BYTES || !judged_decode(&judged, value)) {
		report(check, "a judged row can't be read");
		return;
	}
	check->expected[DB_ID]++;
	if (!judged_get(check->txn, id, &named) || named.result != judged.result)
		report(check, "a judged id is not named by `id`");
	if (judged.result == GS_KNOWN_WAITING &&
	    !gs_store_waiter_get(check->txn, id, &waiter))
		report(check, "a waiting event is missing");
}

static void
check_addr_row(void *arg, MDB_val key, MDB_val value)
{
	struct check *check = arg;
	(void)key;
	if (value.mv_size == SEQUENCE_BYTES && take_u64(value.mv_data) == 0)
		check->expected[DB_ADDR]++; /* a version stood here once */
}

static void
check_waiting_row(void *arg, MDB_val key, MDB_val value)
{
	struct check *check = arg;
	struct gs_waiter waiter;

	(void)value;
	if (key.mv_size != 64 ||
	    gs_store_known(check->txn, (const uint8_t *)key.mv_data + 32) !=
		GS_KNOWN_WAITING ||
	    !gs_store_waiter_get(check->txn, (const uint8_t *)key.mv_data + 32, &waiter))
		report(check, "a row of waiting names no waiting event");
}

static void
check_relay_row(void *arg, MDB_val key, MDB_val value)
{
	if (!progress_is_relay(key, value))
		report(arg, "a row of relays is damaged");
}

static void
check_progress_row(void *arg, MDB_val key, MDB_val value)
{
	const struct check *check = arg;

	if (!progress_is_pair(key, value, check->txn->next_sequence))
		report(arg, "a row of progress is damaged, or ahead of the store");
}

static void
check_totals(struct check *check)
{
	static const struct {
		enum db db;
		const char *fault;
	} indexes[] = {
		{ DB_ID, "`id` has rows that nothing asks for" },
		{ DB_KIND, "`kind` has rows that nothing asks for" },
		{ DB_TAG, "`tag` has rows that nothing asks for" },
		{ DB_ADDR, "`addr` has rows that nothing asks for" },
		{ DB_AUTHOR, "`author` has rows that nothing asks for" },
		{ DB_EXPIRY, "`expiry` has rows that nothing asks for" },
	};
	size_t i;

	for (i = 0; i < sizeof(indexes) / sizeof(indexes[0]); i++)
		if (store_count(check->txn, indexes[i].db) >
		    check->expected[indexes[i].db])
			report(check, indexes[i].fault);
}

bool
gs_store_check(struct gs_store *store, gs_fault_fn *fn, void *arg, uint64_t *faults,
    struct gs_err *err)
{
	struct check check = { .txn = gs_store_read(store, err), .fn = fn, .arg = arg };
	bool ok;

	if (check.txn == NULL)
		return false;
	check.txn->next_sequence = store_get_number(check.txn, "next_sequence");
	ok = store_each(check.txn, DB_EVENT, check_event_row, &check, err);
	check.row = NULL;
	ok = ok && store_each(check.txn, DB_JUDGED, check_judged_row, &check, err) &&
	    store_each(check.txn, DB_ADDR, check_addr_row, &check, err) &&
	    store_each(check.txn, DB_WAITING, check_waiting_row, &check, err) &&
	    store_each(check.txn, DB_RELAY, check_relay_row, &check, err) &&
	    store_each(check.txn, DB_PROGRESS, check_progress_row, &check, err);
	if (ok)
		check_totals(&check);
	*faults = check.faults;
	gs_txn_end(check.txn);
	gs_event_fini(&check.event);
	gs_buf_fini(&check.text);
	return ok;
}
