/*
 * URLs of relays and of our own service: canonical relay URLs, and whether a
 * string of an announcement names a service.  DESIGN 3 "State" is the rule.
 */
#ifndef GS_URL_H
#define GS_URL_H

#include <stdint.h>

#include "buf.h"
#include "err.h"
#include "host.h"

#define GS_URL_BYTES 255

/* Where a relay is, in canonical form; the only way to make one is gs_url_parse_relay. */
struct gs_url {
	char text[GS_URL_BYTES + 1]; /* canonical, ASCII where the host is */
	bool tls;
	uint16_t port;		     /* with the default filled in */
	char host[GS_URL_BYTES + 1]; /* lower case, ASCII; IPv6 without brackets */
	char path[GS_URL_BYTES + 1]; /* path and query, "" if none */
};

/*
 * Canonical relay URL of a string from an announcement or a command line.
 * GS_EDATA with the reason in err otherwise; unless allow_private, addresses and
 * names that the dialler would refuse are refused too (DESIGN 6 "Addresses").
 */
bool gs_url_parse_relay(struct gs_url *url, struct gs_str text, bool allow_private,
    struct gs_err *err) GS_MUST;

/*
 * A service: host with optional port and path; "http(s)://" or "ws(s)://" before it
 * is let through.  Its host may be private: it is ours.
 */
struct gs_service {
	char host[GS_URL_BYTES + 1];
	uint16_t port;		     /* 0: 80, 443 or none */
	char path[GS_URL_BYTES + 1]; /* "" or "/a/b", no slash at the end */
	char text[GS_URL_BYTES + 1]; /* canonical: host[:port][path] */
};

bool gs_service_parse(struct gs_service *service, struct gs_str text,
    struct gs_err *err) GS_MUST;
/* Does a `clone` (http, https) or `relays` value (ws, wss, bare host) name it? */
bool gs_service_is_clone(const struct gs_service *service, struct gs_str text);
bool gs_service_is_relay(const struct gs_service *service, struct gs_str text);

#endif
