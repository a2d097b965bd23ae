/* ingest: lines of every sort, in order, over several threads, into the store. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "ingest.h"
#include "mem.h"
#include "tools/draft.h"

#define NOW 2000000
#define NUM_LINES 600 /* more than two batches */
#define SMALL_MAP (256 * 1024)
#define WAIT_US 1000
#define MAX_WAITS 10000

struct fixture {
	secp256k1_context *secp;
	struct signer signer;
	struct draft draft;
	struct gs_store *store;
	struct gs_ingest_options options;
	struct gs_buf bad;    /* "number:fault " of each */
	pthread_mutex_t lock; /* of what follows */
	uint64_t committed;   /* lines read, as told last */
	unsigned num_commits;
};

static void
take_bad(uint64_t number, enum gs_event_fault fault, const char *why, void *arg)
{
	struct fixture *fixture = arg;

	assert_true(why != NULL && why[0] != '\0');
	gs_buf_printf(&fixture->bad, "%llu:%s ", (unsigned long long)number,
	    gs_event_fault_name(fault));
}

static void
take_committed(const struct gs_tally *tally, void *arg)
{
	struct fixture *fixture = arg;

	(void)pthread_mutex_lock(&fixture->lock);
	fixture->committed = tally->read;
	fixture->num_commits++;
	(void)pthread_mutex_unlock(&fixture->lock);
}

static uint64_t
get_committed(struct fixture *fixture)
{
	uint64_t committed;

	(void)pthread_mutex_lock(&fixture->lock);
	committed = fixture->committed;
	(void)pthread_mutex_unlock(&fixture->lock);
	return committed;
}

static void
open_store(struct fixture *fixture, int64_t map_bytes)
{
	struct gs_store_options options = { .scratch = true, .map_bytes = map_bytes };
	struct gs_err err;

	gs_store_close(fixture->store);
	fixture->store = gs_store_open(NULL, &options, &err);
	assert_non_null(fixture->store);
}

static int
set_up(void **state)
{
	struct fixture *fixture = gs_mem_new(sizeof(*fixture));

	fixture->secp = sign_context();
	signer_init(&fixture->signer, fixture->secp, 1, 2, 3);
	(void)pthread_mutex_init(&fixture->lock, NULL);
	open_store(fixture, 0);
	fixture->options = (struct gs_ingest_options){ .workers = 3,
		.now_s = NOW,
		.bad = take_bad,
		.committed = take_committed,
		.arg = fixture };
	*state = fixture;
	return 0;
}

static int
tear_down(void **state)
{
	struct fixture *fixture = *state;

	gs_store_close(fixture->store);
	draft_fini(&fixture->draft);
	gs_buf_fini(&fixture->bad);
	secp256k1_context_destroy(fixture->secp);
	(void)pthread_mutex_destroy(&fixture->lock);
	free(fixture);
	return 0;
}

/* A note of that date; valid until the next one. */
static struct gs_str
make_line(struct fixture *fixture, int64_t created_at)
{
	char id[DRAFT_HEX];

	draft_begin(&fixture->draft, 1, created_at);
	gs_buf_add_str(&fixture->draft.content, "some text to have a few bytes in it");
	draft_sign(&fixture->draft, &fixture->signer, id);
	return (struct gs_str){ fixture->draft.line.data, fixture->draft.line.len };
}

static struct gs_ingest *
begin(struct fixture *fixture)
{
	struct gs_err err;
	struct gs_ingest *ingest = gs_ingest_new(fixture->store, &fixture->options, &err);

	assert_non_null(ingest);
	return ingest;
}

static struct gs_tally
finish(struct gs_ingest *ingest)
{
	struct gs_tally tally = { .read = 0 };
	struct gs_err err = { .code = GS_OK };

	if (!gs_ingest_finish(ingest, &tally, &err))
		fail_msg("%s", err.text);
	gs_ingest_free(ingest);
	return tally;
}

static void
push_many(struct fixture *fixture, struct gs_ingest *ingest, int64_t num)
{
	for (int64_t i = 0; i < num; i++)
		assert_true(gs_ingest_push(ingest, make_line(fixture, i + 1),
		    (uint64_t)i + 1));
}

static bool
count_row(const struct gs_row *row, void *arg)
{
	int64_t *last = arg;

	assert_int_equal(row->created_at, *last + 1);
	*last = row->created_at;
	return true;
}

/* How many stand; they must be dated 1, 2, 3 and so on. */
static int64_t
count_stored(struct fixture *fixture)
{
	struct gs_walk walk = { .since = -1, .until = -1, .now_s = NOW };
	struct gs_err err;
	int64_t last = 0;

	assert_true(gs_store_walk(fixture->store, &walk, count_row, &last, &err));
	return last;
}

static void
lines_are_stored_and_known_again(void **state)
{
	struct fixture *fixture = *state;
	struct gs_ingest *ingest = begin(fixture);
	struct gs_tally tally;

	push_many(fixture, ingest, NUM_LINES);
	assert_true(gs_ingest_push(ingest, make_line(fixture, 1), NUM_LINES + 1));
	tally = finish(ingest);
	assert_int_equal(tally.read, NUM_LINES + 1);
	assert_int_equal(tally.stored, NUM_LINES);
	assert_int_equal(tally.duplicate, 1);
	assert_int_equal(count_stored(fixture), NUM_LINES);
	assert_int_equal(get_committed(fixture), NUM_LINES + 1);
	assert_true(fixture->num_commits > 1);

	ingest = begin(fixture);
	push_many(fixture, ingest, NUM_LINES);
	tally = finish(ingest);
	assert_int_equal(tally.duplicate, NUM_LINES);
	assert_int_equal(tally.stored, 0);
	assert_int_equal(fixture->bad.len, 0);
}

/* An event that is there already is not verified again. */
static void
a_known_id_settles_the_line(void **state)
{
	struct fixture *fixture = *state;
	struct gs_ingest *ingest = begin(fixture);
	struct gs_tally tally;
	struct gs_str line = make_line(fixture, 1);
	char *broken;

	assert_true(gs_ingest_push(ingest, line, 1));
	tally = finish(ingest);
	assert_int_equal(tally.stored, 1);
	broken = gs_mem_dup(line.ptr, line.len);
	broken[line.len - 3] = broken[line.len - 3] == '0' ? '1' : '0';
	ingest = begin(fixture);
	assert_true(gs_ingest_push(ingest, (struct gs_str){ broken, line.len }, 1));
	tally = finish(ingest);
	assert_int_equal(tally.duplicate, 1);
	free(broken);
}

static void
bad_lines_are_told_in_order(void **state)
{
	struct fixture *fixture = *state;
	struct gs_ingest *ingest = begin(fixture);
	char *huge = gs_mem_new(GS_INGEST_LINE_BYTES + 1);
	struct gs_buf text = GS_BUF_INIT;
	struct gs_str line = make_line(fixture, 1);
	struct gs_tally tally;

	assert_true(gs_ingest_push(ingest, GS_STR("{\"id\":1}"), 2));
	gs_buf_add(&text, line.ptr, line.len);
	text.data[8] = text.data[8] == '0' ? '1' : '0';
	assert_true(gs_ingest_push(ingest, (struct gs_str){ text.data, text.len }, 3));
	gs_buf_clear(&text);
	gs_buf_add(&text, line.ptr, line.len);
	text.data[line.len - 3] = text.data[line.len - 3] == '0' ? '1' : '0';
	assert_true(gs_ingest_push(ingest, (struct gs_str){ text.data, text.len }, 5));
	assert_true(gs_ingest_push(ingest,
	    (struct gs_str){ huge, GS_INGEST_LINE_BYTES + 1 }, 7));
	gs_buf_clear(&text);
	gs_buf_printf(&text, " [\"EVENT\", \"s\", %.*s]\r", (int)line.len, line.ptr);
	assert_true(gs_ingest_push(ingest, (struct gs_str){ text.data, text.len }, 8));
	tally = finish(ingest);
	assert_string_equal(fixture->bad.data, "2:shape 3:id 5:sig 7:size ");
	assert_int_equal(tally.read, 5);
	assert_int_equal(tally.stored, 1);
	for (int fault = GS_EVENT_SHAPE; fault <= GS_EVENT_SIG; fault++)
		assert_int_equal(tally.invalid[fault], 1);
	gs_buf_fini(&text);
	free(huge);
}

static void
a_full_map_grows_and_nothing_is_told_twice(void **state)
{
	struct fixture *fixture = *state;
	struct gs_ingest *ingest;
	struct gs_tally tally;

	open_store(fixture, SMALL_MAP);
	ingest = begin(fixture);
	assert_true(gs_ingest_push(ingest, GS_STR("bad"), 0));
	push_many(fixture, ingest, NUM_LINES);
	tally = finish(ingest);
	assert_int_equal(tally.read, NUM_LINES + 1);
	assert_int_equal(tally.stored, NUM_LINES);
	assert_int_equal(tally.invalid[GS_EVENT_SHAPE], 1);
	assert_string_equal(fixture->bad.data, "0:shape ");
	assert_int_equal(count_stored(fixture), NUM_LINES);
}

static void
wait_for_commit(struct fixture *fixture, uint64_t lines)
{
	for (int i = 0; get_committed(fixture) < lines; i++) {
		assert_true(i < MAX_WAITS);
		(void)usleep(WAIT_US);
	}
}

static void
a_flush_commits_what_was_pushed(void **state)
{
	struct fixture *fixture = *state;
	struct gs_ingest *ingest = begin(fixture);
	struct gs_tally tally;

	push_many(fixture, ingest, 3);
	gs_ingest_flush(ingest);
	gs_ingest_flush(ingest);
	wait_for_commit(fixture, 3);
	assert_int_equal(count_stored(fixture), 3);
	tally = finish(ingest);
	assert_int_equal(tally.stored, 3);
	assert_int_equal(fixture->num_commits, 1);
}

static void
an_idle_ingest_commits_by_itself(void **state)
{
	struct fixture *fixture = *state;
	struct gs_ingest *ingest;
	struct gs_tally tally;

	fixture->options.commit_when_idle = true;
	ingest = begin(fixture);
	push_many(fixture, ingest, 3);
	wait_for_commit(fixture, 3);
	assert_int_equal(count_stored(fixture), 3);
	tally = finish(ingest);
	assert_int_equal(tally.stored, 3);
}

static void
what_is_not_finished_is_given_up(void **state)
{
	struct fixture *fixture = *state;
	struct gs_ingest *ingest = begin(fixture);

	push_many(fixture, ingest, 10);
	gs_ingest_free(ingest);
	assert_int_equal(count_stored(fixture), 0);
	gs_ingest_free(NULL);
}

static void
write_pipe(int fd, const char *text, size_t len)
{
	assert_int_equal(write(fd, text, len), len);
}

static void
a_stream_is_fed_line_by_line(void **state)
{
	struct fixture *fixture = *state;
	struct gs_ingest *ingest = begin(fixture);
	struct gs_tally tally;
	struct gs_str line;
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	write_pipe(fds[1], "\n \t\r\nnothing\r\n", 14);
	line = make_line(fixture, 1);
	write_pipe(fds[1], line.ptr, line.len);
	write_pipe(fds[1], "\r\n", 2);
	line = make_line(fixture, 2);
	write_pipe(fds[1], line.ptr, line.len);
	(void)close(fds[1]);
	assert_int_equal(gs_ingest_feed(ingest, fds[0], -1, NULL), GS_FEED_END);
	tally = finish(ingest);
	assert_int_equal(tally.read, 3);
	assert_int_equal(tally.stored, 2);
	assert_string_equal(fixture->bad.data, "3:shape ");
	(void)close(fds[0]);
}

struct stream {
	struct fixture *fixture;
	int fd, stop_fd;
};

/* Writes a line, waits until it is committed, then asks for the end. */
static void *
run_stream(void *arg)
{
	struct stream *stream = arg;
	struct gs_str line = make_line(stream->fixture, 1);

	write_pipe(stream->fd, line.ptr, line.len);
	write_pipe(stream->fd, "\n", 1);
	wait_for_commit(stream->fixture, 1);
	write_pipe(stream->stop_fd, "x", 1);
	return NULL;
}

static void
a_pause_commits_and_a_stop_ends(void **state)
{
	struct fixture *fixture = *state;
	struct gs_ingest *ingest = begin(fixture);
	int fds[2], stop_fds[2];
	struct stream stream;
	struct gs_tally tally;
	pthread_t thread;

	assert_int_equal(pipe(fds), 0);
	assert_int_equal(pipe(stop_fds), 0);
	stream = (struct stream){ fixture, fds[1], stop_fds[1] };
	assert_int_equal(pthread_create(&thread, NULL, run_stream, &stream), 0);
	assert_int_equal(gs_ingest_feed(ingest, fds[0], stop_fds[0], NULL),
	    GS_FEED_STOPPED);
	(void)pthread_join(thread, NULL);
	tally = finish(ingest);
	assert_int_equal(tally.stored, 1);
	for (int i = 0; i < 2; i++) {
		(void)close(fds[i]);
		(void)close(stop_fds[i]);
	}
}

static void
a_stream_that_cannot_be_read_is_told(void **state)
{
	struct fixture *fixture = *state;
	struct gs_ingest *ingest = begin(fixture);
	struct gs_err err = { .code = GS_OK };
	struct gs_tally tally;
	int fd = open(".", O_RDONLY); /* read(2) refuses a folder */

	assert_true(fd >= 0);
	assert_int_equal(gs_ingest_feed(ingest, fd, -1, &err), GS_FEED_FAILED);
	(void)close(fd);
	assert_int_equal(err.code, GS_EIO);
	tally = finish(ingest);
	assert_int_equal(tally.read, 0);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(lines_are_stored_and_known_again),
		TEST(a_known_id_settles_the_line),
		TEST(bad_lines_are_told_in_order),
		TEST(a_full_map_grows_and_nothing_is_told_twice),
		TEST(a_flush_commits_what_was_pushed),
		TEST(an_idle_ingest_commits_by_itself),
		TEST(what_is_not_finished_is_given_up),
		TEST(a_stream_is_fed_line_by_line),
		TEST(a_pause_commits_and_a_stop_ends),
		TEST(a_stream_that_cannot_be_read_is_told),
	};

	return cmocka_run_group_tests_name("ingest", tests, NULL, NULL);
}
