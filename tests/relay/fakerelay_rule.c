/*
 * The rules of a script: at which moments the test relay does something else than it
 * should, and what.
 */
#include <string.h>

#include "fakerelay.h"
#include "hex.h"
#include "json.h"
#include "mem.h"

struct fake_rule *
fake_rule_add(struct fake_script *script, enum fake_moment moment)
{
	size_t num = script->num_rules++;

	script->rules =
	    gs_mem_resize(script->rules, script->num_rules, sizeof(*script->rules));
	script->rules[num] = (struct fake_rule){
		.moment = moment, .kind = -1, .filters_over = -1, .times = FAKE_NEVER
	};
	return &script->rules[num];
}

struct fake_action *
fake_action_add(struct fake_actions *actions, enum fake_verb verb, int64_t number,
    const char *text)
{
	size_t num = actions->num++;

	actions->list =
	    gs_mem_resize(actions->list, actions->num, sizeof(*actions->list));
	actions->list[num] = (struct fake_action){ .verb = verb, .number = number };
	if (text != NULL)
		gs_buf_add_str(&actions->list[num].text, text);
	return &actions->list[num];
}

/* The text of an action: a string, bytes in hex, or any JSON to be sent. */
static void
add_value(struct gs_buf *buf, jv value, bool is_hex)
{
	jv text = jv_get_kind(value) == JV_KIND_STRING
	    ? jv_copy(value)
	    : jv_dump_string(jv_copy(value), 0);
	struct gs_str str = gs_json_str(text);

	if (!is_hex)
		gs_buf_add(buf, str.ptr, str.len);
	else if (gs_hex_parse((uint8_t *)gs_buf_room(buf, str.len), str.len / 2, str.ptr,
		     str.len))
		buf->len += str.len / 2;
	else
		fake_die("script: hex is wrong");
	jv_free(text);
}

struct verb_name {
	const char *name;
	enum fake_verb verb;
	bool has_text; /* the value is the text, else the number */
};

static const struct verb_name verb_names[] = {
	{ "send", FAKE_SEND, true },
	{ "text", FAKE_SEND, true },
	{ "hex", FAKE_SEND, true },
	{ "raw", FAKE_RAW, true },
	{ "stall_ms", FAKE_STALL, false },
	{ "drip_ms", FAKE_DRIP, false },
	{ "fragment", FAKE_FRAGMENT, false },
	{ "ping", FAKE_PING, false },
	{ "close", FAKE_BYE, false },
	{ "fin", FAKE_FIN, false },
	{ "rst", FAKE_RST, false },
	{ "stray", FAKE_STRAY, false },
	{ "corrupt", FAKE_CORRUPT, true },
	{ "challenge", FAKE_CHALLENGE, true },
	{ "skip", FAKE_SKIP, false },
};

static void
read_action(struct fake_actions *actions, jv what, const struct verb_name *name, jv value)
{
	struct fake_action *action = fake_action_add(actions, name->verb, 1, NULL);
	bool is_hex = strcmp(name->name, "hex") == 0 || name->verb == FAKE_RAW;
	jv with;

	if (name->has_text)
		add_value(&action->text, value, is_hex);
	else if (jv_get_kind(value) == JV_KIND_NUMBER)
		action->number = (int64_t)jv_number_value(value);
	action->number = fake_number(what, "times", action->number);
	action->fill = fake_number(what, "fill", action->fill);
	if (gs_json_get(what, "with", JV_KIND_STRING, &with))
		add_value(&action->fill_text, with, false);
	else
		gs_buf_add_char(&action->fill_text, 'x');
	if (name->verb == FAKE_BYE && gs_json_get(what, "reason", JV_KIND_STRING, &with))
		add_value(&action->text, with, false);
}

void
fake_actions_read(struct fake_actions *actions, jv list)
{
	jv_array_foreach(list, i, what)
	{
		const struct verb_name *found = NULL;

		for (size_t j = 0; j < sizeof(verb_names) / sizeof(*verb_names); j++) {
			jv value =
			    jv_object_get(jv_copy(what), jv_string(verb_names[j].name));

			if (jv_is_valid(value)) {
				found = &verb_names[j];
				read_action(actions, what, found, value);
			}
			jv_free(value);
		}
		if (found == NULL)
			fake_die("script: an action is none of ours");
		jv_free(what);
	}
}

static enum fake_moment
parse_moment(jv rule)
{
	static const char *const names[FAKE_MOMENTS] = { "open", "req", "event", "eose",
		"close", "publish" };
	jv on;

	if (gs_json_get(rule, "on", JV_KIND_STRING, &on))
		for (size_t i = 0; i < FAKE_MOMENTS; i++)
			if (strcmp(jv_string_value(on), names[i]) == 0)
				return (enum fake_moment)i;
	fake_die("script: a rule is on no moment of ours");
}

void
fake_rules_read(struct fake_script *script, jv list)
{
	jv actions;

	jv_array_foreach(list, i, from)
	{
		struct fake_rule *rule = fake_rule_add(script, parse_moment(from));

		rule->nth = fake_number(from, "nth", rule->nth);
		rule->every = fake_number(from, "every", rule->every);
		rule->connection = fake_number(from, "connection", rule->connection);
		rule->connections = fake_number(from, "connections", rule->connections);
		rule->kind = fake_number(from, "kind", rule->kind);
		rule->filters_over =
		    fake_number(from, "filters_over", rule->filters_over);
		rule->times = fake_number(from, "times", rule->times);
		if (gs_json_get(from, "do", JV_KIND_ARRAY, &actions))
			fake_actions_read(&rule->actions, actions);
		jv_free(from);
	}
}

static bool
has_kind(const struct fake_about *about, int64_t kind)
{
	if (about->event != NULL)
		return about->event->kind == kind;
	for (size_t i = 0; i < about->num; i++)
		for (size_t j = 0; j < about->filters[i].num_kinds; j++)
			if (about->filters[i].kinds[j] == kind)
				return true;
	return false;
}

static bool
is_due(const struct fake_rule *rule, const struct fake_connection *connection,
    const struct fake_about *about)
{
	int64_t count = connection->counts[rule->moment];
	int64_t number = (int64_t)connection->number;

	return rule->fired < rule->times && (rule->nth == 0 || rule->nth == count) &&
	    (rule->every == 0 || count % rule->every == 0) &&
	    (rule->connection == 0 || rule->connection == number) &&
	    (rule->connections == 0 || number <= rule->connections) &&
	    (rule->kind < 0 || has_kind(about, rule->kind)) &&
	    (rule->filters_over < 0 || (int64_t)about->num > rule->filters_over);
}

static void
add_event_of(struct gs_buf *out, const struct fake_connection *connection)
{
	const struct fake_store *store = &connection->relay->store;

	if (store->num > 0)
		gs_buf_add(out, store->events[0]->line, store->events[0]->len);
}

/* What stands for $SUB, $EVENT (the newest), $ID (as published) and $FILL. */
static size_t
expand_name(struct gs_buf *out, const struct fake_connection *connection,
    const struct fake_action *action, const struct fake_about *about, struct gs_str rest)
{
	if (rest.len >= 4 && memcmp(rest.ptr, "$SUB", 4) == 0) {
		gs_buf_add_str(out, about->sub != NULL ? about->sub : "");
		return 4;
	}
	if (rest.len >= 3 && memcmp(rest.ptr, "$ID", 3) == 0 && about->event != NULL) {
		(void)gs_hex_write(gs_buf_room(out, 64), about->event->id, 32);
		out->len += 64;
		return 3;
	}
	if (rest.len >= 5 && memcmp(rest.ptr, "$FILL", 5) == 0) {
		for (int64_t i = 0; i < action->fill; i++)
			gs_buf_add(out, action->fill_text.data, action->fill_text.len);
		return 5;
	}
	if (rest.len >= 6 && memcmp(rest.ptr, "$EVENT", 6) == 0) {
		add_event_of(out, connection);
		return 6;
	}
	return 0;
}

static void
expand(struct gs_buf *out, const struct fake_connection *connection,
    const struct fake_action *action, const struct fake_about *about)
{
	const char *text = action->text.data;
	size_t at = 0;

	while (at < action->text.len) {
		size_t used = text[at] != '$'
		    ? 0
		    : expand_name(out, connection, action, about,
			  (struct gs_str){ text + at, action->text.len - at });

		if (used == 0)
			gs_buf_add_char(out, text[at++]);
		at += used;
	}
}

static void
flip(char *digit)
{
	*digit = *digit == '0' ? '1' : '0';
}

/* Behind "name":" in a line. */
static char *
find_member(char *line, const char *name)
{
	struct gs_buf wanted = GS_BUF_INIT;
	char *found;

	gs_buf_printf(&wanted, "\"%s\":\"", name);
	found = strstr(line, wanted.data);
	if (found != NULL)
		found += wanted.len;
	gs_buf_fini(&wanted);
	return found;
}

/* "id" and "sig" change a digit, "cut" leaves half of the frame. */
static void
corrupt(struct fake_item *due, const struct gs_buf *how)
{
	struct gs_buf frame = GS_BUF_INIT;
	char *digit;

	if (due == NULL || due->event == NULL)
		return;
	gs_buf_add(&frame, due->text, due->len);
	gs_buf_add(&frame, due->event->line, due->event->len);
	gs_buf_add_char(&frame, ']');
	if (strcmp(how->data, "cut") == 0)
		gs_buf_cut(&frame, frame.len / 2);
	else if ((digit = find_member(frame.data, how->data)) != NULL)
		flip(digit);
	due->event = NULL;
	free(due->text);
	due->len = frame.len;
	due->text = gs_buf_take(&frame);
}

static void
push_strays(struct fake_connection *connection, const struct fake_about *about,
    int64_t number)
{
	const struct fake_event *stray =
	    fake_store_stray(&connection->relay->store, about);
	struct gs_buf frame = GS_BUF_INIT;

	if (stray == NULL || about->sub == NULL)
		return;
	gs_buf_printf(&frame, "[\"EVENT\",\"%s\",%s]", about->sub, stray->line);
	for (int64_t i = 0; i < number; i++)
		fake_wire_push(connection, FAKE_SEND, 1, &frame);
	gs_buf_fini(&frame);
}

static void
push_challenge(struct fake_connection *connection, const struct gs_buf *text)
{
	free(connection->challenge);
	connection->challenge = gs_mem_str(text->data);
	fake_wire_answer(connection, "AUTH", NULL, connection->challenge);
}

static void
push_text(struct fake_connection *connection, const struct fake_action *action,
    const struct fake_about *about)
{
	struct gs_buf text = GS_BUF_INIT;

	expand(&text, connection, action, about);
	for (int64_t i = 0; i < action->number; i++)
		fake_wire_push(connection, action->verb, 1, &text);
	gs_buf_fini(&text);
}

bool
fake_actions_do(struct fake_connection *connection, const struct fake_actions *actions,
    const struct fake_about *about, struct fake_item *due)
{
	bool goes_on = true;

	for (size_t i = 0; i < actions->num; i++) {
		const struct fake_action *action = &actions->list[i];

		switch (action->verb) {
		case FAKE_SEND:
		case FAKE_RAW:
			push_text(connection, action, about);
			break;
		case FAKE_STRAY:
			push_strays(connection, about, action->number);
			break;
		case FAKE_CORRUPT:
			corrupt(due, &action->text);
			break;
		case FAKE_CHALLENGE:
			push_challenge(connection, &action->text);
			break;
		case FAKE_SKIP:
			goes_on = false;
			break;
		case FAKE_PING:
			for (int64_t j = 0; j < action->number; j++)
				fake_wire_push(connection, FAKE_PING, 1, NULL);
			break;
		case FAKE_STALL:
		case FAKE_DRIP:
		case FAKE_FRAGMENT:
		case FAKE_BYE:
		case FAKE_FIN:
		case FAKE_RST:
			fake_wire_push(connection, action->verb, action->number,
			    &action->text);
			break;
		}
	}
	return goes_on;
}

bool
fake_rules_act(struct fake_connection *connection, enum fake_moment moment,
    const struct fake_about *about, struct fake_item *due)
{
	struct fake_script *script = &connection->relay->script;
	bool goes_on = true;

	connection->counts[moment]++;
	for (size_t i = 0; i < script->num_rules; i++) {
		struct fake_rule *rule = &script->rules[i];

		if (rule->moment != moment || !is_due(rule, connection, about))
			continue;
		rule->fired++;
		if (!fake_actions_do(connection, &rule->actions, about, due))
			goes_on = false;
	}
	return goes_on;
}
