/*
 * JSON, value by value: passes over a value with all below it, duplicate keys refused,
 * and makes libjv trees, which are checked by our reader first because libjv lets
 * duplicate keys, bad UTF-8, NaN and the like through.
 */
#include "json.h"

#include <limits.h>

#include "map.h"

#define FEW_KEYS 8 /* compared one by one; beyond that a map */

/* The keys of one object so far.  All of them are in the map once it exists. */
struct keys {
	struct gs_json_value few[FEW_KEYS];
	size_t num;
	struct gs_map *map;
	struct gs_buf scratch;
};

static bool
are_equal(struct gs_json_value a, struct gs_json_value b, struct gs_buf *scratch)
{
	size_t len;

	if (!a.escaped && !b.escaped)
		return gs_str_equal(a.raw, b.raw);
	gs_buf_clear(scratch);
	gs_json_decode(scratch, a);
	len = scratch->len;
	gs_json_decode(scratch, b);
	return gs_str_equal((struct gs_str){ scratch->data, len },
	    (struct gs_str){ scratch->data + len, scratch->len - len });
}

static bool
add_to_map(struct keys *keys, struct gs_json_value key)
{
	struct gs_map_entry *entry;

	gs_buf_clear(&keys->scratch);
	gs_json_decode(&keys->scratch, key);
	entry = gs_map_add(keys->map,
	    (struct gs_str){ keys->scratch.data, keys->scratch.len });
	if (entry->value != NULL)
		return false;
	entry->value = keys;
	return true;
}

/* False if the key was there before. */
static bool
add_key(struct keys *keys, struct gs_json_value key)
{
	size_t i;

	if (keys->map != NULL)
		return add_to_map(keys, key);
	for (i = 0; i < keys->num; i++)
		if (are_equal(keys->few[i], key, &keys->scratch))
			return false;
	if (keys->num < FEW_KEYS) {
		keys->few[keys->num++] = key;
		return true;
	}
	keys->map = gs_map_new();
	for (i = 0; i < keys->num; i++)
		(void)add_to_map(keys, keys->few[i]);
	return add_to_map(keys, key);
}

static void
fini_keys(struct keys *keys)
{
	gs_map_free(keys->map, NULL);
	gs_buf_fini(&keys->scratch);
}

/* Which numbers pass. */
enum numbers { ALL_NUMBERS, INTEGERS };

static bool pass_value(struct gs_json *json, struct gs_json_value *value,
    enum numbers numbers);

static bool
pass_items(struct gs_json *json, enum numbers numbers)
{
	struct gs_json_value item;
	bool more;

	if (!gs_json_item(json, true, &more))
		return false;
	while (more)
		if (!pass_value(json, &item, numbers) ||
		    !gs_json_item(json, false, &more))
			return false;
	return true;
}

static bool
pass_members(struct gs_json *json, enum numbers numbers)
{
	struct keys keys = { .num = 0 };
	struct gs_json_value key, value;
	bool more, ok = gs_json_member(json, true, &key, &more);

	while (ok && more) {
		if (!add_key(&keys, key))
			ok = gs_json_refuse(json, key.raw.ptr, "duplicate key");
		else
			ok = pass_value(json, &value, numbers) &&
			    gs_json_member(json, false, &key, &more);
	}
	fini_keys(&keys);
	return ok;
}

/* Recursion is bounded by max_depth. */
static bool
pass_value(struct gs_json *json, struct gs_json_value *value, enum numbers numbers)
{
	int64_t number;
	bool ok = gs_json_next(json, value);

	if (!ok)
		return false;
	if (value->type == GS_JSON_ARRAY)
		ok = pass_items(json, numbers);
	else if (value->type == GS_JSON_OBJECT)
		ok = pass_members(json, numbers);
	else if (value->type == GS_JSON_NUMBER && numbers == INTEGERS)
		ok = gs_json_refuse(json, value->raw.ptr, "not an integer");
	else if (value->type == GS_JSON_INT && numbers == INTEGERS &&
	    !gs_json_int(*value, &number))
		ok = gs_json_refuse(json, value->raw.ptr, "number too large");
	if (ok && (value->type == GS_JSON_ARRAY || value->type == GS_JSON_OBJECT))
		value->raw.len = (size_t)(json->at - value->raw.ptr);
	return ok;
}

bool
gs_json_skip(struct gs_json *json, struct gs_json_value *value)
{
	return pass_value(json, value, ALL_NUMBERS);
}

bool
gs_json_tree(jv *tree, const char *text, size_t len, struct gs_err *err)
{
	struct gs_json json;
	struct gs_json_value value;

	if (len > INT_MAX)
		return gs_fail(err, GS_EDATA, "longer than %d bytes", INT_MAX);
	gs_json_init(&json, text, len, GS_JSON_DEPTH);
	if (!pass_value(&json, &value, INTEGERS) || !gs_json_end(&json))
		return gs_json_fail(&json, err);
	*tree = jv_parse_sized(text, (int)len);
	if (jv_is_valid(*tree))
		return true;
	jv_free(*tree);
	return gs_fail(err, GS_EDATA, "not json");
}

bool
gs_json_get(jv object, const char *key, jv_kind kind, jv *borrowed)
{
	if (jv_get_kind(object) != JV_KIND_OBJECT)
		return false;
	*borrowed = jv_object_get(jv_copy(object), jv_string(key));
	jv_free(*borrowed); /* the object holds it on */
	return jv_get_kind(*borrowed) == kind;
}

bool
gs_json_get_int(jv object, const char *key, int64_t *out)
{
	double number;
	jv value;

	if (!gs_json_get(object, key, JV_KIND_NUMBER, &value))
		return false;
	number = jv_number_value(value);
	if (!(number >= -(double)GS_JSON_INT_MAX && number <= (double)GS_JSON_INT_MAX))
		return false;
	*out = (int64_t)number;
	return (double)*out == number;
}

struct gs_str
gs_json_str(jv string)
{
	if (jv_get_kind(string) != JV_KIND_STRING)
		return (struct gs_str){ NULL, 0 };
	return (struct gs_str){ jv_string_value(string),
		(size_t)jv_string_length_bytes(jv_copy(string)) };
}
