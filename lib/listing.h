/*
 * What a relay is asked, as lines of JSON in one of three forms: each filter, packed
 * REQ frames, or one list.  Which filters there are is layers' and batch's.
 */
#ifndef GS_LISTING_H
#define GS_LISTING_H

#include "filter.h"
#include "pack.h"

enum gs_listing_form {
	GS_LISTING_FILTERS,
	GS_LISTING_REQ,
	GS_LISTING_ARRAY,
};

struct gs_listing_options {
	enum gs_listing_form form;
	struct gs_pack_limits limits; /* of GS_LISTING_REQ */
	bool is_bare; /* what is asked stands alone, else in an object with its relay */
	/* A line without its newline, valid during the call.  False stops. */
	bool (*line)(const char *text, size_t len, void *arg);
	void *arg;
};

/* left_out: filters of a single value that fit no frame. */
struct gs_listing_counts {
	size_t filters, messages, bytes, left_out;
};

struct gs_listing;
struct gs_listing *gs_listing_new(const struct gs_listing_options *options);
void gs_listing_free(struct gs_listing *listing);

/* Begins a relay; its URL is borrowed until the end. */
void gs_listing_begin(struct gs_listing *listing, struct gs_str url);
/* A gs_layers_fn: listing is the arg.  False: a line did. */
bool gs_listing_add(unsigned layer, const struct gs_filter *filter, void *listing);
/* Ends the relay: what was held back, and what it came to.  False: a line did. */
bool gs_listing_end(struct gs_listing *listing, struct gs_listing_counts *counts);

#endif
