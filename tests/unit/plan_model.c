/*
 * A plan against a model that knows only what was given out and what of it was read:
 * whatever happens in whatever order, all that is wanted is in some part, and no number
 * says more than was read.  usage: plan_model [SEEDS [FIRST]]
 */
#include <setjmp.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "plan.h"

#define PK "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define REPOS 6
#define LONG_REPO 2
#define ROOTS 400
#define PARTS 2000
#define STEPS 150
#define LAYER_1 REPOS
#define ALL_LETTERS 7u

static unsigned seeds = 40, first_seed, seed;

/* A part, and for whom it was asked: bits of repos. */
struct model_part {
	unsigned letter; /* bit: the first, second or third of its layer */
	bool is_layer_1, is_read, is_noted;
	uint8_t refs;	      /* that it holds */
	uint8_t roots[ROOTS]; /* those of these repos that it holds */
	uint8_t holds[ROOTS]; /* it holds the root at all */
};

struct world {
	uint64_t random;
	struct gs_now now;
	struct gs_plan *plan;
	struct gs_state *state;
	bool has_sequences;
	uint64_t sequence; /* of the store */
	/* what is wanted */
	uint8_t listed;
	uint8_t of[ROOTS]; /* the repos of a root, as it stands now */
	uint64_t stored_at[ROOTS];
	size_t num_roots;
	/* what was read: bits of letters */
	uint8_t ref_read[REPOS], root_read[REPOS][ROOTS];
	bool is_layer_1_read;
	int64_t stored[REPOS + 1]; /* numbers that the store has; -1 */
	struct model_part parts[PARTS];
	size_t num_parts;
};

static size_t
pick(struct world *world, size_t num)
{
	world->random ^= world->random << 13;
	world->random ^= world->random >> 7;
	world->random ^= world->random << 17;
	return (size_t)(world->random >> 11) % num;
}

static void
write_ref(char ref[static 400], size_t repo)
{
	/* one of them is too long to stand with others */
	(void)snprintf(ref, 400, "30617:" PK ":%0*zu", repo == LONG_REPO ? 200 : 3, repo);
}

static size_t
repo_of(struct gs_str ref)
{
	return ref.len == 0 ? LAYER_1 : (size_t)(ref.ptr[ref.len - 1] - '0');
}

/* --- states --- */

static struct gs_state *
make_state(const struct world *world)
{
	struct gs_state *state = gs_state_new();
	struct gs_relay_entry *entry = gs_state_add_relay(state, GS_STR("wss://r"));

	for (size_t i = 0; i < REPOS; i++) {
		struct gs_repo *repo;
		char ref[400];

		write_ref(ref, i);
		repo = gs_state_add_repo(state, gs_str_of(ref));
		if (world->listed & 1u << i)
			gs_relay_add_repo(entry, repo);
		for (size_t root = 0; root < world->num_roots; root++) {
			uint8_t id[32] = { (uint8_t)(root * 97), (uint8_t)(root >> 8),
				(uint8_t)root };

			if (!(world->of[root] & 1u << i))
				continue;
			if (world->has_sequences)
				gs_repo_add_stored_root(repo, id, world->stored_at[root]);
			else
				gs_repo_add_root(repo, id);
		}
	}
	gs_state_sort(state);
	return state;
}

static const struct gs_relay_entry *
entry_of(const struct gs_state *state)
{
	return gs_map_get(state->relays, GS_STR("wss://r"));
}

/* --- parts --- */

static void
take_value(const struct world *world, struct model_part *part, struct gs_str value)
{
	uint8_t id[2] = { 0 };
	size_t root = 0;

	if (value.len != 64) {
		part->refs |= (uint8_t)(1u << repo_of(value));
		return;
	}
	for (size_t i = 0; i < 2; i++) {
		unsigned byte;

		assert_int_equal(sscanf(value.ptr + 2 + 2 * i, "%2x", &byte), 1);
		id[i] = (uint8_t)byte;
	}
	root = (size_t)id[0] << 8 | id[1];
	assert_true(root < world->num_roots);
	part->holds[root] = 1;
	part->roots[root] = world->of[root] & world->listed;
}

static void
take_part(struct world *world, const struct gs_plan_part *given)
{
	struct model_part *part = &world->parts[world->num_parts++];
	const struct gs_filter_tag *tag = given->filter.tags;
	char hex[65];

	assert_true(world->num_parts < PARTS);
	*part = (struct model_part){ .is_read = given->is_read };
	part->is_layer_1 = given->filter.num_kinds == 2;
	if (part->is_layer_1)
		return;
	assert_int_equal(given->filter.num_tags, 1);
	assert_true(tag->num > 0 && tag->num <= 100);
	part->letter = strchr("aAeE", tag->letter) == NULL ? 4u
	    : strchr("ae", tag->letter) != NULL		   ? 1u
							   : 2u;
	for (size_t i = 0; i < tag->num; i++)
		take_value(world, part, gs_filter_value(tag, i, hex));
	assert_true(!(part->refs & 1u << LONG_REPO) || tag->num == 1);
}

static void
take_parts(struct world *world)
{
	size_t waiting = gs_plan_num_waiting(world->plan);
	struct gs_plan_part part;

	while (gs_plan_next(world->plan, &part)) {
		assert_int_equal(gs_plan_num_waiting(world->plan), --waiting);
		take_part(world, &part);
		gs_filter_fini(&part.filter);
	}
	assert_int_equal(waiting, 0);
	assert_int_equal(gs_plan_num_parts(world->plan), world->num_parts);
}

/* --- what must hold --- */

static void
check_number(const struct world *world, size_t repo, uint64_t number)
{
	assert_true(number <= world->sequence);
	if (repo == LAYER_1) {
		assert_true(world->is_layer_1_read);
		return;
	}
	assert_int_equal(world->ref_read[repo], ALL_LETTERS);
	for (size_t root = 0; root < world->num_roots; root++)
		if (world->of[root] & 1u << repo && world->stored_at[root] <= number)
			assert_int_equal(world->root_read[repo][root], ALL_LETTERS);
}

/* Every letter has a part; if only ones that pass for read, it was read. */
static void
check_cover(unsigned read, unsigned unread, unsigned was_read)
{
	assert_int_equal(read | unread, ALL_LETTERS);
	assert_int_equal((unread | was_read) & ALL_LETTERS, ALL_LETTERS);
}

static void
check_repo(const struct world *world, size_t repo)
{
	static unsigned read[ROOTS + 1], unread[ROOTS + 1];

	memset(read, 0, sizeof(read));
	memset(unread, 0, sizeof(unread));
	for (size_t i = 0; i < world->num_parts; i++) {
		const struct model_part *part = &world->parts[i];
		unsigned *to = part->is_read ? read : unread;

		if (part->refs & 1u << repo)
			to[ROOTS] |= part->letter;
		for (size_t root = 0; root < world->num_roots; root++)
			if (part->holds[root])
				to[root] |= part->letter;
	}
	check_cover(read[ROOTS], unread[ROOTS], world->ref_read[repo]);
	for (size_t root = 0; root < world->num_roots; root++)
		if (world->of[root] & 1u << repo)
			check_cover(read[root], unread[root],
			    world->root_read[repo][root]);
}

static void
lose_repo(struct world *world, size_t repo)
{
	world->stored[repo] = -1;
	world->ref_read[repo] = 0;
	memset(world->root_read[repo], 0, sizeof(world->root_read[repo]));
}

static void
settle(struct world *world)
{
	struct gs_str ref;
	uint64_t number;

	take_parts(world);
	while (gs_plan_next_read(world->plan, &ref, &number)) {
		check_number(world, repo_of(ref), number);
		world->stored[repo_of(ref)] = (int64_t)number;
	}
	while (gs_plan_next_ended(world->plan, &ref, world->now)) {
		assert_true(repo_of(ref) < REPOS);
		assert_false(world->listed & 1u << repo_of(ref));
		lose_repo(world, repo_of(ref));
	}
	for (size_t repo = 0; repo < REPOS; repo++)
		if (world->listed & 1u << repo)
			check_repo(world, repo);
}

/* --- what happens --- */

static void
pack(struct world *world)
{
	size_t num = gs_plan_num_packed(world->plan, entry_of(world->state));
	bool was_unread = false;

	world->num_parts = 0;
	gs_plan_pack(world->plan, entry_of(world->state), world->sequence, world->now);
	assert_int_equal(gs_plan_num_parts(world->plan), num);
	take_parts(world);
	assert_true(world->parts[0].is_layer_1);
	for (size_t i = 1; i < num; i++) {
		assert_false(was_unread && world->parts[i].is_read);
		was_unread |= !world->parts[i].is_read;
	}
}

static void
change_state(struct world *world)
{
	struct gs_state *after;

	world->sequence += pick(world, 3);
	after = make_state(world);
	gs_plan_grow(world->plan, entry_of(world->state), entry_of(after),
	    world->sequence, world->now);
	gs_state_free(world->state);
	world->state = after;
}

static void
store_roots(struct world *world)
{
	for (size_t num = pick(world, 60); num > 0 && world->num_roots < ROOTS; num--) {
		size_t root = world->num_roots++;

		world->stored_at[root] = ++world->sequence;
		world->of[root] = (uint8_t)(1u << pick(world, REPOS));
		if (pick(world, 4) == 0)
			world->of[root] |= (uint8_t)(1u << pick(world, REPOS));
	}
}

/* A root leaves a listed repository or comes (back) to it. */
static void
move_root(struct world *world)
{
	size_t root, repo = pick(world, REPOS);

	if (world->num_roots == 0 || !(world->listed & 1u << repo))
		return;
	root = pick(world, world->num_roots);
	world->of[root] ^= (uint8_t)(1u << repo);
	world->root_read[repo][root] = 0;
}

static void
note_part(struct world *world, size_t i)
{
	struct model_part *part = &world->parts[i];

	if (part->is_noted)
		return;
	gs_plan_note_read(world->plan, i);
	part->is_noted = true;
	if (part->is_read)
		return;
	world->is_layer_1_read |= part->is_layer_1;
	for (size_t repo = 0; repo < REPOS; repo++) {
		if (part->refs & 1u << repo)
			world->ref_read[repo] |= (uint8_t)part->letter;
		for (size_t root = 0; root < world->num_roots; root++)
			if (part->roots[root] & 1u << repo)
				world->root_read[repo][root] |= (uint8_t)part->letter;
	}
}

static void
note_some(struct world *world)
{
	size_t num = pick(world, 2 * world->num_parts + 1);

	while (num-- > 0)
		note_part(world, pick(world, world->num_parts));
}

/* The process ends; the next one knows what the store has. */
static void
restart(struct world *world)
{
	gs_plan_free(world->plan);
	world->plan = gs_plan_new();
	for (size_t i = 0; i <= REPOS; i++) {
		char ref[400] = "";

		if (i < REPOS)
			write_ref(ref, i);
		if (world->stored[i] >= 0)
			gs_plan_restore(world->plan, gs_str_of(ref),
			    (uint64_t)world->stored[i]);
	}
	pack(world);
}

static void
step(struct world *world)
{
	int64_t ms = (int64_t)pick(world, 40000);

	if (pick(world, 3) > 0)
		ms = 0;
	world->now.mono_ms += ms;
	world->now.wall_s += ms / 1000;
	settle(world); /* pairs whose time is over are lost before anything else */
	switch (pick(world, 12)) {
	case 0:
		pack(world);
		break;
	case 1:
		restart(world);
		break;
	case 2:
	case 3:
		world->listed ^= (uint8_t)(1u << pick(world, REPOS));
		change_state(world);
		break;
	case 4:
	case 5:
		store_roots(world);
		change_state(world);
		break;
	case 6:
		move_root(world);
		change_state(world);
		break;
	default:
		note_some(world);
		break;
	}
	settle(world);
}

/* When all was read, nothing is pending, and packing anew reads nothing again. */
static void
finish(struct world *world)
{
	size_t num;

	for (size_t i = 0; i < world->num_parts; i++)
		note_part(world, i);
	settle(world);
	free(gs_plan_list_pending(world->plan, &num));
	assert_int_equal(num, 0);
	for (size_t repo = 0; repo < REPOS; repo++)
		if (world->listed & 1u << repo)
			assert_true(world->stored[repo] >= 0);
	if (!world->has_sequences)
		return;
	restart(world);
	for (size_t i = 0; i < world->num_parts; i++)
		assert_true(world->parts[i].is_read);
}

static void
run_seed(void)
{
	static struct world world;

	memset(&world, 0, sizeof(world));
	world.random = 88172645463325252u + seed * 2654435761u;
	world.now = (struct gs_now){ 1000, 1700000000 };
	world.plan = gs_plan_new();
	world.has_sequences = pick(&world, 8) > 0;
	world.listed = (uint8_t)pick(&world, 1u << REPOS);
	for (size_t i = 0; i <= REPOS; i++)
		world.stored[i] = -1;
	store_roots(&world);
	world.state = make_state(&world);
	pack(&world);
	for (size_t i = 0; i < STEPS; i++)
		step(&world);
	finish(&world);
	gs_plan_free(world.plan);
	gs_state_free(world.state);
}

static void
holds_whatever_happens(void **arg)
{
	(void)arg;
	for (seed = first_seed; seed < first_seed + seeds; seed++)
		run_seed();
}

static int
tell_seed(void **arg)
{
	(void)arg;
	if (seed < first_seed + seeds)
		print_error("seed %u fails: plan_model 1 %u\n", seed, seed);
	return 0;
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(holds_whatever_happens, tell_seed)
	};

	if (sodium_init() < 0)
		return 1;
	if (argc > 1)
		seeds = (unsigned)strtoul(argv[1], NULL, 10);
	if (argc > 2)
		first_seed = (unsigned)strtoul(argv[2], NULL, 10);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
