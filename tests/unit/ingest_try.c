/*
 * ingest as a daemon uses it: lines of many relays that never wait, copies and
 * forgeries of the same event.
 */
#include "clock.h"
#include "made_ingest.h"

#define NUM_BENCH 3000

static void
a_full_queue_never_waits_and_calls_when_there_is_room(void **state)
{
	struct fixture *fixture = *state;
	struct gs_txn *txn = gs_store_write(fixture->store, NULL); /* in the way */
	size_t bytes = 0;
	uint64_t num = 0;
	struct gs_str line;

	begin(fixture);
	while (line = make_line(fixture, (int64_t)num + 1, LONG_CONTENT),
	    try(fixture, line, A, 1) == GS_INGEST_TAKEN) {
		bytes += line.len;
		num++;
	}
	/* what is over the bound was taken, too: nothing may be lost */
	assert_int_equal(try(fixture, line, A, 1), GS_INGEST_FULL);
	/* a batch or two are with the writer */
	assert_true(bytes > GS_INGEST_QUEUE_BYTES / 2);
	assert_true(bytes < GS_INGEST_QUEUE_BYTES + 2 * BATCH_BYTES);
	assert_int_equal(look(fixture, &fixture->num_rooms), 0);
	gs_txn_end(txn);
	wait_for(fixture, &fixture->num_rooms);
	take(fixture, line, A, 1);
	assert_int_equal(finish(fixture).stored, num + 1);
	assert_int_equal(look(fixture, &fixture->num_rooms), 1);
}

static void
copies_are_verified_once(void **state)
{
	static const char *const relays[] = { A, B, "", A, B };
	struct fixture *fixture = *state;
	struct gs_str line = make_line(fixture, 1, 0);
	struct gs_tally tally;

	fixture->options.decided = take_decided;
	fixture->options.committed = take_committed;
	begin(fixture);
	for (uint32_t i = 0; i < 5; i++)
		take(fixture, line, relays[i], 7 + i);
	tally = finish(fixture);
	assert_int_equal(tally.stored, 1);
	assert_int_equal(tally.duplicate, 4);
	assert_int_equal(fixture->ingest->verified.num_checks, 1);
	assert_string_equal(fixture->decided.data,
	    "stored:" A ":7 duplicate:" B ":8 duplicate::9 duplicate:" A
	    ":10 duplicate:" B ":11 ");
}

/* Over several batches, so that the workers meet. */
static void
copies_that_meet_are_verified_once(void **state)
{
	struct fixture *fixture = *state;
	struct gs_tally tally;

	fixture->options.commit_when_idle = true;
	begin(fixture);
	for (int64_t i = 1; i <= 100; i++) {
		struct gs_str line = make_line(fixture, i, 0);

		for (int copy = 0; copy < 8; copy++)
			take(fixture, line, A, 1);
	}
	tally = finish(fixture);
	assert_int_equal(tally.stored, 100);
	assert_int_equal(tally.duplicate, 700);
	assert_int_equal(fixture->ingest->verified.num_checks, 100);
}

static void
a_forged_copy_changes_nothing(void **state)
{
	struct fixture *fixture = *state;
	struct gs_str line = make_line(fixture, 1, 0);
	struct gs_tally tally;

	begin(fixture);
	take(fixture, forge(fixture, line, -3), B, 1); /* the signature */
	take(fixture, line, A, 2);
	take(fixture, forge(fixture, line, -3), B, 3);
	tally = finish(fixture);
	assert_int_equal(tally.stored, 1);
	assert_int_equal(tally.invalid[GS_EVENT_SIG], 2);
	assert_int_equal(fixture->ingest->verified.num_checks, 3);
	assert_int_equal(count_stored(fixture), 1);
}

static void
of_a_known_id_nothing_more_is_read(void **state)
{
	struct fixture *fixture = *state;
	struct gs_buf frame = GS_BUF_INIT;
	struct gs_str line = make_line(fixture, 1, 0);
	struct gs_tally tally;

	begin(fixture);
	take(fixture, line, A, 1);
	assert_int_equal(finish(fixture).stored, 1);
	fixture->options.decided = take_decided;
	fixture->options.committed = take_committed;
	restart(fixture);
	gs_buf_printf(&frame, "[\"EVENT\",\"s\",%.*s]", (int)line.len, line.ptr);
	take(fixture, (struct gs_str){ frame.data, frame.len }, A, 1);
	take(fixture, forge(fixture, line, 90), B, 2); /* the pubkey */
	take(fixture, (struct gs_str){ line.ptr, 80 }, B, 3);
	take(fixture, forge(fixture, line, 8), B, 4); /* the id: another one */
	tally = finish(fixture);
	assert_int_equal(tally.read, 4);
	assert_int_equal(tally.duplicate, 3);
	assert_int_equal(tally.invalid[GS_EVENT_ID], 1);
	assert_int_equal(fixture->ingest->verified.num_checks, 0);
	assert_int_equal(count_stored(fixture), 1);
	assert_string_equal(fixture->decided.data,
	    "duplicate:" A ":1:unread duplicate:" B ":2:unread duplicate:" B
	    ":3:unread ");
	gs_buf_fini(&frame);
}

#define ID "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

static void
ids_are_found_where_they_stand(void **state)
{
	static const struct {
		const char *line;
		bool found;
	} lines[] = {
		{ "{\"id\":\"" ID "\"", true },
		{ " [ \"EVENT\" , {\"id\":\"" ID "\"", true },
		{ "[\"EVENT\",\"a\\\"],{\",{\"kind\":1,\"id\" : \"" ID "\"}]", true },
		{ "{\"tags\":[[\"id\",\"}\"],{\"id\":\"x\"}],\"\\u0069d\":\"" ID "\"}",
		    true },
		{ "{\"content\":\"\\\\\\\"id\\\":\",\"id\":\"" ID "\"}", true },
		{ "{\"content\":\"\\\",\\\"id\\\":\\\"" ID "\\\"\"}", false },
		{ "{\"tags\":{\"id\":\"" ID "\"}}", false },
		{ "{\"id\":\"" ID "0\"}", false },
		{ "{\"id\":\"\\u0030" ID "\"}", false },
		{ "{\"id\":[\"" ID "\"]}", false },
		{ "[\"event\",{\"id\":\"" ID "\"}]", false },
		{ "[\"EVENT\",1,{\"id\":\"" ID "\"}]", false },
		{ "[\"EVENT\",\"s\",[{\"id\":\"" ID "\"}]]", false },
		{ "[\"EVENT\"]", false },
		{ "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", false },
		{ "", false },
	};
	char hex[65] = "";
	uint8_t id[32];

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		assert_int_equal(ingest_find_id(id, gs_str_of(lines[i].line)),
		    lines[i].found);
		if (lines[i].found) {
			*gs_hex_write(hex, id, 32) = '\0';
			assert_string_equal(hex, ID);
		}
	}
}

/* Microseconds a line. */
static double
time_lines(struct fixture *fixture, const struct gs_buf *lines)
{
	int64_t begin_ms = gs_clock_now().mono_ms;
	const char *at = lines->data, *end = lines->data + lines->len;
	int64_t num = 0;

	for (; at < end; num++) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));

		take(fixture, (struct gs_str){ at, (size_t)(newline - at) }, A, 1);
		at = newline + 1;
	}
	(void)finish(fixture);
	return (double)(gs_clock_now().mono_ms - begin_ms) * 1000 / (double)num;
}

static void
known_events_cost_little(void **state)
{
	struct fixture *fixture = *state;
	struct gs_buf lines = GS_BUF_INIT;
	double first, again;

	for (int64_t i = 1; i <= NUM_BENCH; i++) {
		struct gs_str line = make_line(fixture, i, 600);

		gs_buf_add(&lines, line.ptr, line.len);
		gs_buf_add_char(&lines, '\n');
	}
	begin(fixture);
	first = time_lines(fixture, &lines);
	restart(fixture);
	again = time_lines(fixture, &lines);
	print_message("# new: %.1f us an event, known: %.1f us\n", first, again);
	assert_true(again < first);
	gs_buf_fini(&lines);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_full_queue_never_waits_and_calls_when_there_is_room),
		TEST(copies_are_verified_once),
		TEST(copies_that_meet_are_verified_once),
		TEST(a_forged_copy_changes_nothing),
		TEST(of_a_known_id_nothing_more_is_read),
		cmocka_unit_test(ids_are_found_where_they_stand),
		TEST(known_events_cost_little),
	};

	return cmocka_run_group_tests_name("ingest_try", tests, NULL, NULL);
}
