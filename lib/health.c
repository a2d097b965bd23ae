/*
 * Relay back-off: when may one relay be dialled again.  Dialling, and the rules that
 * concern many relays (dials a second, in flight), are the owner's.
 */
#include "health.h"

#define SECOND_MS INT64_C(1000)
#define MINUTE_MS (60 * SECOND_MS)
#define HOUR_MS (60 * MINUTE_MS)
#define DAY_MS (24 * HOUR_MS)

/* DESIGN 3 "Health" */
#define FIRST_WAIT_MS (5 * SECOND_MS)
#define MAX_WAIT_MS HOUR_MS
#define MAX_SHORT_WAIT_MS (5 * MINUTE_MS)
#define DEAD_WAIT_MS DAY_MS
#define DEAD_AFTER_MS DAY_MS
#define SUCCESS_MS MINUTE_MS
#define OWN_WAIT_MS (30 * SECOND_MS)
#define MAX_RETRY_AFTER_MS HOUR_MS /* longer: the relay decides for itself too much */

static const struct gs_health_failures no_failures = { .last_ms = -1 };

static int64_t
smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t
larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* Nothing, then 5 s, 10, 20, ... max_ms. */
static int64_t
doubled_wait(uint32_t times, int64_t max_ms)
{
	int64_t wait_ms = FIRST_WAIT_MS;

	if (times == 0)
		return 0;
	while (--times > 0 && wait_ms < max_ms)
		wait_ms *= 2;
	return smaller(wait_ms, max_ms);
}

static int64_t
cap_wait(const struct gs_health *health, int64_t wait_ms)
{
	if (health->is_own)
		wait_ms = smaller(wait_ms, OWN_WAIT_MS);
	if (health->max_wait_ms > 0)
		wait_ms = smaller(wait_ms, health->max_wait_ms);
	return wait_ms;
}

static int64_t
wait_after_failure(const struct gs_health *health)
{
	if (health->status == GS_HEALTH_DEAD)
		return DEAD_WAIT_MS;
	return doubled_wait(health->failures.num, MAX_WAIT_MS);
}

static void
end_connection(struct gs_health *health, int64_t now_ms, int64_t wait_ms)
{
	health->phase = GS_HEALTH_IDLE;
	health->due_ms = now_ms + cap_wait(health, wait_ms);
	health->not_before_ms = now_ms;
}

static bool
set_status(struct gs_health *health, enum gs_health_status status)
{
	bool has_changed = health->status != status;

	health->status = status;
	return has_changed;
}

static bool
is_connected(const struct gs_health *health)
{
	switch (health->phase) {
	case GS_HEALTH_IDLE:
	case GS_HEALTH_DIALLING:
		return false;
	case GS_HEALTH_OPEN:
	case GS_HEALTH_STAYED:
	case GS_HEALTH_ANSWERED:
		break;
	}
	return true;
}

static bool
has_stayed(const struct gs_health *health, int64_t now_ms)
{
	return is_connected(health) && now_ms - health->opened_ms >= SUCCESS_MS;
}

/* Counts the time between two failures only if neither was one of many. */
static void
count_failure(struct gs_health_failures *failures, int64_t now_ms, bool all_fail)
{
	if (failures->last_ms >= 0 && !all_fail && !failures->was_everywhere)
		failures->counted_ms += now_ms - failures->last_ms;
	failures->last_ms = now_ms;
	failures->was_everywhere = all_fail;
	if (failures->num < UINT32_MAX)
		failures->num++;
}

static enum gs_health_status
status_after_failure(const struct gs_health *health)
{
	if (health->is_own)
		return GS_HEALTH_BACKOFF;
	if (health->status == GS_HEALTH_DEAD ||
	    health->failures.counted_ms >= DEAD_AFTER_MS)
		return GS_HEALTH_DEAD;
	return GS_HEALTH_BACKOFF;
}

const char *
gs_health_status_name(enum gs_health_status status)
{
	switch (status) {
	case GS_HEALTH_HEALTHY:
		return "healthy";
	case GS_HEALTH_BACKOFF:
		return "backoff";
	case GS_HEALTH_DEAD:
		break;
	}
	return "dead";
}

void
gs_health_init(struct gs_health *health, int64_t now_ms, bool is_own, int64_t max_wait_ms)
{
	*health = (struct gs_health){
		.status = GS_HEALTH_HEALTHY,
		.phase = GS_HEALTH_IDLE,
		.failures = no_failures,
		.setbacks = no_failures,
		.last_success_s = -1,
		.is_own = is_own,
		.max_wait_ms = max_wait_ms,
		.due_ms = now_ms,
		.not_before_ms = now_ms,
	};
}

int64_t
gs_health_due_ms(const struct gs_health *health)
{
	return health->phase == GS_HEALTH_IDLE ? health->due_ms : -1;
}

int64_t
gs_health_deadline_ms(const struct gs_health *health)
{
	return health->phase == GS_HEALTH_OPEN ? health->opened_ms + SUCCESS_MS : -1;
}

void
gs_health_dialled(struct gs_health *health)
{
	health->phase = GS_HEALTH_DIALLING;
}

void
gs_health_opened(struct gs_health *health, int64_t now_ms)
{
	health->phase = GS_HEALTH_OPEN;
	health->opened_ms = now_ms;
}

static bool
succeed(struct gs_health *health, enum gs_health_phase phase, int64_t wall_s)
{
	health->phase = phase;
	health->setbacks = phase == GS_HEALTH_STAYED ? health->failures : no_failures;
	health->failures = no_failures;
	health->last_success_s = wall_s;
	return set_status(health, GS_HEALTH_HEALTHY);
}

bool
gs_health_answered(struct gs_health *health, int64_t wall_s)
{
	return is_connected(health) && succeed(health, GS_HEALTH_ANSWERED, wall_s);
}

bool
gs_health_tick(struct gs_health *health, int64_t now_ms, int64_t wall_s)
{
	return health->phase == GS_HEALTH_OPEN && has_stayed(health, now_ms) &&
	    succeed(health, GS_HEALTH_STAYED, wall_s);
}

bool
gs_health_dropped(struct gs_health *health, int64_t now_ms, int64_t wall_s, bool all_fail)
{
	bool has_changed = gs_health_tick(health, now_ms, wall_s);

	if (has_stayed(health, now_ms)) {
		health->short_drops = 0;
		end_connection(health, now_ms, 0);
		return has_changed;
	}
	if (health->phase != GS_HEALTH_ANSWERED)
		return gs_health_failed(health, now_ms, 0, all_fail);
	if (health->short_drops < UINT32_MAX)
		health->short_drops++;
	end_connection(health, now_ms,
	    doubled_wait(health->short_drops, MAX_SHORT_WAIT_MS));
	return false;
}

bool
gs_health_failed(struct gs_health *health, int64_t now_ms, int64_t retry_after_s,
    bool all_fail)
{
	int64_t retry_after_ms = MAX_RETRY_AFTER_MS;
	bool has_changed;

	if (retry_after_s < MAX_RETRY_AFTER_MS / SECOND_MS)
		retry_after_ms = larger(retry_after_s, 0) * SECOND_MS;
	if (health->phase == GS_HEALTH_STAYED)
		health->failures = health->setbacks;
	count_failure(&health->failures, now_ms, all_fail);
	has_changed = set_status(health, status_after_failure(health));
	end_connection(health, now_ms,
	    larger(wait_after_failure(health), retry_after_ms));
	health->not_before_ms = now_ms + cap_wait(health, retry_after_ms);
	return has_changed;
}

void
gs_health_left(struct gs_health *health, int64_t now_ms)
{
	if (has_stayed(health, now_ms))
		health->short_drops = 0;
	end_connection(health, now_ms, wait_after_failure(health));
}

void
gs_health_make_due(struct gs_health *health, int64_t now_ms)
{
	if (health->status == GS_HEALTH_HEALTHY)
		return;
	health->due_ms = smaller(health->due_ms, larger(now_ms, health->not_before_ms));
}

struct gs_health_saved
gs_health_save(const struct gs_health *health, int64_t now_ms, int64_t wall_s)
{
	struct gs_health_saved saved = {
		.status = health->status,
		.failures = health->failures.num,
		.short_drops = health->short_drops,
		.counted_s = health->failures.counted_ms / SECOND_MS,
		.last_success_s = health->last_success_s,
	};

	if (health->phase == GS_HEALTH_IDLE && health->due_ms > now_ms)
		saved.due_s =
		    wall_s + (health->due_ms - now_ms + SECOND_MS - 1) / SECOND_MS;
	return saved;
}

/* The longest wait that a relay of this status may still have before it. */
static int64_t
longest_wait(enum gs_health_status status)
{
	switch (status) {
	case GS_HEALTH_HEALTHY:
		return MAX_SHORT_WAIT_MS;
	case GS_HEALTH_BACKOFF:
		return MAX_WAIT_MS;
	case GS_HEALTH_DEAD:
		break;
	}
	return DEAD_WAIT_MS;
}

static int64_t
restored_wait(const struct gs_health *health, int64_t due_s, int64_t wall_s)
{
	int64_t max_ms = cap_wait(health, longest_wait(health->status));

	if (due_s <= wall_s)
		return 0;
	if (due_s - wall_s >= max_ms / SECOND_MS)
		return max_ms;
	return (due_s - wall_s) * SECOND_MS;
}

void
gs_health_restore(struct gs_health *health, const struct gs_health_saved *saved,
    int64_t now_ms, int64_t wall_s)
{
	health->status = saved->status;
	if (health->is_own && health->status == GS_HEALTH_DEAD)
		health->status = GS_HEALTH_BACKOFF;
	health->failures = no_failures;
	if (health->status != GS_HEALTH_HEALTHY) {
		health->failures.num = saved->failures;
		health->failures.counted_ms =
		    smaller(larger(saved->counted_s, 0), DEAD_AFTER_MS / SECOND_MS) *
		    SECOND_MS;
	}
	health->short_drops = saved->short_drops;
	health->last_success_s = saved->last_success_s;
	health->due_ms = now_ms + restored_wait(health, saved->due_s, wall_s);
}
