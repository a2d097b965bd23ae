/*
 * How a connection is begun, a websocket or plain HTTP: at an address that was vetted
 * before, while Host, SNI and the certificate check keep the URL's name.
 */
#include "dial.h"

#include <openssl/x509_vfy.h>
#include <stdio.h>
#include <string.h>

#define NAME_BYTES 127 /* of a host that libwebsockets can check in a certificate */
#define HOST_BYTES (GS_URL_BYTES + 16) /* with brackets and port */
#define USER_AGENT "grasp-sync/" GS_VERSION
#define CARELESS                                                            \
	(LCCSCF_ALLOW_SELFSIGNED | LCCSCF_SKIP_SERVER_CERT_HOSTNAME_CHECK | \
	    LCCSCF_ALLOW_EXPIRED | LCCSCF_ALLOW_INSECURE)

/* libwebsockets cuts the name to check at 127 bytes and at the first colon. */
bool
gs_dial_is_uncheckable(const struct gs_url *url)
{
	return url->tls &&
	    (strchr(url->host, ':') != NULL || strlen(url->host) > NAME_BYTES);
}

/* "name", or "name:port" where the port is not the default one; IPv6 in brackets. */
static void
write_host(char host[static HOST_BYTES], const struct gs_url *url)
{
	bool is_v6 = strchr(url->host, ':') != NULL;
	size_t len = (size_t)snprintf(host, HOST_BYTES, "%s%s%s", is_v6 ? "[" : "",
	    url->host, is_v6 ? "]" : "");

	if (url->port != (url->tls ? 443 : 80))
		(void)snprintf(host + len, HOST_BYTES - len, ":%u", (unsigned)url->port);
}

struct lws *
gs_dial_start(struct gs_loop *loop, const struct gs_dial *dial,
    struct gs_dial_owner *owner)
{
	const struct gs_url *url = dial->url;
	struct lws_client_connect_info info;
	char host[HOST_BYTES];
	char path[GS_URL_BYTES + 2];

	write_host(host, url);
	(void)snprintf(path, sizeof(path), "%s%s", url->path[0] == '/' ? "" : "/",
	    url->path);
	memset(&info, 0, sizeof(info));
	info.context = gs_loop_context(loop);
	info.vhost = gs_loop_vhost(loop);
	info.address = dial->address != NULL ? dial->address : url->host;
	info.port = url->port;
	info.host = host;
	info.path = path;
	/* Redirects would be followed to anywhere, with names looked up in the loop. */
	info.ssl_connection =
	    LCCSCF_HTTP_NO_FOLLOW_REDIRECT | (url->tls ? LCCSCF_USE_SSL : 0);
	if (url->tls && dial->is_insecure)
		info.ssl_connection |= CARELESS;
	info.alpn = "http/1.1";
	info.method = owner->kind->method;
	info.local_protocol_name = GS_DIAL_PROTOCOL;
	info.opaque_user_data = owner;
	info.retry_and_idle_policy = owner->kind->keepalive;
	return lws_client_connect_via_info(&info);
}

static int
add_header(struct lws *wsi, enum lws_token_indexes token, const char *value,
    unsigned char **at, unsigned char *end)
{
	return lws_add_http_header_by_token(wsi, token, (const unsigned char *)value,
	    (int)strlen(value), at, end);
}

int
gs_dial_add_headers(struct lws *wsi, void *in, size_t len, const char *accept)
{
	unsigned char **at = in;
	unsigned char *end = *at + len;

	if (add_header(wsi, WSI_TOKEN_HTTP_USER_AGENT, USER_AGENT, at, end) != 0)
		return -1;
	if (accept == NULL)
		return 0;
	return add_header(wsi, WSI_TOKEN_HTTP_ACCEPT, accept, at, end) != 0 ? -1 : 0;
}

/*
 * One for both kinds: of protocols libwebsockets may call the first one instead of
 * that which the connection was begun with.
 */
int
gs_dial_serve(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in,
    size_t len)
{
	struct gs_dial_owner *owner = wsi != NULL ? lws_get_opaque_user_data(wsi) : NULL;

	if (owner == NULL)
		return 0;
	/* Here user is OpenSSL's, and len whether all was well so far. */
	if (reason == LWS_CALLBACK_OPENSSL_PERFORM_SERVER_CERT_VERIFICATION) {
		if (len == 0 && owner->kind->distrust != NULL)
			owner->kind->distrust(owner, X509_STORE_CTX_get_error(user));
		return 0;
	}
	return owner->kind->serve(owner, wsi, reason, in, len);
}
