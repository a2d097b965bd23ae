/*
 * What the parts of the relay farm share.  One process serves as many relays as asked on
 * one port of 127.0.0.1, told apart by path, all from one set of events: who is tested
 * is to be the slow one.  README.farm describes it.
 */
#ifndef FARM_H
#define FARM_H

#include <sys/queue.h>

#include "filter.h"
#include "json.h"
#include "map.h"
#include "tools/draft.h"
#include "tools/rng.h"

#define FARM_INDEXED "aAqeE" /* tags */
#define FARM_BOOT "boot"     /* the relay that has all announcements */
#define FARM_PEOPLE 16	     /* who writes what is made at a rate */
#define FARM_SUB_BYTES 256   /* of a subscription's id, at most */
#define FARM_NAME_BYTES 128  /* of a relay's name */

/* ---- events */

/* The relays that hold an event: sorted numbers; each set is kept once. */
struct farm_set {
	size_t num;
	uint32_t relays[];
};

struct farm_event {
	uint8_t id[32];
	int64_t created_at;
	const char *line;
	size_t len;
	const struct farm_set *on;
	uint64_t sent;	  /* number of the REQ that it went out for last */
	int64_t live_ms;  /* when it was made at a rate; 0: it was not */
	int64_t asked_ms; /* when a filter named it first; 0: none did */
	uint16_t kind;
	bool is_replaced;
};

struct farm_list {
	struct farm_event **events;
	size_t num, cap;
};

struct farm_repo {
	char *ref;
	struct farm_event *announcement;
	const struct farm_set *on;
};

/* ---- relays and who asks them */

enum farm_mode {
	FARM_UP,
	FARM_DOWN, /* hangs up on everybody */
	FARM_HOLE, /* takes connections, and says nothing */
};

struct farm_counts {
	uint64_t opened, documents, reqs, filters, unbounded, closes, sent, refused;
	int64_t since_min, since_max;			    /* of filters; -1: none */
	int64_t first_req_ms, first_eose_ms, first_live_ms; /* wall clock; 0: none yet */
};

struct farm_relay {
	char name[FARM_NAME_BYTES];
	uint32_t number;
	enum farm_mode mode;
	bool is_inventing;
	struct farm_counts counts;
	struct farm_list all;
	struct gs_map *kinds; /* "kind" as text: struct farm_list * */
	LIST_HEAD(, farm_connection) connections;
};

/* What is still to be sent for a REQ, or an event that came. */
struct farm_answer {
	STAILQ_ENTRY(farm_answer) next;
	char sub[FARM_SUB_BYTES];
	struct farm_event **events;
	size_t num, at;
	bool has_eose, is_closed;
	struct farm_invention *invention; /* or events that are made while they go out */
};

struct farm_sub {
	char id[FARM_SUB_BYTES];
	struct gs_filter *filters;
	size_t num;
};

enum farm_phase {
	FARM_HEAD, /* of the HTTP request */
	FARM_OPEN,
	FARM_HELD,   /* never answered */
	FARM_ENDING, /* once all is sent */
};

struct farm_connection {
	LIST_ENTRY(farm_connection) next;
	struct farm *farm;
	struct farm_relay *relay; /* NULL until the path is known */
	int fd;
	enum farm_phase phase;
	bool is_armed; /* we wait until it takes more */
	struct gs_buf in, message, out;
	size_t out_at;
	int64_t budget; /* events that it may still send in this tick */
	struct farm_sub *subs;
	size_t num_subs, cap_subs;
	STAILQ_HEAD(, farm_answer) answers;
};

/* ---- all of it */

struct farm_options {
	int64_t port, page, max_subscriptions, max_filters, max_message;
	bool has_document;
	const char *service;
};

/* New events, so many a second. */
struct farm_rate {
	int64_t per_s, root_each; /* one of so many is a root, the others are comments */
	int64_t begin_ms, end_ms; /* monotonic */
	int64_t made;		  /* since begin_ms */
};

struct farm {
	struct farm_options options;
	int poll_fd, listen_fd;
	FILE *log;
	struct farm_relay **relays;
	size_t num_relays, cap_relays;
	struct farm_list all;
	struct gs_map *names;	  /* relays */
	struct gs_map *ids;	  /* events, by their 32 bytes */
	struct gs_map *tags;	  /* letter and value: struct farm_list * */
	struct gs_map *sets;	  /* struct farm_set *, by its numbers */
	struct gs_map *refs;	  /* struct farm_repo * */
	struct gs_map *addresses; /* newest version of what is replaced */
	struct farm_repo **repos;
	size_t num_repos, cap_repos;
	struct farm_list roots;
	uint64_t reqs, homeless; /* events that no relay holds */

	struct rng rng;
	struct draft draft;
	struct signer people[FARM_PEOPLE];
	struct farm_rate rate;
	int64_t next_tick_ms;
	int64_t pace;	       /* events a connection and tick, 0: any number */
	struct gs_buf command; /* what came of a control line */
};

_Noreturn void farm_die(const char *what);
int64_t farm_wall_ms(void);

/* ---- farm_world.c: what there is */

void farm_world_init(struct farm *farm);
struct farm_relay *farm_world_relay(struct farm *farm, const char *name, size_t len);
const struct farm_set *farm_world_set(struct farm *farm, uint32_t *relays, size_t num);
/*
 * Adds a copy of an event, where its repositories, or what it answers, are held; on, if
 * not NULL, says where instead.  NULL: it is there already, or is none.
 */
struct farm_event *farm_world_add(struct farm *farm, struct gs_str line,
    const struct farm_set *on);
/* How many events were added. */
size_t farm_world_load(struct farm *farm, const char *path, struct gs_err *err);
void farm_list_add(struct farm_list *list, struct farm_event *event);
bool farm_is_newer(const struct farm_event *a, const struct farm_event *b);
struct gs_str farm_key_kind(unsigned kind, char room[static 8]);
/* Lives until the next call with that room. */
struct gs_str farm_key_tag(struct gs_buf *room, char letter, struct gs_str value);
struct gs_str farm_key_id(const uint8_t *id);

/* ---- farm_find.c: what a filter gets */

/* Value i of a tag; hex is room for an id. */
struct gs_str farm_filter_value(const struct gs_filter_tag *tag, size_t i,
    char hex[static DRAFT_HEX]);
/* Events of a relay that a filter matches, newest first, as many as it may have. */
size_t farm_world_find(struct farm *farm, struct farm_relay *relay,
    const struct gs_filter *filter, struct farm_event ***found);

/* ---- farm_wire.c: sockets, HTTP and websockets */

void farm_wire_accept(struct farm *farm);
/* Reads and writes what can be; frees the connection if it has ended. */
void farm_wire_ready(struct farm_connection *connection, uint32_t events);
void farm_wire_text(struct farm_connection *connection, const char *text, size_t len);
/* There is more to send. */
void farm_wire_wake(struct farm_connection *connection);
/* It ends soon, in farm_wire_ready. */
void farm_wire_drop(struct farm_connection *connection);

/* ---- farm_http.c: the request */

/* A whole request is there.  False: hang up. */
bool farm_http_answer(struct farm_connection *connection, const char *head);

/* ---- farm_serve.c: NIP-01 */

void farm_serve_message(struct farm_connection *connection);
/* The next tick of a farm that sends slowly. */
void farm_serve_tick(struct farm *farm);
/* Puts what waits into the connection's buffer, as much as is good now. */
void farm_serve_fill(struct farm_connection *connection);
void farm_serve_live(struct farm *farm, struct farm_event *event);
void farm_serve_fini(struct farm_connection *connection);

/* ---- farm_invent.c: events that are made here */

/* A relay that has four events of every second, for whatever is asked. */
struct farm_invention *farm_invention_new(const struct farm *farm,
    const struct farm_relay *relay, const struct gs_filter *filter);
/* The next one, signed, in farm->draft.line; false: no more. */
bool farm_invention_next(struct farm *farm, struct farm_invention *invention);
void farm_rate_init(struct farm *farm, uint64_t seed);
void farm_rate_tick(struct farm *farm, int64_t now_ms);

/* ---- farm_control.c: what a test says while it runs */

void farm_control_read(struct farm *farm);

#endif
