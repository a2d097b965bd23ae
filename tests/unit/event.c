/* Events: shape, size, the canonical line, tags, addresses and frames. */
#include "event.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hex.h"

#define ID "0000000000000000000000000000000000000000000000000000000000000001"
#define KEY "00000000000000000000000000000000000000000000000000000000000000ab"
#define SIG ID KEY

/* An event of these tags and content; neither id nor signature is true. */
static void
write_draft(struct gs_buf *buf, const char *tags, const char *content)
{
	gs_buf_printf(buf,
	    "{\"id\":\"" ID "\",\"pubkey\":\"" KEY "\",\"created_at\":5,\"kind\":1,"
	    "\"tags\":%s,\"content\":%s,\"sig\":\"" SIG "\"}",
	    tags, content);
}

static void
parse_draft(struct gs_event *event, const char *tags, const char *content)
{
	struct gs_buf buf = GS_BUF_INIT;

	write_draft(&buf, tags, content);
	assert_int_equal(gs_event_parse(event, buf.data, buf.len, NULL), GS_EVENT_OK);
	gs_buf_fini(&buf);
}

static void
test_reads_all_members(void **state)
{
	struct gs_event event = GS_EVENT_INIT;
	uint8_t key[32];

	(void)state;
	parse_draft(&event, "[[\"a\",\"b\\u0000c\",\"\"],[],[\"d\"]]", "\"x\\ny\"");
	assert_true(gs_hex_parse(key, sizeof(key), KEY, 64));
	assert_int_equal(event.id[31], 1);
	assert_memory_equal(event.pubkey, key, sizeof(key));
	assert_int_equal(event.sig[63], 0xab);
	assert_int_equal(event.created_at, 5);
	assert_int_equal(event.kind, 1);
	assert_true(gs_str_is(event.content, "x\ny"));
	assert_int_equal(event.num_tags, 3);
	assert_int_equal(event.tags[0].num, 3);
	assert_true(gs_str_equal(event.tags[0].values[1], GS_STR("b\0c")));
	assert_int_equal(event.tags[0].values[2].len, 0);
	assert_int_equal(event.tags[1].num, 0);
	assert_true(gs_tag_is(&event.tags[2], "d"));
	gs_event_fini(&event);
	gs_event_fini(&event);
}

/* What one event has left behind doesn't show in the next. */
static void
test_is_used_again(void **state)
{
	struct gs_event event = GS_EVENT_INIT;
	struct gs_buf buf = GS_BUF_INIT;
	const char *data;
	int i;

	(void)state;
	gs_buf_add_char(&buf, '[');
	for (i = 0; i < 1000; i++)
		gs_buf_printf(&buf, "%s[\"t\",\"value %d\"]", i ? "," : "", i);
	gs_buf_add_char(&buf, ']');
	parse_draft(&event, buf.data, "\"long\"");
	assert_int_equal(event.num_tags, 1000);
	assert_true(gs_str_is(gs_tag_value(&event.tags[0]), "value 0"));
	assert_true(gs_str_is(gs_tag_value(&event.tags[999]), "value 999"));
	data = event.text.data;
	parse_draft(&event, "[]", "\"\"");
	assert_int_equal(event.num_tags, 0);
	assert_int_equal(event.content.len, 0);
	assert_int_not_equal(gs_event_parse(&event, "{}", 2, NULL), GS_EVENT_OK);
	parse_draft(&event, buf.data, "\"long\"");
	assert_int_equal(event.num_tags, 1000);
	assert_ptr_equal(event.text.data, data);
	gs_buf_fini(&buf);
	gs_event_fini(&event);
}

static void
test_canonical_line(void **state)
{
	static const char text[] =
	    " { \"x\" : [ 1 ] , \"sig\" : \"" SIG
	    "\" , \"content\" : \"\\/\\u000A\\u00e9\" , "
	    "\"tags\" : [ [ \"a\" , \"\\u0041\" ] , [ ] ] , \"kind\" : 30617 , "
	    "\"created_at\" : 9007199254740991 , \"pubkey\" : \"" KEY
	    "\" , \"id\" : \"" ID "\" } ";
	struct gs_event event = GS_EVENT_INIT;
	struct gs_buf buf = GS_BUF_INIT;

	(void)state;
	assert_int_equal(gs_event_parse(&event, text, sizeof(text) - 1, NULL),
	    GS_EVENT_OK);
	gs_event_write(&event, &buf);
	assert_string_equal(buf.data,
	    "{\"id\":\"" ID "\",\"pubkey\":\"" KEY "\",\"created_at\":9007199254740991,"
	    "\"kind\":30617,\"tags\":[[\"a\",\"A\"],[]],\"content\":\"/\\n\xc3\xa9\","
	    "\"sig\":\"" SIG "\"}");
	gs_buf_fini(&buf);
	gs_event_fini(&event);
}

static void
test_id_hashes_the_array(void **state)
{
	static const char want[] = "[0,\"" KEY "\",5,1,[[\"t\",\"\\u0001\"]],\"\\n\"]";
	struct gs_event event = GS_EVENT_INIT;
	struct gs_buf scratch = GS_BUF_INIT;
	uint8_t id[32];

	(void)state;
	gs_buf_add_str(&scratch, "left over");
	parse_draft(&event, "[[\"t\",\"\\u0001\"]]", "\"\\n\"");
	gs_event_compute_id(&event, &scratch, id);
	assert_string_equal(scratch.data, want);
	gs_buf_fini(&scratch);
	gs_event_fini(&event);
}

static void
test_bounds_size(void **state)
{
	struct gs_event event = GS_EVENT_INIT;
	struct gs_buf content = GS_BUF_INIT, buf = GS_BUF_INIT;
	struct gs_err err;

	(void)state;
	write_draft(&buf, "[]", "\"\"");
	gs_buf_add_char(&content, '"');
	while (content.len - 1 + buf.len < GS_EVENT_BYTES)
		gs_buf_add_char(&content, 'x');
	gs_buf_add_char(&content, '"');
	gs_buf_clear(&buf);
	write_draft(&buf, "[]", content.data);
	assert_int_equal(buf.len, GS_EVENT_BYTES);
	assert_int_equal(gs_event_parse(&event, buf.data, buf.len, &err), GS_EVENT_OK);
	gs_buf_add_char(&buf, ' ');
	assert_int_equal(gs_event_parse(&event, buf.data, buf.len, &err), GS_EVENT_SIZE);
	assert_int_equal(err.code, GS_EDATA);
	assert_string_equal(err.text, "event of 524289 bytes: over 524288");
	gs_buf_fini(&buf);
	gs_buf_fini(&content);
	gs_event_fini(&event);
}

static void
test_tells_the_place(void **state)
{
	static const char text[] = "{\"kind\":1.0}";
	struct gs_event event = GS_EVENT_INIT;
	struct gs_err err;

	(void)state;
	assert_int_equal(gs_event_parse(&event, text, sizeof(text) - 1, &err),
	    GS_EVENT_SHAPE);
	assert_int_equal(err.code, GS_EDATA);
	assert_string_equal(err.text,
	    "line 1 column 9: kind is not an integer from 0 to 65535");
	assert_int_equal(gs_event_parse(&event, "{}", 2, &err), GS_EVENT_SHAPE);
	assert_string_equal(err.text, "line 1 column 2: no id");
	assert_int_equal(gs_event_parse(&event, "", 0, &err), GS_EVENT_SHAPE);
	gs_event_fini(&event);
}

/* No prefix of an event is one, and none makes us look behind its end. */
static void
test_refuses_every_prefix(void **state)
{
	struct gs_event event = GS_EVENT_INIT;
	struct gs_buf all = GS_BUF_INIT;
	size_t len;

	(void)state;
	write_draft(&all, "[[\"e\",\"\\ud83d\\ude80\"],[]]", "\"\xf0\x9f\x9a\x80\"");
	for (len = 0; len < all.len; len++) {
		char *block = malloc(len + 1);
		char *part = block + 1; /* with nothing behind it */

		memcpy(part, all.data, len);
		assert_int_equal(gs_event_parse(&event, part, len, NULL), GS_EVENT_SHAPE);
		free(block);
	}
	gs_buf_fini(&all);
	gs_event_fini(&event);
}

static void
test_fault_names(void **state)
{
	(void)state;
	assert_string_equal(gs_event_fault_name(GS_EVENT_OK), "ok");
	assert_string_equal(gs_event_fault_name(GS_EVENT_SHAPE), "shape");
	assert_string_equal(gs_event_fault_name(GS_EVENT_SIZE), "size");
	assert_string_equal(gs_event_fault_name(GS_EVENT_ID), "id");
	assert_string_equal(gs_event_fault_name(GS_EVENT_SIG), "sig");
}

static void
test_d(void **state)
{
	static const struct {
		const char *tags, *want;
	} rows[] = { { "[]", "" }, { "[[]]", "" }, { "[[\"d\"]]", "" },
		{ "[[\"d\",\"\"]]", "" }, { "[[\"d\",\"x\"]]", "x" },
		{ "[[\"D\",\"y\"],[\"d\",\"x\",\"z\"]]", "x" },
		{ "[[\"d\",\"one\"],[\"d\",\"two\"]]", "one" },
		{ "[[\"d\"],[\"d\",\"two\"]]", "" }, { "[[\"d\",\"a:b::c\"]]", "a:b::c" },
		{ "[[\"dd\",\"x\"]]", "" } };
	struct gs_event event = GS_EVENT_INIT;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		parse_draft(&event, rows[i].tags, "\"\"");
		assert_true(gs_str_is(gs_event_d(&event), rows[i].want));
	}
	assert_null(gs_event_tag(&event, "d"));
	assert_ptr_equal(gs_event_tag(&event, "dd"), &event.tags[0]);
	gs_event_fini(&event);
}

static void
test_expiration(void **state)
{
	static const struct {
		const char *tags;
		int64_t want;
	} rows[] = { { "[]", -1 }, { "[[\"expiration\"]]", -1 },
		{ "[[\"expiration\",\"\"]]", -1 }, { "[[\"expiration\",\"0\"]]", 0 },
		{ "[[\"expiration\",\"1700000000\"]]", 1700000000 },
		{ "[[\"expiration\",\"001700000000\"]]", 1700000000 },
		{ "[[\"expiration\",\"-1\"]]", -1 }, { "[[\"expiration\",\"+1\"]]", -1 },
		{ "[[\"expiration\",\" 1\"]]", -1 }, { "[[\"expiration\",\"1.0\"]]", -1 },
		{ "[[\"expiration\",\"1e9\"]]", -1 },
		{ "[[\"expiration\",\"0x1\"]]", -1 },
		{ "[[\"expiration\",\"1\\u0000\"]]", -1 },
		{ "[[\"expiration\",\"99999999999999999999\"]]", -1 },
		{ "[[\"expiration\",\"x\"],[\"expiration\",\"5\"]]", -1 },
		{ "[[\"expiration\",\"5\"],[\"expiration\",\"6\"]]", 5 } };
	struct gs_event event = GS_EVENT_INIT;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		parse_draft(&event, rows[i].tags, "\"\"");
		assert_int_equal(gs_event_expiration(&event), rows[i].want);
	}
	gs_event_fini(&event);
}

static void
test_kinds(void **state)
{
	static const struct {
		unsigned kind;
		bool replaceable, addressable, root;
	} rows[] = { { 0, true, false, false }, { 1, false, false, false },
		{ 3, true, false, false }, { 41, false, false, false },
		{ 1616, false, false, false }, { 1617, false, false, true },
		{ 1618, false, false, true }, { 1619, false, false, true },
		{ 1620, false, false, false }, { 1621, false, false, true },
		{ 1622, false, false, false }, { 9999, false, false, false },
		{ 10000, true, false, false }, { 19999, true, false, false },
		{ 20000, false, false, false }, { 29999, false, false, false },
		{ 30000, false, true, false }, { 30617, false, true, false },
		{ 39999, false, true, false }, { 40000, false, false, false },
		{ 65535, false, false, false } };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(gs_kind_is_replaceable(rows[i].kind),
		    rows[i].replaceable);
		assert_int_equal(gs_kind_is_addressable(rows[i].kind),
		    rows[i].addressable);
		assert_int_equal(gs_kind_is_root(rows[i].kind), rows[i].root);
	}
}

static void
test_addresses(void **state)
{
	static const struct {
		const char *text;
		const char *d; /* NULL: no address */
		bool is_repo;
	} rows[] = { { "30617:" KEY ":x", "x", true }, { "30617:" KEY ":", "", true },
		{ "30617:" KEY ":x:y::", "x:y::", true },
		{ "30617:" KEY "::", ":", true }, { "30618:" KEY ":x", "x", false },
		{ "0:" KEY ":", "", false }, { "65535:" KEY ":x", "x", false },
		{ "65536:" KEY ":x", NULL, false }, { "030617:" KEY ":x", NULL, false },
		{ "-1:" KEY ":x", NULL, false }, { ":" KEY ":x", NULL, false },
		{ "30617:" KEY, NULL, false }, { "30617", NULL, false },
		{ "30617:", NULL, false }, { "", NULL, false },
		{ "x:" KEY ":d", NULL, false }, { "30617:pk:x", NULL, false },
		{ "30617::x", NULL, false }, { "30617:" KEY "0:x", NULL, false },
		{ "30617:" SIG ":x", NULL, false }, { " 30617:" KEY ":x", NULL, false },
		{ "30617:"
		  "00000000000000000000000000000000000000000000000000000000000000AB"
		  ":x",
		    NULL, false },
		{ "npub1x/y", NULL, false } };
	struct gs_buf buf = GS_BUF_INIT;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct gs_address address;
		bool ok = gs_address_parse(&address, gs_str_of(rows[i].text));

		assert_int_equal(ok, rows[i].d != NULL);
		assert_int_equal(gs_address_is_repo(gs_str_of(rows[i].text)),
		    rows[i].is_repo);
		if (!ok)
			continue;
		assert_true(gs_str_is(address.d, rows[i].d));
		gs_buf_clear(&buf);
		gs_address_write(&buf, address.kind, address.pubkey, address.d);
		assert_string_equal(buf.data, rows[i].text);
	}
	assert_false(gs_address_is_repo(gs_str_of(NULL)));
	gs_buf_fini(&buf);
}

static void
test_order(void **state)
{
	uint8_t low[32] = { 0x0a }, high[32] = { 0x8b };

	(void)state;
	assert_true(gs_event_compare(1, high, 2, low) < 0);
	assert_true(gs_event_compare(2, low, 1, high) > 0);
	assert_true(gs_event_compare(1, low, 1, high) < 0);
	assert_true(gs_event_compare(1, high, 1, low) > 0);
	assert_int_equal(gs_event_compare(1, low, 1, low), 0);
}

static void
test_frames(void **state)
{
	static const struct {
		const char *line, *want; /* want NULL: refused */
	} rows[] = { { "{\"a\":1}", "{\"a\":1}" }, { " \t{\"a\":1} \r", "{\"a\":1}" },
		{ "x", "x" }, { "[\"EVENT\",{\"a\":1}]", "{\"a\":1}" },
		{ "[\"EVENT\",\"sub\",{\"a\":1}]\r", "{\"a\":1}" },
		{ " [ \"EVENT\" , \"sub\" , {\"a\":[1] } ] ", "{\"a\":[1] }" },
		{ "[\"EVENT\",\"{}\",{}]", "{}" }, { "[\"\\u0045VENT\",{}]", "{}" },
		{ "", NULL }, { " ", NULL }, { "[", NULL }, { "[]", NULL },
		{ "[1]", NULL }, { "[{}]", NULL }, { "[\"event\",{}]", NULL },
		{ "[\"EVENT\"]", NULL }, { "[\"EVENT\",]", NULL },
		{ "[\"EVENT\",\"s\"]", NULL }, { "[\"EVENT\",\"s\",]", NULL },
		{ "[\"EVENT\",\"s\",1]", NULL }, { "[\"EVENT\",\"s\",\"t\"]", NULL },
		{ "[\"EVENT\",1,{}]", NULL }, { "[\"EVENT\",[],{}]", NULL },
		{ "[\"EVENT\",null]", NULL }, { "[\"EVENT\",{},{}]", NULL },
		{ "[\"EVENT\",\"s\",{},{}]", NULL }, { "[\"EVENT\",{}", NULL },
		{ "[\"EVENT\",{}]x", NULL }, { "[\"EVENT\",{}][]", NULL },
		{ "[\"EOSE\",\"s\"]", NULL }, { "[\"EVENT\" {}]", NULL } };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct gs_err err = { .code = GS_OK };
		struct gs_str object;
		bool ok = gs_event_in_frame(&object, gs_str_of(rows[i].line), &err);

		assert_int_equal(ok, rows[i].want != NULL);
		if (ok)
			assert_true(gs_str_is(object, rows[i].want));
		else
			assert_int_equal(err.code, GS_EDATA);
	}
}

/* An event of the deepest nesting is the same one inside a frame. */
static void
test_frame_keeps_depth(void **state)
{
	struct gs_event event = GS_EVENT_INIT;
	struct gs_buf buf = GS_BUF_INIT;
	struct gs_str object;
	int depth, i;

	(void)state;
	for (depth = 31; depth <= 32; depth++) {
		gs_buf_clear(&buf);
		gs_buf_add_str(&buf, "[\"EVENT\",");
		write_draft(&buf, "[]", "\"\"");
		gs_buf_cut(&buf, buf.len - 1);
		gs_buf_add_str(&buf, ",\"x\":");
		for (i = 0; i < depth; i++)
			gs_buf_add_char(&buf, '[');
		for (i = 0; i < depth; i++)
			gs_buf_add_char(&buf, ']');
		gs_buf_add_str(&buf, "}]");
		assert_int_equal(gs_event_in_frame(&object,
				     (struct gs_str){ buf.data, buf.len }, NULL) &&
			gs_event_parse(&event, object.ptr, object.len, NULL) ==
			    GS_EVENT_OK,
		    depth == 31);
	}
	gs_buf_fini(&buf);
	gs_event_fini(&event);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reads_all_members),
		cmocka_unit_test(test_is_used_again),
		cmocka_unit_test(test_canonical_line),
		cmocka_unit_test(test_id_hashes_the_array),
		cmocka_unit_test(test_bounds_size),
		cmocka_unit_test(test_tells_the_place),
		cmocka_unit_test(test_refuses_every_prefix),
		cmocka_unit_test(test_fault_names),
		cmocka_unit_test(test_d),
		cmocka_unit_test(test_expiration),
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_frames),
		cmocka_unit_test(test_frame_keeps_depth),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
