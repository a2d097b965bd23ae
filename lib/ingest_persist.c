/* A store that can't be written for a while: nothing of the group is lost meanwhile. */
#include "clock.h"
#include "ingest_private.h"

#define MS_A_SECOND 1000
#define NS_A_MS 1000000

enum wait_end {
	WAIT_OVER,  /* time to try again */
	WAIT_LAST,  /* finishing: one more try */
	WAIT_NEVER, /* given up */
};

static enum wait_end
wait_to_retry(struct gs_ingest *ingest)
{
	unsigned wait_ms = ingest->options.retry_ms;
	int64_t due_ms =
	    gs_clock_now().mono_ms + (wait_ms != 0 ? wait_ms : GS_INGEST_RETRY_MS);
	enum wait_end end = WAIT_OVER;

	(void)pthread_mutex_lock(&ingest->lock);
	while (!ingest->is_ending && !ingest->has_failed &&
	    gs_clock_now().mono_ms < due_ms)
		ingest_wait_until(&ingest->ending, &ingest->lock, due_ms);
	if (ingest->has_failed)
		end = WAIT_NEVER;
	else if (ingest->is_ending)
		end = WAIT_LAST;
	(void)pthread_mutex_unlock(&ingest->lock);
	return end;
}

static void
tell(const struct gs_ingest *ingest, const struct gs_err *why)
{
	if (ingest->options.troubled != NULL)
		ingest->options.troubled(why, ingest->options.arg);
}

bool
ingest_persist(struct gs_ingest *ingest, struct gs_err *err)
{
	enum wait_end end;

	tell(ingest, err);
	do {
		ingest_give_up(ingest); /* others may write meanwhile */
		end = wait_to_retry(ingest);
		if (end == WAIT_NEVER)
			return false;
		if (ingest_repeat(ingest, err) && ingest_commit(ingest, err)) {
			tell(ingest, NULL);
			return true;
		}
	} while (err->code == GS_EIO && end != WAIT_LAST);
	return false;
}

void
ingest_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, int64_t due_ms)
{
	struct timespec due = { .tv_sec = due_ms / MS_A_SECOND,
		.tv_nsec = due_ms % MS_A_SECOND * NS_A_MS };

	(void)pthread_cond_timedwait(cond, lock, &due);
}
