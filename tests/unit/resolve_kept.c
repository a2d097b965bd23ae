/* A name server that hangs for strangers: who else gets an answer, and when. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs those before it */
#include <cmocka.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>

#include "resolve.h"

#define PATIENCE_MS 10000
#define STRANGERS 10
#define FREE_THREADS (GS_RESOLVE_THREADS - GS_RESOLVE_KEPT) /* for strangers */

struct world {
	struct gs_loop *loop;
	struct gs_resolver *resolver;
	struct gs_timer *timer;
	struct gs_question *strangers[STRANGERS];
	int answers, wanted;
	atomic_int held; /* look-ups that hang, or did */
	/* Of those: one has begun, one may end, one has ended. */
	sem_t begun, may_end, ended;
};

static int
look_up(const char *host, struct gs_found *found, size_t max, size_t *num, void *arg)
{
	static const uint8_t public[] = { 198, 41, 0, 4 };
	struct world *world = arg;

	assert_true(max > 0);
	found[0] = (struct gs_found){ .family = AF_INET };
	memcpy(found[0].bytes, public, sizeof(public));
	*num = 1;
	if (strcmp(host, "hang.example") != 0)
		return 0;
	(void)atomic_fetch_add(&world->held, 1);
	(void)sem_post(&world->begun);
	(void)sem_wait(&world->may_end);
	(void)sem_post(&world->ended);
	return 0;
}

static void
take_answer(const struct gs_resolved *resolved, void *arg)
{
	struct world *world = arg;

	assert_int_equal(resolved->result, GS_RESOLVE_OK);
	if (++world->answers == world->wanted)
		gs_loop_stop(world->loop);
}

static void
lose_patience(void *arg)
{
	struct world *world = arg;

	gs_loop_stop(world->loop);
}

static void
ignore_signal(int number, void *arg)
{
	(void)number;
	(void)arg;
}

static struct gs_question *
ask(struct world *world, const char *text, bool is_kept)
{
	struct gs_url url;

	assert_true(gs_url_parse_relay(&url, gs_str_of(text), false, NULL));
	return gs_resolver_ask(world->resolver, &url, false, is_kept, take_answer, world);
}

static void
repeat(int (*change)(sem_t *sem), sem_t *sem, int times)
{
	for (int i = 0; i < times; i++)
		assert_int_equal(change(sem), 0);
}

/* All threads that strangers may have are held up. */
static void
open_world(struct world *world)
{
	const struct gs_loop_ops ops = { .signalled = ignore_signal };
	struct gs_err err;

	memset(world, 0, sizeof(*world));
	assert_int_equal(sem_init(&world->begun, 0, 0), 0);
	assert_int_equal(sem_init(&world->may_end, 0, 0), 0);
	assert_int_equal(sem_init(&world->ended, 0, 0), 0);
	world->loop = gs_loop_new(&ops, NULL, &err);
	assert_non_null(world->loop);
	world->resolver = gs_resolver_new(world->loop, look_up, world, &err);
	assert_non_null(world->resolver);
	world->timer = gs_timer_new(world->loop, lose_patience, world);
	gs_timer_set(world->timer, PATIENCE_MS);
	for (int i = 0; i < STRANGERS; i++)
		world->strangers[i] = ask(world, "wss://hang.example", false);
	repeat(sem_wait, &world->begun, FREE_THREADS);
}

/* From the middle, the end and the beginning of the line. */
static void
cancel_strangers(struct world *world)
{
	for (int i = 0; i < STRANGERS; i++)
		gs_question_cancel(world->strangers[(i + STRANGERS / 2) % STRANGERS]);
}

static void
let_go(struct world *world)
{
	repeat(sem_post, &world->may_end, FREE_THREADS);
	repeat(sem_wait, &world->ended, FREE_THREADS);
}

static void
close_world(struct world *world)
{
	gs_timer_free(world->timer);
	gs_resolver_free(world->resolver);
	gs_loop_free(world->loop);
	(void)sem_destroy(&world->begun);
	(void)sem_destroy(&world->may_end);
	(void)sem_destroy(&world->ended);
}

static void
test_kept_ones_do_not_wait_for_strangers(void **state)
{
	struct world world;

	(void)state;
	open_world(&world);
	world.wanted = STRANGERS;
	for (int i = 0; i < STRANGERS; i++)
		(void)ask(&world, "wss://a.example", true);
	gs_loop_run(world.loop);
	assert_int_equal(world.answers, STRANGERS);
	assert_int_equal(world.held, FREE_THREADS);
	cancel_strangers(&world);
	let_go(&world);
	close_world(&world);
}

/* Who gives up on a name is not looked up for: others have its place at once. */
static void
test_cancelled_ones_are_not_looked_up(void **state)
{
	struct world world;

	(void)state;
	open_world(&world);
	world.wanted = 2;
	(void)ask(&world, "wss://a.example", false);
	cancel_strangers(&world);
	(void)ask(&world, "wss://b.example", false);
	let_go(&world);
	gs_loop_run(world.loop);
	assert_int_equal(world.answers, 2);
	assert_int_equal(world.held, FREE_THREADS);
	close_world(&world);
}

/* What waits when they are let go is answered, each once. */
static void
test_strangers_have_their_turn(void **state)
{
	struct world world;

	(void)state;
	open_world(&world);
	world.wanted = STRANGERS;
	repeat(sem_post, &world.may_end, STRANGERS);
	gs_loop_run(world.loop);
	repeat(sem_wait, &world.ended, STRANGERS);
	assert_int_equal(world.answers, STRANGERS);
	assert_int_equal(world.held, STRANGERS);
	close_world(&world);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kept_ones_do_not_wait_for_strangers),
		cmocka_unit_test(test_cancelled_ones_are_not_looked_up),
		cmocka_unit_test(test_strangers_have_their_turn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
