/*
 * The farm's sockets: accepts, reads the frames of clients, sends what waits in as few
 * calls as can be.  A connection is freed in farm_wire_ready alone, so that nobody's
 * pointer to it goes stale meanwhile.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "farm.h"
#include "mem.h"

#define READ_BYTES 65536
#define HEAD_BYTES 8192		   /* of an HTTP request */
#define ROUND_BYTES (256u * 1024u) /* then the others have their turn */

enum opcode {
	OP_MORE = 0x0,
	OP_TEXT = 0x1,
	OP_CLOSE = 0x8,
	OP_PING = 0x9,
	OP_PONG = 0xa,
};
#define FIN 0x80
#define MASKED 0x80

struct frame {
	unsigned opcode;
	bool is_last;
	unsigned char *payload;
	size_t len, whole; /* whole: with its head */
};

static void
poll_again(struct farm_connection *connection, bool wants_write)
{
	struct epoll_event event = { .events = EPOLLIN | (wants_write ? EPOLLOUT : 0),
		.data = { .ptr = connection } };

	connection->is_armed = wants_write;
	if (epoll_ctl(connection->farm->poll_fd, EPOLL_CTL_MOD, connection->fd, &event) !=
	    0)
		farm_die("epoll_ctl");
}

void
farm_wire_wake(struct farm_connection *connection)
{
	if (!connection->is_armed && connection->phase != FARM_HELD)
		poll_again(connection, true);
}

void
farm_wire_drop(struct farm_connection *connection)
{
	(void)shutdown(connection->fd, SHUT_RDWR);
}

static void
add_frame(struct gs_buf *out, unsigned opcode, const char *text, size_t len)
{
	unsigned char head[10] = { (unsigned char)(FIN | opcode) };
	size_t used = 2;

	if (len < 126) {
		head[1] = (unsigned char)len;
	} else if (len < 65536) {
		head[1] = 126;
		head[2] = (unsigned char)(len >> 8);
		head[3] = (unsigned char)(len & 0xff);
		used = 4;
	} else {
		head[1] = 127;
		for (int i = 0; i < 8; i++)
			head[2 + i] =
			    (unsigned char)((uint64_t)len >> (56 - 8 * i) & 0xff);
		used = 10;
	}
	gs_buf_add(out, head, used);
	gs_buf_add(out, text, len);
}

void
farm_wire_text(struct farm_connection *connection, const char *text, size_t len)
{
	add_frame(&connection->out, OP_TEXT, text, len);
	farm_wire_wake(connection);
}

/* ---- what came */

/* False: it is not all there yet. */
static bool
read_frame(struct gs_buf *in, size_t at, struct frame *frame)
{
	unsigned char *bytes = (unsigned char *)in->data + at;
	size_t have = in->len - at, head = 2, len;

	if (have < 2)
		return false;
	len = bytes[1] & 0x7f;
	head += (len == 126 ? 2 : len == 127 ? 8 : 0);
	head += bytes[1] & MASKED ? 4 : 0;
	if (have < head)
		return false;
	if (len == 126) {
		len = (size_t)bytes[2] << 8 | bytes[3];
	} else if (len == 127) {
		len = 0;
		for (int i = 2; i < 10; i++)
			len = len << 8 | bytes[i];
	}
	if (have - head < len)
		return false;
	frame->opcode = bytes[0] & 0xf;
	frame->is_last = bytes[0] & FIN;
	frame->payload = bytes + head;
	frame->len = len;
	frame->whole = head + len;
	for (size_t i = 0; bytes[1] & MASKED && i < len; i++)
		frame->payload[i] ^= frame->payload[-4 + (ptrdiff_t)(i % 4)];
	return true;
}

/* False: hang up. */
static bool
take_frame(struct farm_connection *connection, const struct frame *frame)
{
	const char *payload = (const char *)frame->payload;

	switch (frame->opcode) {
	case OP_TEXT:
		gs_buf_clear(&connection->message);
		/* fall through */
	case OP_MORE:
		gs_buf_add(&connection->message, payload, frame->len);
		if (frame->is_last)
			farm_serve_message(connection);
		return true;
	case OP_PING:
		add_frame(&connection->out, OP_PONG, payload, frame->len);
		farm_wire_wake(connection);
		return true;
	case OP_CLOSE:
		add_frame(&connection->out, OP_CLOSE, payload, frame->len);
		connection->phase = FARM_ENDING;
		farm_wire_wake(connection);
		return true;
	case OP_PONG:
		return true;
	default:
		return false;
	}
}

static bool
take_frames(struct farm_connection *connection)
{
	struct gs_buf *in = &connection->in;
	struct frame frame;
	size_t at = 0;

	while (connection->phase == FARM_OPEN && read_frame(in, at, &frame)) {
		if (!take_frame(connection, &frame))
			return false;
		at += frame.whole;
	}
	if (at > 0) {
		memmove(in->data, in->data + at, in->len - at);
		gs_buf_cut(in, in->len - at);
	}
	return true;
}

static bool
take_head(struct farm_connection *connection)
{
	struct gs_buf *in = &connection->in;
	char *end = in->data ? strstr(in->data, "\r\n\r\n") : NULL;
	bool keep;

	if (end == NULL)
		return in->len < HEAD_BYTES;
	end[2] = '\0';
	keep = farm_http_answer(connection, in->data);
	gs_buf_clear(in);
	return keep;
}

/* False: it has ended. */
static bool
read_some(struct farm_connection *connection)
{
	ssize_t got =
	    recv(connection->fd, gs_buf_room(&connection->in, READ_BYTES), READ_BYTES, 0);

	if (got < 0)
		return errno == EAGAIN || errno == EINTR;
	if (got == 0)
		return false;
	connection->in.len += (size_t)got;
	connection->in.data[connection->in.len] = '\0';
	if (connection->phase == FARM_HEAD)
		return take_head(connection);
	if (connection->phase == FARM_OPEN)
		return take_frames(connection);
	gs_buf_clear(&connection->in);
	return true;
}

/* ---- what goes */

static bool
send_out(struct farm_connection *connection, size_t *sent)
{
	struct gs_buf *out = &connection->out;
	ssize_t did = send(connection->fd, out->data + connection->out_at,
	    out->len - connection->out_at, MSG_NOSIGNAL);

	if (did < 0)
		return errno == EAGAIN || errno == EINTR;
	connection->out_at += (size_t)did;
	*sent += (size_t)did;
	if (connection->out_at == out->len) {
		gs_buf_clear(out);
		connection->out_at = 0;
	}
	return true;
}

/* False: it has ended, or is to. */
static bool
write_some(struct farm_connection *connection)
{
	size_t sent = 0, before;

	do {
		before = sent;
		if (connection->out.len == 0 && connection->phase == FARM_OPEN)
			farm_serve_fill(connection);
		if (connection->out.len == 0)
			break;
		if (!send_out(connection, &sent))
			return false;
	} while (sent > before && sent < ROUND_BYTES);
	if (connection->out.len > 0 || sent >= ROUND_BYTES)
		return true;
	poll_again(connection, false);
	return connection->phase != FARM_ENDING;
}

static void
end_connection(struct farm_connection *connection)
{
	if (connection->relay != NULL)
		LIST_REMOVE(connection, next);
	farm_serve_fini(connection);
	(void)close(connection->fd);
	gs_buf_fini(&connection->in);
	gs_buf_fini(&connection->message);
	gs_buf_fini(&connection->out);
	free(connection);
}

void
farm_wire_ready(struct farm_connection *connection, uint32_t events)
{
	bool keep = true;

	if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		keep = read_some(connection);
	if (keep && connection->phase == FARM_HELD && connection->is_armed)
		poll_again(connection, false);
	if (keep && connection->phase != FARM_HELD && events & EPOLLOUT)
		keep = write_some(connection);
	if (!keep)
		end_connection(connection);
}

void
farm_wire_accept(struct farm *farm)
{
	int fd, yes = 1;

	while ((fd = accept4(farm->listen_fd, NULL, NULL,
		    SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
		struct farm_connection *connection = gs_mem_new(sizeof(*connection));
		struct epoll_event event = { .events = EPOLLIN,
			.data = { .ptr = connection } };

		connection->farm = farm;
		connection->fd = fd;
		STAILQ_INIT(&connection->answers);
		(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
		if (epoll_ctl(farm->poll_fd, EPOLL_CTL_ADD, fd, &event) != 0)
			farm_die("epoll_ctl");
	}
}
