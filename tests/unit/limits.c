/* What a relay allows: as its document says, within reason, and less once it refuses. */
#include "limits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define SAFE                           \
	{                              \
		10, 10, 61440, 500, 64 \
	}

static void
assert_limits(const struct gs_limits *limits, const struct gs_limits *wanted)
{
	assert_int_equal(limits->subscriptions, wanted->subscriptions);
	assert_int_equal(limits->filters, wanted->filters);
	assert_int_equal(limits->bytes, wanted->bytes);
	assert_int_equal(limits->limit, wanted->limit);
	assert_int_equal(limits->subid_len, wanted->subid_len);
}

static void
test_documents(void **state)
{
	static const struct {
		const char *document;
		struct gs_limits wanted;
	} rows[] = {
		{ "{}", SAFE },
		{ " {\"name\":\"khatru\",\"supported_nips\":[1,11,\"7D\"]} ", SAFE },
		/* strfry */
		{ "{\"limitation\":{\"max_limit\":500,\"max_message_length\":131072,"
		  "\"max_subscriptions\":200},\"negentropy\":1,\"version\":\"1.0.4\"}",
		    { 50, 10, 122880, 500, 64 } },
		/* nostream */
		{ "{\"limitation\":{\"max_message_length\":131072,\"max_subscriptions\":"
		  "10,"
		  "\"max_filters\":10,\"max_limit\":5000,\"max_subid_length\":256,"
		  "\"min_prefix\":4,\"max_event_tags\":2500,\"auth_required\":false},"
		  "\"fees\":{\"admission\":[{\"amount\":1.5e3,\"unit\":\"msats\"}]}}",
		    { 10, 10, 122880, 5000, 64 } },
		/* a small one */
		{ "{\"limitation\":{\"max_subscriptions\":1,\"max_filters\":1,"
		  "\"max_message_length\":16384,\"max_limit\":20,\"max_subid_length\":20}"
		  "}",
		    { 1, 1, 16384, 20, 20 } },
		/* the edges of what is sane */
		{ "{\"limitation\":{\"max_subscriptions\":51,\"max_filters\":21,"
		  "\"max_message_length\":122881,\"max_limit\":5001,\"max_subid_length\":"
		  "65}}",
		    { 50, 20, 122880, 5000, 64 } },
		{ "{\"limitation\":{\"max_subscriptions\":9007199254740991,"
		  "\"max_filters\":4294967297,\"max_message_length\":1024,"
		  "\"max_subid_length\":8}}",
		    { 50, 20, 1024, 500, 8 } },
		{ "{\"limitation\":{\"max_subscriptions\":0,\"max_filters\":-1,"
		  "\"max_message_length\":1023,\"max_limit\":0,\"max_subid_length\":7}}",
		    SAFE },
		{ "{\"limitation\":{\"max_subscriptions\":\"20\",\"max_filters\":null,"
		  "\"max_message_length\":1e99,\"max_limit\":250.5,\"max_subid_length\":["
		  "9]}}",
		    SAFE },
		{ "{\"limitation\":{\"max_subscriptions\":99999999999999999999,"
		  "\"max_filters\":true,\"max_limit\":{\"max_limit\":3},\"max_limits\":2}"
		  "}",
		    SAFE },
		{ "{\"limitation\":{\"max\\u005flimit\":7}}", { 10, 10, 61440, 7, 64 } },
		/* elsewhere they mean nothing */
		{ "{\"max_limit\":7,\"limits\":{\"max_limit\":7}}", SAFE },
		{ "{\"limitation\":[{\"max_limit\":7}]}", SAFE },
		{ "{\"limitation\":null,\"x\":-0.5}", SAFE },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct gs_limits limits;
		struct gs_err err;

		gs_limits_init(&limits);
		assert_true(gs_limits_read(&limits, gs_str_of(rows[i].document), &err));
		assert_limits(&limits, &rows[i].wanted);
	}
}

static void
test_no_documents(void **state)
{
	static const char *const texts[] = { "", " ", "[]", "1", "null", "nope",
		"<html>{}</html>", "{\"limitation\":{\"max_limit\":7}",
		"{\"limitation\":{\"max_limit\":7}}}",
		"{\"limitation\":{\"max_limit\":7},}",
		"{\"limitation\":{\"max_limit\":7,\"max_limit\":8}}",
		"{\"limitation\":{\"max_limit\":7},\"name\":\"\xff\"}",
		"{\"limitation\":{\"max_limit\":7},\"name\":\"\n\"}",
		"\xef\xbb\xbf{\"limitation\":{\"max_limit\":7}}" };
	static const struct gs_limits safe = SAFE;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct gs_limits limits;
		struct gs_err err = { .code = GS_OK };

		gs_limits_init(&limits);
		assert_false(gs_limits_read(&limits, gs_str_of(texts[i]), &err));
		assert_int_equal(err.code, GS_EDATA);
		assert_limits(&limits, &safe);
	}
}

static void
test_learns_to_send_less(void **state)
{
	static const struct {
		enum gs_refusal refusal;
		struct gs_limits wanted;
	} rows[] = {
		{ GS_REFUSAL_FILTERS, { 10, 5, 61440, 500, 64 } },
		{ GS_REFUSAL_FILTERS, { 10, 2, 61440, 500, 64 } },
		{ GS_REFUSAL_FILTERS, { 10, 1, 61440, 500, 64 } },
		{ GS_REFUSAL_SUBSCRIPTIONS, { 5, 1, 61440, 500, 64 } },
		{ GS_REFUSAL_SUBSCRIPTIONS, { 2, 1, 61440, 500, 64 } },
		{ GS_REFUSAL_SUBSCRIPTIONS, { 1, 1, 61440, 500, 64 } },
		{ GS_REFUSAL_BYTES, { 1, 1, 30720, 500, 64 } },
		{ GS_REFUSAL_BYTES, { 1, 1, 15360, 500, 64 } },
		{ GS_REFUSAL_BYTES, { 1, 1, 7680, 500, 64 } },
		{ GS_REFUSAL_BYTES, { 1, 1, 3840, 500, 64 } },
		{ GS_REFUSAL_BYTES, { 1, 1, 2048, 500, 64 } },
		{ GS_REFUSAL_LIMIT, { 1, 1, 2048, 250, 64 } },
		{ GS_REFUSAL_SUBID, { 1, 1, 2048, 250, 32 } },
		{ GS_REFUSAL_SUBID, { 1, 1, 2048, 250, 16 } },
		{ GS_REFUSAL_SUBID, { 1, 1, 2048, 250, 8 } },
	};
	struct gs_limits limits;

	(void)state;
	gs_limits_init(&limits);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_true(gs_limits_learn(&limits, rows[i].refusal, 0));
		assert_limits(&limits, &rows[i].wanted);
	}
	assert_false(gs_limits_learn(&limits, GS_REFUSAL_FILTERS, 0));
	assert_false(gs_limits_learn(&limits, GS_REFUSAL_SUBSCRIPTIONS, 0));
	assert_false(gs_limits_learn(&limits, GS_REFUSAL_BYTES, 0));
	assert_false(gs_limits_learn(&limits, GS_REFUSAL_SUBID, 0));
	assert_limits(&limits, &rows[sizeof(rows) / sizeof(rows[0]) - 1].wanted);
}

static void
test_limit_to_the_number_said(void **state)
{
	static const struct {
		int64_t number;
		uint32_t limit;
	} rows[] = { { 300, 300 }, { 300, 150 }, { 1000, 75 }, { 0, 37 }, { -5, 18 },
		{ INT64_MAX, 9 }, { INT64_MIN, 4 }, { 3, 3 }, { 1, 1 } };
	struct gs_limits limits;

	(void)state;
	gs_limits_init(&limits);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_true(gs_limits_learn(&limits, GS_REFUSAL_LIMIT, rows[i].number));
		assert_int_equal(limits.limit, rows[i].limit);
	}
	assert_false(gs_limits_learn(&limits, GS_REFUSAL_LIMIT, 0));
	assert_false(gs_limits_learn(&limits, GS_REFUSAL_LIMIT, 1));
}

/* A document may say less than what we would learn: then nothing is left to lower. */
static void
test_small_document_is_never_raised(void **state)
{
	static const char document[] = "{\"limitation\":{\"max_message_length\":1500}}";
	struct gs_limits limits;

	(void)state;
	gs_limits_init(&limits);
	assert_true(gs_limits_read(&limits, GS_STR(document), NULL));
	assert_false(gs_limits_learn(&limits, GS_REFUSAL_BYTES, 0));
	assert_int_equal(limits.bytes, 1500);
}

static void
test_other_refusals_teach_nothing(void **state)
{
	static const enum gs_refusal refusals[] = { GS_REFUSAL_OTHER, GS_REFUSAL_EMPTY,
		GS_REFUSAL_RATE_LIMITED, GS_REFUSAL_AUTH_REQUIRED, GS_REFUSAL_RESTRICTED,
		GS_REFUSAL_DUPLICATE, GS_REFUSAL_RESULTS, GS_REFUSAL_UNSUPPORTED };
	static const struct gs_limits safe = SAFE;
	struct gs_limits limits;

	(void)state;
	gs_limits_init(&limits);
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++)
		assert_false(gs_limits_learn(&limits, refusals[i], 7));
	assert_limits(&limits, &safe);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_documents),
		cmocka_unit_test(test_no_documents),
		cmocka_unit_test(test_learns_to_send_less),
		cmocka_unit_test(test_limit_to_the_number_said),
		cmocka_unit_test(test_small_document_is_never_raised),
		cmocka_unit_test(test_other_refusals_teach_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
