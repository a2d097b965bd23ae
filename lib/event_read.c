/*
 * Events from raw bytes: the strict shape of NIP-01, member by member, and the
 * event in a line or frame.  Nothing here says that an event is true.
 */
#include "event.h"

#include "hex.h"
#include "json.h"
#include "mem.h"

#define KIND_MAX 65535

/*
 * The decoded string, in the event's own text.  That has room for the whole object
 * from the start, and decoding never adds bytes: so it doesn't move meanwhile.
 */
static struct gs_str
keep_string(struct gs_event *event, struct gs_json_value value)
{
	size_t begin = event->text.len;

	gs_json_decode(&event->text, value);
	return (struct gs_str){ event->text.data + begin, event->text.len - begin };
}

static bool
read_string(struct gs_event *event, struct gs_json *json, struct gs_str *text,
    const char *why)
{
	struct gs_json_value value;

	if (!gs_json_next(json, &value))
		return false;
	if (value.type != GS_JSON_STRING)
		return gs_json_refuse(json, value.raw.ptr, why);
	*text = keep_string(event, value);
	return true;
}

static bool
read_hex(struct gs_event *event, struct gs_json *json, uint8_t *out, size_t num,
    const char *why)
{
	struct gs_json_value value;
	struct gs_str digits;
	bool ok;

	if (!gs_json_next(json, &value))
		return false;
	if (value.type != GS_JSON_STRING)
		return gs_json_refuse(json, value.raw.ptr, why);
	digits = keep_string(event, value);
	ok = gs_hex_parse(out, num, digits.ptr, digits.len);
	gs_buf_cut(&event->text, event->text.len - digits.len);
	return ok || gs_json_refuse(json, value.raw.ptr, why);
}

static bool
read_int(struct gs_json *json, int64_t *out, int64_t max, const char *why)
{
	struct gs_json_value value;

	if (!gs_json_next(json, &value))
		return false;
	if (!gs_json_int(value, out) || *out < 0 || *out > max)
		return gs_json_refuse(json, value.raw.ptr, why);
	return true;
}

static bool
read_id(struct gs_event *event, struct gs_json *json)
{
	return read_hex(event, json, event->id, sizeof(event->id),
	    "id is not 64 lower-case hex digits");
}

static bool
read_pubkey(struct gs_event *event, struct gs_json *json)
{
	return read_hex(event, json, event->pubkey, sizeof(event->pubkey),
	    "pubkey is not 64 lower-case hex digits");
}

static bool
read_sig(struct gs_event *event, struct gs_json *json)
{
	return read_hex(event, json, event->sig, sizeof(event->sig),
	    "sig is not 128 lower-case hex digits");
}

static bool
read_created_at(struct gs_event *event, struct gs_json *json)
{
	return read_int(json, &event->created_at, GS_JSON_INT_MAX,
	    "created_at is not an integer from 0 to 2^53-1");
}

static bool
read_kind(struct gs_event *event, struct gs_json *json)
{
	int64_t kind;

	if (!read_int(json, &kind, KIND_MAX, "kind is not an integer from 0 to 65535"))
		return false;
	event->kind = (uint16_t)kind;
	return true;
}

static bool
read_content(struct gs_event *event, struct gs_json *json)
{
	return read_string(event, json, &event->content, "content is not a string");
}

/* Reads the strings of a tag behind its bracket, into the values of all tags. */
static bool
read_tag_values(struct gs_event *event, struct gs_json *json, size_t *num)
{
	bool more;

	*num = 0;
	if (!gs_json_item(json, true, &more))
		return false;
	while (more) {
		event->values = gs_mem_more(event->values, event->num_values,
		    &event->cap_values, sizeof(*event->values));
		if (!read_string(event, json, &event->values[event->num_values],
			"tag value is not a string"))
			return false;
		event->num_values++;
		++*num;
		if (!gs_json_item(json, false, &more))
			return false;
	}
	return true;
}

static bool
read_tag(struct gs_event *event, struct gs_json *json)
{
	struct gs_json_value value;

	if (!gs_json_next(json, &value))
		return false;
	if (value.type != GS_JSON_ARRAY)
		return gs_json_refuse(json, value.raw.ptr, "tag is not an array");
	event->tags = gs_mem_more(event->tags, event->num_tags, &event->cap_tags,
	    sizeof(*event->tags));
	return read_tag_values(event, json, &event->tags[event->num_tags++].num);
}

/* Only now the array of values stays where it is. */
static void
point_tags(struct gs_event *event)
{
	const struct gs_str *values = event->values;
	size_t i;

	for (i = 0; i < event->num_tags; i++) {
		event->tags[i].values = values;
		if (event->tags[i].num != 0) /* else values may be NULL */
			values += event->tags[i].num;
	}
}

static bool
read_tags(struct gs_event *event, struct gs_json *json)
{
	struct gs_json_value value;
	bool more;

	if (!gs_json_next(json, &value))
		return false;
	if (value.type != GS_JSON_ARRAY)
		return gs_json_refuse(json, value.raw.ptr, "tags is not an array");
	if (!gs_json_item(json, true, &more))
		return false;
	while (more)
		if (!read_tag(event, json) || !gs_json_item(json, false, &more))
			return false;
	point_tags(event);
	return true;
}

static const struct member {
	const char *name;
	bool (*read)(struct gs_event *event, struct gs_json *json);
	const char *missing;
} members[] = {
	{ "id", read_id, "no id" },
	{ "pubkey", read_pubkey, "no pubkey" },
	{ "created_at", read_created_at, "no created_at" },
	{ "kind", read_kind, "no kind" },
	{ "tags", read_tags, "no tags" },
	{ "content", read_content, "no content" },
	{ "sig", read_sig, "no sig" },
};

#define NUM_MEMBERS (sizeof(members) / sizeof(members[0]))

/* What the members read so far were. */
struct seen {
	bool member[NUM_MEMBERS];
	bool unknown;
};

static bool
read_member(struct gs_event *event, struct gs_json *json, struct gs_json_value key,
    struct seen *seen)
{
	struct gs_json_value value;
	size_t i;

	for (i = 0; i < NUM_MEMBERS; i++) {
		if (!gs_json_is(key, members[i].name))
			continue;
		if (seen->member[i])
			return gs_json_refuse(json, key.raw.ptr, "duplicate key");
		seen->member[i] = true;
		return members[i].read(event, json);
	}
	seen->unknown = true;
	return gs_json_skip(json, &value);
}

static bool
read_object(struct gs_event *event, struct gs_json *json, struct seen *seen)
{
	struct gs_json_value value, key;
	bool more;
	size_t i;

	if (!gs_json_next(json, &value))
		return false;
	if (value.type != GS_JSON_OBJECT)
		return gs_json_refuse(json, value.raw.ptr, "not an object");
	if (!gs_json_member(json, true, &key, &more))
		return false;
	while (more)
		if (!read_member(event, json, key, seen) ||
		    !gs_json_member(json, false, &key, &more))
			return false;
	for (i = 0; i < NUM_MEMBERS; i++)
		if (!seen->member[i])
			return gs_json_refuse(json, json->at - 1, members[i].missing);
	return gs_json_end(json);
}

static void
clear_event(struct gs_event *event, size_t len)
{
	event->num_tags = 0;
	event->num_values = 0;
	gs_buf_clear(&event->text);
	(void)gs_buf_room(&event->text, len);
}

enum gs_event_fault
gs_event_parse(struct gs_event *event, const char *text, size_t len, struct gs_err *err)
{
	struct gs_json json;
	struct gs_json_value value;
	struct seen seen = { .unknown = false };
	bool ok;

	/* The canonical line is never longer: every escape of ours is the shortest. */
	if (len > GS_EVENT_BYTES) {
		(void)gs_fail(err, GS_EDATA, "event of %zu bytes: over %d", len,
		    GS_EVENT_BYTES);
		return GS_EVENT_SIZE;
	}
	clear_event(event, len);
	gs_json_init(&json, text, len, GS_JSON_DEPTH);
	ok = read_object(event, &json, &seen);
	if (ok && seen.unknown) {
		/* Rare, so only now: are those members there once, too? */
		gs_json_init(&json, text, len, GS_JSON_DEPTH);
		ok = gs_json_skip(&json, &value);
	}
	if (ok)
		return GS_EVENT_OK;
	(void)gs_json_fail(&json, err);
	return GS_EVENT_SHAPE;
}

/* Behind '[': "EVENT", perhaps a subscription id, the object, ']'. */
static bool
read_frame(struct gs_json *json, struct gs_str *object)
{
	struct gs_json_value value;
	bool more;

	if (!gs_json_item(json, true, &more))
		return false;
	if (!more || !gs_json_next(json, &value))
		return gs_json_refuse(json, json->at, "an empty frame");
	if (!gs_json_is(value, "EVENT"))
		return gs_json_refuse(json, value.raw.ptr, "not an EVENT frame");
	if (!gs_json_item(json, false, &more))
		return false;
	if (more && !gs_json_skip(json, &value))
		return false;
	if (more && value.type == GS_JSON_STRING &&
	    (!gs_json_item(json, false, &more) || (more && !gs_json_skip(json, &value))))
		return false;
	if (!more || value.type != GS_JSON_OBJECT)
		return gs_json_refuse(json, value.raw.ptr, "no event in the frame");
	*object = value.raw;
	if (!gs_json_item(json, false, &more))
		return false;
	if (more)
		return gs_json_refuse(json, json->at, "more behind the event");
	return gs_json_end(json);
}

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

bool
gs_event_in_frame(struct gs_str *object, struct gs_str line, struct gs_err *err)
{
	struct gs_json json;
	struct gs_json_value value;

	while (line.len > 0 && is_blank(line.ptr[0])) {
		line.ptr++;
		line.len--;
	}
	while (line.len > 0 && is_blank(line.ptr[line.len - 1]))
		line.len--;
	if (line.len > 0 && line.ptr[0] != '[') {
		*object = line;
		return true;
	}
	/* One level more than the event itself may have. */
	gs_json_init(&json, line.ptr, line.len, GS_JSON_DEPTH + 1);
	if (!gs_json_next(&json, &value) || !read_frame(&json, object))
		return gs_json_fail(&json, err);
	return true;
}
