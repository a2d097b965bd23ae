/* The HTTP proxy that a user names, as its address: everything is dialled through it. */
#include "proxy.h"

#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "host.h"
#include "num.h"

#define SCHEME "http://"
#define MAX_PORT 65535
#define ADDRESS_BYTES 48 /* of IPv6, with a NUL */

/* HOST:PORT, perhaps with a slash behind it. */
static bool
split(struct gs_str *host, int64_t *port, const char *text)
{
	const char *colon = strrchr(text, ':');
	size_t len;

	if (colon == NULL)
		return false;
	len = strlen(colon + 1);
	if (len > 0 && colon[len] == '/')
		len--;
	*host = (struct gs_str){ text, (size_t)(colon - text) };
	return gs_num_parse(port, colon + 1, len, MAX_PORT) && *port > 0;
}

static bool
look_up(char address[static ADDRESS_BYTES], const char *name, struct gs_err *err)
{
	const struct addrinfo hints = { .ai_family = AF_UNSPEC,
		.ai_socktype = SOCK_STREAM };
	struct addrinfo *found = NULL;
	int fault = getaddrinfo(name, NULL, &hints, &found);

	if (fault == 0) {
		fault = getnameinfo(found->ai_addr, found->ai_addrlen, address,
		    ADDRESS_BYTES, NULL, 0, NI_NUMERICHOST);
		freeaddrinfo(found);
	}
	return fault == 0 ||
	    gs_fail(err, GS_EUNAVAILABLE, "proxy: %s: %s", name, gai_strerror(fault));
}

bool
gs_proxy_find(char address[static GS_PROXY_BYTES], const char *text, struct gs_err *err)
{
	char number[ADDRESS_BYTES];
	struct gs_host host;
	struct gs_str name;
	int64_t port;
	bool is_v6;

	if (strncmp(text, SCHEME, strlen(SCHEME)) != 0 ||
	    !split(&name, &port, text + strlen(SCHEME)) ||
	    !gs_host_parse(&host, name, NULL))
		return gs_fail(err, GS_EUSAGE, "proxy: not like http://HOST:PORT");
	if (!look_up(number, host.text, err))
		return false;
	is_v6 = strchr(number, ':') != NULL;
	(void)snprintf(address, GS_PROXY_BYTES, "%s%s%s:%d", is_v6 ? "[" : "", number,
	    is_v6 ? "]" : "", (int)port);
	return true;
}
