/* The farm speaks NIP-01: REQ, CLOSE, and EVENT, which it takes without keeping it. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "farm.h"
#include "mem.h"

#define FILL_BYTES 65536 /* so much goes into the buffer at a time */

/* ---- subscriptions */

static void
free_sub(struct farm_sub *sub)
{
	for (size_t i = 0; i < sub->num; i++)
		gs_filter_fini(&sub->filters[i]);
	free(sub->filters);
}

static void
free_answer(struct farm_answer *answer)
{
	free(answer->invention);
	free(answer->events);
	free(answer);
}

static void
end_sub(struct farm_connection *connection, const char *id)
{
	struct farm_answer *answer;

	for (size_t i = 0; i < connection->num_subs; i++) {
		if (strcmp(connection->subs[i].id, id) != 0)
			continue;
		free_sub(&connection->subs[i]);
		connection->subs[i] = connection->subs[--connection->num_subs];
		break;
	}
	/* What is not sent yet stays away. */
	STAILQ_FOREACH(answer, &connection->answers, next)
	answer->is_closed |= strcmp(answer->sub, id) == 0;
}

static void
add_sub(struct farm_connection *connection, struct farm_sub *sub)
{
	end_sub(connection, sub->id);
	connection->subs = gs_mem_more(connection->subs, connection->num_subs,
	    &connection->cap_subs, sizeof(*sub));
	connection->subs[connection->num_subs++] = *sub;
}

void
farm_serve_fini(struct farm_connection *connection)
{
	struct farm_answer *answer;

	for (size_t i = 0; i < connection->num_subs; i++)
		free_sub(&connection->subs[i]);
	free(connection->subs);
	while ((answer = STAILQ_FIRST(&connection->answers)) != NULL) {
		STAILQ_REMOVE_HEAD(&connection->answers, next);
		free_answer(answer);
	}
}

/* ---- answers */

static struct farm_answer *
add_answer(struct farm_connection *connection, const char *sub)
{
	struct farm_answer *answer = gs_mem_new(sizeof(*answer));

	(void)snprintf(answer->sub, sizeof(answer->sub), "%s", sub);
	STAILQ_INSERT_TAIL(&connection->answers, answer, next);
	farm_wire_wake(connection);
	return answer;
}

static void
send_event(struct farm_connection *connection, const struct farm_answer *answer,
    const char *line, size_t len)
{
	static struct gs_buf frame;

	gs_buf_clear(&frame);
	gs_buf_printf(&frame, "[\"EVENT\",\"%s\",", answer->sub);
	gs_buf_add(&frame, line, len);
	gs_buf_add_char(&frame, ']');
	farm_wire_text(connection, frame.data, frame.len);
	connection->relay->counts.sent++;
}

static void
send_eose(struct farm_connection *connection, const struct farm_answer *answer)
{
	struct farm_counts *counts = &connection->relay->counts;
	char frame[FARM_SUB_BYTES + 16];
	int len = snprintf(frame, sizeof(frame), "[\"EOSE\",\"%s\"]", answer->sub);

	farm_wire_text(connection, frame, (size_t)len);
	if (counts->first_eose_ms == 0)
		counts->first_eose_ms = farm_wall_ms();
}

/* False: the answer is complete. */
static bool
send_more(struct farm_connection *connection, struct farm_answer *answer)
{
	struct farm *farm = connection->farm;

	if (answer->is_closed)
		return false;
	if (answer->at < answer->num) {
		const struct farm_event *event = answer->events[answer->at++];

		send_event(connection, answer, event->line, event->len);
		return true;
	}
	if (answer->invention != NULL && farm_invention_next(farm, answer->invention)) {
		send_event(connection, answer, farm->draft.line.data,
		    farm->draft.line.len);
		return true;
	}
	if (answer->has_eose)
		send_eose(connection, answer);
	return false;
}

void
farm_serve_fill(struct farm_connection *connection)
{
	const struct farm *farm = connection->farm;
	struct farm_answer *answer;

	while (connection->out.len < FILL_BYTES &&
	    (farm->pace == 0 || connection->budget > 0) &&
	    (answer = STAILQ_FIRST(&connection->answers)) != NULL) {
		if (send_more(connection, answer)) {
			connection->budget--;
			continue;
		}
		STAILQ_REMOVE_HEAD(&connection->answers, next);
		free_answer(answer);
	}
}

void
farm_serve_tick(struct farm *farm)
{
	struct farm_connection *connection;

	for (size_t i = 0; i < farm->num_relays; i++)
		LIST_FOREACH(connection, &farm->relays[i]->connections, next)
		{
			connection->budget = farm->pace;
			if (!STAILQ_EMPTY(&connection->answers))
				farm_wire_wake(connection);
		}
}

/* An event goes out once a REQ, whichever of its filters match. */
static void
add_new(struct farm *farm, struct farm_answer *answer, struct farm_event **found,
    size_t num)
{
	answer->events = gs_mem_resize(answer->events, answer->num + num + 1,
	    sizeof(struct farm_event *));
	for (size_t i = 0; i < num; i++) {
		if (found[i]->sent == farm->reqs)
			continue;
		found[i]->sent = farm->reqs;
		answer->events[answer->num++] = found[i];
	}
}

static void
answer_req(struct farm_connection *connection, const struct farm_sub *sub)
{
	struct farm *farm = connection->farm;
	struct farm_relay *relay = connection->relay;
	struct farm_answer *answer = NULL;
	struct farm_event **found;
	size_t num;

	farm->reqs++;
	for (size_t i = 0; i < sub->num; i++) {
		if (answer == NULL || relay->is_inventing)
			answer = add_answer(connection, sub->id);
		if (relay->is_inventing)
			answer->invention =
			    farm_invention_new(farm, relay, &sub->filters[i]);
		if (answer->invention != NULL)
			continue;
		num = farm_world_find(farm, relay, &sub->filters[i], &found);
		add_new(farm, answer, found, num);
		free(found);
	}
	if (answer != NULL)
		answer->has_eose = true;
}

static bool
wants(const struct farm_sub *sub, const struct gs_event *event)
{
	for (size_t i = 0; i < sub->num; i++)
		if (gs_filter_match(&sub->filters[i], event))
			return true;
	return false;
}

static void
push_live(struct farm_connection *connection, const struct gs_event *parsed,
    struct farm_event *event)
{
	for (size_t i = 0; i < connection->num_subs; i++) {
		struct farm_answer *answer;

		if (!wants(&connection->subs[i], parsed))
			continue;
		answer = add_answer(connection, connection->subs[i].id);
		answer->events = gs_mem_array(1, sizeof(struct farm_event *));
		answer->events[answer->num++] = event;
	}
}

void
farm_serve_live(struct farm *farm, struct farm_event *event)
{
	static struct gs_event parsed;
	struct farm_connection *connection;

	if (gs_event_parse(&parsed, event->line, event->len, NULL) != GS_EVENT_OK)
		return;
	for (size_t i = 0; i < event->on->num; i++)
		LIST_FOREACH(connection, &farm->relays[event->on->relays[i]]->connections,
		    next)
	push_live(connection, &parsed, event);
}

/* ---- REQ */

static void
say(struct farm_connection *connection, const char *verb, const char *sub,
    const char *text)
{
	struct gs_buf frame = GS_BUF_INIT;

	gs_buf_printf(&frame, "[\"%s\",", verb);
	if (sub != NULL)
		gs_buf_printf(&frame, "\"%s\",", sub);
	gs_buf_printf(&frame, "\"%s\"]", text);
	farm_wire_text(connection, frame.data, frame.len);
	gs_buf_fini(&frame);
	connection->relay->counts.refused++;
}

static void
count_filter(struct farm_counts *counts, const struct gs_filter *filter)
{
	counts->filters++;
	if (filter->since < 0) {
		counts->unbounded++;
		return;
	}
	if (counts->first_live_ms == 0)
		counts->first_live_ms = farm_wall_ms();
	if (counts->since_min < 0 || filter->since < counts->since_min)
		counts->since_min = filter->since;
	if (filter->since > counts->since_max)
		counts->since_max = filter->since;
}

static void
count_req(const struct farm_connection *connection, const struct farm_sub *sub)
{
	struct farm_counts *counts = &connection->relay->counts;
	FILE *log = connection->farm->log;

	counts->reqs++;
	if (counts->first_req_ms == 0)
		counts->first_req_ms = farm_wall_ms();
	for (size_t i = 0; i < sub->num; i++)
		count_filter(counts, &sub->filters[i]);
	if (log == NULL)
		return;
	(void)fprintf(log, "{\"ms\":%" PRId64 ",\"relay\":\"%s\",\"got\":%.*s}\n",
	    farm_wall_ms(), connection->relay->name, (int)connection->message.len,
	    connection->message.data);
	(void)fflush(log);
}

static const char *
find_fault(const struct farm_connection *connection, const struct farm_sub *sub)
{
	const struct farm_options *options = &connection->farm->options;
	size_t open = connection->num_subs + 1;

	for (size_t i = 0; i < connection->num_subs; i++)
		open -= strcmp(connection->subs[i].id, sub->id) == 0;
	if (open > (size_t)options->max_subscriptions)
		return "ERROR: too many concurrent REQs";
	if (sub->num > (size_t)options->max_filters)
		return "ERROR: bad req: arr too big";
	return NULL;
}

/* The id of a subscription, which ought to need no escapes. */
static bool
read_sub_id(struct gs_json *json, char id[static FARM_SUB_BYTES])
{
	struct gs_json_value value;
	bool more;

	if (!gs_json_item(json, false, &more) || !more || !gs_json_next(json, &value) ||
	    value.type != GS_JSON_STRING || value.escaped ||
	    value.raw.len >= FARM_SUB_BYTES)
		return false;
	memcpy(id, value.raw.ptr, value.raw.len);
	id[value.raw.len] = '\0';
	return true;
}

static bool
read_filters(struct farm_sub *sub, struct gs_json *json)
{
	struct gs_json_value value;
	size_t cap = 0;
	bool more;

	while (gs_json_item(json, false, &more) && more && gs_json_skip(json, &value)) {
		struct gs_filter filter = GS_FILTER_INIT;

		if (!gs_filter_parse(&filter, value.raw.ptr, value.raw.len, NULL))
			return false;
		sub->filters =
		    gs_mem_more(sub->filters, sub->num, &cap, sizeof(*sub->filters));
		sub->filters[sub->num++] = filter;
	}
	return sub->num > 0;
}

static void
serve_req(struct farm_connection *connection, struct gs_json *json)
{
	struct farm_sub sub = { .num = 0 };
	const char *fault;

	if (!read_sub_id(json, sub.id)) {
		say(connection, "NOTICE", NULL, "ERROR: bad req: subscription id");
		return;
	}
	fault = read_filters(&sub, json) ? find_fault(connection, &sub)
					 : "ERROR: bad req: unparseable filter";
	if (fault != NULL) {
		say(connection, "CLOSED", sub.id, fault);
		free_sub(&sub);
		return;
	}
	count_req(connection, &sub);
	add_sub(connection, &sub);
	answer_req(connection, &connection->subs[connection->num_subs - 1]);
}

static void
serve_close(struct farm_connection *connection, struct gs_json *json)
{
	char id[FARM_SUB_BYTES];

	connection->relay->counts.closes++;
	if (read_sub_id(json, id))
		end_sub(connection, id);
}

void
farm_serve_message(struct farm_connection *connection)
{
	const struct gs_buf *message = &connection->message;
	struct gs_json_value value;
	struct gs_json json;
	bool more;

	if (message->len > (size_t)connection->farm->options.max_message) {
		say(connection, "NOTICE", NULL, "ERROR: message too large");
		return;
	}
	gs_json_init(&json, message->data, message->len, GS_JSON_DEPTH);
	if (!gs_json_next(&json, &value) || value.type != GS_JSON_ARRAY ||
	    !gs_json_item(&json, true, &more) || !more || !gs_json_next(&json, &value))
		say(connection, "NOTICE", NULL, "ERROR: bad msg: unparseable message");
	else if (gs_json_is(value, "REQ"))
		serve_req(connection, &json);
	else if (gs_json_is(value, "CLOSE"))
		serve_close(connection, &json);
	else
		say(connection, "NOTICE", NULL, "ERROR: bad msg: unknown cmd");
}
