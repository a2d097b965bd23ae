/* A batch as a line of JSON, and back.  Damage is never taken for less news. */
#include "batch.h"

#include <inttypes.h>

#include "batch_private.h"
#include "document.h"
#include "json.h"

static void
write_relay(struct gs_buf *buf, const struct gs_batch_relay *relay)
{
	gs_json_write_string(buf, relay->url.ptr, relay->url.len);
	gs_buf_printf(buf, ":{\"new\":%s,\"repos\":", relay->is_new ? "true" : "false");
	gs_document_write_strings(buf, relay->repos, relay->num_repos);
	gs_buf_add_str(buf, ",\"root_events\":");
	gs_document_write_ids(buf, relay->roots, relay->num_roots);
	gs_buf_add_char(buf, '}');
}

void
gs_batch_write(const struct gs_batch *batch, struct gs_buf *buf)
{
	size_t i;

	gs_buf_printf(buf,
	    "{\"batch\":%" PRId64 ",\"opened_at\":%" PRId64 ",\"events\":%" PRId64
	    ",\"relays\":{",
	    batch->number, batch->opened_at, batch->events);
	for (i = 0; i < batch->num_relays; i++) {
		gs_document_write_comma(buf);
		write_relay(buf, &batch->relays[i]);
	}
	gs_buf_add_str(buf, "},\"removed_relays\":");
	gs_document_write_strings(buf, batch->removed_relays, batch->num_removed_relays);
	gs_buf_add_str(buf, ",\"removed_repos\":");
	gs_document_write_strings(buf, batch->removed_repos, batch->num_removed_repos);
	gs_buf_add_char(buf, '}');
}

/* --- back --- */

static bool
read_new_repo(struct gs_str text, void *arg, struct gs_err *err)
{
	if (!gs_document_ref(text, err))
		return false;
	batch_add_string(batch_repos(arg), text);
	return true;
}

static bool
read_root(struct gs_str text, void *arg, struct gs_err *err)
{
	uint8_t id[32];

	if (!gs_document_id(id, text, err))
		return false;
	batch_add_root(arg, id);
	return true;
}

static bool
read_removed_relay(struct gs_str text, void *arg, struct gs_err *err)
{
	struct gs_url url;

	if (!gs_document_relay(&url, text, err))
		return gs_document_fail_in(err, text);
	batch_add_string(batch_removed_relays(arg), gs_str_of(url.text));
	return true;
}

static bool
read_removed_repo(struct gs_str text, void *arg, struct gs_err *err)
{
	if (!gs_document_ref(text, err))
		return false;
	batch_add_string(batch_removed_repos(arg), text);
	return true;
}

/* A list that must be there. */
static bool
read_list(jv object, const char *key, gs_document_item_fn *fn, void *arg,
    struct gs_err *err)
{
	jv list = gs_document_get(object, key);
	bool ok = jv_get_kind(list) == JV_KIND_INVALID
	    ? gs_fail(err, GS_EDATA, "missing")
	    : gs_document_strings(list, fn, arg, err);

	jv_free(list);
	return ok || gs_fail_in(err, "%s", key);
}

static bool
read_relay(struct gs_str key, jv value, void *arg, struct gs_err *err)
{
	struct gs_batch_relay *relay;
	struct gs_url url;
	jv is_new;

	if (!gs_document_relay(&url, key, err))
		return false;
	if (jv_get_kind(value) != JV_KIND_OBJECT)
		return gs_fail(err, GS_EDATA, "not an object");
	relay = batch_add_relay(arg, gs_str_of(url.text));
	relay->is_new = gs_json_get(value, "new", JV_KIND_TRUE, &is_new);
	if (!relay->is_new && !gs_json_get(value, "new", JV_KIND_FALSE, &is_new))
		return gs_fail(err, GS_EDATA, "new: missing or not true or false");
	return read_list(value, "repos", read_new_repo, relay, err) &&
	    read_list(value, "root_events", read_root, relay, err);
}

static bool
read_relays(struct gs_batch *batch, jv tree, struct gs_err *err)
{
	jv relays = gs_document_get(tree, "relays");
	bool ok = jv_get_kind(relays) == JV_KIND_INVALID
	    ? gs_fail(err, GS_EDATA, "missing")
	    : gs_document_members(relays, read_relay, batch, err);

	jv_free(relays);
	return ok || gs_fail_in(err, "relays");
}

/* -1 before it is read. */
static bool
read_number(jv tree, const char *key, int64_t *out, struct gs_err *err)
{
	*out = -1;
	return gs_document_number(tree, key, out, err) &&
	    (*out >= 0 || gs_fail(err, GS_EDATA, "%s: missing", key));
}

static bool
read_batch(struct gs_batch *batch, jv tree, struct gs_err *err)
{
	if (jv_get_kind(tree) != JV_KIND_OBJECT)
		return gs_fail(err, GS_EDATA, "not a batch: not an object");
	return read_number(tree, "batch", &batch->number, err) &&
	    read_number(tree, "opened_at", &batch->opened_at, err) &&
	    read_number(tree, "events", &batch->events, err) &&
	    read_relays(batch, tree, err) &&
	    read_list(tree, "removed_relays", read_removed_relay, batch, err) &&
	    read_list(tree, "removed_repos", read_removed_repo, batch, err);
}

bool
gs_batch_parse(struct gs_batch *batch, const char *text, size_t len, struct gs_err *err)
{
	bool ok;
	jv tree;

	if (!gs_json_tree(&tree, text, len, err))
		return false;
	ok = read_batch(batch, tree, err);
	jv_free(tree);
	if (ok)
		batch_sort(batch);
	else
		gs_batch_fini(batch);
	return ok;
}
