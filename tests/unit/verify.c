/*
 * Whole events, line by line: tests/data/events-good.jsonl are all accepted, and
 * tests/data/events-bad.jsonl refused for the reason in events-bad.txt.
 */
#include "verify.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <unistd.h>

#include "../tools/sign.h"
#include "file.h"

#define MIN_GOOD 38
#define MIN_BAD 170

/* What an import would say of the line. */
static enum gs_event_fault
judge(struct gs_event *event, struct gs_str line)
{
	struct gs_buf scratch = GS_BUF_INIT;
	struct gs_str object;
	enum gs_event_fault fault = GS_EVENT_SHAPE;

	if (gs_event_in_frame(&object, line, NULL))
		fault = gs_event_parse(event, object.ptr, object.len, NULL);
	if (fault == GS_EVENT_OK)
		fault = gs_verify_id(event, &scratch);
	if (fault == GS_EVENT_OK)
		fault = gs_verify_sig(event);
	gs_buf_fini(&scratch);
	return fault;
}

static void
open_lines(struct gs_lines *lines, const char *path)
{
	int fd = gs_file_open(path, NULL);

	if (fd < 0)
		fail_msg("%s is not there: run from the top folder", path);
	gs_lines_init(lines, fd, GS_EVENT_BYTES);
}

static void
close_lines(struct gs_lines *lines)
{
	(void)close(lines->fd);
	gs_lines_fini(lines);
}

/* Parsing what we print gives the same bytes and a true event. */
static void
assert_line_stands(const struct gs_event *event)
{
	struct gs_event again = GS_EVENT_INIT;
	struct gs_buf line = GS_BUF_INIT, second = GS_BUF_INIT;

	gs_event_write(event, &line);
	assert_int_equal(judge(&again, (struct gs_str){ line.data, line.len }),
	    GS_EVENT_OK);
	gs_event_write(&again, &second);
	assert_string_equal(line.data, second.data);
	gs_buf_fini(&line);
	gs_buf_fini(&second);
	gs_event_fini(&again);
}

static void
test_accepts_good_events(void **state)
{
	struct gs_event event = GS_EVENT_INIT;
	struct gs_lines lines;
	struct gs_str line;

	(void)state;
	open_lines(&lines, "tests/data/events-good.jsonl");
	while (gs_lines_next(&lines, true, &line) == GS_LINE_OK) {
		enum gs_event_fault fault = judge(&event, line);

		if (fault != GS_EVENT_OK)
			fail_msg("line %d: %s", (int)lines.number,
			    gs_event_fault_name(fault));
		assert_line_stands(&event);
	}
	assert_true(lines.number >= MIN_GOOD);
	close_lines(&lines);
	gs_event_fini(&event);
}

static void
test_refuses_bad_events(void **state)
{
	struct gs_event event = GS_EVENT_INIT;
	struct gs_lines lines, reasons;
	struct gs_str line, reason;

	(void)state;
	open_lines(&lines, "tests/data/events-bad.jsonl");
	open_lines(&reasons, "tests/data/events-bad.txt");
	while (gs_lines_next(&lines, true, &line) == GS_LINE_OK) {
		const char *got = gs_event_fault_name(judge(&event, line));

		assert_int_equal(gs_lines_next(&reasons, true, &reason), GS_LINE_OK);
		if (reason.len <= strlen(got) ||
		    memcmp(reason.ptr, got, strlen(got)) != 0 ||
		    reason.ptr[strlen(got)] != '\t')
			fail_msg("line %d: %s, not %.*s", (int)lines.number, got,
			    (int)reason.len, reason.ptr);
	}
	assert_true(lines.number >= MIN_BAD);
	assert_int_equal(gs_lines_next(&reasons, true, &reason), GS_LINE_END);
	close_lines(&lines);
	close_lines(&reasons);
	gs_event_fini(&event);
}

/* A signed event of a given content; the caller frees. */
static void
sign_content(struct gs_event *event, const char *content, size_t len)
{
	secp256k1_context *secp = sign_context();
	struct signer signer;

	signer_init(&signer, secp, 1, 2, 3);
	event->created_at = 1700000000;
	event->kind = 1;
	event->content = (struct gs_str){ content, len };
	signer_sign(&signer, event);
	secp256k1_context_destroy(secp);
}

static void
test_every_byte_counts(void **state)
{
	struct gs_event event = GS_EVENT_INIT;
	struct gs_buf scratch = GS_BUF_INIT;
	size_t i;

	(void)state;
	sign_content(&event, "content", 7);
	assert_int_equal(gs_verify_id(&event, &scratch), GS_EVENT_OK);
	assert_int_equal(gs_verify_sig(&event), GS_EVENT_OK);
	for (i = 0; i < sizeof(event.sig); i++) {
		event.sig[i] ^= 1;
		assert_int_equal(gs_verify_sig(&event), GS_EVENT_SIG);
		event.sig[i] ^= 1;
	}
	for (i = 0; i < sizeof(event.id); i++) {
		event.id[i] ^= 0x80;
		assert_int_equal(gs_verify_id(&event, &scratch), GS_EVENT_ID);
		assert_int_equal(gs_verify_sig(&event), GS_EVENT_SIG);
		event.id[i] ^= 0x80;
		event.pubkey[i] ^= 1;
		assert_int_equal(gs_verify_id(&event, &scratch), GS_EVENT_ID);
		assert_int_equal(gs_verify_sig(&event), GS_EVENT_SIG);
		event.pubkey[i] ^= 1;
	}
	event.created_at++;
	assert_int_equal(gs_verify_id(&event, &scratch), GS_EVENT_ID);
	event.created_at--;
	event.kind++;
	assert_int_equal(gs_verify_id(&event, &scratch), GS_EVENT_ID);
	gs_buf_fini(&scratch);
	gs_event_fini(&event);
}

/* All bytes below 0x80, and a large event. */
static void
test_any_content(void **state)
{
	struct gs_event event = GS_EVENT_INIT;
	struct gs_buf content = GS_BUF_INIT;
	int i;

	(void)state;
	for (i = 0; i < 0x80; i++)
		gs_buf_add_char(&content, (char)i);
	sign_content(&event, content.data, content.len);
	assert_line_stands(&event);
	for (i = 0; i < 70000; i++)
		gs_buf_add_char(&content, (char)('a' + i % 26));
	sign_content(&event, content.data, content.len);
	assert_line_stands(&event);
	gs_buf_fini(&content);
	gs_event_fini(&event);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_accepts_good_events),
		cmocka_unit_test(test_refuses_bad_events),
		cmocka_unit_test(test_every_byte_counts),
		cmocka_unit_test(test_any_content),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
