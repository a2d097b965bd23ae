/*
 * The self-subscriber: when what is followed may have changed, and what became new.
 * Kinds 30617, 1617, 1618, 1619 and 1621 open a window, and 5, 62 and expiry, which
 * take away; never 30618.  The window is not extended.  Pure: the caller passes the
 * time, waits, and surveys the store when a window is over.
 */
#ifndef GS_WINDOW_H
#define GS_WINDOW_H

#include "batch.h"
#include "now.h"
#include "store.h"

#define GS_WINDOW_MS 5000 /* from the first event: v2 */

struct gs_window;

struct gs_window *gs_window_new(int64_t length_ms);
void gs_window_free(struct gs_window *window);
/* Of the windows that open from now on. */
void gs_window_set_length(struct gs_window *window, int64_t length_ms);

/* Is it a kind that changes what is followed? */
bool gs_window_is_cause(uint16_t kind);

/* Events that came: the first ones open the window, later ones are counted. */
void gs_window_note(struct gs_window *window, int64_t events, struct gs_now now);
bool gs_window_is_open(const struct gs_window *window);
/* Is the window over?  Then look once more, survey, and gs_window_take. */
bool gs_window_is_due(const struct gs_window *window, struct gs_now now);
/*
 * How long nothing will happen of itself: until the window is over, or the next of the
 * store's events expires; -1: for ever.  At most a minute, as clocks are set.
 */
int64_t gs_window_wait_ms(const struct gs_window *window, struct gs_now now);

/*
 * Notes what was stored and what expired since the last look.  The first look opens
 * the window: all that is there is new.  *is_newest false: look again in a moment.
 */
bool gs_window_look(struct gs_window *window, struct gs_store *store, struct gs_now now,
    bool *is_newest, struct gs_err *err) GS_MUST;

/* Closes the window without a batch; the events that it had. */
int64_t gs_window_close(struct gs_window *window);
/* Takes the state that the next batch is compared with; it must be sorted. */
void gs_window_set_state(struct gs_window *window, struct gs_state *state);
/*
 * Closes the window.  Takes the state that was found at its end and fills the empty
 * batch; false: nothing is new, and no number was used.
 */
bool gs_window_take(struct gs_window *window, struct gs_state *state,
    struct gs_batch *batch);
/* The state that was taken last, borrowed; NULL: none. */
struct gs_state *gs_window_state(const struct gs_window *window);

#endif
