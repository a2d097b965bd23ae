/*
 * One relay, for as long as it is wanted: link, session and health wired together,
 * redialled when health says so.  Decides nothing that they decide.
 */
#include "relay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "link.h"
#include "mem.h"

enum phase {
	PHASE_WAITING, /* until health lets us dial */
	PHASE_DIALLING,
	PHASE_OPEN,
	PHASE_OVER,
};

struct gs_relay {
	struct gs_url url;
	struct gs_relay_options options;
	struct gs_relay_ops ops;
	struct gs_health health;
	struct gs_limits limits;
	struct gs_session *session;
	struct gs_link *link;
	struct gs_timer *timer;
	enum phase phase;
	bool has_asked; /* on this connection */
	unsigned failed_dials;

	struct gs_relay_fault fault;
	char fault_name[GS_WS_NAME_BYTES];
	/* What changed has told. */
	bool told_open;
	enum gs_health_status told_status;
	char told_fault[GS_WS_NAME_BYTES];
};

static int64_t
now_ms(void)
{
	return gs_clock_now().mono_ms;
}

static void
set_fault(struct gs_relay *relay, const char *name, enum gs_code code, const char *text)
{
	(void)snprintf(relay->fault_name, sizeof(relay->fault_name), "%s", name);
	(void)snprintf(relay->fault.text, sizeof(relay->fault.text), "%s", text);
	relay->fault.name = relay->fault_name;
	relay->fault.code = code;
}

/* What the session hung up for. */
static void
set_session_fault(struct gs_relay *relay)
{
	switch (gs_session_fault(relay->session)) {
	case GS_FAULT_SILENT:
		set_fault(relay, "silent", GS_EINCOMPLETE, "");
		break;
	case GS_FAULT_NOISY:
		set_fault(relay, "protocol", GS_EPROTOCOL,
		    "little else came than what was not asked for");
		break;
	case GS_FAULT_NONE:
		break;
	}
}

/* Nothing, if all that a person would see is as it was. */
static void
tell_change(struct gs_relay *relay)
{
	bool is_open = relay->phase == PHASE_OPEN;

	if (is_open == relay->told_open && relay->health.status == relay->told_status &&
	    (is_open || strcmp(relay->fault_name, relay->told_fault) == 0))
		return;
	relay->told_open = is_open;
	relay->told_status = relay->health.status;
	memcpy(relay->told_fault, relay->fault_name, sizeof(relay->told_fault));
	if (relay->ops.changed != NULL)
		relay->ops.changed(relay->ops.arg);
}

static void
end_relay(struct gs_relay *relay)
{
	if (relay->phase == PHASE_OVER)
		return;
	relay->phase = PHASE_OVER;
	gs_timer_stop(relay->timer);
	gs_link_close(relay->link);
	relay->ops.ended(relay->ops.arg);
}

static int64_t
earlier(int64_t a_ms, int64_t b_ms)
{
	if (a_ms < 0 || b_ms < 0)
		return a_ms < 0 ? b_ms : a_ms;
	return a_ms < b_ms ? a_ms : b_ms;
}

static int64_t
find_deadline(const struct gs_relay *relay)
{
	switch (relay->phase) {
	case PHASE_WAITING:
		return gs_health_due_ms(&relay->health);
	case PHASE_OPEN:
		return earlier(gs_session_deadline_ms(relay->session),
		    gs_health_deadline_ms(&relay->health));
	case PHASE_DIALLING:
	case PHASE_OVER:
		break;
	}
	return -1;
}

/* By the phase it is in. */
static void
set_timer(struct gs_relay *relay)
{
	int64_t due_ms = find_deadline(relay);

	if (due_ms >= 0)
		gs_timer_set(relay->timer, due_ms - now_ms());
	else
		gs_timer_stop(relay->timer);
}

/* After everything that the session was told: its timer and its frames. */
static void
follow_session(struct gs_relay *relay)
{
	if (relay->phase == PHASE_OVER)
		return;
	set_timer(relay);
	gs_link_want_write(relay->link);
}

static bool
is_given_up(const struct gs_relay *relay, bool is_lasting)
{
	enum gs_session_wish wish = gs_session_wish(relay->session);

	if (wish == GS_WISH_DONE || wish == GS_WISH_GIVE_UP)
		return true;
	return relay->options.once &&
	    (is_lasting || relay->failed_dials >= GS_RELAY_DIALS);
}

/* The session's reason to hang up says more than how the connection then ended. */
static bool
note_end(struct gs_relay *relay, const struct gs_link_end *end)
{
	bool is_ours =
	    end->ws.was_open && gs_session_wish(relay->session) != GS_WISH_GOES_ON;

	if (is_ours)
		set_session_fault(relay);
	else
		set_fault(relay, end->ws.name, end->ws.code, end->text);
	return is_ours || !end->ws.was_open;
}

/* Again later, or never. */
static void
take_ended(const struct gs_link_end *end, void *arg)
{
	struct gs_relay *relay = arg;
	bool was_asked = relay->phase == PHASE_OPEN && relay->has_asked;
	struct gs_now now = gs_clock_now();
	bool is_failure;

	if (relay->phase == PHASE_OVER)
		return;
	is_failure = note_end(relay, end);
	relay->failed_dials = was_asked ? 0 : relay->failed_dials + 1;
	gs_session_closed(relay->session, now);
	if (is_given_up(relay, end->ws.is_lasting)) {
		gs_session_end(relay->session, GS_END_DROPPED);
		end_relay(relay);
		return;
	}
	if (is_failure)
		(void)gs_health_failed(&relay->health, now.mono_ms, end->ws.retry_after_s,
		    false);
	else
		(void)gs_health_dropped(&relay->health, now.mono_ms, now.wall_s, false);
	relay->phase = PHASE_WAITING;
	set_timer(relay);
	tell_change(relay);
}

static void
take_opened(void *arg)
{
	struct gs_relay *relay = arg;
	struct gs_now now = gs_clock_now();

	relay->phase = PHASE_OPEN;
	relay->has_asked = false;
	gs_health_opened(&relay->health, now.mono_ms);
	gs_session_opened(relay->session, now);
	tell_change(relay);
	follow_session(relay);
}

static void
take_document(struct gs_str document, void *arg)
{
	struct gs_relay *relay = arg;
	struct gs_err err;

	/* What is no document is none. */
	if (document.ptr != NULL)
		(void)!gs_limits_read(&relay->limits, document, &err);
	follow_session(relay);
}

static void
take_message(const char *text, size_t len, void *arg)
{
	struct gs_relay *relay = arg;
	struct gs_now now = gs_clock_now();
	const struct gs_event *event = gs_session_frame(relay->session, text, len, now);

	if (event != NULL)
		relay->ops.event(event, relay->ops.arg);
	if (relay->phase == PHASE_OVER)
		return;
	if (relay->health.phase != GS_HEALTH_ANSWERED &&
	    gs_session_had_eose(relay->session) &&
	    gs_health_answered(&relay->health, now.wall_s))
		tell_change(relay);
	follow_session(relay);
}

static void
take_pong(void *arg)
{
	struct gs_relay *relay = arg;

	gs_session_pong(relay->session, gs_clock_now());
	follow_session(relay);
}

static bool
give_frame(struct gs_buf *frame, void *arg)
{
	struct gs_relay *relay = arg;

	if (gs_session_next_frame(relay->session, frame, gs_clock_now())) {
		relay->has_asked = true;
		set_timer(relay);
		return true;
	}
	if (gs_session_wish(relay->session) != GS_WISH_GOES_ON)
		gs_link_close(relay->link);
	return false;
}

static const struct gs_link_ops link_ops = {
	.opened = take_opened,
	.document = take_document,
	.message = take_message,
	.pong = take_pong,
	.next_frame = give_frame,
	.ended = take_ended,
};

/* Whoever asks for one relay knows it: it never waits behind those of strangers. */
void
gs_relay_dial(struct gs_relay *relay)
{
	gs_health_dialled(&relay->health);
	relay->phase = PHASE_DIALLING;
	set_timer(relay);
	gs_link_dial(relay->link, true);
}

/* Silence in a time when we did not read says nothing about the relay. */
static void
excuse_pause(struct gs_relay *relay)
{
	gs_session_paused(relay->session, gs_link_take_paused_ms(relay->link));
}

static void
tick(void *arg)
{
	struct gs_relay *relay = arg;
	struct gs_now now = gs_clock_now();

	switch (relay->phase) {
	case PHASE_WAITING:
		gs_relay_dial(relay);
		break;
	case PHASE_OPEN:
		excuse_pause(relay);
		if (gs_health_tick(&relay->health, now.mono_ms, now.wall_s))
			tell_change(relay);
		gs_session_tick(relay->session, now);
		follow_session(relay);
		break;
	case PHASE_DIALLING:
	case PHASE_OVER:
		break;
	}
}

static void
make_link(struct gs_relay *relay, struct gs_loop *loop)
{
	const struct gs_link_options options = {
		.url = &relay->url,
		.resolver = relay->options.resolver,
		.allow_private = relay->options.allow_private,
		.is_insecure = relay->options.is_insecure,
	};
	struct gs_link_ops ops = link_ops;

	ops.arg = relay;
	relay->link = gs_link_new(loop, &options, &ops);
}

struct gs_relay *
gs_relay_new(struct gs_loop *loop, const struct gs_relay_options *options,
    const struct gs_relay_ops *ops)
{
	struct gs_relay *relay = gs_mem_new(sizeof(*relay));
	const struct gs_session_options session_options = {
		.once = options->once,
		.undated = options->undated,
		.silence_ms = options->silence_ms,
		.max_backoff_ms =
		    options->max_backoff_ms > 0 ? options->max_backoff_ms : -1,
		.auth = options->auth,
		.url = relay->url.text,
	};

	relay->options = *options;
	relay->ops = *ops;
	relay->url = *options->url;
	gs_health_init(&relay->health, now_ms(), false, options->max_backoff_ms);
	gs_limits_init(&relay->limits);
	relay->session = gs_session_new(&session_options, &relay->limits, gs_clock_now());
	relay->timer = gs_timer_new(loop, tick, relay);
	make_link(relay, loop);
	return relay;
}

void
gs_relay_free(struct gs_relay *relay)
{
	if (relay == NULL)
		return;
	gs_link_free(relay->link);
	gs_timer_free(relay->timer);
	gs_session_free(relay->session);
	free(relay);
}

struct gs_session *
gs_relay_session(const struct gs_relay *relay)
{
	return relay->session;
}

const struct gs_url *
gs_relay_url(const struct gs_relay *relay)
{
	return &relay->url;
}

void
gs_relay_stop(struct gs_relay *relay)
{
	gs_session_end(relay->session, GS_END_DROPPED);
	end_relay(relay);
}

void
gs_relay_pause(struct gs_relay *relay)
{
	gs_link_pause(relay->link);
}

void
gs_relay_resume(struct gs_relay *relay)
{
	excuse_pause(relay);
	gs_link_resume(relay->link);
	follow_session(relay);
}

bool
gs_relay_is_open(const struct gs_relay *relay)
{
	return relay->phase == PHASE_OPEN;
}

int64_t
gs_relay_wait_ms(const struct gs_relay *relay)
{
	int64_t due_ms = gs_health_due_ms(&relay->health);
	int64_t now = now_ms();

	if (relay->phase != PHASE_WAITING || due_ms < 0)
		return -1;
	return due_ms > now ? due_ms - now : 0;
}

enum gs_health_status
gs_relay_status(const struct gs_relay *relay)
{
	return relay->health.status;
}

const struct gs_relay_fault *
gs_relay_fault(const struct gs_relay *relay)
{
	return &relay->fault;
}
