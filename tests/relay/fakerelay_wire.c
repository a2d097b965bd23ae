/*
 * What goes out on a connection of the test relay: a queue of frames and of faults,
 * worked off as the socket takes it.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fakerelay.h"
#include "json.h"
#include "mem.h"

#define TEXT_FRAME 0x81 /* FIN, text */
#define SHORT_MAX 125	/* a frame's length that stands in its second byte */
#define LENGTH_IN_2 126 /* it stands in the next two bytes */
#define LENGTH_IN_8 127
#define TWO_BYTES_MAX 0xffff

static void
append(struct fake_connection *connection, const struct fake_item *item)
{
	connection->items = gs_mem_more(connection->items, connection->num_items,
	    &connection->cap_items, sizeof(*connection->items));
	connection->items[connection->num_items++] = *item;
	(void)lws_callback_on_writable(connection->wsi);
}

void
fake_wire_push(struct fake_connection *connection, enum fake_verb verb, int64_t number,
    const struct gs_buf *text)
{
	struct fake_item item = { .verb = verb, .number = number };

	if (text != NULL && text->len > 0) {
		item.text = gs_mem_dup(text->data, text->len);
		item.len = text->len;
	}
	append(connection, &item);
}

void
fake_wire_answer(struct fake_connection *connection, const char *verb, const char *sub,
    const char *text)
{
	struct gs_buf frame = GS_BUF_INIT;

	gs_buf_printf(&frame, "[\"%s\"", verb);
	if (sub != NULL)
		gs_buf_printf(&frame, ",\"%s\"", sub);
	if (text != NULL) {
		gs_buf_add_char(&frame, ',');
		gs_json_write_string(&frame, text, strlen(text));
	}
	gs_buf_add_char(&frame, ']');
	fake_wire_push(connection, FAKE_SEND, 1, &frame);
	gs_buf_fini(&frame);
}

void
fake_wire_event(struct fake_connection *connection, const char *sub,
    const struct fake_event *event, const struct fake_about *about)
{
	struct gs_buf head = GS_BUF_INIT;
	struct fake_item item = { .verb = FAKE_SEND, .number = 1, .event = event };

	gs_buf_printf(&head, "[\"EVENT\",\"%s\",", sub);
	item.len = head.len;
	item.text = gs_buf_take(&head);
	if (fake_rules_act(connection, FAKE_AT_EVENT, about, &item))
		append(connection, &item);
	else
		free(item.text);
}

/* The header that libwebsockets would write; then the frame goes out by our hand. */
static void
add_header(struct gs_buf *out, size_t len)
{
	gs_buf_add_char(out, (char)TEXT_FRAME);
	if (len <= SHORT_MAX) {
		gs_buf_add_char(out, (char)len);
		return;
	}
	gs_buf_add_char(out, len <= TWO_BYTES_MAX ? LENGTH_IN_2 : LENGTH_IN_8);
	for (int shift = len <= TWO_BYTES_MAX ? 8 : 56; shift >= 0; shift -= 8)
		gs_buf_add_char(out, (char)((uint64_t)len >> shift & 0xff));
}

/* Puts the item's bytes where they are sent from. */
static void
load_frame(struct fake_connection *connection, const struct fake_item *item)
{
	size_t len = item->len;
	struct gs_buf *out = &connection->out;

	gs_buf_clear(out);
	(void)gs_buf_room(out, LWS_PRE);
	out->len = LWS_PRE;
	connection->out_at = 0;
	connection->out_is_raw = item->verb == FAKE_RAW || connection->drip_ms > 0;
	if (item->event != NULL)
		len += item->event->len + 1;
	if (connection->out_is_raw && item->verb == FAKE_SEND)
		add_header(out, len);
	gs_buf_add(out, item->text, item->len);
	if (item->event != NULL) {
		gs_buf_add(out, item->event->line, item->event->len);
		gs_buf_add_char(out, ']');
	}
}

static int
send_raw(struct fake_connection *connection, const char *data, size_t len)
{
	ssize_t written;

	if (connection->drip_ms > 0) {
		len = 1;
		connection->resume_ms = fake_now_ms() + connection->drip_ms;
	}
	written = write(lws_get_socket_fd(connection->wsi), data, len);
	if (written > 0)
		connection->out_at += (size_t)written;
	return 0;
}

static int
send_piece(struct fake_connection *connection, char *data, size_t len)
{
	unsigned protocol = LWS_WRITE_TEXT;
	size_t piece = len;

	if (connection->fragment > 0 && (size_t)connection->fragment < len)
		piece = (size_t)connection->fragment;
	if (connection->out_at > 0)
		protocol = LWS_WRITE_CONTINUATION;
	if (piece < len)
		protocol |= LWS_WRITE_NO_FIN;
	connection->out_at += piece;
	return lws_write(connection->wsi, (unsigned char *)data, piece,
		   (enum lws_write_protocol)protocol) < 0
	    ? -1
	    : 0;
}

static int
send_ping(struct fake_connection *connection)
{
	unsigned char nothing[LWS_PRE + 1] = { 0 };

	return lws_write(connection->wsi, nothing + LWS_PRE, 0, LWS_WRITE_PING) < 0 ? -1
										    : 0;
}

static int
say_bye(struct fake_connection *connection, const struct fake_item *item)
{
	lws_close_reason(connection->wsi, (enum lws_close_status)item->number,
	    (unsigned char *)item->text, item->len);
	return -1;
}

/* One item; frames are only loaded. */
static int
begin_item(struct fake_connection *connection, const struct fake_item *item)
{
	switch (item->verb) {
	case FAKE_SEND:
	case FAKE_RAW:
		load_frame(connection, item);
		return 0;
	case FAKE_STALL:
		connection->resume_ms = fake_now_ms() + item->number;
		return 0;
	case FAKE_DRIP:
		connection->drip_ms = item->number;
		return 0;
	case FAKE_FRAGMENT:
		connection->fragment = item->number;
		return 0;
	case FAKE_PING:
		return send_ping(connection);
	case FAKE_BYE:
		return say_bye(connection, item);
	case FAKE_RST:
		fake_raw_reset(fake_raw_take(connection->wsi));
		return -1;
	case FAKE_FIN:
		return -1;
	case FAKE_STRAY:
	case FAKE_CORRUPT:
	case FAKE_CHALLENGE:
	case FAKE_SKIP: /* never queued */
		return 0;
	}
	return 0;
}

static int
begin_next(struct fake_connection *connection)
{
	struct fake_item item;
	int result;

	if (connection->next_item == connection->num_items) {
		connection->next_item = connection->num_items = 0;
		return 0;
	}
	item = connection->items[connection->next_item++];
	result = begin_item(connection, &item);
	free(item.text);
	(void)lws_callback_on_writable(connection->wsi);
	return result;
}

static bool
is_waiting(struct fake_connection *connection)
{
	int64_t rest_ms = connection->resume_ms - fake_now_ms();

	if (rest_ms <= 0)
		return false;
	lws_set_timer_usecs(connection->wsi, rest_ms * 1000);
	return true;
}

int
fake_wire_write(struct fake_connection *connection)
{
	size_t sent = LWS_PRE + connection->out_at;
	char *data;

	if (is_waiting(connection))
		return 0;
	if (sent >= connection->out.len && begin_next(connection) != 0)
		return -1;
	sent = LWS_PRE + connection->out_at;
	if (sent >= connection->out.len || is_waiting(connection))
		return 0;
	(void)lws_callback_on_writable(connection->wsi);
	data = connection->out.data + sent;
	if (connection->out_is_raw)
		return send_raw(connection, data, connection->out.len - sent);
	return send_piece(connection, data, connection->out.len - sent);
}

void
fake_wire_fini(struct fake_connection *connection)
{
	while (connection->next_item < connection->num_items)
		free(connection->items[connection->next_item++].text);
	free(connection->items);
	gs_buf_fini(&connection->out);
}
