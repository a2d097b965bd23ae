/* The engine's set of relays: who is dialled when, who leaves, who has his turn. */
#include "engine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <sodium.h>

#include "mem.h"

#define MAX_PEERS 64
#define EPOCH_S 1767200000
#define REF "30617:7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e:x"

/* An owner that only takes down what it was told. */
struct host {
	struct gs_engine *engine;
	int64_t now_ms;
	struct gs_peer *dialled[4 * MAX_PEERS];
	int64_t dialled_ms[4 * MAX_PEERS];
	size_t num_dialled;
	struct gs_peer *hung_up[MAX_PEERS];
	size_t num_hung_up;
	size_t num_changes[GS_PEER_CAPPED + 1];
	char records[4096];
};

static struct gs_now
now(const struct host *host)
{
	return (struct gs_now){ host->now_ms, EPOCH_S + host->now_ms / 1000 };
}

static void
note_dial(struct gs_peer *peer, void *arg)
{
	struct host *host = arg;

	host->dialled[host->num_dialled] = peer;
	host->dialled_ms[host->num_dialled++] = host->now_ms;
}

static void
note_hang_up(struct gs_peer *peer, void *arg)
{
	struct host *host = arg;

	host->hung_up[host->num_hung_up++] = peer;
}

static void
note_wake(struct gs_peer *peer, void *arg)
{
	(void)peer;
	(void)arg;
}

static void
note_event(struct gs_peer *peer, struct gs_str line, enum gs_source source, void *arg)
{
	(void)peer;
	(void)line;
	(void)source;
	(void)arg;
}

static void
note_record(const struct gs_record *record, void *arg)
{
	static const char *const names[] = { "relay", "pair", "end-pair", "end-relay" };
	struct host *host = arg;
	size_t len = strlen(host->records);

	(void)snprintf(host->records + len, sizeof(host->records) - len, "%s %.*s\n",
	    names[record->kind], (int)record->url.len, record->url.ptr);
}

static void
note_change(struct gs_peer *peer, enum gs_peer_change change, void *arg)
{
	struct host *host = arg;

	(void)peer;
	host->num_changes[change]++;
}

static void
make_host(struct host *host, size_t per_address)
{
	const struct gs_engine_options options = {
		.silence_ms = GS_SESSION_SILENCE_MS,
		.per_address = per_address,
	};
	const struct gs_engine_ops ops = { note_dial, note_hang_up, note_wake, note_event,
		note_record, NULL, note_change, host };

	assert_true(sodium_init() >= 0);
	memset(host, 0, sizeof(*host));
	host->now_ms = 1000000;
	host->engine = gs_engine_new(&options, &ops, now(host));
}

/* num relays, the first ones of them for bootstrap alone. */
static void
apply(struct host *host, size_t num, size_t num_bootstrap)
{
	struct gs_state *state = gs_state_new();
	struct gs_repo *repo = gs_state_add_repo(state, GS_STR(REF));

	for (size_t i = 0; i < num; i++) {
		struct gs_relay_entry *entry;
		char url[64];

		(void)snprintf(url, sizeof(url), "wss://r%02zu.example", i);
		entry = gs_state_add_relay(state, gs_str_of(url));
		if (i < num_bootstrap)
			entry->is_bootstrap = true;
		else
			gs_relay_add_repo(entry, repo);
	}
	gs_state_sort(state);
	gs_engine_apply(host->engine, state, 1, now(host));
}

/* Lets time pass until then, as the engine wants to be called. */
static void
run(struct host *host, int64_t for_ms)
{
	int64_t until_ms = host->now_ms + for_ms;
	size_t steps = 0;

	for (;;) {
		int64_t due_ms = gs_engine_deadline_ms(host->engine);

		if (due_ms < 0 || due_ms > until_ms)
			break;
		if (due_ms > host->now_ms)
			host->now_ms = due_ms;
		gs_engine_tick(host->engine, now(host));
		assert_true(++steps < 10000);
	}
	host->now_ms = until_ms;
}

static void
end(struct host *host, struct gs_peer *peer, const char *name, bool was_open)
{
	const struct gs_peer_end told = { .name = name,
		.was_open = was_open,
		.is_crowded = strcmp(name, "crowded") == 0 };

	gs_peer_ended(peer, &told, now(host));
}

static struct gs_peer *
find(const struct host *host, const char *url)
{
	struct gs_peer *peer = gs_engine_find(host->engine, gs_str_of(url));

	assert_non_null(peer);
	return peer;
}

static void
ten_dials_a_second_and_strangers_in_half_of_the_places(void **state)
{
	struct host host;

	(void)state;
	make_host(&host, 0);
	apply(&host, 40, 0);
	run(&host, 5000);
	/* nobody is known to answer: half of the places stay free */
	assert_int_equal(host.num_dialled, GS_ENGINE_DIALLING - GS_ENGINE_KEPT);
	for (size_t i = 0; i < 8; i++)
		end(&host, host.dialled[i], "timeout", false);
	run(&host, 300);
	assert_int_equal(host.num_dialled, 16);
	gs_engine_free(host.engine);

	make_host(&host, 0);
	apply(&host, 40, 40);
	run(&host, 950);
	assert_int_equal(host.num_dialled, 10);
	run(&host, 4000);
	assert_int_equal(host.num_dialled, GS_ENGINE_DIALLING);
	for (size_t i = 0; i < host.num_dialled; i++)
		assert_true(i < 10 ||
		    host.dialled_ms[i] - host.dialled_ms[i - 10] >= 1000);
	gs_engine_free(host.engine);
}

static void
black_holes_do_not_delay_bootstrap_relays(void **state)
{
	struct host host;

	(void)state;
	make_host(&host, 0);
	apply(&host, 40, 0);
	run(&host, 3000);
	assert_int_equal(host.num_dialled, 8);
	apply(&host, 40, 4);
	run(&host, 1000);
	for (size_t i = 0; i < 4; i++) {
		struct gs_peer_view view;
		char url[64];

		(void)snprintf(url, sizeof(url), "wss://r%02zu.example", i);
		gs_peer_look(find(&host, url), &view);
		assert_int_equal(view.phase, GS_PEER_DIALLING);
	}
	assert_true(host.num_dialled <= 12);
	gs_engine_free(host.engine);
}

static void
a_relay_that_nobody_lists_leaves_after_a_minute(void **state)
{
	struct host host;
	struct gs_peer *peer;

	(void)state;
	make_host(&host, 0);
	apply(&host, 3, 1);
	run(&host, 1000);
	assert_int_equal(host.num_dialled, 3);
	for (size_t i = 0; i < 3; i++)
		gs_peer_opened(host.dialled[i], now(&host));
	peer = find(&host, "wss://r02.example");
	apply(&host, 2, 1);
	run(&host, 59000);
	assert_int_equal(host.num_hung_up, 0);
	/* in time it is wanted again: nothing happens */
	apply(&host, 3, 1);
	run(&host, 120000);
	for (size_t i = 0; i < host.num_hung_up; i++)
		assert_ptr_not_equal(host.hung_up[i], peer);
	gs_engine_free(host.engine);
}

static void
what_has_left_is_forgotten(void **state)
{
	struct host host;

	(void)state;
	make_host(&host, 0);
	apply(&host, 2, 1);
	run(&host, 500);
	gs_peer_opened(host.dialled[0], now(&host));
	gs_peer_opened(host.dialled[1], now(&host));
	apply(&host, 1, 1);
	run(&host, 61000);
	assert_true(host.num_hung_up >= 1);
	assert_string_equal(gs_peer_url(host.hung_up[0]), "wss://r01.example");
	end(&host, host.hung_up[0], "closed", true);
	run(&host, 1000);
	assert_null(gs_engine_find(host.engine, GS_STR("wss://r01.example")));
	assert_non_null(strstr(host.records, "end-relay wss://r01.example\n"));
	assert_null(strstr(host.records, "end-relay wss://r00.example\n"));
	assert_int_equal(host.num_changes[GS_PEER_REMOVED], 1);
	gs_engine_free(host.engine);
}

static void
names_of_one_address_take_turns(void **state)
{
	struct host host;
	size_t open = 0;

	(void)state;
	make_host(&host, 2);
	apply(&host, 4, 0);
	run(&host, 900);
	assert_int_equal(host.num_dialled, 4);
	for (size_t i = 0; i < 4; i++) {
		if (gs_peer_may_connect(host.dialled[i], "192.0.2.7")) {
			gs_peer_opened(host.dialled[i], now(&host));
			open++;
		} else {
			end(&host, host.dialled[i], "crowded", false);
		}
		/* the others are being dialled, too: they count */
		assert_true(open <= 2);
	}
	assert_int_equal(open, 2);
	/* no spinning: those that were turned away wait */
	run(&host, 50000);
	assert_int_equal(host.num_dialled, 4);
	gs_engine_free(host.engine);
}

static void
what_failed_together_comes_back_together(void **state)
{
	struct host host;
	size_t before;

	(void)state;
	make_host(&host, 0);
	apply(&host, 4, 0);
	for (int round = 0; round < 8; round++) {
		size_t from = host.num_dialled;

		run(&host, 700000);
		for (size_t i = from; i < host.num_dialled; i++)
			end(&host, host.dialled[i], "dns", false);
	}
	before = host.num_dialled;
	run(&host, 2000000);
	assert_true(host.num_dialled > before);
	gs_peer_opened(host.dialled[before], now(&host));
	before = host.num_dialled;
	/* 60 s connected are a success: then the others are due, not in an hour */
	for (size_t i = 0; i < before; i++)
		if (host.dialled[i] == NULL)
			fail();
	run(&host, 62000);
	assert_true(host.num_changes[GS_PEER_STATUS] >= 4);
	gs_engine_free(host.engine);
}

static void
a_relay_over_its_share_is_left_for_the_day(void **state)
{
	struct host host;
	struct gs_peer *peer;
	struct gs_peer_view view;

	(void)state;
	make_host(&host, 0);
	apply(&host, 1, 1);
	run(&host, 100);
	peer = host.dialled[0];
	gs_peer_opened(peer, now(&host));
	gs_peer_cap(peer, now(&host).wall_s + 3600, now(&host));
	assert_int_equal(host.num_hung_up, 1);
	end(&host, peer, "closed", true);
	run(&host, 3500 * 1000);
	assert_int_equal(host.num_dialled, 1);
	gs_peer_look(peer, &view);
	assert_true(view.is_capped);
	run(&host, 200 * 1000);
	assert_int_equal(host.num_dialled, 2);
	gs_engine_free(host.engine);
}

/* --- filters that have become many --- */

#define STEPS 16

/* One relay, with so many repositories of one root each. */
static void
apply_repos(struct host *host, size_t num)
{
	struct gs_state *state = gs_state_new();
	struct gs_relay_entry *entry =
	    gs_state_add_relay(state, GS_STR("wss://r.example"));

	for (size_t i = 0; i < num; i++) {
		uint8_t id[32];
		char ref[160];
		struct gs_repo *repo;

		(void)snprintf(ref, sizeof(ref), "%s%02zu", REF, i);
		memset(id, (int)i + 1, sizeof(id));
		repo = gs_state_add_repo(state, gs_str_of(ref));
		gs_repo_add_stored_root(repo, id, i + 1);
		gs_relay_add_repo(entry, repo);
	}
	gs_state_sort(state);
	gs_engine_apply(host->engine, state, num, now(host));
}

/* The relay has nothing: each REQ gets its EOSE.  Adds the frames to log. */
static void
answer_all(struct host *host, struct gs_peer *peer, struct gs_buf *log)
{
	struct gs_buf frame = GS_BUF_INIT;
	char name[32], eose[64];

	while (gs_peer_next_frame(peer, &frame, now(host))) {
		gs_buf_add(log, frame.data, frame.len);
		gs_buf_add_char(log, '\n');
		if (sscanf(frame.data, "[\"REQ\",\"%30[0-9]\"", name) == 1) {
			(void)snprintf(eose, sizeof(eose), "[\"EOSE\",\"%s\"]", name);
			gs_peer_frame(peer, eose, strlen(eose), now(host));
		}
		gs_buf_clear(&frame);
	}
	gs_buf_fini(&frame);
}

static size_t
count_filters(const struct host *host, struct gs_peer_view *view)
{
	gs_peer_look(find(host, "wss://r.example"), view);
	return view->num_filters;
}

/* v2's two phases: what is new is read without since first, then all is opened anew. */
static void
many_filters_are_packed_anew_in_two_steps(void **state)
{
	struct gs_buf log = GS_BUF_INIT;
	struct gs_peer_view view;
	struct gs_peer *peer;
	const char *history, *closed, *live;
	struct host host;
	char last[65];
	size_t num = 1;

	(void)state;
	make_host(&host, 0);
	apply_repos(&host, num);
	run(&host, 100);
	peer = host.dialled[0];
	gs_peer_limits(peer)->subscriptions = 50;
	gs_peer_opened(peer, now(&host));
	answer_all(&host, peer, &log);
	while (host.num_changes[GS_PEER_REPACKED] == 0) {
		assert_true(++num < STEPS);
		gs_buf_clear(&log);
		apply_repos(&host, num);
		answer_all(&host, peer, &log);
		assert_true(count_filters(&host, &view) <= GS_PLAN_MANY + 3);
	}
	assert_true(num * 6 > GS_PLAN_MANY);
	assert_int_equal(count_filters(&host, &view), 7);
	assert_int_equal(view.filters.live, 7);
	assert_int_equal(view.pending, 0);
	for (size_t i = 0; i < 32; i++)
		(void)snprintf(last + 2 * i, 3, "%02zx", num);
	/* its history has no since, and comes before anything is closed */
	history = strstr(log.data, last);
	closed = strstr(log.data, "[\"CLOSE\",\"1\"]");
	assert_non_null(history);
	assert_non_null(closed);
	assert_true(history < closed);
	assert_non_null(strstr(history, "],\"limit\":"));
	/* then it is open live, since before the first step */
	live = strstr(closed, last);
	assert_non_null(live);
	assert_non_null(strstr(live, "\"since\":"));
	gs_buf_fini(&log);
	gs_engine_free(host.engine);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ten_dials_a_second_and_strangers_in_half_of_the_places),
		cmocka_unit_test(black_holes_do_not_delay_bootstrap_relays),
		cmocka_unit_test(a_relay_that_nobody_lists_leaves_after_a_minute),
		cmocka_unit_test(what_has_left_is_forgotten),
		cmocka_unit_test(names_of_one_address_take_turns),
		cmocka_unit_test(what_failed_together_comes_back_together),
		cmocka_unit_test(a_relay_over_its_share_is_left_for_the_day),
		cmocka_unit_test(many_filters_are_packed_anew_in_two_steps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
