/* Frames of a relay: whatever comes, it is read or it is junk, within its bytes. */
#include "message.h"
#include "refusal.h"

#include <stdlib.h>

static void
check(bool holds)
{
	if (!holds)
		abort();
}

static void
check_within(struct gs_str part, const char *text, size_t len)
{
	check(part.len == 0 || (part.ptr >= text && part.ptr + part.len <= text + len));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	struct gs_buf decoded = GS_BUF_INIT;
	struct gs_message message;

	if (gs_message_parse(&message, text, size) == GS_MESSAGE_JUNK) {
		check(message.why != NULL);
		return 0;
	}
	check_within(message.sub.raw, text, size);
	check_within(message.event, text, size);
	check_within(message.text.raw, text, size);
	check(message.type != GS_MESSAGE_EVENT || message.event.len >= 2);
	gs_json_decode(&decoded, message.text);
	check(decoded.len <= message.text.raw.len);
	(void)gs_refusal_prefix((struct gs_str){ decoded.data, decoded.len });
	gs_buf_fini(&decoded);
	return 0;
}
