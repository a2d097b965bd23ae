/* A NIP-01 filter: read from JSON, written as JSON, matched against events. */
#ifndef GS_FILTER_H
#define GS_FILTER_H

#include <stdint.h>

#include "event.h"

struct gs_filter_tag {
	char letter; /* a-z, A-Z */
	struct gs_str *values;
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

/* Adds the JSON object: ids, authors, kinds, #tags, since, until, limit; no spaces. */
void gs_filter_write(const struct gs_filter *filter, struct gs_buf *buf);
/* Every condition but limit.  Only the first value of a tag counts. */
bool gs_filter_match(const struct gs_filter *filter, const struct gs_event *event);

#endif
