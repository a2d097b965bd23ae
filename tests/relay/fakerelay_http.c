/*
 * The test relay before it is a websocket: its document (NIP-11), and answers to a
 * request for an upgrade that are none.
 */
#include <inttypes.h>
#include <string.h>

#include "fakerelay.h"

#define HEADER_BYTES 512

static bool
wants_document(struct lws *wsi)
{
	char accept[HEADER_BYTES];

	return lws_hdr_copy(wsi, accept, sizeof(accept), WSI_TOKEN_HTTP_ACCEPT) > 0 &&
	    strstr(accept, "application/nostr+json") != NULL;
}

/* Bytes as they are; the connection ends behind them. */
static int
write_and_hang_up(struct lws *wsi, struct gs_str text)
{
	struct gs_buf buf = GS_BUF_INIT;

	(void)gs_buf_room(&buf, LWS_PRE);
	buf.len = LWS_PRE;
	gs_buf_add(&buf, text.ptr, text.len);
	(void)lws_write(wsi, (unsigned char *)buf.data + LWS_PRE, text.len,
	    LWS_WRITE_HTTP_HEADERS);
	gs_buf_fini(&buf);
	return -1;
}

int
fake_http_document(struct fake_relay *relay, struct lws *wsi)
{
	const struct fake_script *script = &relay->script;
	bool has_document = script->nip11 != NULL && wants_document(wsi);
	const char *body = has_document ? script->nip11 : "no such document\n";
	int64_t status = has_document ? script->nip11_status : 404;
	struct gs_buf text = GS_BUF_INIT;

	fake_log(relay, 0, "\"is\":\"document\",\"status\":%" PRId64, status);
	if (script->nip11_stalls) {
		fake_raw_add(relay, fake_raw_take(wsi), GS_STR(""), 0);
		return -1;
	}
	gs_buf_printf(&text,
	    "HTTP/1.1 %" PRId64 " Test\r\nContent-Type: application/nostr+json\r\n"
	    "Content-Length: %zu\r\nConnection: close\r\n\r\n%s",
	    status, strlen(body), body);
	(void)write_and_hang_up(wsi, (struct gs_str){ text.data, text.len });
	gs_buf_fini(&text);
	return -1;
}

static void
log_upgrade(const struct fake_relay *relay, struct lws *wsi)
{
	char host[HEADER_BYTES] = "", path[HEADER_BYTES] = "";

	(void)lws_hdr_copy(wsi, host, sizeof(host), WSI_TOKEN_HOST);
	(void)lws_hdr_copy(wsi, path, sizeof(path), WSI_TOKEN_GET_URI);
	fake_log(relay, 0, "\"is\":\"upgrade\",\"host\":\"%s\",\"path\":\"%s\"", host,
	    path);
}

int
fake_http_upgrade(struct fake_relay *relay, struct lws *wsi)
{
	struct fake_script *script = &relay->script;

	log_upgrade(relay, wsi);
	for (size_t i = 0; i < script->num_answers; i++) {
		struct fake_answer *answer = &script->answers[i];
		struct gs_str text = { answer->text.data, answer->text.len };

		if (answer->times <= 0)
			continue;
		answer->times--;
		if (!answer->is_stalled && answer->drip_ms == 0)
			return write_and_hang_up(wsi, text);
		fake_raw_add(relay, fake_raw_take(wsi), text, answer->drip_ms);
		return -1;
	}
	return 0;
}
