/* A session and a relay that talk in virtual time. */
#include "talk.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hex.h"
#include "mem.h"
#include "ways.h"

#define MAX_STEPS 4000000
#define MAX_FRAMES 10000 /* that we may send without hearing anything */
#define PONG_MS 30000

static struct gs_now
now_of(const struct talk *talk)
{
	return (struct gs_now){ .mono_ms = talk->now_ms, .wall_s = talk_wall_s(talk) };
}

int64_t
talk_wall_s(const struct talk *talk)
{
	return TALK_EPOCH_S + talk->now_ms / 1000;
}

void
talk_complain(struct talk *talk, const char *fmt, ...)
{
	va_list ap;

	if (talk->complaint[0] != '\0')
		return;
	va_start(ap, fmt);
	(void)vsnprintf(talk->complaint, sizeof(talk->complaint), fmt, ap);
	va_end(ap);
}

void
talk_init(struct talk *talk, struct mimic *mimic, const struct mimic_ways *ways,
    bool once, const struct gs_auth *auth)
{
	const struct gs_session_options options = {
		.once = once,
		.silence_ms = GS_SESSION_SILENCE_MS,
		.max_backoff_ms = -1,
		.auth = auth,
		.url = MIMIC_URL,
	};

	*talk = (struct talk){ .mimic = mimic, .read_until_s = -1 };
	gs_limits_init(&talk->limits);
	ways_tell(ways, &talk->limits);
	gs_health_init(&talk->health, 0, false, 0);
	talk->session = gs_session_new(&options, &talk->limits, now_of(talk));
	talk->got = gs_map_new();
}

void
talk_fini(struct talk *talk)
{
	gs_session_free(talk->session);
	gs_map_free(talk->got, free);
	gs_buf_fini(&talk->frame);
}

void
talk_add(struct talk *talk, const struct wants *wants)
{
	talk->wants = wants;
	for (size_t i = 0; i < wants->num; i++) {
		struct gs_filter filter = GS_FILTER_INIT;
		const char *text = wants->wants[i].text;
		bool is_read = gs_filter_parse(&filter, text, strlen(text), NULL);

		assert(is_read);
		(void)is_read;
		gs_session_add(talk->session, &filter);
	}
}

bool
talk_has(const struct talk *talk, const struct pool_event *event)
{
	return gs_map_find(talk->got, gs_str_of(event->id)) != NULL;
}

int64_t
talk_arrival_ms(const struct talk *talk, const struct pool_event *event)
{
	const struct talk_arrival *arrival = gs_map_get(talk->got, gs_str_of(event->id));

	return arrival != NULL ? arrival->at_ms : -1;
}

static void
tell(struct talk *talk, enum talk_deed deed)
{
	if (talk->watch != NULL)
		talk->watch(talk, deed, talk->arg);
}

static void
trace(const struct talk *talk, const char *who)
{
	if (talk->is_traced)
		printf("%12.3f %s %.*s\n", (double)talk->now_ms / 1000, who,
		    (int)talk->frame.len, talk->frame.data ? talk->frame.data : "");
}

static void
note_event(struct talk *talk, const struct gs_event *event)
{
	char id[POOL_HEX];

	*gs_hex_write(id, event->id, sizeof(event->id)) = '\0';
	if (gs_map_find(talk->got, gs_str_of(id)) != NULL)
		talk_complain(talk, "event %s was handed out twice", id);
	else
		gs_map_add(talk->got, gs_str_of(id))->value =
		    gs_mem_dup(&(struct talk_arrival){ talk->now_ms },
			sizeof(struct talk_arrival));
}

/* Sends all that the session has to send now. */
static void
send_frames(struct talk *talk)
{
	size_t left = MAX_FRAMES;

	while (talk->is_connected && left > 0) {
		gs_buf_clear(&talk->frame);
		if (!gs_session_next_frame(talk->session, &talk->frame, now_of(talk)))
			break;
		trace(talk, ">");
		mimic_take(talk->mimic, talk->frame.data, talk->frame.len, talk->now_ms);
		left--;
	}
	if (left == 0)
		talk_complain(talk, "the session never stops sending");
	if (mimic_complaint(talk->mimic) != NULL)
		talk_complain(talk, "%s", mimic_complaint(talk->mimic));
}

static void
disconnect(struct talk *talk)
{
	mimic_disconnected(talk->mimic);
	talk->is_connected = false;
	gs_buf_clear(&talk->frame);
	trace(talk, "- disconnected");
	gs_session_closed(talk->session, now_of(talk));
}

static void
drop(struct talk *talk)
{
	disconnect(talk);
	(void)gs_health_dropped(&talk->health, talk->now_ms, talk_wall_s(talk), false);
	tell(talk, TALK_IS_DROPPED);
}

/* What is between the session and its owner after each step. */
static void
settle(struct talk *talk)
{
	send_frames(talk);
	if (!talk->has_answered && talk->is_connected &&
	    gs_session_had_eose(talk->session)) {
		talk->has_answered = true;
		(void)gs_health_answered(&talk->health, talk_wall_s(talk));
		tell(talk, TALK_IS_ANSWERED);
	}
	if (talk->is_connected && gs_session_wish(talk->session) == GS_WISH_HANG_UP) {
		disconnect(talk);
		(void)gs_health_failed(&talk->health, talk->now_ms, 0, false);
		tell(talk, TALK_HANGS_UP);
	}
}

static bool
is_away(const struct talk *talk)
{
	const struct talk_script *script = talk->script;
	int64_t now_s = talk->now_ms / 1000;

	for (size_t i = 0; script != NULL && i < script->num_outages; i++)
		if (now_s >= script->outages[i].at_s && now_s < script->outages[i].back_s)
			return true;
	return false;
}

static void
dial(struct talk *talk)
{
	gs_health_dialled(&talk->health);
	tell(talk, TALK_DIALS);
	if (is_away(talk)) {
		(void)gs_health_failed(&talk->health, talk->now_ms, 0, false);
		gs_session_closed(talk->session, now_of(talk));
		tell(talk, TALK_FAILS);
		return;
	}
	gs_buf_clear(&talk->frame);
	trace(talk, "- connected");
	talk->is_connected = true;
	talk->has_answered = false;
	talk->pong_ms = talk->now_ms + PONG_MS;
	mimic_connected(talk->mimic, talk->now_ms);
	gs_health_opened(&talk->health, talk->now_ms);
	gs_session_opened(talk->session, now_of(talk));
	tell(talk, TALK_OPENS);
}

static void
hear(struct talk *talk)
{
	const struct gs_event *event;

	gs_buf_clear(&talk->frame);
	if (mimic_next(talk->mimic, &talk->frame) == MIMIC_DROP) {
		drop(talk);
		return;
	}
	trace(talk, "<");
	event = gs_session_frame(talk->session, talk->frame.data ? talk->frame.data : "",
	    talk->frame.len, now_of(talk));
	if (event != NULL)
		note_event(talk, event);
}

static void
lower(int64_t *due_ms, int64_t other_ms)
{
	if (other_ms >= 0 && other_ms < *due_ms)
		*due_ms = other_ms;
}

static int64_t
script_due_ms(const struct talk *talk)
{
	const struct talk_script *script = talk->script;
	int64_t due_ms = INT64_MAX;

	if (script == NULL)
		return due_ms;
	if (talk->next_post < script->num_posts)
		lower(&due_ms, script->posts[talk->next_post].at_s * 1000);
	if (talk->next_outage < script->num_outages)
		lower(&due_ms, script->outages[talk->next_outage].at_s * 1000);
	return due_ms;
}

static int64_t
next_due_ms(const struct talk *talk)
{
	int64_t due_ms = script_due_ms(talk);

	if (!talk->is_connected) {
		lower(&due_ms, gs_health_due_ms(&talk->health));
		return due_ms;
	}
	lower(&due_ms, mimic_due_ms(talk->mimic));
	lower(&due_ms, gs_session_deadline_ms(talk->session));
	lower(&due_ms, gs_health_deadline_ms(&talk->health));
	lower(&due_ms, talk->pong_ms);
	return due_ms;
}

static void
play_script(struct talk *talk)
{
	const struct talk_script *script = talk->script;

	while (talk->next_post < script->num_posts &&
	    script->posts[talk->next_post].at_s * 1000 <= talk->now_ms)
		mimic_publish(talk->mimic, &script->posts[talk->next_post++].event,
		    talk->now_ms);
	while (talk->next_outage < script->num_outages &&
	    script->outages[talk->next_outage].at_s * 1000 <= talk->now_ms) {
		talk->next_outage++;
		if (talk->is_connected)
			drop(talk);
	}
}

static bool
is_due(const struct talk *talk, int64_t due_ms)
{
	return due_ms >= 0 && due_ms <= talk->now_ms;
}

/* One thing that is due; the order of those of one moment is fixed. */
static void
step(struct talk *talk)
{
	if (is_due(talk, script_due_ms(talk))) {
		play_script(talk);
	} else if (!talk->is_connected) {
		dial(talk);
	} else if (is_due(talk, mimic_due_ms(talk->mimic))) {
		hear(talk);
	} else if (is_due(talk, talk->pong_ms)) {
		talk->pong_ms = talk->now_ms + PONG_MS;
		gs_session_pong(talk->session, now_of(talk));
	} else if (is_due(talk, gs_health_deadline_ms(&talk->health))) {
		(void)gs_health_tick(&talk->health, talk->now_ms, talk_wall_s(talk));
	} else {
		gs_session_tick(talk->session, now_of(talk));
		if (is_due(talk, gs_session_deadline_ms(talk->session)))
			talk_complain(talk, "a deadline stays where it was after tick");
	}
	settle(talk);
}

static bool
is_over(const struct talk *talk)
{
	enum gs_session_wish wish = gs_session_wish(talk->session);

	return talk->complaint[0] != '\0' || wish == GS_WISH_DONE ||
	    wish == GS_WISH_GIVE_UP;
}

static void
check_read_until(struct talk *talk)
{
	int64_t read_until_s = gs_session_read_until_s(talk->session);

	if (read_until_s == talk->read_until_s)
		return;
	if (read_until_s > talk_wall_s(talk))
		talk_complain(talk, "read_until lies in the future");
	if (read_until_s < talk->read_until_s)
		talk_complain(talk, "read_until goes back from %" PRId64 " to %" PRId64,
		    talk->read_until_s, read_until_s);
	talk->read_until_s = read_until_s;
	if (talk->read_moved != NULL)
		talk->read_moved(talk, talk->read_arg);
}

bool
talk_run(struct talk *talk, int64_t until_s)
{
	while (!is_over(talk)) {
		int64_t due_ms = next_due_ms(talk);

		if (due_ms == INT64_MAX && talk->script == NULL)
			talk_complain(talk, "nothing is due, and nothing is done");
		if (due_ms > until_s * 1000) {
			talk->now_ms = until_s * 1000;
			break;
		}
		if (due_ms > talk->now_ms)
			talk->now_ms = due_ms;
		if (++talk->steps > MAX_STEPS)
			talk_complain(talk, "no end after %d steps", MAX_STEPS);
		step(talk);
		check_read_until(talk);
	}
	return talk->complaint[0] == '\0';
}
