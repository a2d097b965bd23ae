/*
 * The one thread that waits: sockets, timers and signals of a process, on a
 * libwebsockets context.  What a connection says is ws's.
 */
#include "loop.h"

#include <errno.h>
#include <libwebsockets.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "mem.h"
#include "ws.h"

/* With the 4 KiB that are the default, many connections cost 4 times as much. */
#define BUFFER_BYTES 65536
#define SIGNALS "grasp-sync-signals"
#define VHOST "grasp-sync"

struct gs_loop {
	struct gs_loop_ops ops;
	struct lws_context *context;
	struct lws_vhost *vhost;
	int signal_fd;
	bool is_stopped;
};

struct gs_timer {
	struct gs_loop *loop;
	lws_sorted_usec_list_t sul;
	void (*fn)(void *arg);
	void *arg;
};

static void
read_signals(struct gs_loop *loop)
{
	struct signalfd_siginfo info;

	while (read(loop->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		loop->ops.signalled((int)info.ssi_signo, loop->ops.arg);
}

static int
serve_signals(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in,
    size_t len)
{
	(void)user;
	(void)in;
	(void)len;
	if (reason == LWS_CALLBACK_RAW_RX_FILE)
		read_signals(lws_context_user(lws_get_context(wsi)));
	return 0;
}

/* The first protocol also hears of certificates: see ws. */
static const struct lws_protocols protocols[] = {
	{ GS_WS_PROTOCOL, gs_ws_serve, 0, BUFFER_BYTES, 0, NULL, 0 },
	{ SIGNALS, serve_signals, 0, 0, 0, NULL, 0 },
	{ NULL, NULL, 0, 0, 0, NULL, 0 },
};

static bool
open_context(struct gs_loop *loop, struct gs_err *err)
{
	struct lws_context_creation_info info;

	/* libwebsockets would obey it for ws:// and wss:// alike. */
	(void)unsetenv("http_proxy");
	lws_set_log_level(0, NULL);
	memset(&info, 0, sizeof(info));
	info.port = CONTEXT_PORT_NO_LISTEN;
	info.protocols = protocols;
	info.user = loop;
	info.options = LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT;
	info.pt_serv_buf_size = BUFFER_BYTES;
	info.timeout_secs = GS_WS_STAGE_S;
	info.connect_timeout_secs = GS_WS_STAGE_S;
	info.vhost_name = VHOST;
	loop->context = lws_create_context(&info);
	if (loop->context == NULL)
		return gs_fail(err, GS_EBUG, "libwebsockets: can't start");
	loop->vhost = lws_get_vhost_by_name(loop->context, VHOST);
	return loop->vhost != NULL || gs_fail(err, GS_EBUG, "libwebsockets: no vhost");
}

static bool
open_signals(struct gs_loop *loop, struct gs_err *err)
{
	lws_sock_file_fd_type fd;
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGTERM);
	(void)pthread_sigmask(SIG_BLOCK, &set, NULL);
	loop->signal_fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	if (loop->signal_fd < 0)
		return gs_fail(err, GS_EIO, "signalfd: %s", strerror(errno));
	fd.filefd = loop->signal_fd;
	if (lws_adopt_descriptor_vhost(loop->vhost, LWS_ADOPT_RAW_FILE_DESC, fd, SIGNALS,
		NULL) == NULL)
		return gs_fail(err, GS_EBUG, "libwebsockets: can't watch signals");
	return true;
}

struct gs_loop *
gs_loop_new(const struct gs_loop_ops *ops, struct gs_err *err)
{
	struct gs_loop *loop = gs_mem_new(sizeof(*loop));

	loop->ops = *ops;
	if (open_context(loop, err) && open_signals(loop, err))
		return loop;
	gs_loop_free(loop);
	return NULL;
}

void
gs_loop_free(struct gs_loop *loop)
{
	if (loop == NULL)
		return;
	if (loop->context != NULL)
		lws_context_destroy(loop->context);
	free(loop);
}

void
gs_loop_run(struct gs_loop *loop)
{
	while (!loop->is_stopped) {
		if (lws_service(loop->context, 0) < 0)
			break;
		if (loop->ops.idle != NULL)
			loop->ops.idle(loop->ops.arg);
	}
}

void
gs_loop_stop(struct gs_loop *loop)
{
	loop->is_stopped = true;
	/* The service would go on sleeping after a timer. */
	lws_cancel_service(loop->context);
}

static void
fire(lws_sorted_usec_list_t *sul)
{
	struct gs_timer *timer = lws_container_of(sul, struct gs_timer, sul);

	timer->fn(timer->arg);
}

struct gs_timer *
gs_timer_new(struct gs_loop *loop, void (*fn)(void *arg), void *arg)
{
	struct gs_timer *timer = gs_mem_new(sizeof(*timer));

	timer->loop = loop;
	timer->fn = fn;
	timer->arg = arg;
	return timer;
}

void
gs_timer_set(struct gs_timer *timer, int64_t in_ms)
{
	/* 0 would stop it. */
	lws_usec_t in_us = in_ms > 0 ? (lws_usec_t)in_ms * LWS_US_PER_MS : 1;

	lws_sul_schedule(timer->loop->context, 0, &timer->sul, fire, in_us);
}

void
gs_timer_stop(struct gs_timer *timer)
{
	lws_sul_cancel(&timer->sul);
}

void
gs_timer_free(struct gs_timer *timer)
{
	if (timer == NULL)
		return;
	gs_timer_stop(timer);
	free(timer);
}

struct lws_context *
gs_loop_context(struct gs_loop *loop)
{
	return loop->context;
}

struct lws_vhost *
gs_loop_vhost(struct gs_loop *loop)
{
	return loop->vhost;
}
