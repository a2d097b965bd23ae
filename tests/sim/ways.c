/* How relays behave, drawn from a seed. */
#include "ways.h"

#include <assert.h>
#include <stdio.h>

#include "buf.h"

/* How relays refuse: peers write these. */
static const struct mimic_refusal over_subs[] = {
	{ "ERROR: too many concurrent REQs", true },
	{ "Subscription error: Maximum concurrent subscription count reached", true },
	{ "Subscription rejected: Too many subscriptions: Number of subscriptions must "
	  "be "
	  "less than or equal to 10",
	    true },
	{ "error: too many subscriptions", false },
};
static const struct mimic_refusal over_filters[] = {
	{ "ERROR: bad req: arr too big", false },
	{ "Subscription rejected: Too many filters: Number of filters per susbscription "
	  "must be less then or equal to 10",
	    true },
	{ "blocked: too many filters", false },
	{ "ERROR: bad req: arr too big", true },
};
static const struct mimic_refusal over_bytes[] = {
	{ "message too large (99999 > 4096)", true },
	{ "ERROR: bad msg: message too large", true },
};
static const struct mimic_refusal over_limit[] = {
	{ "invalid: limitation.max_limit 100", true },
	{ "Subscription rejected: Limit too high: Filter limit must be less than or "
	  "equal "
	  "to 100",
	    true },
	{ "invalid: limit too high", false },
};
static const struct mimic_refusal over_name[] = {
	{ "Subscription error: Subscription identifier max length exceeded", true },
	{ "blocked: subscription ID exceeds max length 1", false },
};
static const struct mimic_refusal now_and_then[] = {
	{ "rate-limited: slow down, please", false },
	{ "rate-limited: too many REQs", false },
	{ "rate limited", true },
	{ "error: unknown", false },
	{ "error: database error", false },
	{ "", false },
	{ NULL, false },
	{ "ERROR: bad msg: unparseable message", true },
	{ "could not parse command", true },
};
static const struct mimic_refusal for_good[] = {
	{ "ERROR: auth-required: requested filter requires authentication", false },
	{ "auth-required: you must auth", false },
	{ "restricted: not for you", false },
	{ "blocked: too many things to filter for", false },
	{ "blocked: filters must specify at least one kind", false },
	{ "ERROR: bad req: unrecognised filter item: #q", false },
	{ "invalid: \\\"value\\\" does not match any of the allowed types", true },
	{ NULL, false },
};

#define DRAW(table, rng) (table)[rng_below((rng), sizeof(table) / sizeof((table)[0]))]

/* How relays really cut their answers, and anything else. */
static size_t
draw_cap(struct rng *rng)
{
	static const size_t usual[] = { 20, 75, 100, 300, 375, 500, 1000 };

	switch (rng_below(rng, 4)) {
	case 0:
		return 0;
	case 1:
		return 1 + rng_below(rng, 600);
	case 2:
		return 1 + rng_below(rng, 30);
	default:
		return DRAW(usual, rng);
	}
}

static void
draw_caps(struct mimic_ways *ways, struct rng *rng)
{
	ways->page_cap = draw_cap(rng);
	ways->req_cap = rng_once_in(rng, 3) ? draw_cap(rng) : 0;
	ways->default_limit = rng_once_in(rng, 4) ? 1 + rng_below(rng, 100) : 0;
	ways->merges = rng_once_in(rng, 2);
	ways->repeats_across_filters = rng_once_in(rng, 4);
	ways->says_finish = rng_once_in(rng, 6);
	ways->answer_ms = rng_once_in(rng, 4) ? (int64_t)rng_below(rng, 25000)
					      : (int64_t)rng_below(rng, 300);
	ways->frame_ms = rng_once_in(rng, 8) ? (int64_t)rng_below(rng, 3000) : 0;
}

static void
draw_limits(struct mimic_ways *ways, struct rng *rng)
{
	struct mimic_limits *limits = &ways->limits;

	if (rng_once_in(rng, 2))
		limits->subs = 1 + rng_below(rng, 20);
	if (rng_once_in(rng, 2))
		limits->filters = 1 + rng_below(rng, 20);
	if (rng_once_in(rng, 3))
		limits->bytes = 4096 + rng_below(rng, 100000);
	if (rng_once_in(rng, 4))
		limits->limit = 100;
	ways->over_subs = DRAW(over_subs, rng);
	ways->over_filters = DRAW(over_filters, rng);
	ways->over_bytes = DRAW(over_bytes, rng);
	ways->over_limit = DRAW(over_limit, rng);
	ways->over_name = DRAW(over_name, rng);
}

static void
draw_faults(struct mimic_ways *ways, struct rng *rng)
{
	if (rng_once_in(rng, 2)) {
		ways->drop_every = 1 + rng_below(rng, 2000);
		ways->max_drops = 1 + rng_below(rng, 10);
	}
	if (rng_once_in(rng, 2)) {
		ways->refuse_every = 1 + rng_below(rng, 20);
		ways->refusal = DRAW(now_and_then, rng);
	}
	if (rng_once_in(rng, 3)) {
		ways->refuse_letter = pool_letters[rng_below(rng, 6)];
		ways->refusal_for_good = DRAW(for_good, rng);
	}
}

static void
draw_door(struct mimic_ways *ways, struct rng *rng)
{
	ways->door =
	    rng_once_in(rng, 6) ? (enum mimic_door)rng_below(rng, 4) : MIMIC_OPEN;
	ways->knows_client = !rng_once_in(rng, 4);
}

bool
ways_let_in(const struct mimic_ways *ways, bool has_key)
{
	return ways->door == MIMIC_OPEN ||
	    (ways->door != MIMIC_NEVER_ASKS && ways->knows_client && has_key);
}

void
ways_draw(struct mimic_ways *ways, enum ways_sort sort, struct rng *rng)
{
	*ways = (struct mimic_ways){ .page_cap = 0 };
	draw_caps(ways, rng);
	draw_door(ways, rng);
	if (sort == WAYS_LIMITED || rng_once_in(rng, 3))
		draw_limits(ways, rng);
	if (sort == WAYS_HONEST || rng_once_in(rng, 2))
		ways->stated = ways->limits;
	if (sort == WAYS_FAULTY || (sort == WAYS_LYING && rng_once_in(rng, 3)))
		draw_faults(ways, rng);
	if (sort != WAYS_LYING)
		return;
	ways->lies = 1u << rng_below(rng, MIMIC_LIES);
	if (rng_once_in(rng, 3))
		ways->lies |= 1u << rng_below(rng, MIMIC_LIES);
	/* By date again, the oldest page would look like the newest one. */
	if ((ways->lies & MIMIC_OLDEST_FIRST) != 0)
		ways->merges = false;
}

void
ways_tell(const struct mimic_ways *ways, struct gs_limits *limits)
{
	const struct mimic_limits *stated = &ways->stated;
	const struct {
		const char *name;
		size_t value;
	} members[] = { { "max_subscriptions", stated->subs },
		{ "max_filters", stated->filters },
		{ "max_message_length", stated->bytes }, { "max_limit", stated->limit },
		{ "max_subid_length", stated->name } };
	struct gs_buf text = GS_BUF_INIT;
	bool is_read;

	gs_buf_add_str(&text, "{\"limitation\":{\"x\":1");
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
		if (members[i].value > 0)
			gs_buf_printf(&text, ",\"%s\":%zu", members[i].name,
			    members[i].value);
	gs_buf_add_str(&text, "}}");
	is_read = gs_limits_read(limits, (struct gs_str){ text.data, text.len }, NULL);
	assert(is_read);
	(void)is_read;
	gs_buf_fini(&text);
}

size_t
ways_page(const struct mimic_ways *ways)
{
	size_t page = ways->page_cap > 0 ? ways->page_cap : SIZE_MAX;

	if (ways->req_cap > 0 && ways->req_cap < page)
		page = ways->req_cap;
	return page;
}

static void
print_limits(const char *name, const struct mimic_limits *limits)
{
	printf("  %s: subs %zu, filters %zu, bytes %zu, limit %zu, name %zu\n", name,
	    limits->subs, limits->filters, limits->bytes, limits->limit, limits->name);
}

static void
print_refusal(const char *name, const struct mimic_refusal *refusal)
{
	printf("  %s: %s %s\n", name, refusal->is_notice ? "NOTICE" : "CLOSED",
	    refusal->text != NULL ? refusal->text : "(nothing)");
}

void
ways_print(const struct mimic_ways *ways)
{
	printf("  page cap %zu, req cap %zu, default limit %zu%s%s%s\n", ways->page_cap,
	    ways->req_cap, ways->default_limit, ways->merges ? ", merges" : "",
	    ways->repeats_across_filters ? ", repeats across filters" : "",
	    ways->says_finish ? ", says finish" : "");
	printf("  answers after %lld ms, a frame every %lld ms, lies %#x\n",
	    (long long)ways->answer_ms, (long long)ways->frame_ms, ways->lies);
	printf("  door %d, knows the client: %d\n", (int)ways->door, ways->knows_client);
	print_limits("limits", &ways->limits);
	print_limits("stated", &ways->stated);
	print_refusal("over subs", &ways->over_subs);
	print_refusal("over filters", &ways->over_filters);
	print_refusal("over bytes", &ways->over_bytes);
	print_refusal("over limit", &ways->over_limit);
	printf("  refuses every %zu, and #%c; drops every %zu frames, %zu times\n",
	    ways->refuse_every, ways->refuse_letter != '\0' ? ways->refuse_letter : '-',
	    ways->drop_every, ways->max_drops);
	print_refusal("refusal", &ways->refusal);
	print_refusal("for good", &ways->refusal_for_good);
}
