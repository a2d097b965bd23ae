/*
 * JSON, token by token: a reader over raw bytes that refuses what hashes differently
 * elsewhere.  Whole values are json_tree.c's, writing is json_write.c's.
 */
#include "json.h"

#include <string.h>

#include "num.h"

#define ESCAPE_LEN 6	   /* \uXXXX */
#define MAX_CHAR_LEN 4	   /* of UTF-8 */
#define FIRST_PAIR 0x10000 /* the first code point that UTF-16 writes as a pair */

enum byte_class {
	PLAIN, /* stands for itself */
	QUOTE,
	BACKSLASH,
	CONTROL,
	HIGH, /* part of a UTF-8 sequence */
};

static const uint8_t class_of[256] = {
	[0x00 ... 0x1f] = CONTROL,
	['"'] = QUOTE,
	['\\'] = BACKSLASH,
	[0x80 ... 0xff] = HIGH,
};

/* What stands behind a backslash, and what it means. */
static const char meaning_of[256] = {
	['"'] = '"',
	['\\'] = '\\',
	['/'] = '/',
	['b'] = '\b',
	['f'] = '\f',
	['n'] = '\n',
	['r'] = '\r',
	['t'] = '\t',
};

void
gs_json_init(struct gs_json *json, const char *text, size_t len, unsigned max_depth)
{
	*json = (struct gs_json){ .begin = text, .at = text, .max_depth = max_depth };
	json->end = len != 0 ? text + len : text;
}

bool
gs_json_refuse(struct gs_json *json, const char *at, const char *why)
{
	json->at = at;
	json->why = why;
	return false;
}

bool
gs_json_fail(const struct gs_json *json, struct gs_err *err)
{
	const char *line = json->begin;
	const char *p;
	size_t number = 1;

	for (p = json->begin; p < json->at; p++)
		if (*p == '\n') {
			number++;
			line = p + 1;
		}
	return gs_fail(err, GS_EDATA, "line %zu column %zu: %s", number,
	    (size_t)(json->at - line) + 1,
	    json->why ? json->why : "not what is expected");
}

static void
pass_blanks(struct gs_json *json)
{
	const char *p = json->at;

	while (p < json->end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t'))
		p++;
	json->at = p;
}

/* Passes blanks and c; otherwise fails with why. */
static bool
pass_char(struct gs_json *json, char c, const char *why)
{
	pass_blanks(json);
	if (json->at == json->end)
		return gs_json_refuse(json, json->at, "ends too early");
	if (*json->at != c)
		return gs_json_refuse(json, json->at, why);
	json->at++;
	return true;
}

/* 0: overlong, a surrogate or too high (RFC 3629). */
size_t
gs_json_utf8_len(const uint8_t *p, size_t left)
{
	uint8_t low = p[0] == 0xe0 ? 0xa0 : p[0] == 0xf0 ? 0x90 : 0x80;
	uint8_t high = p[0] == 0xed ? 0x9f : p[0] == 0xf4 ? 0x8f : 0xbf;
	size_t len = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : MAX_CHAR_LEN;
	size_t i;

	if (p[0] < 0xc2 || p[0] > 0xf4 || left < len || p[1] < low || p[1] > high)
		return 0;
	for (i = 2; i < len; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	return len;
}

static int
hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* The UTF-16 unit of the \uXXXX at p, or -1 if there is none. */
static int32_t
utf16_unit(const char *p, const char *end)
{
	int32_t unit = 0;
	int i;

	if (end - p < ESCAPE_LEN || p[0] != '\\' || p[1] != 'u')
		return -1;
	for (i = 2; i < ESCAPE_LEN; i++) {
		int digit = hex_digit(p[i]);

		if (digit < 0)
			return -1;
		unit = unit * 16 + digit;
	}
	return unit;
}

static bool
is_high_half(int32_t unit)
{
	return unit >= 0xd800 && unit <= 0xdbff;
}

static bool
is_low_half(int32_t unit)
{
	return unit >= 0xdc00 && unit <= 0xdfff;
}

/* The place behind the escape at p, or NULL. */
static const char *
pass_escape(struct gs_json *json, const char *p)
{
	int32_t unit;

	if (json->end - p >= 2 && meaning_of[(uint8_t)p[1]] != '\0')
		return p + 2;
	unit = utf16_unit(p, json->end);
	if (unit >= 0 && !is_high_half(unit) && !is_low_half(unit))
		return p + ESCAPE_LEN;
	if (is_high_half(unit) && is_low_half(utf16_unit(p + ESCAPE_LEN, json->end)))
		return p + 2 * ESCAPE_LEN;
	(void)gs_json_refuse(json, p, unit < 0 ? "no such escape" : "lone surrogate");
	return NULL;
}

/* The place behind the UTF-8 sequence at p, or NULL. */
static const char *
pass_utf8(struct gs_json *json, const char *p)
{
	size_t len = gs_json_utf8_len((const uint8_t *)p, (size_t)(json->end - p));

	if (len != 0)
		return p + len;
	(void)gs_json_refuse(json, p, "invalid utf-8");
	return NULL;
}

#define EVERY_BYTE(x) (UINT64_C(0x0101010101010101) * (x))

/*
 * The first byte that is not PLAIN.  Eight at a time: where all bytes of the word are
 * plain no subtraction borrows and no high bit is set.
 */
static const char *
pass_plain(const char *p, const char *end)
{
	uint64_t word, odd;

	for (; end - p >= (ptrdiff_t)sizeof(word); p += sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		odd = word | (word - EVERY_BYTE(' '));
		odd |= (word ^ EVERY_BYTE('"')) - EVERY_BYTE(1);
		odd |= (word ^ EVERY_BYTE('\\')) - EVERY_BYTE(1);
		if ((odd & EVERY_BYTE(0x80)) != 0)
			break;
	}
	while (p < end && class_of[(uint8_t)*p] == PLAIN)
		p++;
	return p;
}

/* The string whose quote stands at json->at. */
static bool
read_string(struct gs_json *json, struct gs_json_value *value)
{
	const char *begin = json->at + 1;
	const char *p = begin;

	value->type = GS_JSON_STRING;
	while (p != NULL) {
		p = pass_plain(p, json->end);
		if (p == json->end)
			return gs_json_refuse(json, p, "string without its end");
		switch ((enum byte_class)class_of[(uint8_t)*p]) {
		case QUOTE:
			value->raw = (struct gs_str){ begin, (size_t)(p - begin) };
			json->at = p + 1;
			return true;
		case BACKSLASH:
			value->escaped = true;
			p = pass_escape(json, p);
			break;
		case HIGH:
			p = pass_utf8(json, p);
			break;
		case PLAIN:
		case CONTROL:
			return gs_json_refuse(json, p, "control byte in a string");
		}
	}
	return false;
}

static const char *
pass_digits(const char *p, const char *end)
{
	while (p < end && *p >= '0' && *p <= '9')
		p++;
	return p;
}

/* Passes a fraction or exponent (mark: "." or "e"), if any; NULL if it has no digits. */
static const char *
pass_part(const char *p, const char *end, char mark)
{
	const char *digits;

	if (p == end || (*p | 0x20) != (mark | 0x20) || (mark == '.' && *p != '.'))
		return p;
	p++;
	if (mark == 'e' && p < end && (*p == '+' || *p == '-'))
		p++;
	digits = p;
	p = pass_digits(p, end);
	return p != digits ? p : NULL;
}

static bool
read_number(struct gs_json *json, struct gs_json_value *value)
{
	const char *begin = json->at;
	const char *digits = *begin == '-' ? begin + 1 : begin;
	const char *whole = pass_digits(digits, json->end);
	const char *p = whole;
	bool is_minus_zero;

	if (whole == digits || (*digits == '0' && whole - digits > 1))
		return gs_json_refuse(json, begin, "not a number");
	is_minus_zero = digits != begin && *digits == '0';
	p = pass_part(p, json->end, '.');
	if (p != NULL)
		p = pass_part(p, json->end, 'e');
	if (p == NULL)
		return gs_json_refuse(json, begin, "not a number");
	value->type = p == whole && !is_minus_zero ? GS_JSON_INT : GS_JSON_NUMBER;
	value->raw = (struct gs_str){ begin, (size_t)(p - begin) };
	json->at = p;
	return true;
}

static bool
read_word(struct gs_json *json, struct gs_json_value *value)
{
	static const struct {
		const char *text;
		size_t len;
		enum gs_json_type type;
	} words[] = { { "null", 4, GS_JSON_NULL }, { "true", 4, GS_JSON_TRUE },
		{ "false", 5, GS_JSON_FALSE } };
	size_t left = (size_t)(json->end - json->at);
	size_t i;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (left >= words[i].len &&
		    memcmp(json->at, words[i].text, words[i].len) == 0) {
			value->type = words[i].type;
			value->raw = (struct gs_str){ json->at, words[i].len };
			json->at += words[i].len;
			return true;
		}
	if ((uint8_t)*json->at == 0xef)
		return gs_json_refuse(json, json->at,
		    "a byte order mark or other text, not json");
	return gs_json_refuse(json, json->at, "not a json value");
}

static bool
open_bracket(struct gs_json *json, struct gs_json_value *value)
{
	if (json->depth >= json->max_depth)
		return gs_json_refuse(json, json->at, "nested too deeply");
	json->depth++;
	value->type = *json->at == '[' ? GS_JSON_ARRAY : GS_JSON_OBJECT;
	value->raw = (struct gs_str){ json->at, 1 };
	json->at++;
	return true;
}

bool
gs_json_next(struct gs_json *json, struct gs_json_value *value)
{
	pass_blanks(json);
	if (json->at == json->end)
		return gs_json_refuse(json, json->at, "ends too early");
	value->escaped = false;
	switch (*json->at) {
	case '"':
		return read_string(json, value);
	case '[':
	case '{':
		return open_bracket(json, value);
	case '-':
	case '0' ... '9':
		return read_number(json, value);
	default:
		return read_word(json, value);
	}
}

/* Passes the closing bracket (*more is false) or what parts two elements. */
static bool
pass_between(struct gs_json *json, bool first, char closing, bool *more)
{
	pass_blanks(json);
	*more = json->at == json->end || *json->at != closing;
	if (!*more) {
		json->at++;
		json->depth--;
		return true;
	}
	return first || pass_char(json, ',', "neither a comma nor the closing bracket");
}

bool
gs_json_item(struct gs_json *json, bool first, bool *more)
{
	return pass_between(json, first, ']', more);
}

bool
gs_json_member(struct gs_json *json, bool first, struct gs_json_value *key, bool *more)
{
	if (!pass_between(json, first, '}', more))
		return false;
	if (!*more)
		return true;
	key->escaped = false;
	if (!pass_char(json, '"', "no key"))
		return false;
	json->at--;
	return read_string(json, key) && pass_char(json, ':', "no colon behind a key");
}

bool
gs_json_end(struct gs_json *json)
{
	pass_blanks(json);
	if (json->at != json->end)
		return gs_json_refuse(json, json->at, "more behind the value");
	return true;
}

/* Writes the UTF-8 of a code point and returns the place behind it. */
static char *
put_utf8(char *to, int32_t c)
{
	if (c < 0x80) {
		*to++ = (char)c;
		return to;
	}
	if (c < 0x800) {
		*to++ = (char)(0xc0 | c >> 6);
	} else if (c < FIRST_PAIR) {
		*to++ = (char)(0xe0 | c >> 12);
		*to++ = (char)(0x80 | (c >> 6 & 0x3f));
	} else {
		*to++ = (char)(0xf0 | c >> 18);
		*to++ = (char)(0x80 | (c >> 12 & 0x3f));
		*to++ = (char)(0x80 | (c >> 6 & 0x3f));
	}
	*to++ = (char)(0x80 | (c & 0x3f));
	return to;
}

/* Decodes the escape at *from, which the reader has checked, and moves both places on. */
static char *
put_escape(char *to, const char **from, const char *end)
{
	const char *p = *from;
	int32_t unit;

	if (p[1] != 'u') {
		*from = p + 2;
		*to++ = meaning_of[(uint8_t)p[1]];
		return to;
	}
	unit = utf16_unit(p, end);
	p += ESCAPE_LEN;
	if (is_high_half(unit)) {
		unit = FIRST_PAIR + ((unit & 0x3ff) << 10) + (utf16_unit(p, end) & 0x3ff);
		p += ESCAPE_LEN;
	}
	*from = p;
	return put_utf8(to, unit);
}

void
gs_json_decode(struct gs_buf *buf, struct gs_json_value value)
{
	const char *from = value.raw.ptr;
	const char *end = from + value.raw.len;
	char *to;

	if (!value.escaped) {
		gs_buf_add(buf, value.raw.ptr, value.raw.len);
		return;
	}
	to = gs_buf_room(buf, value.raw.len);
	while (from < end)
		if (*from == '\\')
			to = put_escape(to, &from, end);
		else
			*to++ = *from++;
	*to = '\0';
	buf->len = (size_t)(to - buf->data);
}

bool
gs_json_is(struct gs_json_value value, const char *text)
{
	struct gs_buf buf = GS_BUF_INIT;
	bool is;

	if (value.type != GS_JSON_STRING)
		return false;
	if (!value.escaped)
		return gs_str_is(value.raw, text);
	gs_json_decode(&buf, value);
	is = gs_str_is((struct gs_str){ buf.data, buf.len }, text);
	gs_buf_fini(&buf);
	return is;
}

bool
gs_json_int(struct gs_json_value value, int64_t *out)
{
	bool is_negative;

	if (value.type != GS_JSON_INT)
		return false;
	is_negative = value.raw.ptr[0] == '-';
	if (!gs_num_parse(out, value.raw.ptr + is_negative, value.raw.len - is_negative,
		GS_JSON_INT_MAX))
		return false;
	if (is_negative)
		*out = -*out;
	return true;
}
