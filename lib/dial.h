/*
 * How a connection is begun, a websocket or plain HTTP: at an address that was vetted
 * before, while Host, SNI and the certificate check keep the URL's name.
 */
#ifndef GS_DIAL_H
#define GS_DIAL_H

#include <libwebsockets.h>

#include "loop.h"
#include "url.h"

struct gs_dial {
	const struct gs_url *url;
	const char *address; /* numeric; with a proxy NULL: it looks the name up */
	bool is_insecure;    /* any certificate will do */
};

/* The beginning of what owns a connection. */
struct gs_dial_owner {
	const struct gs_dial_kind *kind;
};

/* What the two kinds of connection have of their own. */
struct gs_dial_kind {
	const char *method;		 /* "GET"; NULL: a websocket */
	const lws_retry_bo_t *keepalive; /* may be NULL */
	/* A callback of libwebsockets. */
	int (*serve)(struct gs_dial_owner *owner, struct lws *wsi,
	    enum lws_callback_reasons reason, void *in, size_t len);
	/* A certificate is not accepted: an error of X.509.  May be NULL. */
	void (*distrust)(struct gs_dial_owner *owner, int error);
};

/* libwebsockets can't check a certificate for the host of this URL, if it is wss. */
bool gs_dial_is_uncheckable(const struct gs_url *url);

/* NULL: impossible from the start; callbacks may have come nevertheless. */
struct lws *gs_dial_start(struct gs_loop *loop, const struct gs_dial *dial,
    struct gs_dial_owner *owner);

/* In LWS_CALLBACK_CLIENT_APPEND_HANDSHAKE_HEADER, with its in and len: who we are. */
int gs_dial_add_headers(struct lws *wsi, void *in, size_t len, const char *accept);

/* For loop alone: the callback of libwebsockets. */
#define GS_DIAL_PROTOCOL "grasp-sync-dial"
int gs_dial_serve(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in,
    size_t len);

#endif
