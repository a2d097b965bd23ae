/*
 * The state file, written: members, maps and lists in one fixed order, so that
 * the same state gives the same bytes.  Putting it in its place is the caller's.
 */
#include "snapshot.h"

#include <inttypes.h>
#include <stdlib.h>

#include "document.h"
#include "json.h"

static void
write_str(struct gs_buf *buf, struct gs_str text)
{
	gs_json_write_string(buf, text.ptr, text.len);
}

static void
write_services(struct gs_buf *buf, const struct gs_state *state)
{
	gs_buf_add_str(buf, ",\"service\":");
	write_str(buf, state->num_services ? state->services[0] : GS_STR(""));
	if (state->num_services < 2)
		return;
	gs_buf_add_str(buf, ",\"services\":");
	gs_document_write_strings(buf, state->services, state->num_services);
}

static void
write_roots(struct gs_buf *buf, const void *value)
{
	const struct gs_repo *repo = value;

	gs_document_write_ids(buf, repo->roots, repo->num_roots);
}

static void
write_refs(struct gs_buf *buf, const void *value)
{
	const struct gs_relay_entry *relay = value;
	size_t i;

	gs_buf_add_char(buf, '[');
	for (i = 0; i < relay->num_repos; i++) {
		gs_document_write_comma(buf);
		write_str(buf, relay->repos[i]->ref);
	}
	gs_buf_add_char(buf, ']');
}

static void
write_number(struct gs_buf *buf, const char *key, int64_t value)
{
	if (value < 0)
		return;
	gs_document_write_comma(buf);
	gs_buf_printf(buf, "\"%s\":%" PRId64, key, value);
}

static void
write_status(struct gs_buf *buf, const void *value)
{
	const struct gs_relay_status *status =
	    ((const struct gs_relay_entry *)value)->status;

	gs_buf_add_char(buf, '{');
	if (status->status != NULL)
		gs_buf_printf(buf, "\"status\":\"%s\"", status->status);
	write_number(buf, "failures", status->failures);
	write_number(buf, "read_until", status->read_until);
	write_number(buf, "last_success", status->last_success);
	write_number(buf, "last_full_sync", status->last_full_sync);
	if (status->num_pending > 0) {
		gs_document_write_comma(buf);
		gs_buf_add_str(buf, "\"pending\":");
		gs_document_write_strings(buf, status->pending, status->num_pending);
	}
	gs_buf_add_char(buf, '}');
}

/* A ref stands in the first map only if a root names it. */
static bool
has_roots(const void *repo)
{
	return ((const struct gs_repo *)repo)->num_roots > 0;
}

static bool
is_bootstrap(const void *relay)
{
	return ((const struct gs_relay_entry *)relay)->is_bootstrap;
}

static bool
is_synced(const void *relay)
{
	return ((const struct gs_relay_entry *)relay)->is_synced;
}

static bool
has_status(const void *relay)
{
	return ((const struct gs_relay_entry *)relay)->status != NULL;
}

/* What of the map may stand here, by key; without write, the keys alone. */
static void
write_map(struct gs_buf *buf, const struct gs_map *map, bool (*may_stand)(const void *),
    void (*write)(struct gs_buf *, const void *))
{
	struct gs_map_entry **all = gs_map_sorted(map);
	size_t num = gs_map_count(map);
	size_t i;

	for (i = 0; i < num; i++) {
		if (!may_stand(all[i]->value))
			continue;
		gs_document_write_comma(buf);
		write_str(buf, all[i]->key);
		if (write == NULL)
			continue;
		gs_buf_add_char(buf, ':');
		write(buf, all[i]->value);
	}
	free(all);
}

void
gs_snapshot_write(struct gs_state *state, struct gs_buf *buf)
{
	gs_state_sort(state);
	gs_buf_printf(buf, "{\"version\":%d", GS_SNAPSHOT_VERSION);
	write_services(buf, state);
	gs_buf_printf(buf, ",\"created_at\":%" PRId64, state->created_at);
	gs_buf_add_str(buf, ",\"bootstrap_relays\":[");
	write_map(buf, state->relays, is_bootstrap, NULL);
	gs_buf_add_str(buf, "],\"following_repo_root_events\":{");
	write_map(buf, state->repos, has_roots, write_roots);
	gs_buf_add_str(buf, "},\"sync_relays\":{");
	write_map(buf, state->relays, is_synced, write_refs);
	gs_buf_add_str(buf, "},\"relays\":{");
	write_map(buf, state->relays, has_status, write_status);
	gs_buf_add_str(buf, "}}\n");
}
