/*
 * JSON: whatever our reader lets through is read by libjv too, and its strings say
 * the same after writing and reading them again.
 */
#include "json.h"

#include <assert.h>
#include <string.h>

/* Writes and reads a string that the reader accepted. */
static void
check_string(struct gs_json_value value)
{
	struct gs_buf text = GS_BUF_INIT, line = GS_BUF_INIT, again = GS_BUF_INIT;
	struct gs_json json;
	struct gs_json_value second;
	bool ok;

	gs_json_decode(&text, value);
	assert(text.len <= value.raw.len);
	gs_json_write_string(&line, text.data, text.len);
	assert(line.len <= value.raw.len + 2);
	gs_json_init(&json, line.data, line.len, 1);
	ok = gs_json_next(&json, &second) && gs_json_end(&json);
	assert(ok && second.type == GS_JSON_STRING);
	gs_json_decode(&again, second);
	assert(again.len == text.len && memcmp(again.data, text.data, text.len) == 0);
	gs_buf_fini(&text);
	gs_buf_fini(&line);
	gs_buf_fini(&again);
}

/* Passes the items of an outer list one by one; true if that reads all. */
static bool
pull_items(struct gs_json *json)
{
	struct gs_json_value value;
	bool more;

	if (!gs_json_next(json, &value) || value.type != GS_JSON_ARRAY ||
	    !gs_json_item(json, true, &more))
		return false;
	while (more) {
		if (!gs_json_skip(json, &value))
			return false;
		if (value.type == GS_JSON_STRING)
			check_string(value);
		if (!gs_json_item(json, false, &more))
			return false;
	}
	return gs_json_end(json);
}

static void
check_tree(const char *text, size_t len)
{
	struct gs_err err;
	jv tree, borrowed;
	int64_t number;

	if (!gs_json_tree(&tree, text, len, &err)) {
		assert(err.code == GS_EDATA && err.text[0] != '\0');
		return;
	}
	if (gs_json_get(tree, "a", JV_KIND_STRING, &borrowed))
		assert(gs_json_str(borrowed).ptr != NULL);
	if (gs_json_get_int(tree, "a", &number))
		assert(number <= GS_JSON_INT_MAX && number >= -GS_JSON_INT_MAX);
	jv_free(tree);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	struct gs_json json;
	struct gs_json_value value;
	bool whole;

	gs_json_init(&json, text, size, GS_JSON_DEPTH);
	whole = gs_json_skip(&json, &value) && gs_json_end(&json);
	assert(whole == (json.why == NULL));
	assert(json.at >= json.begin && json.at <= json.end);
	if (whole) {
		jv tree = jv_parse_sized(text, (int)size);

		assert(jv_is_valid(tree));
		jv_free(tree);
		if (value.type == GS_JSON_STRING)
			check_string(value);
	}
	gs_json_init(&json, text, size, GS_JSON_DEPTH);
	if (pull_items(&json))
		assert(whole);
	check_tree(text, size);
	return 0;
}
