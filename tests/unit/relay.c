/* A relay that can't be reached: what is dialled, how often, and what is said of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs those before it */
#include <cmocka.h>
#include <netdb.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "relay.h"

#define BACKOFF_MS 10

struct world {
	struct gs_loop *loop;
	struct gs_resolver *resolver;
	struct gs_relay *relay;
	int lookups;
	int changes;
	const char *const *answers; /* of each look-up, an address; the last one stays */
};

static int
fake_lookup(const char *host, struct gs_found *found, size_t max, size_t *num, void *arg)
{
	struct world *world = arg;
	const char *answer = *world->answers;

	assert_string_equal(host, "a.example");
	assert_true(max > 0);
	world->lookups++;
	if (world->answers[1] != NULL)
		world->answers++;
	if (answer[0] == '\0')
		return EAI_AGAIN;
	found[0] = (struct gs_found){ .family = AF_INET };
	assert_int_equal(inet_pton(AF_INET, answer, found[0].bytes), 1);
	*num = 1;
	return 0;
}

static void
ignore_signal(int number, void *arg)
{
	(void)number;
	(void)arg;
}

static void
refuse_event(const struct gs_event *event, void *arg)
{
	(void)event;
	(void)arg;
	fail();
}

static void
note_change(void *arg)
{
	struct world *world = arg;

	world->changes++;
}

static void
stop_loop(void *arg)
{
	struct world *world = arg;

	gs_loop_stop(world->loop);
}

/* A port of this machine where nobody listens. */
static uint16_t
find_port(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	(void)close(fd);
	return ntohs(at.sin_port);
}

static void
read_once(struct world *world, const char *const *answers, bool allow_private)
{
	const struct gs_loop_ops loop_ops = { .signalled = ignore_signal };
	const struct gs_relay_ops ops = { refuse_event, note_change, stop_loop, world };
	struct gs_relay_options options = { .once = true,
		.allow_private = allow_private,
		.silence_ms = GS_SESSION_SILENCE_MS,
		.max_backoff_ms = BACKOFF_MS };
	struct gs_filter filter = GS_FILTER_INIT;
	struct gs_url url;
	struct gs_err err;

	memset(world, 0, sizeof(*world));
	world->answers = answers;
	world->loop = gs_loop_new(&loop_ops, NULL, &err);
	assert_non_null(world->loop);
	world->resolver = gs_resolver_new(world->loop, fake_lookup, world, &err);
	assert_non_null(world->resolver);
	assert_true(gs_url_parse_relay(&url, GS_STR("ws://a.example"), true, &err));
	url.port = find_port();
	options.url = &url;
	options.resolver = world->resolver;
	world->relay = gs_relay_new(world->loop, &options, &ops);
	assert_true(gs_filter_parse(&filter, "{}", 2, &err));
	gs_session_add(gs_relay_session(world->relay), &filter);
	gs_filter_fini(&filter);
	gs_relay_dial(world->relay);
	gs_loop_run(world->loop);
}

static void
close_world(struct world *world)
{
	gs_relay_free(world->relay);
	gs_resolver_free(world->resolver);
	gs_loop_free(world->loop);
}

static void
test_gives_up_after_three_dials(void **state)
{
	static const char *const answers[] = { "127.0.0.1", NULL };
	struct world world;

	(void)state;
	read_once(&world, answers, true);
	/* Each dial looks the name up again; the state changed once. */
	assert_int_equal(world.lookups, GS_RELAY_DIALS);
	assert_int_equal(world.changes, 1);
	assert_string_equal(gs_relay_fault(world.relay)->name, "refused");
	assert_int_equal(gs_relay_code(world.relay), GS_EUNAVAILABLE);
	assert_int_equal(gs_relay_ended(world.relay), 1);
	assert_int_equal(gs_relay_complete(world.relay), 0);
	close_world(&world);
}

static void
test_private_address_is_not_dialled(void **state)
{
	static const char *const answers[] = { "127.0.0.1", NULL };
	struct world world;

	(void)state;
	read_once(&world, answers, false);
	assert_int_equal(world.lookups, 1);
	assert_string_equal(gs_relay_fault(world.relay)->name, "address");
	assert_int_equal(gs_relay_code(world.relay), GS_EUNAVAILABLE);
	close_world(&world);
}

/* The second look-up says otherwise: that is what counts. */
static void
test_name_that_moves_to_a_private_address(void **state)
{
	static const char *const answers[] = { "", "192.168.0.1", NULL };
	struct world world;

	(void)state;
	read_once(&world, answers, false);
	assert_int_equal(world.lookups, 2);
	assert_int_equal(world.changes, 1);
	assert_string_equal(gs_relay_fault(world.relay)->name, "address");
	close_world(&world);
}

static void
test_names_that_nobody_knows(void **state)
{
	static const char *const answers[] = { "", NULL };
	struct gs_buf text = GS_BUF_INIT;
	struct world world;

	(void)state;
	read_once(&world, answers, true);
	assert_int_equal(world.lookups, GS_RELAY_DIALS);
	assert_string_equal(gs_relay_fault(world.relay)->name, "dns");
	assert_string_equal(gs_relay_fault(world.relay)->text, gai_strerror(EAI_AGAIN));
	gs_relay_write_state(world.relay, &text);
	assert_memory_equal(text.data, "dns: ", 5);
	gs_buf_fini(&text);
	close_world(&world);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gives_up_after_three_dials),
		cmocka_unit_test(test_private_address_is_not_dialled),
		cmocka_unit_test(test_name_that_moves_to_a_private_address),
		cmocka_unit_test(test_names_that_nobody_knows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
