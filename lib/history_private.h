/* The reading of one filter: its cursor, and what a page proves.  For history alone. */
#ifndef GS_HISTORY_PRIVATE_H
#define GS_HISTORY_PRIVATE_H

#include "history.h"
#include "map.h"

/* What the page that is being read has brought to this filter. */
struct gs_reading_page {
	uint64_t matched; /* frames inside the window, repeated ones too */
	uint64_t own;	  /* events among them that were sent for no other filter */
	uint64_t fresh;	  /* events among them, first seen in this reading */
	int64_t oldest_own, last_own; /* dates; -1: none */
	int64_t limit;		      /* that was asked with */
	bool is_outside;	      /* a frame lay outside the window */
	bool is_ambiguous;	      /* it did, but another filter has asked for it */
	bool is_disordered;	      /* an own frame was newer than the one before */
};

/* A narrower filter, to read one second that is denser than a page. */
struct gs_reading_part {
	struct gs_filter filter; /* a view into the reading's filter */
	struct gs_filter_tag *tags;
};

/*
 * What is told of one filter; its reading may be in pieces.  There are many of these,
 * and few that are being asked for: readings are made then.
 */
struct gs_history_item {
	struct gs_filter filter; /* as it was given */
	struct gs_history_report report;
	struct gs_history_item *next; /* of those that wait for a request */
	int64_t since_s;	      /* of the reading */
	uint32_t number;
	uint32_t num_pieces; /* that are being read */
	enum gs_end worst;   /* of those that were */
	bool is_alone;	     /* wants no company in its REQs */
};

struct gs_reading {
	struct gs_history_item *item;
	struct gs_filter filter;    /* a view into the item's, with our own since */
	struct gs_filter_tag *tags; /* of a piece, else NULL */
	const struct gs_limits *limits;
	enum gs_end end;
	char *reason; /* GS_END_CLOSED */

	int64_t until; /* cursor, inclusive; -1: none yet.  All above it was seen. */
	struct gs_map *seen;	 /* id -> struct seen; those that may come again */
	size_t prune_at;	 /* so many of them: let go of what can't come again */
	uint64_t fresh, invalid; /* as in the report, of this piece */
	uint64_t page_number;
	struct gs_reading_page page;

	struct gs_reading_part *parts; /* still to be asked for, the last one first */
	size_t num_parts, cap_parts;
	uint64_t parts_from; /* page number of the first part */

	bool is_doubtful; /* stepped below a second that may be cut: is there more? */
	bool has_loss;
};

/* One REQ. */
struct gs_request {
	struct gs_reading *readings[GS_HISTORY_FILTERS];
	size_t num;
	bool is_asked;	  /* waiting for its answer */
	uint64_t frames;  /* of the page, all that came */
	uint64_t matched; /* events of the page that fitted a filter */
};

struct gs_history {
	const struct gs_limits *limits;
	struct gs_history_item **items;
	size_t num, cap;
	size_t left;			      /* items that are being read */
	struct gs_history_item *first, *last; /* wait for a request */
	struct gs_reading *peeked;	      /* of the first one; NULL: not made yet */
	size_t *ended;			      /* items, not yet told */
	size_t num_ended, cap_ended;
	struct gs_request **requests;
	size_t num_requests, cap_requests;
	uint64_t longest, longest_one; /* see struct gs_reading_answer */
};

/* Takes a reading that has its end: tells its item and frees it. */
void gs_history_settle(struct gs_history *history, struct gs_reading *reading);
void gs_history_drop_request(struct gs_history *history, struct gs_request *request);

/* What is known of the relay's answers when a page is judged. */
struct gs_reading_answer {
	uint64_t frames;      /* of the page, all that came */
	bool is_finish;	      /* NIP-67 */
	bool is_shared;	      /* several filters in the REQ */
	uint64_t longest;     /* page of this relay, in frames that matched */
	uint64_t longest_one; /* as many it gave for one filter of a page, at the least */
};

enum gs_reading_next {
	GS_READING_AGAIN,   /* has moved on: ask for the next page */
	GS_READING_SETTLED, /* shared: nothing new, nothing cut; ends with the others */
	GS_READING_LONG,    /* shared: nothing new, perhaps cut; then asked alone */
	GS_READING_ALONE,   /* shared: contradicts itself; ask alone at once */
	GS_READING_ENDED,
};

/* From the item's since_s on.  item and limits are borrowed. */
struct gs_reading *gs_reading_new(struct gs_history_item *item,
    const struct gs_limits *limits);
void gs_reading_free(struct gs_reading *reading);
/* Half of what is left of a reading; NULL: its filter can't be cut. */
struct gs_reading *gs_reading_halve(const struct gs_reading *reading, bool is_second);

/* Adds the filter to ask for now. */
void gs_reading_write(const struct gs_reading *reading, struct gs_buf *buf);
void gs_reading_begin_page(struct gs_reading *reading);

enum gs_reading_fit {
	GS_READING_FOREIGN,
	GS_READING_INSIDE,
	GS_READING_OUTSIDE, /* but inside the filter as it was given */
	GS_READING_BEYOND,  /* outside that too */
};
enum gs_reading_fit gs_reading_fit(const struct gs_reading *reading,
    const struct gs_event *event);

/*
 * Counts a frame that fits inside; is_own: it matches no other filter of the REQ, even
 * outside that one's window.  True: it is the first time on this page.
 */
bool gs_reading_take(struct gs_reading *reading, const struct gs_event *event,
    bool is_own, bool is_valid);

/* Judges a page that EOSE ended, moves the cursor. */
enum gs_reading_next gs_reading_judge(struct gs_reading *reading,
    const struct gs_reading_answer *answer);
/* Ends it: as finished, or as loss if there was one. */
void gs_reading_finish(struct gs_reading *reading);
void gs_reading_end(struct gs_reading *reading, enum gs_end end, struct gs_str reason);

#endif
