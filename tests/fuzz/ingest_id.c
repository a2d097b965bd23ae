/*
 * The id that is found without a parse: whenever the parser takes the line, it is
 * found too, unless it is escaped, and it is never another one.
 */
#include <assert.h>
#include <string.h>

#include "ingest_private.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gs_str line = { (const char *)data, size }, object;
	struct gs_event event = GS_EVENT_INIT;
	uint8_t id[32];
	bool found = ingest_find_id(id, line);

	if (gs_event_in_frame(&object, line, NULL) &&
	    gs_event_parse(&event, object.ptr, object.len, NULL) == GS_EVENT_OK) {
		assert(found || memchr(object.ptr, '\\', object.len) != NULL);
		assert(!found || memcmp(id, event.id, sizeof(id)) == 0);
	}
	gs_event_fini(&event);
	return 0;
}
