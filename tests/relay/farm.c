/*
 * Many relays in one process, for tests of scale: see farm.h.  Prints "listening PORT"
 * once it does, and an answer in JSON to each line of stdin.
 */
#include <arpa/inet.h>
#include <err.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "farm.h"
#include "num.h"

#define READY 256 /* sockets a round */
#define BACKLOG 4096
#define TICK_MS 10 /* while events are made at a rate */
#define MAX_NUMBER INT64_C(1000000000)

_Noreturn void
farm_die(const char *what)
{
	err(EX_OSERR, "%s", what);
}

int64_t
farm_wall_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- start */

static void
watch(const struct farm *farm, int fd, void *what)
{
	struct epoll_event event = { .events = EPOLLIN, .data = { .ptr = what } };

	if (epoll_ctl(farm->poll_fd, EPOLL_CTL_ADD, fd, &event) != 0)
		farm_die("epoll_ctl");
}

/* Stdin may be a file or closed: then nobody tells us anything. */
static void
watch_control(struct farm *farm)
{
	struct epoll_event event = { .events = EPOLLIN,
		.data = { .ptr = &farm->command } };

	if (epoll_ctl(farm->poll_fd, EPOLL_CTL_ADD, STDIN_FILENO, &event) == 0)
		(void)fcntl(STDIN_FILENO, F_SETFL,
		    fcntl(STDIN_FILENO, F_GETFL) | O_NONBLOCK);
}

static void
listen_on(struct farm *farm)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
		.sin_port = htons((uint16_t)farm->options.port),
		.sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t len = sizeof(at);
	int yes = 1;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) != 0 ||
	    bind(fd, (struct sockaddr *)&at, len) != 0 ||
	    getsockname(fd, (struct sockaddr *)&at, &len) != 0 ||
	    listen(fd, BACKLOG) != 0)
		farm_die("can't listen");
	farm->options.port = ntohs(at.sin_port);
	farm->listen_fd = fd;
	watch(farm, fd, &farm->listen_fd);
}

static void
raise_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
}

enum choice {
	OPT_PORT,
	OPT_PAGE,
	OPT_MAX_SUBSCRIPTIONS,
	OPT_MAX_FILTERS,
	OPT_MAX_MESSAGE,
	OPT_SEED,
	OPT_NO_DOCUMENT,
	OPT_SERVICE,
	OPT_LOG,
};

static const struct option longs[] = {
	{ "port", required_argument, NULL, OPT_PORT },
	{ "page", required_argument, NULL, OPT_PAGE },
	{ "max-subscriptions", required_argument, NULL, OPT_MAX_SUBSCRIPTIONS },
	{ "max-filters", required_argument, NULL, OPT_MAX_FILTERS },
	{ "max-message", required_argument, NULL, OPT_MAX_MESSAGE },
	{ "seed", required_argument, NULL, OPT_SEED },
	{ "no-document", no_argument, NULL, OPT_NO_DOCUMENT },
	{ "service", required_argument, NULL, OPT_SERVICE },
	{ "log", required_argument, NULL, OPT_LOG },
	{ NULL, 0, NULL, 0 },
};

static void
read_number(struct farm *farm, int option)
{
	struct farm_options *options = &farm->options;
	int64_t seed = 0;
	int64_t *const places[] = {
		[OPT_PORT] = &options->port,
		[OPT_PAGE] = &options->page,
		[OPT_MAX_SUBSCRIPTIONS] = &options->max_subscriptions,
		[OPT_MAX_FILTERS] = &options->max_filters,
		[OPT_MAX_MESSAGE] = &options->max_message,
		[OPT_SEED] = &seed,
	};
	struct gs_err why;

	if (!gs_num_parse_count(places[option], optarg, 0, MAX_NUMBER, &why))
		errx(EX_USAGE, "--%s: %s", longs[option].name, why.text);
	if (option == OPT_SEED)
		farm_rate_init(farm, (uint64_t)seed);
}

static void
read_option(struct farm *farm, int option)
{
	switch (option) {
	case OPT_NO_DOCUMENT:
		farm->options.has_document = false;
		return;
	case OPT_SERVICE:
		farm->options.service = optarg;
		return;
	case OPT_LOG:
		farm->log = fopen(optarg, "we");
		if (farm->log == NULL)
			err(EX_CANTCREAT, "%s", optarg);
		return;
	case '?':
		errx(EX_USAGE,
		    "usage: farm [--port N] [--page N] [--max-subscriptions N] "
		    "[--max-filters N]\n            [--max-message BYTES] "
		    "[--no-document] [--seed N] [--service DOMAIN]\n            "
		    "[--log FILE] [EVENTS...]");
	default:
		read_number(farm, option);
	}
}

/* ---- the loop */

static int
next_wait_ms(const struct farm *farm)
{
	return farm->rate.per_s > 0 || farm->pace > 0 ? TICK_MS : -1;
}

static void
tick(struct farm *farm, int64_t now_ms)
{
	farm_rate_tick(farm, now_ms);
	if (farm->pace > 0 && now_ms >= farm->next_tick_ms) {
		farm_serve_tick(farm);
		farm->next_tick_ms = now_ms + TICK_MS;
	}
}

static void
serve_round(struct farm *farm)
{
	struct epoll_event ready[READY];
	int num = epoll_wait(farm->poll_fd, ready, READY, next_wait_ms(farm));

	for (int i = 0; i < num; i++) {
		void *what = ready[i].data.ptr;

		if (what == &farm->listen_fd)
			farm_wire_accept(farm);
		else if (what == &farm->command)
			farm_control_read(farm);
		else
			farm_wire_ready(what, ready[i].events);
	}
	tick(farm, gs_clock_now().mono_ms);
}

int
main(int argc, char **argv)
{
	static struct farm farm = { .options = { .page = 500,
					.max_subscriptions = 20,
					.max_filters = 10,
					.max_message = 131072,
					.has_document = true,
					.service = "git.example.com" } };
	struct gs_err why;
	int option;

	if (sodium_init() < 0)
		errx(EX_SOFTWARE, "libsodium does not start");
	raise_files();
	farm_world_init(&farm);
	farm_rate_init(&farm, 1);
	while ((option = getopt_long(argc, argv, "", longs, NULL)) != -1)
		read_option(&farm, option);
	farm.poll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (farm.poll_fd < 0)
		farm_die("epoll_create1");
	listen_on(&farm);
	for (; optind < argc; optind++)
		if (farm_world_load(&farm, argv[optind], &why) == 0)
			errx(EX_NOINPUT, "%s: no events: %s", argv[optind], why.text);
	(void)printf("listening %" PRId64 "\n", farm.options.port);
	(void)fflush(stdout);
	watch_control(&farm);
	for (;;)
		serve_round(&farm);
}
