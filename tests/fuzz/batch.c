/*
 * Batch lines: whatever is read can be written, and what was written is read again as
 * the same bytes; its filters are never empty.
 */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "batch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool
check_filter(unsigned layer, const struct gs_filter *filter, void *arg)
{
	const struct gs_batch_relay *relay = arg;

	if (filter->num_kinds == 0 && (filter->num_tags == 0 || filter->tags->num == 0))
		abort();
	if (layer == 1 && !relay->is_new)
		abort();
	return true;
}

static void
check_filters(const struct gs_batch *batch)
{
	const struct gs_layers_options options = { GS_LAYERS_ALL, 2, -1 };
	size_t i;

	for (i = 0; i < batch->num_relays; i++)
		if (!gs_batch_layers(&batch->relays[i], &options, check_filter,
			&batch->relays[i]))
			abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gs_batch batch = { 0 }, again = { 0 };
	struct gs_buf first = GS_BUF_INIT, second = GS_BUF_INIT;
	struct gs_err err = { GS_OK, "" };

	if (sodium_init() < 0)
		abort();
	if (!gs_batch_parse(&batch, (const char *)data, size, &err)) {
		if (err.code != GS_EDATA || err.text[0] == '\0')
			abort();
		return 0;
	}
	check_filters(&batch);
	gs_batch_write(&batch, &first);
	if (!gs_batch_parse(&again, first.data, first.len, &err))
		abort();
	gs_batch_write(&again, &second);
	if (first.len != second.len || memcmp(first.data, second.data, first.len) != 0)
		abort();
	gs_batch_fini(&again);
	gs_batch_fini(&batch);
	gs_buf_fini(&second);
	gs_buf_fini(&first);
	return 0;
}
