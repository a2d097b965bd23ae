/* Scripts of weeks and months: each dial at the very second that DESIGN "Health" says. */
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

/* What a relay does with a dial. */
enum deed {
	REFUSES,     /* at once */
	HANGS,	     /* 15 s, then we give up */
	DROPS,	     /* open for so many seconds, no EOSE */
	SERVES,	     /* an EOSE after a second, then open for so many more */
	STAYS_MUTE,  /* open, and given up after so many seconds */
	SERVES_MUTE, /* an EOSE, and then given up */
};

/* Dials that all are alike. */
struct step {
	int64_t times;
	int64_t wait_s; /* from the end of the one before to the dial */
	enum deed deed;
	int64_t lasts_s;
	enum gs_health_status status; /* afterwards */
};

static void
connect_for(struct gs_health *health, const struct step *step, int64_t *now_s)
{
	gs_health_opened(health, ms(*now_s));
	if (step->deed == SERVES || step->deed == SERVES_MUTE) {
		(void)gs_health_answered(health, wall(*now_s + 1));
		*now_s += 1;
	}
	*now_s += step->lasts_s;
	(void)gs_health_tick(health, ms(*now_s), wall(*now_s));
	if (step->deed == STAYS_MUTE || step->deed == SERVES_MUTE)
		(void)gs_health_failed(health, ms(*now_s), 0, false);
	else
		(void)gs_health_dropped(health, ms(*now_s), wall(*now_s), false);
}

static void
dial(struct gs_health *health, const struct step *step, int64_t *now_s)
{
	gs_health_dialled(health);
	assert_int_equal(gs_health_due_ms(health), -1);
	if (step->deed != REFUSES && step->deed != HANGS) {
		connect_for(health, step, now_s);
		return;
	}
	*now_s += step->deed == HANGS ? 15 : 0;
	(void)gs_health_failed(health, ms(*now_s), 0, false);
}

/* Goes through a script; every dial must be due at the very second that it says. */
static void
play(struct gs_health *health, const struct step *steps, size_t num, int64_t *now_s)
{
	for (size_t i = 0; i < num; i++)
		for (int64_t j = 0; j < steps[i].times; j++) {
			*now_s += steps[i].wait_s;
			assert_int_equal(gs_health_due_ms(health), ms(*now_s));
			dial(health, &steps[i], now_s);
			assert_int_equal(health->status, steps[i].status);
		}
}

#define PLAY(health, steps, now_s) \
	play(health, steps, sizeof(steps) / sizeof((steps)[0]), now_s)

/* From the first failure on: 5,115 s until the hourly ones begin. */
static const struct step falls_silent[] = {
	{ 1, 0, REFUSES, 0, GS_HEALTH_BACKOFF },
	{ 1, 5, REFUSES, 0, GS_HEALTH_BACKOFF },
	{ 1, 10, REFUSES, 0, GS_HEALTH_BACKOFF },
	{ 1, 20, REFUSES, 0, GS_HEALTH_BACKOFF },
	{ 1, 40, REFUSES, 0, GS_HEALTH_BACKOFF },
	{ 1, 80, REFUSES, 0, GS_HEALTH_BACKOFF },
	{ 1, 160, REFUSES, 0, GS_HEALTH_BACKOFF },
	{ 1, 320, REFUSES, 0, GS_HEALTH_BACKOFF },
	{ 1, 640, REFUSES, 0, GS_HEALTH_BACKOFF },
	{ 1, 1280, REFUSES, 0, GS_HEALTH_BACKOFF },
	{ 1, 2560, REFUSES, 0, GS_HEALTH_BACKOFF },
};

/* It flaps, is away for more than a day, is found again a day later, and flaps anew. */
static void
test_thirty_days(void **state)
{
	static const struct step flaps[] = {
		{ 1, 0, SERVES, 5 * DAY, GS_HEALTH_HEALTHY },
		/* drops soon, with an EOSE: no failure */
		{ 1, 0, SERVES, 10, GS_HEALTH_HEALTHY },
		{ 1, 5, SERVES, 10, GS_HEALTH_HEALTHY },
		{ 1, 10, SERVES, 58, GS_HEALTH_HEALTHY },
		{ 1, 20, SERVES, 0, GS_HEALTH_HEALTHY },
		{ 1, 40, SERVES, 10, GS_HEALTH_HEALTHY },
		{ 1, 80, SERVES, 10, GS_HEALTH_HEALTHY },
		{ 1, 160, SERVES, 10, GS_HEALTH_HEALTHY },
		{ 100, 300, SERVES, 10, GS_HEALTH_HEALTHY },
		/* stays for a minute: at once, and the short ones begin anew */
		{ 1, 300, SERVES, 59, GS_HEALTH_HEALTHY },
		{ 500, 0, DROPS, 60, GS_HEALTH_HEALTHY },
		{ 1, 0, SERVES, 58, GS_HEALTH_HEALTHY },
		{ 1, 5, SERVES, 2 * DAY, GS_HEALTH_HEALTHY },
		/* drops soon, without one: failures */
		{ 1, 0, DROPS, 59, GS_HEALTH_BACKOFF },
		{ 1, 5, DROPS, 0, GS_HEALTH_BACKOFF },
		{ 1, 10, DROPS, 30, GS_HEALTH_BACKOFF },
		{ 1, 20, HANGS, 0, GS_HEALTH_BACKOFF },
		{ 1, 40, SERVES, 10 * DAY, GS_HEALTH_HEALTHY },
	};
	static const struct step dies[] = {
		{ 22, HOUR, REFUSES, 0, GS_HEALTH_BACKOFF },
		/* 24 h 25 min 15 s after the first */
		{ 1, HOUR, REFUSES, 0, GS_HEALTH_DEAD },
		{ 1, DAY, SERVES, 100, GS_HEALTH_HEALTHY },
		{ 1, 0, REFUSES, 0, GS_HEALTH_BACKOFF }, /* all anew */
		{ 1, 5, SERVES, 1, GS_HEALTH_HEALTHY },
		{ 1, 5, SERVES, 12 * DAY, GS_HEALTH_HEALTHY },
	};
	struct gs_health health;
	int64_t now_s = 0;

	(void)state;
	gs_health_init(&health, 0, false, 0);
	PLAY(&health, flaps, &now_s);
	PLAY(&health, falls_silent, &now_s);
	PLAY(&health, dies, &now_s);
	assert_true(now_s > 30 * DAY);
	assert_int_equal(health.failures.num, 0);
	assert_int_equal(gs_health_due_ms(&health), ms(now_s));
}

static void
test_dead_for_weeks(void **state)
{
	static const struct step steps[] = {
		{ 22, HOUR, REFUSES, 0, GS_HEALTH_BACKOFF },
		{ 1, HOUR, REFUSES, 0, GS_HEALTH_DEAD },
		{ 30, DAY, HANGS, 0, GS_HEALTH_DEAD },
		{ 1, DAY, DROPS, 59, GS_HEALTH_DEAD },
		{ 1, DAY, SERVES, 0, GS_HEALTH_HEALTHY },
		{ 1, 5, SERVES, 0, GS_HEALTH_HEALTHY },
	};
	struct gs_health health;
	int64_t now_s = 7;

	(void)state;
	gs_health_init(&health, ms(now_s), false, 0);
	PLAY(&health, falls_silent, &now_s);
	PLAY(&health, steps, &now_s);
}

/* It takes connections and never says a word: 60 s of that must not be its rescue. */
static void
test_mute_relay_backs_off(void **state)
{
	static const struct step steps[] = {
		{ 1, 0, STAYS_MUTE, 65, GS_HEALTH_BACKOFF },
		{ 1, 5, STAYS_MUTE, 65, GS_HEALTH_BACKOFF },
		{ 1, 10, STAYS_MUTE, 65, GS_HEALTH_BACKOFF },
		{ 1, 20, STAYS_MUTE, 30, GS_HEALTH_BACKOFF },
		{ 1, 40, STAYS_MUTE, 65, GS_HEALTH_BACKOFF },
		{ 1, 80, SERVES_MUTE, 65, GS_HEALTH_BACKOFF },
		{ 1, 5, STAYS_MUTE, 65, GS_HEALTH_BACKOFF },
		{ 1, 10, DROPS, 60, GS_HEALTH_HEALTHY },
		{ 1, 0, STAYS_MUTE, 65, GS_HEALTH_BACKOFF },
		{ 1, 5, STAYS_MUTE, 65, GS_HEALTH_BACKOFF },
		{ 1, 10, STAYS_MUTE, 65, GS_HEALTH_BACKOFF },
		{ 1, 20, STAYS_MUTE, 65, GS_HEALTH_BACKOFF },
		{ 1, 40, STAYS_MUTE, 65, GS_HEALTH_BACKOFF },
		{ 1, 80, STAYS_MUTE, 65, GS_HEALTH_BACKOFF },
		{ 1, 160, STAYS_MUTE, 65, GS_HEALTH_BACKOFF },
		{ 1, 320, STAYS_MUTE, 65, GS_HEALTH_BACKOFF },
		{ 1, 640, STAYS_MUTE, 65, GS_HEALTH_BACKOFF },
		{ 1, 1280, STAYS_MUTE, 65, GS_HEALTH_BACKOFF },
		{ 1, 2560, STAYS_MUTE, 65, GS_HEALTH_BACKOFF },
		{ 22, HOUR, STAYS_MUTE, 65, GS_HEALTH_BACKOFF },
		{ 1, HOUR, STAYS_MUTE, 65, GS_HEALTH_DEAD },
		{ 3, DAY, STAYS_MUTE, 65, GS_HEALTH_DEAD },
	};
	struct gs_health health;
	int64_t now_s = 0;

	(void)state;
	gs_health_init(&health, 0, false, 0);
	PLAY(&health, steps, &now_s);
}

static void
test_own_relay(void **state)
{
	static const struct step steps[] = {
		{ 1, 0, REFUSES, 0, GS_HEALTH_BACKOFF },
		{ 1, 5, REFUSES, 0, GS_HEALTH_BACKOFF },
		{ 1, 10, REFUSES, 0, GS_HEALTH_BACKOFF },
		{ 1, 20, REFUSES, 0, GS_HEALTH_BACKOFF },
		{ 10000, 30, REFUSES, 0, GS_HEALTH_BACKOFF },
		{ 1, 30, SERVES, 0, GS_HEALTH_HEALTHY },
		{ 1, 5, SERVES, 0, GS_HEALTH_HEALTHY },
		{ 1, 10, SERVES, 0, GS_HEALTH_HEALTHY },
		{ 1, 20, SERVES, 0, GS_HEALTH_HEALTHY },
		{ 10, 30, SERVES, 0, GS_HEALTH_HEALTHY },
	};
	struct gs_health health;
	int64_t now_s = 0;

	(void)state;
	gs_health_init(&health, 0, true, 0);
	PLAY(&health, steps, &now_s);
}

static void
test_cap_on_every_wait(void **state)
{
	static const struct step steps[] = {
		{ 1, 0, REFUSES, 0, GS_HEALTH_BACKOFF },
		{ 1, 5, REFUSES, 0, GS_HEALTH_BACKOFF },
		{ 1, 10, REFUSES, 0, GS_HEALTH_BACKOFF },
		{ 7198, 12, REFUSES, 0, GS_HEALTH_BACKOFF },
		{ 1, 12, REFUSES, 0, GS_HEALTH_DEAD }, /* 86,403 s after the first */
		{ 5, 12, REFUSES, 0, GS_HEALTH_DEAD },
		{ 1, 12, SERVES, 0, GS_HEALTH_HEALTHY },
		{ 1, 5, SERVES, 0, GS_HEALTH_HEALTHY },
		{ 1, 10, SERVES, 0, GS_HEALTH_HEALTHY },
		{ 5, 12, SERVES, 0, GS_HEALTH_HEALTHY },
	};
	struct gs_health health;
	int64_t now_s = 0;

	(void)state;
	gs_health_init(&health, 0, false, ms(12));
	PLAY(&health, steps, &now_s);
	gs_health_dialled(&health);
	(void)gs_health_failed(&health, ms(now_s), HOUR, false);
	assert_int_equal(gs_health_due_ms(&health), ms(now_s + 12));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_thirty_days),
		cmocka_unit_test(test_dead_for_weeks),
		cmocka_unit_test(test_mute_relay_backs_off),
		cmocka_unit_test(test_own_relay),
		cmocka_unit_test(test_cap_on_every_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
