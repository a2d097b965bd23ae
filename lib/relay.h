/*
 * One relay, read once: name, vetted addresses, websocket, session and their timer
 * wired together.  Decides nothing that session decides.
 */
#ifndef GS_RELAY_H
#define GS_RELAY_H

#include "loop.h"
#include "session.h"
#include "url.h"

struct gs_relay_options {
	const struct gs_url *url; /* copied */
	bool allow_private; /* let the name stand for a loopback or private address */
	int64_t silence_ms; /* GS_SESSION_SILENCE_MS */
};

/* What kept the reading from being complete, besides what the filters' reports say. */
struct gs_relay_fault {
	const char
	    *name; /* "dns", "refused", "tls-expired", "http-429", ...; NULL: nothing */
	enum gs_code code;
	char text[128]; /* more of it for a person; "" if there is no more */
};

struct gs_relay_ops {
	/* A verified event, each id once; valid during the call, which may block. */
	void (*event)(const struct gs_event *event, void *arg);
	/* It is over.  To be freed only after gs_loop_run has returned. */
	void (*ended)(void *arg);
	void *arg;
};

struct gs_relay;
struct gs_relay *gs_relay_new(struct gs_loop *loop,
    const struct gs_relay_options *options, const struct gs_relay_ops *ops);
void gs_relay_free(struct gs_relay *relay); /* before its loop; hangs up, tells nobody */

/* The session, to add filters before gs_relay_dial and to read reports. */
struct gs_session *gs_relay_session(struct gs_relay *relay);
/* Looks the name up, which blocks: before gs_loop_run.  May call ended at once. */
void gs_relay_dial(struct gs_relay *relay);
/* Hangs up; ended follows at once. */
void gs_relay_stop(struct gs_relay *relay);
const struct gs_relay_fault *gs_relay_fault(const struct gs_relay *relay);
/* What an exit code says of filter i; GS_OK: complete. */
enum gs_code gs_relay_code(const struct gs_relay *relay, size_t i);

#endif
