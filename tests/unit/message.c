/* Frames of relays: what we read of them, and that all else is junk. */
#include "message.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static struct gs_message
parse(const char *text)
{
	struct gs_message message;

	enum gs_message_type type = gs_message_parse(&message, text, strlen(text));

	assert_int_equal(type, message.type);
	assert_true((message.why != NULL) == (message.type == GS_MESSAGE_JUNK));
	return message;
}

static void
test_event(void **state)
{
	struct gs_message message = parse(" [ \"EVENT\" , \"1\", {\"a\":[1,{}]} ] ");

	(void)state;
	assert_int_equal(message.type, GS_MESSAGE_EVENT);
	assert_true(gs_json_is(message.sub, "1"));
	assert_true(gs_str_is(message.event, "{\"a\":[1,{}]}"));
	message = parse("[\"EV\\u0045NT\",\"\\u0031\",{}]");
	assert_int_equal(message.type, GS_MESSAGE_EVENT);
	assert_true(gs_json_is(message.sub, "1"));
}

static void
test_eose(void **state)
{
	struct gs_message message = parse("[\"EOSE\",\"7\"]");

	(void)state;
	assert_int_equal(message.type, GS_MESSAGE_EOSE);
	assert_true(gs_json_is(message.sub, "7"));
	assert_false(message.is_finish);
	assert_true(parse("[\"EOSE\",\"7\",\"finish\"]").is_finish);
	assert_false(parse("[\"EOSE\",\"7\",\"more\"]").is_finish);
	assert_false(parse("[\"EOSE\",\"7\",[\"finish\"]]").is_finish);
}

static void
test_texts(void **state)
{
	struct gs_message message = parse("[\"CLOSED\",\"7\",\"auth-required: a\\nb\"]");
	struct gs_buf text = GS_BUF_INIT;

	(void)state;
	assert_int_equal(message.type, GS_MESSAGE_CLOSED);
	gs_json_decode(&text, message.text);
	assert_string_equal(text.data, "auth-required: a\nb");
	gs_buf_clear(&text);
	message = parse("[\"CLOSED\",\"7\"]");
	assert_int_equal(message.type, GS_MESSAGE_CLOSED);
	assert_int_equal(message.text.raw.len, 0);
	gs_json_decode(&text, message.text);
	assert_int_equal(text.len, 0);
	assert_int_equal(parse("[\"NOTICE\",\"hello\"]").type, GS_MESSAGE_NOTICE);
	assert_int_equal(parse("[\"AUTH\",\"challenge\"]").type, GS_MESSAGE_AUTH);
	gs_buf_fini(&text);
}

static void
test_ok(void **state)
{
	struct gs_message message = parse("[\"OK\",\"" ID "\",true,\"duplicate: x\"]");

	(void)state;
	assert_int_equal(message.type, GS_MESSAGE_OK);
	assert_true(message.accepted);
	assert_int_equal(message.id[0], 0x01);
	assert_int_equal(message.id[31], 0xef);
	assert_false(parse("[\"OK\",\"" ID "\",false,\"\"]").accepted);
}

static void
test_junk(void **state)
{
	static const char *const junk[] = {
		"",
		" ",
		"x",
		"null",
		"1",
		"\"EOSE\"",
		"{}",
		"{\"EVENT\":1}",
		"[]",
		"[1]",
		"[[\"EOSE\",\"1\"]]",
		"[null]",
		"[\"EOSE\"]",
		"[\"EOSE\",null]",
		"[\"EOSE\",1]",
		"[\"eose\",\"1\"]",
		"[\"EOSE \",\"1\"]",
		"[\"EOSE\",\"1\"]x",
		"[\"EOSE\",\"1\"",
		"[\"EOSE\",\"1\",]",
		"[\"EVENT\",{}]",
		"[\"EVENT\",\"1\",[]]",
		"[\"EVENT\",\"1\",null]",
		"[\"EVENT\",\"1\",{\"a\":1,\"a\":1}]",
		"[\"EVENT\",\"1\",{]",
		"[\"CLOSED\"]",
		"[\"CLOSED\",\"1\",2]",
		"[\"CLOSED\",1,\"x\"]",
		"[\"NOTICE\"]",
		"[\"NOTICE\",{}]",
		"[\"NOTICE\",\"\\ud800\"]",
		"[\"NOTICE\",\"\xff\"]",
		"[\"NOTICE\",\"\n\"]",
		"[\"AUTH\",7]",
		"[\"OK\",\"" ID "\",true]",
		"[\"OK\",\"" ID "\",\"true\",\"\"]",
		"[\"OK\",\"?\",true,\"\"]",
		"[\"OK\",\"" ID "0\",true,\"\"]",
		"[\"COUNT\",\"1\",{\"count\":1}]",
		"[\"REQ\",\"1\",{}]",
		"\xef\xbb\xbf[\"EOSE\",\"1\"]",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(junk) / sizeof(junk[0]); i++)
		assert_int_equal(parse(junk[i]).type, GS_MESSAGE_JUNK);
}

static void
test_nesting(void **state)
{
	struct gs_buf frame = GS_BUF_INIT;
	struct gs_message message;

	(void)state;
	for (size_t i = 0; i < 100000; i++)
		gs_buf_add_char(&frame, '[');
	assert_int_equal(gs_message_parse(&message, frame.data, frame.len),
	    GS_MESSAGE_JUNK);
	gs_buf_fini(&frame);
	/* A NUL is a byte like any other. */
	assert_int_equal(gs_message_parse(&message, "[\"EOSE\",\"1\"]\0", 13),
	    GS_MESSAGE_JUNK);
}

static void
test_strip(void **state)
{
	(void)state;
	assert_true(gs_str_is(gs_message_strip(GS_STR("ERROR: x")), "x"));
	assert_true(gs_str_is(gs_message_strip(GS_STR("ERROR:x")), "ERROR:x"));
}

static void
test_write(void **state)
{
	const struct gs_str filters[] = { GS_STR("{\"kinds\":[1]}"), GS_STR("{}") };
	struct gs_buf frame = GS_BUF_INIT;

	(void)state;
	gs_message_write_req(&frame, "12", filters, 2);
	assert_string_equal(frame.data, "[\"REQ\",\"12\",{\"kinds\":[1]},{}]");
	gs_buf_clear(&frame);
	gs_message_write_close(&frame, "12");
	assert_string_equal(frame.data, "[\"CLOSE\",\"12\"]");
	gs_buf_fini(&frame);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_event),
		cmocka_unit_test(test_eose),
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_ok),
		cmocka_unit_test(test_junk),
		cmocka_unit_test(test_nesting),
		cmocka_unit_test(test_strip),
		cmocka_unit_test(test_write),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
