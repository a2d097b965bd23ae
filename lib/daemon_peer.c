/* Connections of a daemon: the engine says when, a link does it, and both hear. */
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "daemon_private.h"
#include "mem.h"

#define CROWDED "crowded" /* no address of it may be connected to now */

static bool
may_connect(const char *address, void *arg)
{
	struct gs_daemon_peer *own = arg;

	return gs_peer_may_connect(own->peer, address);
}

static void
take_opened(void *arg)
{
	struct gs_daemon_peer *own = arg;

	gs_peer_opened(own->peer, gs_clock_now());
	if (own->daemon->is_paused)
		gs_link_pause(own->link);
	gs_daemon_follow_engine(own->daemon);
}

static void
take_document(struct gs_str document, void *arg)
{
	struct gs_daemon_peer *own = arg;
	struct gs_err err;

	/* What is no document is none. */
	if (document.ptr != NULL)
		(void)!gs_limits_read(gs_peer_limits(own->peer), document, &err);
	gs_link_want_write(own->link);
}

static void
take_message(const char *text, size_t len, void *arg)
{
	struct gs_daemon_peer *own = arg;

	gs_peer_frame(own->peer, text, len, gs_clock_now());
	gs_daemon_follow_engine(own->daemon);
}

static void
take_pong(void *arg)
{
	struct gs_daemon_peer *own = arg;

	gs_peer_pong(own->peer, gs_clock_now());
}

static bool
give_frame(struct gs_buf *frame, void *arg)
{
	struct gs_daemon_peer *own = arg;
	bool has_frame = gs_peer_next_frame(own->peer, frame, gs_clock_now());

	gs_daemon_follow_engine(own->daemon);
	return has_frame;
}

static void
take_ended(const struct gs_link_end *end, void *arg)
{
	struct gs_daemon_peer *own = arg;
	const struct gs_peer_end told = { .name = end->ws.name,
		.was_open = end->ws.was_open,
		.is_crowded = strcmp(end->ws.name, CROWDED) == 0,
		.retry_after_s = end->ws.retry_after_s };

	gs_peer_ended(own->peer, &told, gs_clock_now());
	gs_daemon_follow_engine(own->daemon);
}

static const struct gs_link_ops link_ops = {
	.may_connect = may_connect,
	.opened = take_opened,
	.document = take_document,
	.message = take_message,
	.pong = take_pong,
	.next_frame = give_frame,
	.ended = take_ended,
};

/* Whoever typed a relay's address knows it: only what strangers list is vetted. */
static struct gs_daemon_peer *
make_own(struct gs_daemon *daemon, struct gs_peer *peer)
{
	struct gs_daemon_peer *own = gs_mem_new(sizeof(*own));
	struct gs_link_options options = { .url = &own->url,
		.resolver = daemon->resolver,
		.allow_private =
		    daemon->settings.survey.allow_private || gs_peer_is_bootstrap(peer),
		.is_insecure = daemon->settings.is_insecure };
	struct gs_link_ops ops = link_ops;
	struct gs_err err;

	own->daemon = daemon;
	own->peer = peer;
	/* it is canonical: this can't fail */
	(void)!gs_url_parse_relay(&own->url, gs_str_of(gs_peer_url(peer)), true, &err);
	ops.arg = own;
	own->link = gs_link_new(daemon->loop, &options, &ops);
	gs_peer_set_arg(peer, own);
	return own;
}

static void
free_own(struct gs_daemon_peer *own)
{
	if (own == NULL)
		return;
	gs_link_free(own->link);
	free(own);
}

static void
dial(struct gs_peer *peer, void *arg)
{
	struct gs_daemon_peer *own = gs_peer_arg(peer);

	if (own == NULL)
		own = make_own(arg, peer);
	gs_link_dial(own->link, gs_peer_is_kept(peer));
}

static void
hang_up(struct gs_peer *peer, void *arg)
{
	const struct gs_daemon_peer *own = gs_peer_arg(peer);

	(void)arg;
	gs_link_close(own->link);
}

static void
wake(struct gs_peer *peer, void *arg)
{
	const struct gs_daemon_peer *own = gs_peer_arg(peer);

	(void)arg;
	gs_link_want_write(own->link);
}

/*
 * On the loop's thread, between two other looks: a short view is enough.  What a policy
 * decided is the ingest's to say, which knows when the policy has changed.
 */
static bool
is_known(const uint8_t id[static 32], void *arg)
{
	const struct gs_daemon *daemon = arg;
	struct gs_txn *txn = gs_store_read(daemon->store, NULL);
	enum gs_known known;

	if (txn == NULL)
		return false;
	known = gs_store_known(txn, id);
	gs_txn_end(txn);
	switch (known) {
	case GS_UNKNOWN:
	case GS_KNOWN_WAITING:
	case GS_KNOWN_REJECTED:
		return false;
	case GS_KNOWN_STORED:
	case GS_KNOWN_DELETED:
	case GS_KNOWN_SUPERSEDED:
	case GS_KNOWN_EXPIRED:
		break;
	}
	return true;
}

static void
take_change(struct gs_peer *peer, enum gs_peer_change change, void *arg)
{
	struct gs_daemon *daemon = arg;

	daemon->is_changed = true;
	gs_daemon_say_change(daemon, peer, change);
	if (change != GS_PEER_REMOVED)
		return;
	gs_ledger_forget(&daemon->ledger, gs_str_of(gs_peer_url(peer)));
	free_own(gs_peer_arg(peer));
	gs_peer_set_arg(peer, NULL);
}

void
gs_daemon_fill_ops(struct gs_engine_ops *ops)
{
	ops->dial = dial;
	ops->hang_up = hang_up;
	ops->wake = wake;
	ops->event = gs_daemon_take_event;
	ops->record = gs_daemon_take_record;
	ops->is_known = is_known;
	ops->changed = take_change;
}

static bool
free_peer(struct gs_peer *peer, void *arg)
{
	(void)arg;
	free_own(gs_peer_arg(peer));
	gs_peer_set_arg(peer, NULL);
	return true;
}

void
gs_daemon_free_peers(struct gs_daemon *daemon)
{
	if (daemon->engine != NULL)
		gs_engine_each(daemon->engine, free_peer, daemon);
}

/* --- back-pressure --- */

static bool
pause_peer(struct gs_peer *peer, void *arg)
{
	const struct gs_daemon *daemon = arg;
	const struct gs_daemon_peer *own = gs_peer_arg(peer);

	if (own == NULL)
		return true;
	if (daemon->is_paused) {
		gs_link_pause(own->link);
		return true;
	}
	gs_link_resume(own->link);
	return true;
}

static bool
excuse_peer(struct gs_peer *peer, void *arg)
{
	const struct gs_daemon_peer *own = gs_peer_arg(peer);

	(void)arg;
	if (own != NULL)
		gs_peer_paused(peer, gs_link_take_paused_ms(own->link));
	return true;
}

void
gs_daemon_excuse_pause(struct gs_daemon *daemon)
{
	if (daemon->is_paused)
		gs_engine_each(daemon->engine, excuse_peer, daemon);
}

void
gs_daemon_pause(struct gs_daemon *daemon, bool is_paused)
{
	if (daemon->is_paused == is_paused)
		return;
	gs_daemon_excuse_pause(daemon);
	daemon->is_paused = is_paused;
	gs_engine_each(daemon->engine, pause_peer, daemon);
}
