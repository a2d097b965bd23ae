/* The only place that reads a clock; for layers 4 and 5 and the commands. */
#ifndef GS_CLOCK_H
#define GS_CLOCK_H

#include "now.h"

struct gs_now gs_clock_now(void);

#endif
