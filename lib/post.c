/* A wake-up for the loop from any thread: an eventfd that the loop watches. */
#include "post.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "mem.h"

struct gs_post {
	int fd;
	struct gs_watch *watch;
	void (*fn)(void *arg);
	void *arg;
};

static void
take(void *arg)
{
	struct gs_post *post = arg;
	eventfd_t count;

	if (eventfd_read(post->fd, &count) == 0)
		post->fn(post->arg);
}

struct gs_post *
gs_post_new(struct gs_loop *loop, void (*fn)(void *arg), void *arg, struct gs_err *err)
{
	struct gs_post *post = gs_mem_new(sizeof(*post));

	post->fn = fn;
	post->arg = arg;
	post->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (post->fd >= 0)
		post->watch = gs_watch_new(loop, post->fd, take, post);
	if (post->watch == NULL) {
		(void)gs_fail(err, GS_EIO, "eventfd: %s", strerror(errno));
		gs_post_free(post);
		return NULL;
	}
	gs_watch_set(post->watch, GS_WATCH_READ);
	return post;
}

void
gs_post_free(struct gs_post *post)
{
	if (post == NULL)
		return;
	gs_watch_free(post->watch);
	if (post->fd >= 0)
		(void)close(post->fd);
	free(post);
}

void
gs_post_wake(struct gs_post *post)
{
	(void)eventfd_write(post->fd, 1);
}
