/*
 * A host as strangers write it in a URL: one canonical form for a name or an address,
 * and which of them are local.  Names are not resolved here; what they resolve to is
 * checked where we dial.
 */
#include "host.h"

#include <arpa/inet.h>
#include <idn2.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#define MAX_RAW 255 /* bytes, before IDNA and with a trailing dot */
#define MAX_LABEL 63

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

struct prefix {
	uint8_t bytes[16];
	unsigned bits;
};

/* Not globally reachable: the IANA special-purpose registry. */
static const struct prefix private_v4[] = {
	{ { 0 }, 8 },		  /* this network */
	{ { 10 }, 8 },		  /* private */
	{ { 100, 64 }, 10 },	  /* shared; 100.100.100.200 is a cloud's metadata */
	{ { 127 }, 8 },		  /* loopback */
	{ { 169, 254 }, 16 },	  /* link-local; 169.254.169.254 is metadata */
	{ { 172, 16 }, 12 },	  /* private */
	{ { 192, 0, 0 }, 24 },	  /* IETF assignments */
	{ { 192, 0, 2 }, 24 },	  /* documentation */
	{ { 192, 88, 99 }, 24 },  /* 6to4 relays */
	{ { 192, 168 }, 16 },	  /* private */
	{ { 198, 18 }, 15 },	  /* benchmarks */
	{ { 198, 51, 100 }, 24 }, /* documentation */
	{ { 203, 0, 113 }, 24 },  /* documentation */
	{ { 224 }, 4 },		  /* multicast */
	{ { 240 }, 4 },		  /* reserved, broadcast */
};

/* Carry an IPv4 address in their last four bytes, which decides. */
static const struct prefix carries_v4[] = {
	{ { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff }, 96 }, /* v4-mapped */
	{ { 0x00, 0x64, 0xff, 0x9b }, 96 }, /* NAT64: all of IPv4 for a host without it */
};

/* The only global unicast; all else is local, multicast or reserved. */
static const struct prefix global_v6 = { { 0x20 }, 3 };

/* Holes in global_v6. */
static const struct prefix private_v6[] = {
	{ { 0x20, 0x01, 0x00, 0x00 }, 32 },		/* Teredo */
	{ { 0x20, 0x01, 0x00, 0x02, 0x00, 0x00 }, 48 }, /* benchmarks */
	{ { 0x20, 0x01, 0x00, 0x10 }, 28 },		/* ORCHID */
	{ { 0x20, 0x01, 0x00, 0x20 }, 28 },		/* ORCHIDv2 */
	{ { 0x20, 0x01, 0x0d, 0xb8 }, 32 },		/* documentation */
	{ { 0x20, 0x02 }, 16 },				/* 6to4 */
	{ { 0x3f, 0xff }, 20 },				/* documentation */
};

/* These, and all names under them. */
static const char *const local_names[] = { "localhost", "local", "internal" };

static bool
has_prefix(const uint8_t *address, const struct prefix *prefix)
{
	unsigned whole = prefix->bits / 8, rest = prefix->bits % 8;

	if (memcmp(address, prefix->bytes, whole) != 0)
		return false;
	return rest == 0 || (address[whole] ^ prefix->bytes[whole]) >> (8 - rest) == 0;
}

static bool
has_any_prefix(const uint8_t *address, const struct prefix *prefixes, size_t num)
{
	size_t i;

	for (i = 0; i < num; i++)
		if (has_prefix(address, &prefixes[i]))
			return true;
	return false;
}

bool
gs_host_address_is_private(int family, const uint8_t *address)
{
	if (family == AF_INET)
		return has_any_prefix(address, private_v4, LENGTH(private_v4));
	if (family != AF_INET6)
		return true;
	if (has_any_prefix(address, carries_v4, LENGTH(carries_v4)))
		return has_any_prefix(address + 12, private_v4, LENGTH(private_v4));
	return !has_prefix(address, &global_v6) ||
	    has_any_prefix(address, private_v6, LENGTH(private_v6));
}

static bool
is_local_name(const char *name)
{
	size_t len = strlen(name);
	size_t i;

	for (i = 0; i < LENGTH(local_names); i++) {
		size_t tail = strlen(local_names[i]);

		if (len < tail || strcmp(name + len - tail, local_names[i]) != 0)
			continue;
		if (len == tail || name[len - tail - 1] == '.')
			return true;
	}
	return false;
}

bool
gs_host_check_public(const struct gs_host *host, struct gs_err *err)
{
	if (host->family == AF_UNSPEC && is_local_name(host->text))
		return gs_fail(err, GS_EDATA, "name of the local machine or network");
	if (host->family != AF_UNSPEC &&
	    gs_host_address_is_private(host->family, host->address))
		return gs_fail(err, GS_EDATA, "private or reserved address");
	return true;
}

static bool
parse_ipv6(struct gs_host *host, struct gs_str text, struct gs_err *err)
{
	char copy[INET6_ADDRSTRLEN];

	if (text.len > 0 && memchr(text.ptr, '%', text.len) != NULL)
		return gs_fail(err, GS_EDATA, "IPv6 address with a zone");
	if (text.len == 0 || text.len >= sizeof(copy) ||
	    memchr(text.ptr, '\0', text.len) != NULL)
		return gs_fail(err, GS_EDATA, "not an IPv6 address");
	memcpy(copy, text.ptr, text.len);
	copy[text.len] = '\0';
	if (inet_pton(AF_INET6, copy, host->address) != 1)
		return gs_fail(err, GS_EDATA, "not an IPv6 address");
	host->family = AF_INET6;
	(void)inet_ntop(AF_INET6, host->address, host->text, sizeof(host->text));
	return true;
}

/*
 * Lower case and ASCII.  ASCII hosts pass by libidn2: it refuses names that stand in
 * the DNS (xn-- labels of emoji), and their canonical form is plain.
 */
static bool
fold_name(char *out, struct gs_str raw, struct gs_err *err)
{
	char copy[MAX_RAW + 1];
	bool is_ascii = true;
	uint8_t *folded = NULL;
	size_t i, len;
	int rc;

	for (i = 0; i < raw.len; i++) {
		copy[i] = raw.ptr[i];
		if (copy[i] >= 'A' && copy[i] <= 'Z')
			copy[i] = (char)(copy[i] - 'A' + 'a');
		is_ascii = is_ascii && (uint8_t)copy[i] < 0x80;
	}
	copy[raw.len] = '\0';
	if (is_ascii) {
		memcpy(out, copy, raw.len + 1);
		return true;
	}
	rc = idn2_lookup_u8((const uint8_t *)copy, &folded,
	    IDN2_NFC_INPUT | IDN2_NONTRANSITIONAL);
	len = rc == IDN2_OK ? strlen((const char *)folded) : 0;
	if (len > 0 && len <= MAX_RAW)
		memcpy(out, folded, len + 1);
	idn2_free(folded);
	if (len == 0 || len > MAX_RAW)
		return gs_fail(err, GS_EDATA, "host is not a valid international name");
	return true;
}

static bool
is_name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
	    c == '.';
}

/* Takes one trailing dot off; then labels of 1 to 63 letters, digits, "-" and "_". */
static bool
check_name(char *name, struct gs_err *err)
{
	size_t len = strlen(name);
	size_t i, label = 0;

	if (len > 0 && name[len - 1] == '.')
		name[--len] = '\0';
	if (len == 0)
		return gs_fail(err, GS_EDATA, "no host");
	if (len > GS_HOST_BYTES)
		return gs_fail(err, GS_EDATA, "host over %d bytes", GS_HOST_BYTES);
	for (i = 0; i <= len; i++) {
		if (i < len && !is_name_char(name[i]))
			return gs_fail(err, GS_EDATA,
			    "host with a character that no name has");
		label++;
		if (i < len && name[i] != '.')
			continue;
		if (label == 1 || label - 1 > MAX_LABEL)
			return gs_fail(err, GS_EDATA,
			    "host with an empty or overlong part");
		label = 0;
	}
	return true;
}

/* Would a resolver read it as an address, such as 127.1 or 0x7f.1? */
static bool
is_numeric(const char *name)
{
	const char *dot = strrchr(name, '.');
	const char *last = dot ? dot + 1 : name;

	if (last[strspn(last, "0123456789")] == '\0')
		return true;
	return last[0] == '0' && last[1] == 'x' &&
	    last[2 + strspn(last + 2, "0123456789abcdef")] == '\0';
}

static bool
parse_name(struct gs_host *host, struct gs_str raw, struct gs_err *err)
{
	char name[MAX_RAW + 1];

	if (raw.len == 0)
		return gs_fail(err, GS_EDATA, "no host");
	if (raw.len > MAX_RAW)
		return gs_fail(err, GS_EDATA, "host over %d bytes", GS_HOST_BYTES);
	if (memchr(raw.ptr, '%', raw.len) != NULL)
		return gs_fail(err, GS_EDATA, "percent-encoded host");
	if (memchr(raw.ptr, '\0', raw.len) != NULL)
		return gs_fail(err, GS_EDATA, "a control byte inside");
	if (!fold_name(name, raw, err) || !check_name(name, err))
		return false;
	memcpy(host->text, name, strlen(name) + 1);
	if (!is_numeric(name))
		return true;
	/* inet_pton takes the plain form alone, so the text is canonical */
	if (inet_pton(AF_INET, name, host->address) != 1)
		return gs_fail(err, GS_EDATA, "IPv4 address in an odd form");
	host->family = AF_INET;
	return true;
}

bool
gs_host_parse(struct gs_host *host, struct gs_str text, struct gs_err *err)
{
	*host = (struct gs_host){ .family = AF_UNSPEC };
	if (text.len == 0 || text.ptr[0] != '[')
		return parse_name(host, text, err);
	if (text.ptr[text.len - 1] != ']')
		return gs_fail(err, GS_EDATA, "no ] behind the address");
	text.ptr++;
	text.len -= 2;
	return parse_ipv6(host, text, err);
}
