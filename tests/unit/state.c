/* The state: an entry a name, lists in order, once each, all memory given back. */
#include <setjmp.h>
#include <sodium.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "state.h"

static void
make_id(uint8_t id[static 32], unsigned number)
{
	memset(id, 0, 32);
	id[0] = (uint8_t)(number >> 24);
	id[1] = (uint8_t)(number >> 16);
	id[2] = (uint8_t)(number >> 8);
	id[3] = (uint8_t)number;
}

static void
add_root(struct gs_repo *repo, unsigned number)
{
	uint8_t id[32];

	make_id(id, number);
	gs_repo_add_root(repo, id);
}

static void
names_are_one_entry_each(void **arg)
{
	struct gs_state *state = gs_state_new();
	struct gs_repo *repo = gs_state_add_repo(state, GS_STR("30617:a:b"));
	struct gs_relay_entry *relay = gs_state_add_relay(state, GS_STR("wss://a"));

	(void)arg;
	assert_ptr_equal(gs_state_add_repo(state, GS_STR("30617:a:b")), repo);
	assert_ptr_not_equal(gs_state_add_repo(state, GS_STR("30617:a:c")), repo);
	assert_ptr_equal(gs_state_add_relay(state, GS_STR("wss://a")), relay);
	assert_ptr_not_equal(gs_state_add_relay(state, GS_STR("wss://b")), relay);
	assert_true(gs_str_is(repo->ref, "30617:a:b"));
	assert_true(gs_str_is(relay->url, "wss://a"));
	assert_false(relay->is_synced);
	assert_null(relay->status);
	gs_state_free(state);
}

static void
services_keep_their_order(void **arg)
{
	struct gs_state *state = gs_state_new();

	(void)arg;
	gs_state_add_service(state, GS_STR("z.example"));
	gs_state_add_service(state, GS_STR("a.example"));
	gs_state_add_service(state, GS_STR("z.example"));
	gs_state_sort(state);
	assert_int_equal(state->num_services, 2);
	assert_true(gs_str_is(state->services[0], "z.example"));
	assert_true(gs_str_is(state->services[1], "a.example"));
	gs_state_free(state);
}

static void
roots_are_sorted_once_each(void **arg)
{
	static const unsigned numbers[] = { 7, 3, 70000, 3, 7, 7, 1, 256, 3 };
	static const unsigned want[] = { 1, 3, 7, 256, 70000 };
	struct gs_state *state = gs_state_new();
	struct gs_repo *repo = gs_state_add_repo(state, GS_STR("r"));
	struct gs_repo *empty = gs_state_add_repo(state, GS_STR("empty"));
	size_t i;

	(void)arg;
	for (i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		add_root(repo, numbers[i]);
	gs_state_sort(state);
	assert_int_equal(repo->num_roots, sizeof(want) / sizeof(*want));
	for (i = 0; i < repo->num_roots; i++) {
		uint8_t id[32];

		make_id(id, want[i]);
		assert_memory_equal(repo->roots[i], id, 32);
	}
	assert_int_equal(empty->num_roots, 0);
	gs_state_free(state);
}

static void
sequences_stay_with_their_roots(void **arg)
{
	static const unsigned numbers[] = { 7, 3, 70000, 3, 1, 256 };
	static const unsigned want[] = { 1, 3, 7, 256, 70000 };
	struct gs_state *state = gs_state_new();
	struct gs_repo *repo = gs_state_add_repo(state, GS_STR("r"));

	(void)arg;
	for (size_t round = 0; round < 2; round++) {
		for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
			uint8_t id[32];

			make_id(id, numbers[i]);
			gs_repo_add_stored_root(repo, id, 2 * numbers[i]);
		}
		gs_state_sort(state);
		assert_int_equal(repo->num_roots, 5);
		for (size_t i = 0; i < 5; i++) {
			uint8_t id[32];

			make_id(id, want[i]);
			assert_memory_equal(repo->roots[i], id, 32);
			assert_int_equal(repo->sequences[i], 2 * want[i]);
		}
	}
	gs_state_free(state);
}

static void
a_sorted_repo_can_grow_again(void **arg)
{
	struct gs_state *state = gs_state_new();
	struct gs_repo *repo = gs_state_add_repo(state, GS_STR("r"));
	unsigned i;

	(void)arg;
	for (i = 20; i > 0; i--) {
		add_root(repo, i);
		gs_state_sort(state);
	}
	assert_int_equal(repo->num_roots, 20);
	assert_int_equal(repo->roots[0][3], 1);
	assert_int_equal(repo->roots[19][3], 20);
	gs_state_free(state);
}

static void
repos_of_a_relay_are_sorted_once_each(void **arg)
{
	struct gs_state *state = gs_state_new();
	struct gs_repo *b = gs_state_add_repo(state, GS_STR("b"));
	struct gs_repo *a = gs_state_add_repo(state, GS_STR("a"));
	struct gs_relay_entry *relay = gs_state_add_relay(state, GS_STR("wss://r"));

	(void)arg;
	gs_relay_add_repo(relay, b);
	gs_relay_add_repo(relay, a);
	gs_relay_add_repo(relay, b);
	assert_true(relay->is_synced);
	gs_state_sort(state);
	assert_int_equal(relay->num_repos, 2);
	assert_ptr_equal(relay->repos[0], a);
	assert_ptr_equal(relay->repos[1], b);
	gs_state_free(state);
}

static void
bootstrap_relays_are_synced(void **arg)
{
	struct gs_state *state = gs_state_new();
	struct gs_relay_entry *boot = gs_state_add_relay(state, GS_STR("wss://boot"));
	struct gs_relay_entry *other = gs_state_add_relay(state, GS_STR("wss://other"));

	(void)arg;
	boot->is_bootstrap = true;
	gs_state_sort(state);
	assert_true(boot->is_synced);
	assert_false(other->is_synced);
	gs_state_free(state);
}

static void
status_begins_with_nothing_known(void **arg)
{
	struct gs_state *state = gs_state_new();
	struct gs_relay_entry *relay = gs_state_add_relay(state, GS_STR("wss://r"));
	struct gs_relay_status *status = gs_relay_add_status(relay);

	(void)arg;
	assert_ptr_equal(gs_relay_add_status(relay), status);
	assert_null(status->status);
	assert_int_equal(status->failures, -1);
	assert_int_equal(status->read_until, -1);
	assert_int_equal(status->last_success, -1);
	assert_int_equal(status->last_full_sync, -1);
	gs_status_add_pending(status, GS_STR("b"));
	gs_status_add_pending(status, GS_STR("a"));
	gs_status_add_pending(status, GS_STR("b"));
	gs_state_sort(state);
	assert_int_equal(status->num_pending, 2);
	assert_true(gs_str_is(status->pending[0], "a"));
	assert_true(gs_str_is(status->pending[1], "b"));
	gs_state_free(state);
}

/* Long enough that anything quadratic would be felt. */
static void
many_repos_and_roots(void **arg)
{
	struct gs_state *state = gs_state_new();
	struct gs_relay_entry *relay = gs_state_add_relay(state, GS_STR("wss://r"));
	unsigned i, j;

	(void)arg;
	for (i = 0; i < 5000; i++) {
		char ref[32];
		struct gs_repo *repo;

		(void)snprintf(ref, sizeof(ref), "repo-%u", 5000 - i);
		repo = gs_state_add_repo(state, gs_str_of(ref));
		gs_relay_add_repo(relay, repo);
		for (j = 0; j < 50; j++)
			add_root(repo, 50 - j);
	}
	gs_state_sort(state);
	assert_int_equal(gs_map_count(state->repos), 5000);
	assert_int_equal(relay->num_repos, 5000);
	for (i = 1; i < 5000; i++)
		assert_true(gs_str_compare(relay->repos[i - 1]->ref,
				relay->repos[i]->ref) < 0);
	assert_int_equal(relay->repos[0]->num_roots, 50);
	gs_state_free(state);
}

static void
nothing_is_freed_as_well(void **arg)
{
	struct gs_state *state = gs_state_new();

	(void)arg;
	gs_state_free(NULL);
	gs_state_sort(state);
	assert_int_equal(gs_map_count(state->repos), 0);
	gs_state_free(state);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_one_entry_each),
		cmocka_unit_test(services_keep_their_order),
		cmocka_unit_test(roots_are_sorted_once_each),
		cmocka_unit_test(sequences_stay_with_their_roots),
		cmocka_unit_test(a_sorted_repo_can_grow_again),
		cmocka_unit_test(repos_of_a_relay_are_sorted_once_each),
		cmocka_unit_test(bootstrap_relays_are_synced),
		cmocka_unit_test(status_begins_with_nothing_known),
		cmocka_unit_test(many_repos_and_roots),
		cmocka_unit_test(nothing_is_freed_as_well),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
