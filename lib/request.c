/*
 * The head of an HTTP/1 request, as far as a server of a few pages needs it: method,
 * path and Host.  What is answered is httpd's.
 */
#include "request.h"

#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "host.h"
#include "num.h"

#define MAX_PORT 65535
#define LOOPBACK_NET 127

/* Takes the text up to c off; false if there is none. */
static bool
take_until(struct gs_str *text, char c, struct gs_str *part)
{
	const char *at = text->len > 0 ? memchr(text->ptr, c, text->len) : NULL;

	if (at == NULL)
		return false;
	*part = (struct gs_str){ text->ptr, (size_t)(at - text->ptr) };
	text->ptr = at + 1;
	text->len -= part->len + 1;
	return true;
}

/* A bare LF counts, too: RFC 9112 2.2. */
static bool
take_line(struct gs_str *text, struct gs_str *line)
{
	if (!take_until(text, '\n', line))
		return false;
	if (line->len > 0 && line->ptr[line->len - 1] == '\r')
		line->len--;
	return true;
}

static bool
is_token(struct gs_str text)
{
	for (size_t i = 0; i < text.len; i++) {
		unsigned char c = (unsigned char)text.ptr[i];

		if (c <= 0x20 || c >= 0x7f || strchr("\"(),/:;<=>?@[\\]{}", c) != NULL)
			return false;
	}
	return text.len > 0;
}

static bool
is_graphic(struct gs_str text)
{
	for (size_t i = 0; i < text.len; i++)
		if (text.ptr[i] <= 0x20 || text.ptr[i] >= 0x7f)
			return false;
	return true;
}

/* No control bytes but tabs. */
static bool
is_value(struct gs_str text)
{
	for (size_t i = 0; i < text.len; i++) {
		unsigned char c = (unsigned char)text.ptr[i];

		if ((c < 0x20 && c != '\t') || c == 0x7f)
			return false;
	}
	return true;
}

static struct gs_str
trim(struct gs_str text)
{
	while (text.len > 0 && (text.ptr[0] == ' ' || text.ptr[0] == '\t')) {
		text.ptr++;
		text.len--;
	}
	while (text.len > 0 &&
	    (text.ptr[text.len - 1] == ' ' || text.ptr[text.len - 1] == '\t'))
		text.len--;
	return text;
}

/* "GET /path?query HTTP/1.1" */
static bool
read_first_line(struct gs_request *request, struct gs_str line)
{
	struct gs_str target, path;

	if (!take_until(&line, ' ', &request->method) || !is_token(request->method) ||
	    !take_until(&line, ' ', &target) || !is_graphic(target))
		return false;
	if (!gs_str_is(line, "HTTP/1.1") && !gs_str_is(line, "HTTP/1.0"))
		return false;
	request->path = target;
	if (take_until(&target, '?', &path))
		request->path = path;
	/* "*" is a target of OPTIONS, to which we only say no. */
	return gs_str_is(request->path, "*") ||
	    (request->path.len > 0 && request->path.ptr[0] == '/');
}

/* A second Host may be how somebody gets past the first. */
static bool
read_header(struct gs_request *request, struct gs_str line)
{
	struct gs_str name;

	if (!take_until(&line, ':', &name) || !is_token(name) || !is_value(line))
		return false;
	if (name.len != strlen("Host") || strncasecmp(name.ptr, "Host", name.len) != 0)
		return true;
	if (request->host.ptr != NULL)
		return false;
	request->host = trim(line);
	return true;
}

enum gs_request_result
gs_request_parse(struct gs_request *request, struct gs_str text)
{
	struct gs_str line;

	*request = (struct gs_request){ .host = { NULL, 0 } };
	if (!take_line(&text, &line))
		return GS_REQUEST_MORE;
	if (!read_first_line(request, line))
		return GS_REQUEST_BAD;
	while (take_line(&text, &line)) {
		if (line.len == 0)
			return GS_REQUEST_OK;
		if (!read_header(request, line))
			return GS_REQUEST_BAD;
	}
	return GS_REQUEST_MORE;
}

/* Cuts ":80" off. */
static bool
cut_port(struct gs_str *host)
{
	const char *colon = memrchr(host->ptr, ':', host->len);
	const char *bracket = memrchr(host->ptr, ']', host->len);
	int64_t port;
	size_t len;

	if (colon == NULL || (bracket != NULL && bracket > colon))
		return true;
	len = (size_t)(colon - host->ptr);
	if (!gs_num_parse(&port, colon + 1, host->len - len - 1, MAX_PORT))
		return false;
	host->len = len;
	return true;
}

bool
gs_request_is_local(struct gs_str text)
{
	static const uint8_t loopback6[16] = { [15] = 1 };
	struct gs_host host;

	if (text.len == 0 || !cut_port(&text) || !gs_host_parse(&host, text, NULL))
		return false;
	if (host.family == AF_INET)
		return host.address[0] == LOOPBACK_NET;
	if (host.family == AF_INET6)
		return memcmp(host.address, loopback6, sizeof(loopback6)) == 0;
	return strcmp(host.text, "localhost") == 0;
}
