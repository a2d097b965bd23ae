/* The loop: signals, timers, and other threads that wake it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs those before it */
#include <cmocka.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "clock.h"
#include "loop.h"
#include "post.h"

#define PATIENCE_MS 10000
#define THREADS 4
#define WAKES 10000

struct world {
	struct gs_loop *loop;
	struct gs_timer *patience;
	int signals[NSIG]; /* how often each came */
	int wanted;	   /* signals; then the loop stops */
	struct gs_post *post;
	atomic_int done; /* threads that have woken it for the last time */
	int calls, seen;
};

static void
take_signal(int number, void *arg)
{
	struct world *world = arg;

	world->signals[number]++;
	if (--world->wanted == 0)
		gs_loop_stop(world->loop);
}

static void
stop_loop(void *arg)
{
	struct world *world = arg;

	gs_loop_stop(world->loop);
}

static void
open_world(struct world *world, bool more_signals)
{
	const struct gs_loop_ops ops = {
		.signalled = take_signal, .arg = world, .more_signals = more_signals
	};
	struct gs_err err;

	memset(world, 0, sizeof(*world));
	world->loop = gs_loop_new(&ops, NULL, &err);
	assert_non_null(world->loop);
	world->patience = gs_timer_new(world->loop, stop_loop, world);
	gs_timer_set(world->patience, PATIENCE_MS);
}

static void
close_world(struct world *world)
{
	gs_post_free(world->post);
	gs_timer_free(world->patience);
	gs_loop_free(world->loop);
}

/* First of all: what is blocked stays so. */
static void
test_other_signals_are_left_alone(void **state)
{
	struct world world;
	sigset_t blocked;

	(void)state;
	open_world(&world, false);
	assert_int_equal(pthread_sigmask(SIG_BLOCK, NULL, &blocked), 0);
	assert_true(sigismember(&blocked, SIGTERM) && sigismember(&blocked, SIGINT));
	assert_false(sigismember(&blocked, SIGHUP) || sigismember(&blocked, SIGUSR1));
	world.wanted = 2;
	(void)kill(getpid(), SIGTERM);
	(void)kill(getpid(), SIGINT);
	gs_loop_run(world.loop);
	assert_int_equal(world.signals[SIGTERM], 1);
	assert_int_equal(world.signals[SIGINT], 1);
	close_world(&world);
}

static void
test_signals_of_a_daemon(void **state)
{
	static const int numbers[] = { SIGHUP, SIGUSR1, SIGTERM, SIGINT };
	struct world world;

	(void)state;
	open_world(&world, true);
	world.wanted = 4;
	for (int i = 0; i < 4; i++)
		(void)kill(getpid(), numbers[i]);
	gs_loop_run(world.loop);
	for (int i = 0; i < 4; i++)
		assert_int_equal(world.signals[numbers[i]], 1);
	close_world(&world);
}

static void *
wake_often(void *arg)
{
	struct world *world = arg;

	for (int i = 1; i < WAKES; i++)
		gs_post_wake(world->post);
	(void)atomic_fetch_add(&world->done, 1);
	gs_post_wake(world->post);
	return NULL;
}

/* What a thread did before it woke the loop is seen by a later call. */
static void
take_post(void *arg)
{
	struct world *world = arg;

	world->calls++;
	world->seen = atomic_load(&world->done);
	if (world->seen == THREADS)
		gs_loop_stop(world->loop);
}

static void
test_threads_wake_it(void **state)
{
	pthread_t threads[THREADS];
	struct world world;
	struct gs_err err;

	(void)state;
	open_world(&world, false);
	world.post = gs_post_new(world.loop, take_post, &world, &err);
	assert_non_null(world.post);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, wake_often, &world),
		    0);
	gs_loop_run(world.loop);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(world.seen, THREADS);
	assert_in_range(world.calls, 1, THREADS * WAKES);
	close_world(&world);
}

static void
take_one_post(void *arg)
{
	struct world *world = arg;

	world->calls++;
	gs_timer_set(world->patience, 1);
}

static void
test_wakes_become_one(void **state)
{
	struct world world;
	struct gs_err err;

	(void)state;
	open_world(&world, false);
	world.post = gs_post_new(world.loop, take_one_post, &world, &err);
	assert_non_null(world.post);
	for (int i = 0; i < WAKES; i++)
		gs_post_wake(world.post);
	gs_loop_run(world.loop);
	assert_int_equal(world.calls, 1);
	close_world(&world);
}

static void
test_stopped_before_it_runs(void **state)
{
	struct world world;

	(void)state;
	open_world(&world, false);
	gs_loop_stop(world.loop);
	gs_loop_run(world.loop);
	close_world(&world);
}

static void
test_timer_is_moved(void **state)
{
	struct world world;
	int64_t began_ms = gs_clock_now().mono_ms;

	(void)state;
	open_world(&world, false);
	gs_timer_set(world.patience, 0);
	gs_timer_set(world.patience, 50);
	gs_loop_run(world.loop);
	assert_in_range(gs_clock_now().mono_ms - began_ms, 50, PATIENCE_MS - 1);
	close_world(&world);
}

static void
test_files(void **state)
{
	struct rlimit before, low, after;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	low = before;
	low.rlim_cur = 64;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	gs_loop_raise_files();
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &after), 0);
	assert_int_equal(after.rlim_max, before.rlim_max);
	assert_int_equal(after.rlim_cur,
	    before.rlim_max < GS_LOOP_FILES ? before.rlim_max : GS_LOOP_FILES);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_other_signals_are_left_alone),
		cmocka_unit_test(test_signals_of_a_daemon),
		cmocka_unit_test(test_threads_wake_it),
		cmocka_unit_test(test_wakes_become_one),
		cmocka_unit_test(test_stopped_before_it_runs),
		cmocka_unit_test(test_timer_is_moved),
		cmocka_unit_test(test_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
