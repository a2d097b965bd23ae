/*
 * Sockets without libwebsockets: for answers that it would never give, such as half a
 * header, a byte a second, or a reset.  Not for TLS.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fakerelay.h"
#include "mem.h"

int
fake_raw_take(struct lws *wsi)
{
	int theirs = lws_get_socket_fd(wsi);
	int ours = dup(theirs);
	int dead[2];

	if (ours < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, dead) != 0)
		fake_die("no descriptors are left");
	(void)dup2(dead[0], theirs);
	(void)close(dead[0]);
	(void)close(dead[1]);
	return ours;
}

void
fake_raw_reset(int fd)
{
	const struct linger at_once = { .l_onoff = 1, .l_linger = 0 };

	(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
	(void)close(fd);
}

void
fake_raw_add(struct fake_relay *relay, int fd, struct gs_str text, int64_t drip_ms)
{
	struct fake_raw raw = { .fd = fd, .len = text.len, .drip_ms = drip_ms };

	raw.text = gs_mem_dup(text.ptr, text.len);
	relay->raws = gs_mem_more(relay->raws, relay->num_raws, &relay->cap_raws,
	    sizeof(*relay->raws));
	relay->raws[relay->num_raws++] = raw;
}

/* The peer has left, or this can't be written. */
static void
end_raw(struct fake_raw *raw)
{
	(void)close(raw->fd);
	free(raw->text);
	raw->text = NULL;
	raw->fd = -1;
}

static bool
has_left(int fd)
{
	char scratch[512];
	ssize_t got;

	while ((got = recv(fd, scratch, sizeof(scratch), MSG_DONTWAIT)) > 0)
		continue;
	return got == 0 || (errno != EAGAIN && errno != EINTR);
}

static void
drip(struct fake_raw *raw, int64_t now_ms)
{
	size_t len = raw->len - raw->at;
	ssize_t written;

	if (has_left(raw->fd)) {
		end_raw(raw);
		return;
	}
	if (len == 0 || now_ms < raw->due_ms)
		return;
	if (raw->drip_ms > 0)
		len = 1;
	written = send(raw->fd, raw->text + raw->at, len, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (written > 0)
		raw->at += (size_t)written;
	raw->due_ms = now_ms + raw->drip_ms;
}

void
fake_raw_tick(struct fake_relay *relay, int64_t now_ms)
{
	for (size_t i = 0; i < relay->num_raws; i++)
		if (relay->raws[i].fd >= 0)
			drip(&relay->raws[i], now_ms);
}
