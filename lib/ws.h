/*
 * One websocket to one relay: dialled at an address that was vetted before, whole
 * text messages up, one frame down when the socket takes it.  Knows no Nostr.
 */
#ifndef GS_WS_H
#define GS_WS_H

#include "buf.h"
#include "dial.h"
#include "loop.h"
#include "url.h"

#define GS_WS_MESSAGE_BYTES (4u * 1024 * 1024) /* longer: hung up (DESIGN 6) */

#define GS_WS_NAME_BYTES 24

/*
 * How it ended: the class is for machines.  Before it was open: refused, timeout, tls,
 * tls-name, tls-expired, tls-untrusted, proxy, http-NNN, not-websocket; then: closed,
 * closed-CODE, protocol.
 */
struct gs_ws_end {
	char name[GS_WS_NAME_BYTES];
	enum gs_code code;     /* GS_OK: we asked for it */
	bool was_open;	       /* the upgrade had succeeded */
	bool is_tcp_failed;    /* no connection to that address: another one may do */
	bool is_lasting;       /* dialling again can't help */
	uint16_t close_code;   /* of the relay's close frame; 0: none */
	int64_t retry_after_s; /* of an HTTP answer; 0: none */
};

struct gs_ws_ops {
	void (*opened)(void *arg);
	/* A whole message; binary ones are handed on as they are. */
	void (*message)(const char *text, size_t len, void *arg);
	void (*pong)(void *arg); /* it lives, though it says nothing */
	/* The socket takes a frame: adds one; false: there is none. */
	bool (*next_frame)(struct gs_buf *frame, void *arg);
	/* Always, once, and last: the gs_ws is gone after it. */
	void (*ended)(const struct gs_ws_end *end, void *arg);
	void *arg;
};

struct gs_ws;
/*
 * NULL and end when that is impossible from the start (ended is not called).
 * connect_ms: for TCP alone.
 */
struct gs_ws *gs_ws_dial(struct gs_loop *loop, const struct gs_dial *dial,
    int64_t connect_ms, const struct gs_ws_ops *ops, struct gs_ws_end *end) GS_MUST;
/* There is something to send: next_frame will be called. */
void gs_ws_want_write(struct gs_ws *ws);
/* Stops reading, so that the relay has to wait; until gs_ws_resume. */
void gs_ws_pause(struct gs_ws *ws);
void gs_ws_resume(struct gs_ws *ws);
/* Says goodbye and hangs up; ended follows. */
void gs_ws_close(struct gs_ws *ws);
/* Its time is over: ended follows with "timeout", unless more is known. */
void gs_ws_expire(struct gs_ws *ws);
/* Hangs up without a word, and nothing is called any more. */
void gs_ws_free(struct gs_ws *ws);

#endif
