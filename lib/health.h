/*
 * Relay back-off: when may one relay be dialled again (DESIGN 3 "Health").  Pure: the
 * owner dials, tells what became of it, and passes the times: now_ms on the monotonic
 * clock, wall_s only for what is shown and stored.
 */
#ifndef GS_HEALTH_H
#define GS_HEALTH_H

#include <stdbool.h>
#include <stdint.h>

enum gs_health_status {
	GS_HEALTH_HEALTHY, /* also before the first dial */
	GS_HEALTH_BACKOFF, /* failed since its last success */
	GS_HEALTH_DEAD,	   /* for 24 h: one try a day */
};

const char *gs_health_status_name(enum gs_health_status status); /* "healthy", ... */

enum gs_health_phase {
	GS_HEALTH_IDLE,
	GS_HEALTH_DIALLING,
	GS_HEALTH_OPEN,	    /* connected, no success yet */
	GS_HEALTH_STAYED,   /* success: 60 s connected, but no EOSE yet */
	GS_HEALTH_ANSWERED, /* success: brought an EOSE */
};

/* Failures since the last success. */
struct gs_health_failures {
	uint32_t num;
	int64_t counted_ms;  /* what of their time counts towards dead */
	int64_t last_ms;     /* when the last one was; -1: none in this run */
	bool was_everywhere; /* then all relays were failing */
};

/* The caller's struct, to be looked at; changed by the functions below alone. */
struct gs_health {
	enum gs_health_status status;
	enum gs_health_phase phase;
	struct gs_health_failures failures;
	int64_t last_success_s; /* wall; -1: never */

	/* private */
	bool is_own;
	int64_t max_wait_ms;		    /* 0: no cap beyond DESIGN's */
	struct gs_health_failures setbacks; /* before GS_HEALTH_STAYED: see failed */
	uint32_t short_drops;		    /* in a row, none of them a failure */
	int64_t due_ms, not_before_ms, opened_ms;
};

/*
 * A relay that may be dialled at once.  is_own: dialled at least every 30 s, never
 * dead.  max_wait_ms caps every wait (--max-backoff); 0: not.
 */
void gs_health_init(struct gs_health *health, int64_t now_ms, bool is_own,
    int64_t max_wait_ms);

/* When it may be dialled; -1: it is being dialled, or connected. */
int64_t gs_health_due_ms(const struct gs_health *health);
/* When gs_health_tick is wanted next; -1: not at all. */
int64_t gs_health_deadline_ms(const struct gs_health *health);

/* Where a result is bool: the status has changed. */
void gs_health_dialled(struct gs_health *health);
void gs_health_opened(struct gs_health *health, int64_t now_ms);
bool gs_health_answered(struct gs_health *health, int64_t wall_s); /* an EOSE came */
/* Sees that the connection is 60 s old, which is a success too. */
bool gs_health_tick(struct gs_health *health, int64_t now_ms, int64_t wall_s);

/*
 * The connection ended without our doing.  After 60 s: due at once.  Sooner: no
 * failure if it brought an EOSE (5 s, doubling to 5 min; 60 s connected begin anew),
 * else a failure.  all_fail: all of two or more relays are failing, this one included.
 */
bool gs_health_dropped(struct gs_health *health, int64_t now_ms, int64_t wall_s,
    bool all_fail);
/*
 * A failure: no connection came about, or we gave this one up (silence, noise) however
 * long it was open; those that its 60 s had ended without an EOSE then go on, so that
 * a mute relay backs off, too.  retry_after_s of HTTP (0: none) is kept, up to 1 h.
 */
bool gs_health_failed(struct gs_health *health, int64_t now_ms, int64_t retry_after_s,
    bool all_fail);
/* We closed it because it is not needed now: says nothing about the relay. */
void gs_health_left(struct gs_health *health, int64_t now_ms);
/* Another relay succeeded after all had failed: due now, unless Retry-After forbids. */
void gs_health_make_due(struct gs_health *health, int64_t now_ms);

/* What outlives the process, in wall time. */
struct gs_health_saved {
	enum gs_health_status status;
	uint32_t failures, short_drops;
	int64_t counted_s;	/* of failures, towards dead */
	int64_t due_s;		/* 0: at once */
	int64_t last_success_s; /* -1: never */
};

struct gs_health_saved gs_health_save(const struct gs_health *health, int64_t now_ms,
    int64_t wall_s);
/*
 * Into one that gs_health_init made.  No wait gets longer than its status allows,
 * wherever the wall clock jumped; the time in between counts towards nothing.
 */
void gs_health_restore(struct gs_health *health, const struct gs_health_saved *saved,
    int64_t now_ms, int64_t wall_s);

#endif
