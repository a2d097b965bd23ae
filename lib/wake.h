/*
 * Tells when another process commits to a store: LMDB writes its file then, and the
 * system says so.  What was committed is the store's to tell.
 */
#ifndef GS_WAKE_H
#define GS_WAKE_H

#include "err.h"

struct gs_wake;

/* dir: of the store.  NULL and GS_EIO. */
struct gs_wake *gs_wake_open(const char *dir, struct gs_err *err) GS_MUST;
void gs_wake_close(struct gs_wake *wake);
int gs_wake_fd(const struct gs_wake *wake); /* readable: call gs_wake_read */

enum gs_wake_news {
	GS_WAKE_NOTHING,
	GS_WAKE_WRITTEN, /* perhaps committed; a moment later it can be seen */
	GS_WAKE_GONE, /* the file was removed or replaced: what we have open is no more */
};
/* All that has happened since the last call. */
enum gs_wake_news gs_wake_read(struct gs_wake *wake);

#endif
