/* A NIP-01 filter: read from JSON, written as JSON, matched against events. */
#ifndef GS_FILTER_H
#define GS_FILTER_H

#include <stdint.h>

#include "event.h"

/*
 * A list of values that several filters share.  ids: 32 bytes each, written as 64 hex
 * digits; then texts is NULL, and the other way round.  Sorted, each once.
 */
struct gs_values {
	size_t refs; /* private */
	size_t num;
	uint8_t (*ids)[32];
	struct gs_str *texts;
};
/* Copies of what is given, sorted here; with one reference, the caller's. */
struct gs_values *gs_values_new_ids(const uint8_t (*ids)[32], size_t num);
struct gs_values *gs_values_new_texts(const struct gs_str *texts, size_t num);
void gs_values_release(struct gs_values *values); /* gives up one reference */

struct gs_filter_tag {
	char letter;	       /* a-z, A-Z */
	struct gs_str *values; /* NULL: they are ids */
	const uint8_t (*ids)[32];
	size_t num;
};

/* num_x 0 with has_x false: no such condition.  Lists are never empty. */
struct gs_filter {
	uint8_t (*ids)[32];
	size_t num_ids;
	uint8_t (*authors)[32];
	size_t num_authors;
	uint16_t *kinds;
	size_t num_kinds;
	struct gs_filter_tag *tags;
	size_t num_tags;
	int64_t since, until, limit; /* -1: none */
	struct gs_buf text;	     /* private: what the values point into */
	struct gs_values *shared;    /* private: or this */
};

#define GS_FILTER_BYTES (1024 * 1024) /* of JSON: more than any relay takes */

#define GS_FILTER_INIT                                \
	{                                             \
		.since = -1, .until = -1, .limit = -1 \
	}

/*
 * What an initialised filter held before is freed; on false it is empty again.
 * Strict: unknown members, empty lists, null, wrong types, upper-case hex and
 * `#xx` are refused with the place.  `{}` is read: it matches everything.
 */
bool gs_filter_parse(struct gs_filter *filter, const char *text, size_t len,
    struct gs_err *err) GS_MUST;
void gs_filter_fini(struct gs_filter *filter);
/* An initialised filter becomes {"#letter":values}, of which it holds a reference. */
void gs_filter_share(struct gs_filter *filter, char letter, struct gs_values *values);
/* Is it one of a tag's values? */
bool gs_filter_tag_has(const struct gs_filter *filter, const struct gs_filter_tag *tag,
    struct gs_str value);
/* Value i of a tag; hex is room for an id. */
struct gs_str gs_filter_value(const struct gs_filter_tag *tag, size_t i,
    char hex[static 65]);

/* Adds the JSON object: ids, authors, kinds, #tags, since, until, limit; no spaces. */
void gs_filter_write(const struct gs_filter *filter, struct gs_buf *buf);
/* Every condition but limit.  Only the first value of a tag counts. */
bool gs_filter_match(const struct gs_filter *filter, const struct gs_event *event);

#endif
