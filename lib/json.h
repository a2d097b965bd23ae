/*
 * JSON, strictly: a reader over raw bytes that refuses what hashes differently
 * elsewhere, the one writer of strings, and libjv trees for whole documents.
 */
#ifndef GS_JSON_H
#define GS_JSON_H

#include <jv.h>
#include <stdint.h>

#include "buf.h"
#include "err.h"

/* Nesting: DESIGN 6. */
#define GS_JSON_DEPTH 32
/* What every JSON library keeps exactly. */
#define GS_JSON_INT_MAX ((INT64_C(1) << 53) - 1)

/*
 * Refused everywhere: duplicate keys, invalid UTF-8, lone surrogates, raw control
 * bytes in strings, NaN and the like, leading zeros, trailing commas, a BOM,
 * nesting over max_depth, bytes behind the value.
 */
enum gs_json_type {
	GS_JSON_NULL,
	GS_JSON_FALSE,
	GS_JSON_TRUE,
	GS_JSON_INT,	/* an integer token: -?digits, no fraction or exponent, not -0 */
	GS_JSON_NUMBER, /* any other number */
	GS_JSON_STRING,
	GS_JSON_ARRAY,
	GS_JSON_OBJECT,
};

struct gs_json_value {
	enum gs_json_type type;
	struct gs_str raw; /* as it stands; a string without its quotes, not decoded */
	bool escaped;	   /* string: has a backslash */
};

/* A pull reader.  After a function returned false, why and at tell what is wrong. */
struct gs_json {
	const char *begin, *at, *end;
	unsigned depth, max_depth;
	const char *why; /* static text, NULL while all is well */
};

void gs_json_init(struct gs_json *json, const char *text, size_t len, unsigned max_depth);

/*
 * The next value.  A scalar is read whole.  Of an array or object only the bracket
 * is read: go on with gs_json_item or gs_json_member until *more is false.
 */
bool gs_json_next(struct gs_json *json, struct gs_json_value *value) GS_MUST;
/*
 * In an array: is there a further item?  Then read it with gs_json_next or _skip.
 * first: right behind the bracket.
 */
bool gs_json_item(struct gs_json *json, bool first, bool *more) GS_MUST;
/* In an object: the next key, its colon read.  Duplicates are the caller's to refuse. */
bool gs_json_member(struct gs_json *json, bool first, struct gs_json_value *key,
    bool *more) GS_MUST;
/* The next value with all below it, duplicate keys refused; raw has the brackets too. */
bool gs_json_skip(struct gs_json *json, struct gs_json_value *value) GS_MUST;
/* Nothing but blanks is left. */
bool gs_json_end(struct gs_json *json) GS_MUST;

/* For callers that refuse more: at is the place, why static text; returns false. */
bool gs_json_refuse(struct gs_json *json, const char *at, const char *why);
/* Reports why and where, in bytes ("line 3 column 17: ..."); returns false. */
bool gs_json_fail(const struct gs_json *json, struct gs_err *err);

/* Adds a string that the reader has passed, escapes decoded: at most raw.len bytes. */
void gs_json_decode(struct gs_buf *buf, struct gs_json_value value);
/* True if the string, decoded, is these bytes. */
bool gs_json_is(struct gs_json_value value, const char *text);
/* Value of a GS_JSON_INT within +-GS_JSON_INT_MAX. */
bool gs_json_int(struct gs_json_value value, int64_t *out) GS_MUST;

/* Length of the UTF-8 sequence at p that begins with a byte over 0x7f; 0: it is none. */
size_t gs_json_utf8_len(const uint8_t *p, size_t left);

/*
 * Adds a string with its quotes, escaped as NIP-01 ids are hashed: \n \" \\ \r \t
 * \b \f short, other bytes below 0x20 as \u00xx, all else (also 0x7f) raw.
 */
void gs_json_write_string(struct gs_buf *buf, const char *text, size_t len);

/*
 * A whole document as a libjv tree; the caller frees it.  Everything the reader
 * refuses is refused with its place; numbers that are not integers too.
 * On false *tree is not to be used.
 */
bool gs_json_tree(jv *tree, const char *text, size_t len, struct gs_err *err) GS_MUST;

/*
 * Kind-checked looks into a tree, which is never consumed; what is borrowed lives as
 * long as the object.  False: absent or another kind.
 */
bool gs_json_get(jv object, const char *key, jv_kind kind, jv *borrowed) GS_MUST;
bool gs_json_get_int(jv object, const char *key, int64_t *out) GS_MUST;
struct gs_str gs_json_str(jv string); /* borrowed bytes of a string */

#endif
