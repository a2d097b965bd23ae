/* ingest: records behind the lines, and a disk that is full for a while. */
#include "made_ingest.h"

#include <signal.h>
#include <sys/resource.h>

#define META_BYTES 8192 /* of an LMDB file: what a full disk may still overwrite */

/* --- records --- */

static void
record_pair(struct fixture *fixture, const char *ref, uint64_t sequence)
{
	struct gs_record record = { .kind = GS_RECORD_PAIR,
		.url = GS_STR(A),
		.ref = gs_str_of(ref),
		.sequence = sequence };

	gs_ingest_record(fixture->ingest, &record);
}

static bool
show_pair(struct gs_str ref, uint64_t sequence, void *arg)
{
	gs_buf_printf(arg, "%.*s=%llu ", (int)ref.len, ref.ptr,
	    (unsigned long long)sequence);
	return true;
}

static char *
show_pairs(struct fixture *fixture)
{
	struct gs_buf text = GS_BUF_INIT;
	struct gs_txn *txn = gs_store_read(fixture->store, NULL);

	assert_non_null(txn);
	assert_true(gs_progress_pairs(txn, GS_STR(A), show_pair, &text, NULL));
	gs_txn_end(txn);
	return text.data != NULL ? gs_buf_take(&text) : gs_mem_str("");
}

static void
assert_pairs(struct fixture *fixture, const char *expected)
{
	char *text = show_pairs(fixture);

	assert_string_equal(text, expected);
	free(text);
}

static bool
see_relay(const struct gs_progress_relay *relay, void *arg)
{
	gs_buf_printf(arg, "%.*s %zu", (int)relay->url.len, relay->url.ptr,
	    relay->num_refused);
	return true;
}

static void
records_are_copied_and_stand_behind_their_lines(void **state)
{
	struct fixture *fixture = *state;
	struct gs_progress_refused refused[2] = { { .failures = 1 }, { .failures = 2 } };
	char url[] = A;
	struct gs_progress_relay relay = {
		.url = gs_str_of(url), .refused = refused, .num_refused = 2
	};
	struct gs_record record = { .kind = GS_RECORD_RELAY, .relay = &relay };
	struct gs_buf seen = GS_BUF_INIT;
	struct gs_txn *txn;
	uint64_t faults;
	size_t damaged;

	begin(fixture);
	take(fixture, make_line(fixture, 1, 0), A, 1);
	record_pair(fixture, "x", 1);
	take(fixture, make_line(fixture, 2, 0), A, 1);
	record_pair(fixture, "x", 2);
	gs_ingest_record(fixture->ingest, &record);
	memset(url, 0, sizeof(url));
	memset(refused, 0, sizeof(refused));
	(void)finish(fixture);
	assert_pairs(fixture, "x=2 ");
	txn = gs_store_read(fixture->store, NULL);
	assert_non_null(txn);
	assert_true(gs_progress_relays(txn, see_relay, &seen, &damaged, NULL));
	gs_txn_end(txn);
	assert_string_equal(seen.data, A " 2");
	assert_true(gs_store_check(fixture->store, NULL, NULL, &faults, NULL));
	assert_int_equal(faults, 0);
	gs_buf_fini(&seen);
}

static void
records_alone_are_committed_by_themselves(void **state)
{
	struct fixture *fixture = *state;
	char *text = NULL;

	fixture->options.commit_when_idle = true;
	begin(fixture);
	for (uint64_t i = 0; i < 1000; i++)
		record_pair(fixture, "x", 1);
	for (int i = 0; text == NULL || *text == '\0'; i++) {
		assert_true(i < MAX_WAITS);
		(void)usleep(WAIT_US);
		free(text);
		text = show_pairs(fixture);
	}
	assert_string_equal(text, "x=1 ");
	free(text);
	(void)finish(fixture);
}

/* --- a full disk --- */

static void
limit_files(rlim_t bytes)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void
fill_disk(struct fixture *fixture)
{
	fixture->options.commit_when_idle = true;
	fixture->options.persists = true;
	begin(fixture);
	limit_files(META_BYTES);
	take(fixture, make_line(fixture, 1, 0), A, 1);
	record_pair(fixture, "x", 1);
	wait_for(fixture, &fixture->num_troubled);
	assert_int_equal(fixture->trouble, GS_EIO);
	assert_int_equal(count_stored(fixture), 0);
}

static void
a_full_disk_loses_nothing(void **state)
{
	struct fixture *fixture = *state;
	uint64_t num = 1;
	struct gs_tally tally;

	fixture->options.retry_ms = 5;
	fill_disk(fixture);
	while (try(fixture, make_line(fixture, (int64_t)num + 1, LONG_CONTENT), A, 1) ==
	    GS_INGEST_TAKEN)
		num++;
	num++; /* what filled it was taken, too */
	assert_int_equal(count_stored(fixture), 0);
	assert_int_equal(look(fixture, &fixture->num_over), 0);
	limit_files(RLIM_INFINITY);
	wait_for(fixture, &fixture->num_over);
	wait_for(fixture, &fixture->num_rooms);
	tally = finish(fixture);
	assert_int_equal(tally.stored, num);
	assert_int_equal(tally.read, num);
	assert_int_equal(count_stored(fixture), num);
	assert_pairs(fixture, "x=1 ");
	assert_int_equal(fixture->num_troubled, 1);
	assert_int_equal(fixture->num_over, 1);
}

static void
a_disk_that_stays_full_is_told_at_the_end(void **state)
{
	struct fixture *fixture = *state;
	struct gs_tally tally = { .read = 0 };
	struct gs_err err = { .code = GS_OK };

	fixture->options.retry_ms = 3600 * 1000;
	fill_disk(fixture);
	assert_false(gs_ingest_finish(fixture->ingest, &tally, &err));
	limit_files(RLIM_INFINITY);
	assert_int_equal(err.code, GS_EIO);
	assert_int_equal(tally.stored, 0);
	assert_int_equal(fixture->num_over, 0);
	assert_int_equal(try(fixture, GS_STR("x"), A, 1), GS_INGEST_FAILED);
}

static void
a_disk_that_has_room_at_the_end_takes_all(void **state)
{
	struct fixture *fixture = *state;

	fixture->options.retry_ms = 3600 * 1000;
	fill_disk(fixture);
	limit_files(RLIM_INFINITY);
	assert_int_equal(finish(fixture).stored, 1);
	assert_int_equal(fixture->num_over, 1);
	assert_pairs(fixture, "x=1 ");
}

static void
what_cannot_be_written_is_given_up_at_once(void **state)
{
	struct fixture *fixture = *state;

	fixture->options.retry_ms = 3600 * 1000;
	fill_disk(fixture);
	gs_ingest_free(fixture->ingest);
	fixture->ingest = NULL;
	limit_files(RLIM_INFINITY);
	assert_int_equal(count_stored(fixture), 0);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(records_are_copied_and_stand_behind_their_lines),
		TEST(records_alone_are_committed_by_themselves),
		TEST(a_full_disk_loses_nothing),
		TEST(a_disk_that_stays_full_is_told_at_the_end),
		TEST(a_disk_that_has_room_at_the_end_takes_all),
		TEST(what_cannot_be_written_is_given_up_at_once),
	};

	(void)signal(SIGXFSZ, SIG_IGN);
	return cmocka_run_group_tests_name("ingest_persist", tests, NULL, NULL);
}
