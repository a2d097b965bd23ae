/*
 * What a relay's text asks us to do.  NIP-01 gives a few prefixes, the rest is prose:
 * the words of each kind of relay stand in one table.
 */
#include "refusal.h"

#include <string.h>

#include "message.h"
#include "num.h"

#define MAX_NUMBER INT32_MAX /* of a limit; more is no number to go by */

/* The text as words in lower case, a blank before, between and behind them. */
struct words {
	char text[GS_REFUSAL_TEXT_BYTES + 2];
	size_t len;
};

struct meaning {
	const char *text;
	enum gs_refusal refusal;
};

/* Those that say enough; behind "blocked:", "error:", "invalid:" the words decide. */
static const struct meaning prefixes[] = {
	{ "rate-limited", GS_REFUSAL_RATE_LIMITED },
	{ "auth-required", GS_REFUSAL_AUTH_REQUIRED },
	{ "restricted", GS_REFUSAL_RESTRICTED },
	{ "unsupported", GS_REFUSAL_UNSUPPORTED },
};

/* The first that stands in the text counts: what could be read both ways is above. */
static const struct meaning phrases[] = {
	{ "rate limit", GS_REFUSAL_RATE_LIMITED },
	{ "rate limited", GS_REFUSAL_RATE_LIMITED },
	{ "slow down", GS_REFUSAL_RATE_LIMITED },
	{ "throttled", GS_REFUSAL_RATE_LIMITED },
	{ "too fast", GS_REFUSAL_RATE_LIMITED },
	{ "too many requests", GS_REFUSAL_RATE_LIMITED },
	{ "auth required", GS_REFUSAL_AUTH_REQUIRED },
	{ "authentication required", GS_REFUSAL_AUTH_REQUIRED },
	{ "payment required", GS_REFUSAL_RESTRICTED },
	{ "requires payment", GS_REFUSAL_RESTRICTED },
	{ "paid relay", GS_REFUSAL_RESTRICTED },

	{ "subscription id too long", GS_REFUSAL_SUBID },
	{ "invalid subscription id length", GS_REFUSAL_SUBID },
	{ "subscription id exceeds max length", GS_REFUSAL_SUBID },
	{ "subscription identifier max length exceeded", GS_REFUSAL_SUBID },
	{ "max subid length", GS_REFUSAL_SUBID },
	{ "duplicate subscription", GS_REFUSAL_DUPLICATE },

	{ "arr too big", GS_REFUSAL_FILTERS },
	{ "too many filters", GS_REFUSAL_FILTERS },
	{ "number of filters", GS_REFUSAL_FILTERS },
	{ "max filters", GS_REFUSAL_FILTERS },

	{ "too many concurrent reqs", GS_REFUSAL_SUBSCRIPTIONS },
	{ "too many concurrent neg requests", GS_REFUSAL_SUBSCRIPTIONS },
	{ "too many concurrent subscriptions", GS_REFUSAL_SUBSCRIPTIONS },
	{ "too many reqs", GS_REFUSAL_SUBSCRIPTIONS },
	{ "too many subs", GS_REFUSAL_SUBSCRIPTIONS },
	{ "too many subscriptions", GS_REFUSAL_SUBSCRIPTIONS },
	{ "too many open subscriptions", GS_REFUSAL_SUBSCRIPTIONS },
	{ "number of subscriptions", GS_REFUSAL_SUBSCRIPTIONS },
	{ "max subscriptions", GS_REFUSAL_SUBSCRIPTIONS },
	{ "maximum concurrent subscription", GS_REFUSAL_SUBSCRIPTIONS },

	{ "message too large", GS_REFUSAL_BYTES },
	{ "message too big", GS_REFUSAL_BYTES },
	{ "message too long", GS_REFUSAL_BYTES },
	{ "message size", GS_REFUSAL_BYTES },
	{ "message length", GS_REFUSAL_BYTES },
	{ "max message", GS_REFUSAL_BYTES },
	{ "payload too large", GS_REFUSAL_BYTES },
	{ "payload too big", GS_REFUSAL_BYTES },
	{ "payload size", GS_REFUSAL_BYTES },
	{ "max payload", GS_REFUSAL_BYTES },
	{ "size too large", GS_REFUSAL_BYTES },

	{ "limit too high", GS_REFUSAL_LIMIT },
	{ "limit too big", GS_REFUSAL_LIMIT },
	{ "limit too large", GS_REFUSAL_LIMIT },
	{ "max limit", GS_REFUSAL_LIMIT },
	{ "limit must be", GS_REFUSAL_LIMIT },

	{ "too many query results", GS_REFUSAL_RESULTS },
	{ "too many records", GS_REFUSAL_RESULTS },
	{ "negentropy disabled", GS_REFUSAL_UNSUPPORTED },
	{ "negentropy sync is disabled", GS_REFUSAL_UNSUPPORTED },
	{ "nip77 disabled", GS_REFUSAL_UNSUPPORTED },
	{ "unknown cmd", GS_REFUSAL_UNSUPPORTED },
	{ "unknown message type", GS_REFUSAL_UNSUPPORTED },
	{ "unknown envelope label", GS_REFUSAL_UNSUPPORTED },
	{ "command unrecognized", GS_REFUSAL_UNSUPPORTED },
	{ "could not parse command", GS_REFUSAL_UNSUPPORTED },
	{ "bad message", GS_REFUSAL_UNSUPPORTED },
	{ "value does not match any of the allowed types", GS_REFUSAL_UNSUPPORTED },
	{ "invalid enum value", GS_REFUSAL_UNSUPPORTED },
};

/* Bytes of peers are ASCII in any locale. */
static char
fold(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Other than ASCII is part of a word that we don't know. */
static bool
is_in_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (c & 0x80) != 0;
}

static void
split_words(struct words *words, struct gs_str text)
{
	words->text[0] = ' ';
	words->len = 1;
	for (size_t i = 0; i < text.len; i++) {
		char c = fold(text.ptr[i]);

		if (is_in_word(c))
			words->text[words->len++] = c;
		else if (words->text[words->len - 1] != ' ')
			words->text[words->len++] = ' ';
	}
	if (words->text[words->len - 1] != ' ')
		words->text[words->len++] = ' ';
}

static bool
has_prefix(struct gs_str text, const char *prefix)
{
	size_t i;

	for (i = 0; prefix[i] != '\0'; i++)
		if (i >= text.len || fold(text.ptr[i]) != prefix[i])
			return false;
	return i < text.len && text.ptr[i] == ':';
}

static bool
has_phrase(const struct words *words, const char *phrase)
{
	size_t len = strlen(phrase);
	const char *end = words->text + words->len;
	const char *at = words->text;

	/* The last byte is a blank, so that at[len] is within. */
	while ((at = memmem(at, (size_t)(end - at), phrase, len)) != NULL) {
		if (at[-1] == ' ' && at[len] == ' ')
			return true;
		at++;
	}
	return false;
}

/* The last word that is a number: "limit 1000: at most 500"; 0 if there is none. */
static int64_t
find_number(const struct words *words)
{
	int64_t number = 0, found;

	for (size_t at = 1, len; at < words->len; at += len + 1) {
		const char *word = words->text + at;

		len = (size_t)((const char *)memchr(word, ' ', words->len - at) - word);
		if (gs_num_parse(&found, word, len, MAX_NUMBER))
			number = found;
	}
	return number;
}

static enum gs_refusal
read_words(const struct words *words)
{
	for (size_t i = 0; i < sizeof(phrases) / sizeof(phrases[0]); i++)
		if (has_phrase(words, phrases[i].text))
			return phrases[i].refusal;
	return words->len == 1 ? GS_REFUSAL_EMPTY : GS_REFUSAL_OTHER;
}

enum gs_refusal
gs_refusal_prefix(struct gs_str text)
{
	text = gs_message_strip(text);
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (has_prefix(text, prefixes[i].text))
			return prefixes[i].refusal;
	return GS_REFUSAL_OTHER;
}

enum gs_refusal
gs_refusal_parse(struct gs_str text, int64_t *number)
{
	struct words words;
	enum gs_refusal refusal;

	if (number != NULL)
		*number = 0;
	refusal = gs_refusal_prefix(text);
	if (refusal != GS_REFUSAL_OTHER)
		return refusal;
	text = gs_message_strip(text);
	if (text.len > GS_REFUSAL_TEXT_BYTES)
		text.len = GS_REFUSAL_TEXT_BYTES;
	split_words(&words, text);
	refusal = read_words(&words);
	if (refusal == GS_REFUSAL_LIMIT && number != NULL)
		*number = find_number(&words);
	return refusal;
}

const char *
gs_refusal_name(enum gs_refusal refusal)
{
	static const char *const names[] = {
		[GS_REFUSAL_OTHER] = "other",
		[GS_REFUSAL_EMPTY] = "empty",
		[GS_REFUSAL_RATE_LIMITED] = "rate-limited",
		[GS_REFUSAL_AUTH_REQUIRED] = "auth-required",
		[GS_REFUSAL_RESTRICTED] = "restricted",
		[GS_REFUSAL_FILTERS] = "filters",
		[GS_REFUSAL_SUBSCRIPTIONS] = "subscriptions",
		[GS_REFUSAL_BYTES] = "bytes",
		[GS_REFUSAL_LIMIT] = "limit",
		[GS_REFUSAL_SUBID] = "subscription-id",
		[GS_REFUSAL_DUPLICATE] = "duplicate",
		[GS_REFUSAL_RESULTS] = "results",
		[GS_REFUSAL_UNSUPPORTED] = "unsupported",
	};

	return names[refusal];
}
