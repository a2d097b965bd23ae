/* Settings of flags, environment and file: which of them counts, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs those before it */
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../cmd/cli_config.h"

static const struct cli_option options[] = {
	{ "service", 's', "D", "" },
	{ "own-relay", 0, "URL", "" },
	{ "window", 0, "D", "" },
	{ "allow-private", 0, NULL, "" },
	{ "config", 0, "FILE", "" },
	{ "print-config", 0, NULL, "" },
	{ "check-config", 0, NULL, "" },
	{ NULL, 0, NULL, NULL },
};
static const char *const repeats[] = { "service", NULL };

static char path[] = "/tmp/cli_config-XXXXXX";

static int
make_file(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	return fd < 0 || close(fd) != 0;
}

static int
remove_file(void **state)
{
	(void)state;
	return unlink(path);
}

static int
clear_environment(void **state)
{
	(void)state;
	/* how results are told is asked of it for each test */
	const char *output = getenv("CMOCKA_MESSAGE_OUTPUT");
	char kept[32] = "";

	if (output != NULL)
		(void)snprintf(kept, sizeof(kept), "%s", output);
	return clearenv() != 0 ||
	    (kept[0] != '\0' && setenv("CMOCKA_MESSAGE_OUTPUT", kept, 1) != 0);
}

static void
write_file(const char *text)
{
	assert_true(gs_file_replace(path, text, strlen(text), NULL));
}

struct given {
	struct cli cli;
	struct cli_config config;
	struct gs_err err;
	char flags[200];
	char *argv[12];
};

/* flags: parted by blanks; @ stands for the file. */
static bool
read_all(struct given *given, const char *flags)
{
	int argc = 0;

	memset(given, 0, sizeof(*given));
	(void)snprintf(given->flags, sizeof(given->flags), "%s", flags);
	given->cli.name = "test";
	given->cli.options = options;
	given->config.repeats = repeats;
	given->argv[argc++] = given->argv[0] = (char *)(uintptr_t) "test";
	for (char *word = strtok(given->flags, " "); word != NULL;
	     word = strtok(NULL, " ")) {
		assert_true(argc < 11);
		given->argv[argc++] = strcmp(word, "@") == 0 ? path : word;
	}
	cli_init(&given->cli, argc, given->argv);
	return cli_config_read(&given->config, &given->cli, "config", &given->err);
}

/* The settings as "name=value@place", parted by blanks; without the file's own. */
static void
expect(const struct given *given, const char *text)
{
	static const char places[] = "?FEC";
	struct gs_buf buf = GS_BUF_INIT;

	for (size_t i = 0; i < given->config.num; i++) {
		const struct cli_setting *setting = &given->config.settings[i];
		const char *name = options[setting->option].name;

		assert_non_null(setting->where);
		if (strcmp(name, "config") == 0)
			continue;
		gs_buf_printf(&buf, "%s%s=%s@%c", buf.len > 0 ? " " : "", name,
		    setting->value != NULL ? setting->value : "on",
		    places[setting->place]);
	}
	assert_string_equal(buf.len > 0 ? buf.data : "", text);
	gs_buf_fini(&buf);
}

static void
must_read(struct given *given, const char *flags)
{
	if (!read_all(given, flags))
		fail_msg("%s", given->err.text);
}

static void
end(struct given *given)
{
	gs_out_fini(&given->cli.out);
	cli_config_fini(&given->config);
}

static void
test_flags(void **state)
{
	struct given given;

	(void)state;
	must_read(&given,
	    "--window 5s -s a --window=6s --service b --allow-private rest");
	expect(&given, "service=a@C window=6s@C service=b@C allow-private=on@C");
	assert_string_equal(given.config.settings[0].where, "--service");
	assert_string_equal(given.argv[given.cli.at], "rest");
	end(&given);
	must_read(&given, "");
	expect(&given, "");
	end(&given);
}

static void
test_places(void **state)
{
	struct given given;

	(void)state;
	write_file("service = f1\nservice = f2\nwindow = 1s\nown-relay = ws://f\n"
		   "allow-private = true\n");
	must_read(&given, "--config @");
	expect(&given,
	    "service=f1@F service=f2@F window=1s@F own-relay=ws://f@F "
	    "allow-private=on@F");
	end(&given);
	(void)setenv("GRASP_SYNC_SERVICE", " e1  e2\n", 1);
	(void)setenv("GRASP_SYNC_OWN_RELAY", "ws://e e", 1);
	(void)setenv("GRASP_SYNC_ALLOW_PRIVATE", "false", 1);
	(void)setenv("GRASP_SYNCED", "not ours", 1);
	must_read(&given, "--config @ --window 3s");
	expect(&given, "service=e1@E service=e2@E own-relay=ws://e e@E window=3s@C");
	end(&given);
	must_read(&given, "--config @ -s c --allow-private");
	expect(&given,
	    "window=1s@F own-relay=ws://e e@E service=c@C "
	    "allow-private=on@C");
	end(&given);
}

/* Whatever order the environment has. */
static void
test_where(void **state)
{
	struct given given;
	char where[64];

	(void)state;
	write_file("# first\nwindow = 1s\n");
	(void)setenv("GRASP_SYNC_OWN_RELAY", "ws://e", 1);
	must_read(&given, "--config @");
	(void)snprintf(where, sizeof(where), "%s:2", path);
	assert_string_equal(given.config.settings[0].where, where);
	assert_string_equal(given.config.settings[1].where, "GRASP_SYNC_OWN_RELAY");
	end(&given);
}

static void
refuse_file(const char *text, const char *why)
{
	struct given given;

	write_file(text);
	assert_false(read_all(&given, "--config @"));
	assert_int_equal(given.err.code, GS_ECONFIG);
	assert_int_equal(strncmp(given.err.text, path, strlen(path)), 0);
	assert_string_equal(given.err.text + strlen(path), why);
	end(&given);
}

static void
test_bad_files(void **state)
{
	struct gs_buf why = GS_BUF_INIT;
	struct given given;

	(void)state;
	refuse_file("window = 1s\n\nwindows = 2s\n", ":3: windows: no such setting");
	refuse_file("--window = 1s\n", ":1: --window: no such setting");
	refuse_file("config = x\n", ":1: config: no such setting");
	refuse_file("print-config = true\n", ":1: print-config: no such setting");
	refuse_file("check-config = true\n", ":1: check-config: no such setting");
	refuse_file("help = true\n", ":1: help: no such setting");
	refuse_file("verbose = true\n", ":1: verbose: no such setting");
	refuse_file("\x1b[2J = true\n", ":1: \\x1b[2J: no such setting");
	refuse_file("window\n", ":1: window: no '=' behind it");
	refuse_file("window =\n", ":1: window: needs a value");
	refuse_file("allow-private = yes\n", ":1: allow-private: neither true nor false");
	gs_buf_printf(&why, ":3: window: given before, at %s:1", path);
	refuse_file("window = 1s\n\nwindow = 1s\n", why.data);
	gs_buf_fini(&why);
	assert_false(read_all(&given, "--config /nowhere/at/all"));
	assert_int_equal(given.err.code, GS_ECONFIG);
	end(&given);
	assert_false(read_all(&given, "--config -"));
	assert_int_equal(given.err.code, GS_ECONFIG);
	end(&given);
}

static void
refuse_variable(const char *name, const char *value, const char *why)
{
	struct given given;

	(void)setenv(name, value, 1);
	assert_false(read_all(&given, ""));
	assert_int_equal(given.err.code, GS_ECONFIG);
	assert_string_equal(given.err.text, why);
	end(&given);
	(void)unsetenv(name);
}

static void
test_bad_variables(void **state)
{
	(void)state;
	refuse_variable("GRASP_SYNC_NOTHING", "x", "GRASP_SYNC_NOTHING: no such setting");
	refuse_variable("GRASP_SYNC_", "x", "GRASP_SYNC_: no such setting");
	refuse_variable("GRASP_SYNC_window", "1s", "GRASP_SYNC_window: no such setting");
	refuse_variable("GRASP_SYNC_OWN-RELAY", "x",
	    "GRASP_SYNC_OWN-RELAY: no such setting");
	refuse_variable("GRASP_SYNC_CONFIG", "x", "GRASP_SYNC_CONFIG: no such setting");
	refuse_variable("GRASP_SYNC_WINDOW", "", "GRASP_SYNC_WINDOW: needs a value");
	refuse_variable("GRASP_SYNC_SERVICE", " ", "GRASP_SYNC_SERVICE: needs a value");
	refuse_variable("GRASP_SYNC_WINDOW", "1s\n2s",
	    "GRASP_SYNC_WINDOW: a control byte in its value");
	refuse_variable("GRASP_SYNC_ALLOW_PRIVATE", "1",
	    "GRASP_SYNC_ALLOW_PRIVATE: neither true nor false");
}

static void
test_reread(void **state)
{
	struct given given;
	const char *old;

	(void)state;
	write_file("window = 1s\nservice = f\n");
	must_read(&given, "--config @ --own-relay ws://c");
	expect(&given, "window=1s@F service=f@F own-relay=ws://c@C");
	old = given.config.settings[0].value;
	write_file("own-relay = ws://f\nservice = g\nservice = h\n");
	assert_true(cli_config_reread(&given.config, &given.err));
	expect(&given, "service=g@F service=h@F own-relay=ws://c@C");
	assert_string_equal(old, "1s");
	write_file("service = i\nwrong\n");
	assert_false(cli_config_reread(&given.config, &given.err));
	assert_non_null(strstr(given.err.text, ":2: wrong: no '='"));
	expect(&given, "service=g@F service=h@F own-relay=ws://c@C");
	end(&given);
}

/* What is written is read as the same. */
static void
test_written(void **state)
{
	struct gs_buf text = GS_BUF_INIT;
	struct given given;

	(void)state;
	write_file("window = \" \"\nallow-private=true\n");
	(void)setenv("GRASP_SYNC_SERVICE", "a #b \"c\"", 1);
	must_read(&given, "--config @ --own-relay= --print-config");
	cli_config_write(&given.config, &text);
	end(&given);
	clear_environment(NULL);
	assert_non_null(strstr(text.data, ":1\nwindow = \" \"\n"));
	assert_non_null(strstr(text.data, "# from GRASP_SYNC_SERVICE\nservice = a\n"));
	assert_non_null(strstr(text.data, "# from --own-relay\nown-relay = \"\"\n"));
	write_file(text.data);
	must_read(&given, "--config @");
	expect(&given,
	    "window= @F allow-private=on@F service=a@F service=#b@F "
	    "service=\"c\"@F own-relay=@F");
	end(&given);
	gs_buf_fini(&text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_flags, clear_environment),
		cmocka_unit_test_setup(test_places, clear_environment),
		cmocka_unit_test_setup(test_where, clear_environment),
		cmocka_unit_test_setup(test_bad_files, clear_environment),
		cmocka_unit_test_setup(test_bad_variables, clear_environment),
		cmocka_unit_test_setup(test_reread, clear_environment),
		cmocka_unit_test_setup(test_written, clear_environment),
	};

	return cmocka_run_group_tests(tests, make_file, remove_file);
}
