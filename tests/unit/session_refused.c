/*
 * Filters that a relay refuses wait as long when they come again: to the same session,
 * or to that of a later process.
 */
#include "transcript.h"

#include <sodium.h>

struct list {
	struct gs_session_refused all[8];
	size_t num;
};

static void
collect(const struct gs_session_refused *refused, void *arg)
{
	struct list *list = arg;

	assert_true(list->num < 8);
	list->all[list->num++] = *refused;
}

static struct list
list_refused(const struct chat *chat)
{
	struct list list = { .num = 0 };

	gs_session_each_refused(chat->session, collect, &list, chat->now);
	return list;
}

static struct gs_session_refused
refused_of(const char *filter, uint32_t failures, int64_t due_s)
{
	struct gs_session_refused refused = { .failures = failures, .due_s = due_s };

	(void)crypto_hash_sha256(refused.filter, (const unsigned char *)filter,
	    strlen(filter));
	return refused;
}

static void
assert_refused(const struct gs_session_refused *refused, const char *filter,
    uint32_t failures, int64_t due_s)
{
	const struct gs_session_refused wanted = refused_of(filter, failures, due_s);

	assert_memory_equal(refused->filter, wanted.filter, 32);
	assert_int_equal(refused->failures, failures);
	assert_int_equal(refused->due_s, due_s);
}

static void
add_part(struct chat *chat, const char *text, bool is_history)
{
	const struct gs_session_part part = { -1, is_history };
	struct gs_filter filter = GS_FILTER_INIT;

	assert_true(gs_filter_parse(&filter, text, strlen(text), NULL));
	gs_session_add_part(chat->session, &filter, &part, chat->now);
}

/* Kind 1 is followed, kind 2 refused, twice. */
static void
open_refused(struct chat *chat)
{
	chat_init(chat, false);
	chat->limits.filters = 1;
	chat_begin(chat, 2);
	connect_chat(chat);
	assert_int_equal(skip_frames(chat), 4);
	hear_eose(chat, 1, 1);
	hear_closed(chat, 2, "blocked: no");
	hear_eose(chat, 3, 3);
	hear_closed(chat, 4, "blocked: no");
	skip_frames(chat);
	assert_int_equal(list_refused(chat).num, 1);
	assert_int_equal(list_refused(chat).all[0].due_s, START_S + 60);
	wait_ms(chat, MINUTE_MS);
	assert_int_equal(skip_frames(chat), 2);
	assert_int_equal(list_refused(chat).num, 0);
	hear_closed(chat, 5, "blocked: no");
	hear_closed(chat, 6, "blocked: no");
}

static void
test_listed(void **state)
{
	struct list list;
	struct chat chat;

	(void)state;
	open_refused(&chat);
	list = list_refused(&chat);
	assert_int_equal(list.num, 1);
	assert_refused(&list.all[0], "{\"kinds\":[2]}", 2, START_S + 180);
	skip_ms(&chat, 1001);
	assert_int_equal(list_refused(&chat).all[0].due_s, START_S + 180);
	chat_fini(&chat);
}

/* Followed all the same: it is asked for once more by whoever comes later. */
static void
test_not_listed(void **state)
{
	struct chat chat;

	(void)state;
	chat_open(&chat, false, 1);
	assert_int_equal(skip_frames(&chat), 2);
	hear_eose(&chat, 1, 1);
	hear_closed(&chat, 2, "blocked: no history");
	assert_int_equal(list_refused(&chat).num, 0);
	hear_closed(&chat, 1, "blocked: nothing");
	assert_int_equal(list_refused(&chat).num, 1);
	chat_fini(&chat);
	chat_open(&chat, false, 1);
	assert_int_equal(skip_frames(&chat), 2);
	wait_ms(&chat, SILENCE_MS);
	assert_int_equal(list_refused(&chat).num, 0);
	chat_fini(&chat);
}

static void
test_cleared_and_added(void **state)
{
	struct list list;
	struct chat chat;

	(void)state;
	open_refused(&chat);
	gs_session_clear(chat.session, chat.now);
	list = list_refused(&chat);
	assert_int_equal(list.num, 1);
	skip_frames(&chat);
	add_part(&chat, "{\"kinds\":[2]}", true);
	assert_int_equal(skip_frames(&chat), 1);
	/* Its window is not what is refused. */
	add_part(&chat, "{\"kinds\":[2],\"since\":100,\"until\":1900000000}", false);
	expect_nothing(&chat);
	list = list_refused(&chat);
	assert_int_equal(list.num, 1);
	assert_refused(&list.all[0], "{\"kinds\":[2]}", 2, START_S + 180);
	add_part(&chat, "{\"kinds\":[2]}", false);
	assert_int_equal(skip_frames(&chat), 2);
	chat_fini(&chat);
}

static void
test_restored(void **state)
{
	struct gs_session_refused refused;
	struct list list;
	struct chat chat;

	(void)state;
	chat_init(&chat, false);
	chat_begin(&chat, 2);
	gs_session_resume(chat.session, START_S - 100, START_S - 100);
	refused = refused_of("{\"kinds\":[2]}", 3, START_S + 480);
	gs_session_restore_refused(chat.session, &refused);
	refused = refused_of("{\"kinds\":[3]}", 1, START_S + 60);
	gs_session_restore_refused(chat.session, &refused);
	assert_int_equal(list_refused(&chat).num, 2);
	connect_chat(&chat);
	expect_with(&chat, "[\"REQ\",\"1\",{\"kinds\":[1],\"since\":1799999100}]");
	expect_with(&chat, "[\"REQ\",\"2\",{\"kinds\":[1],\"since\":1799999000,");
	expect_nothing(&chat);
	hear_eose(&chat, 1, 2);
	assert_int_equal(gs_session_read_until_s(chat.session), START_S);
	assert_int_equal(gs_session_filters(chat.session).failed, 1);
	list = list_refused(&chat);
	assert_int_equal(list.num, 2);
	assert_refused(&list.all[0], "{\"kinds\":[2]}", 3, START_S + 480);
	skip_frames(&chat);
	wait_ms(&chat, 479999);
	expect_nothing(&chat);
	/* Nobody knows what was read of it. */
	wait_ms(&chat, 1);
	expect_with(&chat, "[\"REQ\",\"3\",{\"kinds\":[2],\"since\":");
	expect(&chat, "[\"REQ\",\"4\",{\"kinds\":[2],\"limit\":500}]");
	hear_closed(&chat, 3, "blocked: no");
	hear_closed(&chat, 4, "blocked: no");
	list = list_refused(&chat);
	assert_refused(&list.all[0], "{\"kinds\":[2]}", 4, START_S + 480 + 480);
	/* Its time is over: at once. */
	add_part(&chat, "{\"kinds\":[3]}", false);
	wait_ms(&chat, 0);
	assert_int_equal(skip_frames(&chat), 2);
	chat_fini(&chat);
}

/* A file can say anything: nothing waits for more than a day. */
static void
test_restored_for_ever(void **state)
{
	struct gs_session_refused refused =
	    refused_of("{\"kinds\":[1]}", UINT32_MAX, INT64_MAX);
	struct chat chat;

	(void)state;
	chat_init(&chat, false);
	chat_begin(&chat, 1);
	gs_session_restore_refused(chat.session, &refused);
	connect_chat(&chat);
	expect_nothing(&chat);
	wait_ms(&chat, DAY_MS);
	assert_int_equal(skip_frames(&chat), 2);
	hear_closed(&chat, 1, "blocked: no");
	assert_int_equal(list_refused(&chat).all[0].failures, UINT32_MAX);
	chat_fini(&chat);
	chat_init(&chat, false);
	chat.options.max_backoff_ms = 5000;
	chat_begin(&chat, 1);
	for (size_t i = 0; i < 2 * GS_SESSION_REFUSED; i++)
		gs_session_restore_refused(chat.session, &refused);
	connect_chat(&chat);
	wait_ms(&chat, 5000);
	assert_int_equal(skip_frames(&chat), 2);
	chat_fini(&chat);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_listed),
		cmocka_unit_test(test_not_listed),
		cmocka_unit_test(test_cleared_and_added),
		cmocka_unit_test(test_restored),
		cmocka_unit_test(test_restored_for_ever),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
