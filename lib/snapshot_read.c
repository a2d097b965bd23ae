/*
 * The state file, read: the tree is sound JSON already, what is left is its shape.
 * Damage is never taken for less work.  Which file it was is the caller's to say.
 */
#include "snapshot.h"

#include <inttypes.h>
#include <stdlib.h>

#include "document.h"
#include "json.h"
#include "mem.h"

#define ID_BYTES 32

/* Relays and refs are read into the lists of what has this. */
struct reading {
	struct gs_state *state;
	struct gs_relay_entry *relay;
};

/* NULL and err if the URL is none. */
static struct gs_relay_entry *
add_relay(struct gs_state *state, struct gs_str text, struct gs_err *err)
{
	struct gs_url url;

	if (!gs_document_relay(&url, text, err))
		return NULL;
	return gs_state_add_relay(state, gs_str_of(url.text));
}

static bool
read_service(struct gs_str text, void *arg, struct gs_err *err)
{
	(void)err;
	if (text.len > 0)
		gs_state_add_service(arg, text);
	return true;
}

static bool
read_bootstrap(struct gs_str text, void *arg, struct gs_err *err)
{
	struct gs_relay_entry *relay = add_relay(arg, text, err);

	if (relay == NULL)
		return gs_document_fail_in(err, text);
	relay->is_bootstrap = true;
	return true;
}

static bool
read_root(struct gs_str text, void *arg, struct gs_err *err)
{
	uint8_t id[ID_BYTES];

	if (!gs_document_id(id, text, err))
		return false;
	gs_repo_add_root(arg, id);
	return true;
}

static bool
read_repo(struct gs_str key, jv value, void *arg, struct gs_err *err)
{
	return gs_document_ref(key, err) &&
	    gs_document_strings(value, read_root, gs_state_add_repo(arg, key), err);
}

static bool
read_ref(struct gs_str text, void *arg, struct gs_err *err)
{
	struct reading *reading = arg;

	if (!gs_document_ref(text, err))
		return false;
	gs_relay_add_repo(reading->relay, gs_state_add_repo(reading->state, text));
	return true;
}

/* Two spellings of one relay meet in one entry. */
static bool
read_synced(struct gs_str key, jv value, void *arg, struct gs_err *err)
{
	struct reading reading = { arg, add_relay(arg, key, err) };

	if (reading.relay == NULL)
		return false;
	reading.relay->is_synced = true;
	return gs_document_strings(value, read_ref, &reading, err);
}

static bool
read_pending(struct gs_str text, void *arg, struct gs_err *err)
{
	if (!gs_document_ref(text, err))
		return false;
	gs_status_add_pending(arg, text);
	return true;
}

static bool
read_status_name(struct gs_relay_status *status, jv name, struct gs_err *err)
{
	struct gs_str word =
	    jv_get_kind(name) == JV_KIND_STRING ? gs_json_str(name) : GS_STR("");

	if (!gs_str_is(word, "healthy") && !gs_str_is(word, "backoff") &&
	    !gs_str_is(word, "dead"))
		return gs_fail(err, GS_EDATA, "status: not healthy, backoff or dead");
	free(status->status);
	status->status = gs_mem_dup(word.ptr, word.len);
	return true;
}

static bool
read_status_members(struct gs_relay_status *status, jv value, struct gs_err *err)
{
	jv name = gs_document_get(value, "status");
	jv pending = gs_document_get(value, "pending");
	bool ok = gs_document_number(value, "failures", &status->failures, err) &&
	    gs_document_number(value, "read_until", &status->read_until, err) &&
	    gs_document_number(value, "last_success", &status->last_success, err) &&
	    gs_document_number(value, "last_full_sync", &status->last_full_sync, err);

	if (ok && jv_get_kind(name) != JV_KIND_INVALID)
		ok = read_status_name(status, name, err);
	if (ok && jv_get_kind(pending) != JV_KIND_INVALID)
		ok = gs_document_strings(pending, read_pending, status, err) ||
		    gs_fail_in(err, "pending");
	jv_free(pending);
	jv_free(name);
	return ok;
}

/* Of two spellings the last in byte order counts, member by member. */
static bool
read_status(struct gs_str key, jv value, void *arg, struct gs_err *err)
{
	struct gs_relay_entry *relay = add_relay(arg, key, err);

	if (relay == NULL)
		return false;
	if (jv_get_kind(value) != JV_KIND_OBJECT)
		return gs_fail(err, GS_EDATA, "not an object");
	return read_status_members(gs_relay_add_status(relay), value, err);
}

static bool
read_version(jv tree, struct gs_err *err)
{
	int64_t version;

	if (!gs_json_get_int(tree, "version", &version))
		return gs_fail(err, GS_EDATA, "version: missing or not a number");
	if (version != GS_SNAPSHOT_VERSION)
		return gs_fail(err, GS_EDATA,
		    "version: %" PRId64 " is not %d, made by a newer grasp-sync?",
		    version, GS_SNAPSHOT_VERSION);
	return true;
}

static bool
read_heading(struct gs_state *state, jv tree, struct gs_err *err)
{
	jv service;

	if (!gs_json_get(tree, "service", JV_KIND_STRING, &service))
		return gs_fail(err, GS_EDATA, "service: missing or not a string");
	(void)read_service(gs_json_str(service), state, err);
	if (!gs_json_get_int(tree, "created_at", &state->created_at) ||
	    state->created_at < 0)
		return gs_fail(err, GS_EDATA,
		    "created_at: missing or not a whole number from 0");
	return true;
}

/* What stands at the top: a list of strings, or an object. */
struct part {
	const char *key;
	bool may_be_absent;
	gs_document_item_fn *item;
	gs_document_member_fn *member;
};

static bool
read_part(struct gs_state *state, jv tree, const struct part *part, struct gs_err *err)
{
	jv value = gs_document_get(tree, part->key);
	bool ok = true;

	if (jv_get_kind(value) == JV_KIND_INVALID)
		ok = part->may_be_absent || gs_fail(err, GS_EDATA, "missing");
	else if (part->item != NULL)
		ok = gs_document_strings(value, part->item, state, err);
	else
		ok = gs_document_members(value, part->member, state, err);
	jv_free(value);
	return ok || gs_fail_in(err, "%s", part->key);
}

/* A file without the two maps has lost them: that is not an empty one. */
static bool
read_state(struct gs_state *state, jv tree, struct gs_err *err)
{
	static const struct part parts[] = {
		{ "services", true, read_service, NULL },
		{ "bootstrap_relays", true, read_bootstrap, NULL },
		{ "following_repo_root_events", false, NULL, read_repo },
		{ "sync_relays", false, NULL, read_synced },
		{ "relays", true, NULL, read_status },
	};
	size_t i;

	if (jv_get_kind(tree) != JV_KIND_OBJECT)
		return gs_fail(err, GS_EDATA, "not a state file: not an object");
	if (!read_version(tree, err) || !read_heading(state, tree, err))
		return false;
	for (i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (!read_part(state, tree, &parts[i], err))
			return false;
	gs_state_sort(state);
	return true;
}

struct gs_state *
gs_snapshot_parse(const char *text, size_t len, struct gs_err *err)
{
	struct gs_state *state;
	jv tree;

	if (!gs_json_tree(&tree, text, len, err))
		return NULL;
	state = gs_state_new();
	if (!read_state(state, tree, err)) {
		gs_state_free(state);
		state = NULL;
	}
	jv_free(tree);
	return state;
}
