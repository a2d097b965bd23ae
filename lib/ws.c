/*
 * One websocket to one relay: dialled at an address that was vetted before, whole
 * text messages up, one frame down when the socket takes it.  Knows no Nostr.
 *
 * libwebsockets 4.1.6 has traps; the comments below name them where we walk around.
 */
#include "ws.h"

#include <openssl/x509_vfy.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "mem.h"

#define PING_S 30   /* DESIGN 6 */
#define PONG_S 30   /* DESIGN 6 */
#define GOODBYE_S 3 /* for a peer that takes no close frame */
#define SWITCHING_PROTOCOLS 101
#define NAME_BYTES 127 /* of a host that libwebsockets can check in a certificate */
#define HOST_BYTES (GS_URL_BYTES + 16) /* with brackets and port */

enum stage {
	STAGE_DIALLING,
	STAGE_OPEN,
	STAGE_CLOSING, /* we want it to end */
};

struct gs_ws {
	struct gs_ws_ops ops;
	struct lws *wsi;
	enum stage stage;
	bool is_dialling_now; /* within lws_client_connect_via_info */
	struct gs_ws_end end; /* name[0] != 0: known */
	int x509_error;
	int64_t dialled_ms;
	struct gs_buf message; /* reassembled */
	struct gs_buf frame;   /* LWS_PRE bytes, then what is sent */
	bool is_tls;
};

static const lws_retry_bo_t keepalive = {
	.secs_since_valid_ping = PING_S,
	.secs_since_valid_hangup = PING_S + PONG_S,
};

static void
set_end(struct gs_ws_end *end, enum gs_code code, const char *name)
{
	if (end->name[0] != '\0')
		return;
	(void)snprintf(end->name, sizeof(end->name), "%s", name);
	end->code = code;
}

static const char *
name_certificate_error(int error)
{
	switch (error) {
	case X509_V_ERR_HOSTNAME_MISMATCH:
	case X509_V_ERR_IP_ADDRESS_MISMATCH:
		return "tls-name";
	case X509_V_ERR_CERT_HAS_EXPIRED:
	case X509_V_ERR_CERT_NOT_YET_VALID:
		return "tls-expired";
	default: /* OpenSSL's numbers, not an enum of ours */
		return "tls-untrusted";
	}
}

/* What an HTTP answer other than the upgrade means for an exit code. */
static enum gs_code
code_of_status(unsigned status)
{
	if (status == 401 || status == 403)
		return GS_EREFUSED;
	if (status == 429 || status >= 500)
		return GS_EINCOMPLETE;
	return GS_EPROTOCOL;
}

static bool
has_beginning(const char *text, size_t len, const char *beginning)
{
	size_t wanted = strlen(beginning);

	return text != NULL && len >= wanted && memcmp(text, beginning, wanted) == 0;
}

/* The same text stands for a refusal at once and for a host that does not answer. */
static void
note_unreachable(struct gs_ws *ws)
{
	int64_t took_ms = gs_clock_now().mono_ms - ws->dialled_ms;

	ws->end.is_tcp_failed = true;
	set_end(&ws->end, GS_EUNAVAILABLE,
	    took_ms >= (GS_WS_STAGE_S - 1) * 1000 ? "timeout" : "refused");
}

/* Before any HTTP answer there is only a text of libwebsockets. */
static void
note_text(struct gs_ws *ws, const char *text, size_t len)
{
	if (has_beginning(text, len, "Unable to connect"))
		note_unreachable(ws);
	else if (has_beginning(text, len, "Timed out") ||
	    has_beginning(text, len, "closed before established"))
		set_end(&ws->end, GS_EUNAVAILABLE, "timeout");
	else if (ws->is_tls)
		set_end(&ws->end, GS_EUNAVAILABLE, "tls");
	else
		set_end(&ws->end, GS_EPROTOCOL, "not-websocket");
}

static void
note_status(struct gs_ws *ws, unsigned status)
{
	char name[sizeof(ws->end.name)] = "not-websocket";

	if (status != SWITCHING_PROTOCOLS)
		(void)snprintf(name, sizeof(name), "http-%u", status % 1000);
	set_end(&ws->end, code_of_status(status), name);
}

/* The certificate says most, then the HTTP status. */
static void
note_failure(struct gs_ws *ws, const char *text, size_t len)
{
	unsigned status = lws_http_client_http_response(ws->wsi);

	if (ws->x509_error != X509_V_OK)
		set_end(&ws->end, GS_EUNAVAILABLE,
		    name_certificate_error(ws->x509_error));
	else if (status != 0)
		note_status(ws, status);
	else
		note_text(ws, text, len);
}

static void
note_certificate(struct lws *wsi, X509_STORE_CTX *store, size_t preverify_ok)
{
	struct gs_ws *ws = lws_get_opaque_user_data(wsi);

	if (ws != NULL && preverify_ok == 0)
		ws->x509_error = X509_STORE_CTX_get_error(store);
}

static void
note_peer_close(struct gs_ws *ws, const unsigned char *in, size_t len)
{
	char name[sizeof(ws->end.name)];

	ws->end.close_code = len >= 2 ? (uint16_t)((unsigned)in[0] << 8 | in[1]) : 0;
	(void)snprintf(name, sizeof(name), "closed-%u", (unsigned)ws->end.close_code);
	set_end(&ws->end, GS_EINCOMPLETE, ws->end.close_code != 0 ? name : "closed");
}

/*
 * The one end of every connection.  Also of those that libwebsockets reports in no
 * other way: a server that takes the connection and never answers the upgrade.
 */
static void
end_ws(struct gs_ws *ws)
{
	struct gs_ws_ops ops = ws->ops;
	struct gs_ws_end end;

	if (ws->stage == STAGE_DIALLING)
		set_end(&ws->end, GS_EUNAVAILABLE, "timeout");
	set_end(&ws->end, ws->stage == STAGE_CLOSING ? GS_OK : GS_EINCOMPLETE, "closed");
	end = ws->end;
	gs_buf_fini(&ws->message);
	gs_buf_fini(&ws->frame);
	free(ws);
	if (ops.ended != NULL)
		ops.ended(&end, ops.arg);
}

static void
open_ws(struct gs_ws *ws)
{
	ws->stage = STAGE_OPEN;
	ws->end.was_open = true;
	ws->ops.opened(ws->ops.arg);
}

/*
 * Hangs up at once.  Never lws_close_reason and -1 in a receive callback: a message
 * that goes on would run over a buffer of libwebsockets.
 */
static int
hang_up(struct gs_ws *ws, const char *name)
{
	set_end(&ws->end, GS_EPROTOCOL, name);
	ws->stage = STAGE_CLOSING;
	return -1;
}

static int
receive_piece(struct gs_ws *ws, const char *in, size_t len)
{
	if (ws->stage != STAGE_OPEN)
		return 0;
	if (lws_is_first_fragment(ws->wsi))
		gs_buf_clear(&ws->message);
	if (len > GS_WS_MESSAGE_BYTES - ws->message.len)
		return hang_up(ws, "too-long");
	gs_buf_add(&ws->message, in, len);
	if (!lws_is_final_fragment(ws->wsi) || lws_remaining_packet_payload(ws->wsi) != 0)
		return 0;
	ws->ops.message(ws->message.data, ws->message.len, ws->ops.arg);
	/* By itself only a pong counts as life; and taking the message may have been slow. */
	lws_validity_confirmed(ws->wsi);
	return 0;
}

/* One frame a callback; libwebsockets also calls unasked. */
static int
send_frame(struct gs_ws *ws)
{
	size_t len;

	if (ws->stage == STAGE_CLOSING) {
		lws_close_reason(ws->wsi, LWS_CLOSE_STATUS_NORMAL, NULL, 0);
		return -1;
	}
	gs_buf_cut(&ws->frame, LWS_PRE);
	if (!ws->ops.next_frame(&ws->frame, ws->ops.arg))
		return 0;
	len = ws->frame.len - LWS_PRE;
	if (lws_write(ws->wsi, (unsigned char *)ws->frame.data + LWS_PRE, len,
		LWS_WRITE_TEXT) < (int)len)
		return -1;
	lws_callback_on_writable(ws->wsi);
	return 0;
}

int
gs_ws_serve(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in,
    size_t len)
{
	struct gs_ws *ws;

	/* Here wsi may be any connection of the context, and user is OpenSSL's. */
	if (reason == LWS_CALLBACK_OPENSSL_PERFORM_SERVER_CERT_VERIFICATION) {
		note_certificate(wsi, user, len);
		return 0;
	}
	ws = wsi != NULL ? lws_get_opaque_user_data(wsi) : NULL;
	if (ws == NULL)
		return 0;
	ws->wsi = wsi;
	switch ((int)
		reason) { /* an enum of libwebsockets: what we do not name is let be */
	case LWS_CALLBACK_CLIENT_ESTABLISHED:
		open_ws(ws);
		return 0;
	case LWS_CALLBACK_CLIENT_RECEIVE:
		return receive_piece(ws, in, len);
	case LWS_CALLBACK_CLIENT_WRITEABLE:
		return send_frame(ws);
	case LWS_CALLBACK_CLIENT_CONNECTION_ERROR:
		note_failure(ws, in, len);
		return 0;
	case LWS_CALLBACK_WS_PEER_INITIATED_CLOSE:
		note_peer_close(ws, in, len);
		return 0;
	case LWS_CALLBACK_WSI_DESTROY:
		lws_set_opaque_user_data(wsi, NULL);
		ws->wsi = NULL;
		if (!ws->is_dialling_now)
			end_ws(ws);
		return 0;
	default:
		return 0;
	}
}

/* "name", or "name:port" where the port is not the default one; IPv6 in brackets. */
static void
write_host(char host[static HOST_BYTES], const struct gs_url *url)
{
	bool is_v6 = strchr(url->host, ':') != NULL;
	size_t len = (size_t)snprintf(host, HOST_BYTES, "%s%s%s", is_v6 ? "[" : "",
	    url->host, is_v6 ? "]" : "");

	if (url->port != (url->tls ? 443 : 80))
		(void)snprintf(host + len, HOST_BYTES - len, ":%u", (unsigned)url->port);
}

static bool
connect_ws(struct gs_ws *ws, struct gs_loop *loop, const struct gs_url *url,
    const char *address)
{
	struct lws_client_connect_info info;
	char host[HOST_BYTES];
	char path[GS_URL_BYTES + 2];

	write_host(host, url);
	(void)snprintf(path, sizeof(path), "%s%s", url->path[0] == '/' ? "" : "/",
	    url->path);
	memset(&info, 0, sizeof(info));
	info.context = gs_loop_context(loop);
	info.vhost = gs_loop_vhost(loop);
	info.address = address;
	info.port = url->port;
	info.host = host;
	info.path = path;
	info.ssl_connection =
	    LCCSCF_HTTP_NO_FOLLOW_REDIRECT | (url->tls ? LCCSCF_USE_SSL : 0);
	info.alpn = "http/1.1";
	info.local_protocol_name = GS_WS_PROTOCOL;
	info.opaque_user_data = ws;
	info.retry_and_idle_policy = &keepalive;
	ws->is_dialling_now = true;
	ws->wsi = lws_client_connect_via_info(&info);
	if (ws->wsi == NULL)
		return false;
	ws->is_dialling_now = false;
	return true;
}

struct gs_ws *
gs_ws_dial(struct gs_loop *loop, const struct gs_url *url, const char *address,
    const struct gs_ws_ops *ops, struct gs_ws_end *end)
{
	bool is_v6 = strchr(url->host, ':') != NULL;
	struct gs_ws *ws;

	*end = (struct gs_ws_end){ .code = GS_OK };
	/* libwebsockets cuts the name to check at 127 bytes and at the first colon. */
	if (url->tls && (is_v6 || strlen(url->host) > NAME_BYTES)) {
		set_end(end, GS_EUNAVAILABLE, "tls-name");
		return NULL;
	}
	ws = gs_mem_new(sizeof(*ws));
	ws->ops = *ops;
	ws->is_tls = url->tls;
	ws->dialled_ms = gs_clock_now().mono_ms;
	ws->frame.len =
	    (size_t)(gs_buf_room(&ws->frame, LWS_PRE) - ws->frame.data) + LWS_PRE;
	memset(ws->frame.data, 0, LWS_PRE + 1);
	if (connect_ws(ws, loop, url, address))
		return ws;
	/* NULL comes with or without an earlier callback. */
	set_end(&ws->end, GS_EUNAVAILABLE, "refused");
	ws->end.is_tcp_failed = true;
	*end = ws->end;
	gs_buf_fini(&ws->frame);
	free(ws);
	return NULL;
}

void
gs_ws_want_write(struct gs_ws *ws)
{
	if (ws->stage == STAGE_OPEN && ws->wsi != NULL)
		lws_callback_on_writable(ws->wsi);
}

void
gs_ws_close(struct gs_ws *ws)
{
	bool was_open = ws->stage == STAGE_OPEN;

	ws->stage = STAGE_CLOSING;
	if (ws->wsi == NULL)
		return;
	if (was_open) {
		lws_callback_on_writable(ws->wsi);
		lws_set_timeout(ws->wsi, PENDING_TIMEOUT_CLOSE_SEND, GOODBYE_S);
	} else {
		lws_set_timeout(ws->wsi, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_ASYNC);
	}
}

void
gs_ws_free(struct gs_ws *ws)
{
	ws->ops.ended = NULL;
	ws->stage = STAGE_CLOSING;
	if (ws->wsi != NULL)
		lws_set_timeout(ws->wsi, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_ASYNC);
}
