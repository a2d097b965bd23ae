/*
 * What one relay allows.  The document comes from strangers: it may raise what we
 * send only as far as we think sane, and lower it only as far as we can work with.
 */
#include "limits.h"

#include <stddef.h>

#include "json.h"

struct range {
	const char *name; /* in NIP-11 */
	size_t at;	  /* in struct gs_limits */
	uint32_t normal;
	uint32_t said_min; /* a document that says less is in error */
	uint32_t max;	   /* however much it says */
	uint32_t floor;	   /* refusals go on below: then it is not this */
};

#define AT(member) offsetof(struct gs_limits, member)
#define KIB 1024u

/*
 * max_filters has left NIP-11, but relays still enforce it.  Subscriptions are named
 * by numbers: 8 digits outlast any connection.
 */
static const struct range ranges[] = {
	{ "max_subscriptions", AT(subscriptions), 10, 1, 50, 1 },
	{ "max_filters", AT(filters), 10, 1, 20, 1 },
	{ "max_message_length", AT(bytes), 60 * KIB, KIB, 120 * KIB, 2 * KIB },
	{ "max_limit", AT(limit), 500, 1, 5000, 1 },
	{ "max_subid_length", AT(subid_len), 64, 8, 64, 8 },
};

#define NUM_RANGES (sizeof(ranges) / sizeof(ranges[0]))

static uint32_t *
find_value(struct gs_limits *limits, const struct range *range)
{
	return (uint32_t *)((char *)limits + range->at);
}

void
gs_limits_init(struct gs_limits *limits)
{
	for (size_t i = 0; i < NUM_RANGES; i++)
		*find_value(limits, &ranges[i]) = ranges[i].normal;
}

static void
take_value(struct gs_limits *limits, struct gs_json_value key, struct gs_json_value value)
{
	int64_t number;

	if (!gs_json_int(value, &number))
		return;
	for (size_t i = 0; i < NUM_RANGES; i++) {
		const struct range *range = &ranges[i];

		if (!gs_json_is(key, range->name) || number < range->said_min)
			continue;
		*find_value(limits, range) =
		    number < range->max ? (uint32_t)number : range->max;
	}
}

static bool
read_members(struct gs_limits *limits, struct gs_json *json,
    void (*take)(struct gs_limits *, struct gs_json_value, struct gs_json_value))
{
	struct gs_json_value key, value;
	bool more;

	if (!gs_json_next(json, &value))
		return false;
	if (value.type != GS_JSON_OBJECT)
		return gs_json_refuse(json, value.raw.ptr, "not an object");
	for (bool first = true; gs_json_member(json, first, &key, &more); first = false) {
		if (!more)
			return true;
		if (!gs_json_skip(json, &value))
			return false;
		take(limits, key, value);
	}
	return false;
}

static void
take_limitation(struct gs_limits *limits, struct gs_json_value key,
    struct gs_json_value value)
{
	struct gs_json json;

	if (!gs_json_is(key, "limitation") || value.type != GS_JSON_OBJECT)
		return;
	gs_json_init(&json, value.raw.ptr, value.raw.len, GS_JSON_DEPTH);
	/* It was read as a whole already, so that nothing can be wrong with it. */
	(void)!read_members(limits, &json, take_value);
}

bool
gs_limits_read(struct gs_limits *limits, struct gs_str document, struct gs_err *err)
{
	struct gs_limits said = *limits;
	struct gs_json json;

	gs_json_init(&json, document.ptr, document.len, GS_JSON_DEPTH);
	if (!read_members(&said, &json, take_limitation) || !gs_json_end(&json))
		return gs_json_fail(&json, err);
	*limits = said;
	return true;
}

/* Lowers to value, but not under the floor; false if that changes nothing. */
static bool
lower(uint32_t *limit, int64_t value, uint32_t floor)
{
	if (value < floor)
		value = floor;
	if (value >= *limit)
		return false;
	*limit = (uint32_t)value;
	return true;
}

static bool
halve(struct gs_limits *limits, size_t at)
{
	for (size_t i = 0; i < NUM_RANGES; i++)
		if (ranges[i].at == at) {
			uint32_t *limit = find_value(limits, &ranges[i]);

			return lower(limit, *limit / 2, ranges[i].floor);
		}
	return false;
}

bool
gs_limits_learn(struct gs_limits *limits, enum gs_refusal refusal, int64_t number)
{
	switch (refusal) {
	case GS_REFUSAL_FILTERS:
		return halve(limits, AT(filters));
	case GS_REFUSAL_SUBSCRIPTIONS:
		return halve(limits, AT(subscriptions));
	case GS_REFUSAL_BYTES:
		return halve(limits, AT(bytes));
	case GS_REFUSAL_LIMIT:
		if (number > 0 && lower(&limits->limit, number, 1))
			return true;
		return halve(limits, AT(limit));
	case GS_REFUSAL_SUBID:
		return halve(limits, AT(subid_len));
	case GS_REFUSAL_OTHER:
	case GS_REFUSAL_EMPTY:
	case GS_REFUSAL_RATE_LIMITED:
	case GS_REFUSAL_AUTH_REQUIRED:
	case GS_REFUSAL_RESTRICTED:
	case GS_REFUSAL_DUPLICATE:
	case GS_REFUSAL_RESULTS:
	case GS_REFUSAL_UNSUPPORTED:
		break;
	}
	return false;
}
