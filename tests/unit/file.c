/* Files whole, by lines and replaced; streams that end, stop and fail. */
#include "file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A folder for one test. */
struct place {
	char folder[32];
	char path[64];
};

static int
make_place(void **state)
{
	struct place *place = calloc(1, sizeof(*place));

	if (place == NULL)
		return -1;
	memcpy(place->folder, "/tmp/gs-file.XXXXXX", 20);
	if (mkdtemp(place->folder) == NULL)
		return -1;
	(void)snprintf(place->path, sizeof(place->path), "%s/file", place->folder);
	*state = place;
	return 0;
}

static int
drop_place(void **state)
{
	struct place *place = *state;

	(void)unlink(place->path);
	/* Fails if a test has left a temporary file behind. */
	if (rmdir(place->folder) != 0)
		return -1;
	free(place);
	return 0;
}

static void
assert_content(const char *path, const char *want)
{
	struct gs_buf buf = GS_BUF_INIT;

	assert_true(gs_file_read(&buf, path, 1000, NULL));
	assert_int_equal(buf.len, strlen(want));
	assert_memory_equal(buf.data, want, buf.len);
	gs_buf_fini(&buf);
}

static void
test_replaces(void **state)
{
	struct place *place = *state;
	struct gs_err err;
	struct stat st;

	assert_true(gs_file_replace(place->path, "one", 3, &err));
	assert_content(place->path, "one");
	assert_int_equal(stat(place->path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0644);
	assert_int_equal(chmod(place->path, 0640), 0);
	assert_true(gs_file_replace(place->path, "", 0, &err));
	assert_content(place->path, "");
	assert_int_equal(stat(place->path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0640);
}

static void
test_replace_says_why_not(void **state)
{
	struct place *place = *state;
	struct gs_err err;
	char inside[80];

	(void)snprintf(inside, sizeof(inside), "%s/none/file", place->folder);
	assert_false(gs_file_replace(inside, "x", 1, &err));
	assert_int_equal(err.code, GS_ECREATE);
	assert_non_null(strstr(err.text, "No such file"));
	(void)snprintf(inside, sizeof(inside), "%s/sub", place->folder);
	assert_int_equal(mkdir(inside, 0700), 0);
	assert_false(gs_file_replace(inside, "x", 1, &err)); /* a folder stands there */
	assert_int_equal(err.code, GS_EIO);
	assert_int_equal(rmdir(inside), 0);
}

static void
test_read_says_why_not(void **state)
{
	struct place *place = *state;
	struct gs_buf buf = GS_BUF_INIT;
	struct gs_err err;

	assert_false(gs_file_read(&buf, place->path, 10, &err));
	assert_int_equal(err.code, GS_ENOINPUT);
	assert_false(gs_file_read(&buf, place->folder, 10, &err));
	assert_int_equal(err.code, GS_ENOINPUT);
	assert_true(gs_file_replace(place->path, "0123456789", 10, &err));
	assert_true(gs_file_read(&buf, place->path, 10, &err));
	gs_buf_clear(&buf);
	assert_false(gs_file_read(&buf, place->path, 9, &err));
	assert_int_equal(err.code, GS_EDATA);
	assert_non_null(strstr(err.text, "longer than 9 bytes"));
	gs_buf_fini(&buf);
	assert_int_equal(gs_file_open("-", &err), STDIN_FILENO);
}

static void
assert_line(struct gs_lines *lines, const char *want, uint64_t number)
{
	struct gs_str line;

	assert_int_equal(gs_lines_next(lines, true, &line), GS_LINE_OK);
	assert_true(gs_str_is(line, want));
	assert_int_equal(lines->number, number);
}

static void
test_reads_lines(void **state)
{
	struct place *place = *state;
	static const char text[] = "one\n\nthree\r\nlast";
	struct gs_lines lines;
	struct gs_str line;
	int fd;

	assert_true(gs_file_replace(place->path, text, sizeof(text) - 1, NULL));
	fd = gs_file_open(place->path, NULL);
	gs_lines_init(&lines, fd, 100);
	assert_line(&lines, "one", 1);
	assert_line(&lines, "", 2);
	assert_line(&lines, "three\r", 3);
	assert_line(&lines, "last", 4);
	assert_int_equal(gs_lines_next(&lines, true, &line), GS_LINE_END);
	assert_int_equal(gs_lines_next(&lines, true, &line), GS_LINE_END);
	gs_lines_fini(&lines);
	(void)close(fd);
}

static void
test_skips_long_lines(void **state)
{
	static const size_t lens[] = { 9, 100, 70000, 300000 };
	struct place *place = *state;
	struct gs_buf buf = GS_BUF_INIT;
	struct gs_lines lines;
	struct gs_str line;
	size_t i;
	int fd;

	for (i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		gs_buf_clear(&buf);
		gs_buf_add_str(&buf, "12345678\n");
		memset(gs_buf_room(&buf, lens[i]), 'x', lens[i]);
		buf.len += lens[i];
		gs_buf_add_str(&buf, "\nafter\n");
		assert_true(gs_file_replace(place->path, buf.data, buf.len, NULL));
		fd = gs_file_open(place->path, NULL);
		gs_lines_init(&lines, fd, 8);
		assert_line(&lines, "12345678", 1);
		assert_int_equal(gs_lines_next(&lines, true, &line), GS_LINE_TOO_LONG);
		assert_true(line.len > 8);
		assert_memory_equal(line.ptr, "xxxxxxxx", 8);
		assert_int_equal(lines.number, 2);
		assert_line(&lines, "after", 3);
		assert_int_equal(gs_lines_next(&lines, true, &line), GS_LINE_END);
		gs_lines_fini(&lines);
		(void)close(fd);
	}
	gs_buf_fini(&buf);
}

static void
test_long_last_line(void **state)
{
	struct place *place = *state;
	struct gs_buf buf = GS_BUF_INIT;
	struct gs_lines lines;
	struct gs_str line;
	int fd;

	memset(gs_buf_room(&buf, 200000), 'x', 200000);
	buf.len = 200000;
	assert_true(gs_file_replace(place->path, buf.data, buf.len, NULL));
	fd = gs_file_open(place->path, NULL);
	gs_lines_init(&lines, fd, 1000);
	assert_int_equal(gs_lines_next(&lines, true, &line), GS_LINE_TOO_LONG);
	assert_int_equal(gs_lines_next(&lines, true, &line), GS_LINE_END);
	assert_int_equal(lines.number, 1);
	gs_lines_fini(&lines);
	(void)close(fd);
	gs_buf_fini(&buf);
}

static void
test_waits_only_if_it_may(void **state)
{
	struct gs_lines lines;
	struct gs_str line;
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	gs_lines_init(&lines, ends[0], 100);
	assert_int_equal(gs_lines_next(&lines, false, &line), GS_LINE_WAIT);
	assert_int_equal(write(ends[1], "ab", 2), 2);
	assert_int_equal(gs_lines_next(&lines, false, &line), GS_LINE_WAIT);
	assert_int_equal(write(ends[1], "c\nd", 3), 3);
	assert_line(&lines, "abc", 1);
	assert_int_equal(gs_lines_next(&lines, false, &line), GS_LINE_WAIT);
	(void)close(ends[1]);
	assert_line(&lines, "d", 2);
	assert_int_equal(gs_lines_next(&lines, false, &line), GS_LINE_END);
	gs_lines_fini(&lines);
	(void)close(ends[0]);
}

static void
test_failed_input(void **state)
{
	struct gs_lines lines;
	struct gs_str line;

	(void)state;
	gs_lines_init(&lines, -1, 100);
	assert_int_equal(gs_lines_next(&lines, true, &line), GS_LINE_FAILED);
	assert_int_equal(errno, EBADF);
	gs_lines_fini(&lines);
}

static void
test_writes_lines(void **state)
{
	struct place *place = *state;
	struct gs_out out;
	int fd = open(place->path, O_WRONLY | O_CREAT, 0600);

	gs_out_init(&out, fd);
	assert_true(gs_out_line(&out, "one", 3));
	assert_true(gs_out_line(&out, "", 0));
	assert_content(place->path, ""); /* not before flush */
	assert_true(gs_out_flush(&out));
	assert_content(place->path, "one\n\n");
	assert_true(gs_out_flush(&out));
	gs_out_fini(&out);
	(void)close(fd);
}

static void
test_write_errors_stick(void **state)
{
	struct gs_out out;
	int fd = open("/dev/full", O_WRONLY);
	int ends[2];

	(void)state;
	gs_out_init(&out, fd);
	assert_true(gs_out_line(&out, "one", 3));
	assert_false(gs_out_flush(&out));
	assert_int_equal(out.error, ENOSPC);
	assert_false(gs_out_line(&out, "two", 3));
	assert_false(gs_out_flush(&out));
	gs_out_fini(&out);
	(void)close(fd);

	(void)signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pipe(ends), 0);
	(void)close(ends[0]);
	gs_out_init(&out, ends[1]);
	assert_true(gs_out_line(&out, "one", 3));
	assert_false(gs_out_flush(&out));
	assert_int_equal(out.error, EPIPE);
	gs_out_fini(&out);
	(void)close(ends[1]);
}

#define PLACED(test) cmocka_unit_test_setup_teardown(test, make_place, drop_place)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		PLACED(test_replaces),
		PLACED(test_replace_says_why_not),
		PLACED(test_read_says_why_not),
		PLACED(test_reads_lines),
		PLACED(test_skips_long_lines),
		PLACED(test_long_last_line),
		cmocka_unit_test(test_waits_only_if_it_may),
		cmocka_unit_test(test_failed_input),
		PLACED(test_writes_lines),
		cmocka_unit_test(test_write_errors_stick),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
