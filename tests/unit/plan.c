/* The plan: what a relay is asked, in which parts, and when a pair is read. */
#include "plan.h"

#include <setjmp.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PK "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define REF(d) "30617:" PK ":" d
#define URL "wss://r.example"

static const struct gs_now start = { 1000, 1700000000 };

static struct gs_now
after_s(int64_t seconds)
{
	return (struct gs_now){ start.mono_ms + seconds * 1000, start.wall_s + seconds };
}

static struct gs_relay_entry *
make_entry(struct gs_state *state)
{
	return gs_state_add_relay(state, GS_STR(URL));
}

/* Adds the repo to the relay, with roots first .. last, each stored at its number. */
static void
add_repo(struct gs_state *state, const char *ref, unsigned first, unsigned last)
{
	struct gs_repo *repo = gs_state_add_repo(state, gs_str_of(ref));

	gs_relay_add_repo(make_entry(state), repo);
	for (unsigned i = first; i <= last && i > 0; i++) {
		uint8_t id[32] = { (uint8_t)(i >> 8), (uint8_t)i };

		gs_repo_add_stored_root(repo, id, i);
	}
	gs_state_sort(state);
}

/* A state with one repo, or none (NULL). */
static struct gs_state *
make_state(const char *ref, unsigned first, unsigned last)
{
	struct gs_state *state = gs_state_new();

	(void)make_entry(state);
	if (ref != NULL)
		add_repo(state, ref, first, last);
	return state;
}

/* The parts that wait, as "LETTERnumber of values" or "kinds", with ! if not read. */
static char *
list_parts(struct gs_plan *plan)
{
	struct gs_buf text = GS_BUF_INIT;
	struct gs_plan_part part;

	gs_buf_add_str(&text, "");
	while (gs_plan_next(plan, &part)) {
		if (part.filter.num_kinds > 0)
			gs_buf_add_str(&text, "kinds");
		else
			gs_buf_printf(&text, "%c%zu", part.filter.tags->letter,
			    part.filter.tags->num);
		gs_buf_add_str(&text, part.is_read ? " " : "! ");
		gs_filter_fini(&part.filter);
	}
	gs_buf_add_char(&text, '\n');
	return gs_buf_take(&text);
}

static void
assert_parts(struct gs_plan *plan, const char *want)
{
	size_t waiting = gs_plan_num_waiting(plan);
	char *text = list_parts(plan);

	assert_string_equal(text, want);
	assert_int_equal(gs_plan_num_waiting(plan), 0);
	assert_true(waiting > 0 || text[0] == '\n');
	free(text);
}

static void
note(struct gs_plan *plan, size_t first, size_t num)
{
	for (size_t i = first; i < first + num; i++)
		gs_plan_note_read(plan, i);
}

/* The next pair that is read is this one. */
static void
assert_read(struct gs_plan *plan, const char *ref, uint64_t sequence)
{
	struct gs_str got;
	uint64_t number;

	assert_true(gs_plan_next_read(plan, &got, &number));
	assert_true(gs_str_is(got, ref));
	assert_int_equal(number, sequence);
}

static void
assert_none_read(struct gs_plan *plan)
{
	struct gs_str got;
	uint64_t number;

	assert_false(gs_plan_next_read(plan, &got, &number));
}

static void
assert_pending(const struct gs_plan *plan, size_t want)
{
	size_t num;
	struct gs_str *refs = gs_plan_list_pending(plan, &num);

	for (size_t i = 1; i < num; i++)
		assert_true(gs_str_compare(refs[i - 1], refs[i]) < 0);
	assert_int_equal(num, want);
	free(refs);
}

static void
layer_1_is_a_pair_of_its_own(void **arg)
{
	struct gs_plan *plan = gs_plan_new();

	(void)arg;
	gs_plan_pack(plan, NULL, 5, start);
	assert_int_equal(gs_plan_num_parts(plan), 1);
	assert_int_equal(gs_plan_num_packed(plan, NULL), 1);
	assert_parts(plan, "kinds! \n");
	assert_none_read(plan);
	assert_pending(plan, 1);
	gs_plan_note_read(plan, 0);
	gs_plan_note_read(plan, 0);
	assert_read(plan, "", 5);
	assert_none_read(plan);
	assert_pending(plan, 0);
	gs_plan_pack(plan, NULL, 6, start);
	assert_parts(plan, "kinds \n");
	assert_int_equal(gs_plan_deadline_ms(plan), -1);
	gs_plan_free(plan);
}

static void
a_pair_is_read_when_all_its_parts_are(void **arg)
{
	struct gs_state *state = make_state(REF("x"), 1, 250);
	struct gs_plan *plan = gs_plan_new();

	(void)arg;
	gs_plan_pack(plan, make_entry(state), 250, start);
	assert_int_equal(gs_plan_num_parts(plan), 13);
	assert_parts(plan,
	    "kinds! a1! A1! q1! e100! E100! q100! e100! E100! q100! e50! E50! q50! \n");
	for (size_t i = 12; i > 1; i--) {
		gs_plan_note_read(plan, i);
		assert_none_read(plan);
	}
	assert_pending(plan, 2);
	gs_plan_note_read(plan, 1);
	assert_read(plan, REF("x"), 250);
	assert_pending(plan, 1);
	gs_plan_pack(plan, make_entry(state), 300, start);
	assert_parts(plan,
	    "kinds! a1 A1 q1 e100 E100 q100 e100 E100 q100 e50 E50 q50 \n");
	assert_none_read(plan);
	gs_plan_free(plan);
	gs_state_free(state);
}

static void
what_is_read_goes_before_what_is_not(void **arg)
{
	struct gs_state *state = make_state(REF("x"), 1, 30);
	struct gs_plan *plan = gs_plan_new();

	(void)arg;
	add_repo(state, REF("y"), 21, 40);
	add_repo(state, REF("z"), 5, 44);
	gs_plan_restore(plan, GS_STR(""), 20);
	gs_plan_restore(plan, GS_STR(REF("x")), 25);
	gs_plan_restore(plan, GS_STR(REF("y")), 40);
	assert_int_equal(gs_plan_num_packed(plan, make_entry(state)), 13);
	gs_plan_pack(plan, make_entry(state), 50, start);
	/* x reads 1 to 25, y 21 to 40; x has 26 to 30 to read, z its ref and 5 to 44 */
	assert_parts(plan, "kinds a2 A2 q2 e40 E40 q40 a1! A1! q1! e40! E40! q40! \n");
	note(plan, 10, 3);
	assert_read(plan, REF("x"), 50);
	assert_none_read(plan);
	note(plan, 7, 3);
	assert_read(plan, REF("z"), 50);
	assert_none_read(plan);
	gs_plan_free(plan);
	gs_state_free(state);
}

static void
long_refs_stand_alone(void **arg)
{
	struct gs_state *state = make_state(REF("x"), 0, 0);
	struct gs_plan *plan = gs_plan_new();
	char ref[400];

	(void)arg;
	(void)snprintf(ref, sizeof(ref), REF("%0185d"), 7);
	add_repo(state, ref, 0, 0);
	add_repo(state, REF("y"), 0, 0);
	gs_plan_restore(plan, gs_str_of(ref), 1);
	gs_plan_restore(plan, GS_STR(REF("y")), 1);
	assert_int_equal(gs_plan_num_packed(plan, make_entry(state)), 10);
	gs_plan_pack(plan, make_entry(state), 1, start);
	assert_parts(plan, "kinds! a1 A1 q1 a1 A1 q1 a1! A1! q1! \n");
	gs_plan_free(plan);
	gs_state_free(state);
}

static void
three_filters_share_their_values(void **arg)
{
	struct gs_state *state = make_state(REF("x"), 1, 3);
	struct gs_plan *plan = gs_plan_new();
	struct gs_plan_part parts[7];

	(void)arg;
	gs_plan_pack(plan, make_entry(state), 3, start);
	for (size_t i = 0; i < 7; i++)
		assert_true(gs_plan_next(plan, &parts[i]));
	for (size_t i = 1; i < 7; i += 3) {
		assert_ptr_equal(parts[i].filter.shared, parts[i + 1].filter.shared);
		assert_ptr_equal(parts[i].filter.shared, parts[i + 2].filter.shared);
	}
	assert_null(parts[4].filter.tags->values);
	gs_plan_free(plan);
	gs_state_free(state);
	for (size_t i = 0; i < 7; i++) {
		struct gs_buf json = GS_BUF_INIT;

		gs_filter_write(&parts[i].filter, &json);
		assert_true(json.len > 10);
		gs_buf_fini(&json);
		gs_filter_fini(&parts[i].filter);
	}
}

static void
growing_asks_only_for_what_is_new(void **arg)
{
	struct gs_state *before = make_state(REF("x"), 1, 10);
	struct gs_state *after = make_state(REF("x"), 1, 12);
	struct gs_plan *plan = gs_plan_new();

	(void)arg;
	gs_plan_pack(plan, make_entry(before), 10, start);
	assert_parts(plan, "kinds! a1! A1! q1! e10! E10! q10! \n");
	note(plan, 1, 5);
	gs_plan_grow(plan, make_entry(before), make_entry(after), 20, start);
	assert_int_equal(gs_plan_num_waiting(plan), 3);
	assert_parts(plan, "e2! E2! q2! \n");
	gs_plan_note_read(plan, 6);
	assert_none_read(plan); /* the new ones are not read yet */
	note(plan, 7, 3);
	assert_read(plan, REF("x"), 20);
	gs_plan_grow(plan, make_entry(after), make_entry(after), 30, start);
	assert_parts(plan, "\n");
	assert_false(gs_plan_is_untidy(plan, after_s(GS_PLAN_TIDY_S)));
	gs_plan_grow(plan, make_entry(after), make_entry(before), 30, start);
	assert_parts(plan, "\n");
	assert_false(gs_plan_is_untidy(plan, after_s(GS_PLAN_TIDY_S - 1)));
	assert_true(gs_plan_is_untidy(plan, after_s(GS_PLAN_TIDY_S)));
	assert_int_equal(gs_plan_deadline_ms(plan), after_s(GS_PLAN_TIDY_S).mono_ms);
	gs_plan_pack(plan, make_entry(before), 30, start);
	assert_parts(plan, "kinds! a1 A1 q1 e10 E10 q10 \n");
	assert_false(gs_plan_is_untidy(plan, after_s(GS_PLAN_TIDY_S)));
	gs_plan_free(plan);
	gs_state_free(before);
	gs_state_free(after);
}

static void
a_pair_that_comes_back_in_time_stays_read(void **arg)
{
	struct gs_state *with = make_state(REF("x"), 1, 10);
	struct gs_state *more = make_state(REF("x"), 1, 13);
	struct gs_state *without = make_state(NULL, 0, 0);
	struct gs_plan *plan = gs_plan_new();
	struct gs_str ref;

	(void)arg;
	gs_plan_restore(plan, GS_STR(REF("x")), 10);
	gs_plan_pack(plan, make_entry(with), 10, start);
	assert_parts(plan, "kinds! a1 A1 q1 e10 E10 q10 \n");
	gs_plan_grow(plan, make_entry(with), make_entry(without), 11, start);
	assert_int_equal(gs_plan_deadline_ms(plan), after_s(GS_PLAN_KEEP_S).mono_ms);
	assert_false(gs_plan_next_ended(plan, &ref, after_s(GS_PLAN_KEEP_S - 1)));
	gs_plan_grow(plan, make_entry(without), make_entry(more), 14,
	    after_s(GS_PLAN_KEEP_S - 1));
	assert_parts(plan, "a1 A1 q1 e10 E10 q10 e3! E3! q3! \n");
	assert_false(gs_plan_next_ended(plan, &ref, after_s(2 * GS_PLAN_KEEP_S)));
	gs_plan_grow(plan, make_entry(more), make_entry(without), 14, start);
	assert_true(gs_plan_next_ended(plan, &ref, after_s(GS_PLAN_KEEP_S)));
	assert_true(gs_str_is(ref, REF("x")));
	assert_false(gs_plan_next_ended(plan, &ref, after_s(GS_PLAN_KEEP_S)));
	note(plan, 13, 3); /* too late: the number is lost */
	assert_none_read(plan);
	gs_plan_grow(plan, make_entry(without), make_entry(with), 15, start);
	assert_parts(plan, "a1! A1! q1! e10! E10! q10! \n");
	note(plan, 16, 6);
	assert_read(plan, REF("x"), 15);
	gs_plan_free(plan);
	gs_state_free(with);
	gs_state_free(more);
	gs_state_free(without);
}

/* The relay is away all the time: nothing is packed, and yet a pair ends. */
static void
a_pair_ends_before_anything_is_packed(void **arg)
{
	struct gs_state *with = make_state(REF("x"), 1, 10);
	struct gs_state *without = make_state(NULL, 0, 0);
	struct gs_plan *plan = gs_plan_new();
	struct gs_str ref;

	(void)arg;
	gs_plan_restore(plan, GS_STR(REF("x")), 10);
	gs_plan_keep(plan, make_entry(with), start);
	assert_int_equal(gs_plan_deadline_ms(plan), -1);
	gs_plan_keep(plan, make_entry(without), start);
	assert_int_equal(gs_plan_deadline_ms(plan), after_s(GS_PLAN_KEEP_S).mono_ms);
	gs_plan_keep(plan, make_entry(with), after_s(GS_PLAN_KEEP_S - 1));
	assert_false(gs_plan_next_ended(plan, &ref, after_s(2 * GS_PLAN_KEEP_S)));
	gs_plan_keep(plan, NULL, start);
	assert_false(gs_plan_next_ended(plan, &ref, after_s(GS_PLAN_KEEP_S - 1)));
	assert_true(gs_plan_next_ended(plan, &ref, after_s(GS_PLAN_KEEP_S)));
	assert_true(gs_str_is(ref, REF("x")));
	assert_false(gs_plan_next_ended(plan, &ref, after_s(GS_PLAN_KEEP_S)));
	gs_plan_keep(plan, make_entry(with), after_s(GS_PLAN_KEEP_S));
	gs_plan_pack(plan, make_entry(with), 15, after_s(GS_PLAN_KEEP_S));
	assert_parts(plan, "kinds! a1! A1! q1! e10! E10! q10! \n");
	gs_plan_free(plan);
	gs_state_free(with);
	gs_state_free(without);
}

/* Over the cap on roots, an old one takes the place of one that left. */
static void
an_old_root_that_is_new_here_is_not_taken_for_read(void **arg)
{
	struct gs_state *before = make_state(REF("x"), 5, 10);
	struct gs_state *after = make_state(REF("x"), 4, 9);
	struct gs_plan *plan = gs_plan_new();

	(void)arg;
	gs_plan_restore(plan, GS_STR(REF("x")), 10);
	gs_plan_pack(plan, make_entry(before), 10, start);
	assert_parts(plan, "kinds! a1 A1 q1 e6 E6 q6 \n");
	gs_plan_grow(plan, make_entry(before), make_entry(after), 12, start);
	assert_parts(plan, "e1! E1! q1! \n");
	assert_read(plan, REF("x"), 3); /* the store must not believe in 10 */
	gs_plan_pack(plan, make_entry(after), 12, start);
	assert_parts(plan, "kinds! a1 A1 q1 e6! E6! q6! \n");
	note(plan, 4, 3);
	assert_read(plan, REF("x"), 12);
	gs_plan_free(plan);
	gs_state_free(before);
	gs_state_free(after);
}

static void
what_is_forgotten_is_read_anew(void **arg)
{
	struct gs_state *state = make_state(REF("x"), 1, 2);
	struct gs_plan *plan = gs_plan_new();

	(void)arg;
	gs_plan_pack(plan, make_entry(state), 2, start);
	assert_parts(plan, "kinds! a1! A1! q1! e2! E2! q2! \n");
	gs_plan_note_read(plan, 0);
	note(plan, 1, 5);
	gs_plan_forget(plan);
	gs_plan_note_read(plan, 6); /* it began before */
	assert_none_read(plan);
	gs_plan_pack(plan, make_entry(state), 2, start);
	assert_parts(plan, "kinds! a1! A1! q1! e2! E2! q2! \n");
	gs_plan_free(plan);
	gs_state_free(state);
}

/* Nobody fetches what is ready or waits. */
static void
a_full_plan_is_freed(void **arg)
{
	struct gs_state *state = make_state(REF("x"), 1, 2);
	struct gs_plan *plan = gs_plan_new();

	(void)arg;
	gs_plan_free(NULL);
	gs_plan_pack(plan, make_entry(state), 2, start);
	note(plan, 0, 7);
	gs_plan_grow(plan, make_entry(state), NULL, 2, start);
	gs_plan_free(plan);
	gs_state_free(state);
}

static void
thousands_of_pairs_end_at_once(void **arg)
{
	struct gs_state *state = gs_state_new();
	struct gs_plan *plan = gs_plan_new();
	struct gs_str ref;
	size_t num = 0;

	(void)arg;
	for (unsigned i = 0; i < 20000; i++) {
		char text[100];

		(void)snprintf(text, sizeof(text), REF("%u"), i);
		gs_relay_add_repo(make_entry(state),
		    gs_state_add_repo(state, gs_str_of(text)));
	}
	gs_state_sort(state);
	gs_plan_pack(plan, make_entry(state), 1, start);
	gs_plan_grow(plan, make_entry(state), NULL, 1, start);
	while (gs_plan_next_ended(plan, &ref, after_s(GS_PLAN_KEEP_S)))
		num++;
	assert_int_equal(num, 20000);
	gs_plan_free(plan);
	gs_state_free(state);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(layer_1_is_a_pair_of_its_own),
		cmocka_unit_test(a_pair_is_read_when_all_its_parts_are),
		cmocka_unit_test(what_is_read_goes_before_what_is_not),
		cmocka_unit_test(long_refs_stand_alone),
		cmocka_unit_test(three_filters_share_their_values),
		cmocka_unit_test(growing_asks_only_for_what_is_new),
		cmocka_unit_test(a_pair_that_comes_back_in_time_stays_read),
		cmocka_unit_test(a_pair_ends_before_anything_is_packed),
		cmocka_unit_test(an_old_root_that_is_new_here_is_not_taken_for_read),
		cmocka_unit_test(what_is_forgotten_is_read_anew),
		cmocka_unit_test(a_full_plan_is_freed),
		cmocka_unit_test(thousands_of_pairs_end_at_once),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
