/* Where an HTTP server listens: only where nobody but this machine's users come in. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#include "host.h"
#include "httpd_private.h"
#include "num.h"

#define UNIX "unix:"
#define UNIX_MODE 0660 /* whoever may write to it may ask */
#define MAX_PORT 65535
#define LOOPBACK_NET 127
#define BACKLOG 32
#define SHOWN_BYTES 120
#define FORMS "PORT, 127.0.0.1:PORT, [::1]:PORT or unix:/PATH"

bool
gs_httpd_place_is_unix(const struct gs_httpd_place *place)
{
	return place->address.any.sa_family == AF_UNIX;
}

static bool
parse_unix(struct gs_httpd_place *place, const char *path, struct gs_err *err)
{
	struct sockaddr_un *un = &place->address.un;
	size_t len = strlen(path);

	if (path[0] != '/')
		return gs_fail(err, GS_EUSAGE, "not the full path of a socket");
	if (len >= sizeof(un->sun_path))
		return gs_fail(err, GS_EUSAGE, "over %zu bytes: too long for a socket",
		    sizeof(un->sun_path) - 1);
	un->sun_family = AF_UNIX;
	memcpy(un->sun_path, path, len + 1);
	place->len = sizeof(*un);
	return true;
}

static bool
fill_inet(struct gs_httpd_place *place, const struct gs_host *host, int64_t port)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)&place->address.storage;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&place->address.storage;

	if (host->family == AF_INET6) {
		v6->sin6_family = AF_INET6;
		v6->sin6_port = htons((uint16_t)port);
		memcpy(&v6->sin6_addr, host->address, sizeof(v6->sin6_addr));
		place->len = sizeof(*v6);
		return IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
	}
	v4->sin_family = AF_INET;
	v4->sin_port = htons((uint16_t)port);
	memcpy(&v4->sin_addr, host->address, sizeof(v4->sin_addr));
	place->len = sizeof(*v4);
	return host->address[0] == LOOPBACK_NET;
}

/* "HOST:PORT" or "PORT". */
static bool
parse_inet(struct gs_httpd_place *place, const char *text, struct gs_err *err)
{
	const char *colon = strrchr(text, ':');
	const char *digits = colon != NULL ? colon + 1 : text;
	struct gs_str name = GS_STR("127.0.0.1");
	struct gs_host host;
	int64_t port;

	if (colon != NULL)
		name = (struct gs_str){ text, (size_t)(colon - text) };
	if (gs_str_is(name, "localhost"))
		name = GS_STR("127.0.0.1");
	if (!gs_num_parse(&port, digits, strlen(digits), MAX_PORT))
		return gs_fail(err, GS_EUSAGE, "no such address: use " FORMS);
	if (!gs_host_parse(&host, name, NULL) || host.family == AF_UNSPEC ||
	    !fill_inet(place, &host, port))
		return gs_fail(err, GS_EUSAGE,
		    "not of this machine alone: use " FORMS
		    ", and a web server before it to show it to others");
	return true;
}

bool
gs_httpd_place_parse(struct gs_httpd_place *place, const char *address,
    struct gs_err *err)
{
	bool is_unix = strncmp(address, UNIX, strlen(UNIX)) == 0;
	struct gs_buf shown = GS_BUF_INIT;

	memset(place, 0, sizeof(*place));
	if (is_unix ? parse_unix(place, address + strlen(UNIX), err)
		    : parse_inet(place, address, err))
		return true;
	gs_buf_add_shown(&shown, address, strlen(address), SHOWN_BYTES);
	(void)gs_fail_in(err, "%s", shown.len > 0 ? shown.data : "''");
	gs_buf_fini(&shown);
	return false;
}

bool
gs_httpd_check(const char *address, struct gs_err *err)
{
	struct gs_httpd_place place;

	return gs_httpd_place_parse(&place, address, err);
}

/* As it is bound: with the port that was free. */
static void
name_place(struct gs_httpd_place *place, int fd)
{
	const struct sockaddr_in *v4 = (struct sockaddr_in *)&place->address.storage;
	const struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&place->address.storage;
	struct gs_buf text = GS_BUF_INIT;
	char number[INET6_ADDRSTRLEN] = "";

	(void)getsockname(fd, &place->address.any, &place->len);
	switch (place->address.any.sa_family) {
	case AF_UNIX:
		gs_buf_printf(&text, UNIX "%s", place->address.un.sun_path);
		break;
	case AF_INET6:
		(void)inet_ntop(AF_INET6, &v6->sin6_addr, number, sizeof(number));
		gs_buf_printf(&text, "[%s]:%u", number, ntohs(v6->sin6_port));
		break;
	default:
		(void)inet_ntop(AF_INET, &v4->sin_addr, number, sizeof(number));
		gs_buf_printf(&text, "%s:%u", number, ntohs(v4->sin_port));
		break;
	}
	memcpy(place->text, text.data, text.len + 1);
	gs_buf_fini(&text);
}

/* The file of one who has died stands in the way; that of one who lives is his. */
static bool
clear_path(const struct gs_httpd_place *place, struct gs_err *err)
{
	const char *path = place->address.un.sun_path;
	struct stat found;
	bool is_alone = false;
	int fd;

	if (lstat(path, &found) != 0)
		return true;
	if (!S_ISSOCK(found.st_mode))
		return gs_fail(err, GS_EUNAVAILABLE, "something else is there");
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0) {
		is_alone = connect(fd, &place->address.any, place->len) != 0 &&
		    errno == ECONNREFUSED;
		(void)close(fd);
	}
	if (!is_alone)
		return gs_fail(err, GS_EUNAVAILABLE, "another process listens there");
	return unlink(path) == 0 || gs_fail(err, GS_EUNAVAILABLE, "%s", strerror(errno));
}

/* Until it listens nobody can come in, so there is time to set the mode. */
static bool
bind_place(struct gs_httpd_place *place, int fd, struct gs_err *err)
{
	const char *path = place->address.un.sun_path;
	int on = 1;

	if (!gs_httpd_place_is_unix(place)) {
		(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
		return bind(fd, &place->address.any, place->len) == 0;
	}
	return clear_path(place, err) && bind(fd, &place->address.any, place->len) == 0 &&
	    chmod(path, UNIX_MODE) == 0 && lstat(path, &place->made) == 0;
}

int
gs_httpd_place_open(struct gs_httpd_place *place, struct gs_err *err)
{
	int fd = socket(place->address.any.sa_family,
	    SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct gs_err why = { .code = GS_OK };

	if (fd >= 0 && bind_place(place, fd, &why) && listen(fd, BACKLOG) == 0) {
		name_place(place, fd);
		return fd;
	}
	if (why.code == GS_OK)
		(void)gs_fail(&why, GS_EUNAVAILABLE, "%s", strerror(errno));
	if (err != NULL)
		*err = why;
	if (fd >= 0)
		(void)close(fd);
	gs_httpd_place_remove(place);
	return -1;
}

void
gs_httpd_place_remove(const struct gs_httpd_place *place)
{
	const char *path = place->address.un.sun_path;
	struct stat found;

	if (gs_httpd_place_is_unix(place) && place->made.st_ino != 0 &&
	    lstat(path, &found) == 0 && found.st_dev == place->made.st_dev &&
	    found.st_ino == place->made.st_ino)
		(void)unlink(path);
}
