/* What all commands share: options, messages to people, lines on stdout, exit codes. */
#ifndef GS_CLI_H
#define GS_CLI_H

#include <signal.h>

#include "err.h"
#include "file.h"
#include "policy.h"

/* --help is printed from this table; tests compare it with man pages and completions. */
struct cli_option {
	const char *name; /* long, without dashes; NULL ends the table */
	char letter;	  /* short, or 0 */
	const char *arg;  /* what it takes, such as "FILE", or NULL */
	const char *help; /* one line */
};

struct cli {
	const char *name;  /* of a subcommand: "PROGRAM SUBCOMMAND" */
	const char *usage; /* "[--option] ARG": behind the name; lines parted by \n */
	const char *about; /* one line */
	const struct cli_option *options;
	int loud;	   /* 0; -q lowers, -v raises */
	struct gs_out out; /* stdout */
	int argc;
	char **argv;
	int at;		     /* after cli_option said -1: index of the first operand */
	int64_t progress_ms; /* when progress was shown last; 0: never */
};

void cli_init(struct cli *cli, int argc, char **argv);
/*
 * The next option's index in the table, its value in *value; -1 at the end.  -h, -V,
 * -v, -q are done here; a wrong option ends the process with 64.
 */
int cli_option(struct cli *cli, const char **value);

/* Prints "NAME: text" and "Try 'NAME --help'", ends the process with 64. */
_Noreturn void cli_usage(const struct cli *cli, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Ends the process with 64 and "--option VALUE: why" of err. */
_Noreturn void cli_bad_value(const struct cli *cli, const char *option, const char *value,
    const struct gs_err *err);

/* Values that several commands take; a wrong one ends the process. */
int64_t cli_count(const struct cli *cli, const char *option, const char *value,
    int64_t min, int64_t max);
int64_t cli_duration_s(const struct cli *cli, const char *option, const char *value,
    int64_t min_s, int64_t max_s);
/* "4096", "64k", "20M", "2G" in bytes. */
int64_t cli_size(const struct cli *cli, const char *option, const char *value);
int64_t cli_time_s(const struct cli *cli, const char *option, const char *value);
void cli_add_service(const struct cli *cli, struct gs_policy *policy, const char *value);
void cli_add_own_url(const struct cli *cli, struct gs_policy *policy, const char *value);
/* --follow: "listed", "all" or a file. */
void cli_set_follow(const struct cli *cli, struct gs_policy *policy, const char *value);
/* --deny: a file. */
void cli_add_deny(const struct cli *cli, struct gs_policy *policy, const char *value);
/*
 * Any option of the policy by its name: those above, and max-store, max-events-relay,
 * max-bytes-relay, max-events-repo.  False: it is none of them.
 */
bool cli_set_policy(const struct cli *cli, struct gs_policy *policy, const char *option,
    const char *value);

/* "NAME: text" on stderr.  cli_say: unless -q.  cli_tell: only with -v. */
void cli_complain(const struct cli *cli, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void cli_say(const struct cli *cli, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void cli_tell(const struct cli *cli, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Complains and returns the code, for "return cli_fail(&cli, &err)". */
int cli_fail(const struct cli *cli, const struct gs_err *err);

/* Input lines that are left out: the first ones are told (all with -v), all counted. */
struct cli_bad {
	const struct cli *cli;
	const char *file;
	uint64_t count;
};
void cli_bad_line(struct cli_bad *bad, uint64_t number, const char *reason,
    const char *why);
void cli_bad_end(const struct cli_bad *bad);

/* One line of data.  False: stdout has failed; stop, and cli_end says what that means. */
bool cli_line(struct cli *cli, const char *data, size_t len);
bool cli_flush(struct cli *cli);
/*
 * Flushes stdout and says how to exit: code; 0 when the reader has closed it (closed:
 * another code for that); 74 with a complaint when it can't be written.
 */
int cli_end(struct cli *cli, int code, int closed);

/*
 * How far a long job has come: a line of its own on a terminal, overwritten by the
 * next one, at most five times a second; nothing elsewhere.
 */
void cli_progress(struct cli *cli, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * SIGINT and SIGTERM make this descriptor readable instead of ending the process;
 * before threads start, so that none of them gets the signals.  Released, the next
 * one ends the process.
 */
int cli_catch_signals(sigset_t *old);
void cli_release_signals(int fd, const sigset_t *old);

#endif
