/* What came of a relay's reading, as exit codes. */
#include "message.h"
#include "relay.h"

static enum gs_code
code_of_refusal(const char *reason)
{
	switch (gs_message_prefix(gs_str_of(reason))) {
	case GS_PREFIX_AUTH_REQUIRED:
	case GS_PREFIX_RESTRICTED:
		return GS_EREFUSED;
	case GS_PREFIX_RATE_LIMITED:
	case GS_PREFIX_NONE:
		break;
	}
	return GS_EINCOMPLETE;
}

enum gs_code
gs_relay_code(struct gs_relay *relay, size_t i)
{
	const struct gs_history_report *report =
	    gs_history_get(gs_session_history(gs_relay_session(relay)), i);
	const struct gs_relay_fault *fault = gs_relay_fault(relay);

	switch (report->end) {
	case GS_END_FINISHED:
		return GS_OK;
	case GS_END_CLOSED:
		return code_of_refusal(report->reason);
	case GS_END_DROPPED:
		return fault->name != NULL ? fault->code : GS_EINCOMPLETE;
	case GS_END_INCONSISTENT:
		return gs_session_fault(gs_relay_session(relay)) == GS_FAULT_NOISY
		    ? GS_EPROTOCOL
		    : GS_EINCOMPLETE;
	case GS_END_NONE:
	case GS_END_TIMEOUT:
	case GS_END_CAP:
	case GS_END_LOSS:
		break;
	}
	return GS_EINCOMPLETE;
}
