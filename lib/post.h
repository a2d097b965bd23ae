/* A wake-up for the loop from any thread: many calls may become one. */
#ifndef GS_POST_H
#define GS_POST_H

#include "loop.h"

struct gs_post;
/* fn is called in the loop. */
struct gs_post *gs_post_new(struct gs_loop *loop, void (*fn)(void *arg), void *arg,
    struct gs_err *err) GS_MUST;
/* Before its loop; nobody may wake it any more. */
void gs_post_free(struct gs_post *post);
void gs_post_wake(struct gs_post *post); /* from any thread, never waits */

#endif
