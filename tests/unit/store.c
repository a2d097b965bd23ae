/* store: what stands, whatever the order; indexes, walks, checks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sodium.h>
#include <stdlib.h>

#include "made_store.h"
#include "mem.h"

#define NOW MADE_NOW
#define MAX_EVENTS 8

static enum gs_known
put(struct gs_store *store, const struct gs_event *event, bool vanish)
{
	struct gs_put how = { .now_s = NOW, .vanish = vanish };
	struct gs_err err;
	struct gs_txn *txn = gs_store_write(store, &err);
	enum gs_known known = gs_store_known(txn, event->id);

	assert_non_null(txn);
	if (known == GS_UNKNOWN)
		assert_true(gs_store_put(txn, event, &how, &known, &err));
	assert_true(gs_txn_commit(txn, &err));
	return known;
}

/* Puts the events in every order; what stands must be the same, and be num events. */
static void
assert_any_order(struct gs_event *events, size_t num, size_t standing)
{
	size_t order[MAX_EVENTS];
	size_t counters[MAX_EVENTS] = { 0 };
	char *first = NULL;
	size_t i = 0;

	for (size_t k = 0; k < num; k++)
		order[k] = k;
	for (;;) { /* Heap's algorithm */
		struct gs_store *store = made_store();
		size_t lines;
		char *text;

		for (size_t k = 0; k < num; k++)
			(void)put(store, &events[order[k]],
			    events[order[k]].kind == GS_KIND_VANISH);
		text = made_export(store, &lines);
		assert_int_equal(lines, standing);
		if (first == NULL)
			first = gs_mem_str(text);
		assert_string_equal(text, first);
		assert_int_equal(made_faults(store), 0);
		free(text);
		gs_store_close(store);
		while (i < num && counters[i] >= i)
			counters[i++] = 0;
		if (i >= num)
			break;
		size_t j = i % 2 == 0 ? 0 : counters[i];
		size_t swap = order[j];

		order[j] = order[i];
		order[i] = swap;
		counters[i]++;
		i = 1;
	}
	free(first);
}

static void
newest_version_stands(void **state)
{
	struct gs_event e[4] = { 0 };

	(void)state;
	make_event(&e[0], 30617, 1, 10, "[['d','x'],['n','a']]");
	make_event(&e[1], 30617, 1, 20, "[['d','x'],['n','b']]");
	make_event(&e[2], 30617, 1, 20, "[['d','x'],['n','c']]");
	make_event(&e[3], 30617, 1, 20, "[['d','y']]");
	assert_any_order(e, 4, 2);
	made_fini(e, 4);
}

static void
lowest_id_wins_a_tie(void **state)
{
	struct gs_event e[2] = { 0 };
	struct gs_store *store = made_store();
	const struct gs_event *low;
	struct gs_address address = { .kind = 30617, .d = { "x", 1 } };
	struct gs_row row;
	struct gs_txn *txn;

	(void)state;
	make_event(&e[0], 30617, 1, 20, "[['d','x'],['n','b']]");
	make_event(&e[1], 30617, 1, 20, "[['d','x'],['n','c']]");
	low = memcmp(e[0].id, e[1].id, 32) < 0 ? &e[0] : &e[1];
	(void)put(store, &e[0], false);
	(void)put(store, &e[1], false);
	memset(address.pubkey, 1, 32);
	txn = gs_store_read(store, NULL);
	assert_true(gs_store_current(txn, &address, &row));
	assert_memory_equal(row.id, low->id, 32);
	gs_txn_end(txn);
	gs_store_close(store);
	made_fini(e, 2);
}

static void
missing_d_is_the_empty_one(void **state)
{
	struct gs_event e[4] = { 0 };

	(void)state;
	make_event(&e[0], 30617, 1, 10, "[]");
	make_event(&e[1], 30617, 1, 20, "[['d']]");
	make_event(&e[2], 30617, 1, 30, "[['d','']]");
	make_event(&e[3], 30617, 1, 40, "[['d',''],['d','x']]");
	assert_any_order(e, 4, 1);
	made_fini(e, 4);
}

static void
deletion_by_address_takes_its_own_second(void **state)
{
	struct gs_event e[5] = { 0 };
	char key[MADE_HEX], tags[200];

	(void)state;
	make_event(&e[0], 30617, 1, 10, "[['d','a:b']]");
	make_event(&e[1], 30617, 1, 20, "[['d','a:b']]");
	(void)snprintf(tags, sizeof(tags), "[['a','30617:%s:a:b']]", made_key(key, 1));
	make_event(&e[2], 5, 1, 20, tags);
	make_event(&e[3], 30617, 2, 10, "[['d','a:b']]");
	make_event(&e[4], 5, 2, 30, tags); /* of somebody else: nothing */
	assert_any_order(e, 5, 3);
	make_event(&e[3], 30617, 1, 21, "[['d','a:b']]");
	assert_any_order(e, 4, 2);
	made_fini(e, 5);
}

static void
deletion_by_id_takes_older_versions_too(void **state)
{
	struct gs_event e[5] = { 0 };
	char id[MADE_HEX], tags[200];

	(void)state;
	make_event(&e[0], 30618, 1, 10, "[['d','x']]");
	make_event(&e[1], 30618, 1, 20, "[['d','x']]");
	(void)snprintf(tags, sizeof(tags), "[['e','%s']]", made_id(id, &e[1]));
	make_event(&e[2], 5, 1, 5, tags); /* no time limit */
	assert_any_order(e, 3, 1);
	make_event(&e[3], 30618, 1, 30, "[['d','x']]");
	assert_any_order(e, 4, 2);
	make_event(&e[2], 5, 2, 50, tags);
	assert_any_order(e, 4, 2);
	made_fini(e, 5);
}

static void
deletion_of_regular_events_and_of_deletions(void **state)
{
	struct gs_event e[5] = { 0 };
	char id[MADE_HEX], tags[200];

	(void)state;
	make_event(&e[0], 1621, 1, 100, "[['a','30617:x:y']]");
	(void)snprintf(tags, sizeof(tags), "[['e','%s'],['e'],['e',''],['a',''],['a']]",
	    made_id(id, &e[0]));
	make_event(&e[1], 5, 1, 50, tags);
	(void)snprintf(tags, sizeof(tags), "[['e','%s']]", made_id(id, &e[1]));
	make_event(&e[2], 5, 1, 60, tags); /* has no effect */
	make_event(&e[3], 1621, 1, 100, "[['a','30617:x:z']]");
	assert_any_order(e, 4, 3);
	made_fini(e, 5);
}

static void
vanish_takes_all_up_to_its_date(void **state)
{
	struct gs_event e[6] = { 0 };
	char id[MADE_HEX], tags[200];

	(void)state;
	make_event(&e[0], 1621, 1, 10, "[]");
	make_event(&e[1], 30617, 1, 20, "[['d','x']]");
	make_event(&e[2], 30617, 1, 31, "[['d','x']]");
	make_event(&e[3], 62, 1, 30, "[['relay','ALL_RELAYS']]");
	(void)snprintf(tags, sizeof(tags), "[['e','%s']]", made_id(id, &e[2]));
	make_event(&e[4], 5, 1, 25, tags); /* vanishes, yet has acted */
	assert_any_order(e, 5, 1);
	make_event(&e[4], 1, 2, 5, "[]");
	assert_any_order(e, 5, 3);
	made_fini(e, 6);
}

static void
expired_version_still_replaces(void **state)
{
	struct gs_event e[3] = { 0 };

	(void)state;
	make_event(&e[0], 30617, 1, 10, "[['d','x']]");
	make_event(&e[1], 30617, 1, 20, "[['d','x'],['expiration','999999']]");
	make_event(&e[2], 1, 1, 20, "[['expiration','1000000']]");
	assert_any_order(e, 3, 0);
	make_event(&e[2], 1, 1, 20, "[['expiration','1000001']]");
	assert_any_order(e, 3, 1);
	made_fini(e, 3);
}

static void
expiry_comes_without_a_new_event(void **state)
{
	struct gs_store *store = made_store();
	struct gs_event e[2] = { 0 };
	struct gs_walk walk = { .since = -1, .until = -1, .now_s = NOW + 10 };
	struct gs_buf listing = GS_BUF_INIT;
	struct gs_err err;
	struct gs_txn *txn;
	size_t lines;
	char *text;

	(void)state;
	make_event(&e[0], 30617, 1, 10, "[['d','x']]");
	make_event(&e[1], 30617, 1, 20, "[['d','x'],['expiration','1000010']]");
	(void)put(store, &e[0], false);
	assert_int_equal(put(store, &e[1], false), GS_KNOWN_STORED);
	assert_true(gs_store_walk(store, &walk, made_add_line, &listing, &err));
	assert_int_equal(listing.len, 0);
	txn = gs_store_write(store, &err);
	assert_true(gs_store_expire(txn, NOW + 9, NULL, &err));
	assert_int_equal(gs_store_known(txn, e[1].id), GS_KNOWN_STORED);
	assert_true(gs_store_expire(txn, NOW + 10, NULL, &err));
	assert_int_equal(gs_store_known(txn, e[1].id), GS_KNOWN_EXPIRED);
	assert_true(gs_txn_commit(txn, &err));
	text = made_export(store, &lines);
	assert_string_equal(text, "");
	assert_int_equal(made_faults(store), 0);
	free(text);
	gs_buf_fini(&listing);
	gs_store_close(store);
	made_fini(e, 2);
}

static bool
list_root(const struct gs_stored_root *root, void *arg)
{
	gs_buf_printf(arg, "%zu %02x %lld %llu\n", root->ref.len, root->id[0],
	    (long long)root->created_at, (unsigned long long)root->sequence);
	return true;
}

static void
roots_come_from_the_index(void **state)
{
	struct gs_store *store = made_store();
	struct gs_buf listing = GS_BUF_INIT;
	struct gs_event e[4] = { 0 };
	struct gs_buf tags = GS_BUF_INIT;
	char key[MADE_HEX], want[100];
	struct gs_txn *txn;
	struct gs_err err;

	(void)state;
	gs_buf_printf(&tags,
	    "[['a','30617:%s:x'],['a','npub1/x'],['a','30617:%s:", made_key(key, 1), key);
	for (int i = 0; i < 300; i++)
		gs_buf_add_char(&tags, 'l');
	gs_buf_add_str(&tags, "']]");
	make_event(&e[0], 1618, 2, 10, tags.data);
	gs_buf_clear(&tags);
	gs_buf_printf(&tags, "[['a','30617:%s:x']]", key);
	make_event(&e[1], 1, 2, 11, tags.data); /* not a root kind */
	gs_buf_clear(&tags);
	gs_buf_printf(&tags, "[['a','30617:%s:x'],['expiration','1000005']]", key);
	make_event(&e[2], 1621, 2, 12, tags.data);
	for (int i = 0; i < 3; i++)
		(void)put(store, &e[i], false);
	txn = gs_store_read(store, &err);
	assert_true(gs_store_roots(txn, NOW + 5, list_root, &listing, &err));
	gs_txn_end(txn);
	(void)snprintf(want, sizeof(want), "72 %02x 10 1\n371 %02x 10 1\n", e[0].id[0],
	    e[0].id[0]);
	assert_string_equal(listing.data, want);
	gs_buf_fini(&listing);
	gs_buf_fini(&tags);
	gs_store_close(store);
	made_fini(e, 3);
}

static bool
count_row(const struct gs_row *row, void *arg)
{
	size_t *count = arg;

	(void)row;
	(*count)++;
	return true;
}

static void
walks_both_ways_within_bounds(void **state)
{
	struct gs_store *store = made_store();
	static const uint16_t kinds[] = { 7, 7, 1 };
	struct gs_walk walk = { .since = 100, .until = 1600, .now_s = NOW };
	struct gs_event event = { 0 };
	struct gs_put how = { .now_s = NOW };
	enum gs_known known;
	struct gs_err err;
	struct gs_txn *txn = gs_store_write(store, &err);
	struct gs_buf up = GS_BUF_INIT, down = GS_BUF_INIT;
	size_t count = 0;

	(void)state;
	for (int i = 0; i < 2000; i++) { /* over one chunk, equal dates */
		char tags[40];

		(void)snprintf(tags, sizeof(tags), "[['n','%d']]", i);
		make_event(&event, i % 3 ? 1 : 7, 1, i / 2 * 2, tags);
		assert_true(gs_store_put(txn, &event, &how, &known, &err));
	}
	assert_true(gs_txn_commit(txn, &err));
	assert_true(gs_store_walk(store, &walk, made_add_line, &up, &err));
	walk.newest_first = true;
	assert_true(gs_store_walk(store, &walk, made_add_line, &down, &err));
	assert_int_equal(up.len, down.len);
	walk.kinds = kinds;
	walk.num_kinds = 3;
	assert_true(gs_store_walk(store, &walk, count_row, &count, &err));
	assert_int_equal(count, 1502);
	gs_buf_fini(&up);
	gs_buf_fini(&down);
	gs_event_fini(&event);
	gs_store_close(store);
}

static void
full_map_grows_and_loses_nothing(void **state)
{
	struct gs_store_options options = { .scratch = true, .map_bytes = 256 * 1024 };
	struct gs_err err;
	struct gs_store *store = gs_store_open(NULL, &options, &err);
	struct gs_event event = { 0 };
	struct gs_put how = { .now_s = NOW };
	int grown = 0;

	(void)state;
	for (int i = 0; i < 600; i++) {
		struct gs_txn *txn = gs_store_write(store, &err);
		enum gs_known known;
		char tags[400];

		assert_non_null(txn);
		(void)snprintf(tags, sizeof(tags), "[['n','%0300d']]", i);
		make_event(&event, 1, 1, i, tags);

		bool put = gs_store_put(txn, &event, &how, &known, &err);

		if (!put)
			gs_txn_end(txn);
		if (put && gs_txn_commit(txn, &err))
			continue;
		assert_int_equal(err.code, GS_EINCOMPLETE);
		assert_true(gs_store_grow(store, &err));
		grown++;
		i--;
	}
	assert_true(grown > 0);
	assert_int_equal(made_faults(store), 0);
	gs_event_fini(&event);
	gs_store_close(store);
}

static void
says_what_is_wrong_with_a_folder(void **state)
{
	struct gs_store_options options = { .read_only = true };
	struct gs_err err;

	(void)state;
	assert_null(gs_store_open("/nonexistent/store", &options, &err));
	assert_int_equal(err.code, GS_ENOINPUT);
	options = (struct gs_store_options){ .create = true };
	assert_null(gs_store_open("/nonexistent/store", &options, &err));
	assert_int_equal(err.code, GS_ECREATE);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(newest_version_stands),
		cmocka_unit_test(lowest_id_wins_a_tie),
		cmocka_unit_test(missing_d_is_the_empty_one),
		cmocka_unit_test(deletion_by_address_takes_its_own_second),
		cmocka_unit_test(deletion_by_id_takes_older_versions_too),
		cmocka_unit_test(deletion_of_regular_events_and_of_deletions),
		cmocka_unit_test(vanish_takes_all_up_to_its_date),
		cmocka_unit_test(expired_version_still_replaces),
		cmocka_unit_test(expiry_comes_without_a_new_event),
		cmocka_unit_test(roots_come_from_the_index),
		cmocka_unit_test(walks_both_ways_within_bounds),
		cmocka_unit_test(full_map_grows_and_loses_nothing),
		cmocka_unit_test(says_what_is_wrong_with_a_folder),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
