/*
 * The one thread that waits: sockets, timers, descriptors and signals of a process, on
 * a libwebsockets context.  What a connection says is ws's and nip11's.
 */
#include "loop.h"

#include <errno.h>
#include <libwebsockets.h>
#include <openssl/pem.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "dial.h"
#include "mem.h"
#include "proxy.h"

/* With the 4 KiB that are the default, many connections cost 4 times as much. */
#define BUFFER_BYTES 65536
#define PIECE_BYTES 2048 /* of a message at a time: each connection keeps such a buffer */
#define WATCHES "grasp-sync-watches"
#define VHOST "grasp-sync"
#define MAX_READY 64 /* descriptors at a time, so that sockets have their turn */

struct gs_loop {
	struct gs_loop_ops ops;
	struct lws_context *context;
	struct lws_vhost *vhost;
	bool has_proxy;
	int watch_fd; /* an epoll; libwebsockets closes it */
	int signal_fd;
	struct gs_watch *signals;
	bool is_stopped;
};

struct gs_watch {
	struct gs_loop *loop;
	int fd;
	void (*fn)(void *arg);
	void *arg;
};

struct gs_timer {
	struct gs_loop *loop;
	lws_sorted_usec_list_t sul;
	void (*fn)(void *arg);
	void *arg;
};

static void
read_signals(void *arg)
{
	struct gs_loop *loop = arg;
	struct signalfd_siginfo info;

	while (read(loop->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		loop->ops.signalled((int)info.ssi_signo, loop->ops.arg);
}

/* One by one: what one of them calls may free the next. */
static void
call_watches(struct gs_loop *loop)
{
	struct epoll_event ready;

	for (int i = 0; i < MAX_READY; i++) {
		struct gs_watch *watch;

		if (epoll_wait(loop->watch_fd, &ready, 1, 0) != 1)
			return;
		watch = ready.data.ptr;
		watch->fn(watch->arg);
	}
}

static int
serve_watches(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in,
    size_t len)
{
	(void)user;
	(void)in;
	(void)len;
	if (reason == LWS_CALLBACK_RAW_RX_FILE)
		call_watches(lws_context_user(lws_get_context(wsi)));
	return 0;
}

/* The first protocol also hears of certificates. */
static const struct lws_protocols protocols[] = {
	{ GS_DIAL_PROTOCOL, gs_dial_serve, 0, PIECE_BYTES, 0, NULL, 0 },
	{ WATCHES, serve_watches, 0, 0, 0, NULL, 0 },
	{ NULL, NULL, 0, 0, 0, NULL, 0 },
};

/* libwebsockets only logs a file that is no good. */
static bool
check_ca_file(const char *path, struct gs_err *err)
{
	FILE *file = fopen(path, "re");
	X509 *first;

	if (file == NULL)
		return gs_fail(err, GS_ENOINPUT, "%s: %s", path, strerror(errno));
	first = PEM_read_X509(file, NULL, NULL, NULL);
	(void)fclose(file);
	if (first == NULL)
		return gs_fail(err, GS_ECONFIG, "%s: no certificate in it", path);
	X509_free(first);
	return true;
}

static bool
open_context(struct gs_loop *loop, const struct gs_loop_net *net, struct gs_err *err)
{
	struct lws_context_creation_info info;
	char proxy[GS_PROXY_BYTES];

	if (net->ca_file != NULL && !check_ca_file(net->ca_file, err))
		return false;
	loop->has_proxy = net->proxy != NULL;
	if (loop->has_proxy && !gs_proxy_find(proxy, net->proxy, err))
		return false;
	/* libwebsockets would obey it for ws:// and wss:// alike. */
	(void)unsetenv("http_proxy");
	lws_set_log_level(0, NULL);
	memset(&info, 0, sizeof(info));
	info.port = CONTEXT_PORT_NO_LISTEN;
	info.protocols = protocols;
	info.user = loop;
	info.options = LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT;
	info.pt_serv_buf_size = BUFFER_BYTES;
	info.timeout_secs = GS_LOOP_STAGE_S;
	info.connect_timeout_secs = GS_LOOP_STAGE_S;
	info.vhost_name = VHOST;
	info.client_ssl_ca_filepath = net->ca_file;
	info.http_proxy_address = loop->has_proxy ? proxy : NULL;
	loop->context = lws_create_context(&info);
	if (loop->context == NULL)
		return gs_fail(err, GS_EBUG, "libwebsockets: can't start");
	loop->vhost = lws_get_vhost_by_name(loop->context, VHOST);
	return loop->vhost != NULL || gs_fail(err, GS_EBUG, "libwebsockets: no vhost");
}

/* An epoll within the poll of libwebsockets: that one always asks for input, too. */
static bool
open_watches(struct gs_loop *loop, struct gs_err *err)
{
	lws_sock_file_fd_type fd;

	loop->watch_fd = epoll_create1(EPOLL_CLOEXEC);
	if (loop->watch_fd < 0)
		return gs_fail(err, GS_EIO, "epoll: %s", strerror(errno));
	fd.filefd = loop->watch_fd;
	if (lws_adopt_descriptor_vhost(loop->vhost, LWS_ADOPT_RAW_FILE_DESC, fd, WATCHES,
		NULL) == NULL)
		return gs_fail(err, GS_EBUG, "libwebsockets: can't watch descriptors");
	return true;
}

static bool
open_signals(struct gs_loop *loop, struct gs_err *err)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGTERM);
	if (loop->ops.more_signals) {
		(void)sigaddset(&set, SIGHUP);
		(void)sigaddset(&set, SIGUSR1);
	}
	(void)pthread_sigmask(SIG_BLOCK, &set, NULL);
	loop->signal_fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	if (loop->signal_fd < 0)
		return gs_fail(err, GS_EIO, "signalfd: %s", strerror(errno));
	loop->signals = gs_watch_new(loop, loop->signal_fd, read_signals, loop);
	if (loop->signals == NULL)
		return gs_fail(err, GS_EIO, "epoll: %s", strerror(errno));
	gs_watch_set(loop->signals, GS_WATCH_READ);
	return true;
}

void
gs_loop_raise_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return;
	limit.rlim_cur = limit.rlim_max < GS_LOOP_FILES ? limit.rlim_max : GS_LOOP_FILES;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

struct gs_loop *
gs_loop_new(const struct gs_loop_ops *ops, const struct gs_loop_net *net,
    struct gs_err *err)
{
	static const struct gs_loop_net plain;
	struct gs_loop *loop = gs_mem_new(sizeof(*loop));

	loop->ops = *ops;
	loop->signal_fd = -1;
	net = net != NULL ? net : &plain;
	if (open_context(loop, net, err) && open_watches(loop, err) &&
	    open_signals(loop, err))
		return loop;
	gs_loop_free(loop);
	return NULL;
}

void
gs_loop_free(struct gs_loop *loop)
{
	if (loop == NULL)
		return;
	gs_watch_free(loop->signals);
	if (loop->signal_fd >= 0)
		(void)close(loop->signal_fd);
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

struct gs_watch *
gs_watch_new(struct gs_loop *loop, int fd, void (*fn)(void *arg), void *arg)
{
	struct gs_watch *watch = gs_mem_new(sizeof(*watch));
	struct epoll_event event = { .events = 0, .data.ptr = watch };

	*watch = (struct gs_watch){ loop, fd, fn, arg };
	if (epoll_ctl(loop->watch_fd, EPOLL_CTL_ADD, fd, &event) == 0)
		return watch;
	free(watch);
	return NULL;
}

void
gs_watch_set(struct gs_watch *watch, enum gs_watch_for what)
{
	static const uint32_t bits[] = {
		[GS_WATCH_FAULTS] = 0, /* epoll tells of them unasked */
		[GS_WATCH_READ] = EPOLLIN,
		[GS_WATCH_WRITE] = EPOLLOUT,
	};
	struct epoll_event event = { .events = bits[what], .data.ptr = watch };

	(void)epoll_ctl(watch->loop->watch_fd, EPOLL_CTL_MOD, watch->fd, &event);
}

void
gs_watch_free(struct gs_watch *watch)
{
	if (watch == NULL)
		return;
	(void)epoll_ctl(watch->loop->watch_fd, EPOLL_CTL_DEL, watch->fd, NULL);
	free(watch);
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

bool
gs_loop_has_proxy(const struct gs_loop *loop)
{
	return loop->has_proxy;
}
