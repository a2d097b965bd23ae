/*
 * URLs of relays and services, from the hands of strangers: one canonical form, so
 * that two spellings are one relay.  What a host may be is host's.
 */
#include "url.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "num.h"

#define MAX_PORT 65535
#define FIRST_USER_PORT 1024
#define PORT_HTTP 80
#define PORT_HTTPS 443

enum scheme { SCHEME_NONE, SCHEME_HTTP, SCHEME_HTTPS, SCHEME_WS, SCHEME_WSS };

static const char *const scheme_names[] = { [SCHEME_NONE] = "",
	[SCHEME_HTTP] = "http",
	[SCHEME_HTTPS] = "https",
	[SCHEME_WS] = "ws",
	[SCHEME_WSS] = "wss" };

/* Borrowed pieces of a text, not judged yet. */
struct parts {
	enum scheme scheme;
	struct gs_str host;
	bool has_port;
	struct gs_str port;
	struct gs_str path; /* path and query, as they came */
};

/* At and over FIRST_USER_PORT, and never a relay: talking to them could do harm. */
static const uint16_t service_ports[] = { 1433, 1521, 2049, 2181, 2375, 2376, 2379, 2380,
	3128, 3306, 3389, 4190, 5060, 5061, 5432, 5672, 5900, 5984, 6000, 6379, 6443,
	6667, 6697, 9042, 9092, 9200, 9300, 10250, 11211, 27017, 27018, 27019 };

static bool
is_service_port(uint16_t port)
{
	size_t i;

	for (i = 0; i < sizeof(service_ports) / sizeof(service_ports[0]); i++)
		if (port == service_ports[i])
			return true;
	return false;
}

/* What the dialler would refuse whoever asks for it. */
static bool
check_public(const struct gs_host *host, uint16_t port, struct gs_err *err)
{
	if (!gs_host_check_public(host, err))
		return false;
	if (port < FIRST_USER_PORT && port != PORT_HTTP && port != PORT_HTTPS)
		return gs_fail(err, GS_EDATA, "port below 1024 that is not 80 or 443");
	if (is_service_port(port))
		return gs_fail(err, GS_EDATA, "port of another well-known service");
	return true;
}

static bool
is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static struct gs_str
trim(struct gs_str text)
{
	while (text.len > 0 && is_blank(text.ptr[0])) {
		text.ptr++;
		text.len--;
	}
	while (text.len > 0 && is_blank(text.ptr[text.len - 1]))
		text.len--;
	return text;
}

static struct gs_str
drop(struct gs_str text, size_t len)
{
	if (len == 0)
		return text; /* its ptr may be NULL */
	return (struct gs_str){ text.ptr + len, text.len - len };
}

/* Bytes before the first of any of these; all of them if there is none. */
static size_t
span_until(struct gs_str text, const char *stops)
{
	size_t i, num = strlen(stops);

	for (i = 0; i < text.len; i++)
		if (memchr(stops, text.ptr[i], num) != NULL)
			break;
	return i;
}

static const char *
find_scheme_mark(struct gs_str text)
{
	return text.len ? memmem(text.ptr, text.len, "://", 3) : NULL;
}

/* Bytes of the UTF-8 sequence at the front of text, 0 if it is none (RFC 3629). */
static size_t
measure_utf8(struct gs_str text)
{
	const uint8_t *at = (const uint8_t *)text.ptr;
	size_t len, i;

	if (at[0] < 0x80)
		return 1;
	if (at[0] < 0xc2 || at[0] > 0xf4)
		return 0;
	len = at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : 4;
	if (len > text.len)
		return 0;
	for (i = 1; i < len; i++)
		if ((at[i] & 0xc0) != 0x80)
			return 0;
	if ((at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xed && at[1] > 0x9f) ||
	    (at[0] == 0xf0 && at[1] < 0x90) || (at[0] == 0xf4 && at[1] > 0x8f))
		return 0; /* overlong, a surrogate, or over U+10FFFF */
	return len;
}

/* What may stand nowhere in a relay URL or a service. */
static bool
check_bytes(struct gs_str text, struct gs_err *err)
{
	if (text.len == 0)
		return gs_fail(err, GS_EDATA, "empty");
	if (text.len > GS_URL_BYTES)
		return gs_fail(err, GS_EDATA, "over %d bytes", GS_URL_BYTES);
	while (text.len > 0) {
		size_t len = measure_utf8(text);

		if (len == 0)
			return gs_fail(err, GS_EDATA, "not UTF-8");
		if (is_blank(text.ptr[0]))
			return gs_fail(err, GS_EDATA, "a blank inside");
		if (text.ptr[0] == ',')
			return gs_fail(err, GS_EDATA, "a comma inside");
		if ((uint8_t)text.ptr[0] < 0x20 || text.ptr[0] == 0x7f)
			return gs_fail(err, GS_EDATA, "a control byte inside");
		text = drop(text, len);
	}
	return true;
}

static bool
parse_scheme(enum scheme *scheme, struct gs_str *text, struct gs_err *err)
{
	const char *mark = find_scheme_mark(*text);
	struct gs_str word = *text;
	enum scheme s;

	*scheme = SCHEME_NONE;
	if (mark == NULL)
		return true;
	word.len = (size_t)(mark - text->ptr);
	if (span_until(word, "/?#") < word.len)
		return true; /* a bare host; the mark is in its path */
	for (s = SCHEME_HTTP; s <= SCHEME_WSS; s++) {
		if (word.len != strlen(scheme_names[s]) ||
		    strncasecmp(word.ptr, scheme_names[s], word.len) != 0)
			continue;
		*scheme = s;
		*text = drop(*text, word.len + 3);
		return true;
	}
	return gs_fail(err, GS_EDATA, "scheme is not ws, wss, http or https");
}

static bool
split_authority(struct parts *parts, struct gs_str authority, struct gs_err *err)
{
	size_t len = 0;

	if (authority.len > 0 && memchr(authority.ptr, '@', authority.len) != NULL)
		return gs_fail(err, GS_EDATA, "a user name before the host");
	if (authority.len > 0 && authority.ptr[0] == '[')
		len = span_until(authority, "]");
	parts->host = authority;
	parts->host.len = len + span_until(drop(authority, len), ":");
	parts->has_port = parts->host.len < authority.len;
	if (parts->has_port)
		parts->port = drop(authority, parts->host.len + 1);
	return true;
}

static bool
split(struct parts *parts, struct gs_str text, struct gs_err *err)
{
	struct gs_str authority;

	*parts = (struct parts){ .scheme = SCHEME_NONE };
	if (!parse_scheme(&parts->scheme, &text, err))
		return false;
	authority = text;
	authority.len = span_until(text, "/?#");
	parts->path = drop(text, authority.len);
	parts->path.len = span_until(parts->path, "#");
	return split_authority(parts, authority, err);
}

/* *port is left alone if there is none. */
static bool
parse_port(uint16_t *port, const struct parts *parts, struct gs_err *err)
{
	int64_t value;

	if (!parts->has_port)
		return true;
	if (!gs_num_parse(&value, parts->port.ptr, parts->port.len, MAX_PORT) ||
	    value == 0)
		return gs_fail(err, GS_EDATA, "port is not a number from 1 to %d",
		    MAX_PORT);
	*port = (uint16_t)value;
	return true;
}

/* host[:port]path; false if it does not fit. */
static bool
write_text(char out[static GS_URL_BYTES + 1], const char *scheme,
    const struct gs_host *host, uint16_t port, const char *path)
{
	bool is_v6 = host->family == AF_INET6;
	char colon[sizeof(":65535")] = "";
	int len;

	if (port != 0)
		(void)snprintf(colon, sizeof(colon), ":%u", (unsigned)port);
	len = snprintf(out, GS_URL_BYTES + 1, "%s%s%s%s%s%s", scheme, is_v6 ? "[" : "",
	    host->text, is_v6 ? "]" : "", colon, path);
	return len > 0 && len <= GS_URL_BYTES;
}

/* "wss//x" and "wss://https//x": the typing error would make a host of the scheme. */
static bool
is_scheme_name(const char *host)
{
	enum scheme s;

	for (s = SCHEME_HTTP; s <= SCHEME_WSS; s++)
		if (strcmp(host, scheme_names[s]) == 0)
			return true;
	return false;
}

/* A path of "/" alone is none, also before a query. */
static void
copy_path(char out[static GS_URL_BYTES + 1], struct gs_str path)
{
	if (path.len > 0 && path.ptr[0] == '/' && (path.len == 1 || path.ptr[1] == '?'))
		path = drop(path, 1);
	if (path.len > 0)
		memcpy(out, path.ptr, path.len);
	out[path.len] = '\0';
}

/* A bare host has its scheme understood, so the first mark would be the second. */
static bool
has_second_mark(struct gs_str text, enum scheme scheme)
{
	if (scheme != SCHEME_NONE)
		text = drop(text, strlen(scheme_names[scheme]) + 3);
	return find_scheme_mark(text) != NULL;
}

/* As gs_url_parse_relay; says which scheme was there. */
static bool
parse_relay(struct gs_url *url, enum scheme *scheme, struct gs_str text,
    bool allow_private, struct gs_err *err)
{
	struct parts parts;
	struct gs_host host;
	uint16_t standard;

	text = trim(text);
	if (!check_bytes(text, err) || !split(&parts, text, err))
		return false;
	*scheme = parts.scheme;
	if (has_second_mark(text, parts.scheme))
		return gs_fail(err, GS_EDATA, "a second ://");
	url->tls = parts.scheme != SCHEME_HTTP && parts.scheme != SCHEME_WS;
	standard = url->tls ? PORT_HTTPS : PORT_HTTP;
	url->port = standard;
	if (!parse_port(&url->port, &parts, err) ||
	    !gs_host_parse(&host, parts.host, err))
		return false;
	if (is_scheme_name(host.text))
		return gs_fail(err, GS_EDATA, "a second scheme in place of the host");
	if (!allow_private && !check_public(&host, url->port, err))
		return false;
	memcpy(url->host, host.text, sizeof(host.text));
	copy_path(url->path, parts.path);
	if (!write_text(url->text, url->tls ? "wss://" : "ws://", &host,
		url->port == standard ? 0 : url->port, url->path))
		return gs_fail(err, GS_EDATA, "over %d bytes", GS_URL_BYTES);
	return true;
}

bool
gs_url_parse_relay(struct gs_url *url, struct gs_str text, bool allow_private,
    struct gs_err *err)
{
	enum scheme scheme;

	return parse_relay(url, &scheme, text, allow_private, err);
}

/* Ports that a service has without saying so are one: 0. */
static uint16_t
fold_port(uint16_t port)
{
	return port == PORT_HTTP || port == PORT_HTTPS ? 0 : port;
}

bool
gs_service_parse(struct gs_service *service, struct gs_str text, struct gs_err *err)
{
	struct parts parts;
	struct gs_host host;

	text = trim(text);
	if (!check_bytes(text, err))
		return false;
	if (span_until(text, "?#") < text.len)
		return gs_fail(err, GS_EDATA, "a query or fragment behind the host");
	service->port = 0;
	if (!split(&parts, text, err) || !parse_port(&service->port, &parts, err) ||
	    !gs_host_parse(&host, parts.host, err))
		return false;
	service->port = fold_port(service->port);
	while (parts.path.len > 0 && parts.path.ptr[parts.path.len - 1] == '/')
		parts.path.len--;
	memcpy(service->host, host.text, sizeof(host.text));
	copy_path(service->path, parts.path);
	if (!write_text(service->text, "", &host, service->port, service->path))
		return gs_fail(err, GS_EDATA, "over %d bytes", GS_URL_BYTES);
	return true;
}

/* By segments: "/grasp" holds "/grasp", "/grasp/x" and "/grasp?x", not "/graspx". */
static bool
is_at(const struct gs_service *service, const char *host, uint16_t port,
    struct gs_str path)
{
	size_t len = strlen(service->path);

	if (strcmp(service->host, host) != 0 || service->port != fold_port(port))
		return false;
	if (path.len < len || (len > 0 && memcmp(path.ptr, service->path, len) != 0))
		return false;
	return len == 0 || path.len == len || path.ptr[len] == '/' ||
	    path.ptr[len] == '?';
}

bool
gs_service_is_clone(const struct gs_service *service, struct gs_str text)
{
	struct parts parts;
	struct gs_host host;
	uint16_t port = 0;

	if (!split(&parts, trim(text), NULL))
		return false;
	if (parts.scheme != SCHEME_HTTP && parts.scheme != SCHEME_HTTPS)
		return false;
	if (!parse_port(&port, &parts, NULL) || !gs_host_parse(&host, parts.host, NULL))
		return false;
	return is_at(service, host.text, port, parts.path);
}

bool
gs_service_is_relay(const struct gs_service *service, struct gs_str text)
{
	enum scheme scheme;
	struct gs_url url;

	if (!parse_relay(&url, &scheme, text, true, NULL))
		return false;
	if (scheme == SCHEME_HTTP || scheme == SCHEME_HTTPS)
		return false;
	return is_at(service, url.host, url.port, gs_str_of(url.path));
}
