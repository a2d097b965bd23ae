/* Names to addresses: what is dialled of what was found; threads beside the loop. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs those before it */
#include <cmocka.h>
#include <netdb.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "resolve.h"

#define PUBLIC4 "198.41.0.4"
#define PUBLIC6 "2001:503:ba3e::2:30"
#define PATIENCE_MS 10000

static struct gs_found
address(const char *text)
{
	struct gs_found found = { .family = strchr(text, ':') ? AF_INET6 : AF_INET };

	assert_int_equal(inet_pton(found.family, text, found.bytes), 1);
	return found;
}

static struct gs_resolved
vet(const char *const *texts, bool allow_private)
{
	struct gs_found found[GS_RESOLVE_FOUND];
	struct gs_resolved resolved;
	size_t num = 0;

	for (; texts[num] != NULL; num++)
		found[num] = address(texts[num]);
	gs_resolve_vet(&resolved, found, num, allow_private);
	return resolved;
}

static void
test_private_ones_are_left_out(void **state)
{
	static const char *const mixed[] = { "127.0.0.1", PUBLIC4, "10.0.0.1", PUBLIC6,
		"::1", NULL };
	struct gs_resolved resolved = vet(mixed, false);

	(void)state;
	assert_int_equal(resolved.result, GS_RESOLVE_OK);
	assert_int_equal(resolved.num, 2);
	assert_string_equal(resolved.addresses[0], PUBLIC4);
	assert_string_equal(resolved.addresses[1], PUBLIC6);
	resolved = vet(mixed, true);
	assert_int_equal(resolved.num, 5);
	assert_string_equal(resolved.addresses[0], "127.0.0.1");
}

/* The first and the last address of each range, and its neighbours outside. */
static void
test_edges_of_ranges(void **state)
{
	static const struct {
		const char *before, *first, *last, *after; /* NULL: private, too */
	} ranges[] = {
		{ NULL, "0.0.0.0", "0.255.255.255", "1.0.0.0" },
		{ "9.255.255.255", "10.0.0.0", "10.255.255.255", "11.0.0.0" },
		{ "100.63.255.255", "100.64.0.0", "100.127.255.255", "100.128.0.0" },
		{ "126.255.255.255", "127.0.0.0", "127.255.255.255", "128.0.0.0" },
		{ "169.253.255.255", "169.254.0.0", "169.254.255.255", "169.255.0.0" },
		{ "172.15.255.255", "172.16.0.0", "172.31.255.255", "172.32.0.0" },
		{ "191.255.255.255", "192.0.0.0", "192.0.0.255", "192.0.1.0" },
		{ "192.0.1.255", "192.0.2.0", "192.0.2.255", "192.0.3.0" },
		{ "192.88.98.255", "192.88.99.0", "192.88.99.255", "192.88.100.0" },
		{ "192.167.255.255", "192.168.0.0", "192.168.255.255", "192.169.0.0" },
		{ "198.17.255.255", "198.18.0.0", "198.19.255.255", "198.20.0.0" },
		{ "198.51.99.255", "198.51.100.0", "198.51.100.255", "198.51.101.0" },
		{ "203.0.112.255", "203.0.113.0", "203.0.113.255", "203.0.114.0" },
		{ "223.255.255.255", "224.0.0.0", "255.255.255.255", NULL },
		{ NULL, "::", "::1", NULL },
		{ NULL, "::ffff:10.0.0.0", "::ffff:10.255.255.255", "::ffff:11.0.0.0" },
		{ NULL, "::ffff:127.0.0.1", "::ffff:169.254.169.254", "::ffff:8.8.8.8" },
		{ NULL, "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b::808:808" },
		{ NULL, "64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff", NULL },
		{ NULL, "100::", "100::ffff:ffff:ffff:ffff", NULL },
		{ NULL, "2001::", "2001:0:ffff:ffff:ffff:ffff:ffff:ffff", "2001:1::" },
		{ "2001:f:ffff::", "2001:10::", "2001:1f:ffff:ffff:ffff:ffff:ffff:ffff",
		    NULL },
		{ NULL, "2001:20::", "2001:2f:ffff:ffff:ffff:ffff:ffff:ffff",
		    "2001:30::" },
		{ "2001:db7:ffff::", "2001:db8::",
		    "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db9::" },
		{ "2001:ffff::", "2002::", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
		    "2003::" },
		{ "3ffe:ffff::", "3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff",
		    "3fff:1000::" },
		{ NULL, "fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", NULL },
		{ NULL, "fe80::", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff", NULL },
		{ NULL, "fec0::", "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", NULL },
		{ NULL, "ff00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
		const char *inside[] = { ranges[i].first, ranges[i].last, NULL };
		const char *outside[] = { ranges[i].before, ranges[i].after };

		if (vet(inside, false).result != GS_RESOLVE_REFUSED ||
		    vet(inside, true).num != 2)
			fail_msg("%s to %s", inside[0], inside[1]);
		for (size_t j = 0; j < 2; j++) {
			const char *one[] = { outside[j], NULL };

			if (outside[j] != NULL && vet(one, false).num != 1)
				fail_msg("%s", outside[j]);
		}
	}
}

static void
test_none_and_many(void **state)
{
	struct gs_found found[64] = { { .family = AF_UNSPEC } };
	struct gs_resolved resolved;
	char text[INET_ADDRSTRLEN];

	(void)state;
	gs_resolve_vet(&resolved, found, 0, false);
	assert_int_equal(resolved.result, GS_RESOLVE_DNS);
	assert_int_equal(resolved.num, 0);
	for (int i = 0; i < 64; i++) {
		(void)snprintf(text, sizeof(text), "198.41.0.%d", i);
		found[i] = address(text);
	}
	gs_resolve_vet(&resolved, found, 64, false);
	assert_int_equal(resolved.num, GS_RESOLVE_ADDRESSES);
	assert_string_equal(resolved.addresses[0], "198.41.0.0");
	/* Sixty-three private ones do not hide the one that may be dialled. */
	for (int i = 0; i < 63; i++)
		found[i] = address("10.0.0.1");
	gs_resolve_vet(&resolved, found, 64, false);
	assert_int_equal(resolved.num, 1);
	assert_string_equal(resolved.addresses[0], "198.41.0.63");
}

static void
test_each_address_once(void **state)
{
	static const char *const twice[] = { PUBLIC4, PUBLIC6, PUBLIC4, NULL };

	(void)state;
	assert_int_equal(vet(twice, false).num, 2);
}

static void
test_unknown_families_are_refused(void **state)
{
	struct gs_found found = { .family = AF_UNIX };
	struct gs_resolved resolved;

	(void)state;
	gs_resolve_vet(&resolved, &found, 1, false);
	assert_int_equal(resolved.result, GS_RESOLVE_REFUSED);
	gs_resolve_vet(&resolved, &found, 1, true);
	assert_int_equal(resolved.num, 0);
}

/* --- the threads --- */

struct world {
	struct gs_loop *loop;
	struct gs_resolver *resolver;
	struct gs_timer *timer;
	struct gs_resolved last;
	int answers;
	int wanted;	    /* so many answers, and the loop stops */
	atomic_int lookups; /* by the threads */
	atomic_int at_once, most_at_once;
};

/* "a.example" is public at first and private from then on: rebinding. */
static int
fake_lookup(const char *host, struct gs_found *found, size_t max, size_t *num, void *arg)
{
	struct world *world = arg;
	int before = atomic_fetch_add(&world->lookups, 1);
	int at_once = atomic_fetch_add(&world->at_once, 1) + 1;

	assert_true(max >= 2);
	if (at_once > atomic_load(&world->most_at_once))
		atomic_store(&world->most_at_once, at_once);
	if (strcmp(host, "slow.example") == 0)
		(void)usleep(50000);
	(void)atomic_fetch_sub(&world->at_once, 1);
	if (strcmp(host, "nobody.example") == 0)
		return EAI_NONAME;
	found[0] = address(before == 0 ? PUBLIC4 : "192.168.0.1");
	*num = 1;
	return 0;
}

static void
take_answer(const struct gs_resolved *resolved, void *arg)
{
	struct world *world = arg;

	world->last = *resolved;
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

static void
open_world(struct world *world, gs_resolve_lookup *lookup)
{
	const struct gs_loop_ops ops = { .signalled = ignore_signal };
	struct gs_err err;

	memset(world, 0, sizeof(*world));
	world->loop = gs_loop_new(&ops, NULL, &err);
	assert_non_null(world->loop);
	world->resolver = gs_resolver_new(world->loop, lookup, world, &err);
	assert_non_null(world->resolver);
	world->timer = gs_timer_new(world->loop, lose_patience, world);
	gs_timer_set(world->timer, PATIENCE_MS);
}

static void
close_world(struct world *world)
{
	gs_timer_free(world->timer);
	gs_resolver_free(world->resolver);
	gs_loop_free(world->loop);
}

static struct gs_question *
ask(struct world *world, const char *text, bool allow_private)
{
	struct gs_url url;

	assert_true(gs_url_parse_relay(&url, gs_str_of(text), true, NULL));
	return gs_resolver_ask(world->resolver, &url, allow_private, true, take_answer,
	    world);
}

static void
test_looks_up_and_checks_each_time(void **state)
{
	struct world world;

	(void)state;
	open_world(&world, fake_lookup);
	world.wanted = 1;
	(void)ask(&world, "wss://a.example", false);
	assert_int_equal(world.answers, 0);
	gs_loop_run(world.loop);
	assert_int_equal(world.last.result, GS_RESOLVE_OK);
	assert_string_equal(world.last.addresses[0], PUBLIC4);
	close_world(&world);
}

static void
test_rebinding_is_refused(void **state)
{
	struct world world;

	(void)state;
	open_world(&world, fake_lookup);
	world.lookups = 1;
	world.wanted = 1;
	(void)ask(&world, "wss://a.example", false);
	gs_loop_run(world.loop);
	assert_int_equal(world.last.result, GS_RESOLVE_REFUSED);
	assert_int_equal(world.last.num, 0);
	close_world(&world);
}

static void
test_unknown_names(void **state)
{
	struct world world;

	(void)state;
	open_world(&world, fake_lookup);
	world.wanted = 1;
	(void)ask(&world, "wss://nobody.example", true);
	gs_loop_run(world.loop);
	assert_int_equal(world.last.result, GS_RESOLVE_DNS);
	assert_string_equal(world.last.why, gai_strerror(EAI_NONAME));
	close_world(&world);
}

/* Names, ports and addresses that no relay of a stranger may have: not even looked up. */
static void
test_urls_are_checked_again(void **state)
{
	static const char *const urls[] = { "ws://localhost", "ws://a.internal",
		"ws://127.0.0.1:7777", "ws://[::1]", "ws://a.example:6379",
		"ws://a.example:22" };
	struct world world;

	(void)state;
	open_world(&world, fake_lookup);
	world.wanted = (int)(sizeof(urls) / sizeof(urls[0]));
	for (int i = 0; i < world.wanted; i++)
		(void)ask(&world, urls[i], false);
	gs_loop_run(world.loop);
	assert_int_equal(world.answers, world.wanted);
	assert_int_equal(world.lookups, 0);
	assert_int_equal(world.last.result, GS_RESOLVE_REFUSED);
	close_world(&world);
}

static void
test_many_questions_share_the_threads(void **state)
{
	struct world world;

	(void)state;
	open_world(&world, fake_lookup);
	world.wanted = 20;
	for (int i = 0; i < world.wanted; i++)
		(void)ask(&world, "wss://slow.example", true);
	gs_loop_run(world.loop);
	assert_int_equal(world.answers, 20);
	assert_int_equal(world.most_at_once, GS_RESOLVE_THREADS);
	close_world(&world);
}

static void
test_cancelled_questions_stay_silent(void **state)
{
	struct world world;

	(void)state;
	open_world(&world, fake_lookup);
	world.wanted = 1;
	gs_question_cancel(ask(&world, "wss://slow.example", true));
	(void)ask(&world, "wss://a.example", true);
	gs_loop_run(world.loop);
	assert_int_equal(world.answers, 1);
	gs_question_cancel(NULL);
	close_world(&world);
}

/* The thread that is in the middle of it ends by itself. */
static void
test_is_freed_while_it_looks_up(void **state)
{
	struct world world;

	(void)state;
	open_world(&world, fake_lookup);
	(void)ask(&world, "wss://slow.example", true);
	(void)usleep(10000);
	close_world(&world);
	(void)usleep(100000);
	assert_int_equal(world.answers, 0);
}

static void
test_systems_resolver(void **state)
{
	struct world world;

	(void)state;
	open_world(&world, NULL);
	world.wanted = 1;
	(void)ask(&world, "ws://localhost:7777", true);
	gs_loop_run(world.loop);
	assert_int_equal(world.last.result, GS_RESOLVE_OK);
	assert_true(world.last.num >= 1);
	close_world(&world);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_private_ones_are_left_out),
		cmocka_unit_test(test_edges_of_ranges),
		cmocka_unit_test(test_none_and_many),
		cmocka_unit_test(test_each_address_once),
		cmocka_unit_test(test_unknown_families_are_refused),
		cmocka_unit_test(test_looks_up_and_checks_each_time),
		cmocka_unit_test(test_rebinding_is_refused),
		cmocka_unit_test(test_unknown_names),
		cmocka_unit_test(test_urls_are_checked_again),
		cmocka_unit_test(test_many_questions_share_the_threads),
		cmocka_unit_test(test_cancelled_questions_stay_silent),
		cmocka_unit_test(test_is_freed_while_it_looks_up),
		cmocka_unit_test(test_systems_resolver),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
