/*
 * One relay, for as long as it is wanted: link, session and health wired together,
 * redialled when health says so.  Decides nothing that they decide.
 */
#ifndef GS_RELAY_H
#define GS_RELAY_H

#include "file.h"
#include "health.h"
#include "loop.h"
#include "resolve.h"
#include "session.h"
#include "url.h"

#define GS_RELAY_DIALS 3 /* failed in a row, and once gives up: DESIGN 2 */

struct gs_relay_options {
	const struct gs_url *url;     /* copied */
	struct gs_resolver *resolver; /* borrowed; NULL: a proxy looks names up */
	bool once;		      /* ends with the session, or when dials fail */
	bool undated;		      /* see session: our own relay */
	bool allow_private, is_insecure;
	int64_t silence_ms;	    /* GS_SESSION_SILENCE_MS */
	int64_t max_backoff_ms;	    /* caps every wait; 0: not */
	const struct gs_auth *auth; /* who we are; NULL: nobody.  Borrowed. */
};

/* What kept the reading from being complete, besides what the filters' reports say. */
struct gs_relay_fault {
	const char
	    *name; /* "dns", "refused", "tls-expired", "http-429", ...; NULL: nothing */
	enum gs_code code;
	char text[128]; /* more of it for a person; "" if there is no more */
};

struct gs_relay_ops {
	/* A verified event, each id once; valid during the call. */
	void (*event)(const struct gs_event *event, void *arg);
	/* Its state is another one: see the functions below.  May be NULL. */
	void (*changed)(void *arg);
	/* It is over.  To be freed only after gs_loop_run has returned. */
	void (*ended)(void *arg);
	void *arg;
};

struct gs_relay;
struct gs_relay *gs_relay_new(struct gs_loop *loop,
    const struct gs_relay_options *options, const struct gs_relay_ops *ops);
void gs_relay_free(struct gs_relay *relay); /* before its loop; hangs up, tells nobody */

/* The session, to add filters before gs_relay_dial and to read reports. */
struct gs_session *gs_relay_session(const struct gs_relay *relay);
const struct gs_url *gs_relay_url(const struct gs_relay *relay);
/* Once: begins to dial, from within the loop or before it runs. */
void gs_relay_dial(struct gs_relay *relay);
/* Hangs up; ended follows at once. */
void gs_relay_stop(struct gs_relay *relay);
/* Nothing is read from the relay until it is resumed, wherever it is. */
void gs_relay_pause(struct gs_relay *relay);
void gs_relay_resume(struct gs_relay *relay);

bool gs_relay_is_open(const struct gs_relay *relay);
/* How long until it is dialled; -1: it is open, being dialled, or over. */
int64_t gs_relay_wait_ms(const struct gs_relay *relay);
enum gs_health_status gs_relay_status(const struct gs_relay *relay);
/* The last one. */
const struct gs_relay_fault *gs_relay_fault(const struct gs_relay *relay);

/* --- what came of the reading --- */

size_t gs_relay_ended(const struct gs_relay *relay);	/* filters, in any way */
size_t gs_relay_complete(const struct gs_relay *relay); /* of them, complete */
/* GS_OK: all are complete; another one if all others agree, else GS_EINCOMPLETE. */
enum gs_code gs_relay_code(const struct gs_relay *relay);

/* Why filters are not complete, a line of text a cause.  lines: see below. */
typedef void gs_relay_cause_fn(const char *text, void *arg);
void gs_relay_each_cause(const struct gs_relay *relay, const uint64_t *lines,
    gs_relay_cause_fn *fn, void *arg);

/* A JSON line for each filter, with the line that it stood in; then one about all. */
void gs_relay_write_report(const struct gs_relay *relay, const uint64_t *lines,
    struct gs_out *out);
/* Adds "connected", or "dns: Name or service not known, again in 5 s". */
void gs_relay_write_state(const struct gs_relay *relay, struct gs_buf *buf);

#endif
