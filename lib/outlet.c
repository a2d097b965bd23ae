/*
 * Lines to a descriptor, such as stdout, as fast as its reader takes them: the loop
 * never waits for it.  The descriptor stays as it is (it may be shared with other
 * processes, so O_NONBLOCK is not ours to set): it is asked before each write, and
 * written by so little that a pipe which has room does not block.
 */
#include "outlet.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mem.h"

#define PIPE_BYTES 4096	  /* what a pipe has room for takes so much: pipe(7) */
#define EAGER_BYTES 65536 /* so many are written without being asked to */

struct gs_outlet {
	int fd;
	struct gs_watch *watch; /* NULL: it never makes wait, or has failed */
	void (*moved)(void *arg);
	void *arg;
	struct gs_buf buf;
	size_t at; /* written up to here */
	bool is_full;
	int error;
};

size_t
gs_outlet_waiting(const struct gs_outlet *outlet)
{
	return outlet->buf.len - outlet->at;
}

int
gs_outlet_error(const struct gs_outlet *outlet)
{
	return outlet->error;
}

static void
fail_outlet(struct gs_outlet *outlet, int error)
{
	outlet->error = error;
	gs_watch_free(outlet->watch);
	outlet->watch = NULL;
	gs_buf_clear(&outlet->buf);
	outlet->at = 0;
}

/* Not more often than that much has been written, so that each byte moves once. */
static void
drop_written(struct gs_outlet *outlet)
{
	size_t rest = gs_outlet_waiting(outlet);

	if (outlet->at < rest)
		return;
	if (rest > 0)
		memmove(outlet->buf.data, outlet->buf.data + outlet->at, rest);
	gs_buf_cut(&outlet->buf, rest);
	outlet->at = 0;
}

/* POLLOUT and perhaps POLLERR; 0: it would block. */
static short
ask_descriptor(const struct gs_outlet *outlet)
{
	struct pollfd ask = { .fd = outlet->fd, .events = POLLOUT };

	return poll(&ask, 1, 0) > 0 ? ask.revents : 0;
}

/* False: no room, or it failed. */
static bool
write_some(struct gs_outlet *outlet)
{
	size_t len = gs_outlet_waiting(outlet);
	ssize_t put;

	if (outlet->watch != NULL) {
		if (ask_descriptor(outlet) == 0)
			return false;
		len = len < PIPE_BYTES ? len : PIPE_BYTES;
	}
	put = write(outlet->fd, outlet->buf.data + outlet->at, len);
	if (put < 0 && errno == EINTR)
		return true;
	if (put < 0 && errno == EAGAIN)
		return false;
	if (put < 0) {
		fail_outlet(outlet, errno);
		return false;
	}
	outlet->at += (size_t)put;
	return true;
}

bool
gs_outlet_flush(struct gs_outlet *outlet)
{
	bool is_full = false;

	while (gs_outlet_waiting(outlet) > 0 && !is_full)
		is_full = !write_some(outlet);
	if (outlet->error != 0)
		return false;
	drop_written(outlet);
	if (outlet->watch != NULL && outlet->is_full != is_full)
		gs_watch_set(outlet->watch, is_full ? GS_WATCH_WRITE : GS_WATCH_FAULTS);
	outlet->is_full = is_full;
	return true;
}

static void
take_room(void *arg)
{
	struct gs_outlet *outlet = arg;

	if (gs_outlet_waiting(outlet) > 0)
		(void)gs_outlet_flush(outlet);
	else if ((ask_descriptor(outlet) & (POLLERR | POLLHUP)) != 0)
		fail_outlet(outlet, EPIPE);
	outlet->moved(outlet->arg);
}

bool
gs_outlet_line(struct gs_outlet *outlet, const char *data, size_t len)
{
	if (outlet->error != 0)
		return false;
	gs_buf_add(&outlet->buf, data, len);
	gs_buf_add_char(&outlet->buf, '\n');
	if (outlet->is_full || gs_outlet_waiting(outlet) < EAGER_BYTES)
		return true;
	return gs_outlet_flush(outlet);
}

struct gs_outlet *
gs_outlet_new(struct gs_loop *loop, int fd, void (*moved)(void *arg), void *arg)
{
	struct gs_outlet *outlet = gs_mem_new(sizeof(*outlet));

	outlet->fd = fd;
	outlet->moved = moved;
	outlet->arg = arg;
	outlet->watch = gs_watch_new(loop, fd, take_room, outlet);
	return outlet;
}

void
gs_outlet_free(struct gs_outlet *outlet)
{
	if (outlet == NULL)
		return;
	gs_watch_free(outlet->watch);
	gs_buf_fini(&outlet->buf);
	free(outlet);
}
