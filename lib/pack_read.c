/* The other way round: filters out of what people and pack wrote. */
#include "pack_read.h"

#include "json.h"
#include "pack.h"

struct giving {
	gs_pack_read_fn *fn;
	void *arg;
	size_t max_bytes;
	struct gs_err *err;
};

/* A view into a filter that is too long becomes a filter of its own. */
static bool
give_part(const struct gs_filter *part, bool fits, void *arg)
{
	struct giving *giving = arg;
	struct gs_filter copy = GS_FILTER_INIT;
	struct gs_buf text = GS_BUF_INIT;
	bool ok;

	if (!fits)
		return gs_fail(giving->err, GS_EDATA, "longer than a message to a relay");
	gs_filter_write(part, &text);
	ok = gs_filter_parse(&copy, text.data, text.len, giving->err);
	if (ok)
		giving->fn(&copy, giving->arg);
	gs_filter_fini(&copy);
	gs_buf_fini(&text);
	return ok;
}

static bool
give_filter(struct giving *giving, struct gs_str text)
{
	struct gs_filter filter = GS_FILTER_INIT;
	bool ok = gs_filter_parse(&filter, text.ptr, text.len, giving->err);

	if (ok && text.len > giving->max_bytes)
		ok = gs_pack_split(&filter, giving->max_bytes, give_part, giving);
	else if (ok)
		giving->fn(&filter, giving->arg);
	gs_filter_fini(&filter);
	return ok;
}

/* Items of a list; the verb and the subscription of a REQ are passed over. */
static bool
give_items(struct giving *giving, struct gs_json *json)
{
	struct gs_json_value value;
	bool more;

	for (bool first = true; gs_json_item(json, first, &more); first = false) {
		if (!more)
			return gs_json_end(json) || gs_json_fail(json, giving->err);
		if (!gs_json_skip(json, &value))
			return gs_json_fail(json, giving->err);
		if (value.type == GS_JSON_STRING)
			continue;
		if (value.type != GS_JSON_OBJECT)
			return gs_fail(giving->err, GS_EDATA, "not a list of filters");
		if (!give_filter(giving, value.raw))
			return false;
	}
	return gs_json_fail(json, giving->err);
}

bool
gs_pack_read(struct gs_str line, size_t max_bytes, gs_pack_read_fn *fn, void *arg,
    struct gs_err *err)
{
	struct giving giving = { fn, arg, max_bytes, err };
	struct gs_json_value value;
	struct gs_json json;

	gs_json_init(&json, line.ptr, line.len, GS_JSON_DEPTH);
	if (gs_json_next(&json, &value) && value.type == GS_JSON_ARRAY)
		return give_items(&giving, &json);
	return give_filter(&giving, line);
}
