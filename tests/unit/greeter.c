/* A relay of its own thread, as small as one can be. */
#include "unit/greeter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
/* cmocka needs those before it */
#include <cmocka.h>
#include <errno.h>
#include <netinet/in.h>
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define FRAME "\x81\x02" GREETER_TEXT /* a text, of two bytes */

static void
say(int fd, const void *bytes, size_t len)
{
	(void)!send(fd, bytes, len, MSG_NOSIGNAL);
}

static void
upgrade(int fd, const char *request)
{
	static const char magic[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
	static const char name[] = "Sec-WebSocket-Key: ";
	const char *key = strcasestr(request, name);
	unsigned char hash[SHA_DIGEST_LENGTH], accept[64];
	char text[256];

	key = key != NULL ? key + strlen(name) : "";
	(void)snprintf(text, sizeof(text), "%.*s%s", (int)strcspn(key, "\r"), key, magic);
	(void)SHA1((const unsigned char *)text, strlen(text), hash);
	(void)EVP_EncodeBlock(accept, hash, sizeof(hash));
	(void)snprintf(text, sizeof(text),
	    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
	    "Connection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n" FRAME,
	    (const char *)accept);
	say(fd, text, strlen(text));
}

static void
give_document(struct greeter *greeter, int fd)
{
	static const char answer[] = "HTTP/1.1 200 OK\r\nConnection: close\r\n"
				     "Content-Length: 18\r\n\r\n" GREETER_DOCUMENT;

	greeter->documents++;
	say(fd, answer, sizeof(answer) - 1);
}

static void
drop_others(const struct greeter *greeter, int fd)
{
	for (nfds_t i = 1; i < greeter->num; i++)
		if (greeter->sockets[i].fd != fd)
			(void)shutdown(greeter->sockets[i].fd, SHUT_RDWR);
}

/* A request or a frame each time; false: that socket is over. */
static bool
serve_socket(struct greeter *greeter, int fd)
{
	char in[4096];
	ssize_t len = recv(fd, in, sizeof(in) - 1, 0);

	if (len <= 0)
		return false;
	in[len] = '\0';
	if (memcmp(in, "GET ", 4) != 0) {
		if ((in[0] & 0x0f) != 1)
			return false;
		greeter->frames++;
		greeter->is_frame_early |= greeter->documents == 0;
		say(fd, FRAME, sizeof(FRAME) - 1);
		return true;
	}
	if (strcasestr(in, "Upgrade: websocket") == NULL && greeter->drops_once) {
		greeter->drops_once = false;
		drop_others(greeter, fd);
		return true;
	}
	if (strcasestr(in, "Upgrade: websocket") == NULL) {
		give_document(greeter, fd);
		return false;
	}
	upgrade(fd, in);
	return true;
}

static void
accept_socket(struct greeter *greeter)
{
	int fd = accept(greeter->listen_fd, NULL, NULL);

	if (fd < 0 || greeter->num == GREETER_SOCKETS)
		abort();
	greeter->sockets[greeter->num++] = (struct pollfd){ .fd = fd, .events = POLLIN };
}

static void *
serve(void *arg)
{
	struct greeter *greeter = arg;

	while (poll(greeter->sockets, greeter->num, -1) >= 0 || errno == EINTR) {
		if ((greeter->sockets[0].revents & (POLLHUP | POLLERR)) != 0)
			break;
		for (nfds_t i = greeter->num; --i > 0;) {
			struct pollfd *socket = &greeter->sockets[i];

			if (socket->revents == 0 || serve_socket(greeter, socket->fd))
				continue;
			(void)close(socket->fd);
			*socket = greeter->sockets[--greeter->num];
		}
		if (greeter->sockets[0].revents != 0)
			accept_socket(greeter);
	}
	while (greeter->num-- > 0)
		(void)close(greeter->sockets[greeter->num].fd);
	return NULL;
}

void
greeter_start(struct greeter *greeter)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	socklen_t len = sizeof(at);

	memset(greeter, 0, sizeof(*greeter));
	greeter->listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(greeter->listen_fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(greeter->listen_fd, GREETER_SOCKETS), 0);
	assert_int_equal(getsockname(greeter->listen_fd, (struct sockaddr *)&at, &len),
	    0);
	greeter->port = ntohs(at.sin_port);
	greeter->sockets[0] =
	    (struct pollfd){ .fd = greeter->listen_fd, .events = POLLIN };
	greeter->num = 1;
	assert_int_equal(pthread_create(&greeter->thread, NULL, serve, greeter), 0);
}

void
greeter_stop(struct greeter *greeter)
{
	(void)shutdown(greeter->listen_fd, SHUT_RDWR);
	assert_int_equal(pthread_join(greeter->thread, NULL), 0);
}
