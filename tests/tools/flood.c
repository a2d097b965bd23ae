/*
 * A relay with as many events as asked for, which it makes while it sends them: it stays
 * small however many that are.  Event number i, from 0, is i seconds older than the
 * newest one (1767000000) and the same each time.  Of filters only dates and limit count,
 * and those of a REQ should not meet.  usage: flood EVENTS [BYTES]; prints
 * "listening PORT".
 */
#include <err.h>
#include <inttypes.h>
#include <libwebsockets.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "draft.h"
#include "json.h"
#include "num.h"

#define NEWEST_S INT64_C(1767000000)
#define MAX_EVENTS 100000000
#define DEFAULT_BYTES 100 /* of content */
#define MAX_BYTES 60000
#define REQUESTS 32 /* of a connection at a time */
#define SUB_BYTES 65
#define BUFFER_BYTES 65536
#define KEYS_OF_FLOOD 78 /* a sort of keys that no other tool makes */

struct flood {
	int64_t num;
	int64_t bytes;
	struct signer signer;
	struct draft draft;
	struct gs_buf frame;
};

struct request {
	char sub[SUB_BYTES];
	int64_t at, end; /* events to send */
	bool is_last;	 /* filter of its REQ: EOSE follows */
};

struct connection {
	struct request requests[REQUESTS]; /* served one after the other */
	size_t num;
};

static void
write_event(struct flood *flood, int64_t number)
{
	char id[DRAFT_HEX];

	draft_begin(&flood->draft, 1, NEWEST_S - number);
	gs_buf_printf(&flood->draft.content, "%" PRId64 " ", number);
	while (flood->draft.content.len < (size_t)flood->bytes)
		gs_buf_add_char(&flood->draft.content, '.');
	draft_sign(&flood->draft, &flood->signer, id);
	gs_buf_add(&flood->frame, flood->draft.line.data, flood->draft.line.len);
}

static int64_t
clamp(int64_t value, int64_t min, int64_t max)
{
	if (value < min)
		return min;
	return value < max ? value : max;
}

/* Which events a filter asks for: [request->at, request->end). */
static void
read_filter(struct request *request, jv filter, int64_t num)
{
	int64_t since = 0, until = NEWEST_S, limit = num;

	(void)!gs_json_get_int(filter, "since", &since);
	(void)!gs_json_get_int(filter, "until", &until);
	(void)!gs_json_get_int(filter, "limit", &limit);
	request->at = clamp(NEWEST_S - until, 0, num);
	request->end = clamp(NEWEST_S - since + 1, request->at, num);
	request->end = clamp(request->at + limit, request->at, request->end);
}

static void
drop_request(struct connection *connection, size_t at)
{
	connection->num--;
	memmove(&connection->requests[at], &connection->requests[at + 1],
	    (connection->num - at) * sizeof(connection->requests[0]));
}

static void
drop_requests(struct connection *connection, const char *sub)
{
	for (size_t i = connection->num; i-- > 0;)
		if (strcmp(connection->requests[i].sub, sub) == 0)
			drop_request(connection, i);
}

static void
add_request(const struct flood *flood, struct connection *connection, const char *sub,
    jv filter, bool is_last)
{
	struct request *request = &connection->requests[connection->num];

	if (connection->num == REQUESTS || jv_get_kind(filter) != JV_KIND_OBJECT)
		errx(EX_PROTOCOL, "a REQ that is too much came");
	connection->num++;
	(void)snprintf(request->sub, sizeof(request->sub), "%s", sub);
	request->is_last = is_last;
	read_filter(request, filter, flood->num);
}

static void
take_frame(const struct flood *flood, struct connection *connection, jv frame)
{
	int num = jv_array_length(jv_copy(frame));
	jv verb = jv_array_get(jv_copy(frame), 0);
	jv sub = jv_array_get(jv_copy(frame), 1);
	bool is_req;

	if (jv_get_kind(verb) != JV_KIND_STRING || jv_get_kind(sub) != JV_KIND_STRING)
		errx(EX_PROTOCOL, "no frame of Nostr came");
	is_req = strcmp(jv_string_value(verb), "REQ") == 0;
	drop_requests(connection, jv_string_value(sub));
	for (int i = 2; is_req && i < num; i++) {
		jv filter = jv_array_get(jv_copy(frame), i);

		add_request(flood, connection, jv_string_value(sub), filter,
		    i == num - 1);
		jv_free(filter);
	}
	jv_free(verb);
	jv_free(sub);
}

static void
receive(const struct flood *flood, struct connection *connection, struct lws *wsi,
    const char *text, size_t len)
{
	struct gs_err err;
	jv frame;

	if (!lws_is_final_fragment(wsi) || !gs_json_tree(&frame, text, len, &err))
		errx(EX_PROTOCOL, "a frame that can't be read came");
	if (jv_get_kind(frame) != JV_KIND_ARRAY)
		errx(EX_PROTOCOL, "a frame that is no list came");
	take_frame(flood, connection, frame);
	jv_free(frame);
	(void)lws_callback_on_writable(wsi);
}

static int
send_next(struct flood *flood, struct connection *connection, struct lws *wsi)
{
	struct request *request = &connection->requests[0];
	size_t len;

	while (connection->num > 0 && request->at == request->end && !request->is_last)
		drop_request(connection, 0);
	if (connection->num == 0)
		return 0;
	gs_buf_cut(&flood->frame, LWS_PRE);
	if (request->at < request->end) {
		gs_buf_printf(&flood->frame, "[\"EVENT\",\"%s\",", request->sub);
		write_event(flood, request->at++);
		gs_buf_add_char(&flood->frame, ']');
	} else {
		gs_buf_printf(&flood->frame, "[\"EOSE\",\"%s\"]", request->sub);
		drop_request(connection, 0);
	}
	len = flood->frame.len - LWS_PRE;
	(void)lws_callback_on_writable(wsi);
	return lws_write(wsi, (unsigned char *)flood->frame.data + LWS_PRE, len,
		   LWS_WRITE_TEXT) < (int)len
	    ? -1
	    : 0;
}

static int
serve(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t len)
{
	struct flood *flood = lws_context_user(lws_get_context(wsi));

	switch ((int)reason) {
	case LWS_CALLBACK_HTTP: /* there is no NIP-11 document */
		return -1;
	case LWS_CALLBACK_ESTABLISHED:
		memset(user, 0, sizeof(struct connection));
		return 0;
	case LWS_CALLBACK_RECEIVE:
		receive(flood, user, wsi, in, len);
		return 0;
	case LWS_CALLBACK_SERVER_WRITEABLE:
		return send_next(flood, user, wsi);
	default:
		return 0;
	}
}

static const struct lws_protocols protocols[] = {
	{ "flood", serve, sizeof(struct connection), BUFFER_BYTES, 0, NULL, 0 },
	{ NULL, NULL, 0, 0, 0, NULL, 0 },
};

static struct lws_context *
listen_anywhere(struct flood *flood)
{
	struct lws_context_creation_info info;
	struct lws_context *context;
	struct lws_vhost *vhost;

	lws_set_log_level(0, NULL);
	memset(&info, 0, sizeof(info));
	info.iface = "127.0.0.1"; /* and any port */
	info.protocols = protocols;
	info.user = flood;
	info.vhost_name = "flood";
	info.pt_serv_buf_size = BUFFER_BYTES;
	context = lws_create_context(&info);
	if (context == NULL)
		errx(EX_OSERR, "can't listen");
	vhost = lws_get_vhost_by_name(context, "flood");
	(void)printf("listening %d\n", lws_get_vhost_listen_port(vhost));
	(void)fflush(stdout);
	return context;
}

static int64_t
read_number(const char *text, int64_t max)
{
	struct gs_err err;
	int64_t number;

	if (!gs_num_parse_count(&number, text, 0, max, &err))
		errx(EX_USAGE, "%s: %s", text, err.text);
	return number;
}

int
main(int argc, char **argv)
{
	static const unsigned char nothing[LWS_PRE];
	struct flood flood = { .bytes = DEFAULT_BYTES, .frame = GS_BUF_INIT };
	struct lws_context *context;

	if (argc < 2 || argc > 3)
		errx(EX_USAGE, "usage: flood EVENTS [BYTES]");
	flood.num = read_number(argv[1], MAX_EVENTS);
	if (argc == 3)
		flood.bytes = read_number(argv[2], MAX_BYTES);
	signer_init(&flood.signer, sign_context(), 0, KEYS_OF_FLOOD, 0);
	gs_buf_add(&flood.frame, (const char *)nothing, sizeof(nothing));
	context = listen_anywhere(&flood);
	while (lws_service(context, 0) >= 0)
		continue;
	return EX_OSERR;
}
