/*
 * How a relay is dialled: its name looked up, each address that may be dialled tried
 * in turn, its NIP-11 document fetched from the one that took the call.
 */
#include <stdlib.h>

#include "clock.h"
#include "relay_private.h"

#define MIN_CONNECT_MS 1000 /* for an address, however many are left */
#define DOCUMENT_MS ((int64_t)24 * 3600 * 1000) /* so long a NIP-11 document is good */

static int64_t
now_ms(void)
{
	return gs_clock_now().mono_ms;
}

static void
take_document(struct gs_str document, void *arg)
{
	struct gs_relay *relay = arg;
	struct gs_err err;

	relay->nip11 = NULL;
	/* What is no document is none. */
	if (document.ptr != NULL)
		(void)!gs_limits_read(&relay->limits, document, &err);
	gs_relay_follow_session(relay);
}

static struct gs_dial
make_dial(const struct gs_relay *relay, size_t address)
{
	return (struct gs_dial){
		.url = &relay->url,
		.address = relay->options.resolver != NULL
		    ? relay->resolved.addresses[address]
		    : NULL,
		.is_insecure = relay->options.is_insecure,
	};
}

/* From the address that the websocket is at; once a day is enough. */
void
gs_relay_fetch_document(struct gs_relay *relay)
{
	struct gs_dial dial = make_dial(relay, relay->next_address - 1);
	int64_t now = now_ms();

	if (relay->document_ms >= 0 && now - relay->document_ms < DOCUMENT_MS)
		return;
	relay->document_ms = now;
	relay->nip11 = gs_nip11_fetch(relay->loop, &dial, take_document, relay);
}

/* Each of the addresses that are left gets its share of the time. */
static int64_t
share_time(const struct gs_relay *relay)
{
	int64_t left_ms = relay->dial_due_ms - now_ms();
	int64_t share_ms = left_ms / (int64_t)(relay->resolved.num - relay->next_address);

	return share_ms > MIN_CONNECT_MS ? share_ms : MIN_CONNECT_MS;
}

bool
gs_relay_dial_next(struct gs_relay *relay)
{
	struct gs_ws_ops ops = gs_relay_ws_ops;
	struct gs_ws_end end;

	if (relay->next_address >= relay->resolved.num || now_ms() >= relay->dial_due_ms)
		return false;
	ops.arg = relay;
	do {
		struct gs_dial dial = make_dial(relay, relay->next_address);
		int64_t connect_ms = share_time(relay);

		relay->next_address++;
		relay->ws = gs_ws_dial(relay->loop, &dial, connect_ms, &ops, &end);
		if (relay->ws != NULL)
			return true;
	} while (relay->next_address < relay->resolved.num);
	gs_relay_set_fault(relay, end.name, end.code, "");
	gs_relay_end_dial(relay, true, 0, end.is_lasting);
	return true;
}

static void
take_resolved(const struct gs_resolved *resolved, void *arg)
{
	struct gs_relay *relay = arg;

	relay->question = NULL;
	relay->resolved = *resolved;
	switch (resolved->result) {
	case GS_RESOLVE_OK:
		(void)gs_relay_dial_next(relay);
		return;
	case GS_RESOLVE_DNS:
		gs_relay_set_fault(relay, "dns", GS_EUNAVAILABLE, resolved->why);
		break;
	case GS_RESOLVE_REFUSED:
		gs_relay_set_fault(relay, "address", GS_EUNAVAILABLE, resolved->why);
		break;
	}
	gs_relay_end_dial(relay, true, 0, resolved->result == GS_RESOLVE_REFUSED);
}

void
gs_relay_begin_dial(struct gs_relay *relay)
{
	gs_health_dialled(&relay->health);
	relay->phase = PHASE_DIALLING;
	relay->dial_due_ms = now_ms() + GS_RELAY_DIAL_MS;
	relay->next_address = 0;
	gs_relay_set_timer(relay);
	if (relay->options.resolver != NULL) {
		relay->question = gs_resolver_ask(relay->options.resolver, &relay->url,
		    relay->options.allow_private, true, take_resolved, relay);
		return;
	}
	relay->resolved.num = 1;
	(void)gs_relay_dial_next(relay);
}

void
gs_relay_expire_dial(struct gs_relay *relay)
{
	if (relay->ws != NULL) {
		gs_ws_expire(relay->ws);
		return;
	}
	gs_question_cancel(relay->question);
	relay->question = NULL;
	gs_relay_set_fault(relay, "dns", GS_EUNAVAILABLE, "no answer in time");
	gs_relay_end_dial(relay, true, 0, false);
}
