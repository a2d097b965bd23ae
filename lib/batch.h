/*
 * What is new between two states, relay by relay, and the line of JSON that says so.
 * When it is time to look is window's.
 */
#ifndef GS_BATCH_H
#define GS_BATCH_H

#include "err.h"
#include "layers.h"
#include "state.h"

/* The longest line that is read: as a state file. */
#define GS_BATCH_BYTES (512u * 1024 * 1024)

/* What is new on one relay; lists sorted, each value once. */
struct gs_batch_relay {
	struct gs_str url;
	bool is_new; /* the relay itself */
	struct gs_str *repos;
	size_t num_repos, cap_repos;
	uint8_t (*roots)[32];
	size_t num_roots, cap_roots;
};

/* All zeroes is an empty one.  The strings are its own. */
struct gs_batch {
	int64_t number;		       /* from 1 */
	int64_t opened_at;	       /* seconds since 1970 */
	int64_t events;		       /* that made it */
	struct gs_batch_relay *relays; /* by URL */
	size_t num_relays, cap_relays;
	struct gs_str *removed_relays, *removed_repos;
	size_t num_removed_relays, cap_removed_relays;
	size_t num_removed_repos, cap_removed_repos;
};

void gs_batch_fini(struct gs_batch *batch);

/*
 * Adds to an empty batch what after has and before (NULL: nothing) has not, both
 * sorted.  A root is new on a relay if no repository there had it.  A repo counts as
 * removed when no relay has it any more.
 */
void gs_batch_compare(struct gs_batch *batch, const struct gs_state *before,
    const struct gs_state *after);
/* Nothing is new and nothing was removed. */
bool gs_batch_is_empty(const struct gs_batch *batch);

/* Adds the JSON object, without a newline; the same batch gives the same bytes. */
void gs_batch_write(const struct gs_batch *batch, struct gs_buf *buf);
/*
 * Reads one into an empty batch; false and GS_EDATA with the place for anything else,
 * then the batch is empty still.  Relays are canonical in the result; unknown members
 * are passed over.
 */
bool gs_batch_parse(struct gs_batch *batch, const char *text, size_t len,
    struct gs_err *err) GS_MUST;

/*
 * Each batch of a file ("-" is stdin), a line at a time, so that it can stand behind a
 * watch; fn false stops.  Bad lines are told, blank ones
 * skipped.  False: the file can't be read.
 */
typedef bool gs_batch_fn(const struct gs_batch *batch, void *arg);
typedef void gs_batch_bad_fn(uint64_t line, const char *why, void *arg);
bool gs_batch_read(const char *path, gs_batch_fn *fn, gs_batch_bad_fn *bad, void *arg,
    struct gs_err *err) GS_MUST;

/*
 * The filters for what is new on the relay, as gs_layers_each gives them: layer 1 for
 * a new relay alone.
 */
bool gs_batch_layers(const struct gs_batch_relay *relay,
    const struct gs_layers_options *options, gs_layers_fn *fn, void *arg);

#endif
