/*
 * A relay's NIP-11 document, fetched over HTTP from where its websocket is.  What it
 * says is limits'.
 */
#include "nip11.h"

#include <libwebsockets.h>
#include <stdlib.h>

#include "limits.h"
#include "mem.h"

#define ACCEPT "application/nostr+json"
#define HTTP_OK 200
#define READ_BYTES 4096 /* at a time, besides what libwebsockets puts before it */

struct gs_nip11 {
	struct gs_dial_owner owner; /* first */
	gs_nip11_fn *fn;
	void *arg;
	struct lws *wsi; /* NULL: gone, or it never came about */
	struct gs_timer *timer;
	struct gs_buf body;
	bool is_starting; /* within gs_dial_start */
	bool is_good;	  /* so far */
};

static void
end_fetch(struct gs_nip11 *nip11)
{
	struct gs_str document = { NULL, 0 };

	gs_timer_free(nip11->timer);
	if (nip11->is_good && nip11->body.len > 0)
		document = (struct gs_str){ nip11->body.data, nip11->body.len };
	if (nip11->fn != NULL)
		nip11->fn(document, nip11->arg);
	gs_buf_fini(&nip11->body);
	free(nip11);
}

/* Too late, or it could not even begin. */
static void
give_up(void *arg)
{
	struct gs_nip11 *nip11 = arg;

	nip11->is_good = false;
	if (nip11->wsi == NULL)
		end_fetch(nip11);
	else
		lws_set_timeout(nip11->wsi, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_ASYNC);
}

static int
take_body(struct gs_nip11 *nip11, const void *in, size_t len)
{
	if (len > GS_LIMITS_DOCUMENT_BYTES - nip11->body.len) {
		nip11->is_good = false;
		return -1;
	}
	gs_buf_add(&nip11->body, in, len);
	return 0;
}

/* The body comes through the callback again, as RECEIVE_CLIENT_HTTP_READ. */
static int
read_body(struct lws *wsi)
{
	char room[LWS_PRE + READ_BYTES];
	char *at = room + LWS_PRE;
	int len = READ_BYTES;

	return lws_http_client_read(wsi, &at, &len) < 0 ? -1 : 0;
}

static int
serve(struct gs_dial_owner *owner, struct lws *wsi, enum lws_callback_reasons reason,
    void *in, size_t len)
{
	struct gs_nip11 *nip11 = (struct gs_nip11 *)owner;

	switch (reason) { /* libwebsockets' reasons, of which most are nothing to us */
	case LWS_CALLBACK_CLIENT_APPEND_HANDSHAKE_HEADER:
		return gs_dial_add_headers(wsi, in, len, ACCEPT);
	case LWS_CALLBACK_ESTABLISHED_CLIENT_HTTP:
		nip11->is_good = lws_http_client_http_response(wsi) == HTTP_OK;
		return nip11->is_good ? 0 : -1;
	case LWS_CALLBACK_RECEIVE_CLIENT_HTTP:
		return read_body(wsi);
	case LWS_CALLBACK_RECEIVE_CLIENT_HTTP_READ:
		return take_body(nip11, in, len);
	case LWS_CALLBACK_COMPLETED_CLIENT_HTTP:
		return -1;
	case LWS_CALLBACK_WSI_DESTROY:
		lws_set_opaque_user_data(wsi, NULL);
		nip11->wsi = NULL;
		if (!nip11->is_starting)
			end_fetch(nip11);
		return 0;
	default:
		return 0;
	}
}

static const struct gs_dial_kind kind = { .method = "GET", .serve = serve };

struct gs_nip11 *
gs_nip11_fetch(struct gs_loop *loop, const struct gs_dial *dial, gs_nip11_fn *fn,
    void *arg)
{
	struct gs_nip11 *nip11 = gs_mem_new(sizeof(*nip11));

	nip11->owner.kind = &kind;
	nip11->fn = fn;
	nip11->arg = arg;
	nip11->timer = gs_timer_new(loop, give_up, nip11);
	nip11->is_starting = true;
	nip11->wsi = gs_dial_start(loop, dial, &nip11->owner);
	nip11->is_starting = false;
	gs_timer_set(nip11->timer, nip11->wsi != NULL ? GS_NIP11_MS : 0);
	return nip11;
}

void
gs_nip11_free(struct gs_nip11 *nip11)
{
	if (nip11 == NULL)
		return;
	nip11->fn = NULL;
	if (nip11->wsi == NULL) {
		end_fetch(nip11);
		return;
	}
	gs_timer_stop(nip11->timer);
	lws_set_timeout(nip11->wsi, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_ASYNC);
}
