/*
 * What the test relay does by itself: events and faults at times of the script, and
 * those that a test writes into the control file meanwhile.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "err.h"
#include "fakerelay.h"
#include "json.h"
#include "mem.h"

#define TICK_US 5000
#define READ_BYTES 65536

static void
send_made(struct fake_event *event, void *arg)
{
	fake_serve_live(arg, event);
}

static void
do_on_all(struct fake_relay *relay, const struct fake_actions *actions)
{
	for (struct fake_connection *at = relay->first; at != NULL; at = at->next) {
		struct fake_about about = { .num = 0 };

		if (at->num_subs > 0)
			about.sub = at->subs[at->num_subs - 1].id;
		(void)fake_actions_do(at, actions, &about, NULL);
	}
}

static void
publish(struct fake_relay *relay, struct gs_str line)
{
	bool is_new;
	struct fake_event *event = fake_store_add(&relay->store, line, &is_new);

	if (event == NULL)
		fake_die("a live event is none");
	if (is_new)
		fake_serve_live(relay, event);
}

static void
do_laters(struct fake_relay *relay, int64_t now_ms)
{
	for (size_t i = 0; i < relay->script.num_laters; i++) {
		struct fake_later *later = &relay->script.laters[i];

		if (later->is_done || relay->opened_ms < 0 ||
		    now_ms < relay->opened_ms + later->at_ms)
			continue;
		later->is_done = true;
		if (later->event.len > 0)
			publish(relay,
			    (struct gs_str){ later->event.data, later->event.len });
		do_on_all(relay, &later->actions);
	}
}

/* A line of the control file: an event, {"make":[...]} or {"do":[...]}. */
static void
obey(struct fake_relay *relay, struct gs_str line)
{
	struct fake_actions actions = { .num = 0 };
	struct gs_err err;
	jv tree, list;

	if (!gs_json_tree(&tree, line.ptr, line.len, &err))
		fake_die(err.text);
	if (gs_json_get(tree, "do", JV_KIND_ARRAY, &list)) {
		fake_actions_read(&actions, list);
		do_on_all(relay, &actions);
	} else if (gs_json_get(tree, "make", JV_KIND_ARRAY, &list)) {
		jv_array_foreach(list, i, what)
		{
			fake_store_make(&relay->store, what, send_made, relay);
			jv_free(what);
		}
	} else {
		publish(relay, line);
	}
	jv_free(tree);
	fake_log(relay, 0, "\"is\":\"control\"");
}

static void
read_control(struct fake_relay *relay)
{
	char *end;
	ssize_t got;

	if (relay->control_fd < 0)
		return;
	while ((got = read(relay->control_fd, gs_buf_room(&relay->control, READ_BYTES),
		    READ_BYTES)) > 0)
		relay->control.len += (size_t)got;
	while (relay->control.len > 0 &&
	    (end = memchr(relay->control.data, '\n', relay->control.len)) != NULL) {
		size_t len = (size_t)(end - relay->control.data);

		obey(relay, (struct gs_str){ relay->control.data, len });
		relay->control.len -= len + 1;
		memmove(relay->control.data, end + 1, relay->control.len);
	}
}

struct tick {
	lws_sorted_usec_list_t sul;
	struct fake_relay *relay;
};

static void
tick(lws_sorted_usec_list_t *sul)
{
	struct tick *at = lws_container_of(sul, struct tick, sul);
	int64_t now_ms = fake_now_ms();

	read_control(at->relay);
	do_laters(at->relay, now_ms);
	fake_raw_tick(at->relay, now_ms);
	lws_sul_schedule(at->relay->context, 0, &at->sul, tick, TICK_US);
}

void
fake_later_start(struct fake_relay *relay)
{
	struct tick *first = gs_mem_new(sizeof(*first));

	first->relay = relay;
	lws_sul_schedule(relay->context, 0, &first->sul, tick, TICK_US);
}
