/* A link: which addresses it tries, what it hears first, how it ends and goes on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs those before it */
#include <cmocka.h>
#include <netdb.h>
#include <string.h>

#include "link.h"
#include "unit/greeter.h"

#define PATIENCE_MS 10000
#define PAUSE_MS 60

struct world {
	struct greeter relay;
	struct gs_loop *loop;
	struct gs_resolver *resolver;
	struct gs_timer *patience, *timer;
	struct gs_link *link;
	struct gs_url url;
	struct gs_buf log;    /* what was heard, a letter each */
	const char *found[3]; /* addresses of the name */
	const char *not_this; /* may not be connected to; "" none of them */
	int rounds;	      /* connections, one after the other */
	bool wants_frame;     /* one a connection */
	bool is_within;	      /* a call of ours */
	bool frees_in_opened, closes_on_message;
	struct gs_link_end end; /* the last one */
};

static int
look_up(const char *host, struct gs_found *found, size_t max, size_t *num, void *arg)
{
	const struct world *world = arg;

	(void)host;
	for (*num = 0; *num < max && world->found[*num] != NULL; (*num)++) {
		found[*num] = (struct gs_found){ .family = AF_INET };
		(void)inet_pton(AF_INET, world->found[*num], found[*num].bytes);
	}
	return *num == 0 ? EAI_NONAME : 0;
}

static void
dial(struct world *world)
{
	world->is_within = true;
	gs_link_dial(world->link, false);
	world->is_within = false;
}

static void
hang_up(struct world *world)
{
	world->is_within = true;
	gs_link_close(world->link);
	world->is_within = false;
}

static bool
may_connect(const char *address, void *arg)
{
	struct world *world = arg;

	gs_buf_add_char(&world->log, '?');
	return world->not_this == NULL ||
	    (world->not_this[0] != '\0' && strcmp(world->not_this, address) != 0);
}

static void
take_opened(void *arg)
{
	struct world *world = arg;

	gs_buf_add_char(&world->log, 'o');
	assert_true(gs_link_is_open(world->link));
	if (!world->frees_in_opened) {
		gs_link_want_write(world->link);
		return;
	}
	gs_link_free(world->link);
	world->link = NULL;
	gs_loop_stop(world->loop);
}

static void
take_document(struct gs_str document, void *arg)
{
	struct world *world = arg;

	gs_buf_add_char(&world->log, 'd');
	assert_true(gs_str_is(document, GREETER_DOCUMENT));
	if (world->timer != NULL)
		gs_timer_set(world->timer, PAUSE_MS);
}

static void
take_message(const char *text, size_t len, void *arg)
{
	struct world *world = arg;

	assert_true(gs_str_is((struct gs_str){ text, len }, GREETER_TEXT));
	gs_buf_add_char(&world->log, 'm');
	if (world->closes_on_message && !world->wants_frame)
		hang_up(world);
}

static void
take_pong(void *arg)
{
	(void)arg;
}

static bool
give_frame(struct gs_buf *frame, void *arg)
{
	struct world *world = arg;

	if (!world->wants_frame)
		return false;
	world->wants_frame = false;
	gs_buf_add_char(&world->log, 'f');
	gs_buf_add_str(frame, "[]");
	return true;
}

static void
take_ended(const struct gs_link_end *end, void *arg)
{
	struct world *world = arg;

	assert_false(world->is_within);
	assert_false(gs_link_is_open(world->link));
	gs_buf_add_char(&world->log, 'e');
	world->end = *end;
	world->wants_frame = true;
	if (--world->rounds > 0)
		dial(world);
	else
		gs_loop_stop(world->loop);
}

static void
ignore_signal(int number, void *arg)
{
	(void)number;
	(void)arg;
}

static void
lose_patience(void *arg)
{
	struct world *world = arg;

	gs_buf_add_char(&world->log, '!');
	gs_loop_stop(world->loop);
}

static void
make_link(struct world *world, const char *text, struct gs_resolver *resolver)
{
	const struct gs_link_options options = {
		.url = &world->url, .resolver = resolver, .allow_private = true
	};
	const struct gs_link_ops ops = { may_connect, take_opened, take_document,
		take_message, take_pong, give_frame, take_ended, world };

	assert_true(gs_url_parse_relay(&world->url, gs_str_of(text), true, NULL));
	world->url.port = world->relay.port;
	world->link = gs_link_new(world->loop, &options, &ops);
}

static void
open_world(struct world *world, const char *first, const char *second)
{
	const struct gs_loop_ops ops = { .signalled = ignore_signal };
	struct gs_err err;

	memset(world, 0, sizeof(*world));
	world->found[0] = first;
	world->found[1] = second;
	world->rounds = 1;
	world->wants_frame = true;
	greeter_start(&world->relay);
	world->loop = gs_loop_new(&ops, NULL, &err);
	assert_non_null(world->loop);
	world->resolver = gs_resolver_new(world->loop, look_up, world, &err);
	assert_non_null(world->resolver);
	world->patience = gs_timer_new(world->loop, lose_patience, world);
	gs_timer_set(world->patience, PATIENCE_MS);
	make_link(world, "ws://a.example", world->resolver);
}

static void
close_world(struct world *world)
{
	gs_link_free(world->link);
	gs_timer_free(world->timer);
	gs_timer_free(world->patience);
	gs_resolver_free(world->resolver);
	gs_loop_free(world->loop);
	greeter_stop(&world->relay);
	gs_buf_fini(&world->log);
}

/* Until all is over; heard: what came to pass. */
static void
run_and_close(struct world *world, const char *heard)
{
	gs_loop_run(world->loop);
	assert_string_equal(world->log.data, heard);
	close_world(world);
}

/* The second connection needs no document: it is good for a day. */
static void
test_document_comes_before_frames(void **state)
{
	struct world world;

	(void)state;
	open_world(&world, "127.0.0.1", NULL);
	world.rounds = 2;
	world.closes_on_message = true;
	dial(&world);
	gs_loop_run(world.loop);
	assert_int_equal(world.end.ws.code, GS_OK);
	assert_true(world.end.ws.was_open);
	assert_string_equal(world.end.ws.name, "closed");
	/* Each greeting may come before or after what we say. */
	assert_non_null(strchr(world.log.data, 'd'));
	assert_ptr_equal(strchr(world.log.data, 'd'), strrchr(world.log.data, 'd'));
	assert_true(strchr(world.log.data, 'd') < strchr(world.log.data, 'f'));
	close_world(&world);
	assert_int_equal(world.relay.documents, 1);
	assert_int_equal(world.relay.frames, 2);
	assert_false(world.relay.is_frame_early);
}

/* One that was cut off with its connection is not missed for a day. */
static void
test_document_is_asked_for_again(void **state)
{
	struct world world;

	(void)state;
	open_world(&world, "127.0.0.1", NULL);
	world.relay.drops_once = true;
	world.rounds = 2;
	world.closes_on_message = true;
	dial(&world);
	gs_loop_run(world.loop);
	assert_null(strchr(world.log.data, '!'));
	assert_true(strchr(world.log.data, 'd') > strchr(world.log.data, 'e'));
	assert_string_equal(world.end.ws.name, "closed");
	close_world(&world);
	assert_int_equal(world.relay.documents, 1);
	assert_false(world.relay.is_frame_early);
}

static void
test_crowded_at_all_addresses(void **state)
{
	struct world world;

	(void)state;
	open_world(&world, "127.0.0.1", "127.0.0.2");
	world.not_this = "";
	world.rounds = 2;
	dial(&world);
	run_and_close(&world, "??e??e");
	assert_string_equal(world.end.ws.name, "crowded");
	assert_false(world.end.ws.was_open);
	assert_false(world.end.ws.is_lasting);
}

static void
test_crowded_at_one_address(void **state)
{
	struct world world;

	(void)state;
	open_world(&world, "127.0.0.2", "127.0.0.1");
	world.not_this = "127.0.0.2";
	world.frees_in_opened = true;
	dial(&world);
	run_and_close(&world, "??o");
}

/* What fails counts, not that another one could not be tried. */
static void
test_refused_and_crowded(void **state)
{
	struct world world;

	(void)state;
	open_world(&world, "127.0.0.2", "127.0.0.1");
	world.not_this = "127.0.0.1";
	dial(&world);
	run_and_close(&world, "??e");
	assert_string_equal(world.end.ws.name, "refused");
}

static void
test_next_address_after_a_refusal(void **state)
{
	struct world world;

	(void)state;
	open_world(&world, "127.0.0.2", "127.0.0.1");
	world.frees_in_opened = true;
	dial(&world);
	run_and_close(&world, "??o");
}

static void
test_unknown_name(void **state)
{
	struct world world;

	(void)state;
	open_world(&world, NULL, NULL);
	dial(&world);
	run_and_close(&world, "e");
	assert_string_equal(world.end.ws.name, "dns");
	assert_string_equal(world.end.text, gai_strerror(EAI_NONAME));
}

static void
test_closed_while_it_dials(void **state)
{
	struct world world;

	(void)state;
	open_world(&world, "127.0.0.1", NULL);
	gs_link_close(world.link); /* nothing to close */
	dial(&world);
	hang_up(&world);
	hang_up(&world);
	run_and_close(&world, "e");
	assert_string_equal(world.end.ws.name, "closed");
	assert_int_equal(world.end.ws.code, GS_OK);
}

/* Without a name to look up, too: the owner is told later. */
static void
test_hopeless_from_the_start(void **state)
{
	struct world world;

	(void)state;
	open_world(&world, NULL, NULL);
	gs_link_free(world.link);
	make_link(&world, "wss://[::1]", NULL);
	world.rounds = 3;
	dial(&world);
	run_and_close(&world, "eee");
	assert_string_equal(world.end.ws.name, "tls-name");
	assert_true(world.end.ws.is_lasting);
}

static void
end_pause(void *arg)
{
	struct world *world = arg;
	int64_t paused_ms = gs_link_take_paused_ms(world->link);

	assert_string_equal(world->log.data, "?od");
	assert_in_range(paused_ms, 1, PATIENCE_MS);
	assert_in_range(gs_link_take_paused_ms(world->link), 0, paused_ms);
	gs_link_resume(world->link);
	assert_int_equal(gs_link_take_paused_ms(world->link), 0);
}

/* It was before the connection: what waits there is read when it ends. */
static void
test_pause(void **state)
{
	struct world world;

	(void)state;
	open_world(&world, "127.0.0.1", NULL);
	world.wants_frame = false;
	world.closes_on_message = true;
	world.timer = gs_timer_new(world.loop, end_pause, &world);
	gs_link_pause(world.link);
	assert_int_equal(gs_link_take_paused_ms(world.link), 0);
	dial(&world);
	run_and_close(&world, "?odme");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_document_comes_before_frames),
		cmocka_unit_test(test_document_is_asked_for_again),
		cmocka_unit_test(test_crowded_at_all_addresses),
		cmocka_unit_test(test_crowded_at_one_address),
		cmocka_unit_test(test_refused_and_crowded),
		cmocka_unit_test(test_next_address_after_a_refusal),
		cmocka_unit_test(test_unknown_name),
		cmocka_unit_test(test_closed_while_it_dials),
		cmocka_unit_test(test_hopeless_from_the_start),
		cmocka_unit_test(test_pause),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
