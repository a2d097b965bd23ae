/* Reads a stream of lines into an ingest, and sees when it pauses or is to stop. */
#include "ingest.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

#include "clock.h"
#include "file.h"

#define PAUSE_MS 50	    /* a pipe that brings nothing for so long is flushed */
#define STOP_EVERY_LINES 64 /* how often a stream that never pauses is asked to stop */

struct feed {
	struct gs_ingest *ingest;
	struct gs_lines lines;
	int stop_fd;
	int64_t flushed_ms;
};

static bool
is_stopped(const struct feed *feed)
{
	struct pollfd pfd = { .fd = feed->stop_fd, .events = POLLIN };

	return poll(&pfd, 1, 0) > 0;
}

/* Until there is input, or a stop; -1: for ever.  True if there is either. */
static bool
wait_for_input(const struct feed *feed, int timeout_ms)
{
	struct pollfd pfds[] = { { .fd = feed->lines.fd, .events = POLLIN },
		{ .fd = feed->stop_fd, .events = POLLIN } };

	return poll(pfds, 2, timeout_ms) != 0;
}

/* Short pauses are not worth a commit, unless there are many of them. */
static void
pause_feed(struct feed *feed)
{
	int64_t now_ms = gs_clock_now().mono_ms;

	if (now_ms - feed->flushed_ms < GS_INGEST_COMMIT_MS &&
	    wait_for_input(feed, PAUSE_MS))
		return;
	gs_ingest_flush(feed->ingest);
	(void)wait_for_input(feed, -1);
	feed->flushed_ms = gs_clock_now().mono_ms;
}

static enum gs_feed
run_feed(struct feed *feed, struct gs_err *err)
{
	struct gs_str line;

	for (;;) {
		enum gs_line got = gs_lines_next(&feed->lines, false, &line);

		if (got == GS_LINE_END)
			return GS_FEED_END;
		if (got == GS_LINE_FAILED) {
			gs_fail(err, GS_EIO, "%s", strerror(errno));
			return GS_FEED_FAILED;
		}
		if (got == GS_LINE_WAIT)
			pause_feed(feed);
		else if ((got == GS_LINE_TOO_LONG || !gs_line_is_blank(line)) &&
		    !gs_ingest_push(feed->ingest, line, feed->lines.number))
			return GS_FEED_END;
		if ((got == GS_LINE_WAIT || feed->lines.number % STOP_EVERY_LINES == 0) &&
		    is_stopped(feed))
			return GS_FEED_STOPPED;
	}
}

enum gs_feed
gs_ingest_feed(struct gs_ingest *ingest, int fd, int stop_fd, struct gs_err *err)
{
	struct feed feed = { .ingest = ingest, .stop_fd = stop_fd };
	enum gs_feed end;

	gs_lines_init(&feed.lines, fd, GS_INGEST_LINE_BYTES);
	feed.flushed_ms = gs_clock_now().mono_ms;
	end = run_feed(&feed, err);
	gs_lines_fini(&feed.lines);
	return end;
}
