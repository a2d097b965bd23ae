/* When to try again what failed: waits that double.  Pure: the caller passes the time. */
#include "retry.h"

void
gs_retry_fail(struct gs_retry *retry, const struct gs_retry_waits *waits, int64_t now_ms)
{
	int64_t wait_ms = waits->first_ms;

	for (uint32_t i = 0; i < retry->failures && wait_ms < waits->longest_ms; i++)
		wait_ms *= 2;
	if (wait_ms > waits->longest_ms)
		wait_ms = waits->longest_ms;
	if (waits->cap_ms >= 0 && wait_ms > waits->cap_ms)
		wait_ms = waits->cap_ms;
	if (retry->failures < UINT32_MAX)
		retry->failures++;
	retry->wait_ms = (uint32_t)wait_ms;
	retry->due_ms = now_ms + wait_ms;
}

void
gs_retry_begin(struct gs_retry *retry)
{
	retry->due_ms = -1;
}

bool
gs_retry_is_due(const struct gs_retry *retry, int64_t now_ms)
{
	return retry->due_ms >= 0 && now_ms >= retry->due_ms;
}

int64_t
gs_retry_earlier(int64_t a_ms, int64_t b_ms)
{
	if (a_ms < 0 || b_ms < 0)
		return a_ms < 0 ? b_ms : a_ms;
	return a_ms < b_ms ? a_ms : b_ms;
}
