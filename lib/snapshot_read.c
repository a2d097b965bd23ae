/*
 * The state file, read: the tree is sound JSON already, what is left is its shape.
 * Damage is never taken for less work.  Which file it was is the caller's to say.
 */
#include "snapshot.h"

#include <inttypes.h>
#include <stdlib.h>

#include "event.h"
#include "hex.h"
#include "json.h"
#include "mem.h"
#include "url.h"

#define SHOWN_BYTES 120 /* of a key in an error: a ref with a short d is whole */
#define ID_BYTES 32

typedef bool string_fn(struct gs_str text, void *arg, struct gs_err *err);
typedef bool member_fn(struct gs_state *state, struct gs_str key, jv value,
    struct gs_err *err);

/* Relays and refs are read into the lists of what has this. */
struct reading {
	struct gs_state *state;
	struct gs_relay_entry *relay;
};

/* Puts the key before the reason: the path grows outwards. */
static bool
fail_in_key(struct gs_err *err, struct gs_str key)
{
	struct gs_buf shown = GS_BUF_INIT;

	gs_buf_add_shown(&shown, key.ptr, key.len, SHOWN_BYTES);
	gs_fail_in(err, "%s", shown.data ? shown.data : "\"\"");
	gs_buf_fini(&shown);
	return false;
}

static bool
read_strings(jv list, string_fn *fn, void *arg, struct gs_err *err)
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
static bool
read_members(struct gs_state *state, jv object, member_fn *fn, struct gs_err *err)
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

		ok = fn(state, gs_json_str(key), value, err) ||
		    fail_in_key(err, gs_json_str(key));
		jv_free(value);
		jv_free(key);
	}
	jv_free(keys);
	return ok;
}

/* The caller's to free; JV_KIND_INVALID if it is not there. */
static jv
find_member(jv object, const char *key)
{
	return jv_object_get(jv_copy(object), jv_string(key));
}

/* Absent: *out stays as it is. */
static bool
read_number(jv object, const char *key, int64_t *out, struct gs_err *err)
{
	int64_t value;

	if (!jv_object_has(jv_copy(object), jv_string(key)))
		return true;
	if (!gs_json_get_int(object, key, &value) || value < 0)
		return gs_fail(err, GS_EDATA, "%s: not a whole number from 0", key);
	*out = value;
	return true;
}

static bool
check_ref(struct gs_str ref, struct gs_err *err)
{
	return gs_address_is_repo(ref) ||
	    gs_fail(err, GS_EDATA, "not a repository reference 30617:<pubkey>:<d>");
}

/* NULL and err if the URL is none; private relays are no matter of the reader. */
static struct gs_relay_entry *
add_relay(struct gs_state *state, struct gs_str text, struct gs_err *err)
{
	struct gs_url url;

	if (!gs_url_parse_relay(&url, text, true, err)) {
		if (err != NULL)
			err->code = GS_EDATA;
		return NULL;
	}
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
		return fail_in_key(err, text);
	relay->is_bootstrap = true;
	return true;
}

static bool
read_root(struct gs_str text, void *arg, struct gs_err *err)
{
	uint8_t id[ID_BYTES];

	if (!gs_hex_parse(id, sizeof(id), text.ptr, text.len))
		return gs_fail(err, GS_EDATA,
		    "not an event id of 64 lower-case hex digits");
	gs_repo_add_root(arg, id);
	return true;
}

static bool
read_repo(struct gs_state *state, struct gs_str key, jv value, struct gs_err *err)
{
	return check_ref(key, err) &&
	    read_strings(value, read_root, gs_state_add_repo(state, key), err);
}

static bool
read_ref(struct gs_str text, void *arg, struct gs_err *err)
{
	struct reading *reading = arg;

	if (!check_ref(text, err))
		return false;
	gs_relay_add_repo(reading->relay, gs_state_add_repo(reading->state, text));
	return true;
}

/* Two spellings of one relay meet in one entry. */
static bool
read_synced(struct gs_state *state, struct gs_str key, jv value, struct gs_err *err)
{
	struct reading reading = { state, add_relay(state, key, err) };

	if (reading.relay == NULL)
		return false;
	reading.relay->is_synced = true;
	return read_strings(value, read_ref, &reading, err);
}

static bool
read_pending(struct gs_str text, void *arg, struct gs_err *err)
{
	if (!check_ref(text, err))
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
	jv name = find_member(value, "status");
	jv pending = find_member(value, "pending");
	bool ok = read_number(value, "failures", &status->failures, err) &&
	    read_number(value, "read_until", &status->read_until, err) &&
	    read_number(value, "last_success", &status->last_success, err) &&
	    read_number(value, "last_full_sync", &status->last_full_sync, err);

	if (ok && jv_get_kind(name) != JV_KIND_INVALID)
		ok = read_status_name(status, name, err);
	if (ok && jv_get_kind(pending) != JV_KIND_INVALID)
		ok = read_strings(pending, read_pending, status, err) ||
		    gs_fail_in(err, "pending");
	jv_free(pending);
	jv_free(name);
	return ok;
}

/* Of two spellings the last in byte order counts, member by member. */
static bool
read_status(struct gs_state *state, struct gs_str key, jv value, struct gs_err *err)
{
	struct gs_relay_entry *relay = add_relay(state, key, err);

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
	string_fn *item;
	member_fn *member;
};

static bool
read_part(struct gs_state *state, jv tree, const struct part *part, struct gs_err *err)
{
	jv value = find_member(tree, part->key);
	bool ok = true;

	if (jv_get_kind(value) == JV_KIND_INVALID)
		ok = part->may_be_absent || gs_fail(err, GS_EDATA, "missing");
	else if (part->item != NULL)
		ok = read_strings(value, part->item, state, err);
	else
		ok = read_members(state, value, part->member, err);
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
