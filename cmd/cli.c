/* What all commands share: options, messages to people, lines on stdout, exit codes. */
#include "cli.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "clock.h"
#include "num.h"

#define MAX_OPTIONS 40
#define MESSAGE_BYTES 2048
#define PROGRESS_MS 200
#define CLEAR_LINE "\r\033[K"
#define LONG_ONLY 256 /* getopt values of options without a letter begin here */
#define SIZE_CHARS 32 /* more digits than a size has */
#define SHOWN_BAD 20  /* lines: more of them say nothing new */

static const struct cli_option common[] = {
	{ "help", 'h', NULL, "show this and exit" },
	{ "version", 'V', NULL, "show the version and exit" },
	{ "verbose", 'v', NULL, "say more; may be repeated" },
	{ "quiet", 'q', NULL, "say only what is wrong" },
	{ NULL, 0, NULL, NULL },
};

/* Memory of the store's file could not be read: it was cut off, or its disk fails. */
static void
end_on_bad_file(int number)
{
	static const char text[] = "grasp-sync: the store can't be read: its file was "
				   "cut off, or its disk fails\n";

	(void)number;
	(void)!write(STDERR_FILENO, text, sizeof(text) - 1);
	_exit(GS_EIO);
}

/* An assertion failed, LMDB's among them: it has said so itself. */
static void
end_on_bug(int number)
{
	static const char text[] =
	    "grasp-sync: a bug, or a damaged store (see grasp-sync-store stat --check)\n";

	(void)number;
	(void)!write(STDERR_FILENO, text, sizeof(text) - 1);
	_exit(GS_EBUG);
}

void
cli_init(struct cli *cli, int argc, char **argv)
{
	cli->argc = argc;
	cli->argv = argv;
	opterr = 0;
	optind = 1;
	gs_out_init(&cli->out, STDOUT_FILENO);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGBUS, end_on_bad_file);
	(void)signal(SIGABRT, end_on_bug);
	if (sodium_init() < 0) {
		cli_complain(cli, "libsodium: can't start");
		exit(GS_EBUG);
	}
}

static void
print_options(const struct cli_option *options)
{
	for (; options->name != NULL; options++) {
		char left[48];

		(void)snprintf(left, sizeof(left), "%c%c%s --%s%s%s",
		    options->letter ? '-' : ' ', options->letter ? options->letter : ' ',
		    options->letter ? "," : " ", options->name, options->arg ? " " : "",
		    options->arg ? options->arg : "");
		(void)printf("  %-28s %s\n", left, options->help);
	}
}

/* The name without the subcommand. */
static int
len_program(const struct cli *cli)
{
	return (int)strcspn(cli->name, " ");
}

static _Noreturn void
print_help(const struct cli *cli)
{
	char *usage = strdup(cli->usage);
	char *rest = usage;
	char *line;

	(void)printf("%s - %s\n\n", cli->name, cli->about);
	while (usage != NULL && (line = strsep(&rest, "\n")) != NULL)
		(void)printf("usage: %s %s\n", cli->name, line);
	free(usage);
	(void)printf("\n");
	print_options(cli->options);
	print_options(common);
	(void)printf("\nMore: man %.*s, man 7 grasp-sync\n", len_program(cli), cli->name);
	exit(fflush(stdout) == 0 ? GS_OK : GS_EIO);
}

static _Noreturn void
print_version(const struct cli *cli)
{
	(void)printf("%.*s %s\n", len_program(cli), cli->name, GS_VERSION);
	exit(fflush(stdout) == 0 ? GS_OK : GS_EIO);
}

/* Adds a table to what getopt_long wants; values are base + index. */
static size_t
add_options(const struct cli_option *options, int base, struct option *longs, size_t n,
    char *shorts)
{
	size_t i;

	for (i = 0; options[i].name != NULL && n < MAX_OPTIONS; i++, n++) {
		longs[n] = (struct option){ options[i].name,
			options[i].arg ? required_argument : no_argument, NULL,
			base + (int)i };
		if (options[i].letter != '\0') {
			size_t len = strlen(shorts);

			shorts[len++] = options[i].letter;
			if (options[i].arg != NULL)
				shorts[len++] = ':';
			shorts[len] = '\0';
		}
	}
	return n;
}

static int
find_letter(const struct cli_option *options, int letter)
{
	int i;

	for (i = 0; options[i].name != NULL; i++)
		if (options[i].letter == letter)
			return i;
	return -1;
}

static void
do_common(struct cli *cli, int index)
{
	switch (common[index].letter) {
	case 'h':
		print_help(cli);
	case 'V':
		print_version(cli);
	case 'v':
		cli->loud++;
		break;
	default:
		cli->loud--;
		break;
	}
}

static _Noreturn void
complain_option(const struct cli *cli, int got)
{
	const char *word = cli->argv[optind - 1];

	if (got == ':')
		cli_usage(cli, "%s: needs a value", word);
	if (optopt != 0 && optopt < LONG_ONLY)
		cli_usage(cli, "-%c: no such option", optopt);
	if (optopt != 0)
		cli_usage(cli, "%s: takes no value", word);
	cli_usage(cli, "%s: no such option", word);
}

int
cli_option(struct cli *cli, const char **value)
{
	struct option longs[MAX_OPTIONS + 1] = { 0 };
	char shorts[2 * MAX_OPTIONS + 2] = ":";
	size_t n = add_options(cli->options, LONG_ONLY, longs, 0, shorts);
	int got, index;

	(void)add_options(common, 2 * LONG_ONLY, longs, n, shorts);
	while ((got = getopt_long(cli->argc, cli->argv, shorts, longs, NULL)) != -1) {
		*value = optarg;
		if (got == ':' || got == '?')
			complain_option(cli, got);
		if (got >= 2 * LONG_ONLY) {
			do_common(cli, got - 2 * LONG_ONLY);
			continue;
		}
		if (got >= LONG_ONLY)
			return got - LONG_ONLY;
		index = find_letter(cli->options, got);
		if (index >= 0)
			return index;
		do_common(cli, find_letter(common, got));
	}
	cli->at = optind;
	return -1;
}

/* In one write: several processes may share a stderr. */
static void __attribute__((format(printf, 2, 0)))
print_message(const struct cli *cli, const char *fmt, va_list ap)
{
	char text[MESSAGE_BYTES];

	(void)vsnprintf(text, sizeof(text), fmt, ap);
	(void)fprintf(stderr, "%s%s: %s\n", cli->progress_ms != 0 ? CLEAR_LINE : "",
	    cli->name, text);
}

void
cli_usage(const struct cli *cli, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	print_message(cli, fmt, ap);
	va_end(ap);
	(void)fprintf(stderr, "Try '%s --help'.\n", cli->name);
	exit(GS_EUSAGE);
}

void
cli_bad_value(const struct cli *cli, const char *option, const char *value,
    const struct gs_err *err)
{
	struct gs_buf shown = GS_BUF_INIT;

	gs_buf_add_shown(&shown, value, strlen(value), 200);
	cli_usage(cli, "--%s %s: %s", option, shown.data ? shown.data : "''", err->text);
}

void
cli_complain(const struct cli *cli, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	print_message(cli, fmt, ap);
	va_end(ap);
}

void
cli_say(const struct cli *cli, const char *fmt, ...)
{
	va_list ap;

	if (cli->loud < 0)
		return;
	va_start(ap, fmt);
	print_message(cli, fmt, ap);
	va_end(ap);
}

void
cli_tell(const struct cli *cli, const char *fmt, ...)
{
	va_list ap;

	if (cli->loud < 1)
		return;
	va_start(ap, fmt);
	print_message(cli, fmt, ap);
	va_end(ap);
}

int
cli_fail(const struct cli *cli, const struct gs_err *err)
{
	cli_complain(cli, "%s", err->text);
	return (int)err->code;
}

int64_t
cli_count(const struct cli *cli, const char *option, const char *value, int64_t min,
    int64_t max)
{
	struct gs_err err;
	int64_t count;

	if (!gs_num_parse_count(&count, value, min, max, &err))
		cli_bad_value(cli, option, value, &err);
	return count;
}

int64_t
cli_duration_s(const struct cli *cli, const char *option, const char *value,
    int64_t min_s, int64_t max_s)
{
	struct gs_err err;
	int64_t duration_s;

	if (!gs_num_parse_duration_s(&duration_s, value, &err))
		cli_bad_value(cli, option, value, &err);
	if (duration_s < min_s || duration_s > max_s) {
		(void)gs_fail(&err, GS_EUSAGE,
		    "not between %" PRId64 "s and %" PRId64 "s", min_s, max_s);
		cli_bad_value(cli, option, value, &err);
	}
	return duration_s;
}

int64_t
cli_size(const struct cli *cli, const char *option, const char *value)
{
	char lower[SIZE_CHARS] = "";
	struct gs_err err;
	int64_t size;
	size_t i;

	for (i = 0; value[i] != '\0' && i + 1 < sizeof(lower); i++)
		lower[i] = (char)tolower((unsigned char)value[i]);
	if (!gs_num_parse_bytes(&size, lower, &err))
		cli_bad_value(cli, option, value, &err);
	return size;
}

int64_t
cli_time_s(const struct cli *cli, const char *option, const char *value)
{
	struct gs_err err;
	int64_t time_s;

	if (!gs_num_parse_time_s(&time_s, value, gs_clock_now().wall_s, &err))
		cli_bad_value(cli, option, value, &err);
	return time_s;
}

void
cli_bad_line(struct cli_bad *bad, uint64_t number, const char *reason, const char *why)
{
	if (bad->count++ < SHOWN_BAD || bad->cli->loud > 0)
		cli_complain(bad->cli, "%s line %llu: invalid (%s): %s", bad->file,
		    (unsigned long long)number, reason, why);
}

void
cli_bad_end(const struct cli_bad *bad)
{
	if (bad->count > SHOWN_BAD && bad->cli->loud <= 0)
		cli_complain(bad->cli, "%s: and %llu more invalid lines", bad->file,
		    (unsigned long long)(bad->count - SHOWN_BAD));
}

bool
cli_line(struct cli *cli, const char *data, size_t len)
{
	return gs_out_line(&cli->out, data, len);
}

bool
cli_flush(struct cli *cli)
{
	return gs_out_flush(&cli->out);
}

int
cli_end(struct cli *cli, int code, int closed)
{
	bool ok = gs_out_flush(&cli->out);
	int error = cli->out.error;

	gs_out_fini(&cli->out);
	if (ok)
		return code;
	if (error == EPIPE)
		return closed;
	cli_complain(cli, "stdout: %s", strerror(error));
	return GS_EIO;
}

void
cli_progress(struct cli *cli, const char *fmt, ...)
{
	int64_t now_ms = gs_clock_now().mono_ms;
	char text[MESSAGE_BYTES];
	va_list ap;

	if (cli->loud < 0 || isatty(STDERR_FILENO) != 1 ||
	    now_ms - cli->progress_ms < PROGRESS_MS)
		return;
	cli->progress_ms = now_ms;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	(void)fprintf(stderr, CLEAR_LINE "%s", text);
}

int
cli_catch_signals(sigset_t *old)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGTERM);
	(void)sigprocmask(SIG_BLOCK, &set, old);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* The one that stopped us is still pending: it is taken first. */
void
cli_release_signals(int stop_fd, const sigset_t *old)
{
	struct signalfd_siginfo info;

	while (read(stop_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		continue;
	(void)sigprocmask(SIG_SETMASK, old, NULL);
}
