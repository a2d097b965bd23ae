/*
 * One relay, read once: name, vetted addresses, websocket, session and their timer
 * wired together.  Decides nothing that session decides.
 */
#include "relay.h"

#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "clock.h"
#include "host.h"
#include "mem.h"
#include "message.h"
#include "ws.h"

#define MAX_ADDRESSES 16
#define OPEN_MS 15000 /* from dial to open: DESIGN 6 */
#define PAUSE_MS 100  /* a consumer that takes longer has kept us from reading */

struct gs_relay {
	struct gs_loop *loop;
	struct gs_url url;
	struct gs_relay_ops ops;
	bool allow_private;
	struct gs_limits limits;
	struct gs_session *session;
	int64_t open_due_ms; /* -1: it is open */
	struct gs_timer *timer;
	struct gs_ws *ws; /* NULL: none, or gone */
	char addresses[MAX_ADDRESSES][INET6_ADDRSTRLEN];
	size_t num_addresses, next_address;
	struct gs_relay_fault fault;
	char fault_name[sizeof(((struct gs_ws_end *)NULL)->name)];
	bool is_over;
};

static int64_t
now_ms(void)
{
	return gs_clock_now().mono_ms;
}

static void
set_fault(struct gs_relay *relay, const char *name, enum gs_code code)
{
	(void)snprintf(relay->fault_name, sizeof(relay->fault_name), "%s", name);
	relay->fault.name = relay->fault_name;
	relay->fault.code = code;
}

static void
end_relay(struct gs_relay *relay)
{
	if (relay->is_over)
		return;
	relay->is_over = true;
	gs_timer_stop(relay->timer);
	relay->ops.ended(relay->ops.arg);
}

/* The session ended by itself: what was wrong? */
static void
note_session_fault(struct gs_relay *relay)
{
	switch (gs_session_fault(relay->session)) {
	case GS_FAULT_SILENT:
		set_fault(relay, "silent", GS_EINCOMPLETE);
		break;
	case GS_FAULT_NOISY:
		set_fault(relay, "protocol", GS_EPROTOCOL);
		(void)snprintf(relay->fault.text, sizeof(relay->fault.text),
		    "little else came than what was not asked for");
		break;
	case GS_FAULT_NONE:
		break;
	}
}

static void
set_timer(struct gs_relay *relay)
{
	int64_t due_ms = relay->open_due_ms >= 0 ? relay->open_due_ms
						 : gs_session_deadline_ms(relay->session);

	if (due_ms >= 0)
		gs_timer_set(relay->timer, due_ms - now_ms());
	else
		gs_timer_stop(relay->timer);
}

/* After everything that the session was told: its timer and its frames. */
static void
follow_session(struct gs_relay *relay)
{
	set_timer(relay);
	if (relay->ws != NULL)
		gs_ws_want_write(relay->ws);
}

static void
tick(void *arg)
{
	struct gs_relay *relay = arg;

	if (relay->open_due_ms >= 0 && now_ms() >= relay->open_due_ms) {
		set_fault(relay, "timeout", GS_EUNAVAILABLE);
		gs_session_end(relay->session, GS_END_DROPPED);
		end_relay(relay);
		return;
	}
	gs_session_tick(relay->session, gs_clock_now());
	follow_session(relay);
}

static void
take_opened(void *arg)
{
	struct gs_relay *relay = arg;

	relay->open_due_ms = -1;
	gs_session_opened(relay->session, gs_clock_now());
	follow_session(relay);
}

static void
take_message(const char *text, size_t len, void *arg)
{
	struct gs_relay *relay = arg;
	struct gs_now now = gs_clock_now();
	const struct gs_event *event = gs_session_frame(relay->session, text, len, now);
	int64_t took_ms;

	if (event != NULL)
		relay->ops.event(event, relay->ops.arg);
	took_ms = now_ms() - now.mono_ms;
	if (took_ms > PAUSE_MS)
		gs_session_paused(relay->session, took_ms);
	if (relay->is_over)
		return;
	follow_session(relay);
}

static bool
give_frame(struct gs_buf *frame, void *arg)
{
	struct gs_relay *relay = arg;

	if (gs_session_next_frame(relay->session, frame, gs_clock_now())) {
		set_timer(relay);
		return true;
	}
	if (gs_session_wish(relay->session) != GS_WISH_GOES_ON) {
		note_session_fault(relay);
		gs_ws_close(relay->ws);
	}
	return false;
}

static void dial_next(struct gs_relay *relay);

static void
take_ended(const struct gs_ws_end *end, void *arg)
{
	struct gs_relay *relay = arg;

	relay->ws = NULL;
	if (relay->is_over)
		return;
	if (end->is_tcp_failed && relay->next_address < relay->num_addresses) {
		dial_next(relay);
		return;
	}
	if (gs_session_wish(relay->session) == GS_WISH_GOES_ON)
		set_fault(relay, end->name, end->code);
	gs_session_end(relay->session, GS_END_DROPPED);
	end_relay(relay);
}

static void
dial_next(struct gs_relay *relay)
{
	const struct gs_ws_ops ops = {
		.opened = take_opened,
		.message = take_message,
		.next_frame = give_frame,
		.ended = take_ended,
		.arg = relay,
	};
	struct gs_ws_end end = { .name = "refused", .code = GS_EUNAVAILABLE };

	while (relay->next_address < relay->num_addresses) {
		const char *address = relay->addresses[relay->next_address++];

		relay->ws = gs_ws_dial(relay->loop, &relay->url, address, &ops, &end);
		if (relay->ws != NULL)
			return;
	}
	set_fault(relay, end.name, end.code);
	gs_session_end(relay->session, GS_END_DROPPED);
	end_relay(relay);
}

static bool
may_dial(const struct sockaddr *address, bool allow_private)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)(const void *)address;
	const struct sockaddr_in6 *v6 =
	    (const struct sockaddr_in6 *)(const void *)address;

	if (address->sa_family == AF_INET)
		return allow_private ||
		    !gs_host_address_is_private(AF_INET, (const uint8_t *)&v4->sin_addr);
	if (address->sa_family == AF_INET6)
		return allow_private ||
		    !gs_host_address_is_private(AF_INET6, v6->sin6_addr.s6_addr);
	return false;
}

/* Keeps what may be dialled as numbers, so that no other address is dialled later. */
static void
keep_addresses(struct gs_relay *relay, const struct addrinfo *found, bool allow_private)
{
	for (; found != NULL && relay->num_addresses < MAX_ADDRESSES;
	     found = found->ai_next) {
		char *to = relay->addresses[relay->num_addresses];

		if (may_dial(found->ai_addr, allow_private) &&
		    getnameinfo(found->ai_addr, found->ai_addrlen, to, INET6_ADDRSTRLEN,
			NULL, 0, NI_NUMERICHOST) == 0)
			relay->num_addresses++;
	}
}

/* Finds the addresses that may be dialled; false and the fault when there are none. */
static bool
resolve(struct gs_relay *relay)
{
	const struct addrinfo hints = { .ai_family = AF_UNSPEC,
		.ai_socktype = SOCK_STREAM };
	struct addrinfo *found = NULL;
	int fault = getaddrinfo(relay->url.host, NULL, &hints, &found);
	const char *why;

	if (fault != 0) {
		set_fault(relay, "dns", GS_EUNAVAILABLE);
		why = gai_strerror(fault);
	} else {
		keep_addresses(relay, found, relay->allow_private);
		freeaddrinfo(found);
		if (relay->num_addresses > 0)
			return true;
		set_fault(relay, "address", GS_EUNAVAILABLE);
		why = "the name has private addresses only";
	}
	(void)snprintf(relay->fault.text, sizeof(relay->fault.text), "%s", why);
	return false;
}

struct gs_relay *
gs_relay_new(struct gs_loop *loop, const struct gs_relay_options *options,
    const struct gs_relay_ops *ops)
{
	const struct gs_session_options session_options = {
		.once = true,
		.silence_ms = options->silence_ms,
		.max_backoff_ms = -1,
	};
	struct gs_relay *relay = gs_mem_new(sizeof(*relay));

	relay->loop = loop;
	relay->ops = *ops;
	relay->url = *options->url;
	relay->allow_private = options->allow_private;
	gs_limits_init(&relay->limits);
	relay->session = gs_session_new(&session_options, &relay->limits, gs_clock_now());
	relay->timer = gs_timer_new(loop, tick, relay);
	return relay;
}

void
gs_relay_free(struct gs_relay *relay)
{
	if (relay == NULL)
		return;
	if (relay->ws != NULL)
		gs_ws_free(relay->ws);
	gs_timer_free(relay->timer);
	gs_session_free(relay->session);
	free(relay);
}

struct gs_session *
gs_relay_session(struct gs_relay *relay)
{
	return relay->session;
}

void
gs_relay_stop(struct gs_relay *relay)
{
	gs_session_end(relay->session, GS_END_DROPPED);
	end_relay(relay);
}

void
gs_relay_dial(struct gs_relay *relay)
{
	if (!resolve(relay)) {
		gs_relay_stop(relay);
		return;
	}
	relay->open_due_ms = now_ms() + OPEN_MS;
	set_timer(relay);
	dial_next(relay);
}

const struct gs_relay_fault *
gs_relay_fault(const struct gs_relay *relay)
{
	return &relay->fault;
}

static enum gs_code
code_of_refusal(const char *reason)
{
	switch (gs_message_prefix(gs_str_of(reason))) {
	case GS_PREFIX_AUTH_REQUIRED:
	case GS_PREFIX_RESTRICTED:
		return GS_EREFUSED;
	case GS_PREFIX_RATE_LIMITED:
	case GS_PREFIX_NONE:
		break;
	}
	return GS_EINCOMPLETE;
}

enum gs_code
gs_relay_code(const struct gs_relay *relay, size_t i)
{
	const struct gs_history_report *report =
	    gs_history_get(gs_session_history(relay->session), i);
	enum gs_session_fault fault = gs_session_fault(relay->session);

	switch (report->end) {
	case GS_END_FINISHED:
		return GS_OK;
	case GS_END_CLOSED:
		return code_of_refusal(report->reason);
	case GS_END_DROPPED:
		return relay->fault.name != NULL ? relay->fault.code : GS_EINCOMPLETE;
	case GS_END_INCONSISTENT:
		return fault == GS_FAULT_NOISY ? GS_EPROTOCOL : GS_EINCOMPLETE;
	case GS_END_NONE:
	case GS_END_TIMEOUT:
	case GS_END_CAP:
	case GS_END_LOSS:
		break;
	}
	return GS_EINCOMPLETE;
}
