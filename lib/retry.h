/* When to try again what failed: waits that double.  Pure: the caller passes the time. */
#ifndef GS_RETRY_H
#define GS_RETRY_H

#include <stdbool.h>
#include <stdint.h>

struct gs_retry {
	uint32_t failures; /* in a row */
	uint32_t wait_ms;  /* the last one */
	int64_t due_ms;	   /* -1: not waiting */
};

#define GS_RETRY_INIT    \
	{                \
		0, 0, -1 \
	}

/* The first wait, the longest (a month at most), what caps them all (-1: nothing). */
struct gs_retry_waits {
	int64_t first_ms, longest_ms, cap_ms;
};

void gs_retry_fail(struct gs_retry *retry, const struct gs_retry_waits *waits,
    int64_t now_ms);
/* The wait is over: tried again, but not yet known to be good. */
void gs_retry_begin(struct gs_retry *retry);
bool gs_retry_is_due(const struct gs_retry *retry, int64_t now_ms);

/* The earlier of two times, of which -1 is none. */
int64_t gs_retry_earlier(int64_t a_ms, int64_t b_ms);

#endif
