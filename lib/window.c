/* The window of a batch, and what opens it.  The difference itself is batch's. */
#include "window.h"

#include <stdlib.h>

#include "event.h"
#include "mem.h"

#define MAX_WAIT_MS 60000 /* for an expiry: the wall clock may be set meanwhile */
#define MS_PER_S 1000
/* Of a store full of other things that expire: go on at the time of the last one. */
#define MAX_EXPIRING 1000

struct gs_window {
	int64_t length_ms;
	bool is_open;
	int64_t due_ms;	     /* monotonic */
	int64_t opened_at_s; /* wall */
	int64_t events;
	int64_t num_batches;
	struct gs_state *state;

	bool has_looked;
	uint64_t sequence;	/* up to which the store has been seen */
	int64_t looked_s;	/* what expired by then is noted */
	int64_t next_expiry_s;	/* when to look without being woken; -1: never */
	bool expiry_is_cause;	/* something that counts expires then */
	uint64_t announcements; /* that stood at the last look */
};

struct gs_window *
gs_window_new(int64_t length_ms)
{
	struct gs_window *window = gs_mem_new(sizeof(*window));

	window->length_ms = length_ms;
	window->next_expiry_s = -1;
	return window;
}

void
gs_window_free(struct gs_window *window)
{
	if (window == NULL)
		return;
	gs_state_free(window->state);
	free(window);
}

void
gs_window_set_length(struct gs_window *window, int64_t length_ms)
{
	window->length_ms = length_ms;
}

bool
gs_window_is_cause(uint16_t kind)
{
	return kind == GS_KIND_ANNOUNCEMENT || gs_kind_is_root(kind) ||
	    kind == GS_KIND_DELETION || kind == GS_KIND_VANISH;
}

/* --- the window --- */

void
gs_window_note(struct gs_window *window, int64_t events, struct gs_now now)
{
	if (!window->is_open) {
		window->is_open = true;
		window->due_ms = now.mono_ms + window->length_ms;
		window->opened_at_s = now.wall_s;
		window->events = 0;
	}
	window->events += events;
}

bool
gs_window_is_open(const struct gs_window *window)
{
	return window->is_open;
}

bool
gs_window_is_due(const struct gs_window *window, struct gs_now now)
{
	return window->is_open && now.mono_ms >= window->due_ms;
}

int64_t
gs_window_wait_ms(const struct gs_window *window, struct gs_now now)
{
	int64_t left_s;

	if (window->is_open)
		return now.mono_ms < window->due_ms ? window->due_ms - now.mono_ms : 0;
	if (window->next_expiry_s < 0)
		return -1;
	left_s = window->next_expiry_s - now.wall_s;
	if (left_s <= 0)
		return 0;
	return left_s < MAX_WAIT_MS / MS_PER_S ? left_s * MS_PER_S : MAX_WAIT_MS;
}

/* --- the store --- */

/* One look: at what was stored, then at what expires. */
struct look {
	struct gs_window *window;
	struct gs_now now;
	int64_t events;
	size_t num_expiring;
};

static bool
see_row(const struct gs_row *row, void *arg)
{
	struct look *look = arg;

	look->window->sequence = row->sequence;
	look->events += gs_window_is_cause(row->kind);
	return true;
}

/* A request that expires has done its work; the others take something with them. */
static bool
leaves_a_gap(uint16_t kind)
{
	return kind == GS_KIND_ANNOUNCEMENT || gs_kind_is_root(kind);
}

static bool
see_expiry(const struct gs_row *row, void *arg)
{
	struct look *look = arg;
	struct gs_window *window = look->window;
	bool counts = leaves_a_gap(row->kind);

	if (row->expires_at <= look->now.wall_s) {
		look->events += counts;
		return true;
	}
	if (!counts && ++look->num_expiring < MAX_EXPIRING)
		return true;
	window->next_expiry_s = row->expires_at;
	window->expiry_is_cause = counts;
	return false;
}

/* A writer may have let go of what expired before we looked: the time alone counts. */
static bool
look_at_expiry(struct look *look, struct gs_txn *txn, struct gs_err *err)
{
	struct gs_window *window = look->window;
	bool is_time = window->expiry_is_cause && window->next_expiry_s >= 0 &&
	    look->now.wall_s >= window->next_expiry_s;
	int64_t before = look->events;

	window->next_expiry_s = -1;
	if (!gs_store_expiring(txn, window->looked_s, see_expiry, look, err))
		return false;
	window->looked_s = look->now.wall_s;
	if (is_time && look->events == before)
		look->events++;
	return true;
}

static int64_t
count_causes(struct gs_txn *txn)
{
	static const uint16_t kinds[] = { GS_KIND_ANNOUNCEMENT, 1617, 1618, 1619, 1621 };
	uint64_t num = 0;
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		num += gs_store_count_kind(txn, kinds[i]);
	return (int64_t)num;
}

/* Everything is new: nobody needs to walk over it for that. */
static void
begin(struct gs_window *window, struct gs_txn *txn, struct gs_now now)
{
	window->has_looked = true;
	window->sequence = gs_store_last_sequence(txn);
	window->looked_s = now.wall_s;
	gs_window_note(window, count_causes(txn), now);
}

/*
 * An announcement that had expired when it came takes the place of its older version,
 * and nothing new is stored.
 */
static void
look_at_announcements(struct look *look, struct gs_txn *txn)
{
	uint64_t num = gs_store_count_kind(txn, GS_KIND_ANNOUNCEMENT);

	if (look->events == 0 && num < look->window->announcements)
		look->events++;
	look->window->announcements = num;
}

static bool
look_at_all(struct look *look, struct gs_txn *txn, struct gs_err *err)
{
	struct gs_window *window = look->window;

	if (!window->has_looked)
		begin(window, txn, look->now);
	if (!gs_store_since(txn, window->sequence, see_row, look, err) ||
	    !look_at_expiry(look, txn, err))
		return false;
	look_at_announcements(look, txn);
	return true;
}

bool
gs_window_look(struct gs_window *window, struct gs_store *store, struct gs_now now,
    bool *is_newest, struct gs_err *err)
{
	struct look look = { .window = window, .now = now };
	struct gs_txn *txn = gs_store_read(store, err);
	bool ok;

	if (txn == NULL)
		return false;
	ok = look_at_all(&look, txn, err);
	*is_newest = gs_store_is_newest(txn);
	gs_txn_end(txn);
	if (look.events > 0)
		gs_window_note(window, look.events, now);
	return ok;
}

/* --- the batch --- */

void
gs_window_set_state(struct gs_window *window, struct gs_state *state)
{
	gs_state_free(window->state);
	window->state = state;
}

int64_t
gs_window_close(struct gs_window *window)
{
	window->is_open = false;
	return window->events;
}

bool
gs_window_take(struct gs_window *window, struct gs_state *state, struct gs_batch *batch)
{
	gs_batch_compare(batch, window->state, state);
	gs_window_set_state(window, state);
	batch->opened_at = window->opened_at_s;
	batch->events = gs_window_close(window);
	if (gs_batch_is_empty(batch))
		return false;
	batch->number = ++window->num_batches;
	return true;
}

struct gs_state *
gs_window_state(const struct gs_window *window)
{
	return window->state;
}
