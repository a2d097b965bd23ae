/* Log lines: text and JSON, whatever peers said. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs those before it */
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "json.h"
#include "log.h"

#define ROOM 8192

static int ends[2]; /* a socket of packets: one read is one write */

static int
open_ends(void **state)
{
	(void)state;
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, ends);
}

static int
close_ends(void **state)
{
	(void)state;
	return close(ends[0]) | close(ends[1]);
}

/* The line that was written; "" if there is none. */
static const char *
take(char room[static ROOM])
{
	ssize_t len = read(ends[0], room, ROOM - 1);

	room[len > 0 ? len : 0] = '\0';
	return room;
}

static struct gs_log
text_log(void)
{
	return (struct gs_log){
		.level = GS_LOG_INFO, .name = "grasp-syncd", .fd = ends[1]
	};
}

static void
test_text(void **state)
{
	struct gs_log log = text_log();
	char room[ROOM];

	(void)state;
	gs_log_line(&log, GS_LOG_INFO, "wss://a.example", "again in %d s", 65);
	assert_string_equal(take(room), "grasp-syncd: wss://a.example: again in 65 s\n");
	gs_log_line(&log, GS_LOG_WARNING, NULL, "over %s", "500 relays");
	assert_string_equal(take(room), "grasp-syncd: warning: over 500 relays\n");
	gs_log_line(&log, GS_LOG_ERROR, NULL, "full");
	assert_string_equal(take(room), "grasp-syncd: error: full\n");
	gs_log_line(&log, GS_LOG_DEBUG, NULL, "left out");
	assert_string_equal(take(room), "");
	gs_log_line(&log, GS_LOG_INFO, "a\x1b[31m\xc3", "b\nc\\ \"d\" \x7f%%");
	assert_string_equal(take(room),
	    "grasp-syncd: a\\x1b[31m\\xc3: b\\x0ac\\ \"d\" \\x7f%\n");
}

/* YYYY-MM-DDTHH:MM:SSZ */
static void
expect_time(const char *text)
{
	static const char form[] = "9999-99-99T99:99:99Z";

	for (size_t i = 0; form[i] != '\0'; i++) {
		if (form[i] == '9')
			assert_in_range(text[i], '0', '9');
		else
			assert_int_equal(text[i], form[i]);
	}
}

static void
test_time(void **state)
{
	struct gs_log log = text_log();
	char room[ROOM];

	(void)state;
	log.has_time = true;
	gs_log_line(&log, GS_LOG_INFO, NULL, "up");
	expect_time(take(room));
	assert_string_equal(room + 20, " grasp-syncd: up\n");
}

static void
expect_member(jv line, const char *key, const char *text)
{
	jv value;

	assert_true(gs_json_get(line, key, JV_KIND_STRING, &value));
	assert_true(gs_str_is(gs_json_str(value), text));
}

static void
test_json(void **state)
{
	struct gs_log log = text_log();
	char room[ROOM];
	jv line, value;

	(void)state;
	log.is_json = true;
	gs_log_line(&log, GS_LOG_WARNING, "wss://\"x\"", "a\nb\\c\xff");
	(void)take(room);
	assert_true(gs_json_tree(&line, room, strlen(room), NULL));
	expect_member(line, "level", "warning");
	expect_member(line, "about", "wss://\"x\"");
	expect_member(line, "text", "a\\x0ab\\c\\xff");
	assert_true(gs_json_get(line, "time", JV_KIND_STRING, &value));
	expect_time(jv_string_value(value));
	jv_free(line);
	gs_log_line(&log, GS_LOG_INFO, NULL, "b");
	(void)take(room);
	assert_true(gs_json_tree(&line, room, strlen(room), NULL));
	assert_false(gs_json_get(line, "about", JV_KIND_STRING, &value));
	jv_free(line);
}

/* As long as it likes, of what grows most. */
static void
test_bounds(void **state)
{
	static const char fillers[] = { 'x', '\n', '"', '\\' };
	struct gs_log log = text_log();
	char room[ROOM], filler[5000];
	jv line;

	(void)state;
	for (size_t i = 0; i < 2 * sizeof(fillers); i++) {
		log.is_json = i % 2 == 1;
		memset(filler, fillers[i / 2], sizeof(filler));
		filler[sizeof(filler) - 1] = '\0';
		gs_log_line(&log, GS_LOG_INFO, filler, "%s", filler);
		assert_in_range(strlen(take(room)), 2000, 2048);
		assert_non_null(strstr(room, "..."));
		assert_int_equal(room[strlen(room) - 1], '\n');
		assert_ptr_equal(strchr(room, '\n'), room + strlen(room) - 1);
		if (log.is_json) {
			assert_true(gs_json_tree(&line, room, strlen(room), NULL));
			jv_free(line);
		}
	}
}

static void
test_levels(void **state)
{
	enum gs_log_level level = GS_LOG_ERROR;

	(void)state;
	assert_true(gs_log_level_parse(&level, GS_STR("debug")));
	assert_int_equal(level, GS_LOG_DEBUG);
	assert_true(gs_log_level_parse(&level, GS_STR("warning")));
	assert_int_equal(level, GS_LOG_WARNING);
	assert_false(gs_log_level_parse(&level, GS_STR("")));
	assert_false(gs_log_level_parse(&level, GS_STR("Info")));
	assert_int_equal(level, GS_LOG_WARNING);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_time),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_levels),
	};

	return cmocka_run_group_tests(tests, open_ends, close_ends);
}
