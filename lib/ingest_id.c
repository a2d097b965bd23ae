/*
 * The id of the event in a line, without reading the rest: most of what several relays
 * send is known.  The reader of JSON does it, so that strings, escapes and nesting are
 * what they are for the parser of events.
 */
#include "hex.h"
#include "ingest_private.h"
#include "json.h"

/* Behind '[': "EVENT", perhaps a subscription's name, then up to the event's brace. */
static bool
enter_frame(struct gs_json *json, struct gs_json_value *value)
{
	bool more;

	if (!gs_json_item(json, true, &more) || !more || !gs_json_next(json, value) ||
	    !gs_json_is(*value, "EVENT") || !gs_json_item(json, false, &more) || !more ||
	    !gs_json_next(json, value))
		return false;
	return value->type != GS_JSON_STRING ||
	    (gs_json_item(json, false, &more) && more && gs_json_next(json, value));
}

static bool
read_id(uint8_t id[static 32], struct gs_json *json)
{
	struct gs_json_value value;

	if (!gs_json_next(json, &value) || value.type != GS_JSON_STRING)
		return false;
	/* nobody escapes hex digits: that is for the parser */
	return !value.escaped && gs_hex_parse(id, 32, value.raw.ptr, value.raw.len);
}

bool
ingest_find_id(uint8_t id[static 32], struct gs_str line)
{
	struct gs_json_value value, key;
	struct gs_json json;
	bool more;

	gs_json_init(&json, line.ptr, line.len, GS_JSON_DEPTH + 1);
	if (!gs_json_next(&json, &value) ||
	    (value.type == GS_JSON_ARRAY && !enter_frame(&json, &value)) ||
	    value.type != GS_JSON_OBJECT || !gs_json_member(&json, true, &key, &more))
		return false;
	while (more) {
		if (gs_json_is(key, "id"))
			return read_id(id, &json);
		if (!gs_json_skip(&json, &value) ||
		    !gs_json_member(&json, false, &key, &more))
			return false;
	}
	return false;
}
