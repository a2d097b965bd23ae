/*
 * A session and a relay that does as it likes: a script, one step a line.  Whatever
 * comes when, no more is open than the relay allows, no name is used twice, and no
 * deadline lies behind.
 *
 *	once | follow	what it is for, in the first line
 *	filter JSON	one more to read, while nothing is open
 *	< FRAME		the relay says so
 *	+ MS		time goes by, then a tick
 *	> NUM		so many frames are sent
 *	open, close, pong, pause, end
 */
#include "session.h"

#include <stdlib.h>
#include <string.h>

#include "message.h"
#include "num.h"

#define MAX_SUBS 4096
#define MAX_STEPS 2000
#define MAX_FILTERS 64
#define MAX_STEP_MS (INT64_C(400) * 24 * 3600 * 1000)
#define START_S 1800000000

struct play {
	struct gs_limits limits;
	struct gs_session *session;
	struct gs_now now;
	struct gs_buf frame;
	bool is_open[MAX_SUBS];
	size_t num_open;
	int64_t last_name;
	size_t num_filters;
	bool was_opened, is_connected;
};

static void
check(bool holds)
{
	if (!holds)
		abort();
}

static void
begin(struct play *play, bool once)
{
	const struct gs_session_options options = { .once = once,
		.silence_ms = GS_SESSION_SILENCE_MS,
		.max_backoff_ms = -1,
		.url = "wss://relay.example" };

	play->now = (struct gs_now){ 1, START_S };
	gs_limits_init(&play->limits);
	play->session = gs_session_new(&options, &play->limits, play->now);
}

static void
add_filter(struct play *play, struct gs_str text)
{
	struct gs_filter filter = GS_FILTER_INIT;

	if (play->was_opened || play->num_filters == MAX_FILTERS ||
	    !gs_filter_parse(&filter, text.ptr, text.len, NULL))
		return;
	gs_session_add(play->session, &filter);
	play->num_filters++;
}

/* The number that names a subscription in ["VERB","NUMBER",...; -1: none. */
static int64_t
name_of(struct gs_str frame)
{
	const char *from = memchr(frame.ptr, ',', frame.len), *to;
	int64_t name;

	if (from == NULL || frame.ptr + frame.len - from < 4)
		return -1;
	from += 2;
	to = memchr(from, '"', (size_t)(frame.ptr + frame.len - from));
	if (to == NULL ||
	    !gs_num_parse(&name, from, (size_t)(to - from), GS_JSON_INT_MAX))
		return -1;
	return name;
}

static void
note_closed(struct play *play, int64_t name)
{
	if (name < 0 || name >= MAX_SUBS || !play->is_open[name])
		return;
	play->is_open[name] = false;
	play->num_open--;
}

static void
note_sent(struct play *play)
{
	struct gs_str frame = { play->frame.data, play->frame.len };
	int64_t name = name_of(frame);

	if (memcmp(frame.ptr, "[\"CLOSE\"", 8) == 0)
		note_closed(play, name);
	if (memcmp(frame.ptr, "[\"REQ\"", 6) != 0)
		return;
	check(name > play->last_name);
	play->last_name = name;
	if (name >= MAX_SUBS)
		return;
	play->is_open[name] = true;
	check(++play->num_open <= play->limits.subscriptions);
}

static void
send_frames(struct play *play, int64_t num)
{
	while (num-- > 0) {
		gs_buf_clear(&play->frame);
		if (!gs_session_next_frame(play->session, &play->frame, play->now))
			return;
		note_sent(play);
	}
}

static void
hear(struct play *play, struct gs_str frame)
{
	struct gs_message message;

	if (play->is_connected &&
	    gs_message_parse(&message, frame.ptr, frame.len) == GS_MESSAGE_CLOSED &&
	    !message.sub.escaped)
		note_closed(play, name_of(frame));
	(void)gs_session_frame(play->session, frame.ptr, frame.len, play->now);
}

static void
pass(struct play *play, int64_t ms)
{
	int64_t due_ms;

	play->now.mono_ms += ms;
	play->now.wall_s += ms / 1000;
	gs_session_tick(play->session, play->now);
	due_ms = gs_session_deadline_ms(play->session);
	check(due_ms == -1 || due_ms > play->now.mono_ms);
	check(gs_session_read_until_s(play->session) <= play->now.wall_s);
}

static void
connect_play(struct play *play)
{
	if (play->is_connected)
		return;
	play->is_connected = play->was_opened = true;
	gs_session_opened(play->session, play->now);
}

static void
drop(struct play *play)
{
	gs_session_closed(play->session, play->now);
	memset(play->is_open, 0, sizeof(play->is_open));
	play->num_open = 0;
	play->is_connected = false;
	check(gs_session_deadline_ms(play->session) == -1);
}

static bool
take(struct gs_str *step, const char *verb)
{
	size_t len = strlen(verb);

	if (step->len < len || memcmp(step->ptr, verb, len) != 0)
		return false;
	*step = (struct gs_str){ step->ptr + len, step->len - len };
	return true;
}

static int64_t
number_of(struct gs_str text, int64_t max)
{
	int64_t number;

	return gs_num_parse(&number, text.ptr, text.len, max) ? number : 1;
}

static void
do_step(struct play *play, struct gs_str step)
{
	if (take(&step, "< "))
		hear(play, step);
	else if (take(&step, "+ "))
		pass(play, number_of(step, MAX_STEP_MS));
	else if (take(&step, "> "))
		send_frames(play, number_of(step, MAX_SUBS));
	else if (take(&step, "filter "))
		add_filter(play, step);
	else if (take(&step, "open"))
		connect_play(play);
	else if (take(&step, "close"))
		drop(play);
	else if (take(&step, "pong"))
		gs_session_pong(play->session, play->now);
	else if (take(&step, "pause"))
		gs_session_paused(play->session, 1000);
	else if (take(&step, "end"))
		gs_session_end(play->session, GS_END_DROPPED);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gs_str rest = { (const char *)data, size };
	struct play *play = calloc(1, sizeof(*play));

	check(play != NULL);
	begin(play, take(&rest, "once"));
	for (size_t i = 0; i < MAX_STEPS && rest.len > 0; i++) {
		const char *end = memchr(rest.ptr, '\n', rest.len);
		size_t len = end != NULL ? (size_t)(end - rest.ptr) : rest.len;

		do_step(play, (struct gs_str){ rest.ptr, len });
		len += end != NULL;
		rest = (struct gs_str){ rest.ptr + len, rest.len - len };
	}
	(void)gs_session_filters(play->session);
	gs_session_free(play->session);
	gs_buf_fini(&play->frame);
	free(play);
	return 0;
}
