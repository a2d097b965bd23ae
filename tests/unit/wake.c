/* wake: a commit of another handle wakes, other files and reading do not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>
#include <poll.h>
#include <sys/wait.h>

#include "made.h"
#include "store.h"
#include "wake.h"

struct fixture {
	char dir[32];
	struct gs_wake *wake;
};

/* LMDB is opened once a process: each look or change of the store is a process. */
static void
in_child(const struct fixture *fixture, bool writes)
{
	struct gs_store_options options = { .create = writes, .read_only = !writes };
	struct gs_event event = GS_EVENT_INIT;
	struct gs_put put = { .now_s = 1000 };
	enum gs_known known;
	struct gs_err err;
	struct gs_txn *txn;
	struct gs_store *store = gs_store_open(fixture->dir, &options, &err);

	if (store == NULL)
		_exit(1);
	txn = writes ? gs_store_write(store, &err) : gs_store_read(store, &err);
	if (txn == NULL)
		_exit(2);
	if (writes) {
		make_event(&event, 1, 7, getpid(), "[]"); /* another one each time */
		if (!gs_store_put(txn, &event, &put, &known, &err) ||
		    !gs_txn_commit(txn, &err))
			_exit(3);
	} else if (gs_store_last_sequence(txn) != 1)
		_exit(4);
	_exit(0);
}

static void
use_store(const struct fixture *fixture, bool writes)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		in_child(fixture, writes);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static int
set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	struct gs_err err;

	assert_non_null(fixture);
	(void)snprintf(fixture->dir, sizeof(fixture->dir), "/tmp/gs-wake.XXXXXX");
	assert_non_null(mkdtemp(fixture->dir));
	fixture->wake = gs_wake_open(fixture->dir, &err);
	assert_non_null(fixture->wake);
	*state = fixture;
	return 0;
}

static const char *
path_of(const struct fixture *fixture, const char *name)
{
	static char path[64];

	(void)snprintf(path, sizeof(path), "%s/%s", fixture->dir, name);
	return path;
}

static int
tear_down(void **state)
{
	struct fixture *fixture = *state;

	gs_wake_close(fixture->wake);
	(void)unlink(path_of(fixture, "data.mdb"));
	(void)unlink(path_of(fixture, "lock.mdb"));
	(void)unlink(path_of(fixture, "other"));
	(void)rmdir(fixture->dir);
	free(fixture);
	return 0;
}

static bool
is_ready(const struct fixture *fixture)
{
	struct pollfd pfd = { .fd = gs_wake_fd(fixture->wake), .events = POLLIN };

	return poll(&pfd, 1, 0) == 1;
}

static void
a_commit_wakes(void **state)
{
	struct fixture *fixture = *state;

	use_store(fixture, true);
	(void)gs_wake_read(fixture->wake); /* the file came to be */
	assert_false(is_ready(fixture));
	assert_int_equal(gs_wake_read(fixture->wake), GS_WAKE_NOTHING);
	use_store(fixture, false);
	assert_int_equal(gs_wake_read(fixture->wake), GS_WAKE_NOTHING);
	use_store(fixture, true);
	assert_true(is_ready(fixture));
	assert_int_equal(gs_wake_read(fixture->wake), GS_WAKE_WRITTEN);
}

static void
another_file_does_not_matter(void **state)
{
	struct fixture *fixture = *state;
	FILE *other = fopen(path_of(fixture, "other"), "w");

	assert_non_null(other);
	(void)fputs("x", other);
	(void)fclose(other);
	assert_int_equal(gs_wake_read(fixture->wake), GS_WAKE_NOTHING);
}

static void
a_store_that_is_taken_away_is_gone(void **state)
{
	struct fixture *fixture = *state;

	use_store(fixture, true);
	(void)gs_wake_read(fixture->wake);
	assert_int_equal(unlink(path_of(fixture, "data.mdb")), 0);
	assert_int_equal(gs_wake_read(fixture->wake), GS_WAKE_GONE);
}

static void
a_folder_that_is_not_there(void **state)
{
	struct gs_err err;

	(void)state;
	assert_null(gs_wake_open("/tmp/gs-wake-none/none", &err));
	assert_int_equal(err.code, GS_EIO);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_commit_wakes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(another_file_does_not_matter, set_up,
		    tear_down),
		cmocka_unit_test_setup_teardown(a_store_that_is_taken_away_is_gone,
		    set_up, tear_down),
		cmocka_unit_test(a_folder_that_is_not_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
