/*
 * State files: whatever is read can be written, and what was written is read again
 * as the same bytes; its filters are never empty.
 */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "layers.h"
#include "snapshot.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool
check_filter(unsigned layer, const struct gs_filter *filter, void *arg)
{
	struct gs_buf json = GS_BUF_INIT;
	struct gs_filter again = GS_FILTER_INIT;

	(void)arg;
	gs_filter_write(filter, &json);
	if (layer < 1 || layer > 3 || (filter->num_kinds == 0 && filter->num_tags == 0) ||
	    !gs_filter_parse(&again, json.data, json.len, NULL))
		abort();
	gs_filter_fini(&again);
	gs_buf_fini(&json);
	return true;
}

static void
check_filters(const struct gs_state *state)
{
	const struct gs_layers_options options = { GS_LAYERS_ALL, 2, -1 };
	const struct gs_map_entry *entry;
	size_t at = 0;

	while ((entry = gs_map_next(state->relays, &at)) != NULL)
		if (!gs_layers_each(entry->value, &options, check_filter, NULL))
			abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gs_buf first = GS_BUF_INIT;
	struct gs_buf second = GS_BUF_INIT;
	struct gs_state *state, *again;
	struct gs_err err = { GS_OK, "" };

	if (sodium_init() < 0)
		abort();
	state = gs_snapshot_parse((const char *)data, size, &err);
	if (state == NULL) {
		if (err.code != GS_EDATA || err.text[0] == '\0')
			abort();
		return 0;
	}
	check_filters(state);
	gs_snapshot_write(state, &first);
	again = gs_snapshot_parse(first.data, first.len, &err);
	if (again == NULL)
		abort();
	gs_snapshot_write(again, &second);
	if (first.len != second.len || memcmp(first.data, second.data, first.len) != 0)
		abort();
	gs_state_free(again);
	gs_state_free(state);
	gs_buf_fini(&second);
	gs_buf_fini(&first);
	return 0;
}
