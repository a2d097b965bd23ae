/*
 * A relay for tests: serves the events of a file on a free port of 127.0.0.1, by the
 * rules of NIP-01 and within caps that are asked for, and misbehaves on request.  It
 * believes every event that has the right shape.
 */
#include <getopt.h>
#include <libwebsockets.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "file.h"
#include "filter.h"
#include "json.h"
#include "mem.h"
#include "num.h"

#define MAX_PORT 65535

struct stored {
	struct gs_event event;
	char *line;
	size_t len;
	uint64_t sent; /* number of the REQ that it went out for last */
};

struct relay {
	struct stored *events; /* newest first, then by id */
	size_t num, cap;
	int64_t port;
	int64_t page;	    /* events a filter */
	int64_t total;	    /* events a REQ */
	int64_t drop_after; /* EVENT frames, then the connection is cut; 0: never */
	const char *refuse; /* CLOSED with this text to every REQ */
	const char *notice; /* NOTICE with this text to every REQ */
	bool is_silent;	    /* no EOSE */
	bool ignores_until;
	uint64_t reqs;
};

/* Frames that wait for the socket; each with LWS_PRE bytes before it. */
struct connection {
	char **frames;
	size_t *lens;
	size_t num, cap, cap_lens, next;
	int64_t events_sent;
	struct gs_buf message;
};

static _Noreturn void
die(const char *what)
{
	(void)fprintf(stderr, "fakerelay: %s\n", what);
	exit(GS_EUSAGE);
}

static void
push(struct connection *connection, const struct gs_buf *frame)
{
	char *copy = gs_mem_new(LWS_PRE + frame->len);

	memcpy(copy + LWS_PRE, frame->data, frame->len);
	connection->frames = gs_mem_more(connection->frames, connection->num,
	    &connection->cap, sizeof(char *));
	connection->lens = gs_mem_more(connection->lens, connection->num,
	    &connection->cap_lens, sizeof(size_t));
	connection->frames[connection->num] = copy;
	connection->lens[connection->num++] = frame->len;
}

/* ["VERB","sub"] or, with a text, ["VERB","sub","text"]; sub as it stood in the REQ. */
static void
push_answer(struct connection *connection, const char *verb, struct gs_str sub,
    const char *text)
{
	struct gs_buf frame = GS_BUF_INIT;

	gs_buf_printf(&frame, "[\"%s\"", verb);
	if (sub.ptr != NULL)
		gs_buf_printf(&frame, ",\"%.*s\"", (int)sub.len, sub.ptr);
	if (text != NULL) {
		gs_buf_add_char(&frame, ',');
		gs_json_write_string(&frame, text, strlen(text));
	}
	gs_buf_add_char(&frame, ']');
	push(connection, &frame);
	gs_buf_fini(&frame);
}

static void
push_event(struct connection *connection, struct gs_str sub, const struct stored *stored)
{
	struct gs_buf frame = GS_BUF_INIT;

	gs_buf_printf(&frame, "[\"EVENT\",\"%.*s\",", (int)sub.len, sub.ptr);
	gs_buf_add(&frame, stored->line, stored->len);
	gs_buf_add_char(&frame, ']');
	push(connection, &frame);
	gs_buf_fini(&frame);
}

/* One filter's newest, as many as all caps allow, none twice in a REQ. */
static void
serve_filter(struct relay *relay, struct connection *connection, struct gs_str sub,
    struct gs_filter *filter, int64_t *left)
{
	int64_t limit = relay->page;

	if (filter->limit >= 0 && filter->limit < limit)
		limit = filter->limit;
	if (relay->ignores_until)
		filter->until = -1;
	for (size_t i = 0; i < relay->num && limit > 0 && *left > 0; i++) {
		struct stored *stored = &relay->events[i];

		if (!gs_filter_match(filter, &stored->event))
			continue;
		limit--;
		if (stored->sent == relay->reqs)
			continue;
		stored->sent = relay->reqs;
		(*left)--;
		push_event(connection, sub, stored);
	}
}

static void
serve_req(struct relay *relay, struct connection *connection, struct gs_json *json)
{
	struct gs_filter filter = GS_FILTER_INIT;
	struct gs_json_value sub, value;
	int64_t left = relay->total;
	bool more;

	relay->reqs++;
	if (!gs_json_item(json, false, &more) || !more || !gs_json_next(json, &sub))
		return;
	if (relay->refuse != NULL)
		push_answer(connection, "CLOSED", sub.raw, relay->refuse);
	if (relay->notice != NULL)
		push_answer(connection, "NOTICE", (struct gs_str){ NULL, 0 },
		    relay->notice);
	if (relay->refuse != NULL || relay->notice != NULL)
		return;
	while (gs_json_item(json, false, &more) && more && gs_json_skip(json, &value))
		if (gs_filter_parse(&filter, value.raw.ptr, value.raw.len, NULL))
			serve_filter(relay, connection, sub.raw, &filter, &left);
	gs_filter_fini(&filter);
	if (!relay->is_silent)
		push_answer(connection, "EOSE", sub.raw, NULL);
}

/* Every event is taken, and none is kept. */
static void
serve_event(struct connection *connection, struct gs_json *json)
{
	struct gs_event event = GS_EVENT_INIT;
	struct gs_json_value value;
	struct gs_buf frame = GS_BUF_INIT;
	bool more;

	if (!gs_json_item(json, false, &more) || !more || !gs_json_skip(json, &value))
		return;
	if (gs_event_parse(&event, value.raw.ptr, value.raw.len, NULL) == GS_EVENT_OK) {
		gs_buf_add_str(&frame, "[\"OK\",\"");
		for (size_t i = 0; i < sizeof(event.id); i++)
			gs_buf_printf(&frame, "%02x", event.id[i]);
		gs_buf_add_str(&frame, "\",true,\"\"]");
		push(connection, &frame);
	}
	gs_buf_fini(&frame);
	gs_event_fini(&event);
}

static void
serve_message(struct relay *relay, struct connection *connection)
{
	struct gs_json_value value;
	struct gs_json json;
	bool more;

	gs_json_init(&json, connection->message.data, connection->message.len,
	    GS_JSON_DEPTH);
	if (!gs_json_next(&json, &value) || value.type != GS_JSON_ARRAY ||
	    !gs_json_item(&json, true, &more) || !more || !gs_json_next(&json, &value))
		return;
	if (gs_json_is(value, "REQ"))
		serve_req(relay, connection, &json);
	else if (gs_json_is(value, "EVENT"))
		serve_event(connection, &json);
}

static void
receive_piece(struct relay *relay, struct connection *connection, struct lws *wsi,
    struct gs_str piece)
{
	if (lws_is_first_fragment(wsi))
		gs_buf_clear(&connection->message);
	gs_buf_add(&connection->message, piece.ptr, piece.len);
	if (!lws_is_final_fragment(wsi) || lws_remaining_packet_payload(wsi) != 0)
		return;
	serve_message(relay, connection);
	(void)lws_callback_on_writable(wsi);
}

/* Cuts the connection by answering -1. */
static int
send_frame(const struct relay *relay, struct connection *connection, struct lws *wsi)
{
	static const char event[] = "[\"EVENT\"";
	char *frame;
	size_t len;

	if (connection->next == connection->num) {
		connection->next = connection->num = 0;
		return 0;
	}
	frame = connection->frames[connection->next];
	len = connection->lens[connection->next++];
	if (memcmp(frame + LWS_PRE, event, sizeof(event) - 1) == 0)
		connection->events_sent++;
	if (relay->drop_after > 0 && connection->events_sent > relay->drop_after) {
		free(frame);
		return -1;
	}
	(void)lws_write(wsi, (unsigned char *)frame + LWS_PRE, len, LWS_WRITE_TEXT);
	free(frame);
	(void)lws_callback_on_writable(wsi);
	return 0;
}

static void
free_connection(struct connection *connection)
{
	while (connection->next < connection->num)
		free(connection->frames[connection->next++]);
	free(connection->frames);
	free(connection->lens);
	gs_buf_fini(&connection->message);
}

static int
serve(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t len)
{
	struct relay *relay = lws_context_user(lws_get_context(wsi));

	switch ((int)reason) {
	case LWS_CALLBACK_RECEIVE:
		receive_piece(relay, user, wsi, (struct gs_str){ in, len });
		return 0;
	case LWS_CALLBACK_SERVER_WRITEABLE:
		return send_frame(relay, user, wsi);
	case LWS_CALLBACK_CLOSED:
		free_connection(user);
		return 0;
	default:
		return 0;
	}
}

static const struct lws_protocols protocols[] = {
	{ "nostr", serve, sizeof(struct connection), 65536, 0, NULL, 0 },
	{ NULL, NULL, 0, 0, 0, NULL, 0 },
};

static int
compare_stored(const void *a, const void *b)
{
	const struct gs_event *left = &((const struct stored *)a)->event;
	const struct gs_event *right = &((const struct stored *)b)->event;

	if (left->created_at != right->created_at)
		return left->created_at < right->created_at ? 1 : -1;
	return memcmp(left->id, right->id, sizeof(left->id));
}

static void
load(struct relay *relay, const char *path)
{
	struct gs_lines lines;
	struct gs_str line, object;
	struct gs_err err;
	int fd = gs_file_open(path, &err);

	if (fd < 0)
		die(err.text);
	gs_lines_init(&lines, fd, GS_EVENT_BYTES);
	while (gs_lines_next(&lines, true, &line) == GS_LINE_OK) {
		struct stored stored = { .event = GS_EVENT_INIT };

		if (!gs_event_in_frame(&object, line, &err) ||
		    gs_event_parse(&stored.event, object.ptr, object.len, &err) !=
			GS_EVENT_OK)
			die(err.text);
		stored.line = gs_mem_dup(object.ptr, object.len);
		stored.len = object.len;
		relay->events = gs_mem_more(relay->events, relay->num, &relay->cap,
		    sizeof(*relay->events));
		relay->events[relay->num++] = stored;
	}
	gs_lines_fini(&lines);
	if (relay->num > 0)
		qsort(relay->events, relay->num, sizeof(*relay->events), compare_stored);
}

static struct lws_context *
listen_on(struct relay *relay)
{
	struct lws_context_creation_info info;
	struct lws_context *context;

	lws_set_log_level(LLL_ERR, NULL);
	memset(&info, 0, sizeof(info));
	info.port = (int)relay->port;
	info.iface = "127.0.0.1";
	info.protocols = protocols;
	info.user = relay;
	info.vhost_name = "fakerelay";
	info.pt_serv_buf_size = 65536;
	context = lws_create_context(&info);
	if (context == NULL)
		die("can't listen");
	(void)printf("listening %d\n",
	    lws_get_vhost_listen_port(lws_get_vhost_by_name(context, "fakerelay")));
	if (fflush(stdout) != 0)
		die("stdout: can't write");
	return context;
}

static int64_t
read_number(const char *text, int64_t max)
{
	int64_t number;
	struct gs_err err;

	if (!gs_num_parse_count(&number, text, 0, max, &err))
		die(err.text);
	return number;
}

static void
read_options(struct relay *relay, int argc, char **argv)
{
	static const struct option longs[] = {
		{ "page", required_argument, NULL, 'p' },
		{ "total", required_argument, NULL, 't' },
		{ "port", required_argument, NULL, 'l' },
		{ "drop-after", required_argument, NULL, 'd' },
		{ "refuse", required_argument, NULL, 'r' },
		{ "notice", required_argument, NULL, 'n' },
		{ "silent", no_argument, NULL, 's' },
		{ "ignore-until", no_argument, NULL, 'u' },
		{ NULL, 0, NULL, 0 },
	};
	int option;

	while ((option = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		switch (option) {
		case 'p':
			relay->page = read_number(optarg, INT64_MAX);
			break;
		case 't':
			relay->total = read_number(optarg, INT64_MAX);
			break;
		case 'l':
			relay->port = read_number(optarg, MAX_PORT);
			break;
		case 'd':
			relay->drop_after = read_number(optarg, INT64_MAX);
			break;
		case 'r':
			relay->refuse = optarg;
			break;
		case 'n':
			relay->notice = optarg;
			break;
		case 's':
			relay->is_silent = true;
			break;
		case 'u':
			relay->ignores_until = true;
			break;
		default:
			exit(GS_EUSAGE);
		}
	}
}

int
main(int argc, char **argv)
{
	struct relay relay = { .page = INT64_MAX, .total = INT64_MAX };
	struct lws_context *context;

	read_options(&relay, argc, argv);
	if (optind + 1 != argc)
		die("usage: fakerelay [--page N] [--total N] [--port N] [--drop-after N] "
		    "[--refuse TEXT] [--notice TEXT] [--silent] [--ignore-until] FILE");
	load(&relay, argv[optind]);
	context = listen_on(&relay);
	while (lws_service(context, 0) >= 0)
		continue;
	return GS_EIO;
}
