/*
 * The frames of Nostr (NIP-01, NIP-42, NIP-67): what a relay says, read strictly
 * from raw bytes; what we say, written.  Knows nothing of a conversation.
 */
#ifndef GS_MESSAGE_H
#define GS_MESSAGE_H

#include "json.h"

enum gs_message_type {
	GS_MESSAGE_JUNK, /* not JSON, no frame of NIP-01, or one that we never ask for */
	GS_MESSAGE_EVENT,
	GS_MESSAGE_EOSE,
	GS_MESSAGE_CLOSED,
	GS_MESSAGE_NOTICE,
	GS_MESSAGE_OK,
	GS_MESSAGE_AUTH,
};

/* All slices are borrowed from the frame; strings are not decoded (gs_json_is). */
struct gs_message {
	enum gs_message_type type;
	struct gs_json_value sub; /* EVENT, EOSE, CLOSED */
	struct gs_str event;	  /* EVENT: the raw object, its shape not looked at */
	struct gs_json_value
	    text;	 /* CLOSED, NOTICE, OK: what it says; AUTH: the challenge */
	uint8_t id[32];	 /* OK */
	bool accepted;	 /* OK */
	bool is_finish;	 /* EOSE: NIP-67 says that nothing older is stored */
	const char *why; /* JUNK: static text */
};

/*
 * Reads a frame.  Elements behind the ones that we know are passed over; a CLOSED
 * without text is read as an empty one.  Whatever else is wrong is JUNK, never a fault.
 */
enum gs_message_type gs_message_parse(struct gs_message *message, const char *text,
    size_t len);

/* A relay's text without the "ERROR: " that strfry puts before it. */
struct gs_str gs_message_strip(struct gs_str text);

/* Adds ["REQ","sub",filter,...]; filters are JSON; sub is ASCII without escapes. */
void gs_message_write_req(struct gs_buf *buf, const char *sub,
    const struct gs_str *filters, size_t num);
/* Adds ["CLOSE","sub"]. */
void gs_message_write_close(struct gs_buf *buf, const char *sub);

#endif
