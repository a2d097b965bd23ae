/*
 * grasp-syncd: loop, links, engine, ingest, surveys and HTTP wired together.  Decides
 * nothing that they decide.
 */
#ifndef GS_DAEMON_H
#define GS_DAEMON_H

#include "engine.h"
#include "log.h"
#include "loop.h"
#include "policy.h"
#include "survey.h"

struct gs_daemon_settings {
	const char *dir;	/* of the store; made if it is missing */
	const char *state_file; /* NULL: none */
	const char *listen;	/* of HTTP; NULL: nowhere */
	const char *decisions;	/* a file, appended to; NULL: none */
	const struct gs_policy *policy;
	struct gs_survey_options survey; /* without now_s, explain, cut */
	const struct gs_auth *auth;	 /* NULL: nobody */
	struct gs_loop_net net;
	bool is_insecure;
	int64_t window_ms, silence_ms;
	int64_t max_backoff_ms; /* 0: no cap beyond DESIGN's */
	struct gs_log log;
};

struct gs_daemon_ops {
	/*
	 * SIGHUP: the settings anew, valid until the call after the next one (they are in
	 * use while others are read), or NULL: something is wrong with them, the old ones
	 * stay.  What can only be set at the start stays as it was: all but policy,
	 * survey, state_file, window_ms and log.
	 */
	const struct gs_daemon_settings *(*reload)(void *arg);
	void *arg;
};

struct gs_daemon;
/* settings and what they point to are borrowed. */
struct gs_daemon *gs_daemon_new(const struct gs_daemon_settings *settings,
    const struct gs_daemon_ops *ops, struct gs_err *err) GS_MUST;
/*
 * Until SIGTERM or SIGINT; a second one ends the process at once.  GS_OK: all is saved;
 * else why it had to end.
 */
enum gs_code gs_daemon_run(struct gs_daemon *daemon);
void gs_daemon_free(struct gs_daemon *daemon);

#endif
