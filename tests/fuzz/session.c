/*
 * A session and a relay that does as it likes: a script, one step a line.  Whatever
 * comes when, no more is open than the relay allows, no name is used twice, no
 * deadline lies behind, and what was read never goes back, nor beyond what was not.
 *
 *	once | follow	what it is for, in the first line
 *	filter JSON	one more to read, while nothing is open
 *	part NUM JSON	one more to follow, at any time; NUM: -2, -1, or s before now
 *	read NUM JSON	likewise to be read once
 *	clear		all filters leave
 *	full		a full history is due
 *	refused		what is refused is restored
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
	bool is_unread[MAX_FILTERS]; /* added without a time, and not at its end */
	bool is_history[MAX_FILTERS];
	int64_t read_until_s;
	bool is_once, was_opened, is_connected;
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
		.leaves_signatures = !once,
		.remembered = 100,
		.url = "wss://relay.example" };

	play->now = (struct gs_now){ 1, START_S };
	gs_limits_init(&play->limits);
	play->session = gs_session_new(&options, &play->limits, play->now);
	play->is_once = once;
	play->read_until_s = -1;
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

static void
count_refused(const struct gs_session_refused *refused, void *arg)
{
	size_t *num = arg;

	check(refused->failures > 0);
	++*num;
}

static int64_t
read_s_of(const struct play *play, int64_t number)
{
	return number < 0 ? number : play->now.wall_s - number;
}

/* text: NUM JSON.  What may have been refused before holds up nobody. */
static void
add_part(struct play *play, struct gs_str text, bool is_history)
{
	const char *space = memchr(text.ptr, ' ', text.len);
	struct gs_filter filter = GS_FILTER_INIT;
	struct gs_session_part part = { -1, is_history };
	size_t refused = 0, i = play->num_filters;
	struct gs_str number;

	if (space == NULL || play->is_once || i == MAX_FILTERS)
		return;
	number = (struct gs_str){ text.ptr, (size_t)(space - text.ptr) };
	text = (struct gs_str){ space + 1, text.len - number.len - 1 };
	if (!gs_filter_parse(&filter, text.ptr, text.len, NULL))
		return;
	if (gs_str_is(number, "-2"))
		part.read_s = GS_READ_RESUMED;
	else if (gs_num_parse(&part.read_s, number.ptr, number.len, START_S))
		part.read_s = read_s_of(play, part.read_s);
	gs_session_each_refused(play->session, count_refused, &refused, play->now);
	play->is_unread[i] = part.read_s == -1 && refused == 0;
	play->is_history[i] = is_history;
	gs_session_add_part(play->session, &filter, &part, play->now);
	play->num_filters++;
}

static void
clear_filters(struct play *play)
{
	if (play->is_once)
		return;
	gs_session_clear(play->session, play->now);
	memset(play->is_unread, 0, sizeof(play->is_unread));
	play->num_filters = 0;
}

struct refused_list {
	struct gs_session_refused all[GS_SESSION_REFUSED];
	size_t num;
};

static void
list_refused(const struct gs_session_refused *refused, void *arg)
{
	struct refused_list *list = arg;

	check(list->num < GS_SESSION_REFUSED);
	list->all[list->num++] = *refused;
}

static void
restore_refused(struct play *play)
{
	struct refused_list *list = calloc(1, sizeof(*list));

	check(list != NULL);
	gs_session_each_refused(play->session, list_refused, list, play->now);
	for (size_t i = 0; i < list->num; i++)
		gs_session_restore_refused(play->session, &list->all[i]);
	free(list);
}

static void
note_ended(struct play *play)
{
	struct gs_session_ended ended;

	while (gs_session_next_ended(play->session, &ended)) {
		check(ended.i < play->num_filters && ended.end != GS_END_NONE);
		if (play->is_history[ended.i] ||
		    (ended.end != GS_END_TIMEOUT && ended.end != GS_END_INCONSISTENT))
			play->is_unread[ended.i] = false;
	}
}

static void
check_read(struct play *play)
{
	int64_t read_until_s = gs_session_read_until_s(play->session);

	note_ended(play);
	check(read_until_s >= play->read_until_s && read_until_s <= play->now.wall_s);
	for (size_t i = 0; i < play->num_filters; i++) {
		check(gs_session_part_read_s(play->session, i, play->now) <=
		    play->now.wall_s);
		check(!play->is_unread[i] || read_until_s == play->read_until_s);
	}
	play->read_until_s = read_until_s;
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
	else if (take(&step, "part "))
		add_part(play, step, false);
	else if (take(&step, "read "))
		add_part(play, step, true);
	else if (take(&step, "clear"))
		clear_filters(play);
	else if (take(&step, "full"))
		gs_session_make_full(play->session, play->now);
	else if (take(&step, "refused"))
		restore_refused(play);
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
		if (!play->is_once)
			check_read(play);
		len += end != NULL;
		rest = (struct gs_str){ rest.ptr + len, rest.len - len };
	}
	(void)gs_session_filters(play->session);
	gs_session_free(play->session);
	gs_buf_fini(&play->frame);
	free(play);
	return 0;
}
