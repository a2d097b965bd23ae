/*
 * A session and a relay that talk in virtual time, over as many connections as
 * health allows; what came of it is noted, and the rules are checked at every step.
 */
#ifndef TALK_H
#define TALK_H

#include "health.h"
#include "map.h"
#include "mimic.h"
#include "session.h"
#include "wants.h"

#define TALK_EPOCH_S MIMIC_EPOCH_S

/* From at_s to back_s the relay is not there; then it comes back. */
struct talk_outage {
	int64_t at_s, back_s;
};

struct talk_arrival {
	int64_t at_ms;
};

struct talk_post {
	int64_t at_s; /* when the relay gets it */
	struct pool_event event;
};

/* What happens by itself, in order of time; borrowed. */
struct talk_script {
	const struct talk_outage *outages;
	size_t num_outages;
	const struct talk_post *posts;
	size_t num_posts;
};

enum talk_deed {
	TALK_DIALS,
	TALK_FAILS, /* no connection came about */
	TALK_OPENS,
	TALK_IS_ANSWERED, /* its first EOSE */
	TALK_IS_DROPPED,
	TALK_HANGS_UP, /* the session had enough */
};

struct talk;
typedef void talk_watch_fn(struct talk *talk, enum talk_deed deed, void *arg);

struct talk {
	struct mimic *mimic;
	struct gs_session *session;
	struct gs_limits limits;
	struct gs_health health;
	const struct pool *pool;
	const struct wants *wants;
	const struct talk_script *script;
	bool is_traced; /* frames are printed */

	int64_t now_ms;
	bool is_connected;
	size_t next_outage, next_post;
	int64_t pong_ms; /* when the next one comes */
	struct gs_buf frame;
	struct gs_map *got; /* ids as hex -> struct talk_arrival */
	uint64_t steps;
	int64_t read_until_s;
	bool has_answered; /* health was told of this connection's EOSE */
	char complaint[512];

	talk_watch_fn *watch; /* may be NULL */
	void *arg;
	void (*read_moved)(struct talk *talk, void *arg); /* read_until; may be NULL */
	void *read_arg;
};

/*
 * once, auth: see gs_session_options.  What the relay states is known from the
 * beginning.
 */
void talk_init(struct talk *talk, struct mimic *mimic, const struct mimic_ways *ways,
    bool once, const struct gs_auth *auth);
void talk_fini(struct talk *talk);
void talk_add(struct talk *talk, const struct wants *wants);

/* Until the session has done, or until then.  False: it went wrong (complaint). */
bool talk_run(struct talk *talk, int64_t until_s);

void talk_complain(struct talk *talk, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
bool talk_has(const struct talk *talk, const struct pool_event *event);
int64_t talk_arrival_ms(const struct talk *talk, const struct pool_event *event); /* -1 */
int64_t talk_wall_s(const struct talk *talk);

#endif
