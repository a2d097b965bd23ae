/*
 * Lists and objects of our own documents.  The tree is sound JSON already: json has
 * seen to that.
 */
#include "document.h"

#include "event.h"
#include "hex.h"
#include "json.h"

#define SHOWN_BYTES 120 /* of a key in an error: a ref with a short d is whole */
#define ID_BYTES 32

bool
gs_document_fail_in(struct gs_err *err, struct gs_str key)
{
	struct gs_buf shown = GS_BUF_INIT;

	gs_buf_add_shown(&shown, key.ptr, key.len, SHOWN_BYTES);
	gs_fail_in(err, "%s", shown.data ? shown.data : "\"\"");
	gs_buf_fini(&shown);
	return false;
}

bool
gs_document_strings(jv list, gs_document_item_fn *fn, void *arg, struct gs_err *err)
{
	bool ok = true;
	int i, num;

	if (jv_get_kind(list) != JV_KIND_ARRAY)
		return gs_fail(err, GS_EDATA, "not a list");
	num = jv_array_length(jv_copy(list));
	for (i = 0; ok && i < num; i++) {
		jv item = jv_array_get(jv_copy(list), i);

		ok = jv_get_kind(item) == JV_KIND_STRING
		    ? fn(gs_json_str(item), arg, err)
		    : gs_fail(err, GS_EDATA, "not a string");
		if (!ok)
			gs_fail_in(err, "item %d", i + 1);
		jv_free(item);
	}
	return ok;
}

/* In the order of the keys, so that nothing depends on how libjv hashes. */
bool
gs_document_members(jv object, gs_document_member_fn *fn, void *arg, struct gs_err *err)
{
	bool ok = true;
	int i, num;
	jv keys;

	if (jv_get_kind(object) != JV_KIND_OBJECT)
		return gs_fail(err, GS_EDATA, "not an object");
	keys = jv_keys(jv_copy(object));
	num = jv_array_length(jv_copy(keys));
	for (i = 0; ok && i < num; i++) {
		jv key = jv_array_get(jv_copy(keys), i);
		jv value = jv_object_get(jv_copy(object), jv_copy(key));

		ok = fn(gs_json_str(key), value, arg, err) ||
		    gs_document_fail_in(err, gs_json_str(key));
		jv_free(value);
		jv_free(key);
	}
	jv_free(keys);
	return ok;
}

jv
gs_document_get(jv object, const char *key)
{
	return jv_object_get(jv_copy(object), jv_string(key));
}

bool
gs_document_number(jv object, const char *key, int64_t *out, struct gs_err *err)
{
	int64_t value;

	if (!jv_object_has(jv_copy(object), jv_string(key)))
		return true;
	if (!gs_json_get_int(object, key, &value) || value < 0)
		return gs_fail(err, GS_EDATA, "%s: not a whole number from 0", key);
	*out = value;
	return true;
}

bool
gs_document_ref(struct gs_str text, struct gs_err *err)
{
	return gs_address_is_repo(text) ||
	    gs_fail(err, GS_EDATA, "not a repository reference 30617:<pubkey>:<d>");
}

bool
gs_document_id(uint8_t id[static 32], struct gs_str text, struct gs_err *err)
{
	return gs_hex_parse(id, ID_BYTES, text.ptr, text.len) ||
	    gs_fail(err, GS_EDATA, "not an event id of 64 lower-case hex digits");
}

bool
gs_document_relay(struct gs_url *url, struct gs_str text, struct gs_err *err)
{
	if (gs_url_parse_relay(url, text, true, err))
		return true;
	if (err != NULL)
		err->code = GS_EDATA;
	return false;
}

void
gs_document_write_comma(struct gs_buf *buf)
{
	char last = buf->data[buf->len - 1];

	if (last != '[' && last != '{')
		gs_buf_add_char(buf, ',');
}

void
gs_document_write_strings(struct gs_buf *buf, const struct gs_str *list, size_t num)
{
	size_t i;

	gs_buf_add_char(buf, '[');
	for (i = 0; i < num; i++) {
		gs_document_write_comma(buf);
		gs_json_write_string(buf, list[i].ptr, list[i].len);
	}
	gs_buf_add_char(buf, ']');
}

void
gs_document_write_ids(struct gs_buf *buf, uint8_t (*ids)[32], size_t num)
{
	size_t i;

	gs_buf_add_char(buf, '[');
	for (i = 0; i < num; i++) {
		char hex[2 * ID_BYTES];

		(void)gs_hex_write(hex, ids[i], ID_BYTES);
		gs_document_write_comma(buf);
		gs_json_write_string(buf, hex, sizeof(hex));
	}
	gs_buf_add_char(buf, ']');
}
