/*
 * A small HTTP server for those who look after the process: GET and HEAD of a few paths,
 * one request a connection.  Sockets are watched by the loop: libwebsockets' own server
 * does not tell when an address is taken, and speaks more than is wanted here.
 */
#include "httpd.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "httpd_private.h"
#include "mem.h"
#include "request.h"

#define PATIENCE_MS 10000	/* for a request; for any progress of an answer */
#define LEAVE_MS 1000		/* for a client to close when it was told all */
#define RETRY_MS 1000		/* out of descriptors: until the next try to accept */
#define TURN_BYTES (256 * 1024) /* sent at once: then others have their turn */
#define TEXT "text/plain; charset=utf-8"

enum client_state {
	CLIENT_ASKS,
	CLIENT_READS,  /* our answer */
	CLIENT_LEAVES, /* it was told all: what it may still send is dropped */
};

struct client {
	struct gs_httpd *httpd;
	struct client *next;
	enum client_state state;
	int fd;
	struct gs_watch *watch;
	struct gs_timer *timer;
	struct gs_buf request;
	struct gs_buf head, body; /* of the answer */
	size_t sent;		  /* of both */
};

struct gs_httpd {
	struct gs_loop *loop;
	struct gs_httpd_ops ops;
	struct gs_httpd_place place;
	int fd;
	struct gs_watch *watch;
	struct gs_timer *retry;
	struct client *clients;
	size_t num_clients;
};

static const char *
reason_of(int status)
{
	switch (status) {
	case 200:
		return "OK";
	case 400:
		return "Bad Request";
	case 403:
		return "Forbidden";
	case 404:
		return "Not Found";
	case 405:
		return "Method Not Allowed";
	case 431:
		return "Request Header Fields Too Large";
	case 503:
		return "Service Unavailable";
	default:
		return "Answer";
	}
}

static void
free_client(struct client *client)
{
	gs_timer_free(client->timer);
	gs_watch_free(client->watch);
	(void)close(client->fd);
	gs_buf_fini(&client->request);
	gs_buf_fini(&client->head);
	gs_buf_fini(&client->body);
	free(client);
}

static void
end_client(struct client *client)
{
	struct client **at = &client->httpd->clients;

	while (*at != client)
		at = &(*at)->next;
	*at = client->next;
	client->httpd->num_clients--;
	free_client(client);
}

/* What it did not take is forgotten, also by the system. */
static void
run_out(void *arg)
{
	const struct linger at_once = { .l_onoff = 1, .l_linger = 0 };
	struct client *client = arg;

	if (client->state == CLIENT_READS)
		(void)setsockopt(client->fd, SOL_SOCKET, SO_LINGER, &at_once,
		    sizeof(at_once));
	end_client(client);
}

/* --- an answer on its way --- */

/* What is left is dropped: closed with something unread, our last bytes may get lost. */
static void
let_leave(struct client *client)
{
	(void)shutdown(client->fd, SHUT_WR);
	gs_buf_fini(&client->body);
	client->state = CLIENT_LEAVES;
	gs_watch_set(client->watch, GS_WATCH_READ);
	gs_timer_set(client->timer, LEAVE_MS);
}

/* The next bytes of head or body; none: all was sent. */
static struct gs_str
rest_of(const struct client *client)
{
	size_t head = client->head.len, sent = client->sent;
	struct gs_str rest = { NULL, 0 };

	if (sent < head)
		rest = (struct gs_str){ client->head.data + sent, head - sent };
	else if (sent < head + client->body.len)
		rest = (struct gs_str){ client->body.data + (sent - head),
			head + client->body.len - sent };
	if (rest.len > TURN_BYTES)
		rest.len = TURN_BYTES;
	return rest;
}

static void
send_more(struct client *client)
{
	struct gs_str rest = rest_of(client);
	int flags = MSG_NOSIGNAL | MSG_DONTWAIT;
	ssize_t len;

	if (client->sent < client->head.len && client->body.len > 0)
		flags |= MSG_MORE;
	len = send(client->fd, rest.ptr, rest.len, flags);
	if (len < 0 && errno != EAGAIN && errno != EINTR) {
		end_client(client);
		return;
	}
	if (len > 0) {
		client->sent += (size_t)len;
		gs_timer_set(client->timer, PATIENCE_MS);
	}
	if (rest_of(client).len == 0)
		let_leave(client);
}

static void
begin_answer(struct client *client, const struct gs_httpd_answer *answer, bool is_head)
{
	gs_buf_printf(&client->head,
	    "HTTP/1.1 %d %s\r\n"
	    "Content-Type: %s\r\n"
	    "Content-Length: %zu\r\n"
	    "Cache-Control: no-store\r\n"
	    "X-Content-Type-Options: nosniff\r\n"
	    "%s"
	    "Connection: close\r\n\r\n",
	    answer->status, reason_of(answer->status), answer->type, answer->body.len,
	    answer->status == 405 ? "Allow: GET, HEAD\r\n" : "");
	client->body = answer->body;
	if (is_head)
		gs_buf_fini(&client->body);
	gs_buf_fini(&client->request);
	client->state = CLIENT_READS;
	gs_watch_set(client->watch, GS_WATCH_WRITE);
	gs_timer_set(client->timer, PATIENCE_MS);
}

static void
refuse(struct client *client, int status, const char *why)
{
	struct gs_httpd_answer answer = { .status = status, .type = TEXT };

	gs_buf_printf(&answer.body, "%s\n", why);
	begin_answer(client, &answer, false);
}

/* --- a request --- */

static void
serve(struct client *client, const struct gs_request *request)
{
	struct gs_httpd *httpd = client->httpd;
	struct gs_httpd_answer answer = { .status = 404, .type = TEXT };
	bool is_head = gs_str_is(request->method, "HEAD");

	if (!gs_httpd_place_is_unix(&httpd->place) &&
	    !gs_request_is_local(request->host)) {
		refuse(client, 403, "forbidden: its Host is not this machine");
		return;
	}
	if (!is_head && !gs_str_is(request->method, "GET")) {
		refuse(client, 405, "only GET and HEAD");
		return;
	}
	httpd->ops.get(request->path, &answer, httpd->ops.arg);
	if (answer.status == 404 && answer.body.len == 0)
		gs_buf_add_str(&answer.body, "not found\n");
	begin_answer(client, &answer, is_head);
}

static void
look(struct client *client)
{
	struct gs_str text = { client->request.data, client->request.len };
	struct gs_request request;

	switch (gs_request_parse(&request, text)) {
	case GS_REQUEST_OK:
		serve(client, &request);
		return;
	case GS_REQUEST_BAD:
		refuse(client, 400, "not a request of HTTP/1.1");
		return;
	case GS_REQUEST_MORE:
		if (text.len >= GS_REQUEST_BYTES)
			refuse(client, 431, "its head is too large");
		return;
	}
}

/* False: the client has gone. */
static bool
receive(struct client *client)
{
	char piece[GS_REQUEST_BYTES];
	size_t room = sizeof(piece) - client->request.len;
	ssize_t len = recv(client->fd, piece, room, MSG_DONTWAIT);

	if (len == 0 || (len < 0 && errno != EAGAIN && errno != EINTR))
		return false;
	if (len > 0 && client->state == CLIENT_ASKS) {
		gs_buf_add(&client->request, piece, (size_t)len);
		look(client);
	}
	return true;
}

static void
attend(void *arg)
{
	struct client *client = arg;

	if (client->state == CLIENT_READS)
		send_more(client);
	else if (!receive(client))
		end_client(client);
}

/* --- connections --- */

/* As far as it fits: nobody waits for one that is turned away. */
static void
turn_away(int fd)
{
	static const char text[] = "HTTP/1.1 503 Service Unavailable\r\n"
				   "Content-Length: 0\r\nConnection: close\r\n\r\n";

	(void)!send(fd, text, sizeof(text) - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
	(void)close(fd);
}

static void
add_client(struct gs_httpd *httpd, int fd)
{
	struct client *client;

	if (httpd->num_clients >= GS_HTTPD_CLIENTS) {
		turn_away(fd);
		return;
	}
	client = gs_mem_new(sizeof(*client));
	client->httpd = httpd;
	client->fd = fd;
	client->watch = gs_watch_new(httpd->loop, fd, attend, client);
	client->timer = gs_timer_new(httpd->loop, run_out, client);
	if (client->watch == NULL) {
		free_client(client);
		return;
	}
	client->next = httpd->clients;
	httpd->clients = client;
	httpd->num_clients++;
	gs_watch_set(client->watch, GS_WATCH_READ);
	gs_timer_set(client->timer, PATIENCE_MS);
}

static void
accept_client(void *arg)
{
	struct gs_httpd *httpd = arg;
	int fd = accept4(httpd->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd >= 0) {
		add_client(httpd, fd);
		return;
	}
	/* It would be ready, and fail, again and again. */
	if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
		gs_watch_set(httpd->watch, GS_WATCH_FAULTS);
		gs_timer_set(httpd->retry, RETRY_MS);
	}
}

static void
accept_again(void *arg)
{
	struct gs_httpd *httpd = arg;

	gs_watch_set(httpd->watch, GS_WATCH_READ);
}

struct gs_httpd *
gs_httpd_new(struct gs_loop *loop, const char *address, const struct gs_httpd_ops *ops,
    struct gs_err *err)
{
	struct gs_httpd *httpd = gs_mem_new(sizeof(*httpd));

	httpd->loop = loop;
	httpd->ops = *ops;
	httpd->fd = -1;
	if (!gs_httpd_place_parse(&httpd->place, address, err))
		goto fail;
	httpd->fd = gs_httpd_place_open(&httpd->place, err);
	if (httpd->fd < 0) {
		(void)gs_fail_in(err, "can't listen on %s", address);
		goto fail;
	}
	httpd->watch = gs_watch_new(loop, httpd->fd, accept_client, httpd);
	if (httpd->watch == NULL) {
		(void)gs_fail(err, GS_EIO, "epoll: %s", strerror(errno));
		goto fail;
	}
	httpd->retry = gs_timer_new(loop, accept_again, httpd);
	gs_watch_set(httpd->watch, GS_WATCH_READ);
	return httpd;
fail:
	gs_httpd_free(httpd);
	return NULL;
}

void
gs_httpd_free(struct gs_httpd *httpd)
{
	if (httpd == NULL)
		return;
	for (struct client *client = httpd->clients, *next; client != NULL;
	     client = next) {
		next = client->next;
		free_client(client);
	}
	gs_timer_free(httpd->retry);
	gs_watch_free(httpd->watch);
	if (httpd->fd >= 0) {
		(void)close(httpd->fd);
		gs_httpd_place_remove(&httpd->place);
	}
	free(httpd);
}

const char *
gs_httpd_address(const struct gs_httpd *httpd)
{
	return httpd->place.text;
}
