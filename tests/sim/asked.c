/* What a client sends, read and matched without the library. */
#include "asked.h"

#include <assert.h>
#include <jv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"

#define MAX_DATE 9007199254740991.0
#define KIND_DIGITS 8

static const char *
take_number(jv number, int64_t *to)
{
	double value;

	if (jv_get_kind(number) != JV_KIND_NUMBER) {
		jv_free(number);
		return "a number is none";
	}
	value = jv_number_value(number);
	jv_free(number);
	if (value < 0 || value > MAX_DATE || value != (double)(int64_t)value)
		return "a number that no relay takes";
	*to = (int64_t)value;
	return NULL;
}

/* Values become text, kinds too. */
static char *
take_value(char what, jv value)
{
	char *text = NULL;

	if (what != '0' && jv_get_kind(value) == JV_KIND_STRING) {
		text = gs_mem_str(jv_string_value(value));
	} else if (what == '0' && jv_get_kind(value) == JV_KIND_NUMBER) {
		text = gs_mem_new(KIND_DIGITS);
		(void)snprintf(text, KIND_DIGITS, "%u",
		    (unsigned)jv_number_value(value) % 65536);
	}
	jv_free(value);
	return text;
}

static const char *
take_list(struct asked_filter *filter, char what, jv values)
{
	struct asked_list *list = &filter->lists[filter->num_lists];
	size_t num;

	if (jv_get_kind(values) != JV_KIND_ARRAY ||
	    jv_array_length(jv_copy(values)) == 0 || filter->num_lists == ASKED_LISTS) {
		jv_free(values);
		return "a list is none, or empty";
	}
	num = (size_t)jv_array_length(jv_copy(values));
	list->what = what;
	list->values = gs_mem_array(num, sizeof(*list->values));
	filter->num_lists++;
	for (; list->num < num; list->num++) {
		list->values[list->num] =
		    take_value(what, jv_array_get(jv_copy(values), (int)list->num));
		if (list->values[list->num] == NULL)
			break;
	}
	jv_free(values);
	return list->num == num ? NULL : "a value of the wrong type";
}

static const char *
take_member(struct asked_filter *filter, const char *name, jv value)
{
	static const struct {
		const char *name;
		char what;
	} lists[] = { { "ids", '.' }, { "authors", '@' }, { "kinds", '0' } };

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		if (strcmp(name, lists[i].name) == 0)
			return take_list(filter, lists[i].what, value);
	if (name[0] == '#' && strlen(name) == 2)
		return take_list(filter, name[1], value);
	if (strcmp(name, "since") == 0)
		return take_number(value, &filter->since);
	if (strcmp(name, "until") == 0)
		return take_number(value, &filter->until);
	if (strcmp(name, "limit") == 0)
		return take_number(value, &filter->limit);
	jv_free(value);
	return "a member that no relay knows";
}

/* Takes the object. */
static const char *
take_filter(struct asked_filter *filter, jv object)
{
	const char *why = NULL;

	*filter = (struct asked_filter){ .since = -1, .until = -1, .limit = -1 };
	if (jv_get_kind(object) != JV_KIND_OBJECT) {
		jv_free(object);
		return "a filter is no object";
	}
	jv_object_foreach(object, name, value)
	{
		if (why == NULL)
			why = take_member(filter, jv_string_value(name), value);
		else
			jv_free(value);
		jv_free(name);
	}
	jv_free(object);
	return why;
}

void
asked_filter_parse(struct asked_filter *filter, const char *text)
{
	const char *why = take_filter(filter, jv_parse(text));

	assert(why == NULL);
	(void)why;
}

void
asked_filter_fini(struct asked_filter *filter)
{
	for (size_t i = 0; i < filter->num_lists; i++) {
		for (size_t j = 0; j < filter->lists[i].num; j++)
			free(filter->lists[i].values[j]);
		free(filter->lists[i].values);
	}
	filter->num_lists = 0;
}

void
asked_fini(struct asked *asked)
{
	for (size_t i = 0; i < asked->num_filters; i++)
		asked_filter_fini(&asked->filters[i]);
	asked->num_filters = 0;
}

static const char *
take_name(struct asked *asked, jv name)
{
	const char *why = "a subscription without a name, or with one too long";

	if (jv_get_kind(name) == JV_KIND_STRING) {
		size_t len = strlen(jv_string_value(name));

		if (len > 0 && len < sizeof(asked->name)) {
			memcpy(asked->name, jv_string_value(name), len + 1);
			why = NULL;
		}
	}
	jv_free(name);
	return why;
}

static const char *
take_filters(struct asked *asked, jv frame)
{
	int len = jv_array_length(jv_copy(frame));
	const char *why = NULL;

	if (len < 3)
		return "a REQ without a filter";
	for (int i = 2; i < len && why == NULL; i++) {
		if (asked->num_filters == ASKED_FILTERS)
			return "a REQ with more filters than any relay takes";
		why = take_filter(&asked->filters[asked->num_filters++],
		    jv_array_get(jv_copy(frame), i));
	}
	return why;
}

static void
copy_text(char *to, size_t size, jv text)
{
	if (jv_get_kind(text) == JV_KIND_STRING)
		(void)snprintf(to, size, "%s", jv_string_value(text));
	jv_free(text);
}

static void
take_auth_tag(struct asked_auth *auth, jv tag)
{
	char name[ASKED_NAME] = "";

	if (jv_get_kind(tag) == JV_KIND_ARRAY) {
		jv value = jv_array_get(jv_copy(tag), 1);

		copy_text(name, sizeof(name), jv_array_get(jv_copy(tag), 0));
		if (strcmp(name, "challenge") == 0)
			copy_text(auth->challenge, sizeof(auth->challenge), value);
		else if (strcmp(name, "relay") == 0)
			copy_text(auth->relay, sizeof(auth->relay), value);
		else
			jv_free(value);
	}
	jv_free(tag);
}

/* Takes the event. */
static const char *
take_auth(struct asked_auth *auth, jv event)
{
	const char *why = "an AUTH without an event";

	if (jv_get_kind(event) == JV_KIND_OBJECT) {
		jv tags = jv_object_get(jv_copy(event), jv_string("tags"));

		copy_text(auth->id, sizeof(auth->id),
		    jv_object_get(jv_copy(event), jv_string("id")));
		why = take_number(jv_object_get(jv_copy(event), jv_string("kind")),
		    &auth->kind);
		if (why == NULL)
			why = take_number(jv_object_get(jv_copy(event),
					      jv_string("created_at")),
			    &auth->created_at);
		if (jv_get_kind(tags) == JV_KIND_ARRAY)
			for (int i = 0; i < jv_array_length(jv_copy(tags)); i++)
				take_auth_tag(auth, jv_array_get(jv_copy(tags), i));
		jv_free(tags);
	}
	jv_free(event);
	return why;
}

static const char *
take_verb(struct asked *asked, jv frame)
{
	jv verb = jv_array_get(jv_copy(frame), 0);
	bool is_text = jv_get_kind(verb) == JV_KIND_STRING;
	const char *text = is_text ? jv_string_value(verb) : "";
	const char *why = NULL;

	if (strcmp(text, "REQ") == 0)
		asked->verb = ASKED_REQ;
	else if (strcmp(text, "CLOSE") == 0)
		asked->verb = ASKED_CLOSE;
	else if (strcmp(text, "AUTH") == 0)
		asked->verb = ASKED_AUTH;
	else
		why = "a frame that begins with no verb of ours";
	jv_free(verb);
	return why;
}

const char *
asked_parse(struct asked *asked, const char *text, size_t len)
{
	jv frame = jv_parse_sized(text, (int)len);
	const char *why = "a frame is no list";

	memset(asked, 0, sizeof(*asked));
	asked->bytes = len;
	if (jv_get_kind(frame) == JV_KIND_ARRAY) {
		why = take_verb(asked, frame);
		if (why == NULL && asked->verb == ASKED_AUTH)
			why = take_auth(&asked->auth, jv_array_get(jv_copy(frame), 1));
		else if (why == NULL)
			why = take_name(asked, jv_array_get(jv_copy(frame), 1));
		if (why == NULL && asked->verb == ASKED_REQ)
			why = take_filters(asked, frame);
	}
	jv_free(frame);
	return why;
}

static bool
has_value(const struct asked_list *list, const char *value)
{
	for (size_t i = 0; i < list->num; i++)
		if (strcmp(list->values[i], value) == 0)
			return true;
	return false;
}

static bool
match_list(const struct asked_list *list, const struct pool *pool,
    const struct pool_event *event)
{
	char kind[KIND_DIGITS];

	if (list->what == '.')
		return has_value(list, event->id);
	if (list->what == '@')
		return has_value(list, pool->authors[event->author]);
	if (list->what == '0') {
		(void)snprintf(kind, sizeof(kind), "%u", event->kind);
		return has_value(list, kind);
	}
	for (size_t i = 0; i < event->num_tags; i++)
		if (event->tags[i].letter == list->what &&
		    has_value(list, event->tags[i].value))
			return true;
	return false;
}

bool
asked_match(const struct asked_filter *filter, const struct pool *pool,
    const struct pool_event *event)
{
	if (filter->since >= 0 && event->created_at < filter->since)
		return false;
	if (filter->until >= 0 && event->created_at > filter->until)
		return false;
	for (size_t i = 0; i < filter->num_lists; i++)
		if (!match_list(&filter->lists[i], pool, event))
			return false;
	return true;
}
