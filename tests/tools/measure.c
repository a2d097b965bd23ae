/*
 * Runs a command and writes "milliseconds cpu-milliseconds kilobytes" into a file: how
 * long it took, on the clock and of the processors, and the most memory of its own
 * (RssAnon: without the pages of mapped files) that was seen.  Ends as the command does.
 */
#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include "clock.h"

#define LOOK_US 500 /* between two looks */
#define MS_A_SECOND 1000
#define US_A_MS 1000

/* RssAnon of a process in kB; 0 once it has ended. */
static long
read_anon_kb(const char *path)
{
	static const char name[] = "RssAnon:";
	FILE *file = fopen(path, "re");
	char line[256];
	long kb = 0;

	if (!file)
		return 0;
	while (kb == 0 && fgets(line, sizeof(line), file))
		if (strncmp(line, name, sizeof(name) - 1) == 0)
			kb = strtol(line + sizeof(name) - 1, NULL, 10);
	(void)fclose(file);
	return kb;
}

/* Of all children that have ended, and of theirs. */
static int64_t
read_cpu_ms(void)
{
	struct rusage used;

	if (getrusage(RUSAGE_CHILDREN, &used) < 0)
		err(EX_OSERR, "getrusage");
	return (int64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * MS_A_SECOND +
	    (int64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / US_A_MS;
}

/* Looks at the child until it ends; its status. */
static int
watch_child(pid_t pid, long *most_kb)
{
	char path[64];
	pid_t ended;
	int status;

	(void)snprintf(path, sizeof(path), "/proc/%ld/status", (long)pid);
	while ((ended = waitpid(pid, &status, WNOHANG)) == 0) {
		long kb = read_anon_kb(path);

		*most_kb = kb > *most_kb ? kb : *most_kb;
		(void)usleep(LOOK_US);
	}
	if (ended < 0)
		err(EX_OSERR, "waitpid");
	return WIFEXITED(status) ? WEXITSTATUS(status) : EX_SOFTWARE;
}

int
main(int argc, char **argv)
{
	long most_kb = 0;
	int64_t begin_ms, took_ms;
	FILE *file;
	pid_t pid;
	int status;

	if (argc < 3)
		errx(EX_USAGE, "usage: measure FILE COMMAND [ARG...]");
	begin_ms = gs_clock_now().mono_ms;
	pid = fork();
	if (pid < 0)
		err(EX_OSERR, "fork");
	if (pid == 0) {
		(void)execvp(argv[2], argv + 2);
		err(EX_UNAVAILABLE, "%s", argv[2]);
	}
	status = watch_child(pid, &most_kb);
	took_ms = gs_clock_now().mono_ms - begin_ms;
	file = fopen(argv[1], "we");
	if (!file)
		err(EX_CANTCREAT, "%s", argv[1]);
	(void)fprintf(file, "%" PRId64 " %" PRId64 " %ld\n", took_ms, read_cpu_ms(),
	    most_kb);
	if (fclose(file) != 0)
		err(EX_IOERR, "%s", argv[1]);
	return status;
}
