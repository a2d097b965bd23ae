/* progress: what is written of relays and pairs is read again; damage costs one row. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <lmdb.h>
#include <sodium.h>
#include <stdlib.h>
#include <unistd.h>

#include "made_store.h"
#include "mem.h"
#include "progress.h"

#define URL "wss://relay.example/a \"b\\"
#define OTHER "wss://other.example"
#define REF "30617:aa:name"

static struct gs_str
text_of(const char *text)
{
	return gs_str_of(text);
}

static void
put(struct gs_store *store, const struct gs_record *record)
{
	struct gs_err err = { .code = GS_OK };
	struct gs_txn *txn = gs_store_write(store, &err);

	assert_non_null(txn);
	assert_true(gs_progress_put(txn, record, &err));
	assert_true(gs_txn_commit(txn, &err));
}

static void
put_pair(struct gs_store *store, const char *url, const char *ref, uint64_t sequence)
{
	struct gs_record record = { .kind = GS_RECORD_PAIR,
		.url = text_of(url),
		.ref = text_of(ref),
		.sequence = sequence };

	put(store, &record);
}

static void
put_relay(struct gs_store *store, const struct gs_progress_relay *relay)
{
	struct gs_record record = { .kind = GS_RECORD_RELAY, .relay = relay };

	put(store, &record);
}

static void
end_of(struct gs_store *store, enum gs_record_kind kind, const char *url, const char *ref)
{
	struct gs_record record = {
		.kind = kind, .url = text_of(url), .ref = text_of(ref)
	};

	put(store, &record);
}

static bool
show_pair(struct gs_str ref, uint64_t sequence, void *arg)
{
	gs_buf_printf(arg, "[%.*s]=%llu ", (int)ref.len, ref.ptr,
	    (unsigned long long)sequence);
	return true;
}

/* The pairs of a relay as a text; the caller's. */
static char *
show_pairs(struct gs_store *store, const char *url)
{
	struct gs_buf text = GS_BUF_INIT;
	struct gs_err err = { .code = GS_OK };
	struct gs_txn *txn = gs_store_read(store, &err);

	assert_non_null(txn);
	gs_buf_add_str(&text, "");
	assert_true(gs_progress_pairs(txn, text_of(url), show_pair, &text, &err));
	gs_txn_end(txn);
	return gs_buf_take(&text);
}

static void
assert_pairs(struct gs_store *store, const char *url, const char *expected)
{
	char *text = show_pairs(store, url);

	assert_string_equal(text != NULL ? text : "", expected);
	free(text);
}

static void
pairs_are_read_again_and_end(void **state)
{
	struct gs_store *store = made_store();

	(void)state;
	assert_pairs(store, URL, "");
	put_pair(store, URL, "", 0);
	put_pair(store, OTHER, REF, 1);
	assert_pairs(store, URL, "[]=0 ");
	assert_pairs(store, OTHER, "[" REF "]=1 ");
	put_pair(store, URL, REF, 1);
	put_pair(store, URL, "", 1);
	assert_pairs(store, URL, "[]=1 [" REF "]=1 ");
	assert_int_equal(made_faults(store), 0);
	end_of(store, GS_RECORD_END_PAIR, URL, REF);
	end_of(store, GS_RECORD_END_PAIR, URL, "never there");
	assert_pairs(store, URL, "[]=1 ");
	put_pair(store, URL, REF, 1);
	end_of(store, GS_RECORD_END_RELAY, URL, "");
	assert_pairs(store, URL, "");
	assert_pairs(store, OTHER, "[" REF "]=1 ");
	gs_store_close(store);
}

static void
a_pair_ahead_of_the_store_is_a_fault(void **state)
{
	struct gs_store *store = made_store();

	(void)state;
	put_pair(store, URL, "", 2);
	assert_int_equal(made_faults(store), 1);
	gs_store_close(store);
}

/* Compares with what it was made of, and counts. */
struct expected {
	const struct gs_progress_relay *relay;
	size_t num;
};

static bool
expect_relay(const struct gs_progress_relay *relay, void *arg)
{
	struct expected *expected = arg;
	const struct gs_progress_relay *want = expected->relay;

	expected->num++;
	assert_true(gs_str_equal(relay->url, want->url));
	assert_int_equal(relay->health.status, want->health.status);
	assert_int_equal(relay->health.failures, want->health.failures);
	assert_int_equal(relay->health.short_drops, want->health.short_drops);
	assert_int_equal(relay->health.counted_s, want->health.counted_s);
	assert_int_equal(relay->health.due_s, want->health.due_s);
	assert_int_equal(relay->health.last_success_s, want->health.last_success_s);
	assert_int_equal(relay->read_until_s, want->read_until_s);
	assert_int_equal(relay->last_full_s, want->last_full_s);
	assert_int_equal(relay->limits.subscriptions, want->limits.subscriptions);
	assert_int_equal(relay->limits.filters, want->limits.filters);
	assert_int_equal(relay->limits.bytes, want->limits.bytes);
	assert_int_equal(relay->limits.limit, want->limits.limit);
	assert_int_equal(relay->limits.subid_len, want->limits.subid_len);
	assert_int_equal(relay->num_refused, want->num_refused);
	for (size_t i = 0; i < want->num_refused; i++) {
		assert_memory_equal(relay->refused[i].filter, want->refused[i].filter,
		    32);
		assert_int_equal(relay->refused[i].failures, want->refused[i].failures);
		assert_int_equal(relay->refused[i].due_s, want->refused[i].due_s);
	}
	return true;
}

static size_t
read_relays(struct gs_store *store, const struct gs_progress_relay *want, size_t *damaged)
{
	struct expected expected = { want, 0 };
	struct gs_err err = { .code = GS_OK };
	struct gs_txn *txn = gs_store_read(store, &err);

	assert_non_null(txn);
	assert_true(gs_progress_relays(txn, expect_relay, &expected, damaged, &err));
	gs_txn_end(txn);
	return expected.num;
}

static void
fill_refused(struct gs_progress_refused *refused, size_t num)
{
	for (size_t i = 0; i < num; i++) {
		memset(refused[i].filter, (int)i, 32);
		refused[i].failures = (uint32_t)i;
		refused[i].due_s = (int64_t)i * 1000;
	}
}

static struct gs_progress_relay
make_relay(const struct gs_progress_refused *refused, size_t num)
{
	return (struct gs_progress_relay){ .url = text_of(URL),
		.health = { GS_HEALTH_DEAD, UINT32_MAX, 2, 86400, 1700000000, -1 },
		.read_until_s = 1700000001,
		.last_full_s = -1,
		.limits = { 20, 5, 65536, 500, 64 },
		.refused = refused,
		.num_refused = num };
}

static void
a_relay_is_read_again(void **state)
{
	struct gs_store *store = made_store();
	struct gs_progress_refused refused[3];
	struct gs_progress_relay relay;
	size_t damaged = 9;

	(void)state;
	fill_refused(refused, 3);
	relay = make_relay(refused, 3);
	assert_int_equal(read_relays(store, &relay, &damaged), 0);
	put_relay(store, &relay);
	assert_int_equal(read_relays(store, &relay, &damaged), 1);
	assert_int_equal(damaged, 0);
	relay.health.status = GS_HEALTH_HEALTHY;
	relay.num_refused = 0;
	put_relay(store, &relay);
	assert_int_equal(read_relays(store, &relay, &damaged), 1);
	assert_int_equal(made_faults(store), 0);
	end_of(store, GS_RECORD_END_RELAY, URL, "");
	assert_int_equal(read_relays(store, &relay, &damaged), 0);
	gs_store_close(store);
}

static void
refused_filters_are_bounded(void **state)
{
	struct gs_progress_refused *refused =
	    gs_mem_array(GS_PROGRESS_REFUSED + 1, sizeof(*refused));
	struct gs_store *store = made_store();
	struct gs_progress_relay relay;
	size_t damaged;

	(void)state;
	fill_refused(refused, GS_PROGRESS_REFUSED + 1);
	relay = make_relay(refused, GS_PROGRESS_REFUSED + 1);
	put_relay(store, &relay);
	relay.num_refused = GS_PROGRESS_REFUSED;
	assert_int_equal(read_relays(store, &relay, &damaged), 1);
	assert_int_equal(damaged, 0);
	assert_int_equal(made_faults(store), 0);
	gs_store_close(store);
	free(refused);
}

/* --- behind the store's back --- */

struct folder {
	char path[32];
};

static struct gs_store *
open_folder(const struct folder *folder, bool read_only)
{
	struct gs_store_options options = { .create = !read_only,
		.read_only = read_only };
	struct gs_err err = { .code = GS_OK };
	struct gs_store *store = gs_store_open(folder->path, &options, &err);

	if (store == NULL)
		fail_msg("%s", err.text);
	return store;
}

static struct folder
make_folder(void)
{
	struct folder folder = { "/tmp/progress.XXXXXX" };

	assert_non_null(mkdtemp(folder.path));
	gs_store_close(open_folder(&folder, false));
	return folder;
}

static void
remove_folder(const struct folder *folder)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "%s/data.mdb", folder->path);
	assert_int_equal(unlink(path), 0);
	(void)snprintf(path, sizeof(path), "%s/lock.mdb", folder->path);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(folder->path), 0);
}

typedef void edit_fn(MDB_txn *txn, MDB_dbi relay, MDB_dbi progress);

static void
edit(const struct folder *folder, edit_fn *fn)
{
	MDB_env *env;
	MDB_txn *txn;
	MDB_dbi relay, progress;

	assert_int_equal(mdb_env_create(&env), 0);
	assert_int_equal(mdb_env_set_maxdbs(env, 2), 0);
	assert_int_equal(mdb_env_open(env, folder->path, 0, 0600), 0);
	assert_int_equal(mdb_txn_begin(env, NULL, 0, &txn), 0);
	assert_int_equal(mdb_dbi_open(txn, "relay", 0, &relay), 0);
	assert_int_equal(mdb_dbi_open(txn, "progress", 0, &progress), 0);
	fn(txn, relay, progress);
	assert_int_equal(mdb_txn_commit(txn), 0);
	mdb_env_close(env);
}

static void
drop_tables(MDB_txn *txn, MDB_dbi relay, MDB_dbi progress)
{
	assert_int_equal(mdb_drop(txn, relay, 1), 0);
	assert_int_equal(mdb_drop(txn, progress, 1), 0);
}

static void
an_older_store_reads_as_empty_and_gets_the_tables(void **state)
{
	struct folder folder = make_folder();
	struct gs_store *store;
	size_t damaged;

	(void)state;
	edit(&folder, drop_tables);
	store = open_folder(&folder, true);
	assert_int_equal(read_relays(store, NULL, &damaged), 0);
	assert_int_equal(damaged, 0);
	assert_pairs(store, URL, "");
	assert_int_equal(made_faults(store), 0);
	gs_store_close(store);
	store = open_folder(&folder, false);
	put_pair(store, URL, REF, 1);
	gs_store_close(store);
	store = open_folder(&folder, true);
	assert_pairs(store, URL, "[" REF "]=1 ");
	gs_store_close(store);
	remove_folder(&folder);
}

static void
set_row(MDB_txn *txn, MDB_dbi db, const char *named, struct gs_str value)
{
	uint8_t hash[64] = { 0 };
	size_t len = strlen(named);
	bool is_pair = value.len > 0 && value.ptr[0] != '{';
	MDB_val key = { is_pair ? 64 : 32, hash }, val = { value.len, (void *)value.ptr };

	(void)crypto_hash_sha256(hash, (const uint8_t *)named, len);
	assert_int_equal(mdb_put(txn, db, &key, &val, 0), 0);
}

#define BAD_RELAYS 9
#define BAD_PAIRS 4

static void
damage(MDB_txn *txn, MDB_dbi relay, MDB_dbi progress)
{
	static const char *const rows[BAD_RELAYS] = { "{", "{}", "{\"url\":1}",
		"{\"url\":\"wss://not-the-key\"}",
		"{\"url\":\"wss://d4\",\"status\":\"odd\"}",
		"{\"url\":\"wss://d5\",\"failures\":-1}",
		"{\"url\":\"wss://d6\",\"refused\":[[\"00\",1,2]]}",
		"{\"url\":\"wss://d7\",\"refused\":{}}",
		"{\"url\":\"wss://d8\",\"due\":1e3}" };

	for (int i = 0; i < BAD_RELAYS; i++) {
		char name[] = "wss://d0";

		name[sizeof(name) - 2] = (char)('0' + i);
		set_row(txn, relay, name, gs_str_of(rows[i]));
	}
	/* each under a key that begins with the hash of OTHER, as its own pairs do */
	set_row(txn, progress, OTHER,
	    (struct gs_str){ "\0\0\0\0\0\0\0\1\0\23wrong.example", 23 });
	set_row(txn, progress, "wss://p1", GS_STR("\0"));
	set_row(txn, progress, "wss://p2", GS_STR("\0\0\0\0\0\0\0\1\0\0"));
	set_row(txn, progress, "wss://p3", GS_STR("\0\0\0\0\0\0\0\1\377\377wss://p3"));
}

static void
damaged_rows_are_passed_over_and_counted(void **state)
{
	struct folder folder = make_folder();
	struct gs_progress_relay relay = make_relay(NULL, 0);
	struct gs_store *store = open_folder(&folder, false);
	size_t damaged;

	(void)state;
	put_relay(store, &relay);
	put_pair(store, OTHER, REF, 1);
	gs_store_close(store);
	edit(&folder, damage);
	store = open_folder(&folder, true);
	assert_int_equal(read_relays(store, &relay, &damaged), 1);
	assert_int_equal(damaged, BAD_RELAYS);
	assert_pairs(store, OTHER, "[" REF "]=1 ");
	assert_pairs(store, "wss://p1", "");
	assert_pairs(store, "wss://p2", "");
	assert_pairs(store, "wss://p3", "");
	assert_int_equal(made_faults(store), BAD_RELAYS + BAD_PAIRS);
	gs_store_close(store);
	store = open_folder(&folder, false);
	end_of(store, GS_RECORD_END_RELAY, OTHER, "");
	assert_pairs(store, OTHER, "");
	assert_int_equal(made_faults(store), BAD_RELAYS + BAD_PAIRS - 1);
	gs_store_close(store);
	remove_folder(&folder);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pairs_are_read_again_and_end),
		cmocka_unit_test(a_pair_ahead_of_the_store_is_a_fault),
		cmocka_unit_test(a_relay_is_read_again),
		cmocka_unit_test(refused_filters_are_bounded),
		cmocka_unit_test(an_older_store_reads_as_empty_and_gets_the_tables),
		cmocka_unit_test(damaged_rows_are_passed_over_and_counted),
	};

	return cmocka_run_group_tests_name("progress", tests, NULL, NULL);
}
