/*
 * The limit that an import is measured against: how long it takes to parse the lines
 * of a file, hash them and check their signatures on all cores, with nothing else done.
 * Prints the seconds and the number of events that hold.
 */
#include <err.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "clock.h"
#include "file.h"
#include "mem.h"
#include "verify.h"

#define FILE_BYTES (SIZE_MAX / 2)
#define BLOCK 256 /* lines that a thread takes at once */

struct work {
	const struct gs_str *lines;
	size_t num_lines;
	size_t next; /* changed with atomic operations alone */
	size_t good; /* likewise */
};

static bool
line_holds(struct gs_event *event, struct gs_buf *scratch, struct gs_str line)
{
	return gs_event_parse(event, line.ptr, line.len, NULL) == GS_EVENT_OK &&
	    gs_verify_id(event, scratch) == GS_EVENT_OK &&
	    gs_verify_sig(event) == GS_EVENT_OK;
}

static void *
check_lines(void *arg)
{
	struct gs_event event = GS_EVENT_INIT;
	struct gs_buf scratch = GS_BUF_INIT;
	struct work *work = arg;
	size_t at, good = 0;

	while ((at = __atomic_fetch_add(&work->next, BLOCK, __ATOMIC_RELAXED)) <
	    work->num_lines)
		for (size_t i = at; i < at + BLOCK && i < work->num_lines; i++)
			good += line_holds(&event, &scratch, work->lines[i]);
	__atomic_fetch_add(&work->good, good, __ATOMIC_RELAXED);
	gs_event_fini(&event);
	gs_buf_fini(&scratch);
	return NULL;
}

static struct gs_str *
cut_lines(const struct gs_buf *text, size_t *num)
{
	const char *at = text->data, *end = text->data + text->len, *stop;
	struct gs_str *lines = NULL;
	size_t cap = 0;

	for (*num = 0; at < end; at = stop + 1) {
		stop = memchr(at, '\n', (size_t)(end - at));
		if (!stop)
			stop = end;
		lines = gs_mem_more(lines, *num, &cap, sizeof(*lines));
		lines[(*num)++] = (struct gs_str){ at, (size_t)(stop - at) };
	}
	return lines;
}

static void
run_threads(struct work *work, size_t num)
{
	pthread_t *threads = gs_mem_array(num, sizeof(*threads));

	for (size_t i = 0; i < num; i++)
		if (pthread_create(&threads[i], NULL, check_lines, work) != 0)
			errx(EX_OSERR, "no thread");
	for (size_t i = 0; i < num; i++)
		(void)pthread_join(threads[i], NULL);
	free(threads);
}

int
main(int argc, char **argv)
{
	struct gs_buf text = GS_BUF_INIT;
	struct work work = { NULL, 0, 0, 0 };
	struct gs_str *lines;
	struct gs_err why;
	int64_t begin_ms;

	if (argc != 2)
		errx(EX_USAGE, "usage: verifylimit FILE");
	/* reading counts, as it does for the import */
	begin_ms = gs_clock_now().mono_ms;
	if (!gs_file_read(&text, argv[1], FILE_BYTES, &why))
		errx((int)why.code, "%s", why.text);
	work.lines = lines = cut_lines(&text, &work.num_lines);
	run_threads(&work, (size_t)sysconf(_SC_NPROCESSORS_ONLN));
	(void)printf("%.3f %zu\n", (double)(gs_clock_now().mono_ms - begin_ms) / 1000,
	    work.good);
	free(lines);
	gs_buf_fini(&text);
	return work.good == work.num_lines ? EXIT_SUCCESS : EX_DATAERR;
}
