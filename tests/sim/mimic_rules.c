/* A relay that is played in memory: what the client may send, and what is refused. */
#include <stdio.h>
#include <string.h>

#include "map.h"
#include "mimic_private.h"

#define AUTH_KIND 22242 /* NIP-42 */
#define AUTH_LATE_S 600
#define RATE_MS 65000 /* DESIGN 3: no REQ for so long */

/* Beyond these, told or not, a client that was told nothing must not go: DESIGN 3. */
static const struct mimic_limits defaults = {
	.subs = 10, .filters = 10, .bytes = 60 * 1024, .limit = 500, .name = 64
};

static bool
is_over(size_t value, size_t limit)
{
	return limit > 0 && value > limit;
}

static size_t
highest_limit(const struct asked *asked)
{
	size_t highest = 0;

	for (size_t i = 0; i < asked->num_filters; i++)
		if (asked->filters[i].limit > (int64_t)highest)
			highest = (size_t)asked->filters[i].limit;
	return highest;
}

static bool
asks_for_letter(const struct asked *asked, char letter)
{
	for (size_t i = 0; letter != '\0' && i < asked->num_filters; i++)
		for (size_t j = 0; j < asked->filters[i].num_lists; j++)
			if (asked->filters[i].lists[j].what == letter)
				return true;
	return false;
}

/* The relay's own word counts, else what is safe with any. */
static size_t
allowed(size_t stated, size_t safe)
{
	return stated > 0 ? stated : safe;
}

static void
check_limits(struct mimic *mimic, const struct asked *asked, const char *text, size_t len)
{
	const struct mimic_limits *stated = &mimic->ways.stated;

	if (mimic->num_subs + 1 > allowed(stated->subs, defaults.subs))
		mimic_complain(mimic, "too many subscriptions", text, len);
	if (asked->num_filters > allowed(stated->filters, defaults.filters))
		mimic_complain(mimic, "too many filters", text, len);
	if (asked->bytes > allowed(stated->bytes, defaults.bytes))
		mimic_complain(mimic, "message too long", text, len);
	if (highest_limit(asked) > allowed(stated->limit, defaults.limit))
		mimic_complain(mimic, "limit too high", text, len);
	if (strlen(asked->name) > allowed(stated->name, defaults.name))
		mimic_complain(mimic, "name too long", text, len);
}

static const struct mimic_refusal unknown_client = { "auth-required: you must auth",
	false };

/* Each reason to refuse, in the order in which relays look. */
static const struct mimic_refusal *
find_refusal(struct mimic *mimic, const struct asked *asked)
{
	const struct mimic_ways *ways = &mimic->ways;

	if (ways->door != MIMIC_OPEN && mimic->client != MIMIC_KNOWN)
		return &unknown_client;
	if (is_over(asked->bytes, ways->limits.bytes))
		return &ways->over_bytes;
	if (is_over(strlen(asked->name), ways->limits.name))
		return &ways->over_name;
	if (is_over(asked->num_filters, ways->limits.filters))
		return &ways->over_filters;
	if (is_over(highest_limit(asked), ways->limits.limit))
		return &ways->over_limit;
	if (is_over(mimic->num_subs + 1, ways->limits.subs))
		return &ways->over_subs;
	if (asks_for_letter(asked, ways->refuse_letter))
		return &ways->refusal_for_good;
	if (ways->refuse_every > 0 && mimic->num_reqs % ways->refuse_every == 0)
		return &ways->refusal;
	return NULL;
}

static void
refuse(struct mimic *mimic, const struct asked *asked,
    const struct mimic_refusal *refusal, int64_t now_ms)
{
	struct mimic_out out = {
		.due_ms = now_ms + mimic->ways.frame_ms,
		.what = refusal->is_notice ? MIMIC_NOTICE : MIMIC_CLOSED,
		.text = refusal->text,
	};

	memcpy(out.name, asked->name, sizeof(out.name));
	if (refusal->text != NULL)
		mimic_send(mimic, out);
	if (refusal == &unknown_client && mimic->client == MIMIC_STRANGER &&
	    mimic->ways.door == MIMIC_ASKS_LATER)
		mimic_challenge(mimic, now_ms);
}

/* Keeps asked, or ends it. */
static void
take_req(struct mimic *mimic, struct asked *asked, const char *text, size_t len,
    int64_t now_ms)
{
	struct gs_str name = gs_str_of(asked->name);
	const struct mimic_refusal *refusal;

	mimic->num_reqs++;
	if (gs_map_find(mimic->names, name) != NULL)
		mimic_complain(mimic, "name used again", text, len);
	(void)gs_map_add(mimic->names, name);
	check_limits(mimic, asked, text, len);
	if (mimic->rated_ms >= 0 && now_ms < mimic->rated_ms + RATE_MS)
		mimic_complain(mimic, "too early after rate-limited", text, len);
	refusal = find_refusal(mimic, asked);
	if (refusal != NULL || mimic->num_subs == MIMIC_SUBS) {
		if (refusal != NULL)
			refuse(mimic, asked, refusal, now_ms);
		asked_fini(asked);
		return;
	}
	mimic->subs[mimic->num_subs].asked = *asked;
	mimic_answer(mimic, &mimic->subs[mimic->num_subs++], now_ms);
}

bool
mimic_was_closed(const struct mimic *mimic, const char *name)
{
	return gs_map_get(mimic->names, gs_str_of(name)) != NULL;
}

static void
take_close(struct mimic *mimic, const struct asked *asked, const char *text, size_t len)
{
	struct gs_map_entry *entry = gs_map_find(mimic->names, gs_str_of(asked->name));
	struct mimic_sub *sub = mimic_find_sub(mimic, asked->name);

	if (entry == NULL)
		mimic_complain(mimic, "CLOSE of what never was", text, len);
	else
		entry->value = mimic;
	if (sub != NULL)
		mimic_end_sub(mimic, sub);
}

void
mimic_challenge(struct mimic *mimic, int64_t now_ms)
{
	struct mimic_out out = { .what = MIMIC_RAW, .text = mimic->challenge_text };

	mimic->client = MIMIC_ASKED;
	(void)snprintf(mimic->challenge, sizeof(mimic->challenge), "challenge %zu",
	    ++mimic->num_challenges);
	(void)snprintf(mimic->challenge_text, sizeof(mimic->challenge_text),
	    "[\"AUTH\",\"%s\"]", mimic->challenge);
	out.due_ms = now_ms + mimic->ways.frame_ms;
	mimic_send(mimic, out);
}

static void
take_auth(struct mimic *mimic, const struct asked *asked, const char *text, size_t len,
    int64_t now_ms)
{
	const struct asked_auth *auth = &asked->auth;
	struct mimic_out out = { .what = MIMIC_RAW, .text = mimic->ok_text };
	int64_t late_s = MIMIC_EPOCH_S + now_ms / 1000 - auth->created_at;

	if (mimic->client != MIMIC_ASKED ||
	    strcmp(auth->challenge, mimic->challenge) != 0)
		mimic_complain(mimic, "AUTH without a challenge", text, len);
	if (auth->kind != AUTH_KIND || strcmp(auth->relay, mimic->url) != 0 ||
	    late_s < 0 || late_s > AUTH_LATE_S)
		mimic_complain(mimic, "an AUTH that no relay accepts", text, len);
	mimic->client = mimic->ways.knows_client ? MIMIC_KNOWN : MIMIC_UNWANTED;
	(void)snprintf(mimic->ok_text, sizeof(mimic->ok_text), "[\"OK\",\"%s\",%s,\"\"]",
	    auth->id, mimic->ways.knows_client ? "true" : "false");
	out.due_ms = now_ms + mimic->ways.frame_ms;
	mimic_send(mimic, out);
}

void
mimic_take(struct mimic *mimic, const char *text, size_t len, int64_t now_ms)
{
	struct asked asked;
	const char *why = asked_parse(&asked, text, len);

	if (!mimic->is_connected)
		why = "a frame without a connection";
	if (why != NULL) {
		mimic_complain(mimic, why, text, len);
		asked_fini(&asked);
		return;
	}
	switch (asked.verb) {
	case ASKED_REQ:
		take_req(mimic, &asked, text, len, now_ms);
		break;
	case ASKED_CLOSE:
		take_close(mimic, &asked, text, len);
		break;
	case ASKED_AUTH:
		take_auth(mimic, &asked, text, len, now_ms);
		break;
	}
}
