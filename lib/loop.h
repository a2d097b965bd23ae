/*
 * The one thread that waits: sockets, timers and signals of a process, on a
 * libwebsockets context.  Everything below it is called from gs_loop_run.
 */
#ifndef GS_LOOP_H
#define GS_LOOP_H

#include <stdint.h>

#include "err.h"

struct gs_loop;

struct gs_loop_ops {
	/* SIGINT or SIGTERM came. */
	void (*signalled)(int number, void *arg);
	/* All that was there is dealt with: a good moment to flush.  May be NULL. */
	void (*idle)(void *arg);
	void *arg;
};

/*
 * Blocks SIGINT and SIGTERM in the calling thread for good, to get them through a
 * descriptor.  One loop a process.
 */
struct gs_loop *gs_loop_new(const struct gs_loop_ops *ops, struct gs_err *err) GS_MUST;
/* Ends all connections first; their owners hear of it. */
void gs_loop_free(struct gs_loop *loop);

/* Serves until gs_loop_stop was called, also if that was before. */
void gs_loop_run(struct gs_loop *loop);
void gs_loop_stop(struct gs_loop *loop);

/* Calls fn once, in that many milliseconds; setting it again moves it. */
struct gs_timer;
struct gs_timer *gs_timer_new(struct gs_loop *loop, void (*fn)(void *arg), void *arg);
void gs_timer_set(struct gs_timer *timer, int64_t in_ms);
void gs_timer_stop(struct gs_timer *timer);
void gs_timer_free(struct gs_timer *timer); /* before its loop */

/* For ws and httpd alone. */
struct lws_context *gs_loop_context(struct gs_loop *loop);
struct lws_vhost *gs_loop_vhost(struct gs_loop *loop);

#endif
