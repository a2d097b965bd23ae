/*
 * What the test relay makes of our frames: NIP-01 by the book, within the limits of the
 * script, and with the faults that it asks for.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "fakerelay.h"
#include "json.h"
#include "mem.h"

#define NOT_A_REQ "ERROR: bad req: unparseable"

static const struct fake_about about_nothing;

void
fake_serve_open(struct fake_connection *connection)
{
	const char *challenge = connection->relay->script.challenge;

	(void)fake_rules_act(connection, FAKE_AT_OPEN, &about_nothing, NULL);
	if (challenge != NULL) {
		connection->challenge = gs_mem_str(challenge);
		fake_wire_answer(connection, "AUTH", NULL, challenge);
	}
}

/* ---- subscriptions */

static void
free_sub(struct fake_sub *sub)
{
	for (size_t i = 0; i < sub->num; i++)
		gs_filter_fini(&sub->filters[i]);
	free(sub->filters);
	free(sub->id);
}

static bool
end_sub(struct fake_connection *connection, const char *id)
{
	for (size_t i = 0; i < connection->num_subs; i++) {
		if (strcmp(connection->subs[i].id, id) != 0)
			continue;
		free_sub(&connection->subs[i]);
		connection->subs[i] = connection->subs[--connection->num_subs];
		return true;
	}
	return false;
}

static void
add_sub(struct fake_connection *connection, struct fake_sub sub)
{
	(void)end_sub(connection, sub.id);
	connection->subs = gs_mem_more(connection->subs, connection->num_subs,
	    &connection->cap_subs, sizeof(*connection->subs));
	connection->subs[connection->num_subs++] = sub;
}

void
fake_serve_fini(struct fake_connection *connection)
{
	while (connection->num_subs > 0)
		free_sub(&connection->subs[--connection->num_subs]);
	free(connection->subs);
	free(connection->challenge);
	gs_buf_fini(&connection->message);
}

/* ---- stored events */

static bool
matches(const struct fake_script *script, const struct gs_filter *filter,
    const struct gs_event *event)
{
	struct gs_filter wide = *filter;

	if (script->ignores_all)
		return true;
	if (script->ignores_until)
		wide.until = -1;
	if (script->ignores_since)
		wide.since = -1;
	return gs_filter_match(&wide, event);
}

static int64_t
limit_of(const struct fake_script *script, const struct gs_filter *filter)
{
	int64_t limit = script->page;

	if (filter->limit < 0 && script->default_limit < limit)
		limit = script->default_limit;
	if (filter->limit >= 0 && filter->limit < limit && !script->ignores_limit)
		limit = filter->limit;
	return limit;
}

/* The first event that is not too new; they stand newest first. */
static size_t
skip_newer(const struct fake_relay *relay, const struct gs_filter *filter)
{
	size_t low = 0, high = relay->store.num;

	if (filter->until < 0 || relay->script.ignores_until || relay->script.ignores_all)
		return 0;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (relay->store.events[middle]->event.created_at > filter->until)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* As many as all caps allow, none twice in a REQ; *left of the whole REQ. */
static size_t
pick(struct fake_relay *relay, const struct gs_filter *filter, int64_t *left,
    struct fake_event **picked)
{
	const struct fake_store *store = &relay->store;
	bool is_oldest = relay->script.order == FAKE_OLDEST;
	int64_t limit = limit_of(&relay->script, filter);
	size_t num = 0;

	for (size_t i = is_oldest ? 0 : skip_newer(relay, filter);
	     i < store->num && limit > 0 && *left > 0; i++) {
		struct fake_event *event =
		    store->events[is_oldest ? store->num - 1 - i : i];

		if (!matches(&relay->script, filter, &event->event))
			continue;
		limit--;
		if (event->sent == relay->reqs)
			continue;
		event->sent = relay->reqs;
		(*left)--;
		picked[num++] = event;
	}
	return num;
}

static void
serve_stored(struct fake_connection *connection, const char *id,
    const struct fake_about *about)
{
	struct fake_relay *relay = connection->relay;
	struct fake_event **picked =
	    gs_mem_array(relay->store.num + 1, sizeof(struct fake_event *));
	int64_t left = relay->script.total;

	relay->reqs++;
	for (size_t i = 0; i < about->num; i++) {
		size_t num = pick(relay, &about->filters[i], &left, picked);

		for (size_t j = 0; j < num; j++)
			fake_wire_event(connection, id,
			    picked[relay->script.order == FAKE_TURNED ? num - 1 - j : j],
			    about);
	}
	free(picked);
}

static void
serve_eose(struct fake_connection *connection, const char *id,
    const struct fake_about *about)
{
	if (!fake_rules_act(connection, FAKE_AT_EOSE, about, NULL))
		return;
	fake_log(connection->relay, connection->number,
	    "\"is\":\"eose\",\"sub\":\"%s\",\"events\":%" PRId64, id,
	    connection->counts[FAKE_AT_EVENT]);
	fake_wire_answer(connection, "EOSE", id, NULL);
	if (connection->relay->script.eose_twice)
		fake_wire_answer(connection, "EOSE", id, NULL);
}

/* ---- refusals */

static void
add_numbered(struct gs_buf *out, const char *text, int64_t number)
{
	for (; *text != '\0'; text++) {
		if (*text == '$' && text[1] == 'N') {
			gs_buf_printf(out, "%" PRId64, number);
			text++;
		} else {
			gs_buf_add_char(out, *text);
		}
	}
}

/* True if value is over the limit; the refusal is queued. */
static bool
refuse_over(struct fake_connection *connection, const struct fake_limit *limit,
    int64_t value, const char *sub)
{
	struct gs_buf text = GS_BUF_INIT;

	if (value <= limit->max)
		return false;
	add_numbered(&text, limit->text.data, limit->max);
	if (strcmp(limit->by, "close") == 0)
		fake_wire_push(connection, FAKE_BYE, LWS_CLOSE_STATUS_MESSAGE_TOO_LARGE,
		    &text);
	else if (strcmp(limit->by, "CLOSED") == 0 && sub != NULL)
		fake_wire_answer(connection, "CLOSED", sub, text.data);
	else
		fake_wire_answer(connection, "NOTICE", NULL, text.data);
	gs_buf_fini(&text);
	return true;
}

static int64_t
highest_limit(const struct fake_about *about)
{
	int64_t highest = 0;

	for (size_t i = 0; i < about->num; i++)
		if (about->filters[i].limit > highest)
			highest = about->filters[i].limit;
	return highest;
}

static bool
is_open(const struct fake_connection *connection, const char *id)
{
	for (size_t i = 0; i < connection->num_subs; i++)
		if (strcmp(connection->subs[i].id, id) == 0)
			return true;
	return false;
}

static bool
refuse_req(struct fake_connection *connection, const struct fake_about *about)
{
	const struct fake_script *script = &connection->relay->script;
	int64_t open =
	    (int64_t)connection->num_subs + (is_open(connection, about->sub) ? 0 : 1);

	if (script->needs_auth && !connection->is_known) {
		fake_wire_answer(connection, "CLOSED", about->sub, script->auth_text);
		return true;
	}
	return refuse_over(connection, &script->subid, (int64_t)strlen(about->sub),
		   about->sub) ||
	    refuse_over(connection, &script->filters, (int64_t)about->num, about->sub) ||
	    refuse_over(connection, &script->limit, highest_limit(about), about->sub) ||
	    refuse_over(connection, &script->subscriptions, open, about->sub);
}

/* ---- our frames */

static char *
take_string(struct gs_json_value value)
{
	struct gs_buf text = GS_BUF_INIT;

	gs_json_decode(&text, value);
	gs_buf_add(&text, "", 0);
	if (text.data == NULL)
		return gs_mem_str("");
	return gs_buf_take(&text);
}

/* False: a filter is none. */
static bool
read_filters(struct fake_sub *sub, struct gs_json *json)
{
	struct gs_json_value value;
	bool more, ok = true;

	while (gs_json_item(json, false, &more) && more && gs_json_skip(json, &value)) {
		struct gs_filter filter = GS_FILTER_INIT;

		if (!gs_filter_parse(&filter, value.raw.ptr, value.raw.len, NULL))
			ok = false;
		sub->filters =
		    gs_mem_resize(sub->filters, sub->num + 1, sizeof(*sub->filters));
		sub->filters[sub->num++] = filter;
	}
	return ok && sub->num > 0;
}

static void
answer_req(struct fake_connection *connection, const struct fake_about *about)
{
	const struct fake_script *script = &connection->relay->script;
	const char *id = script->sub != NULL ? script->sub : about->sub;

	if (script->eose_first)
		serve_eose(connection, id, about);
	serve_stored(connection, id, about);
	if (!script->eose_first && !script->eose_never)
		serve_eose(connection, id, about);
}

static void
serve_req(struct fake_connection *connection, struct gs_json *json)
{
	struct fake_sub sub = { .num = 0 };
	struct fake_about about = { .num = 0 };
	struct gs_json_value value;
	bool more;

	if (!gs_json_item(json, false, &more) || !more || !gs_json_next(json, &value))
		return;
	sub.id = take_string(value);
	if (!read_filters(&sub, json)) {
		fake_wire_answer(connection, "CLOSED", sub.id, NOT_A_REQ);
		free_sub(&sub);
		return;
	}
	about.sub = sub.id;
	about.filters = sub.filters;
	about.num = sub.num;
	if (!fake_rules_act(connection, FAKE_AT_REQ, &about, NULL) ||
	    refuse_req(connection, &about)) {
		free_sub(&sub);
		return;
	}
	add_sub(connection, sub);
	answer_req(connection, &about);
}

static void
serve_close(struct fake_connection *connection, struct gs_json *json)
{
	struct gs_json_value value;
	struct fake_about about = { .num = 0 };
	char *id;
	bool more;

	if (!gs_json_item(json, false, &more) || !more || !gs_json_next(json, &value))
		return;
	about.sub = id = take_string(value);
	(void)fake_rules_act(connection, FAKE_AT_CLOSE, &about, NULL);
	if (!end_sub(connection, id))
		fake_log(connection->relay, connection->number,
		    "\"is\":\"close of no subscription\",\"sub\":\"%s\"", id);
	free(id);
}

static void
log_message(const struct fake_connection *connection)
{
	const struct gs_buf *message = &connection->message;

	fake_log(connection->relay, connection->number, "\"got\":%.*s", (int)message->len,
	    message->data);
}

void
fake_serve_message(struct fake_connection *connection)
{
	const struct fake_script *script = &connection->relay->script;
	struct gs_json_value value;
	struct gs_json json;
	bool more;

	log_message(connection);
	if (refuse_over(connection, &script->message, (int64_t)connection->message.len,
		NULL))
		return;
	gs_json_init(&json, connection->message.data, connection->message.len,
	    GS_JSON_DEPTH);
	if (!gs_json_next(&json, &value) || value.type != GS_JSON_ARRAY ||
	    !gs_json_item(&json, true, &more) || !more || !gs_json_next(&json, &value))
		fake_wire_answer(connection, "NOTICE", NULL,
		    "ERROR: bad msg: unparseable message");
	else if (gs_json_is(value, "REQ"))
		serve_req(connection, &json);
	else if (gs_json_is(value, "CLOSE"))
		serve_close(connection, &json);
	else if (gs_json_is(value, "EVENT") || gs_json_is(value, "AUTH"))
		fake_publish(connection, &json, gs_json_is(value, "AUTH"));
	else
		fake_wire_answer(connection, "NOTICE", NULL,
		    "ERROR: bad msg: unknown cmd");
}

void
fake_serve_live(struct fake_relay *relay, const struct fake_event *event)
{
	for (struct fake_connection *at = relay->first; at != NULL; at = at->next) {
		for (size_t i = 0; i < at->num_subs; i++) {
			const struct fake_sub *sub = &at->subs[i];
			const struct fake_about about = { sub->id, sub->filters, sub->num,
				NULL };
			bool wanted = false;

			for (size_t j = 0; j < sub->num; j++)
				wanted |= matches(&relay->script, &sub->filters[j],
				    &event->event);
			if (wanted)
				fake_wire_event(at, sub->id, event, &about);
		}
	}
}
