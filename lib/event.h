/*
 * A Nostr event (NIP-01): strict parsing from raw bytes, its canonical line, its
 * id, and looks at its tags.  Signatures are verify's.
 */
#ifndef GS_EVENT_H
#define GS_EVENT_H

#include <stdint.h>

#include "buf.h"
#include "err.h"

/* The line as it came, and as it is printed: DESIGN 6. */
#define GS_EVENT_BYTES (512 * 1024)

#define GS_KIND_DELETION 5
#define GS_KIND_VANISH 62
#define GS_KIND_ANNOUNCEMENT 30617
#define GS_KIND_STATE 30618

enum gs_event_fault {
	GS_EVENT_OK,
	GS_EVENT_SHAPE, /* not the JSON that NIP-01 asks for */
	GS_EVENT_SIZE,	/* over GS_EVENT_BYTES */
	GS_EVENT_ID,	/* id is not the hash of the content */
	GS_EVENT_SIG,	/* signature does not verify, or pubkey is not on the curve */
};

/* "shape", "size", "id", "sig". */
const char *gs_event_fault_name(enum gs_event_fault fault);

/* values[0] is the name; an empty tag has num 0. */
struct gs_tag {
	const struct gs_str *values;
	size_t num;
};

/*
 * Strings are decoded and may hold NUL; all memory is the event's and is used again
 * by the next parse.
 */
struct gs_event {
	uint8_t id[32];
	uint8_t pubkey[32];
	uint8_t sig[64];
	int64_t created_at; /* 0 .. 2^53-1 */
	uint16_t kind;
	struct gs_tag *tags;
	size_t num_tags;
	struct gs_str content;

	/* private */
	struct gs_str *values;
	size_t cap_tags, cap_values, num_values;
	struct gs_buf text;
};

#define GS_EVENT_INIT     \
	{                 \
		.kind = 0 \
	}

/*
 * Reads one event from the bytes of its JSON object.  Strict shape: every member
 * once, lower-case hex, integer tokens, kind 0..65535, created_at 0..2^53-1, tags
 * arrays of strings (an empty tag is kept); unknown members are passed over.
 * Returns GS_EVENT_OK, _SHAPE or _SIZE (err, may be NULL, says where); checks neither
 * id nor signature.  On a fault the event holds nothing to rely on.
 */
enum gs_event_fault gs_event_parse(struct gs_event *event, const char *text, size_t len,
    struct gs_err *err) GS_MUST;
void gs_event_fini(struct gs_event *event);

/* The hash of [0,pubkey,created_at,kind,tags,content]; scratch is cleared and used. */
void gs_event_compute_id(const struct gs_event *event, struct gs_buf *scratch,
    uint8_t id[static 32]);
/* Adds the line: id, pubkey, created_at, kind, tags, content, sig; no newline. */
void gs_event_write(const struct gs_event *event, struct gs_buf *buf);

/* First value of the tag, or an empty string: tag [1] if there is one. */
struct gs_str gs_tag_value(const struct gs_tag *tag);
bool gs_tag_is(const struct gs_tag *tag, const char *name);
/* The first tag of that name, or NULL. */
const struct gs_tag *gs_event_tag(const struct gs_event *event, const char *name);
/* First value of the first `d` tag; "" if missing or ["d"]. */
struct gs_str gs_event_d(const struct gs_event *event);
/* Time of the first `expiration` tag if it is digits, up to 2^53-1; else -1 (never). */
int64_t gs_event_expiration(const struct gs_event *event);

bool gs_kind_is_replaceable(unsigned kind); /* 0, 3, 10000..19999 */
bool gs_kind_is_addressable(unsigned kind); /* 30000..39999 */
bool gs_kind_is_root(unsigned kind);	    /* 1617, 1618, 1619, 1621 */

/* An address "kind:pubkey:d", as in `a` tags; d may hold colons. */
struct gs_address {
	uint16_t kind;
	uint8_t pubkey[32];
	struct gs_str d; /* borrowed from the text */
};

/*
 * Split at the first two colons; false unless both are there, kind is a number and
 * pubkey lower-case hex.
 */
bool gs_address_parse(struct gs_address *address, struct gs_str text) GS_MUST;
/* A repo ref: an address of kind 30617. */
bool gs_address_is_repo(struct gs_str text);
/* Adds "kind:pubkey:d". */
void gs_address_write(struct gs_buf *buf, unsigned kind, const uint8_t pubkey[static 32],
    struct gs_str d);

/* <0: a stands before b (created_at, then id): the order of export. */
int gs_event_compare(int64_t a_created_at, const uint8_t a_id[static 32],
    int64_t b_created_at, const uint8_t b_id[static 32]);

/* The raw object in a line: the line itself, or the last element of ["EVENT",...,{}]. */
bool gs_event_in_frame(struct gs_str *object, struct gs_str line,
    struct gs_err *err) GS_MUST;

#endif
