/* Lines out of the loop: nothing blocks, nothing is lost, a reader that left is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs those before it */
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "outlet.h"

#define PATIENCE_MS 10000
#define LINES 20000 /* far more than a pipe holds */

struct world {
	struct gs_loop *loop;
	struct gs_outlet *outlet;
	struct gs_timer *timer;
	struct gs_timer *reader;
	int fds[2];
	size_t got; /* bytes */
	int moved;
};

static void
ignore_signal(int number, void *arg)
{
	(void)number;
	(void)arg;
}

static void
stop_loop(void *arg)
{
	struct world *world = arg;

	gs_loop_stop(world->loop);
}

static void
note_move(void *arg)
{
	struct world *world = arg;

	world->moved++;
	if (gs_outlet_waiting(world->outlet) == 0)
		gs_loop_stop(world->loop);
}

/* Slowly: as much as is there, every millisecond. */
static void
read_pipe(void *arg)
{
	struct world *world = arg;
	char room[8192];
	ssize_t got = read(world->fds[0], room, sizeof(room));

	if (got > 0)
		world->got += (size_t)got;
	gs_timer_set(world->reader, 1);
}

static void
open_world(struct world *world, int fd)
{
	const struct gs_loop_ops ops = { .signalled = ignore_signal };
	struct gs_err err;

	(void)signal(SIGPIPE, SIG_IGN);
	world->moved = 0;
	world->got = 0;
	world->loop = gs_loop_new(&ops, NULL, &err);
	assert_non_null(world->loop);
	world->outlet = gs_outlet_new(world->loop, fd, note_move, world);
	world->timer = gs_timer_new(world->loop, stop_loop, world);
	world->reader = gs_timer_new(world->loop, read_pipe, world);
	gs_timer_set(world->timer, PATIENCE_MS);
}

static void
close_world(struct world *world)
{
	gs_outlet_free(world->outlet);
	gs_timer_free(world->timer);
	gs_timer_free(world->reader);
	gs_loop_free(world->loop);
}

static void
test_pipe_that_is_read_later(void **state)
{
	struct world world;
	size_t len = strlen("a line of text") + 1;

	(void)state;
	assert_int_equal(pipe2(world.fds, O_CLOEXEC), 0);
	open_world(&world, world.fds[1]);
	/* Nobody reads: it returns nevertheless. */
	for (int i = 0; i < LINES; i++)
		assert_true(gs_outlet_line(world.outlet, "a line of text", len - 1));
	assert_true(gs_outlet_flush(world.outlet));
	assert_true(gs_outlet_waiting(world.outlet) > 0);
	(void)fcntl(world.fds[0], F_SETFL, O_NONBLOCK);
	gs_timer_set(world.reader, 1);
	gs_loop_run(world.loop);
	assert_int_equal(gs_outlet_waiting(world.outlet), 0);
	assert_true(world.moved > 1);
	read_pipe(&world);
	while (world.got < LINES * len) {
		size_t before = world.got;

		read_pipe(&world);
		assert_true(world.got > before);
	}
	assert_int_equal(world.got, LINES * len);
	/* The pipe is as it was given to us. */
	assert_int_equal(fcntl(world.fds[1], F_GETFL) & O_NONBLOCK, 0);
	close_world(&world);
	(void)close(world.fds[0]);
	(void)close(world.fds[1]);
}

static void
test_reader_that_left(void **state)
{
	struct world world;

	(void)state;
	assert_int_equal(pipe2(world.fds, O_CLOEXEC), 0);
	open_world(&world, world.fds[1]);
	(void)close(world.fds[0]);
	/* Noticed without a write. */
	gs_loop_run(world.loop);
	assert_int_equal(world.moved, 1);
	assert_int_equal(gs_outlet_error(world.outlet), EPIPE);
	assert_false(gs_outlet_line(world.outlet, "x", 1));
	assert_false(gs_outlet_flush(world.outlet));
	close_world(&world);
	(void)close(world.fds[1]);
}

static void
test_file_and_full_disk(void **state)
{
	FILE *file = tmpfile();
	int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
	struct world world;

	(void)state;
	assert_non_null(file);
	open_world(&world, fileno(file));
	assert_true(gs_outlet_line(world.outlet, "x", 1));
	assert_int_equal(gs_outlet_waiting(world.outlet), 2);
	assert_true(gs_outlet_flush(world.outlet));
	assert_int_equal(gs_outlet_waiting(world.outlet), 0);
	assert_int_equal(lseek(fileno(file), 0, SEEK_CUR), 2);
	close_world(&world);
	(void)fclose(file);
	assert_true(full >= 0);
	open_world(&world, full);
	assert_true(gs_outlet_line(world.outlet, "x", 1));
	assert_false(gs_outlet_flush(world.outlet));
	assert_int_equal(gs_outlet_error(world.outlet), ENOSPC);
	close_world(&world);
	(void)close(full);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pipe_that_is_read_later),
		cmocka_unit_test(test_reader_that_left),
		cmocka_unit_test(test_file_and_full_disk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
