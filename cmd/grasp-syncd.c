/*
 * grasp-syncd: finds the repositories that list our service, follows all relays that they
 * list, and keeps what belongs to them.  Settings are read here; the work is daemon's.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli_config.h"
#include "cli_survey.h"
#include "daemon.h"
#include "httpd.h"
#include "mem.h"
#include "window.h"

#define MAX_WAIT_S (24 * 3600)
#define MAX_WINDOW_S 3600
#define COMPLAINT_BYTES 512
#define NAME_PREFIX "grasp-syncd: " /* of what a process of ours says */

enum {
	O_DB = CLI_SURVEY_NUM,
	O_STATE_FILE,
	O_LISTEN,
	O_DECISIONS,
	O_MAX_STORE,
	O_MAX_EVENTS_RELAY,
	O_MAX_BYTES_RELAY,
	O_MAX_EVENTS_REPO,
	O_WINDOW,
	O_TIMEOUT,
	O_MAX_BACKOFF,
	O_AUTH_KEY_FILE,
	O_CA_FILE,
	O_INSECURE,
	O_PROXY,
	O_LOG_FORMAT,
	O_LOG_LEVEL,
	O_CONFIG,
	O_PRINT_CONFIG,
	O_CHECK_CONFIG,
};

static const struct cli_option options[] = {
	CLI_SURVEY_OPTIONS,
	{ "db", 0, "DIR", "the store; made if it is missing" },
	{ "state-file", 0, "FILE",
	    "keep what is followed there, for the other commands" },
	{ "listen", 0, "ADDR",
	    "serve /metrics, /healthz, /readyz and /status there (127.0.0.1:PORT, "
	    "unix:PATH)" },
	{ "decisions", 0, "FILE",
	    "add a JSON line an event: what became of it, and why" },
	{ "max-store", 0, "SIZE", "take nothing in when the store is so large" },
	{ "max-events-relay", 0, "N",
	    "newly stored within a day from one relay (1000000); 0: any number" },
	{ "max-bytes-relay", 0, "SIZE",
	    "likewise, the size of their lines (2G); 0: any size" },
	{ "max-events-repo", 0, "N",
	    "newly stored within a day of one repository (100000); 0: any number" },
	{ "window", 0, "D", "how long changes are collected (5s)" },
	{ "timeout", 0, "D", "how long a relay may be silent (30s)" },
	{ "max-backoff", 0, "D", "never wait longer than that for a relay" },
	{ "auth-key-file", 0, "FILE",
	    "tell relays that ask who we are, with the secret key in FILE" },
	{ "ca-file", 0, "FILE", "trust the certificates in FILE, too" },
	{ "insecure", 0, NULL, "accept any certificate" },
	{ "proxy", 0, "URL", "dial through the HTTP proxy http://HOST:PORT" },
	{ "log-format", 0, "FORMAT", "text (the default) or json" },
	{ "log-level", 0, "LEVEL", "error, warning, info (the default) or debug" },
	{ "config", 0, "FILE", "read \"key = value\" lines; flags and environment win" },
	{ "print-config", 0, NULL, "print the settings as such a file, and end" },
	{ "check-config", 0, NULL, "say whether they are right, and end" },
	{ NULL, 0, NULL, NULL },
};

static const char *const repeats[] = { "service", "bootstrap", "deny", "own-url", NULL };

struct server {
	struct cli cli;
	struct cli_config config;
	/* The other one is in use until the daemon has taken this one over. */
	struct cli_survey surveys[2];
	struct cli_survey *survey;
	struct gs_daemon_settings settings;
	struct gs_auth *auth;
	const char *key_path;
	bool prints_config, checks_config;
};

/* --- settings --- */

static void
set_log_format(struct server *server, const char *value)
{
	if (strcmp(value, "json") != 0 && strcmp(value, "text") != 0)
		cli_usage(&server->cli, "--log-format %s: neither text nor json", value);
	server->settings.log.is_json = strcmp(value, "json") == 0;
}

static void
set_log_level(struct server *server, const char *value)
{
	if (!gs_log_level_parse(&server->settings.log.level, gs_str_of(value)))
		cli_usage(&server->cli,
		    "--log-level %s: not error, warning, info or debug", value);
}

static void
set_listen(struct server *server, const char *value)
{
	struct gs_err err;

	if (!gs_httpd_check(value, &err))
		cli_bad_value(&server->cli, "listen", value, &err);
	server->settings.listen = value;
}

static int64_t
wait_ms(const struct server *server, const char *option, const char *value, int64_t min_s,
    int64_t max_s)
{
	return 1000 * cli_duration_s(&server->cli, option, value, min_s, max_s);
}

static void
set_wait(struct server *server, int option, const char *value)
{
	struct gs_daemon_settings *settings = &server->settings;
	const char *name = options[option].name;

	if (option == O_WINDOW)
		settings->window_ms = wait_ms(server, name, value, 0, MAX_WINDOW_S);
	else if (option == O_TIMEOUT)
		settings->silence_ms = wait_ms(server, name, value, 1, MAX_WAIT_S);
	else
		settings->max_backoff_ms = wait_ms(server, name, value, 1, MAX_WAIT_S);
}

static void
set_option(struct server *server, int option, const char *value)
{
	struct gs_daemon_settings *settings = &server->settings;

	switch (option) {
	case O_DB:
		settings->dir = value;
		break;
	case O_STATE_FILE:
		settings->state_file = value;
		break;
	case O_LISTEN:
		set_listen(server, value);
		break;
	case O_DECISIONS:
		settings->decisions = value;
		break;
	case O_WINDOW:
	case O_TIMEOUT:
	case O_MAX_BACKOFF:
		set_wait(server, option, value);
		break;
	case O_AUTH_KEY_FILE:
		server->key_path = value;
		break;
	case O_CA_FILE:
		settings->net.ca_file = value;
		break;
	case O_INSECURE:
		settings->is_insecure = true;
		break;
	case O_PROXY:
		settings->net.proxy = value;
		break;
	case O_LOG_FORMAT:
		set_log_format(server, value);
		break;
	case O_LOG_LEVEL:
		set_log_level(server, value);
		break;
	case O_CONFIG:
		break;
	case O_PRINT_CONFIG:
		server->prints_config = true;
		break;
	case O_CHECK_CONFIG:
		server->checks_config = true;
		break;
	case O_MAX_STORE:
	case O_MAX_EVENTS_RELAY:
	case O_MAX_BYTES_RELAY:
	case O_MAX_EVENTS_REPO:
		(void)cli_set_policy(&server->cli, &server->survey->policy,
		    options[option].name, value);
		break;
	default:
		cli_survey_set(server->survey, option, value);
		break;
	}
}

/* Of all places; a wrong value ends the process. */
static void
apply_settings(struct server *server)
{
	struct gs_daemon_settings *settings = &server->settings;

	cli_survey_init(server->survey, &server->cli);
	server->survey->policy.caps = (struct gs_policy_caps){
		.relay_events = GS_POLICY_RELAY_EVENTS,
		.relay_bytes = GS_POLICY_RELAY_BYTES,
		.repo_events = GS_POLICY_REPO_EVENTS,
	};
	*settings = (struct gs_daemon_settings){
		.window_ms = GS_WINDOW_MS,
		.silence_ms = GS_SESSION_SILENCE_MS,
		.log = { .level = GS_LOG_INFO,
		    .name = "grasp-syncd",
		    .has_time = getenv("JOURNAL_STREAM") == NULL,
		    .fd = STDERR_FILENO },
	};
	settings->log.level = (enum gs_log_level)((int)GS_LOG_INFO +
	    (server->cli.loud > 0) - (server->cli.loud < 0));
	for (size_t i = 0; i < server->config.num; i++)
		set_option(server, server->config.settings[i].option,
		    server->config.settings[i].value);
	cli_survey_check(server->survey);
	if (settings->dir == NULL)
		cli_usage(&server->cli, "--db is needed");
	settings->policy = &server->survey->policy;
	settings->survey = server->survey->options;
}

static bool
load_key(struct server *server, struct gs_err *err)
{
	if (server->key_path == NULL)
		return true;
	server->auth = gs_auth_load(server->key_path, err);
	server->settings.auth = server->auth;
	return server->auth != NULL;
}

/* --- SIGHUP --- */

/* With its stderr in a pipe; -1: it could not be started. */
static pid_t
spawn_check(const struct server *server, int to)
{
	static char check[] = "--check-config";
	char **argv = gs_mem_new(((size_t)server->cli.argc + 2) * sizeof(*argv));
	posix_spawn_file_actions_t actions;
	pid_t pid = -1;

	argv[0] = server->cli.argv[0];
	argv[1] = check;
	memcpy(argv + 2, server->cli.argv + 1,
	    ((size_t)server->cli.argc - 1) * sizeof(*argv));
	if (posix_spawn_file_actions_init(&actions) == 0) {
		if (posix_spawn_file_actions_adddup2(&actions, to, STDERR_FILENO) != 0 ||
		    posix_spawn(&pid, "/proc/self/exe", &actions, NULL, argv, environ) !=
			0)
			pid = -1;
		(void)posix_spawn_file_actions_destroy(&actions);
	}
	free(argv);
	return pid;
}

/* The first line of what it says; the rest is read, so that it ends. */
static void
read_complaint(int from, char text[static COMPLAINT_BYTES])
{
	char rest[COMPLAINT_BYTES];
	size_t len = 0;
	ssize_t num;

	while ((num = read(from, rest, sizeof(rest))) > 0 || (num < 0 && errno == EINTR))
		for (ssize_t i = 0; i < num && len < COMPLAINT_BYTES - 1; i++)
			text[len++] = rest[i];
	text[len] = '\0';
	text[strcspn(text, "\n")] = '\0';
}

static const char *
without_name(const char *text)
{
	size_t len = sizeof(NAME_PREFIX) - 1;

	return strncmp(text, NAME_PREFIX, len) == 0 ? text + len : text;
}

/*
 * The settings are tried by a process of its own, as a wrong one ends the process that
 * reads it.  What it says is a line of our log, in our format.
 */
static bool
are_settings_right(const struct server *server)
{
	char text[COMPLAINT_BYTES] = "";
	int ends[2], status = -1;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) != 0)
		return false;
	pid = spawn_check(server, ends[1]);
	(void)close(ends[1]);
	if (pid > 0)
		read_complaint(ends[0], text);
	(void)close(ends[0]);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (status != 0 && text[0] != '\0')
		gs_log_line(&server->settings.log, GS_LOG_ERROR, NULL, "%s",
		    without_name(text));
	return status == 0;
}

static const struct gs_daemon_settings *
reload(void *arg)
{
	struct server *server = arg;
	struct gs_err err;

	if (!are_settings_right(server) || !cli_config_reread(&server->config, &err))
		return NULL;
	server->survey = &server->surveys[server->survey == server->surveys];
	cli_survey_fini(server->survey);
	apply_settings(server);
	return &server->settings;
}

/* --- main --- */

static int
print_config(struct server *server)
{
	struct gs_buf text = GS_BUF_INIT;

	cli_config_write(&server->config, &text);
	if (text.len > 0)
		(void)cli_line(&server->cli, text.data, text.len - 1);
	gs_buf_fini(&text);
	return cli_end(&server->cli, GS_OK, GS_OK);
}

static int
run(struct server *server)
{
	const struct gs_daemon_ops ops = { reload, server };
	struct gs_daemon *daemon;
	struct gs_err err;
	int code;

	if (!load_key(server, &err))
		return cli_fail(&server->cli, &err);
	daemon = gs_daemon_new(&server->settings, &ops, &err);
	if (daemon == NULL)
		return cli_fail(&server->cli, &err);
	code = (int)gs_daemon_run(daemon);
	gs_daemon_free(daemon);
	gs_auth_free(server->auth);
	return code;
}

int
main(int argc, char **argv)
{
	static struct server server = {
		.cli = { .name = "grasp-syncd",
		    .usage = "--service DOMAIN --db DIR [--bootstrap URL]... [options]",
		    .about = "Keeps a GRASP server's Nostr data complete.",
		    .options = options },
		.config = { .repeats = repeats },
		.survey = server.surveys,
	};
	struct gs_err err;
	int code;

	/* Each thread would keep what it has freed: once is enough. */
	(void)mallopt(M_ARENA_MAX, 1);
	cli_init(&server.cli, argc, argv);
	if (!cli_config_read(&server.config, &server.cli, "config", &err))
		return cli_fail(&server.cli, &err);
	if (server.cli.at < argc)
		cli_usage(&server.cli, "takes no operands");
	apply_settings(&server);
	if (server.prints_config)
		code = print_config(&server);
	else if (server.checks_config)
		code = GS_OK;
	else
		code = run(&server);
	cli_survey_fini(&server.surveys[0]);
	cli_survey_fini(&server.surveys[1]);
	cli_config_fini(&server.config);
	return code;
}
