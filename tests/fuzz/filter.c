/*
 * Filters: what is written is read again as the same filter.  With a newline in the
 * input, the filter before it is matched against the event behind it.
 */
#include "filter.h"

#include <assert.h>
#include <string.h>

static void
check_filter(const struct gs_filter *filter)
{
	struct gs_filter again = GS_FILTER_INIT;
	struct gs_buf first = GS_BUF_INIT, second = GS_BUF_INIT;
	bool ok;

	gs_filter_write(filter, &first);
	ok = gs_filter_parse(&again, first.data, first.len, NULL);
	assert(ok);
	gs_filter_write(&again, &second);
	assert(first.len == second.len &&
	    memcmp(first.data, second.data, first.len) == 0);
	gs_filter_fini(&again);
	gs_buf_fini(&first);
	gs_buf_fini(&second);
}

/* The words of NIP-01 again, in another order. */
static void
check_match(const struct gs_filter *filter, const char *text, size_t len)
{
	struct gs_event event = GS_EVENT_INIT;

	if (gs_event_parse(&event, text, len, NULL) == GS_EVENT_OK &&
	    gs_filter_match(filter, &event)) {
		assert(filter->num_tags == 0 || event.num_tags > 0);
		assert(filter->since <= event.created_at);
		assert(filter->until < 0 || filter->until >= event.created_at);
	}
	gs_event_fini(&event);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	const char *newline = size != 0 ? memchr(text, '\n', size) : NULL;
	size_t len = newline != NULL ? (size_t)(newline - text) : size;
	struct gs_filter filter = GS_FILTER_INIT;
	struct gs_err err;

	if (gs_filter_parse(&filter, text, len, &err)) {
		check_filter(&filter);
		if (newline != NULL)
			check_match(&filter, newline + 1, size - len - 1);
	} else {
		assert(err.code == GS_EDATA && err.text[0] != '\0');
	}
	gs_filter_fini(&filter);
	return 0;
}
