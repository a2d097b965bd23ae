/*
 * Telling a relay who we are (NIP-42): only when it refuses a request for want of
 * that, only with a key, once a challenge.
 */
#include <string.h>

#include "session_private.h"

#define MAX_LOGINS 3 /* a connection; a relay that wants more never has enough */

void
gs_login_begin(struct gs_session *session)
{
	session->login = GS_LOGIN_NONE;
	session->num_logins = 0;
	session->has_challenge = false;
}

bool
gs_login_is_pending(const struct gs_session *session)
{
	return session->login == GS_LOGIN_WANTED || session->login == GS_LOGIN_TO_SEND ||
	    session->login == GS_LOGIN_SENT;
}

void
gs_login_time_out(struct gs_session *session)
{
	if (gs_login_is_pending(session))
		session->login = GS_LOGIN_REFUSED;
}

void
gs_login_take_challenge(struct gs_session *session, const struct gs_message *message,
    struct gs_now now)
{
	session->noise++;
	if (message->text.raw.len > 2 * GS_AUTH_CHALLENGE_BYTES) {
		session->counts.junk++;
		return;
	}
	gs_buf_clear(&session->challenge);
	gs_json_decode(&session->challenge, message->text);
	session->has_challenge = session->challenge.len <= GS_AUTH_CHALLENGE_BYTES;
	session->counts.junk += !session->has_challenge;
	if (!session->has_challenge || session->login != GS_LOGIN_WANTED)
		return;
	session->login = GS_LOGIN_TO_SEND;
	gs_session_note_useful(session, NULL, now);
}

static bool
begin_login(struct gs_session *session, struct gs_now now)
{
	if (session->num_logins == MAX_LOGINS)
		return false;
	session->num_logins++;
	if (!gs_session_is_waiting(session))
		gs_session_note_useful(session, NULL, now);
	session->login = session->has_challenge ? GS_LOGIN_TO_SEND : GS_LOGIN_WANTED;
	return true;
}

bool
gs_login_want(struct gs_session *session, const struct gs_sub *sub, struct gs_now now)
{
	if (session->options.auth == NULL)
		return false;
	switch (session->login) {
	case GS_LOGIN_NONE:
		return begin_login(session, now);
	case GS_LOGIN_WANTED:
	case GS_LOGIN_TO_SEND:
	case GS_LOGIN_SENT:
		return true;
	case GS_LOGIN_ACCEPTED:
		if (!sub->is_authed)
			return true;
		return session->has_challenge && begin_login(session, now);
	case GS_LOGIN_REFUSED:
		break;
	}
	return false;
}

/* The id of the event that was just written: an OK names it. */
static bool
keep_id(struct gs_session *session, struct gs_str frame)
{
	struct gs_str object;

	if (frame.len < sizeof("[\"AUTH\",]"))
		return false;
	object = (struct gs_str){ frame.ptr + sizeof("[\"AUTH\",") - 1,
		frame.len - (sizeof("[\"AUTH\",]") - 1) };
	if (gs_event_parse(&session->event, object.ptr, object.len, NULL) != GS_EVENT_OK)
		return false;
	memcpy(session->login_id, session->event.id, sizeof(session->login_id));
	return true;
}

bool
gs_login_next_frame(struct gs_session *session, struct gs_buf *frame, struct gs_now now)
{
	const struct gs_str challenge = { session->challenge.data,
		session->challenge.len };
	size_t before = frame->len;

	if (session->login != GS_LOGIN_TO_SEND)
		return false;
	session->has_challenge = false;
	if (!gs_auth_write(session->options.auth, challenge, session->options.url,
		now.wall_s, frame) ||
	    !keep_id(session,
		(struct gs_str){ frame->data + before, frame->len - before })) {
		gs_buf_cut(frame, before);
		session->login = GS_LOGIN_REFUSED;
		return false;
	}
	session->login = GS_LOGIN_SENT;
	return true;
}

void
gs_login_take_ok(struct gs_session *session, const struct gs_message *message,
    struct gs_now now)
{
	if (session->login != GS_LOGIN_SENT ||
	    memcmp(message->id, session->login_id, sizeof(session->login_id)) != 0) {
		session->counts.junk++;
		session->noise++;
		return;
	}
	session->login = message->accepted ? GS_LOGIN_ACCEPTED : GS_LOGIN_REFUSED;
	gs_session_note_useful(session, NULL, now);
}
