/*
 * One websocket to one relay: dialled at an address that was vetted before, whole
 * text messages up, one frame down when the socket takes it.  Knows no Nostr.  Comments
 * name the traps of libwebsockets 4.1.6 where we walk around.
 */
#include "ws.h"

#include <libwebsockets.h>
#include <openssl/x509_vfy.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "mem.h"
#include "retry_after.h"

#define PING_S 30		       /* DESIGN 6 */
#define PONG_S 30		       /* DESIGN 6 */
#define KEPT_BYTES ((size_t)16 * 1024) /* of a buffer, by a connection that is quiet */
#define GOODBYE_S 3		       /* for a peer that takes no close frame */
#define ALIVE_MS 10000 /* while we do not read we can't see pongs: confirmed so often */
#define SLACK_MS 1000  /* of libwebsockets' timeouts */
#define SWITCHING_PROTOCOLS 101

enum stage {
	STAGE_CONNECTING, /* TCP */
	STAGE_SECURING,	  /* a proxy, TLS */
	STAGE_ASKING,	  /* for the upgrade */
	STAGE_OPEN,
	STAGE_CLOSING, /* we want it to end */
};

struct gs_ws {
	struct gs_dial_owner owner; /* first */
	struct gs_ws_ops ops;
	struct lws *wsi;
	enum stage stage;
	bool is_dialling_now; /* within gs_dial_start */
	bool is_tls, has_proxy, is_paused;
	struct gs_ws_end end; /* name[0] != 0: known */
	int x509_error;
	int64_t stage_ms; /* when the stage began, in STAGE_OPEN the last life sign */
	struct gs_timer *timer; /* connecting: its end; paused: the next life sign */
	struct gs_buf message;	/* reassembled */
	struct gs_buf frame;	/* LWS_PRE bytes, then what is sent */
};

static const lws_retry_bo_t keepalive = {
	.secs_since_valid_ping = PING_S,
	.secs_since_valid_hangup = PING_S + PONG_S,
};

static int64_t
now_ms(void)
{
	return gs_clock_now().mono_ms;
}

/* Once it shall end it does not get any further. */
static void
enter_stage(struct gs_ws *ws, enum stage stage)
{
	if (ws->stage != STAGE_CLOSING)
		ws->stage = stage;
	ws->stage_ms = now_ms();
}

static bool
is_overdue(const struct gs_ws *ws, int64_t limit_s)
{
	return now_ms() - ws->stage_ms >= limit_s * 1000 - SLACK_MS;
}

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

/* Only libwebsockets' own texts are compared, never a peer's. */
static bool
has_beginning(const char *text, size_t len, const char *beginning)
{
	size_t wanted = strlen(beginning);

	return text != NULL && len >= wanted && memcmp(text, beginning, wanted) == 0;
}

/* Without an HTTP answer the stage says most. */
static void
note_stage(struct gs_ws *ws, const char *text, size_t len)
{
	bool is_late = is_overdue(ws, GS_LOOP_STAGE_S);

	ws->end.is_tcp_failed = ws->stage == STAGE_CONNECTING;
	if (is_late)
		set_end(&ws->end, GS_EUNAVAILABLE, "timeout");
	else if (ws->stage == STAGE_CONNECTING)
		set_end(&ws->end, GS_EUNAVAILABLE, "refused");
	else if (ws->has_proxy && has_beginning(text, len, "proxy"))
		set_end(&ws->end, GS_EUNAVAILABLE, "proxy");
	else if (ws->stage == STAGE_SECURING && ws->is_tls)
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
	ws->end.retry_after_s = gs_retry_after_s(ws->wsi);
	set_end(&ws->end, code_of_status(status), name);
}

/* The certificate says most, then the HTTP status. */
static void
note_failure(struct gs_ws *ws, const char *text, size_t len)
{
	unsigned status =
	    ws->stage == STAGE_ASKING ? lws_http_client_http_response(ws->wsi) : 0;

	if (ws->x509_error != X509_V_OK)
		set_end(&ws->end, GS_EUNAVAILABLE,
		    name_certificate_error(ws->x509_error));
	else if (status != 0)
		note_status(ws, status);
	else
		note_stage(ws, text, len);
}

static void
note_certificate(struct gs_dial_owner *owner, int error)
{
	struct gs_ws *ws = (struct gs_ws *)owner;

	ws->x509_error = error;
}

static void
note_peer_close(struct gs_ws *ws, const unsigned char *in, size_t len)
{
	char name[sizeof(ws->end.name)];

	ws->end.close_code = len >= 2 ? (uint16_t)((unsigned)in[0] << 8 | in[1]) : 0;
	(void)snprintf(name, sizeof(name), "closed-%u", (unsigned)ws->end.close_code);
	set_end(&ws->end, GS_EINCOMPLETE, ws->end.close_code != 0 ? name : "closed");
}

static void
free_ws(struct gs_ws *ws)
{
	gs_timer_free(ws->timer);
	gs_buf_fini(&ws->message);
	gs_buf_fini(&ws->frame);
	free(ws);
}

/* The one end of every connection, also where libwebsockets reports none: a server that
 * takes it and never answers the upgrade. */
static void
end_ws(struct gs_ws *ws)
{
	struct gs_ws_ops ops = ws->ops;
	struct gs_ws_end end;

	if (ws->stage < STAGE_OPEN)
		note_stage(ws, NULL, 0);
	else if (ws->stage == STAGE_OPEN && is_overdue(ws, PING_S + PONG_S))
		set_end(&ws->end, GS_EINCOMPLETE, "timeout");
	set_end(&ws->end, ws->stage == STAGE_CLOSING ? GS_OK : GS_EINCOMPLETE, "closed");
	end = ws->end;
	free_ws(ws);
	if (ops.ended != NULL)
		ops.ended(&end, ops.arg);
}

static int
open_ws(struct gs_ws *ws)
{
	gs_timer_stop(ws->timer);
	enter_stage(ws, STAGE_OPEN);
	if (ws->stage != STAGE_OPEN)
		return -1;
	ws->end.was_open = true;
	ws->ops.opened(ws->ops.arg);
	return 0;
}

/* By itself libwebsockets only counts a pong as life. */
static void
confirm_life(struct gs_ws *ws)
{
	int64_t now = now_ms();

	/* it sorts a list: not for each of many messages */
	if (ws->stage == STAGE_OPEN && now - ws->stage_ms < SLACK_MS)
		return;
	if (ws->stage == STAGE_OPEN)
		ws->stage_ms = now;
	lws_validity_confirmed(ws->wsi);
}

static int
take_pong(struct gs_ws *ws)
{
	if (ws->stage != STAGE_OPEN)
		return 0;
	ws->stage_ms = now_ms();
	ws->ops.pong(ws->ops.arg);
	return 0;
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
	if (ws->message.cap > KEPT_BYTES)
		gs_buf_fini(&ws->message);
	confirm_life(ws);
	return 0;
}

/* A large one is not kept; its beginning is libwebsockets'. */
static void
make_frame(struct gs_ws *ws)
{
	gs_buf_fini(&ws->frame);
	(void)gs_buf_room(&ws->frame, LWS_PRE);
	ws->frame.len = LWS_PRE;
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
	make_frame(ws);
	if (!ws->ops.next_frame(&ws->frame, ws->ops.arg))
		return 0;
	len = ws->frame.len - LWS_PRE;
	if (lws_write(ws->wsi, (unsigned char *)ws->frame.data + LWS_PRE, len,
		LWS_WRITE_TEXT) < (int)len)
		return -1;
	lws_callback_on_writable(ws->wsi);
	return 0;
}

static int
serve(struct gs_dial_owner *owner, struct lws *wsi, enum lws_callback_reasons reason,
    void *in, size_t len)
{
	struct gs_ws *ws = (struct gs_ws *)owner;

	ws->wsi = wsi;
	switch (reason) { /* libwebsockets' reasons, of which most are nothing to us */
	case LWS_CALLBACK_WSI_CREATE: /* TCP is there */
		gs_timer_stop(ws->timer);
		enter_stage(ws, STAGE_SECURING);
		return 0;
	case LWS_CALLBACK_CLIENT_APPEND_HANDSHAKE_HEADER:
		enter_stage(ws, STAGE_ASKING);
		return gs_dial_add_headers(wsi, in, len, NULL);
	case LWS_CALLBACK_CLIENT_RECEIVE_PONG:
		return take_pong(ws);
	case LWS_CALLBACK_CLIENT_ESTABLISHED:
		return open_ws(ws);
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

static const struct gs_dial_kind kind = { NULL, &keepalive, serve, note_certificate };

/* While connecting that took too long; while paused it tells libwebsockets to wait. */
static void
take_time(void *arg)
{
	struct gs_ws *ws = arg;

	if (ws->stage == STAGE_CONNECTING) {
		ws->end.is_tcp_failed = true;
		gs_ws_expire(ws);
	} else if (ws->stage == STAGE_OPEN && ws->is_paused) {
		confirm_life(ws);
		gs_timer_set(ws->timer, ALIVE_MS);
	}
}

static bool
connect_ws(struct gs_ws *ws, struct gs_loop *loop, const struct gs_dial *dial)
{
	ws->is_dialling_now = true;
	ws->wsi = gs_dial_start(loop, dial, &ws->owner);
	ws->is_dialling_now = false;
	return ws->wsi != NULL;
}

struct gs_ws *
gs_ws_dial(struct gs_loop *loop, const struct gs_dial *dial, int64_t connect_ms,
    const struct gs_ws_ops *ops, struct gs_ws_end *end)
{
	struct gs_ws *ws;

	*end = (struct gs_ws_end){ .code = GS_OK };
	if (gs_dial_is_uncheckable(dial->url)) {
		end->is_lasting = true;
		set_end(end, GS_EUNAVAILABLE, "tls-name");
		return NULL;
	}
	ws = gs_mem_new(sizeof(*ws));
	ws->owner.kind = &kind;
	ws->ops = *ops;
	ws->is_tls = dial->url->tls;
	ws->has_proxy = gs_loop_has_proxy(loop);
	ws->timer = gs_timer_new(loop, take_time, ws);
	enter_stage(ws, STAGE_CONNECTING);
	gs_timer_set(ws->timer, connect_ms);
	if (connect_ws(ws, loop, dial))
		return ws;
	/* NULL comes with or without an earlier callback. */
	note_stage(ws, NULL, 0);
	ws->end.is_tcp_failed = true;
	*end = ws->end;
	free_ws(ws);
	return NULL;
}

void
gs_ws_want_write(struct gs_ws *ws)
{
	if (ws->stage == STAGE_OPEN && ws->wsi != NULL)
		lws_callback_on_writable(ws->wsi);
}

void
gs_ws_pause(struct gs_ws *ws)
{
	if (ws->stage != STAGE_OPEN || ws->is_paused)
		return;
	ws->is_paused = true;
	lws_rx_flow_control(ws->wsi, 0);
	gs_timer_set(ws->timer, ALIVE_MS);
}

void
gs_ws_resume(struct gs_ws *ws)
{
	if (ws->stage != STAGE_OPEN || !ws->is_paused)
		return;
	ws->is_paused = false;
	gs_timer_stop(ws->timer);
	confirm_life(ws);
	lws_rx_flow_control(ws->wsi, 1);
}

/* Without a wsi it is within gs_dial_start, or being destroyed: it ends by itself. */
static void
kill_ws(struct gs_ws *ws)
{
	if (ws->wsi != NULL)
		lws_set_timeout(ws->wsi, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_ASYNC);
}

void
gs_ws_close(struct gs_ws *ws)
{
	bool was_open = ws->stage == STAGE_OPEN;

	gs_timer_stop(ws->timer);
	ws->stage = STAGE_CLOSING;
	if (!was_open || ws->wsi == NULL) {
		kill_ws(ws);
		return;
	}
	/* Else the relay's goodbye would not be read. */
	lws_rx_flow_control(ws->wsi, 1);
	lws_callback_on_writable(ws->wsi);
	lws_set_timeout(ws->wsi, PENDING_TIMEOUT_CLOSE_SEND, GOODBYE_S);
}

void
gs_ws_expire(struct gs_ws *ws)
{
	set_end(&ws->end, GS_EUNAVAILABLE, "timeout");
	kill_ws(ws);
}

void
gs_ws_free(struct gs_ws *ws)
{
	if (ws == NULL)
		return;
	ws->ops.ended = NULL;
	ws->stage = STAGE_CLOSING;
	gs_timer_stop(ws->timer);
	kill_ws(ws);
}
