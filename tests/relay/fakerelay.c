/*
 * A relay for tests: serves events on a free port of 127.0.0.1 by the rules of NIP-01,
 * and misbehaves as a script asks.  Prints "listening PORT" once it does.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"
#include "err.h"
#include "fakerelay.h"
#include "json.h"
#include "mem.h"
#include "num.h"

#define MAX_PORT 65535
#define BUFFER_BYTES 65536

_Noreturn void
fake_die(const char *what)
{
	(void)fprintf(stderr, "fakerelay: %s\n", what);
	exit(GS_EUSAGE);
}

int64_t
fake_now_ms(void)
{
	return gs_clock_now().mono_ms;
}

void
fake_log(const struct fake_relay *relay, uint64_t connection, const char *fmt, ...)
{
	va_list ap;

	if (relay->log == NULL)
		return;
	(void)fprintf(relay->log, "{\"ms\":%" PRId64 ",\"connection\":%" PRIu64 ",",
	    fake_now_ms() - relay->began_ms, connection);
	va_start(ap, fmt);
	(void)vfprintf(relay->log, fmt, ap);
	va_end(ap);
	(void)fputs("}\n", relay->log);
	(void)fflush(relay->log);
}

/* ---- connections */

static void
open_connection(struct fake_relay *relay, struct fake_connection *connection,
    struct lws *wsi)
{
	memset(connection, 0, sizeof(*connection));
	connection->relay = relay;
	connection->wsi = wsi;
	connection->number = ++relay->connections;
	connection->next = relay->first;
	relay->first = connection;
	if (relay->opened_ms < 0)
		relay->opened_ms = fake_now_ms();
	fake_log(relay, connection->number, "\"is\":\"open\"");
	fake_serve_open(connection);
}

static void
end_connection(struct fake_relay *relay, struct fake_connection *connection)
{
	struct fake_connection **at = &relay->first;

	while (*at != NULL && *at != connection)
		at = &(*at)->next;
	/* Some connections end that never were open. */
	if (*at == NULL)
		return;
	*at = connection->next;
	fake_log(relay, connection->number, "\"is\":\"end\"");
	fake_wire_fini(connection);
	fake_serve_fini(connection);
}

static void
receive_piece(struct fake_connection *connection, struct gs_str piece)
{
	if (lws_is_first_fragment(connection->wsi))
		gs_buf_clear(&connection->message);
	gs_buf_add(&connection->message, piece.ptr, piece.len);
	if (lws_is_final_fragment(connection->wsi) &&
	    lws_remaining_packet_payload(connection->wsi) == 0)
		fake_serve_message(connection);
}

/* Hangs up on the first so many, before anything is read. */
static int
refuse_early(struct fake_relay *relay)
{
	if (relay->refused >= relay->script.refuse)
		return 0;
	relay->refused++;
	fake_log(relay, 0, "\"is\":\"refused\"");
	return -1;
}

static void
log_goodbye(const struct fake_connection *connection, const unsigned char *in, size_t len)
{
	unsigned code = len >= 2 ? (unsigned)in[0] << 8 | in[1] : 0;

	fake_log(connection->relay, connection->number, "\"is\":\"goodbye\",\"code\":%u",
	    code);
}

static int
serve(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t len)
{
	struct fake_relay *relay = lws_context_user(lws_get_context(wsi));

	switch ((int)reason) {
	case LWS_CALLBACK_FILTER_NETWORK_CONNECTION:
		return refuse_early(relay);
	case LWS_CALLBACK_HTTP:
		return fake_http_document(relay, wsi);
	case LWS_CALLBACK_HTTP_CONFIRM_UPGRADE:
		return fake_http_upgrade(relay, wsi);
	case LWS_CALLBACK_ESTABLISHED:
		open_connection(relay, user, wsi);
		return 0;
	case LWS_CALLBACK_RECEIVE:
		receive_piece(user, (struct gs_str){ in, len });
		return 0;
	case LWS_CALLBACK_TIMER:
		(void)lws_callback_on_writable(wsi);
		return 0;
	case LWS_CALLBACK_SERVER_WRITEABLE:
		return fake_wire_write(user);
	case LWS_CALLBACK_WS_PEER_INITIATED_CLOSE:
		log_goodbye(user, in, len);
		return 0;
	case LWS_CALLBACK_CLOSED:
		end_connection(relay, user);
		return 0;
	default:
		return 0;
	}
}

static const struct lws_protocols protocols[] = {
	{ "nostr", serve, sizeof(struct fake_connection), BUFFER_BYTES, 0, NULL, 0 },
	{ NULL, NULL, 0, 0, 0, NULL, 0 },
};

/* ---- start */

struct options {
	const char *script, *cert, *key, *served;
};

static void
listen_on(struct fake_relay *relay, const struct options *options)
{
	struct lws_context_creation_info info;

	lws_set_log_level(LLL_ERR, NULL);
	memset(&info, 0, sizeof(info));
	info.port = (int)relay->port;
	info.iface = "127.0.0.1";
	info.protocols = protocols;
	info.user = relay;
	info.vhost_name = "fakerelay";
	info.pt_serv_buf_size = BUFFER_BYTES;
	if (options->cert != NULL) {
		info.options = LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT;
		info.ssl_cert_filepath = options->cert;
		info.ssl_private_key_filepath = options->key;
	}
	relay->context = lws_create_context(&info);
	if (relay->context == NULL)
		fake_die("can't listen");
	relay->port =
	    lws_get_vhost_listen_port(lws_get_vhost_by_name(relay->context, "fakerelay"));
}

static void
say_port(const struct fake_relay *relay)
{
	if (printf("listening %" PRId64 "\n", relay->port) < 0 || fflush(stdout) != 0)
		fake_die("stdout: can't write");
}

/* Holds the port without listening for a while: dials are refused. */
static void
wait_deaf(struct fake_relay *relay)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
		.sin_port = htons((uint16_t)relay->port),
		.sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (bind(fd, (struct sockaddr *)&at, len) != 0 ||
	    getsockname(fd, (struct sockaddr *)&at, &len) != 0)
		fake_die("can't bind");
	relay->port = ntohs(at.sin_port);
	say_port(relay);
	(void)usleep((useconds_t)(relay->script.listen_after_ms * 1000));
	(void)close(fd);
}

static int64_t
read_number(const char *text, int64_t max)
{
	int64_t number;
	struct gs_err err;

	if (!gs_num_parse_count(&number, text, 0, max, &err))
		fake_die(err.text);
	return number;
}

/* CLOSED or NOTICE with a text to every REQ. */
static void
refuse_all(struct fake_script *script, const char *verb, const char *text)
{
	struct fake_rule *rule = fake_rule_add(script, FAKE_AT_REQ);
	struct fake_action *action = fake_action_add(&rule->actions, FAKE_SEND, 1, "[\"");

	gs_buf_add_str(&action->text, verb);
	gs_buf_add_str(&action->text,
	    strcmp(verb, "CLOSED") == 0 ? "\",\"$SUB\"," : "\",");
	gs_json_write_string(&action->text, text, strlen(text));
	gs_buf_add_char(&action->text, ']');
	(void)fake_action_add(&rule->actions, FAKE_SKIP, 1, NULL);
}

static void
drop_after(struct fake_script *script, int64_t events)
{
	struct fake_rule *rule = fake_rule_add(script, FAKE_AT_EVENT);

	rule->nth = events + 1;
	(void)fake_action_add(&rule->actions, FAKE_FIN, 1, NULL);
}

static void
open_file(FILE **file, const char *path)
{
	*file = fopen(path, "we");
	if (*file == NULL)
		fake_die("a file can't be written");
}

/* Both ends are ours, so that it never ends. */
static void
open_control(struct fake_relay *relay, const char *path)
{
	relay->control_fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (relay->control_fd < 0)
		fake_die("the control file can't be opened");
}

static const struct option longs[] = {
	{ "page", required_argument, NULL, 'p' },
	{ "total", required_argument, NULL, 't' },
	{ "port", required_argument, NULL, 'l' },
	{ "drop-after", required_argument, NULL, 'd' },
	{ "refuse", required_argument, NULL, 'r' },
	{ "notice", required_argument, NULL, 'n' },
	{ "silent", no_argument, NULL, 's' },
	{ "ignore-until", no_argument, NULL, 'u' },
	{ "script", required_argument, NULL, 'S' },
	{ "log", required_argument, NULL, 'L' },
	{ "control", required_argument, NULL, 'C' },
	{ "cert", required_argument, NULL, 'c' },
	{ "key", required_argument, NULL, 'k' },
	{ "served", required_argument, NULL, 'E' },
	{ NULL, 0, NULL, 0 },
};

static void
read_option(struct fake_relay *relay, struct options *options, int option)
{
	switch (option) {
	case 'p':
		relay->script.page = read_number(optarg, INT64_MAX);
		break;
	case 't':
		relay->script.total = read_number(optarg, INT64_MAX);
		break;
	case 'l':
		relay->port = read_number(optarg, MAX_PORT);
		break;
	case 'd':
		drop_after(&relay->script, read_number(optarg, INT64_MAX - 1));
		break;
	case 'r':
		refuse_all(&relay->script, "CLOSED", optarg);
		break;
	case 'n':
		refuse_all(&relay->script, "NOTICE", optarg);
		break;
	case 's':
		relay->script.eose_never = true;
		break;
	case 'u':
		relay->script.ignores_until = true;
		break;
	case 'S':
		options->script = optarg;
		fake_script_read(relay, optarg);
		break;
	case 'L':
		open_file(&relay->log, optarg);
		break;
	case 'C':
		open_control(relay, optarg);
		break;
	case 'c':
		options->cert = optarg;
		break;
	case 'k':
		options->key = optarg;
		break;
	case 'E':
		options->served = optarg;
		break;
	default:
		exit(GS_EUSAGE);
	}
}

static void
read_options(struct fake_relay *relay, struct options *options, int argc, char **argv)
{
	int option;

	while ((option = getopt_long(argc, argv, "", longs, NULL)) != -1)
		read_option(relay, options, option);
	if (optind + 1 < argc || (optind == argc && options->script == NULL))
		fake_die("usage: fakerelay [--script FILE] [--log FILE] [--control FIFO] "
			 "[--port N] [--cert FILE --key FILE] [--served FILE] [--page N] "
			 "[--total N] [--drop-after N] [--refuse TEXT] [--notice TEXT] "
			 "[--silent] [--ignore-until] [EVENTS]");
	if (optind < argc)
		fake_store_load(&relay->store, argv[optind]);
}

int
main(int argc, char **argv)
{
	struct fake_relay relay = {
		.control_fd = -1, .opened_ms = -1, .began_ms = fake_now_ms()
	};
	struct options options = { .script = NULL };

	if (sodium_init() < 0)
		fake_die("libsodium does not start");
	fake_script_init(&relay.script);
	read_options(&relay, &options, argc, argv);
	if (options.served != NULL) {
		open_file(&relay.store.served, options.served);
		fake_store_print(&relay.store);
	}
	if (relay.script.listen_after_ms > 0)
		wait_deaf(&relay);
	listen_on(&relay, &options);
	if (relay.script.listen_after_ms == 0)
		say_port(&relay);
	fake_later_start(&relay);
	while (lws_service(relay.context, 0) >= 0)
		continue;
	return GS_EIO;
}
