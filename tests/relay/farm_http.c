/* The farm's answers to HTTP: which relay is meant, its document, the upgrade. */
#include <inttypes.h>
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <string.h>
#include <strings.h>

#include "farm.h"

#define ACCEPT_BYTES 32 /* base64 of a SHA-1, and its NUL */

/* Value of a header; false: it is not there. */
static bool
find_header(const char *head, const char *name, char *out, size_t room)
{
	size_t len = strlen(name), num;

	for (const char *at = strstr(head, "\r\n"); at != NULL; at = strstr(at, "\r\n")) {
		at += 2;
		if (strncasecmp(at, name, len) != 0 || at[len] != ':')
			continue;
		at += len + 1 + strspn(at + len + 1, " \t");
		num = strcspn(at, "\r\n");
		if (num >= room)
			return false;
		memcpy(out, at, num);
		out[num] = '\0';
		return true;
	}
	return false;
}

static struct farm_relay *
find_relay(struct farm *farm, const char *head)
{
	const char *path = strchr(head, ' ');
	size_t len;

	if (path == NULL || path[1] != '/')
		return NULL;
	path += 2;
	len = strcspn(path, " ?\r\n");
	return len < FARM_NAME_BYTES ? farm_world_relay(farm, path, len) : NULL;
}

static void
compute_accept(const char *key, char out[static ACCEPT_BYTES])
{
	static const char magic[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
	struct gs_buf text = GS_BUF_INIT;
	unsigned char hash[SHA_DIGEST_LENGTH];

	gs_buf_add_str(&text, key);
	gs_buf_add_str(&text, magic);
	(void)SHA1((const unsigned char *)text.data, text.len, hash);
	(void)EVP_EncodeBlock((unsigned char *)out, hash, sizeof(hash));
	gs_buf_fini(&text);
}

static bool
upgrade(struct farm_connection *connection, const char *key)
{
	char accept[ACCEPT_BYTES];

	compute_accept(key, accept);
	gs_buf_printf(&connection->out,
	    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
	    "Connection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n",
	    accept);
	connection->phase = FARM_OPEN;
	connection->relay->counts.opened++;
	return true;
}

static bool
send_document(struct farm_connection *connection)
{
	const struct farm_options *options = &connection->farm->options;
	struct gs_buf body = GS_BUF_INIT;

	gs_buf_printf(&body,
	    "{\"name\":\"%s\",\"supported_nips\":[1,11],\"limitation\":{"
	    "\"max_subscriptions\":%" PRId64 ",\"max_filters\":%" PRId64
	    ",\"max_limit\":%" PRId64 ",\"max_message_length\":%" PRId64 "}}",
	    connection->relay->name, options->max_subscriptions, options->max_filters,
	    options->page, options->max_message);
	gs_buf_printf(&connection->out,
	    "HTTP/1.1 %s\r\nContent-Type: application/nostr+json\r\n"
	    "Content-Length: %zu\r\nConnection: close\r\n\r\n",
	    options->has_document ? "200 OK" : "404 Not Found",
	    options->has_document ? body.len : 0);
	if (options->has_document)
		gs_buf_add(&connection->out, body.data, body.len);
	gs_buf_fini(&body);
	connection->phase = FARM_ENDING;
	connection->relay->counts.documents++;
	return true;
}

bool
farm_http_answer(struct farm_connection *connection, const char *head)
{
	char key[64];
	bool keep = true;

	connection->relay = find_relay(connection->farm, head);
	if (connection->relay == NULL)
		return false;
	LIST_INSERT_HEAD(&connection->relay->connections, connection, next);
	if (connection->relay->mode == FARM_DOWN)
		return false;
	if (connection->relay->mode == FARM_HOLE)
		connection->phase = FARM_HELD;
	else if (find_header(head, "Sec-WebSocket-Key", key, sizeof(key)))
		keep = upgrade(connection, key);
	else
		keep = send_document(connection);
	farm_wire_wake(connection);
	return keep;
}
