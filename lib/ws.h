/*
 * One websocket to one relay: dialled at an address that was vetted before, whole
 * text messages up, one frame down when the socket takes it.  Knows no Nostr.
 */
#ifndef GS_WS_H
#define GS_WS_H

#include <libwebsockets.h>

#include "buf.h"
#include "loop.h"
#include "url.h"

#define GS_WS_MESSAGE_BYTES (4u * 1024 * 1024) /* longer: hung up (DESIGN 6) */
#define GS_WS_STAGE_S 15		       /* for TCP, TLS and upgrade each */

/* How it ended: the class is for machines ("refused", "tls-expired", "http-429", ...). */
struct gs_ws_end {
	char name[24];
	enum gs_code code;   /* GS_OK: we asked for it */
	bool was_open;	     /* the upgrade had succeeded */
	bool is_tcp_failed;  /* no connection to that address: another one may do */
	uint16_t close_code; /* of the relay's close frame; 0: none */
};

struct gs_ws_ops {
	void (*opened)(void *arg);
	/* A whole message; binary ones are handed on as they are. */
	void (*message)(const char *text, size_t len, void *arg);
	/* The socket takes a frame: adds one; false: there is none. */
	bool (*next_frame)(struct gs_buf *frame, void *arg);
	/* Always, once, and last: the gs_ws is gone after it. */
	void (*ended)(const struct gs_ws_end *end, void *arg);
	void *arg;
};

struct gs_ws;
/*
 * Dials url at address (numeric), while Host, SNI and the certificate check keep the
 * url's name.  NULL and end when that is impossible from the start (ended is not called).
 */
struct gs_ws *gs_ws_dial(struct gs_loop *loop, const struct gs_url *url,
    const char *address, const struct gs_ws_ops *ops, struct gs_ws_end *end) GS_MUST;
/* There is something to send: next_frame will be called. */
void gs_ws_want_write(struct gs_ws *ws);
/* Says goodbye and hangs up; ended follows. */
void gs_ws_close(struct gs_ws *ws);
/* Hangs up without a word, and nothing is called any more.  Not from within ops. */
void gs_ws_free(struct gs_ws *ws);

/* For loop alone: the callback of libwebsockets. */
#define GS_WS_PROTOCOL "grasp-sync-ws"
int gs_ws_serve(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in,
    size_t len);

#endif
