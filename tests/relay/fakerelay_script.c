/*
 * Reads the script of the test relay; README says what may stand in it.  What it
 * does not know is refused, so that no test believes in a fault that never was.
 */
#include <stdlib.h>
#include <string.h>

#include "fakerelay.h"
#include "file.h"
#include "json.h"
#include "mem.h"

#define SCRIPT_BYTES (16u * 1024 * 1024)

static void
set_limit(struct fake_limit *limit, const char *by, const char *text)
{
	limit->max = FAKE_NEVER;
	limit->by = by;
	gs_buf_add_str(&limit->text, text);
}

/* The texts are those of strfry, rnostr and nostr-rs-relay. */
void
fake_script_init(struct fake_script *script)
{
	*script = (struct fake_script){ .page = FAKE_NEVER,
		.total = FAKE_NEVER,
		.default_limit = FAKE_NEVER,
		.keeps = true,
		.auth_text = "auth-required: we want to know you",
		.nip11_status = 200 };
	set_limit(&script->subscriptions, "NOTICE", "ERROR: too many concurrent REQs");
	set_limit(&script->filters, "CLOSED", "ERROR: bad req: arr too big");
	set_limit(&script->message, "NOTICE", "message too large (more than $N)");
	set_limit(&script->limit, "NOTICE", "invalid: limitation.max_limit $N");
	set_limit(&script->subid, "NOTICE",
	    "Subscription error: Subscription identifier max length exceeded");
}

/* Kept until the end. */
static const char *
copy_text(jv value)
{
	jv text = jv_get_kind(value) == JV_KIND_STRING
	    ? jv_copy(value)
	    : jv_dump_string(jv_copy(value), 0);
	struct gs_str str = gs_json_str(text);
	char *copy = gs_mem_dup(str.ptr, str.len);

	jv_free(text);
	return copy;
}

int64_t
fake_number(jv object, const char *key, int64_t otherwise)
{
	int64_t number;

	return gs_json_get_int(object, key, &number) ? number : otherwise;
}

/* A number, or {"max","by","text"}. */
static void
read_limit(struct fake_limit *limit, jv value)
{
	jv text;

	if (jv_get_kind(value) == JV_KIND_NUMBER) {
		limit->max = (int64_t)jv_number_value(value);
		return;
	}
	limit->max = fake_number(value, "max", limit->max);
	if (gs_json_get(value, "by", JV_KIND_STRING, &text))
		limit->by = copy_text(text);
	if (gs_json_get(value, "text", JV_KIND_STRING, &text)) {
		gs_buf_clear(&limit->text);
		gs_buf_add_str(&limit->text, jv_string_value(text));
	}
}

static void
read_ignores(struct fake_script *script, jv list)
{
	jv_array_foreach(list, i, name)
	{
		const char *text = jv_string_value(name);

		script->ignores_until |= strcmp(text, "until") == 0;
		script->ignores_since |= strcmp(text, "since") == 0;
		script->ignores_limit |= strcmp(text, "limit") == 0;
		script->ignores_all |= strcmp(text, "filter") == 0;
		jv_free(name);
	}
}

static void
read_auth(struct fake_script *script, jv what)
{
	jv value;

	if (gs_json_get(what, "challenge", JV_KIND_STRING, &value))
		script->challenge = copy_text(value);
	if (gs_json_get(what, "text", JV_KIND_STRING, &value))
		script->auth_text = copy_text(value);
	script->needs_auth = gs_json_get(what, "required", JV_KIND_TRUE, &value);
}

/* "raw" as it is, or "status", "headers" and "body". */
static void
write_answer(struct gs_buf *out, jv what)
{
	jv raw, headers, body;
	int64_t status = 0;

	if (gs_json_get(what, "raw", JV_KIND_STRING, &raw)) {
		gs_buf_add_str(out, jv_string_value(raw));
		return;
	}
	status = fake_number(what, "status", status);
	gs_buf_printf(out, "HTTP/1.1 %d Test\r\n", (int)status);
	if (gs_json_get(what, "headers", JV_KIND_ARRAY, &headers)) {
		jv_array_foreach(headers, i, header)
		{
			gs_buf_printf(out, "%s\r\n", jv_string_value(header));
			jv_free(header);
		}
	}
	if (!gs_json_get(what, "body", JV_KIND_STRING, &body))
		gs_buf_add_str(out, "Content-Length: 0\r\nConnection: close\r\n\r\n");
	else
		gs_buf_printf(out, "Content-Length: %d\r\nConnection: close\r\n\r\n%s",
		    jv_string_length_bytes(jv_copy(body)), jv_string_value(body));
}

static void
read_answers(struct fake_script *script, jv list)
{
	jv value;

	jv_array_foreach(list, i, what)
	{
		struct fake_answer answer = { .times = FAKE_NEVER };

		answer.times = fake_number(what, "times", answer.times);
		answer.drip_ms = fake_number(what, "drip_ms", answer.drip_ms);
		answer.is_stalled = gs_json_get(what, "stall", JV_KIND_TRUE, &value);
		if (!answer.is_stalled)
			write_answer(&answer.text, what);
		script->answers = gs_mem_resize(script->answers, script->num_answers + 1,
		    sizeof(*script->answers));
		script->answers[script->num_answers++] = answer;
		jv_free(what);
	}
}

static void
add_later(struct fake_script *script, struct fake_later *later)
{
	script->laters = gs_mem_resize(script->laters, script->num_laters + 1,
	    sizeof(*script->laters));
	script->laters[script->num_laters++] = *later;
}

static void
read_laters(struct fake_script *script, jv list)
{
	jv value;

	jv_array_foreach(list, i, what)
	{
		struct fake_later later = { .at_ms = 0 };

		later.at_ms = fake_number(what, "at_ms", later.at_ms);
		if (gs_json_get(what, "event", JV_KIND_OBJECT, &value)) {
			const char *text = copy_text(value);

			gs_buf_add_str(&later.event, text);
		}
		if (gs_json_get(what, "do", JV_KIND_ARRAY, &value))
			fake_actions_read(&later.actions, value);
		add_later(script, &later);
		jv_free(what);
	}
}

static void
read_eose(struct fake_script *script, const char *name)
{
	script->eose_first = strcmp(name, "first") == 0;
	script->eose_twice = strcmp(name, "twice") == 0;
	script->eose_never = strcmp(name, "never") == 0;
}

static void
read_order(struct fake_script *script, const char *name)
{
	script->order = strcmp(name, "oldest") == 0 ? FAKE_OLDEST
	    : strcmp(name, "turned") == 0	    ? FAKE_TURNED
						    : FAKE_NEWEST;
}

static void
make_events(struct fake_store *store, jv list)
{
	jv_array_foreach(list, i, what)
	{
		fake_store_make(store, what, NULL, NULL);
		jv_free(what);
	}
}

static bool
read_number(struct fake_script *script, const char *key, jv value)
{
	struct {
		const char *name;
		int64_t *number;
	} numbers[] = {
		{ "page", &script->page },
		{ "total", &script->total },
		{ "default_limit", &script->default_limit },
		{ "nip11_status", &script->nip11_status },
		{ "refuse", &script->refuse },
		{ "listen_after_ms", &script->listen_after_ms },
	};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		if (strcmp(key, numbers[i].name) != 0)
			continue;
		if (jv_get_kind(value) != JV_KIND_NUMBER)
			fake_die("script: not a number");
		*numbers[i].number = (int64_t)jv_number_value(value);
		return true;
	}
	return false;
}

static bool
read_limits(struct fake_script *script, const char *key, jv value)
{
	struct {
		const char *name;
		struct fake_limit *limit;
	} limits[] = {
		{ "max_subscriptions", &script->subscriptions },
		{ "max_filters", &script->filters },
		{ "max_message", &script->message },
		{ "max_limit", &script->limit },
		{ "max_subid", &script->subid },
	};

	for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++) {
		if (strcmp(key, limits[i].name) != 0)
			continue;
		read_limit(limits[i].limit, value);
		return true;
	}
	return false;
}

static bool
read_list(struct fake_relay *relay, const char *key, jv value)
{
	struct fake_script *script = &relay->script;

	if (jv_get_kind(value) != JV_KIND_ARRAY)
		return false;
	if (strcmp(key, "ignores") == 0)
		read_ignores(script, value);
	else if (strcmp(key, "rules") == 0)
		fake_rules_read(script, value);
	else if (strcmp(key, "upgrade") == 0)
		read_answers(script, value);
	else if (strcmp(key, "live") == 0)
		read_laters(script, value);
	else if (strcmp(key, "make") == 0)
		make_events(&relay->store, value);
	else
		return false;
	return true;
}

static bool
read_text(struct fake_relay *relay, const char *key, jv value)
{
	struct fake_script *script = &relay->script;

	if (jv_get_kind(value) != JV_KIND_STRING)
		return false;
	if (strcmp(key, "events") == 0)
		fake_store_load(&relay->store, jv_string_value(value));
	else if (strcmp(key, "order") == 0)
		read_order(script, jv_string_value(value));
	else if (strcmp(key, "eose") == 0)
		read_eose(script, jv_string_value(value));
	else if (strcmp(key, "sub") == 0)
		script->sub = copy_text(value);
	else
		return false;
	return true;
}

static void
read_member(struct fake_relay *relay, const char *key, jv value)
{
	struct fake_script *script = &relay->script;

	if (strcmp(key, "nip11") == 0)
		script->nip11 = copy_text(value);
	else if (strcmp(key, "auth") == 0)
		read_auth(script, value);
	else if (strcmp(key, "nip11_stalls") == 0)
		script->nip11_stalls = jv_get_kind(value) == JV_KIND_TRUE;
	else if (strcmp(key, "keeps") == 0)
		script->keeps = jv_get_kind(value) == JV_KIND_TRUE;
	else if (!read_number(script, key, value) && !read_limits(script, key, value) &&
	    !read_list(relay, key, value) && !read_text(relay, key, value)) {
		(void)fprintf(stderr, "fakerelay: script: %s\n", key);
		fake_die("script: what is this?");
	}
}

void
fake_script_read(struct fake_relay *relay, const char *path)
{
	struct gs_buf text = GS_BUF_INIT;
	struct gs_err err;
	jv tree;

	if (!gs_file_read(&text, path, SCRIPT_BYTES, &err) ||
	    !gs_json_tree(&tree, text.data, text.len, &err))
		fake_die(err.text);
	jv_object_foreach(tree, key, value)
	{
		read_member(relay, jv_string_value(key), value);
		jv_free(key);
		jv_free(value);
	}
	jv_free(tree);
	gs_buf_fini(&text);
}
