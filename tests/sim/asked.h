/*
 * What a client sends, read and matched without the library: jq's parser, and
 * NIP-01's rules written down a second time.
 */
#ifndef ASKED_H
#define ASKED_H

#include <stdbool.h>

#include "pool.h"

#define ASKED_LISTS 8
#define ASKED_FILTERS 64
#define ASKED_NAME 80 /* of a subscription, with its NUL */

/* A condition: one of these values.  '.' ids, '@' authors, '0' kinds, else a tag. */
struct asked_list {
	char what;
	char **values;
	size_t num;
};

struct asked_filter {
	struct asked_list lists[ASKED_LISTS];
	size_t num_lists;
	int64_t since, until, limit; /* -1: none */
};

enum asked_verb { ASKED_REQ, ASKED_CLOSE, ASKED_AUTH };

/* What the event of an AUTH frame says. */
struct asked_auth {
	char id[POOL_HEX], challenge[ASKED_NAME], relay[ASKED_NAME];
	int64_t kind, created_at;
};

struct asked {
	enum asked_verb verb;
	char name[ASKED_NAME];
	struct asked_filter filters[ASKED_FILTERS];
	size_t num_filters;
	struct asked_auth auth;
	size_t bytes;
};

/* NULL, or what is wrong with the frame.  Give it to asked_fini in any case. */
const char *asked_parse(struct asked *asked, const char *text, size_t len);
void asked_fini(struct asked *asked);

/* A filter alone, as JSON; it must be right. */
void asked_filter_parse(struct asked_filter *filter, const char *text);
void asked_filter_fini(struct asked_filter *filter);

/* Every condition but limit. */
bool asked_match(const struct asked_filter *filter, const struct pool *pool,
    const struct pool_event *event);

#endif
