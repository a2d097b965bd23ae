/* When a relay is dialled, worked out a second time. */
#include "dials.h"

#include <inttypes.h>

#define SECOND INT64_C(1000)
#define HOUR (3600 * SECOND)
#define DAY (24 * HOUR)
#define STAYED (60 * SECOND)

/* 5 s, 10, 20, ... most. */
static int64_t
wait_for(unsigned times, int64_t most)
{
	int64_t wait = 5 * SECOND;

	while (times-- > 1 && wait < most)
		wait *= 2;
	return wait < most ? wait : most;
}

void
dials_fail(struct dials *dials, int64_t now_ms)
{
	if (dials->failures++ == 0)
		dials->first_failure_ms = now_ms;
	if (now_ms - dials->first_failure_ms >= DAY)
		dials->is_dead = true;
	dials->due_ms = now_ms + (dials->is_dead ? DAY : wait_for(dials->failures, HOUR));
}

void
dials_succeed(struct dials *dials)
{
	dials->failures = 0;
	dials->is_dead = false;
}

void
dials_drop(struct dials *dials, int64_t now_ms)
{
	if (now_ms - dials->opened_ms >= STAYED) {
		dials_succeed(dials);
		dials->short_drops = 0;
		dials->due_ms = now_ms;
	} else if (dials->is_answered) {
		dials->due_ms = now_ms + wait_for(++dials->short_drops, 300 * SECOND);
	} else {
		dials_fail(dials, now_ms);
	}
}

void
dials_watch(struct talk *talk, enum talk_deed deed, void *arg)
{
	struct dials *dials = arg;

	switch (deed) {
	case TALK_DIALS:
		if (talk->now_ms != dials->due_ms)
			talk_complain(talk, "dialled at %" PRId64 " ms, not %" PRId64,
			    talk->now_ms, dials->due_ms);
		dials->num++;
		dials->num_dead += dials->is_dead;
		break;
	case TALK_FAILS:
	case TALK_HANGS_UP:
		dials_fail(dials, talk->now_ms);
		break;
	case TALK_OPENS:
		dials->opened_ms = talk->now_ms;
		dials->is_answered = false;
		break;
	case TALK_IS_ANSWERED:
		dials->is_answered = true;
		dials_succeed(dials);
		break;
	case TALK_IS_DROPPED:
		dials_drop(dials, talk->now_ms);
		break;
	}
}
