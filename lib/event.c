/*
 * A Nostr event (NIP-01): its canonical line, its id, and looks at its tags.
 * Parsing is event_read.c's, signatures are verify's.
 */
#include "event.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "hex.h"
#include "json.h"
#include "num.h"

#define KIND_MAX 65535
#define NUMBER_LEN 20 /* digits of a 64-bit number, and a sign */
#define HEX_MAX 128   /* digits of the longest: a signature */

_Static_assert(crypto_hash_sha256_BYTES == 32, "an id is a SHA-256");

const char *
gs_event_fault_name(enum gs_event_fault fault)
{
	switch (fault) {
	case GS_EVENT_OK:
		return "ok";
	case GS_EVENT_SHAPE:
		return "shape";
	case GS_EVENT_SIZE:
		return "size";
	case GS_EVENT_ID:
		return "id";
	case GS_EVENT_SIG:
		return "sig";
	}
	return "";
}

void
gs_event_fini(struct gs_event *event)
{
	free(event->tags);
	free(event->values);
	gs_buf_fini(&event->text);
	*event = (struct gs_event)GS_EVENT_INIT;
}

/* Times and kinds are what every event has: quicker than printf. */
static void
write_number(struct gs_buf *buf, int64_t number)
{
	char digits[NUMBER_LEN];
	size_t at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + number % 10);
		number /= 10;
	} while (number > 0);
	gs_buf_add(buf, digits + at, sizeof(digits) - at);
}

static void
write_hex(struct gs_buf *buf, const uint8_t *bytes, size_t num)
{
	char digits[HEX_MAX];

	gs_buf_add(buf, digits, (size_t)(gs_hex_write(digits, bytes, num) - digits));
}

static void
write_tags(struct gs_buf *buf, const struct gs_event *event)
{
	size_t i, j;

	gs_buf_add_char(buf, '[');
	for (i = 0; i < event->num_tags; i++) {
		const struct gs_tag *tag = &event->tags[i];

		gs_buf_add_str(buf, i > 0 ? ",[" : "[");
		for (j = 0; j < tag->num; j++) {
			if (j > 0)
				gs_buf_add_char(buf, ',');
			gs_json_write_string(buf, tag->values[j].ptr, tag->values[j].len);
		}
		gs_buf_add_char(buf, ']');
	}
	gs_buf_add_char(buf, ']');
}

void
gs_event_compute_id(const struct gs_event *event, struct gs_buf *scratch,
    uint8_t id[static 32])
{
	gs_buf_clear(scratch);
	gs_buf_add_str(scratch, "[0,\"");
	write_hex(scratch, event->pubkey, sizeof(event->pubkey));
	gs_buf_add_str(scratch, "\",");
	write_number(scratch, event->created_at);
	gs_buf_add_char(scratch, ',');
	write_number(scratch, event->kind);
	gs_buf_add_char(scratch, ',');
	write_tags(scratch, event);
	gs_buf_add_char(scratch, ',');
	gs_json_write_string(scratch, event->content.ptr, event->content.len);
	gs_buf_add_char(scratch, ']');
	(void)crypto_hash_sha256(id, (const unsigned char *)scratch->data, scratch->len);
}

void
gs_event_write(const struct gs_event *event, struct gs_buf *buf)
{
	gs_buf_add_str(buf, "{\"id\":\"");
	write_hex(buf, event->id, sizeof(event->id));
	gs_buf_add_str(buf, "\",\"pubkey\":\"");
	write_hex(buf, event->pubkey, sizeof(event->pubkey));
	gs_buf_add_str(buf, "\",\"created_at\":");
	write_number(buf, event->created_at);
	gs_buf_add_str(buf, ",\"kind\":");
	write_number(buf, event->kind);
	gs_buf_add_str(buf, ",\"tags\":");
	write_tags(buf, event);
	gs_buf_add_str(buf, ",\"content\":");
	gs_json_write_string(buf, event->content.ptr, event->content.len);
	gs_buf_add_str(buf, ",\"sig\":\"");
	write_hex(buf, event->sig, sizeof(event->sig));
	gs_buf_add_str(buf, "\"}");
}

struct gs_str
gs_tag_value(const struct gs_tag *tag)
{
	return tag->num > 1 ? tag->values[1] : GS_STR("");
}

bool
gs_tag_is(const struct gs_tag *tag, const char *name)
{
	return tag->num > 0 && gs_str_is(tag->values[0], name);
}

const struct gs_tag *
gs_event_tag(const struct gs_event *event, const char *name)
{
	size_t i;

	for (i = 0; i < event->num_tags; i++)
		if (gs_tag_is(&event->tags[i], name))
			return &event->tags[i];
	return NULL;
}

struct gs_str
gs_event_d(const struct gs_event *event)
{
	const struct gs_tag *tag = gs_event_tag(event, "d");

	return tag != NULL ? gs_tag_value(tag) : GS_STR("");
}

int64_t
gs_event_expiration(const struct gs_event *event)
{
	const struct gs_tag *tag = gs_event_tag(event, "expiration");
	struct gs_str text = tag != NULL ? gs_tag_value(tag) : GS_STR("");
	int64_t time;

	while (text.len > 1 && text.ptr[0] == '0') {
		text.ptr++;
		text.len--;
	}
	return gs_num_parse(&time, text.ptr, text.len, GS_JSON_INT_MAX) ? time : -1;
}

bool
gs_kind_is_replaceable(unsigned kind)
{
	return kind == 0 || kind == 3 || (kind >= 10000 && kind < 20000);
}

bool
gs_kind_is_addressable(unsigned kind)
{
	return kind >= 30000 && kind < 40000;
}

bool
gs_kind_is_root(unsigned kind)
{
	return kind == 1617 || kind == 1618 || kind == 1619 || kind == 1621;
}

/* Takes what stands before the first colon off the text. */
static bool
cut_at_colon(struct gs_str *text, struct gs_str *part)
{
	const char *colon = text->len != 0 ? memchr(text->ptr, ':', text->len) : NULL;

	if (colon == NULL)
		return false;
	*part = (struct gs_str){ text->ptr, (size_t)(colon - text->ptr) };
	text->ptr = colon + 1;
	text->len -= part->len + 1;
	return true;
}

bool
gs_address_parse(struct gs_address *address, struct gs_str text)
{
	struct gs_str kind, pubkey;
	int64_t number;

	if (!cut_at_colon(&text, &kind) || !cut_at_colon(&text, &pubkey) ||
	    !gs_num_parse(&number, kind.ptr, kind.len, KIND_MAX) ||
	    !gs_hex_parse(address->pubkey, sizeof(address->pubkey), pubkey.ptr,
		pubkey.len))
		return false;
	address->kind = (uint16_t)number;
	address->d = text;
	return true;
}

bool
gs_address_is_repo(struct gs_str text)
{
	struct gs_address address;

	return gs_address_parse(&address, text) && address.kind == GS_KIND_ANNOUNCEMENT;
}

void
gs_address_write(struct gs_buf *buf, unsigned kind, const uint8_t pubkey[static 32],
    struct gs_str d)
{
	write_number(buf, kind);
	gs_buf_add_char(buf, ':');
	write_hex(buf, pubkey, 32);
	gs_buf_add_char(buf, ':');
	gs_buf_add(buf, d.ptr, d.len);
}

int
gs_event_compare(int64_t a_created_at, const uint8_t a_id[static 32],
    int64_t b_created_at, const uint8_t b_id[static 32])
{
	if (a_created_at != b_created_at)
		return a_created_at < b_created_at ? -1 : 1;
	return memcmp(a_id, b_id, 32);
}
