/*
 * The frames of Nostr (NIP-01, NIP-42, NIP-67): what a relay says, read strictly
 * from raw bytes; what we say, written.  Knows nothing of a conversation.
 */
#include "message.h"

#include <string.h>

#include "hex.h"

#define ELEMENTS 4 /* as many as the longest frame that we know has */

/* The elements of a frame; those behind the fourth are passed over. */
struct elements {
	struct gs_json_value values[ELEMENTS];
	size_t num;
};

static bool
read_elements(struct elements *elements, struct gs_json *json)
{
	struct gs_json_value value;
	bool more;

	if (!gs_json_next(json, &value))
		return false;
	if (value.type != GS_JSON_ARRAY) {
		json->why = "not an array";
		return false;
	}
	for (bool first = true; gs_json_item(json, first, &more); first = false) {
		if (!more)
			return gs_json_end(json);
		if (!gs_json_skip(json, &value))
			return false;
		if (elements->num < ELEMENTS)
			elements->values[elements->num++] = value;
	}
	return false;
}

/* Element i if it is there and of that type. */
static const struct gs_json_value *
find_element(const struct elements *elements, size_t i, enum gs_json_type type)
{
	if (i >= elements->num || elements->values[i].type != type)
		return NULL;
	return &elements->values[i];
}

static bool
take_string(const struct elements *elements, size_t i, struct gs_json_value *string)
{
	const struct gs_json_value *value = find_element(elements, i, GS_JSON_STRING);

	if (value != NULL)
		*string = *value;
	return value != NULL;
}

static bool
read_event(struct gs_message *message, const struct elements *elements)
{
	const struct gs_json_value *event = find_element(elements, 2, GS_JSON_OBJECT);

	if (event == NULL || !take_string(elements, 1, &message->sub))
		return false;
	message->event = event->raw;
	return true;
}

static bool
read_eose(struct gs_message *message, const struct elements *elements)
{
	const struct gs_json_value *hint = find_element(elements, 2, GS_JSON_STRING);

	message->is_finish = hint != NULL && gs_json_is(*hint, "finish");
	return take_string(elements, 1, &message->sub);
}

static bool
read_closed(struct gs_message *message, const struct elements *elements)
{
	if (!take_string(elements, 1, &message->sub))
		return false;
	return elements->num == 2 || take_string(elements, 2, &message->text);
}

static bool
read_text(struct gs_message *message, const struct elements *elements)
{
	return take_string(elements, 1, &message->text);
}

static bool
read_ok(struct gs_message *message, const struct elements *elements)
{
	const struct gs_json_value *id = find_element(elements, 1, GS_JSON_STRING);

	if (id == NULL || id->escaped || !take_string(elements, 3, &message->text))
		return false;
	message->accepted = elements->values[2].type == GS_JSON_TRUE;
	if (!message->accepted && elements->values[2].type != GS_JSON_FALSE)
		return false;
	return gs_hex_parse(message->id, sizeof(message->id), id->raw.ptr, id->raw.len);
}

static const struct {
	const char *verb;
	enum gs_message_type type;
	bool (*read)(struct gs_message *message, const struct elements *elements);
} verbs[] = {
	{ "EVENT", GS_MESSAGE_EVENT, read_event },
	{ "EOSE", GS_MESSAGE_EOSE, read_eose },
	{ "CLOSED", GS_MESSAGE_CLOSED, read_closed },
	{ "NOTICE", GS_MESSAGE_NOTICE, read_text },
	{ "OK", GS_MESSAGE_OK, read_ok },
	{ "AUTH", GS_MESSAGE_AUTH, read_text },
};

static enum gs_message_type
refuse(struct gs_message *message, const char *why)
{
	*message = (struct gs_message){ .type = GS_MESSAGE_JUNK, .why = why };
	return GS_MESSAGE_JUNK;
}

enum gs_message_type
gs_message_parse(struct gs_message *message, const char *text, size_t len)
{
	struct elements elements = { .num = 0 };
	struct gs_json json;
	size_t i;

	*message = (struct gs_message){ .type = GS_MESSAGE_JUNK };
	message->text = (struct gs_json_value){ GS_JSON_STRING, GS_STR(""), false };
	gs_json_init(&json, text, len, GS_JSON_DEPTH);
	if (!read_elements(&elements, &json))
		return refuse(message, json.why ? json.why : "not JSON");
	if (find_element(&elements, 0, GS_JSON_STRING) == NULL)
		return refuse(message, "no verb");
	for (i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		if (!gs_json_is(elements.values[0], verbs[i].verb))
			continue;
		if (!verbs[i].read(message, &elements))
			return refuse(message, "wrong elements");
		message->type = verbs[i].type;
		return message->type;
	}
	return refuse(message, "unknown verb");
}

struct gs_str
gs_message_strip(struct gs_str text)
{
	static const char strfry[] = "ERROR: ";
	const size_t len = sizeof(strfry) - 1;

	if (text.len < len || memcmp(text.ptr, strfry, len) != 0)
		return text;
	return (struct gs_str){ text.ptr + len, text.len - len };
}

void
gs_message_write_req(struct gs_buf *buf, const char *sub, const struct gs_str *filters,
    size_t num)
{
	gs_buf_printf(buf, "[\"REQ\",\"%s\"", sub);
	for (size_t i = 0; i < num; i++) {
		gs_buf_add_char(buf, ',');
		gs_buf_add(buf, filters[i].ptr, filters[i].len);
	}
	gs_buf_add_char(buf, ']');
}

void
gs_message_write_close(struct gs_buf *buf, const char *sub)
{
	gs_buf_printf(buf, "[\"CLOSE\",\"%s\"]", sub);
}
