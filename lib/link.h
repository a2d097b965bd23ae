/*
 * One connection to a relay, from its name to its end: vetted addresses one after the
 * other, websocket, NIP-11 document.  When to connect and what to say are its owner's.
 */
#ifndef GS_LINK_H
#define GS_LINK_H

#include "loop.h"
#include "resolve.h"
#include "url.h"
#include "ws.h"

#define GS_LINK_DIAL_MS 15000 /* from the look-up to open: DESIGN 6 */

struct gs_link_options {
	const struct gs_url *url;     /* borrowed */
	struct gs_resolver *resolver; /* borrowed; NULL: a proxy looks names up */
	bool allow_private, is_insecure;
};

struct gs_link_end {
	struct gs_ws_end ws; /* name: also "dns", "address"; "crowded": see may_connect */
	char text[128];	     /* more of it for a person, or "" */
};

struct gs_link_ops {
	/*
	 * Before each address (numeric).  False: not this one.  NULL: any.  It leaves the
	 * link alone; all others may free it.
	 */
	bool (*may_connect)(const char *address, void *arg);
	void (*opened)(void *arg);
	/* The NIP-11 document, after opened, once a day; ptr NULL: none. */
	void (*document)(struct gs_str document, void *arg);
	void (*message)(const char *text, size_t len, void *arg);
	void (*pong)(void *arg);
	/* Not asked while the document is being fetched. */
	bool (*next_frame)(struct gs_buf *frame, void *arg);
	/* Always, once, and last, also without opened: a new gs_link_dial may follow. */
	void (*ended)(const struct gs_link_end *end, void *arg);
	void *arg;
};

/* May be dialled again and again, one connection at a time. */
struct gs_link;
struct gs_link *gs_link_new(struct gs_loop *loop, const struct gs_link_options *options,
    const struct gs_link_ops *ops);
void gs_link_free(struct gs_link *link); /* before its loop; nothing is called any more */
/* is_kept: see gs_resolver_ask.  Only when idle: new, or ended. */
void gs_link_dial(struct gs_link *link, bool is_kept);
void gs_link_want_write(struct gs_link *link);
/* Nothing is read until it is resumed; also before it is open, and over connections. */
void gs_link_pause(struct gs_link *link);
void gs_link_resume(struct gs_link *link);
/* How long it has been paused since this was asked last, while open; 0 if it is not. */
int64_t gs_link_take_paused_ms(struct gs_link *link);
/* Says goodbye, or stops dialling; ended follows, later. */
void gs_link_close(struct gs_link *link);
bool gs_link_is_open(const struct gs_link *link);

#endif
