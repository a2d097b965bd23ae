/* The host of a URL: a name, IPv4 or IPv6 address, in canonical form. */
#ifndef GS_HOST_H
#define GS_HOST_H

#include <stdint.h>

#include "buf.h"
#include "err.h"

#define GS_HOST_BYTES 253 /* of a name without its trailing dot: RFC 1035 */

struct gs_host {
	/* lower case, ASCII, no trailing dot; IPv6 without brackets */
	char text[GS_HOST_BYTES + 1];
	int family; /* AF_INET, AF_INET6; AF_UNSPEC: a name */
	uint8_t address[16];
};

/*
 * From a name (IDNA is made ASCII), "1.2.3.4" or "[::1]"; GS_EDATA otherwise.  Other
 * ways to write an address (127.1, 0x7f.1, 2130706433) are refused, as are zones.
 */
bool gs_host_parse(struct gs_host *host, struct gs_str text, struct gs_err *err) GS_MUST;

/* GS_EDATA for private addresses and for localhost, .local, .internal and the like. */
bool gs_host_check_public(const struct gs_host *host, struct gs_err *err) GS_MUST;

/*
 * Is this IPv4 or IPv6 address loopback, private, link-local, metadata, multicast,
 * reserved, or a mapped form of one?  family is AF_INET (4 bytes) or AF_INET6 (16
 * bytes); of any other family nothing is known, so it is.
 */
bool gs_host_address_is_private(int family, const uint8_t *address);

#endif
