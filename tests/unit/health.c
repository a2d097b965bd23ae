/* Relay back-off, rule by rule, and what of it outlives a restart. */
#include "health.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define WALL 1767000000 /* where the wall clock stands when the other is at 0 */
#define HOUR 3600
#define DAY (24 * HOUR)

static int64_t
ms(int64_t seconds)
{
	return seconds * 1000;
}

static int64_t
wall(int64_t seconds)
{
	return WALL + seconds;
}

/* Fails every hour for so long. */
static void
fail_for(struct gs_health *health, int64_t *now_s, int64_t hours, bool all_fail)
{
	for (int64_t i = 0; i < hours; i++) {
		*now_s += HOUR;
		gs_health_dialled(health);
		(void)gs_health_failed(health, ms(*now_s), 0, all_fail);
	}
}

static void
test_our_own_network_is_down(void **state)
{
	struct gs_health health;
	int64_t now_s = 0;

	(void)state;
	gs_health_init(&health, 0, false, 0);
	fail_for(&health, &now_s, 11, false); /* 10 hours between them */
	fail_for(&health, &now_s, 48, true);
	assert_int_equal(health.status, GS_HEALTH_BACKOFF);
	assert_int_equal(gs_health_due_ms(&health), ms(now_s + HOUR));
	assert_int_equal(health.failures.num, 59);
	fail_for(&health, &now_s, 1 + 13, false); /* the first ends the outage */
	assert_int_equal(health.status, GS_HEALTH_BACKOFF);
	fail_for(&health, &now_s, 1, false);
	assert_int_equal(health.status, GS_HEALTH_DEAD);
	fail_for(&health, &now_s, 48, true); /* what is dead remains so */
	assert_int_equal(health.status, GS_HEALTH_DEAD);
}

static void
test_first_success_makes_others_due(void **state)
{
	struct gs_health health;
	int64_t now_s = 0;

	(void)state;
	gs_health_init(&health, 0, false, 0);
	fail_for(&health, &now_s, 20, true);
	gs_health_make_due(&health, ms(now_s + 17));
	assert_int_equal(gs_health_due_ms(&health), ms(now_s + 17));
	gs_health_make_due(&health, ms(now_s + 100)); /* never later */
	assert_int_equal(gs_health_due_ms(&health), ms(now_s + 17));
	now_s += 20;
	gs_health_dialled(&health);
	(void)gs_health_failed(&health, ms(now_s), 600, true);
	gs_health_make_due(&health, ms(now_s + 17));
	assert_int_equal(gs_health_due_ms(&health), ms(now_s + 600));
	gs_health_dialled(&health);
	gs_health_make_due(&health, ms(now_s + 18));
	assert_int_equal(gs_health_due_ms(&health), -1);
}

/* Waits out its short drops: it is not one of the others. */
static void
test_healthy_is_not_made_due(void **state)
{
	struct gs_health health;

	(void)state;
	gs_health_init(&health, 0, false, 0);
	gs_health_dialled(&health);
	gs_health_opened(&health, 0);
	(void)gs_health_answered(&health, wall(0));
	(void)gs_health_dropped(&health, ms(1), wall(1), false);
	gs_health_make_due(&health, ms(2));
	assert_int_equal(gs_health_due_ms(&health), ms(6));
}

static void
test_retry_after(void **state)
{
	static const struct {
		int64_t retry_after_s, wait_s;
	} rows[] = { { 0, 5 }, { 3, 10 }, { 100, 100 }, { 100, 100 }, { 100, 100 },
		{ 100, 160 }, { 3599, 3599 }, { 3600, HOUR }, { INT64_MAX, HOUR },
		{ INT64_MIN, 2560 }, { -1, HOUR } };
	struct gs_health health;
	int64_t now_s = 0;

	(void)state;
	gs_health_init(&health, 0, false, 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		gs_health_dialled(&health);
		(void)gs_health_failed(&health, ms(now_s), rows[i].retry_after_s, false);
		now_s += rows[i].wait_s;
		assert_int_equal(gs_health_due_ms(&health), ms(now_s));
	}
}

/* Each change is told once, with the moment of the success. */
static void
test_changes_are_told(void **state)
{
	struct gs_health health;

	(void)state;
	gs_health_init(&health, 0, false, 0);
	assert_int_equal(health.last_success_s, -1);
	gs_health_dialled(&health);
	assert_true(gs_health_failed(&health, ms(1), 0, false));
	gs_health_dialled(&health);
	assert_false(gs_health_failed(&health, ms(6), 0, false));
	assert_false(gs_health_answered(&health,
	    wall(7))); /* late, no connection any more */
	gs_health_dialled(&health);
	assert_int_equal(gs_health_deadline_ms(&health), -1);
	gs_health_opened(&health, ms(16));
	assert_int_equal(gs_health_deadline_ms(&health), ms(76));
	assert_false(gs_health_tick(&health, ms(76) - 1, wall(75)));
	assert_int_equal(health.status, GS_HEALTH_BACKOFF);
	assert_true(gs_health_tick(&health, ms(76), wall(76)));
	assert_int_equal(gs_health_deadline_ms(&health), -1);
	assert_int_equal(health.last_success_s, wall(76));
	assert_false(gs_health_answered(&health, wall(80)));
	assert_int_equal(health.last_success_s, wall(80));
	assert_false(gs_health_dropped(&health, ms(90), wall(90), false));
	assert_string_equal(gs_health_status_name(GS_HEALTH_HEALTHY), "healthy");
	assert_string_equal(gs_health_status_name(GS_HEALTH_BACKOFF), "backoff");
	assert_string_equal(gs_health_status_name(GS_HEALTH_DEAD), "dead");
}

/* A drop may be told before the tick that was due at the same moment. */
static void
test_drop_before_the_tick(void **state)
{
	struct gs_health health;

	(void)state;
	gs_health_init(&health, 0, false, 0);
	gs_health_dialled(&health);
	(void)gs_health_failed(&health, 0, 0, false);
	gs_health_dialled(&health);
	gs_health_opened(&health, ms(5));
	assert_true(gs_health_dropped(&health, ms(65), wall(65), false));
	assert_int_equal(health.status, GS_HEALTH_HEALTHY);
	assert_int_equal(health.last_success_s, wall(65));
	assert_int_equal(gs_health_due_ms(&health), ms(65));
}

static void
test_leaving_counts_nothing(void **state)
{
	struct gs_health health;

	(void)state;
	gs_health_init(&health, 0, false, 0);
	gs_health_dialled(&health);
	(void)gs_health_failed(&health, 0, 0, false);
	gs_health_dialled(&health);
	gs_health_opened(&health, ms(5));
	gs_health_left(&health, ms(10)); /* nothing known: its wait goes on */
	assert_int_equal(gs_health_due_ms(&health), ms(15));
	assert_int_equal(health.failures.num, 1);
	gs_health_dialled(&health);
	gs_health_opened(&health, ms(15));
	(void)gs_health_answered(&health, wall(16));
	gs_health_left(&health, ms(20));
	assert_int_equal(gs_health_due_ms(&health), ms(20));
	assert_int_equal(health.status, GS_HEALTH_HEALTHY);
}

static struct gs_health
restart(const struct gs_health *health, int64_t saved_s, int64_t restored_s)
{
	struct gs_health_saved saved = gs_health_save(health, ms(saved_s), wall(saved_s));
	struct gs_health again;

	/* The monotonic clock begins anew. */
	gs_health_init(&again, ms(1), false, 0);
	gs_health_restore(&again, &saved, ms(1), wall(restored_s));
	return again;
}

static void
test_restart_in_backoff(void **state)
{
	struct gs_health health, again;
	int64_t now_s = 0;

	(void)state;
	gs_health_init(&health, 0, false, 0);
	fail_for(&health, &now_s, 21, false);
	again = restart(&health, now_s + 100, now_s + 160);
	assert_int_equal(again.status, GS_HEALTH_BACKOFF);
	assert_int_equal(again.failures.num, 21);
	assert_int_equal(gs_health_due_ms(&again), ms(1 + HOUR - 160));
	now_s = 0; /* 20 hours are counted; the time without us is not */
	fail_for(&again, &now_s, 4, false);
	assert_int_equal(again.status, GS_HEALTH_BACKOFF);
	fail_for(&again, &now_s, 1, false);
	assert_int_equal(again.status, GS_HEALTH_DEAD);
}

static void
test_restart_when_the_clock_jumped(void **state)
{
	struct gs_health health, again;
	int64_t now_s = 0;

	(void)state;
	gs_health_init(&health, 0, false, 0);
	fail_for(&health, &now_s, 3, false);
	again = restart(&health, now_s, now_s + 400 * DAY);
	assert_int_equal(gs_health_due_ms(&again), ms(1));
	again = restart(&health, now_s, now_s - 400 * DAY);
	assert_int_equal(gs_health_due_ms(&again), ms(1 + HOUR));
	fail_for(&health, &now_s, 30, false);
	again = restart(&health, now_s, now_s - 400 * DAY);
	assert_int_equal(again.status, GS_HEALTH_DEAD);
	assert_int_equal(gs_health_due_ms(&again), ms(1 + DAY));
	again = restart(&again, 10, 10 + DAY);
	fail_for(&again, &now_s, 1, false);
	assert_int_equal(again.status, GS_HEALTH_DEAD);
}

static void
test_restart_while_healthy(void **state)
{
	struct gs_health health, again;

	(void)state;
	gs_health_init(&health, 0, false, 0);
	gs_health_dialled(&health);
	gs_health_opened(&health, 0);
	(void)gs_health_answered(&health, wall(3));
	again = restart(&health, 9, 10);
	assert_int_equal(again.status, GS_HEALTH_HEALTHY);
	assert_int_equal(again.last_success_s, wall(3));
	assert_int_equal(gs_health_due_ms(&again), ms(1));
	(void)gs_health_dropped(&health, ms(10), wall(10), false);
	again = restart(&health, 11, 12);
	assert_int_equal(gs_health_due_ms(&again), ms(1 + 3));
	assert_int_equal(again.short_drops, 1);
}

/* As from a state file, or from a store in which it was not our own yet. */
static void
test_restores_little(void **state)
{
	static const struct gs_health_saved dead = { .status = GS_HEALTH_DEAD,
		.failures = UINT32_MAX,
		.counted_s = INT64_MAX,
		.due_s = INT64_MAX,
		.last_success_s = -1 };
	struct gs_health health;

	(void)state;
	gs_health_init(&health, 0, true, 0);
	gs_health_restore(&health, &dead, 0, wall(0));
	assert_int_equal(health.status, GS_HEALTH_BACKOFF);
	assert_int_equal(gs_health_due_ms(&health), ms(30));
	gs_health_init(&health, 0, false, 0);
	gs_health_restore(&health, &dead, 0, wall(0));
	assert_int_equal(gs_health_due_ms(&health), ms(DAY));
	gs_health_dialled(&health);
	(void)gs_health_failed(&health, ms(DAY), 0, false);
	assert_int_equal(health.status, GS_HEALTH_DEAD);
	assert_int_equal(gs_health_due_ms(&health), ms(2 * DAY));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_our_own_network_is_down),
		cmocka_unit_test(test_first_success_makes_others_due),
		cmocka_unit_test(test_healthy_is_not_made_due),
		cmocka_unit_test(test_retry_after),
		cmocka_unit_test(test_changes_are_told),
		cmocka_unit_test(test_drop_before_the_tick),
		cmocka_unit_test(test_leaving_counts_nothing),
		cmocka_unit_test(test_restart_in_backoff),
		cmocka_unit_test(test_restart_when_the_clock_jumped),
		cmocka_unit_test(test_restart_while_healthy),
		cmocka_unit_test(test_restores_little),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
