/* A relay into a scratch store.  How it is read is relay's, what stands is store's. */
#include "mirror.h"

#include <stdlib.h>

#include "clock.h"
#include "event.h"
#include "mem.h"

#define MAX_BACKOFF_MS 30000 /* the own relay is dialled so often at least: DESIGN 3 */
#define NUM_FILTERS 1

struct gs_mirror {
	struct gs_mirror_options options;
	struct gs_mirror_ops ops;
	struct gs_store *store;
	struct gs_resolver *resolver;
	struct gs_relay *relay;
	bool is_whole, has_news;
	struct gs_err fault; /* GS_OK: none */
};

/* False with GS_EINCOMPLETE: not in this map. */
static bool
put_event(struct gs_mirror *mirror, const struct gs_event *event, struct gs_err *err)
{
	struct gs_put put = { .now_s = gs_clock_now().wall_s };
	struct gs_txn *txn = gs_store_write(mirror->store, err);
	enum gs_known known;

	if (txn == NULL)
		return false;
	put.vanish = event->kind == GS_KIND_VANISH &&
	    gs_policy_is_vanish(mirror->options.policy, event);
	if (gs_store_known(txn, event->id) != GS_UNKNOWN) {
		gs_txn_end(txn);
		return true;
	}
	if (!gs_store_put(txn, event, &put, &known, err)) {
		gs_txn_end(txn);
		return false;
	}
	return gs_txn_commit(txn, err);
}

/* Each by itself: the store is never synced, so that a commit costs little. */
static void
take_event(const struct gs_event *event, void *arg)
{
	struct gs_mirror *mirror = arg;
	struct gs_err err = { .code = GS_OK };
	bool ok = put_event(mirror, event, &err);

	while (!ok && err.code == GS_EINCOMPLETE && gs_store_grow(mirror->store, &err))
		ok = put_event(mirror, event, &err);
	mirror->has_news = true;
	if (ok || mirror->fault.code != GS_OK)
		return;
	mirror->fault = err;
	gs_relay_stop(mirror->relay);
}

static void
take_change(void *arg)
{
	struct gs_mirror *mirror = arg;

	if (mirror->ops.changed != NULL)
		mirror->ops.changed(mirror->ops.arg);
}

static void
take_end(void *arg)
{
	struct gs_mirror *mirror = arg;

	if (mirror->options.once && mirror->fault.code == GS_OK)
		mirror->is_whole = gs_relay_code(mirror->relay) == GS_OK;
	if (mirror->ops.ended != NULL)
		mirror->ops.ended(mirror->ops.arg);
}

/* The self-subscriber's kinds: never 30618; 5 and 62 take away. */
static void
add_filter(struct gs_mirror *mirror)
{
	static const uint16_t kinds[] = { GS_KIND_DELETION, GS_KIND_VANISH, 1617, 1618,
		1619, 1621, GS_KIND_ANNOUNCEMENT };
	struct gs_filter filter = GS_FILTER_INIT;

	filter.kinds = gs_mem_dup(kinds, sizeof(kinds));
	filter.num_kinds = sizeof(kinds) / sizeof(*kinds);
	gs_session_add(gs_relay_session(mirror->relay), &filter);
}

static void
open_relay(struct gs_mirror *mirror, struct gs_loop *loop)
{
	const struct gs_relay_ops ops = { take_event, take_change, take_end, mirror };
	const struct gs_relay_options how = {
		.url = mirror->options.url,
		.resolver = mirror->resolver,
		.once = mirror->options.once,
		.undated = true,       /* what it gets may have been made long ago */
		.allow_private = true, /* who names his relay knows it */
		.silence_ms = GS_SESSION_SILENCE_MS,
		.max_backoff_ms = MAX_BACKOFF_MS,
	};

	mirror->relay = gs_relay_new(loop, &how, &ops);
	add_filter(mirror);
	gs_relay_dial(mirror->relay);
}

struct gs_mirror *
gs_mirror_new(struct gs_loop *loop, const struct gs_mirror_options *options,
    const struct gs_mirror_ops *ops, struct gs_err *err)
{
	const struct gs_store_options scratch = { .scratch = true };
	struct gs_mirror *mirror = gs_mem_new(sizeof(*mirror));

	mirror->options = *options;
	mirror->ops = *ops;
	mirror->store = gs_store_open(NULL, &scratch, err);
	if (mirror->store != NULL)
		mirror->resolver = gs_resolver_new(loop, NULL, NULL, err);
	if (mirror->resolver == NULL) {
		gs_mirror_free(mirror);
		return NULL;
	}
	open_relay(mirror, loop);
	return mirror;
}

void
gs_mirror_free(struct gs_mirror *mirror)
{
	if (mirror == NULL)
		return;
	gs_relay_free(mirror->relay);
	gs_resolver_free(mirror->resolver);
	gs_store_close(mirror->store);
	free(mirror);
}

struct gs_store *
gs_mirror_store(const struct gs_mirror *mirror)
{
	return mirror->store;
}

const struct gs_relay *
gs_mirror_relay(const struct gs_mirror *mirror)
{
	return mirror->relay;
}

/* A filter that the relay refuses leaves nothing to be read, and that is not all. */
static bool
has_caught_up(const struct gs_session *session)
{
	struct gs_session_filters filters = gs_session_filters(session);

	return gs_session_read_until_s(session) >= 0 && filters.failed == 0 &&
	    filters.live + filters.polled == NUM_FILTERS;
}

bool
gs_mirror_is_whole(struct gs_mirror *mirror)
{
	if (!mirror->options.once && mirror->fault.code == GS_OK)
		mirror->is_whole =
		    mirror->is_whole || has_caught_up(gs_relay_session(mirror->relay));
	return mirror->is_whole;
}

bool
gs_mirror_has_news(struct gs_mirror *mirror)
{
	bool has_news = mirror->has_news;

	mirror->has_news = false;
	return has_news;
}

bool
gs_mirror_check(const struct gs_mirror *mirror, struct gs_err *err)
{
	if (mirror->fault.code == GS_OK)
		return true;
	*err = mirror->fault;
	return false;
}
