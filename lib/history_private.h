/* The reading of one filter: its cursor, and what a page proves.  For history alone. */
#ifndef GS_HISTORY_PRIVATE_H
#define GS_HISTORY_PRIVATE_H

#include "history.h"
#include "map.h"

/* What the page that is being read has brought to this filter. */
struct gs_reading_page {
	uint64_t matched; /* frames inside the window, repeated ones too */
	uint64_t own;	  /* events among them that match no other filter of the REQ */
	uint64_t fresh;	  /* events among them, first seen in this reading */
	int64_t oldest_own, last_own; /* dates; -1: none */
	bool is_outside;	      /* a frame lay outside the window */
	bool is_disordered;	      /* an own frame was newer than the one before */
};

/* A narrower filter, to read one second that is denser than a page. */
struct gs_reading_part {
	struct gs_filter filter; /* a view into the reading's filter */
	struct gs_filter_tag *tags;
};

struct gs_reading {
	struct gs_history_report report;
	struct gs_filter filter; /* as it was given */
	int64_t until; /* cursor, inclusive; -1: none yet.  All above it was seen. */
	struct gs_map *seen; /* id -> struct seen; those that may come again */
	size_t prune_at;     /* so many of them: let go of what can't come again */
	uint64_t page_number;
	struct gs_reading_page page;

	struct gs_reading_part *parts; /* still to be asked for, the last one first */
	size_t num_parts, cap_parts;
	uint64_t parts_from; /* page number of the first part */

	bool is_doubtful; /* stepped below a second that may be cut: is there more? */
	bool has_loss;
};

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

void gs_reading_init(struct gs_reading *reading, struct gs_filter *takes);
void gs_reading_fini(struct gs_reading *reading);

/* Adds the filter to ask for now. */
void gs_reading_write(const struct gs_reading *reading, struct gs_buf *buf);
void gs_reading_begin_page(struct gs_reading *reading);
/* Is there anything to ask for at all: a limit of 0 or an empty window ends it. */
bool gs_reading_is_vain(const struct gs_reading *reading);

enum gs_reading_fit {
	GS_READING_FOREIGN,
	GS_READING_INSIDE,
	GS_READING_OUTSIDE, /* but inside the filter as it was given */
	GS_READING_BEYOND,  /* outside that too */
};
enum gs_reading_fit gs_reading_fit(const struct gs_reading *reading,
    const struct gs_event *event);

/*
 * Counts a frame that fits inside; is_own: no other filter of the REQ.  True: it is the
 * first time on this page.
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
