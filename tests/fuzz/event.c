/*
 * Events: a line that is read is printed no longer than it came, and what is printed
 * is read again as the same event, with the same id.
 */
#include "event.h"

#include <assert.h>
#include <string.h>

#include "verify.h"

/* All looks at tags, on tags of any shape. */
static void
look_at_tags(const struct gs_event *event)
{
	struct gs_address address;
	struct gs_buf buf = GS_BUF_INIT;
	size_t i;

	assert(gs_event_expiration(event) >= -1);
	(void)gs_event_d(event);
	for (i = 0; i < event->num_tags; i++) {
		struct gs_str value = gs_tag_value(&event->tags[i]);

		if (!gs_address_parse(&address, value))
			continue;
		gs_buf_clear(&buf);
		gs_address_write(&buf, address.kind, address.pubkey, address.d);
		assert(gs_str_equal((struct gs_str){ buf.data, buf.len }, value));
	}
	gs_buf_fini(&buf);
}

static void
check_event(const struct gs_event *event, size_t len)
{
	struct gs_event again = GS_EVENT_INIT;
	struct gs_buf line = GS_BUF_INIT, second = GS_BUF_INIT, scratch = GS_BUF_INIT;
	uint8_t id[32], second_id[32];
	enum gs_event_fault fault;

	gs_event_write(event, &line);
	assert(line.len <= len);
	fault = gs_event_parse(&again, line.data, line.len, NULL);
	assert(fault == GS_EVENT_OK);
	gs_event_write(&again, &second);
	assert(line.len == second.len && memcmp(line.data, second.data, line.len) == 0);
	gs_event_compute_id(event, &scratch, id);
	gs_event_compute_id(&again, &scratch, second_id);
	assert(memcmp(id, second_id, sizeof(id)) == 0);
	if (gs_verify_id(&again, &scratch) == GS_EVENT_OK)
		assert(memcmp(id, event->id, sizeof(id)) == 0);
	gs_buf_fini(&line);
	gs_buf_fini(&second);
	gs_buf_fini(&scratch);
	gs_event_fini(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gs_event event = GS_EVENT_INIT;
	struct gs_str object;
	struct gs_err err;

	if (!gs_event_in_frame(&object, (struct gs_str){ (const char *)data, size },
		&err)) {
		assert(err.code == GS_EDATA);
		return 0;
	}
	assert(object.len <= size);
	if (gs_event_parse(&event, object.ptr, object.len, &err) == GS_EVENT_OK) {
		look_at_tags(&event);
		check_event(&event, object.len);
	} else {
		assert(err.code == GS_EDATA && err.text[0] != '\0');
	}
	gs_event_fini(&event);
	return 0;
}
