/* Heads of HTTP requests: what is accepted is within the text, and has no surprises. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "request.h"

static void
check(bool holds)
{
	if (!holds)
		abort();
}

static void
check_within(struct gs_str part, struct gs_str text)
{
	check(part.len == 0 ||
	    (part.ptr >= text.ptr && part.ptr + part.len <= text.ptr + text.len));
	for (size_t i = 0; i < part.len; i++)
		check(part.ptr[i] != '\0' && part.ptr[i] != '\n' && part.ptr[i] != '\r');
}

/* What one part of the text said holds for all of it. */
static void
check_beginnings(struct gs_str text, enum gs_request_result result)
{
	struct gs_request request;

	for (size_t len = 0; len < text.len && len < 200; len++) {
		enum gs_request_result early =
		    gs_request_parse(&request, (struct gs_str){ text.ptr, len });

		check(early == GS_REQUEST_MORE || early == result);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gs_str text = { (const char *)data, size };
	struct gs_request request;
	enum gs_request_result result = gs_request_parse(&request, text);

	check_beginnings(text, result);
	(void)gs_request_is_local(text);
	if (result != GS_REQUEST_OK)
		return 0;
	check_within(request.method, text);
	check_within(request.path, text);
	check_within(request.host, text);
	check(request.method.len > 0 && request.path.len > 0);
	check(request.path.ptr[0] == '/' || gs_str_is(request.path, "*"));
	check(memchr(request.path.ptr, '?', request.path.len) == NULL);
	(void)gs_request_is_local(request.host);
	return 0;
}
