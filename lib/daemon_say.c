/* What a daemon logs: one line an outage, not one a try. */
#include <inttypes.h>
#include <stdlib.h>

#include "clock.h"
#include "daemon_private.h"

#define MANY_REPOS 10000 /* from here on nobody has tried: DESIGN 6 */
#define MANY_RELAYS 500

static void
say_closed(const struct gs_log *log, struct gs_daemon_peer *own, const char *url,
    const struct gs_peer_view *view)
{
	struct gs_now now = gs_clock_now();
	int64_t wait_s =
	    view->due_ms > now.mono_ms ? (view->due_ms - now.mono_ms + 999) / 1000 : 0;
	const char *fault = view->fault != NULL ? view->fault : "closed";
	bool is_news = own != NULL && own->lost_s == 0 && view->failures > 0;

	if (is_news)
		own->lost_s = now.wall_s;
	gs_log_line(log, is_news ? GS_LOG_WARNING : GS_LOG_DEBUG, url,
	    "%s, again in %" PRId64 " s", fault, wait_s);
}

static void
say_status(const struct gs_log *log, struct gs_daemon_peer *own, const char *url,
    const struct gs_peer_view *view)
{
	switch (view->status) {
	case GS_HEALTH_HEALTHY:
		if (own == NULL || own->lost_s == 0)
			return;
		gs_log_line(log, GS_LOG_INFO, url, "answers again, after %" PRId64 " s",
		    gs_clock_now().wall_s - own->lost_s);
		own->lost_s = 0;
		return;
	case GS_HEALTH_DEAD:
		gs_log_line(log, GS_LOG_WARNING, url,
		    "has failed for 24 h: tried once a day from now on");
		return;
	case GS_HEALTH_BACKOFF:
		return; /* say_closed has told */
	}
}

static void
say_opened(const struct gs_log *log, struct gs_daemon_peer *own, const char *url)
{
	bool is_news = !own->was_open && own->lost_s == 0;

	own->was_open = true;
	gs_log_line(log, is_news ? GS_LOG_INFO : GS_LOG_DEBUG, url, "connected");
}

static void
say_filters(const struct gs_log *log, const char *url, const struct gs_peer_view *view)
{
	gs_log_line(log, GS_LOG_DEBUG, url,
	    "filters: %zu live, %zu polled for want of subscriptions, %zu failed",
	    view->filters.live, view->filters.polled, view->filters.failed);
}

void
gs_daemon_say_change(const struct gs_daemon *daemon, struct gs_peer *peer,
    enum gs_peer_change change)
{
	const struct gs_log *log = &daemon->settings.log;
	struct gs_daemon_peer *own = gs_peer_arg(peer);
	const char *url = gs_peer_url(peer);
	struct gs_peer_view view;

	gs_peer_look(peer, &view);
	switch (change) {
	case GS_PEER_ADDED:
		/* those of the start are told in one line */
		gs_log_line(log, daemon->is_ready ? GS_LOG_INFO : GS_LOG_DEBUG, url,
		    "new, lists %zu of our repositories", view.repos);
		break;
	case GS_PEER_REMOVED:
		gs_log_line(log, GS_LOG_INFO, url,
		    "left: no repository of ours lists it");
		break;
	case GS_PEER_OPENED:
		say_opened(log, own, url);
		break;
	case GS_PEER_CLOSED:
		say_closed(log, own, url, &view);
		break;
	case GS_PEER_STATUS:
		say_status(log, own, url, &view);
		break;
	case GS_PEER_REPACKED:
		gs_log_line(log, GS_LOG_DEBUG, url, "packed anew into %zu filters",
		    view.num_filters);
		break;
	case GS_PEER_FILTERS:
		say_filters(log, url, &view);
		break;
	case GS_PEER_CAPPED:
		gs_log_line(log, GS_LOG_WARNING, url,
		    "has brought all that a relay may within a day: left until midnight "
		    "UTC");
		break;
	}
}

size_t
gs_daemon_count_repos(const struct gs_state *state)
{
	struct gs_map *refs = gs_map_new();
	struct gs_map_entry *entry;
	size_t at = 0, num;

	while ((entry = gs_map_next(state->relays, &at)) != NULL) {
		const struct gs_relay_entry *relay = entry->value;

		for (size_t i = 0; i < relay->num_repos; i++)
			(void)gs_map_add(refs, relay->repos[i]->ref);
	}
	num = gs_map_count(refs);
	gs_map_free(refs, NULL);
	return num;
}

void
gs_daemon_say_start(struct gs_daemon *daemon)
{
	const struct gs_log *log = &daemon->settings.log;
	const struct gs_state *state = gs_engine_state(daemon->engine);
	size_t repos = gs_daemon_count_repos(state), relays = gs_map_count(state->relays);

	gs_log_line(log, GS_LOG_INFO, NULL, "%zu repositories on %zu relays", repos,
	    relays);
	if (repos > MANY_REPOS || relays > MANY_RELAYS)
		gs_log_line(log, GS_LOG_WARNING, NULL, "more than %d on %d is much",
		    MANY_REPOS, MANY_RELAYS);
}

static bool
dump_peer(struct gs_peer *peer, void *arg)
{
	const struct gs_daemon *daemon = arg;
	struct gs_peer_view view;

	gs_peer_look(peer, &view);
	gs_log_line(&daemon->settings.log, GS_LOG_INFO, gs_peer_url(peer),
	    "%s, %s, %zu repositories, %zu to be read; filters: %zu live, %zu polled, "
	    "%zu failed",
	    gs_peer_phase_name(view.phase), gs_health_status_name(view.status),
	    view.repos, view.pending, view.filters.live, view.filters.polled,
	    view.filters.failed);
	return true;
}

void
gs_daemon_dump(struct gs_daemon *daemon)
{
	gs_engine_each(daemon->engine, dump_peer, daemon);
}
