/* Watches a store's folder.  Not its file alone: that may be removed or replaced. */
#include "wake.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "mem.h"

#define DATA_FILE "data.mdb"
#define READ_BYTES 4096
#define GONE (IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_CREATE)

struct gs_wake {
	int fd;
};

struct gs_wake *
gs_wake_open(const char *dir, struct gs_err *err)
{
	int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	struct gs_wake *wake;

	if (fd < 0 || inotify_add_watch(fd, dir, IN_MODIFY | GONE | IN_ONLYDIR) < 0) {
		(void)gs_fail(err, GS_EIO, "%s: can't be watched: %s", dir,
		    strerror(errno));
		if (fd >= 0)
			(void)close(fd);
		return NULL;
	}
	wake = gs_mem_new(sizeof(*wake));
	wake->fd = fd;
	return wake;
}

void
gs_wake_close(struct gs_wake *wake)
{
	if (wake == NULL)
		return;
	(void)close(wake->fd);
	free(wake);
}

int
gs_wake_fd(const struct gs_wake *wake)
{
	return wake->fd;
}

static enum gs_wake_news
judge(const struct inotify_event *event)
{
	/* The folder itself is gone, or so much happened that some of it was dropped. */
	if ((event->mask & IN_IGNORED) != 0)
		return GS_WAKE_GONE;
	if ((event->mask & IN_Q_OVERFLOW) != 0)
		return GS_WAKE_WRITTEN;
	if (event->len == 0 || strcmp(event->name, DATA_FILE) != 0)
		return GS_WAKE_NOTHING;
	return (event->mask & GONE) != 0 ? GS_WAKE_GONE : GS_WAKE_WRITTEN;
}

enum gs_wake_news
gs_wake_read(struct gs_wake *wake)
{
	_Alignas(struct inotify_event) char bytes[READ_BYTES];
	enum gs_wake_news news = GS_WAKE_NOTHING;
	ssize_t len;

	while ((len = read(wake->fd, bytes, sizeof(bytes))) > 0) {
		const char *at = bytes;

		while (at < bytes + len) {
			const struct inotify_event *event = (const void *)at;
			enum gs_wake_news its = judge(event);

			news = its > news ? its : news;
			at += sizeof(*event) + event->len;
		}
	}
	return news;
}
