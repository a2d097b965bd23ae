/*
 * Events that we give to the test relay: published ones, which it keeps and hands on, and
 * those that say who we are (NIP-42).
 */
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#include "fakerelay.h"
#include "hex.h"
#include "json.h"
#include "url.h"
#include "verify.h"

#define KIND_AUTH 22242
#define AUTH_AGE_S 600

static void
answer_ok(struct fake_connection *connection, const struct gs_event *event,
    const char *verdict)
{
	struct gs_buf frame = GS_BUF_INIT;

	gs_buf_add_str(&frame, "[\"OK\",\"");
	(void)gs_hex_write(gs_buf_room(&frame, 64), event->id, sizeof(event->id));
	frame.len += 64;
	gs_buf_printf(&frame, "\",%s]", verdict);
	fake_wire_push(connection, FAKE_SEND, 1, &frame);
	gs_buf_fini(&frame);
}

static bool
is_valid(const struct gs_event *event)
{
	struct gs_buf scratch = GS_BUF_INIT;
	bool ok = gs_verify_id(event, &scratch) == GS_EVENT_OK &&
	    gs_verify_sig(event) == GS_EVENT_OK;

	gs_buf_fini(&scratch);
	return ok;
}

static void
serve_publish(struct fake_connection *connection, struct gs_str object,
    const struct gs_event *event)
{
	struct fake_relay *relay = connection->relay;
	const struct fake_about about = { .event = event };
	const struct fake_event *kept;
	bool is_new;

	if (!fake_rules_act(connection, FAKE_AT_PUBLISH, &about, NULL))
		return;
	if (!is_valid(event)) {
		answer_ok(connection, event, "false,\"invalid: not what it says\"");
		return;
	}
	if (!relay->script.keeps) {
		answer_ok(connection, event, "true,\"\"");
		return;
	}
	kept = fake_store_add(&relay->store, object, &is_new);
	answer_ok(connection, event,
	    is_new ? "true,\"\"" : "true,\"duplicate: have this event\"");
	if (is_new)
		fake_serve_live(relay, kept);
}

static const char *
find_auth_fault(const struct fake_connection *connection, const struct gs_event *event)
{
	const struct gs_tag *challenge = gs_event_tag(event, "challenge");
	const struct gs_tag *relay = gs_event_tag(event, "relay");
	struct gs_url url;

	if (event->kind != KIND_AUTH || !is_valid(event))
		return "no valid event of kind 22242";
	if (connection->challenge == NULL || challenge == NULL ||
	    !gs_str_is(gs_tag_value(challenge), connection->challenge))
		return "challenge string mismatch";
	if (relay == NULL || !gs_url_parse_relay(&url, gs_tag_value(relay), true, NULL) ||
	    url.port != connection->relay->port)
		return "not for this relay";
	if (imaxabs(event->created_at - (int64_t)time(NULL)) > AUTH_AGE_S)
		return "too old";
	return NULL;
}

static void
serve_auth(struct fake_connection *connection, const struct gs_event *event)
{
	const char *fault = find_auth_fault(connection, event);
	struct gs_buf verdict = GS_BUF_INIT;

	fake_log(connection->relay, connection->number,
	    "\"is\":\"auth\",\"fault\":\"%s\"", fault != NULL ? fault : "");
	if (fault == NULL)
		connection->is_known = true;
	gs_buf_printf(&verdict, fault == NULL ? "true,\"%s\"" : "false,\"error: %s\"",
	    fault == NULL ? "" : fault);
	answer_ok(connection, event, verdict.data);
	gs_buf_fini(&verdict);
}

void
fake_publish(struct fake_connection *connection, struct gs_json *json, bool is_auth)
{
	struct gs_event event = GS_EVENT_INIT;
	struct gs_json_value value;
	bool more;

	if (!gs_json_item(json, false, &more) || !more || !gs_json_skip(json, &value))
		return;
	if (gs_event_parse(&event, value.raw.ptr, value.raw.len, NULL) != GS_EVENT_OK)
		fake_wire_answer(connection, "NOTICE", NULL, "invalid: no event");
	else if (is_auth)
		serve_auth(connection, &event);
	else
		serve_publish(connection, value.raw, &event);
	gs_event_fini(&event);
}
