/*
 * What a test tells the farm, a line at a time on stdin; each is answered by a line of
 * JSON on stdout, "ok" or "fault" first.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "clock.h"
#include "farm.h"
#include "mem.h"
#include "num.h"

#define READ_BYTES 65536
#define MOST_NAMES 1024

/* ---- relays */

/* Calls fn for the relays of "r001,r002" or for "all". */
static void
each_named(struct farm *farm, const char *names,
    void (*fn)(struct farm *farm, struct farm_relay *relay, int64_t number),
    int64_t number)
{
	if (strcmp(names, "all") == 0) {
		for (size_t i = 0; i < farm->num_relays; i++)
			fn(farm, farm->relays[i], number);
		return;
	}
	while (*names != '\0') {
		size_t len = strcspn(names, ",");

		fn(farm, farm_world_relay(farm, names, len), number);
		names += len + (names[len] == ',');
	}
}

static void
set_mode(struct farm *farm, struct farm_relay *relay, int64_t mode)
{
	struct farm_connection *connection;

	(void)farm;
	relay->mode = (enum farm_mode)mode;
	LIST_FOREACH(connection, &relay->connections, next)
	{
		if (relay->mode == FARM_HOLE)
			connection->phase = FARM_HELD;
		else if (relay->mode == FARM_DOWN || connection->phase == FARM_HELD)
			farm_wire_drop(connection);
	}
}

static void
reset(struct farm *farm, struct farm_relay *relay, int64_t number)
{
	(void)farm;
	(void)number;
	relay->counts = (struct farm_counts){ .since_min = -1, .since_max = -1 };
}

/* ---- stats */

static size_t
count_open(const struct farm_relay *relay)
{
	const struct farm_connection *connection;
	size_t num = 0;

	LIST_FOREACH(connection, &relay->connections, next)
	num += connection->phase == FARM_OPEN;
	return num;
}

static size_t
count_subs(const struct farm_relay *relay)
{
	const struct farm_connection *connection;
	size_t num = 0;

	LIST_FOREACH(connection, &relay->connections, next)
	num += connection->num_subs;
	return num;
}

static void
print_relay(const struct farm_relay *relay)
{
	const struct farm_counts *counts = &relay->counts;

	(void)printf("\"%s\":{\"open\":%zu,\"subs\":%zu,\"opened\":%" PRIu64
		     ",\"documents\":%" PRIu64 ",\"reqs\":%" PRIu64
		     ",\"filters\":%" PRIu64 ",\"unbounded\":%" PRIu64,
	    relay->name, count_open(relay), count_subs(relay), counts->opened,
	    counts->documents, counts->reqs, counts->filters, counts->unbounded);
	(void)printf(",\"closes\":%" PRIu64 ",\"sent\":%" PRIu64 ",\"refused\":%" PRIu64
		     ",\"since_min\":%" PRId64 ",\"since_max\":%" PRId64
		     ",\"first_req_ms\":%" PRId64 ",\"first_eose_ms\":%" PRId64
		     ",\"first_live_ms\":%" PRId64 ",\"events\":%zu}",
	    counts->closes, counts->sent, counts->refused, counts->since_min,
	    counts->since_max, counts->first_req_ms, counts->first_eose_ms,
	    counts->first_live_ms, relay->all.num);
}

static int
compare_numbers(const void *a, const void *b)
{
	int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;

	return left < right ? -1 : left > right;
}

/* How long it took until roots that were made at a rate were asked for. */
static void
print_lag(const struct farm *farm)
{
	int64_t *lags = gs_mem_array(farm->roots.num + 1, sizeof(*lags));
	size_t made = 0, asked = 0;

	for (size_t i = 0; i < farm->roots.num; i++) {
		const struct farm_event *root = farm->roots.events[i];

		made += root->live_ms != 0;
		if (root->asked_ms != 0)
			lags[asked++] = root->asked_ms - root->live_ms;
	}
	if (asked > 1)
		qsort(lags, asked, sizeof(*lags), compare_numbers);
	(void)printf(",\"roots\":{\"made\":%zu,\"asked\":%zu,\"lag_median_ms\":%" PRId64
		     ",\"lag_max_ms\":%" PRId64 "}",
	    made, asked, asked ? lags[asked / 2] : 0, asked ? lags[asked - 1] : 0);
	free(lags);
}

static void
print_stats(const struct farm *farm)
{
	(void)printf("{\"ok\":\"stats\",\"now_ms\":%" PRId64 ",\"events\":%zu"
		     ",\"homeless\":%" PRIu64 ",\"repos\":%zu,\"rate\":%" PRId64
		     ",\"made\":%" PRId64,
	    farm_wall_ms(), farm->all.num, farm->homeless, farm->num_repos,
	    farm->rate.per_s, farm->rate.made);
	print_lag(farm);
	(void)printf(",\"relays\":{");
	for (size_t i = 0; i < farm->num_relays; i++) {
		if (i > 0)
			(void)putchar(',');
		print_relay(farm->relays[i]);
	}
	(void)printf("}}\n");
}

/* ---- events */

/* The names before the event say who holds it; none: as its tags say. */
static struct farm_event *
add_event(struct farm *farm, const char *args)
{
	static uint32_t relays[MOST_NAMES];
	const char *event = strchr(args, '{');
	const char *end;
	size_t num = 0;

	if (event == NULL)
		return NULL;
	for (end = event; args < end && end[-1] == ' ';)
		end--;
	while (args < end && num < MOST_NAMES) {
		size_t len = strcspn(args, ", ");

		relays[num++] = farm_world_relay(farm, args, len)->number;
		args += len + (args[len] == ',');
	}
	return farm_world_add(farm, gs_str_of(event),
	    num > 0 ? farm_world_set(farm, relays, num) : NULL);
}

static const char *
put_event(struct farm *farm, const char *args, bool is_live)
{
	struct farm_event *event = add_event(farm, args);

	if (event == NULL)
		return "no event, or a known one";
	if (is_live)
		farm_serve_live(farm, event);
	return NULL;
}

/* What a complete reader of all relays has. */
static const char *
dump(const struct farm *farm, const char *path)
{
	FILE *file = fopen(path, "we");

	if (file == NULL)
		return "the file can't be written";
	for (size_t i = 0; i < farm->all.num; i++) {
		const struct farm_event *event = farm->all.events[i];

		if (!event->is_replaced && event->on->num > 0)
			(void)fprintf(file, "%.*s\n", (int)event->len, event->line);
	}
	return fclose(file) == 0 ? NULL : "the file can't be written";
}

/* N SECONDS [ROOT-EACH] */
static const char *
start_rate(struct farm *farm, const char *args)
{
	int64_t per_s = 0, seconds = 0, root_each = 10;

	if (sscanf(args, "%" SCNd64 " %" SCNd64 " %" SCNd64, &per_s, &seconds,
		&root_each) < 1 ||
	    per_s < 0 || per_s > 1000000 || seconds < 0 || seconds > 86400)
		return "N SECONDS [ROOT-EACH]";
	farm->rate = (struct farm_rate){ .per_s = per_s, .root_each = root_each };
	farm->rate.begin_ms = gs_clock_now().mono_ms;
	farm->rate.end_ms = farm->rate.begin_ms + seconds * 1000;
	return NULL;
}

static const char *
set_pace(struct farm *farm, const char *args)
{
	if (!gs_num_parse(&farm->pace, args, strlen(args), 1000000))
		return "EVENTS";
	farm_serve_tick(farm);
	return NULL;
}

static const char *
load(struct farm *farm, const char *path)
{
	static struct gs_err why;

	return farm_world_load(farm, path, &why) > 0 ? NULL : why.text;
}

/* ---- lines */

/* NULL, or what is wrong. */
static const char *
obey(struct farm *farm, const char *verb, const char *args)
{
	if (strcmp(verb, "load") == 0)
		return load(farm, args);
	if (strcmp(verb, "event") == 0 || strcmp(verb, "quiet") == 0)
		return put_event(farm, args, verb[0] == 'e');
	if (strcmp(verb, "rate") == 0)
		return start_rate(farm, args);
	if (strcmp(verb, "pace") == 0)
		return set_pace(farm, args);
	if (strcmp(verb, "dump") == 0)
		return dump(farm, args);
	if (strcmp(verb, "up") == 0)
		each_named(farm, args, set_mode, FARM_UP);
	else if (strcmp(verb, "down") == 0)
		each_named(farm, args, set_mode, FARM_DOWN);
	else if (strcmp(verb, "hole") == 0)
		each_named(farm, args, set_mode, FARM_HOLE);
	else if (strcmp(verb, "reset") == 0)
		each_named(farm, "all", reset, 0);
	else
		return "load, event, quiet, rate, pace, dump, up, down, hole, reset or "
		       "stats";
	return NULL;
}

static void
take_line(struct farm *farm, char *line)
{
	char *args = line + strcspn(line, " ");
	const char *fault;

	if (*args == ' ')
		*args++ = '\0';
	if (strcmp(line, "stats") == 0) {
		print_stats(farm);
	} else {
		fault = obey(farm, line, args);
		(void)printf("{\"%s\":\"%s\"}\n", fault ? "fault" : "ok",
		    fault ? fault : line);
	}
	(void)fflush(stdout);
}

static void
take_lines(struct farm *farm)
{
	char *at = farm->command.data, *end;

	while ((end = strchr(at, '\n')) != NULL) {
		*end = '\0';
		take_line(farm, at);
		at = end + 1;
	}
	memmove(farm->command.data, at, strlen(at) + 1);
	gs_buf_cut(&farm->command, strlen(farm->command.data));
}

void
farm_control_read(struct farm *farm)
{
	ssize_t got =
	    read(STDIN_FILENO, gs_buf_room(&farm->command, READ_BYTES), READ_BYTES);

	if (got > 0) {
		farm->command.len += (size_t)got;
		farm->command.data[farm->command.len] = '\0';
		take_lines(farm);
	} else if (got == 0 || errno != EAGAIN) {
		/* Nobody is there any more; the relays go on. */
		(void)epoll_ctl(farm->poll_fd, EPOLL_CTL_DEL, STDIN_FILENO, NULL);
	}
}
