/* The only place that reads a clock; for layers 4 and 5 and the commands. */
#ifndef GS_CLOCK_H
#define GS_CLOCK_H

#include <stdint.h>

/* Compare times on mono_ms, store and show wall_s. */
struct gs_now {
	int64_t mono_ms; /* milliseconds that only go forward */
	int64_t wall_s;	 /* seconds since 1970, may jump */
};

struct gs_now gs_clock_now(void);

#endif
