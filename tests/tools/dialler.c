/*
 * Follows a relay as grasp-sync does, in one process: again and again (--rounds), or over
 * many connections at once (--relays), and prints what that took of memory and
 * descriptors, as JSON.  For figures; whether they are good is for others to say.
 */
#include <dirent.h>
#include <err.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "clock.h"
#include "filter.h"
#include "mem.h"
#include "num.h"
#include "relay.h"

#define MAX_RELAYS 10000
#define MAX_ROUNDS 10000000
#define BACKOFF_MS 1
#define SILENCE_MS 30000
#define LOOK_MS 1
#define SETTLE_MS 2000 /* for what follows when all connections are open */
#define WARM_PART 10   /* a tenth of the rounds, at the beginning and at the end */

struct span {
	int64_t least, most;
};

/* What was seen over some time. */
struct sight {
	struct span fds, anon_kb;
};

struct dialler {
	struct gs_url url;
	int64_t num_relays, in_flight, rounds;
	const char *ca_file;

	struct gs_loop *loop;
	struct gs_resolver *resolver;
	struct gs_timer *timer;
	struct gs_relay **relays;
	size_t dialled;
	int64_t
	    lookups; /* one a dial; counted by other threads, with atomic operations */
	int64_t began_ms, all_open_ms;
	size_t most_in_flight;
	struct sight before, first, last;
};

static const char filter_text[] = "{\"kinds\":[1]}";

static int64_t
now_ms(void)
{
	return gs_clock_now().mono_ms;
}

/* ---- what it takes */

static int64_t
read_anon_kb(void)
{
	static const char name[] = "RssAnon:";
	FILE *file = fopen("/proc/self/status", "re");
	char line[256];
	int64_t kb = 0;

	if (file == NULL)
		err(EX_OSERR, "/proc/self/status");
	while (kb == 0 && fgets(line, sizeof(line), file) != NULL)
		if (strncmp(line, name, sizeof(name) - 1) == 0)
			kb = strtol(line + sizeof(name) - 1, NULL, 10);
	(void)fclose(file);
	return kb;
}

static int64_t
count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int64_t num = 0;

	if (dir == NULL)
		err(EX_OSERR, "/proc/self/fd");
	while (readdir(dir) != NULL)
		num++;
	(void)closedir(dir);
	return num - 3; /* ".", ".." and that of the folder */
}

static void
widen(struct span *span, int64_t value)
{
	span->least = value < span->least ? value : span->least;
	span->most = value > span->most ? value : span->most;
}

static void
look(struct sight *sight)
{
	widen(&sight->fds, count_fds());
	widen(&sight->anon_kb, read_anon_kb());
}

static void
print_sight(const char *name, const struct sight *sight)
{
	(void)printf(",\"%s\":{\"fds\":[%" PRId64 ",%" PRId64 "],\"anon_kb\":[%" PRId64
		     ",%" PRId64 "]}",
	    name, sight->fds.least, sight->fds.most, sight->anon_kb.least,
	    sight->anon_kb.most);
}

/* ---- what it does */

/* Every name is this machine; each dial asks once. */
static int
look_up(const char *host, struct gs_found *found, size_t max, size_t *num, void *arg)
{
	static const uint8_t loopback[] = { 127, 0, 0, 1 };
	struct dialler *dialler = arg;

	(void)host;
	(void)max;
	(void)__atomic_add_fetch(&dialler->lookups, 1, __ATOMIC_RELAXED);
	found->family = AF_INET;
	memcpy(found->bytes, loopback, sizeof(loopback));
	*num = 1;
	return 0;
}

static size_t
count_open(const struct dialler *dialler)
{
	size_t num = 0;

	for (size_t i = 0; i < dialler->dialled; i++)
		num += gs_relay_is_open(dialler->relays[i]);
	return num;
}

static void
dial_more(struct dialler *dialler)
{
	size_t open = count_open(dialler);

	while (dialler->dialled < (size_t)dialler->num_relays &&
	    dialler->dialled - open < (size_t)dialler->in_flight)
		gs_relay_dial(dialler->relays[dialler->dialled++]);
	if (dialler->dialled - open > dialler->most_in_flight)
		dialler->most_in_flight = dialler->dialled - open;
	if (open == (size_t)dialler->num_relays && dialler->all_open_ms == 0)
		dialler->all_open_ms = now_ms();
}

static void
take_change(void *arg)
{
	dial_more(arg);
}

static void
take_end(void *arg)
{
	(void)arg; /* it never ends by itself */
}

static void
take_event(const struct gs_event *event, void *arg)
{
	(void)event;
	(void)arg;
}

static void
take_signal(int number, void *arg)
{
	struct dialler *dialler = arg;

	(void)number;
	gs_loop_stop(dialler->loop);
}

static void
look_at_rounds(struct dialler *dialler)
{
	int64_t lookups = __atomic_load_n(&dialler->lookups, __ATOMIC_RELAXED);
	int64_t part = dialler->rounds / WARM_PART;

	if (lookups >= part && lookups < 2 * part)
		look(&dialler->first);
	if (lookups >= dialler->rounds - part)
		look(&dialler->last);
	if (lookups >= dialler->rounds)
		gs_loop_stop(dialler->loop);
}

static void
look_at_all(struct dialler *dialler)
{
	if (dialler->all_open_ms == 0 || now_ms() < dialler->all_open_ms + SETTLE_MS)
		return;
	look(&dialler->last);
	gs_loop_stop(dialler->loop);
}

static void
tick(void *arg)
{
	struct dialler *dialler = arg;

	if (dialler->rounds > 0)
		look_at_rounds(dialler);
	else
		look_at_all(dialler);
	gs_timer_set(dialler->timer, LOOK_MS);
}

static struct gs_relay *
make_relay(struct dialler *dialler)
{
	const struct gs_relay_ops ops = { take_event, take_change, take_end, dialler };
	const struct gs_relay_options options = { .url = &dialler->url,
		.resolver = dialler->resolver,
		.allow_private = true,
		.silence_ms = SILENCE_MS,
		.max_backoff_ms = BACKOFF_MS };
	struct gs_relay *relay = gs_relay_new(dialler->loop, &options, &ops);
	struct gs_filter filter = GS_FILTER_INIT;

	if (!gs_filter_parse(&filter, filter_text, sizeof(filter_text) - 1, NULL))
		errx(EX_SOFTWARE, "%s: no filter", filter_text);
	gs_session_add(gs_relay_session(relay), &filter);
	return relay;
}

static void
open_all(struct dialler *dialler)
{
	const struct gs_loop_ops ops = { .signalled = take_signal, .arg = dialler };
	const struct gs_loop_net net = { .ca_file = dialler->ca_file };
	struct gs_err why;

	dialler->loop = gs_loop_new(&ops, &net, &why);
	if (dialler->loop == NULL)
		errx((int)why.code, "%s", why.text);
	dialler->resolver = gs_resolver_new(dialler->loop, look_up, dialler, &why);
	if (dialler->resolver == NULL)
		errx((int)why.code, "%s", why.text);
	dialler->timer = gs_timer_new(dialler->loop, tick, dialler);
	look(&dialler->before);
	dialler->relays =
	    gs_mem_array((size_t)dialler->num_relays, sizeof(struct gs_relay *));
	for (int64_t i = 0; i < dialler->num_relays; i++)
		dialler->relays[i] = make_relay(dialler);
}

static void
close_all(struct dialler *dialler)
{
	for (int64_t i = 0; i < dialler->num_relays; i++)
		gs_relay_free(dialler->relays[i]);
	free(dialler->relays);
	gs_timer_free(dialler->timer);
	gs_resolver_free(dialler->resolver);
	gs_loop_free(dialler->loop);
}

static void
print_figures(const struct dialler *dialler)
{
	(void)printf("{\"relays\":%" PRId64 ",\"open\":%zu,\"most_in_flight\":%zu,"
		     "\"dials\":%" PRId64 ",\"ms\":%" PRId64,
	    dialler->num_relays, count_open(dialler), dialler->most_in_flight,
	    dialler->lookups,
	    (dialler->all_open_ms > 0 && dialler->rounds == 0 ? dialler->all_open_ms
							      : now_ms()) -
		dialler->began_ms);
	print_sight("before", &dialler->before);
	print_sight("first", &dialler->first);
	print_sight("last", &dialler->last);
	(void)printf("}\n");
}

static int64_t
read_number(const char *text, int64_t max)
{
	struct gs_err why;
	int64_t number;

	if (!gs_num_parse_count(&number, text, 1, max, &why))
		errx(EX_USAGE, "%s: %s", text, why.text);
	return number;
}

static void
parse_options(struct dialler *dialler, int argc, char **argv)
{
	static const struct option longs[] = {
		{ "relays", required_argument, NULL, 'n' },
		{ "in-flight", required_argument, NULL, 'f' },
		{ "rounds", required_argument, NULL, 'r' },
		{ "ca-file", required_argument, NULL, 'c' },
		{ NULL, 0, NULL, 0 },
	};
	struct gs_err why;
	int option;

	while ((option = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (option == 'n')
			dialler->num_relays = read_number(optarg, MAX_RELAYS);
		else if (option == 'f')
			dialler->in_flight = read_number(optarg, MAX_RELAYS);
		else if (option == 'r')
			dialler->rounds = read_number(optarg, MAX_ROUNDS);
		else if (option == 'c')
			dialler->ca_file = optarg;
		else
			exit(EX_USAGE);
	}
	if (optind + 1 != argc)
		errx(EX_USAGE,
		    "usage: dialler [--relays N] [--in-flight N] [--rounds N] "
		    "[--ca-file F] URL");
	if (!gs_url_parse_relay(&dialler->url, gs_str_of(argv[optind]), true, &why))
		errx(EX_USAGE, "%s: %s", argv[optind], why.text);
}

int
main(int argc, char **argv)
{
	static const struct span nothing = { INT64_MAX, 0 };
	struct dialler dialler = { .num_relays = 1, .in_flight = 1 };

	dialler.before = dialler.first = dialler.last =
	    (struct sight){ nothing, nothing };
	parse_options(&dialler, argc, argv);
	open_all(&dialler);
	dialler.began_ms = now_ms();
	dial_more(&dialler);
	gs_timer_set(dialler.timer, LOOK_MS);
	gs_loop_run(dialler.loop);
	print_figures(&dialler);
	close_all(&dialler);
	return EXIT_SUCCESS;
}
