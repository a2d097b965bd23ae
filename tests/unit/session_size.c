/*
 * What sessions cost: hundreds of them with tens of thousands of filters live in one
 * process.
 */
#include <malloc.h>

#include "transcript.h"

#include "made.h"
#include "recent.h"

#define SESSIONS 500
#define FILTERS 154	   /* of each: 77,000 in all */
#define FILTER_BYTES 600   /* a filter may cost, with its share of the session */
#define LIST_BYTES 48	   /* of that, one list of values that others share */
#define SESSION_BYTES 8192 /* an empty one */
#define REMEMBERED 512
#define REMEMBERED_BYTES (40u * 1024)

/* Bytes that are in use; 0 where a sanitizer keeps the memory. */
static size_t
measure(void)
{
	return mallinfo2().uordblks;
}

static void
assert_grown(const char *what, size_t before, size_t num, size_t max)
{
	size_t now = measure();
	size_t each = now > before ? (now - before) / num : 0;

	print_message("%s: %zu bytes\n", what, each);
	assert_in_range(each, 0, max);
}

/* What the lists of a filter take here. */
static size_t
measure_lists(void)
{
	const char *text = "{\"kinds\":[1]}";
	struct gs_filter filter = GS_FILTER_INIT;
	size_t before = measure(), after;

	assert_true(gs_filter_parse(&filter, text, strlen(text), NULL));
	after = measure();
	gs_filter_fini(&filter);
	return after - before;
}

static void
add_filters(struct chat *chat, size_t first)
{
	for (size_t i = first; i < first + FILTERS; i++) {
		char text[64];

		(void)snprintf(text, sizeof(text), "{\"kinds\":[%zu]}", i);
		chat_add(chat, text);
	}
}

/* All live subscriptions open, all histories at their end. */
static void
read_all(struct chat *chat)
{
	unsigned heard = 0;

	connect_chat(chat);
	for (size_t reqs; (reqs = skip_frames(chat)) > 0; heard += (unsigned)reqs)
		hear_eose(chat, heard + 1, heard + (unsigned)reqs);
	assert_int_equal(gs_session_filters(chat->session).live, FILTERS);
	assert_int_equal(gs_session_read_until_s(chat->session), START_S);
	gs_buf_fini(&chat->said);
}

static void
test_filters(void **state)
{
	static struct chat chats[SESSIONS];
	size_t max = FILTER_BYTES - LIST_BYTES + measure_lists();
	size_t before = measure();

	(void)state;
	for (size_t i = 0; i < SESSIONS; i++) {
		chat_init(&chats[i], false);
		chats[i].options.remembered = REMEMBERED;
		chats[i].limits.subscriptions = 20;
		chat_begin(&chats[i], 0);
	}
	assert_grown("an empty session", before, SESSIONS, SESSION_BYTES);
	for (size_t i = 0; i < SESSIONS; i++)
		add_filters(&chats[i], i);
	assert_grown("a filter", before, SESSIONS * FILTERS, max);
	for (size_t i = 0; i < SESSIONS; i++)
		gs_session_opened(chats[i].session, chats[i].now);
	assert_grown("a filter to be read", before, SESSIONS * FILTERS, max);
	for (size_t i = 0; i < SESSIONS; i++)
		gs_session_closed(chats[i].session, chats[i].now);
	for (size_t i = 0; i < SESSIONS; i++)
		read_all(&chats[i]);
	assert_grown("a filter that was read", before, SESSIONS * FILTERS, max);
	for (size_t i = 0; i < SESSIONS; i++)
		gs_session_clear(chats[i].session, chats[i].now);
	for (size_t i = 0; i < SESSIONS; i++)
		chat_fini(&chats[i]);
}

static void
test_remembered(void **state)
{
	size_t before = measure();
	struct gs_recent *recent = gs_recent_new(REMEMBERED);
	uint8_t id[GS_RECENT_ID] = { 0 };

	(void)state;
	assert_grown("nothing to remember", before, 1, 256);
	for (uint32_t i = 0; i < 10 * REMEMBERED; i++) {
		memcpy(id, &i, sizeof(i));
		gs_recent_add(recent, id, GS_STR("bytes"));
	}
	assert_grown("the last ids", before, 1, REMEMBERED_BYTES);
	gs_recent_free(recent);
}

/* A large event and a long text are let go of. */
static void
test_large_frames(void **state)
{
	const size_t len = 400 * 1024;
	struct gs_event event = GS_EVENT_INIT;
	struct gs_buf frame = GS_BUF_INIT;
	char *content = malloc(len);
	struct chat chat;
	size_t before;

	(void)state;
	chat_open(&chat, false, 1);
	chat.options.leaves_signatures = true;
	assert_int_equal(skip_frames(&chat), 2);
	make_event(&event, 1, 1, START_S, "[]");
	memset(content, 'x', len);
	event.content = (struct gs_str){ content, len };
	gs_buf_add_str(&frame, "[\"EVENT\",\"1\",");
	gs_event_write(&event, &frame);
	gs_buf_add_char(&frame, ']');
	before = measure();
	assert_null(hear(&chat, frame.data));
	assert_int_equal(counts(&chat)->invalid, 1);
	gs_buf_clear(&frame);
	gs_buf_printf(&frame, "[\"NOTICE\",\"%.*s\"]", (int)len, content);
	assert_null(hear(&chat, frame.data));
	assert_int_equal(counts(&chat)->notices, 1);
	skip_frames(&chat);
	wait_ms(&chat, 10000);
	skip_frames(&chat);
	assert_grown("what is left of large frames", before, 1, 20 * 1024);
	gs_event_fini(&event);
	gs_buf_fini(&frame);
	free(content);
	chat_fini(&chat);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_filters),
		cmocka_unit_test(test_remembered),
		cmocka_unit_test(test_large_frames),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
