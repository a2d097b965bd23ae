/* A moment, as it is handed to those who read no clock themselves. */
#ifndef GS_NOW_H
#define GS_NOW_H

#include <stdint.h>

/* Compare times on mono_ms, store and show wall_s. */
struct gs_now {
	int64_t mono_ms; /* milliseconds that only go forward */
	int64_t wall_s;	 /* seconds since 1970, may jump */
};

#endif
