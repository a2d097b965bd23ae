/*
 * What the parts of the test relay share: its script, its events, its connections.
 * The script is what a test wants of the relay; it is described in README.
 */
#ifndef FAKERELAY_H
#define FAKERELAY_H

#include <jv.h>
#include <libwebsockets.h>
#include <stdio.h>

#include "filter.h"
#include "json.h"

#define FAKE_NEVER INT64_MAX

/* ---- events */

struct fake_event {
	struct gs_event event;
	char *line;
	size_t len;
	uint64_t sent; /* number of the REQ that it went out for last */
};

/* Newest first, then by id.  Events stay where they are until the end. */
struct fake_store {
	struct fake_event **events;
	size_t num, cap;
	FILE *served; /* gets each event, also those that come later; or NULL */
};

enum fake_order {
	FAKE_NEWEST, /* as NIP-01 wants it */
	FAKE_OLDEST, /* the oldest first, and of those as many as the limit says */
	FAKE_TURNED, /* the newest, but the oldest of them first */
};

/* ---- what a script says */

/* When a rule may act. */
enum fake_moment {
	FAKE_AT_OPEN,
	FAKE_AT_REQ,
	FAKE_AT_EVENT, /* before an EVENT frame goes out */
	FAKE_AT_EOSE,
	FAKE_AT_CLOSE,
	FAKE_AT_PUBLISH,
	FAKE_MOMENTS,
};

enum fake_verb {
	FAKE_SEND,	/* text as a frame; number: how often */
	FAKE_RAW,	/* text as bytes on the socket, unframed */
	FAKE_STALL,	/* nothing for number ms */
	FAKE_DRIP,	/* from here on a byte each number ms */
	FAKE_FRAGMENT,	/* from here on frames in pieces of number bytes */
	FAKE_PING,	/* number of them */
	FAKE_BYE,	/* a close frame with code number */
	FAKE_FIN,	/* the socket ends without a word */
	FAKE_RST,	/* the same, the hard way */
	FAKE_STRAY,	/* number events that nobody asked for */
	FAKE_CORRUPT,	/* the event that is due, as text says */
	FAKE_CHALLENGE, /* AUTH with that text */
	FAKE_SKIP,	/* leaves out what is due */
};

struct fake_action {
	enum fake_verb verb;
	struct gs_buf text;
	int64_t number;
	int64_t fill; /* how often fill_text stands in for $FILL */
	struct gs_buf fill_text;
};

struct fake_actions {
	struct fake_action *list;
	size_t num;
};

struct fake_rule {
	enum fake_moment moment;
	int64_t nth, every;   /* such moment of the connection; 0: any */
	int64_t connection;   /* 0: any */
	int64_t connections;  /* the first so many; 0: all */
	int64_t kind;	      /* of a filter or a published event; -1: any */
	int64_t filters_over; /* the REQ has more; -1: any */
	int64_t times;	      /* at most */
	int64_t fired;
	struct fake_actions actions;
};

/* What is over max is refused. */
struct fake_limit {
	int64_t max;
	const char *by; /* "NOTICE", "CLOSED" or "close" */
	struct gs_buf text;
};

/* What a request for a websocket is answered with instead. */
struct fake_answer {
	int64_t times;
	int64_t drip_ms;
	bool is_stalled; /* the socket stays open without an answer */
	struct gs_buf text;
};

/* What happens at a moment after the first connection was opened. */
struct fake_later {
	int64_t at_ms;
	struct gs_buf event; /* empty: actions */
	struct fake_actions actions;
	bool is_done;
};

struct fake_script {
	int64_t page;	       /* events a filter */
	int64_t total;	       /* events a REQ */
	int64_t default_limit; /* of a filter without */
	enum fake_order order;
	bool ignores_until, ignores_since, ignores_limit, ignores_all;
	struct fake_limit subscriptions, filters, message, limit, subid;
	const char *sub; /* all answers to REQs are for this one */
	bool eose_first, eose_twice, eose_never;
	bool keeps; /* what was published */
	bool needs_auth;
	const char *challenge; /* sent at open */
	const char *auth_text; /* of refusals */
	const char *nip11;     /* document, or NULL */
	int64_t nip11_status;
	bool nip11_stalls;
	int64_t refuse; /* connections that are dropped at once */
	int64_t listen_after_ms;
	struct fake_rule *rules;
	size_t num_rules;
	struct fake_answer *answers;
	size_t num_answers;
	struct fake_later *laters;
	size_t num_laters;
};

/* ---- connections */

/* Something that waits for the socket. */
struct fake_item {
	enum fake_verb verb;
	int64_t number;
	char *text; /* of an event: the frame up to it */
	size_t len;
	const struct fake_event *event;
};

struct fake_sub {
	char *id;
	struct gs_filter *filters;
	size_t num;
};

struct fake_connection {
	struct fake_connection *next;
	struct fake_relay *relay;
	struct lws *wsi;
	uint64_t number;
	int64_t counts[FAKE_MOMENTS];
	struct gs_buf message; /* reassembled */
	struct fake_sub *subs;
	size_t num_subs, cap_subs;
	char *challenge;
	bool is_known; /* authenticated */

	struct fake_item *items;
	size_t num_items, cap_items, next_item;
	struct gs_buf out; /* LWS_PRE bytes, then what is being sent */
	size_t out_at;	   /* of what stands behind LWS_PRE */
	bool out_is_raw;
	int64_t fragment, drip_ms, resume_ms;
};

/* A socket that was taken from libwebsockets. */
struct fake_raw {
	int fd;
	char *text;
	size_t len, at;
	int64_t drip_ms, due_ms;
};

struct fake_relay {
	struct fake_script script;
	struct fake_store store;
	struct lws_context *context;
	int64_t port;
	FILE *log;	/* or NULL */
	int control_fd; /* or -1 */
	struct gs_buf control;
	int64_t began_ms, opened_ms; /* -1: none was opened yet */
	uint64_t connections, reqs;
	int64_t refused;
	struct fake_connection *first;
	struct fake_raw *raws;
	size_t num_raws, cap_raws;
};

/* The frame that a rule is about. */
struct fake_about {
	const char *sub; /* or NULL */
	const struct gs_filter *filters;
	size_t num;
	const struct gs_event *event; /* published */
};

/* ---- fakerelay.c */
_Noreturn void fake_die(const char *what);
int64_t fake_now_ms(void);
/* A line of the log: "members" of a JSON object; connection 0: none. */
void fake_log(const struct fake_relay *relay, uint64_t connection, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- fakerelay_store.c */
void fake_store_load(struct fake_store *store, const char *path);
/* Takes the line of an event; NULL if it is none; the same one if it was there. */
struct fake_event *fake_store_add(struct fake_store *store, struct gs_str line,
    bool *is_new);
/* Signs events: {"count","ago"|"at","step","kind","seed","bytes","tags"}. */
void fake_store_make(struct fake_store *store, jv what,
    void (*made)(struct fake_event *event, void *arg), void *arg);
/* At start: to the file of what is served. */
void fake_store_print(const struct fake_store *store);
/* The newest event that no filter matches, or NULL. */
const struct fake_event *fake_store_stray(const struct fake_store *store,
    const struct fake_about *about);

/* ---- fakerelay_script.c */
void fake_script_init(struct fake_script *script);
/* Also adds its events to the store. */
void fake_script_read(struct fake_relay *relay, const char *path);
/* The integer under key, if there is one. */
int64_t fake_number(jv object, const char *key, int64_t otherwise);

/* ---- fakerelay_rule.c */
struct fake_rule *fake_rule_add(struct fake_script *script, enum fake_moment moment);
/* Adds an action; text may be NULL. */
struct fake_action *fake_action_add(struct fake_actions *actions, enum fake_verb verb,
    int64_t number, const char *text);
/* A list of objects of one action each, as in "do". */
void fake_actions_read(struct fake_actions *actions, jv list);
void fake_rules_read(struct fake_script *script, jv list);
/* A moment came: what its rules want is queued; false: what is due is left out. */
bool fake_rules_act(struct fake_connection *connection, enum fake_moment moment,
    const struct fake_about *about, struct fake_item *due);
bool fake_actions_do(struct fake_connection *connection,
    const struct fake_actions *actions, const struct fake_about *about,
    struct fake_item *due);

/* ---- fakerelay_wire.c */
void fake_wire_push(struct fake_connection *connection, enum fake_verb verb,
    int64_t number, const struct gs_buf *text);
/* ["VERB","sub","text"]; sub and text may be NULL. */
void fake_wire_answer(struct fake_connection *connection, const char *verb,
    const char *sub, const char *text);
void fake_wire_event(struct fake_connection *connection, const char *sub,
    const struct fake_event *event, const struct fake_about *about);
/* For libwebsockets: sends what is next; -1 ends the connection. */
int fake_wire_write(struct fake_connection *connection);
void fake_wire_fini(struct fake_connection *connection);

/* ---- fakerelay_raw.c */
/* Takes the socket away from libwebsockets, which goes on with a dead one. */
int fake_raw_take(struct lws *wsi);
void fake_raw_reset(int fd);
/* Sends text by and by on a socket of its own; drip_ms 0: at once. */
void fake_raw_add(struct fake_relay *relay, int fd, struct gs_str text, int64_t drip_ms);
void fake_raw_tick(struct fake_relay *relay, int64_t now_ms);

/* ---- fakerelay_serve.c */
void fake_serve_open(struct fake_connection *connection);
void fake_serve_message(struct fake_connection *connection);
/* A new event: to all who asked for it. */
void fake_serve_live(struct fake_relay *relay, const struct fake_event *event);
void fake_serve_fini(struct fake_connection *connection);

/* ---- fakerelay_publish.c */
/* The rest of ["EVENT",{}] or ["AUTH",{}]. */
void fake_publish(struct fake_connection *connection, struct gs_json *json, bool is_auth);

/* ---- fakerelay_later.c */
void fake_later_start(struct fake_relay *relay);

/* ---- fakerelay_http.c */
/* Both answer what libwebsockets wants to hear: -1 hangs up. */
int fake_http_document(struct fake_relay *relay, struct lws *wsi);
int fake_http_upgrade(struct fake_relay *relay, struct lws *wsi);

#endif
