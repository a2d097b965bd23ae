/* The only place that reads a clock; for layers 4 and 5 and the commands. */
#include "clock.h"

#include <time.h>

struct gs_now
gs_clock_now(void)
{
	struct timespec mono, wall;

	(void)clock_gettime(CLOCK_MONOTONIC, &mono);
	(void)clock_gettime(CLOCK_REALTIME, &wall);
	return (struct gs_now){
		.mono_ms = (int64_t)mono.tv_sec * 1000 + mono.tv_nsec / 1000000,
		.wall_s = (int64_t)wall.tv_sec,
	};
}
