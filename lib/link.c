/*
 * One connection after the other to one relay: its name looked up, each address that may
 * be dialled tried in turn, its NIP-11 document fetched from the one that took the call.
 */
#include "link.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "mem.h"
#include "nip11.h"

#define MIN_CONNECT_MS 1000 /* for an address, however many are left */
#define DOCUMENT_MS ((int64_t)24 * 3600 * 1000) /* so long a NIP-11 document is good */

enum phase {
	PHASE_IDLE,
	PHASE_STARTING, /* without a name to look up: from the next turn of the loop */
	PHASE_DIALLING,
	PHASE_OPEN,
	PHASE_CLOSING, /* the websocket has yet to end */
};

/* What is only needed while it is dialled, or for the document after it. */
struct dialling {
	struct gs_question *question;
	struct gs_resolved resolved;
	size_t next_address;
	bool is_any_crowded;
	bool is_any_tried;
};

struct gs_link {
	struct gs_loop *loop;
	struct gs_link_options options;
	struct gs_link_ops ops;
	struct gs_timer *timer;
	enum phase phase;
	int64_t dial_due_ms;
	struct dialling *dialling; /* NULL: idle, or open for a while */
	struct gs_ws *ws;
	struct gs_nip11 *nip11; /* being fetched: nothing is asked before */
	int64_t document_ms;	/* when that was last tried to its end; -1: never */
	bool is_paused;
	int64_t paused_ms; /* since then, or since it was asked last */
};

static int64_t
now_ms(void)
{
	return gs_clock_now().mono_ms;
}

static void
free_dialling(struct gs_link *link)
{
	if (link->dialling == NULL)
		return;
	gs_question_cancel(link->dialling->question);
	free(link->dialling);
	link->dialling = NULL;
}

/* Cut off by the end of its connection: the next one asks anew. */
static void
drop_document(struct gs_link *link)
{
	if (link->nip11 == NULL)
		return;
	gs_nip11_free(link->nip11);
	link->nip11 = NULL;
	link->document_ms = -1;
}

/* The last thing that happens: ended may dial again, or free the link. */
static void
end(struct gs_link *link, const struct gs_link_end *told)
{
	gs_timer_stop(link->timer);
	drop_document(link);
	free_dialling(link);
	link->phase = PHASE_IDLE;
	link->ops.ended(told, link->ops.arg);
}

static void
end_unopened(struct gs_link *link, enum gs_code code, const char *name, const char *text)
{
	struct gs_link_end told = { .ws = { .code = code } };

	(void)snprintf(told.ws.name, sizeof(told.ws.name), "%s", name);
	(void)snprintf(told.text, sizeof(told.text), "%s", text);
	end(link, &told);
}

/* --- the document --- */

static struct gs_dial
make_dial(const struct gs_link *link, size_t address)
{
	return (struct gs_dial){
		.url = link->options.url,
		.address = link->options.resolver != NULL
		    ? link->dialling->resolved.addresses[address]
		    : NULL,
		.is_insecure = link->options.is_insecure,
	};
}

static void
take_document(struct gs_str document, void *arg)
{
	struct gs_link *link = arg;

	link->nip11 = NULL;
	free_dialling(link);
	gs_link_want_write(link);
	link->ops.document(document, link->ops.arg);
}

/* From the address that the websocket is at; once a day is enough. */
static void
fetch_document(struct gs_link *link)
{
	struct gs_dial dial = make_dial(link, link->dialling->next_address - 1);
	int64_t now = now_ms();

	if (link->document_ms >= 0 && now - link->document_ms < DOCUMENT_MS) {
		free_dialling(link);
		return;
	}
	link->document_ms = now;
	link->nip11 = gs_nip11_fetch(link->loop, &dial, take_document, link);
}

/* --- dialling --- */

static const struct gs_ws_ops ws_ops;

/* Each of the addresses that are left gets its share of the time. */
static int64_t
share_time(const struct gs_link *link)
{
	const struct dialling *dialling = link->dialling;
	int64_t left_ms = link->dial_due_ms - now_ms();
	int64_t share_ms =
	    left_ms / (int64_t)(dialling->resolved.num - dialling->next_address);

	return share_ms > MIN_CONNECT_MS ? share_ms : MIN_CONNECT_MS;
}

static bool
may_connect(struct gs_link *link, const struct gs_dial *dial)
{
	if (link->ops.may_connect == NULL || dial->address == NULL ||
	    link->ops.may_connect(dial->address, link->ops.arg))
		return true;
	link->dialling->is_any_crowded = true;
	return false;
}

/* The next address that can be dialled; false: none is left, or there is no time. */
static bool
dial_next(struct gs_link *link, struct gs_ws_end *why)
{
	struct dialling *dialling = link->dialling;
	struct gs_ws_ops ops = ws_ops;

	ops.arg = link;
	while (dialling->next_address < dialling->resolved.num &&
	    now_ms() < link->dial_due_ms) {
		struct gs_dial dial = make_dial(link, dialling->next_address);
		int64_t connect_ms = share_time(link);

		dialling->next_address++;
		if (!may_connect(link, &dial))
			continue;
		dialling->is_any_tried = true;
		link->ws = gs_ws_dial(link->loop, &dial, connect_ms, &ops, why);
		if (link->ws != NULL)
			return true;
	}
	return false;
}

static void
dial_first(struct gs_link *link)
{
	struct gs_link_end told = { .text = "" };

	if (dial_next(link, &told.ws))
		return;
	if (link->dialling->is_any_tried)
		end(link, &told);
	else
		end_unopened(link, GS_EUNAVAILABLE,
		    link->dialling->is_any_crowded ? "crowded" : "timeout", "");
}

/* Dialling again can't help. */
static void
end_refused(struct gs_link *link, const char *why)
{
	struct gs_link_end told = {
		.ws = { .name = "address", .code = GS_EUNAVAILABLE, .is_lasting = true }
	};

	(void)snprintf(told.text, sizeof(told.text), "%s", why);
	end(link, &told);
}

static void
take_resolved(const struct gs_resolved *resolved, void *arg)
{
	struct gs_link *link = arg;

	link->dialling->question = NULL;
	link->dialling->resolved = *resolved;
	switch (resolved->result) {
	case GS_RESOLVE_OK:
		dial_first(link);
		return;
	case GS_RESOLVE_DNS:
		end_unopened(link, GS_EUNAVAILABLE, "dns", resolved->why);
		return;
	case GS_RESOLVE_REFUSED:
		end_refused(link, resolved->why);
		return;
	}
}

/* It takes too long. */
static void
expire(struct gs_link *link)
{
	if (link->ws != NULL)
		gs_ws_expire(link->ws);
	else
		end_unopened(link, GS_EUNAVAILABLE, "dns", "no answer in time");
}

void
gs_link_dial(struct gs_link *link, bool is_kept)
{
	link->dial_due_ms = now_ms() + GS_LINK_DIAL_MS;
	link->dialling = gs_mem_new(sizeof(*link->dialling));
	if (link->options.resolver == NULL) {
		link->phase = PHASE_STARTING;
		gs_timer_set(link->timer, 0);
		return;
	}
	link->phase = PHASE_DIALLING;
	gs_timer_set(link->timer, GS_LINK_DIAL_MS);
	link->dialling->question = gs_resolver_ask(link->options.resolver,
	    link->options.url, link->options.allow_private, is_kept, take_resolved, link);
}

/* The one address is the proxy's. */
static void
start(struct gs_link *link)
{
	link->phase = PHASE_DIALLING;
	gs_timer_set(link->timer, GS_LINK_DIAL_MS);
	link->dialling->resolved.num = 1;
	dial_first(link);
}

/* --- the websocket --- */

static void
take_opened(void *arg)
{
	struct gs_link *link = arg;

	gs_timer_stop(link->timer);
	link->phase = PHASE_OPEN;
	link->paused_ms = now_ms();
	if (link->is_paused)
		gs_ws_pause(link->ws);
	fetch_document(link);
	link->ops.opened(link->ops.arg);
}

static void
take_message(const char *text, size_t len, void *arg)
{
	struct gs_link *link = arg;

	if (link->phase == PHASE_OPEN)
		link->ops.message(text, len, link->ops.arg);
}

static void
take_pong(void *arg)
{
	struct gs_link *link = arg;

	if (link->phase == PHASE_OPEN)
		link->ops.pong(link->ops.arg);
}

static bool
give_frame(struct gs_buf *frame, void *arg)
{
	struct gs_link *link = arg;

	return link->phase == PHASE_OPEN && link->nip11 == NULL &&
	    link->ops.next_frame(frame, link->ops.arg);
}

static void
take_ended(const struct gs_ws_end *how, void *arg)
{
	struct gs_link *link = arg;
	struct gs_link_end told = { .ws = *how, .text = "" };
	struct gs_ws_end why;

	link->ws = NULL;
	if (link->phase == PHASE_DIALLING && how->is_tcp_failed && dial_next(link, &why))
		return;
	end(link, &told);
}

static const struct gs_ws_ops ws_ops = {
	.opened = take_opened,
	.message = take_message,
	.pong = take_pong,
	.next_frame = give_frame,
	.ended = take_ended,
};

/* --- the owner's --- */

/* What is closed before there was a websocket ends in the next turn of the loop. */
static void
tick(void *arg)
{
	struct gs_link *link = arg;

	switch (link->phase) {
	case PHASE_STARTING:
		start(link);
		break;
	case PHASE_DIALLING:
		expire(link);
		break;
	case PHASE_CLOSING:
		if (link->ws == NULL)
			end_unopened(link, GS_OK, "closed", "");
		break;
	case PHASE_IDLE:
	case PHASE_OPEN:
		break;
	}
}

struct gs_link *
gs_link_new(struct gs_loop *loop, const struct gs_link_options *options,
    const struct gs_link_ops *ops)
{
	struct gs_link *link = gs_mem_new(sizeof(*link));

	link->loop = loop;
	link->options = *options;
	link->ops = *ops;
	link->document_ms = -1;
	link->timer = gs_timer_new(loop, tick, link);
	return link;
}

void
gs_link_free(struct gs_link *link)
{
	if (link == NULL)
		return;
	gs_nip11_free(link->nip11);
	gs_ws_free(link->ws);
	free_dialling(link);
	gs_timer_free(link->timer);
	free(link);
}

void
gs_link_close(struct gs_link *link)
{
	if (link->phase == PHASE_IDLE || link->phase == PHASE_CLOSING)
		return;
	link->phase = PHASE_CLOSING;
	drop_document(link);
	free_dialling(link);
	if (link->ws != NULL)
		gs_ws_close(link->ws);
	else
		gs_timer_set(link->timer, 0);
}

void
gs_link_want_write(struct gs_link *link)
{
	if (link->ws != NULL && link->phase == PHASE_OPEN)
		gs_ws_want_write(link->ws);
}

void
gs_link_pause(struct gs_link *link)
{
	if (link->is_paused)
		return;
	link->is_paused = true;
	link->paused_ms = now_ms();
	if (link->ws != NULL)
		gs_ws_pause(link->ws);
}

int64_t
gs_link_take_paused_ms(struct gs_link *link)
{
	int64_t now = now_ms(), for_ms = now - link->paused_ms;

	if (!link->is_paused || link->phase != PHASE_OPEN)
		return 0;
	link->paused_ms = now;
	return for_ms;
}

void
gs_link_resume(struct gs_link *link)
{
	if (!link->is_paused)
		return;
	link->is_paused = false;
	if (link->ws != NULL)
		gs_ws_resume(link->ws);
}

bool
gs_link_is_open(const struct gs_link *link)
{
	return link->phase == PHASE_OPEN;
}
