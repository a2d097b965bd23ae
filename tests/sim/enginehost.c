/* What the daemon does around the engine: connections, in virtual time. */
#include "enginehost.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"

#define PONG_MS 60000
#define MAX_FRAMES 2000 /* that one relay is sent without saying anything */
#define MAX_TICKS 50	/* at one moment */

struct gs_now
host_now(const struct host *host)
{
	return (struct gs_now){ .mono_ms = host->now_ms,
		.wall_s = MIMIC_EPOCH_S + host->now_ms / 1000 };
}

void
host_complain(struct host *host, const char *fmt, ...)
{
	va_list ap;

	if (host->complaint[0] != '\0')
		return;
	va_start(ap, fmt);
	(void)vsnprintf(host->complaint, sizeof(host->complaint), fmt, ap);
	va_end(ap);
}

void
host_say(const struct host *host, const char *fmt, ...)
{
	va_list ap;

	if (!host->is_loud)
		return;
	printf("%12.3f ", (double)host->now_ms / 1000);
	va_start(ap, fmt);
	(void)vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
}

void
host_touch(struct host_relay *relay)
{
	relay->is_touched = true;
}

/* --- frames --- */

static void
lower(int64_t *due_ms, int64_t other_ms)
{
	if (other_ms >= 0 && other_ms < *due_ms)
		*due_ms = other_ms;
}

static void
find_next(struct host_relay *relay)
{
	const struct world_relay *at = relay->at;

	relay->next_ms = INT64_MAX;
	switch (relay->phase) {
	case HOST_IDLE:
		return;
	case HOST_DIALLING:
	case HOST_LEAVING:
		relay->next_ms = relay->over_ms;
		return;
	case HOST_OPEN:
		break;
	}
	lower(&relay->next_ms, mimic_due_ms(relay->mimic));
	lower(&relay->next_ms, relay->pong_ms);
	if (relay->next_outage < at->num_outages)
		lower(&relay->next_ms, at->outages[relay->next_outage].from_s * 1000);
}

static void
say_frame(const struct host_relay *relay, const char *way, const struct gs_buf *frame)
{
	host_say(relay->host, "r%zu %s %.*s", relay->number, way,
	    frame->len < 600 ? (int)frame->len : 600, frame->data ? frame->data : "");
}

static void
send_frames(struct host_relay *relay)
{
	struct host *host = relay->host;
	size_t left = MAX_FRAMES;

	while (relay->phase == HOST_OPEN && left-- > 0) {
		gs_buf_clear(&host->frame);
		if (!gs_peer_next_frame(relay->peer, &host->frame, host_now(host)))
			break;
		say_frame(relay, ">", &host->frame);
		mimic_take(relay->mimic, host->frame.data, host->frame.len, host->now_ms);
		host->figures.frames++;
	}
	if (left == 0)
		host_complain(host, "r%zu: no end of frames", relay->number);
	if (mimic_complaint(relay->mimic) != NULL)
		host_complain(host, "r%zu: %s", relay->number,
		    mimic_complaint(relay->mimic));
}

void
host_settle(struct host *host)
{
	for (size_t i = 0; i < WORLD_RELAYS; i++) {
		struct host_relay *relay = &host->relays[i];

		if (!relay->is_touched)
			continue;
		relay->is_touched = false;
		send_frames(relay);
		find_next(relay);
	}
	host->engine_ms = gs_engine_deadline_ms(host->engine);
}

/* --- connections --- */

/* All that are tracked have failed since their last success. */
static bool
are_all_failing(const struct host *host)
{
	for (size_t i = 0; i < WORLD_RELAYS; i++)
		if (host->relays[i].peer != NULL && host->relays[i].dials.failures == 0)
			return false;
	return true;
}

/* Then the others are due, too. */
void
host_note_success(struct host *host)
{
	if (host->were_all_failing)
		for (size_t i = 0; i < WORLD_RELAYS; i++)
			host->relays[i].is_unsure = true;
	host->were_all_failing = false;
}

static void
note_answer(struct host_relay *relay)
{
	host_note_success(relay->host);
	relay->dials.is_answered = true;
	dials_succeed(&relay->dials);
}

static void
note_end(struct host_relay *relay)
{
	relay->host->were_all_failing |= are_all_failing(relay->host);
	/* How often it dropped before the restart nobody knows for sure. */
	if (relay->is_vague)
		relay->is_unsure = true;
}

static void
end(struct host_relay *relay, const char *name, bool was_open)
{
	const struct gs_peer_end how = { .name = name, .was_open = was_open };

	relay->phase = HOST_IDLE;
	host_say(relay->host, "r%zu ended: %s", relay->number, name);
	if (was_open)
		mimic_disconnected(relay->mimic);
	gs_peer_ended(relay->peer, &how, host_now(relay->host));
	host_touch(relay);
}

static void
open_relay(struct host_relay *relay)
{
	struct host *host = relay->host;
	size_t num = 0;

	host_say(host, "r%zu open", relay->number);
	relay->phase = HOST_OPEN;
	relay->connection++;
	relay->pong_ms = host->now_ms + PONG_MS;
	relay->dials.opened_ms = host->now_ms;
	relay->dials.is_answered = false;
	while (relay->next_outage < relay->at->num_outages &&
	    relay->at->outages[relay->next_outage].from_s * 1000 <= host->now_ms)
		relay->next_outage++;
	mimic_connected(relay->mimic, host->now_ms);
	ways_tell(&relay->at->ways, gs_peer_limits(relay->peer));
	gs_peer_opened(relay->peer, host_now(host));
	for (size_t i = 0; i < WORLD_RELAYS; i++)
		num += host->relays[i].phase == HOST_OPEN;
	if (num > host->figures.max_open)
		host->figures.max_open = num;
	host_touch(relay);
}

/* What our model does not know after a restart. */
static void
catch_up(struct host_relay *relay)
{
	struct gs_peer_view view;

	gs_peer_look(relay->peer, &view);
	relay->dials.failures = view.failures;
	relay->dials.is_dead = view.status == GS_HEALTH_DEAD;
	if (view.failures > 0 && relay->dials.first_failure_ms == 0)
		relay->dials.first_failure_ms = relay->host->now_ms;
	relay->is_unsure = false;
}

static void
finish_dial(struct host_relay *relay)
{
	struct host *host = relay->host;
	char address[24];

	host_note_busy(host);
	if (relay->is_unsure)
		catch_up(relay);
	(void)snprintf(address, sizeof(address), "192.0.2.%zu", relay->number);
	if (!gs_peer_may_connect(relay->peer, address))
		host_complain(host, "r%zu: its address is crowded", relay->number);
	if (relay->will_open &&
	    world_away(host->world, relay->number, host->now_ms / 1000) == NULL) {
		open_relay(relay);
		return;
	}
	dials_fail(&relay->dials, host->now_ms);
	end(relay, "refused", false);
	note_end(relay);
}

/* The engine hung up: it was not wanted, or it was no good. */
static void
leave(struct host_relay *relay)
{
	struct host *host = relay->host;
	struct gs_peer_view view;

	end(relay, "left", relay->was_open);
	if (relay->peer == NULL)
		return;
	gs_peer_look(relay->peer, &view);
	if (view.fault != NULL && strcmp(view.fault, "left") != 0) {
		dials_fail(&relay->dials, host->now_ms);
		note_end(relay);
	} else {
		relay->is_unsure = true;
	}
}

void
host_drop(struct host_relay *relay)
{
	int64_t open_ms = relay->host->now_ms - relay->dials.opened_ms;

	dials_drop(&relay->dials, relay->host->now_ms);
	if (open_ms >= 60000)
		relay->is_vague = false;
	end(relay, "closed", true);
	note_end(relay);
}

static void
hear(struct host_relay *relay)
{
	struct host *host = relay->host;
	enum mimic_what what;

	gs_buf_clear(&host->frame);
	what = mimic_next(relay->mimic, &host->frame);
	if (what == MIMIC_DROP) {
		host_drop(relay);
		return;
	}
	say_frame(relay, "<", &host->frame);
	host->figures.frames++;
	gs_peer_frame(relay->peer, host->frame.data ? host->frame.data : "",
	    host->frame.len, host_now(host));
	if (what == MIMIC_EOSE || what == MIMIC_FINISH)
		note_answer(relay);
	host_touch(relay);
}

static void
step_open(struct host_relay *relay)
{
	struct host *host = relay->host;
	const struct world_relay *at = relay->at;
	int64_t due_ms = mimic_due_ms(relay->mimic);

	if (relay->next_outage < at->num_outages &&
	    at->outages[relay->next_outage].from_s * 1000 <= host->now_ms) {
		host_drop(relay);
	} else if (due_ms >= 0 && due_ms <= host->now_ms) {
		hear(relay);
	} else if (relay->pong_ms <= host->now_ms) {
		relay->pong_ms = host->now_ms + PONG_MS;
		gs_peer_pong(relay->peer, host_now(host));
		host_touch(relay);
	}
}

void
host_step_relay(struct host_relay *relay)
{
	switch (relay->phase) {
	case HOST_IDLE:
		break;
	case HOST_DIALLING:
		finish_dial(relay);
		break;
	case HOST_LEAVING:
		leave(relay);
		break;
	case HOST_OPEN:
		step_open(relay);
		break;
	}
	find_next(relay);
	host_settle(relay->host);
}

void
host_tick(struct host *host)
{
	host->ticks_now = host->ticked_ms == host->now_ms ? host->ticks_now + 1 : 0;
	host->ticked_ms = host->now_ms;
	if (host->ticks_now > MAX_TICKS)
		host_complain(host, "the engine wants to be called again and again");
	gs_engine_tick(host->engine, host_now(host));
	host->figures.ticks++;
	host_settle(host);
}

int64_t
host_due_ms(const struct host *host)
{
	int64_t due_ms = INT64_MAX;

	if (host->back_ms >= 0)
		return host->back_ms;
	for (size_t i = 0; i < WORLD_RELAYS; i++)
		if (host->relays[i].next_ms < due_ms)
			due_ms = host->relays[i].next_ms;
	lower(&due_ms, host->commit_ms);
	lower(&due_ms, host->window_ms);
	lower(&due_ms, host->engine_ms);
	return due_ms;
}
