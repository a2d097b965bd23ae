/* When an HTTP server wants to be asked again: its Retry-After, seconds or a date. */
#ifndef GS_RETRY_AFTER_H
#define GS_RETRY_AFTER_H

#include <libwebsockets.h>
#include <stdint.h>

/* Seconds from now on, a year at most; 0: it does not say. */
int64_t gs_retry_after_s(struct lws *wsi);

#endif
