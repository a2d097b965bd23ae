/*
 * A NIP-01 filter: read from JSON, written as JSON, matched against events.  Which
 * filters to ask is layers', how they go into requests is pack's.
 */
#include "filter.h"

#include <stdlib.h>
#include <string.h>

#include "hex.h"
#include "json.h"
#include "mem.h"

#define KIND_MAX 65535
#define HASH_LEN 64 /* hex digits of an id or key */

/* One filter that is being read. */
struct reading {
	struct gs_json json;
	struct gs_filter *filter;
};

/* Finds the first item.  An empty list matches nothing, or all: nobody agrees. */
static bool
open_list(struct gs_json *json)
{
	struct gs_json_value value;
	bool more;

	if (!gs_json_next(json, &value))
		return false;
	if (value.type != GS_JSON_ARRAY)
		return gs_json_refuse(json, value.raw.ptr, "not a list");
	if (!gs_json_item(json, true, &more))
		return false;
	return more || gs_json_refuse(json, value.raw.ptr, "an empty list");
}

/* The filter's text has room for all strings, so they stay where they are. */
static bool
read_string(struct reading *reading, struct gs_str *text)
{
	struct gs_buf *buf = &reading->filter->text;
	struct gs_json_value value;
	size_t begin = buf->len;

	if (!gs_json_next(&reading->json, &value))
		return false;
	if (value.type != GS_JSON_STRING)
		return gs_json_refuse(&reading->json, value.raw.ptr, "not a string");
	gs_json_decode(buf, value);
	*text = (struct gs_str){ buf->data + begin, buf->len - begin };
	return true;
}

static bool
read_int(struct reading *reading, int64_t *out, int64_t max)
{
	struct gs_json_value value;

	if (!gs_json_next(&reading->json, &value))
		return false;
	if (!gs_json_int(value, out) || *out < 0 || *out > max)
		return gs_json_refuse(&reading->json, value.raw.ptr,
		    max == KIND_MAX ? "not an integer from 0 to 65535"
				    : "not an integer from 0 to 2^53-1");
	return true;
}

static bool
read_hashes(struct reading *reading, uint8_t (**list)[32], size_t *num)
{
	struct gs_str digits;
	size_t cap = 0;
	bool more = true;

	if (!open_list(&reading->json))
		return false;
	while (more) {
		*list = gs_mem_more(*list, *num, &cap, sizeof(**list));
		if (!read_string(reading, &digits))
			return false;
		if (!gs_hex_parse((*list)[*num], sizeof(**list), digits.ptr, digits.len))
			return gs_json_refuse(&reading->json, reading->json.at,
			    "not 64 lower-case hex digits");
		++*num;
		if (!gs_json_item(&reading->json, false, &more))
			return false;
	}
	return true;
}

static bool
read_ids(struct reading *reading)
{
	return read_hashes(reading, &reading->filter->ids, &reading->filter->num_ids);
}

static bool
read_authors(struct reading *reading)
{
	return read_hashes(reading, &reading->filter->authors,
	    &reading->filter->num_authors);
}

static bool
read_kinds(struct reading *reading)
{
	struct gs_filter *filter = reading->filter;
	int64_t kind;
	size_t cap = 0;
	bool more = true;

	if (!open_list(&reading->json))
		return false;
	while (more) {
		if (!read_int(reading, &kind, KIND_MAX))
			return false;
		filter->kinds = gs_mem_more(filter->kinds, filter->num_kinds, &cap,
		    sizeof(*filter->kinds));
		filter->kinds[filter->num_kinds++] = (uint16_t)kind;
		if (!gs_json_item(&reading->json, false, &more))
			return false;
	}
	return true;
}

static bool
read_since(struct reading *reading)
{
	return read_int(reading, &reading->filter->since, GS_JSON_INT_MAX);
}

static bool
read_until(struct reading *reading)
{
	return read_int(reading, &reading->filter->until, GS_JSON_INT_MAX);
}

static bool
read_limit(struct reading *reading)
{
	return read_int(reading, &reading->filter->limit, GS_JSON_INT_MAX);
}

static bool
read_tag(struct reading *reading, char letter)
{
	struct gs_filter *filter = reading->filter;
	struct gs_filter_tag *tag;
	size_t cap = 0;
	bool more = true;

	if (!open_list(&reading->json))
		return false;
	filter->tags =
	    gs_mem_resize(filter->tags, filter->num_tags + 1, sizeof(*filter->tags));
	tag = &filter->tags[filter->num_tags++];
	*tag = (struct gs_filter_tag){ .letter = letter };
	while (more) {
		tag->values =
		    gs_mem_more(tag->values, tag->num, &cap, sizeof(*tag->values));
		if (!read_string(reading, &tag->values[tag->num]))
			return false;
		tag->num++;
		if (!gs_json_item(&reading->json, false, &more))
			return false;
	}
	return true;
}

static const struct member {
	const char *name;
	bool (*read)(struct reading *reading);
} members[] = {
	{ "ids", read_ids },
	{ "authors", read_authors },
	{ "kinds", read_kinds },
	{ "since", read_since },
	{ "until", read_until },
	{ "limit", read_limit },
};

#define NUM_MEMBERS (sizeof(members) / sizeof(members[0]))

static bool
is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* The letter of a key "#x", else NUL. */
static char
tag_letter(struct gs_json_value key)
{
	struct gs_buf buf = GS_BUF_INIT;
	char letter = '\0';

	gs_json_decode(&buf, key);
	if (buf.len == 2 && buf.data[0] == '#' && is_letter(buf.data[1]))
		letter = buf.data[1];
	gs_buf_fini(&buf);
	return letter;
}

static bool
has_tag(const struct gs_filter *filter, char letter)
{
	size_t i;

	for (i = 0; i < filter->num_tags; i++)
		if (filter->tags[i].letter == letter)
			return true;
	return false;
}

static bool
read_member(struct reading *reading, struct gs_json_value key,
    bool seen[static NUM_MEMBERS])
{
	char letter;
	size_t i;

	for (i = 0; i < NUM_MEMBERS; i++) {
		if (!gs_json_is(key, members[i].name))
			continue;
		if (seen[i])
			return gs_json_refuse(&reading->json, key.raw.ptr,
			    "duplicate key");
		seen[i] = true;
		return members[i].read(reading);
	}
	letter = tag_letter(key);
	if (letter == '\0')
		return gs_json_refuse(&reading->json, key.raw.ptr,
		    "no such filter member");
	if (has_tag(reading->filter, letter))
		return gs_json_refuse(&reading->json, key.raw.ptr, "duplicate key");
	return read_tag(reading, letter);
}

static bool
read_filter(struct reading *reading)
{
	struct gs_json *json = &reading->json;
	struct gs_json_value value, key;
	bool seen[NUM_MEMBERS] = { false };
	bool more;

	if (!gs_json_next(json, &value))
		return false;
	if (value.type != GS_JSON_OBJECT)
		return gs_json_refuse(json, value.raw.ptr, "not an object");
	if (!gs_json_member(json, true, &key, &more))
		return false;
	while (more)
		if (!read_member(reading, key, seen) ||
		    !gs_json_member(json, false, &key, &more))
			return false;
	return gs_json_end(json);
}

bool
gs_filter_parse(struct gs_filter *filter, const char *text, size_t len,
    struct gs_err *err)
{
	struct reading reading = { .filter = filter };

	gs_filter_fini(filter);
	if (len > GS_FILTER_BYTES)
		return gs_fail(err, GS_EDATA, "filter of %zu bytes: over %d", len,
		    GS_FILTER_BYTES);
	(void)gs_buf_room(&filter->text, len);
	gs_json_init(&reading.json, text, len, GS_JSON_DEPTH);
	if (read_filter(&reading))
		return true;
	gs_filter_fini(filter);
	return gs_json_fail(&reading.json, err);
}

void
gs_filter_fini(struct gs_filter *filter)
{
	size_t i;

	free(filter->ids);
	free(filter->authors);
	free(filter->kinds);
	for (i = 0; filter->shared == NULL && i < filter->num_tags; i++)
		free(filter->tags[i].values);
	free(filter->tags);
	gs_values_release(filter->shared);
	gs_buf_fini(&filter->text);
	*filter = (struct gs_filter)GS_FILTER_INIT;
}

/* Adds the key of a further member. */
static void
write_key(struct gs_buf *buf, const char *key)
{
	if (buf->data[buf->len - 1] != '{')
		gs_buf_add_char(buf, ',');
	gs_buf_printf(buf, "\"%s\":", key);
}

static void
write_hashes(struct gs_buf *buf, const char *key, uint8_t (*list)[32], size_t num)
{
	char digits[HASH_LEN];
	size_t i;

	if (num == 0)
		return;
	write_key(buf, key);
	for (i = 0; i < num; i++) {
		gs_buf_add_str(buf, i == 0 ? "[\"" : ",\"");
		(void)gs_hex_write(digits, list[i], sizeof(*list));
		gs_buf_add(buf, digits, sizeof(digits));
		gs_buf_add_char(buf, '"');
	}
	gs_buf_add_char(buf, ']');
}

static void
write_kinds(struct gs_buf *buf, const struct gs_filter *filter)
{
	size_t i;

	if (filter->num_kinds == 0)
		return;
	write_key(buf, "kinds");
	for (i = 0; i < filter->num_kinds; i++)
		gs_buf_printf(buf, "%c%u", i == 0 ? '[' : ',',
		    (unsigned)filter->kinds[i]);
	gs_buf_add_char(buf, ']');
}

static void
write_tag(struct gs_buf *buf, const struct gs_filter_tag *tag)
{
	char key[] = { '#', tag->letter, '\0' };
	char hex[HASH_LEN + 1];
	struct gs_str value;
	size_t i;

	write_key(buf, key);
	for (i = 0; i < tag->num; i++) {
		gs_buf_add_char(buf, i == 0 ? '[' : ',');
		value = gs_filter_value(tag, i, hex);
		gs_json_write_string(buf, value.ptr, value.len);
	}
	gs_buf_add_char(buf, ']');
}

static void
write_int(struct gs_buf *buf, const char *key, int64_t number)
{
	if (number < 0)
		return;
	write_key(buf, key);
	gs_buf_printf(buf, "%lld", (long long)number);
}

void
gs_filter_write(const struct gs_filter *filter, struct gs_buf *buf)
{
	size_t i;

	gs_buf_add_char(buf, '{');
	write_hashes(buf, "ids", filter->ids, filter->num_ids);
	write_hashes(buf, "authors", filter->authors, filter->num_authors);
	write_kinds(buf, filter);
	for (i = 0; i < filter->num_tags; i++)
		write_tag(buf, &filter->tags[i]);
	write_int(buf, "since", filter->since);
	write_int(buf, "until", filter->until);
	write_int(buf, "limit", filter->limit);
	gs_buf_add_char(buf, '}');
}

static bool
has_hash(uint8_t (*list)[32], size_t num, const uint8_t hash[static 32])
{
	size_t i;

	for (i = 0; i < num; i++)
		if (memcmp(list[i], hash, sizeof(*list)) == 0)
			return true;
	return num == 0;
}

static bool
has_kind(const struct gs_filter *filter, uint16_t kind)
{
	size_t i;

	for (i = 0; i < filter->num_kinds; i++)
		if (filter->kinds[i] == kind)
			return true;
	return filter->num_kinds == 0;
}

static bool
match_tag(const struct gs_filter *filter, const struct gs_filter_tag *wanted,
    const struct gs_event *event)
{
	size_t i;

	for (i = 0; i < event->num_tags; i++) {
		const struct gs_tag *tag = &event->tags[i];

		if (tag->num > 1 && tag->values[0].len == 1 &&
		    tag->values[0].ptr[0] == wanted->letter &&
		    gs_filter_tag_has(filter, wanted, tag->values[1]))
			return true;
	}
	return false;
}

bool
gs_filter_match(const struct gs_filter *filter, const struct gs_event *event)
{
	size_t i;

	if ((filter->since >= 0 && event->created_at < filter->since) ||
	    (filter->until >= 0 && event->created_at > filter->until) ||
	    !has_kind(filter, event->kind) ||
	    !has_hash(filter->ids, filter->num_ids, event->id) ||
	    !has_hash(filter->authors, filter->num_authors, event->pubkey))
		return false;
	for (i = 0; i < filter->num_tags; i++)
		if (!match_tag(filter, &filter->tags[i], event))
			return false;
	return true;
}
