/*
 * The one thread that waits: sockets, timers, descriptors and signals of a process, on
 * a libwebsockets context.  Everything below it is called from gs_loop_run.
 */
#ifndef GS_LOOP_H
#define GS_LOOP_H

#include <stdint.h>

#include "err.h"

#define GS_LOOP_STAGE_S 15 /* for TCP, TLS and an HTTP answer each: DESIGN 6 */

struct gs_loop;

struct gs_loop_ops {
	/* SIGINT or SIGTERM came; with more_signals also SIGHUP and SIGUSR1. */
	void (*signalled)(int number, void *arg);
	/* All that was there is dealt with: a good moment to flush.  May be NULL. */
	void (*idle)(void *arg);
	void *arg;
	bool more_signals;
};

/* What holds for all that is dialled; NULL in it, or in its place: nothing special. */
struct gs_loop_net {
	const char *ca_file; /* its certificates are trusted, too */
	const char
	    *proxy; /* "ADDRESS:PORT" of an HTTP proxy: all is dialled through it */
};

/*
 * As many descriptors as the system allows this process, up to what we need: before the
 * loop is made, whose table grows with them.
 */
#define GS_LOOP_FILES 4096
void gs_loop_raise_files(void);

/*
 * Blocks SIGINT and SIGTERM in the calling thread for good, to get them through a
 * descriptor.  One loop a process.
 */
struct gs_loop *gs_loop_new(const struct gs_loop_ops *ops, const struct gs_loop_net *net,
    struct gs_err *err) GS_MUST;
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

enum gs_watch_for {
	GS_WATCH_FAULTS, /* its other end is gone; the others tell of that, too */
	GS_WATCH_READ,
	GS_WATCH_WRITE,
};

/* Calls fn again and again while the descriptor is ready, or has failed. */
struct gs_watch;
/* NULL: it is of a sort that never makes wait, such as a regular file. */
struct gs_watch *gs_watch_new(struct gs_loop *loop, int fd, void (*fn)(void *arg),
    void *arg);
void gs_watch_set(struct gs_watch *watch, enum gs_watch_for what); /* FAULTS at first */
void gs_watch_free(struct gs_watch *watch); /* before its loop and its descriptor */

/* For dial, ws and httpd alone. */
struct lws_context *gs_loop_context(struct gs_loop *loop);
struct lws_vhost *gs_loop_vhost(struct gs_loop *loop);
bool gs_loop_has_proxy(const struct gs_loop *loop);

#endif
