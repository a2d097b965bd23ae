/* What each text that a relay is known to send is to us: a row a text. */
#include "refusal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

struct row {
	const char *text;
	enum gs_refusal refusal;
	int64_t number;
};

static void
check_rows(const struct row *rows, size_t num)
{
	for (size_t i = 0; i < num; i++) {
		int64_t number = -1;
		enum gs_refusal refusal =
		    gs_refusal_parse(gs_str_of(rows[i].text), &number);

		if (refusal != rows[i].refusal || number != rows[i].number)
			print_error("%s: %s %lld\n", rows[i].text,
			    gs_refusal_name(refusal), (long long)number);
		assert_int_equal(refusal, rows[i].refusal);
		assert_int_equal(number, rows[i].number);
	}
}

#define CHECK_ROWS(rows) check_rows(rows, sizeof(rows) / sizeof((rows)[0]))

/* strfry: NOTICE. */
static void
test_strfry_notices(void **state)
{
	static const struct row rows[] = {
		{ "ERROR: too many concurrent REQs", GS_REFUSAL_SUBSCRIPTIONS, 0 },
		{ "ERROR: too many concurrent NEG requests", GS_REFUSAL_SUBSCRIPTIONS,
		    0 },
		{ "ERROR: bad msg: negentropy disabled", GS_REFUSAL_UNSUPPORTED, 0 },
		{ "ERROR: bad msg: unknown cmd", GS_REFUSAL_UNSUPPORTED, 0 },
		{ "ERROR: bad msg: unparseable message", GS_REFUSAL_OTHER, 0 },
		{ "ERROR: bad msg: message is not an array", GS_REFUSAL_OTHER, 0 },
		{ "ERROR: bad msg: too few array elements", GS_REFUSAL_OTHER, 0 },
		{ "ERROR: bad msg: first element not a command like REQ",
		    GS_REFUSAL_OTHER, 0 },
		{ "ERROR: negentropy error: negentropy query missing elements",
		    GS_REFUSAL_OTHER, 0 },
		{ "ERROR: negentropy error: negentropy filter must be an object",
		    GS_REFUSAL_OTHER, 0 },
		{ "ERROR: negentropy error: invalid subscription id length",
		    GS_REFUSAL_SUBID, 0 },
		{ "ERROR: negentropy error: negentropy payload not a string",
		    GS_REFUSAL_OTHER, 0 },
		{ "ERROR: negentropy error: got NEG-MSG before NEG-OPEN complete",
		    GS_REFUSAL_OTHER, 0 },
		{ "ERROR: negentropy error: negentropy message missing elements",
		    GS_REFUSAL_OTHER, 0 },
		{ "ERROR: bad msg: std::get: wrong index for variant", GS_REFUSAL_OTHER,
		    0 },
		{ "ERROR: bad msg: unexpected character in from_hex: 118",
		    GS_REFUSAL_OTHER, 0 },
		{ "ERROR: bad req: subscription id too long", GS_REFUSAL_SUBID, 0 },
	};

	(void)state;
	CHECK_ROWS(rows);
}

/* strfry: CLOSED and NEG-ERR; before 1.1.0 as NOTICE. */
static void
test_strfry_closed(void **state)
{
	static const struct row rows[] = {
		{ "ERROR: bad req: arr too big", GS_REFUSAL_FILTERS, 0 },
		{ "ERROR: bad req: arr too small", GS_REFUSAL_OTHER, 0 },
		{ "ERROR: bad req: unrecognised filter item: X", GS_REFUSAL_OTHER, 0 },
		{ "ERROR: bad req: too many tags in filter", GS_REFUSAL_OTHER, 0 },
		{ "ERROR: bad req: total filter items too large", GS_REFUSAL_OTHER, 0 },
		{ "ERROR: bad req: error parsing ids: filter item too small",
		    GS_REFUSAL_OTHER, 0 },
		{ "ERROR: bad req: kinds not an array", GS_REFUSAL_OTHER, 0 },
		{ "ERROR: bad req: error parsing since: not an integer", GS_REFUSAL_OTHER,
		    0 },
		{ "ERROR: bad req: filter validation failed: too many filters",
		    GS_REFUSAL_FILTERS, 0 },
		{ "ERROR: bad req: filter validation failed: kind not allowed",
		    GS_REFUSAL_OTHER, 0 },
		{ "ERROR: bad req: COUNT disabled", GS_REFUSAL_OTHER, 0 },
		{ "ERROR: auth-required: requested filter requires authentication",
		    GS_REFUSAL_AUTH_REQUIRED, 0 },
		{ "auth-required: requested filter requires authentication",
		    GS_REFUSAL_AUTH_REQUIRED, 0 },
		{ "ERROR: count-failed: can only count events you are involved in",
		    GS_REFUSAL_OTHER, 0 },
		{ "blocked: too many query results", GS_REFUSAL_RESULTS, 0 },
		{ "closed: unknown subscription handle", GS_REFUSAL_OTHER, 0 },
		{ "PROTOCOL-ERROR", GS_REFUSAL_OTHER, 0 },
	};

	(void)state;
	CHECK_ROWS(rows);
}

/* strfry: OK. */
static void
test_strfry_ok(void **state)
{
	static const struct row rows[] = {
		{ "", GS_REFUSAL_EMPTY, 0 },
		{ "duplicate: have this event", GS_REFUSAL_OTHER, 0 },
		{ "successfully authenticated", GS_REFUSAL_OTHER, 0 },
		{ "replaced: have newer event", GS_REFUSAL_OTHER, 0 },
		{ "deleted: user requested deletion", GS_REFUSAL_OTHER, 0 },
		{ "invalid: bad event id", GS_REFUSAL_OTHER, 0 },
		{ "invalid: bad signature", GS_REFUSAL_OTHER, 0 },
		{ "invalid: event too large: 70000", GS_REFUSAL_OTHER, 0 },
		{ "invalid: too many tags: 2001", GS_REFUSAL_OTHER, 0 },
		{ "invalid: tag val too large: 1025", GS_REFUSAL_OTHER, 0 },
		{ "invalid: unexpected size for fixed-size tag: e", GS_REFUSAL_OTHER, 0 },
		{ "invalid: too few fields in tag", GS_REFUSAL_OTHER, 0 },
		{ "invalid: tag val was not a string", GS_REFUSAL_OTHER, 0 },
		{ "invalid: created_at too early", GS_REFUSAL_OTHER, 0 },
		{ "invalid: created_at too late", GS_REFUSAL_OTHER, 0 },
		{ "invalid: ephemeral event expired", GS_REFUSAL_OTHER, 0 },
		{ "invalid: event expired", GS_REFUSAL_OTHER, 0 },
		{ "invalid: can't delete other user's events", GS_REFUSAL_OTHER, 0 },
		{ "invalid: event kind field was not an integer", GS_REFUSAL_OTHER, 0 },
		{ "blocked: event marked as protected", GS_REFUSAL_OTHER, 0 },
		{ "blocked: reposts can't embed protected events", GS_REFUSAL_OTHER, 0 },
		{ "auth-required: event marked as protected", GS_REFUSAL_AUTH_REQUIRED,
		    0 },
		{ "restricted: must be published by the author", GS_REFUSAL_RESTRICTED,
		    0 },
		{ "error: internal error", GS_REFUSAL_OTHER, 0 },
		{ "error: challenge string mismatch", GS_REFUSAL_OTHER, 0 },
	};

	(void)state;
	CHECK_ROWS(rows);
}

/* khatru and its policies. */
static void
test_khatru(void **state)
{
	static const struct row rows[] = {
		{ "failed to parse envelope: unexpected end of JSON input",
		    GS_REFUSAL_OTHER, 0 },
		{ "failed to parse envelope: unknown envelope label",
		    GS_REFUSAL_UNSUPPORTED, 0 },
		{ "unsupported: this relay does not support NIP-45",
		    GS_REFUSAL_UNSUPPORTED, 0 },
		{ "CLOSED", GS_REFUSAL_OTHER, 0 },
		{ "invalid limit 0", GS_REFUSAL_OTHER, 0 },
		{ "invalid: id is computed incorrectly", GS_REFUSAL_OTHER, 0 },
		{ "error: failed to verify signature", GS_REFUSAL_OTHER, 0 },
		{ "invalid: signature is invalid", GS_REFUSAL_OTHER, 0 },
		{ "auth-required: must be published by authenticated event author",
		    GS_REFUSAL_AUTH_REQUIRED, 0 },
		{ "blocked: must be published by event author", GS_REFUSAL_OTHER, 0 },
		{ "blocked: can't repost nip70 protected", GS_REFUSAL_OTHER, 0 },
		{ "blocked: this event has been deleted", GS_REFUSAL_OTHER, 0 },
		{ "mute: no one was listening for this", GS_REFUSAL_OTHER, 0 },
		{ "error: failed to authenticate", GS_REFUSAL_OTHER, 0 },
		{ "blocked: too many things to filter for", GS_REFUSAL_OTHER, 0 },
		{ "blocked: can't handle empty filters", GS_REFUSAL_OTHER, 0 },
		{ "blocked: an author must be specified to get their kind:1 notes",
		    GS_REFUSAL_OTHER, 0 },
		{ "auth-required: all requests must be authenticated",
		    GS_REFUSAL_AUTH_REQUIRED, 0 },
		{ "rate-limited: slow down, please", GS_REFUSAL_RATE_LIMITED, 0 },
		{ "rate-limited: there is a bug in the client, no one should be "
		  "making so many requests",
		    GS_REFUSAL_RATE_LIMITED, 0 },
		{ "blocked: filters must specify at least one kind", GS_REFUSAL_OTHER,
		    0 },
		{ "blocked: event does not relate to a stored repository",
		    GS_REFUSAL_OTHER, 0 },
	};

	(void)state;
	CHECK_ROWS(rows);
}

/* nostr-rs-relay. */
static void
test_nostr_rs_relay(void **state)
{
	static const struct row rows[] = {
		{ "could not parse command", GS_REFUSAL_UNSUPPORTED, 0 },
		{ "event exceeded max size", GS_REFUSAL_OTHER, 0 },
		{ "message too large (262145 > 262144)", GS_REFUSAL_BYTES, 0 },
		{ "binary messages are not accepted", GS_REFUSAL_OTHER, 0 },
		{ "Subscription error: Maximum concurrent subscription count reached",
		    GS_REFUSAL_SUBSCRIPTIONS, 0 },
		{ "Subscription error: Subscription identifier max length exceeded",
		    GS_REFUSAL_SUBID, 0 },
		{ "duplicate: event exists", GS_REFUSAL_OTHER, 0 },
		{ "blocked: pubkey is not allowed to publish to this relay",
		    GS_REFUSAL_OTHER, 0 },
		{ "rate-limited: you are noting too much", GS_REFUSAL_RATE_LIMITED, 0 },
		{ "invalid: event is malformed", GS_REFUSAL_OTHER, 0 },
		{ "restricted: authentication error: Invalid AUTH message",
		    GS_REFUSAL_RESTRICTED, 0 },
	};

	(void)state;
	CHECK_ROWS(rows);
}

/* relay-builder of rust-nostr. */
static void
test_relay_builder(void **state)
{
	static const struct row rows[] = {
		{ "rate-limited: too many REQs", GS_REFUSAL_RATE_LIMITED, 0 },
		{ "blocked: subscription ID exceeds max length 250", GS_REFUSAL_SUBID,
		    0 },
		{ "auth-required: you must auth", GS_REFUSAL_AUTH_REQUIRED, 0 },
		{ "error: you cannot request another user's gift wrap", GS_REFUSAL_OTHER,
		    0 },
		{ "", GS_REFUSAL_EMPTY, 0 },
		{ "error: subscription not found", GS_REFUSAL_OTHER, 0 },
		{ "rate-limited: slow down", GS_REFUSAL_RATE_LIMITED, 0 },
		{ "invalid: invalid event ID", GS_REFUSAL_OTHER, 0 },
		{ "invalid: invalid event signature", GS_REFUSAL_OTHER, 0 },
		{ "blocked: event is expired", GS_REFUSAL_OTHER, 0 },
		{ "duplicate: already have this event", GS_REFUSAL_OTHER, 0 },
		{ "blocked: this event is deleted", GS_REFUSAL_OTHER, 0 },
		{ "blocked: this event may only be published by its author",
		    GS_REFUSAL_OTHER, 0 },
		{ "blocked: event not related to owner of this relay", GS_REFUSAL_OTHER,
		    0 },
		{ "pow: required a difficulty >= 20", GS_REFUSAL_OTHER, 0 },
		{ "error: unknown", GS_REFUSAL_OTHER, 0 },
		{ "error: database error", GS_REFUSAL_OTHER, 0 },
	};

	(void)state;
	CHECK_ROWS(rows);
}

/* nostream and rnostr. */
static void
test_nostream(void **state)
{
	static const struct row rows[] = {
		{ "Subscription rejected: Too many subscriptions: Number of "
		  "subscriptions must be less than or equal to 10",
		    GS_REFUSAL_SUBSCRIPTIONS, 0 },
		{ "Subscription rejected: Too many filters: Number of filters per "
		  "susbscription must be less then or equal to 10",
		    GS_REFUSAL_FILTERS, 0 },
		{ "Subscription rejected: Limit too high: Filter limit must be less "
		  "than or equal to 5000",
		    GS_REFUSAL_LIMIT, 5000 },
		{ "Subscription rejected: Subscription ID too long: 300",
		    GS_REFUSAL_SUBID, 0 },
		{ "Subscription rejected: Duplicate subscription X: Ignoring",
		    GS_REFUSAL_DUPLICATE, 0 },
		{ "rate limited", GS_REFUSAL_RATE_LIMITED, 0 },
		{ "invalid: \"limit\" must be less than or equal to 500",
		    GS_REFUSAL_LIMIT, 500 },
		{ "invalid: \"kinds\" must be an array", GS_REFUSAL_OTHER, 0 },
		{ "invalid: limitation.max_limit 300", GS_REFUSAL_LIMIT, 300 },
	};

	(void)state;
	CHECK_ROWS(rows);
}

/* Answers to NEG-OPEN. */
static void
test_negentropy(void **state)
{
	static const struct row rows[] = {
		{ "Command unrecognized", GS_REFUSAL_UNSUPPORTED, 0 },
		{ "bad message type", GS_REFUSAL_UNSUPPORTED, 0 },
		{ "error: bad message", GS_REFUSAL_UNSUPPORTED, 0 },
		{ "invalid: \"value\" does not match any of the allowed types",
		    GS_REFUSAL_UNSUPPORTED, 0 },
		{ "ERROR: bad msg: invalid message: {'message_type': ['Invalid enum "
		  "value NEG-OPEN']}",
		    GS_REFUSAL_UNSUPPORTED, 0 },
		{ "Unknown message type: NEG-OPEN", GS_REFUSAL_UNSUPPORTED, 0 },
		{ "closed: nip77 disabled", GS_REFUSAL_UNSUPPORTED, 0 },
		{ "blocked: Negentropy sync is disabled", GS_REFUSAL_UNSUPPORTED, 0 },
		{ "blocked: query matches too many records (2988225 > 1000000)",
		    GS_REFUSAL_RESULTS, 0 },
	};

	(void)state;
	CHECK_ROWS(rows);
}

/* Elsewhere. */
static void
test_others(void **state)
{
	static const struct row rows[] = {
		{ "error: too fast, slow down please", GS_REFUSAL_RATE_LIMITED, 0 },
		{ "too many requests", GS_REFUSAL_RATE_LIMITED, 0 },
		{ "error: rate limit exceeded", GS_REFUSAL_RATE_LIMITED, 0 },
		{ "You are being throttled", GS_REFUSAL_RATE_LIMITED, 0 },
		{ "too many concurrent subscriptions", GS_REFUSAL_SUBSCRIPTIONS, 0 },
		{ "invalid: limitation.max_subscriptions 20", GS_REFUSAL_SUBSCRIPTIONS,
		    0 },
		{ "invalid: limitation.max_filters 5", GS_REFUSAL_FILTERS, 0 },
		{ "invalid: limitation.max_message_length 65536", GS_REFUSAL_BYTES, 0 },
		{ "ERROR: payload too large", GS_REFUSAL_BYTES, 0 },
		{ "\"limit\" too big", GS_REFUSAL_LIMIT, 0 },
		{ "limit 1000 too large: limit must be at most 200", GS_REFUSAL_LIMIT,
		    200 },
		{ "blocked: payment required: 2100 sats", GS_REFUSAL_RESTRICTED, 0 },
		{ "ERROR: RESTRICTED: members alone", GS_REFUSAL_RESTRICTED, 0 },
		{ "Rate-Limited: wait", GS_REFUSAL_RATE_LIMITED, 0 },
	};

	(void)state;
	CHECK_ROWS(rows);
}

/* What only looks like one. */
static void
test_near_misses(void **state)
{
	static const struct row rows[] = {
		{ "you are banned", GS_REFUSAL_OTHER, 0 },
		{ "rate-limited", GS_REFUSAL_RATE_LIMITED, 0 },
		{ "restricted", GS_REFUSAL_OTHER, 0 },
		{ " restricted: late", GS_REFUSAL_OTHER, 0 },
		{ "unrestricted: all", GS_REFUSAL_OTHER, 0 },
		{ "accurate limited", GS_REFUSAL_OTHER, 0 },
		{ "too many filtersets", GS_REFUSAL_OTHER, 0 },
		{ "too manyfilters", GS_REFUSAL_OTHER, 0 },
		{ "xtoo many filters", GS_REFUSAL_OTHER, 0 },
		{ "unlimited", GS_REFUSAL_OTHER, 0 },
		{ "limit", GS_REFUSAL_OTHER, 0 },
		{ "error: ERROR: ", GS_REFUSAL_OTHER, 0 },
		{ "ERROR: ", GS_REFUSAL_EMPTY, 0 },
		{ "ERROR: ERROR: rate-limited: x", GS_REFUSAL_RATE_LIMITED, 0 },
		{ " \n\t", GS_REFUSAL_EMPTY, 0 },
		{ "max limit 99999999999999999999 of 2147483648", GS_REFUSAL_LIMIT, 0 },
		{ "max limit 007", GS_REFUSAL_LIMIT, 0 },
		{ "max limit 5x -3", GS_REFUSAL_LIMIT, 3 },
		{ "too\302\240many filters", GS_REFUSAL_OTHER, 0 },
	};

	(void)state;
	CHECK_ROWS(rows);
}

static void
test_long_text_is_cut(void **state)
{
	static const char words[] = "too many filters";
	char text[2 * GS_REFUSAL_TEXT_BYTES];
	char *at = text + GS_REFUSAL_TEXT_BYTES - (sizeof(words) - 1);

	(void)state;
	memset(text, '.', sizeof(text));
	memcpy(at, words, sizeof(words) - 1);
	assert_int_equal(gs_refusal_parse((struct gs_str){ text, sizeof(text) }, NULL),
	    GS_REFUSAL_FILTERS);
	memset(text, 'x', sizeof(text));
	memcpy(at, words, sizeof(words) - 1);
	at[-1] = '\0';
	assert_int_equal(gs_refusal_parse((struct gs_str){ text, sizeof(text) }, NULL),
	    GS_REFUSAL_FILTERS);
	memmove(at + 1, words, sizeof(words) - 1);
	*at = ' ';
	assert_int_equal(gs_refusal_parse((struct gs_str){ text, sizeof(text) }, NULL),
	    GS_REFUSAL_OTHER);
	assert_int_equal(gs_refusal_parse((struct gs_str){ NULL, 0 }, NULL),
	    GS_REFUSAL_EMPTY);
}

/* Every kind has a name of its own that is fit for a label. */
static void
test_names(void **state)
{
	(void)state;
	for (int i = GS_REFUSAL_OTHER; i <= GS_REFUSAL_UNSUPPORTED; i++) {
		const char *name = gs_refusal_name((enum gs_refusal)i);

		assert_int_equal(strspn(name, "abcdefghijklmnopqrstuvwxyz-"),
		    strlen(name));
		for (int j = 0; j < i; j++)
			assert_string_not_equal(name,
			    gs_refusal_name((enum gs_refusal)j));
	}
}

static void
prefixes_alone(void **state)
{
	static const struct {
		const char *text;
		enum gs_refusal refusal;
	} rows[] = {
		{ "auth-required: we know you not", GS_REFUSAL_AUTH_REQUIRED },
		{ "ERROR: auth-required: requested filter", GS_REFUSAL_AUTH_REQUIRED },
		{ "restricted: no", GS_REFUSAL_RESTRICTED },
		{ "rate-limited:slow down", GS_REFUSAL_RATE_LIMITED },
		{ "ERROR: bad req: arr too big", GS_REFUSAL_OTHER },
		{ "you are rate-limited: x", GS_REFUSAL_OTHER },
		{ "auth-required", GS_REFUSAL_OTHER },
		{ "", GS_REFUSAL_OTHER },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(gs_refusal_prefix(gs_str_of(rows[i].text)),
		    rows[i].refusal);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(prefixes_alone),
		cmocka_unit_test(test_strfry_notices),
		cmocka_unit_test(test_strfry_closed),
		cmocka_unit_test(test_strfry_ok),
		cmocka_unit_test(test_khatru),
		cmocka_unit_test(test_nostr_rs_relay),
		cmocka_unit_test(test_relay_builder),
		cmocka_unit_test(test_nostream),
		cmocka_unit_test(test_negentropy),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_near_misses),
		cmocka_unit_test(test_long_text_is_cut),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
