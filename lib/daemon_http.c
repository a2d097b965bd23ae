/* What a daemon shows over HTTP: /metrics, /healthz, /readyz, /status. */
#include <inttypes.h>
#include <string.h>

#include "clock.h"
#include "daemon_private.h"
#include "json.h"
#include "metrics.h"

/* --- /metrics --- */

/* What is written of each relay: one family after the other. */
struct family {
	struct gs_daemon *daemon;
	struct gs_buf *buf;
	const char *name;
	double (*value)(struct gs_daemon *daemon, struct gs_peer *peer,
	    const struct gs_peer_view *view);
};

static double
get_connected(struct gs_daemon *daemon, struct gs_peer *peer,
    const struct gs_peer_view *view)
{
	(void)daemon;
	(void)peer;
	return view->phase == GS_PEER_OPEN;
}

/* v2's numbers, which begin at 1. */
static double
get_status(struct gs_daemon *daemon, struct gs_peer *peer,
    const struct gs_peer_view *view)
{
	(void)daemon;
	(void)peer;
	switch (view->status) {
	case GS_HEALTH_HEALTHY:
		return 1;
	case GS_HEALTH_BACKOFF:
		return 2;
	case GS_HEALTH_DEAD:
		break;
	}
	return 3;
}

static double
get_failures(struct gs_daemon *daemon, struct gs_peer *peer,
    const struct gs_peer_view *view)
{
	(void)daemon;
	(void)peer;
	return view->failures;
}

static double
get_gaps(struct gs_daemon *daemon, struct gs_peer *peer, const struct gs_peer_view *view)
{
	const uint64_t *num =
	    gs_map_get(daemon->ledger.gaps, gs_str_of(gs_peer_url(peer)));

	(void)view;
	return num != NULL ? (double)*num : 0;
}

static double
get_pending(struct gs_daemon *daemon, struct gs_peer *peer,
    const struct gs_peer_view *view)
{
	(void)daemon;
	(void)peer;
	return (double)view->pending;
}

static double
get_live(struct gs_daemon *daemon, struct gs_peer *peer, const struct gs_peer_view *view)
{
	(void)daemon;
	(void)peer;
	return (double)view->filters.live;
}

static double
get_polled(struct gs_daemon *daemon, struct gs_peer *peer,
    const struct gs_peer_view *view)
{
	(void)daemon;
	(void)peer;
	return (double)view->filters.polled;
}

static double
get_failed(struct gs_daemon *daemon, struct gs_peer *peer,
    const struct gs_peer_view *view)
{
	(void)daemon;
	(void)peer;
	return (double)view->filters.failed;
}

static double
get_read_until(struct gs_daemon *daemon, struct gs_peer *peer,
    const struct gs_peer_view *view)
{
	(void)daemon;
	(void)peer;
	return (double)view->read_until_s;
}

static bool
write_peer(struct gs_peer *peer, void *arg)
{
	const struct family *family = arg;
	const struct gs_label label = { "relay", gs_str_of(gs_peer_url(peer)) };
	struct gs_peer_view view;

	gs_peer_look(peer, &view);
	gs_metrics_sample(family->buf, family->name, &label, 1,
	    family->value(family->daemon, peer, &view));
	return true;
}

static bool
write_attempts(struct gs_peer *peer, void *arg)
{
	const struct family *family = arg;
	struct gs_label labels[] = { { "relay", gs_str_of(gs_peer_url(peer)) },
		{ "result", GS_STR("success") } };
	struct gs_peer_view view;

	gs_peer_look(peer, &view);
	gs_metrics_sample(family->buf, family->name, labels, 2, (double)view.attempts_ok);
	labels[1].value = GS_STR("failure");
	gs_metrics_sample(family->buf, family->name, labels, 2,
	    (double)view.attempts_failed);
	return true;
}

static const struct {
	const char *name, *help;
	enum gs_metric_type type;
	double (*value)(struct gs_daemon *daemon, struct gs_peer *peer,
	    const struct gs_peer_view *view);
} relay_families[] = {
	{ "ngit_sync_relay_connected", "1: connected, 0: not", GS_METRIC_GAUGE,
	    get_connected },
	{ "ngit_sync_relay_status", "1 healthy, 2 backoff, 3 dead", GS_METRIC_GAUGE,
	    get_status },
	{ "ngit_sync_relay_failures", "failures since the last success", GS_METRIC_GAUGE,
	    get_failures },
	{ "ngit_sync_gap_events_total", "events stored that only the daily history found",
	    GS_METRIC_COUNTER, get_gaps },
	{ "grasp_sync_relay_pending_repos", "repositories not read there yet",
	    GS_METRIC_GAUGE, get_pending },
	{ "grasp_sync_relay_live_filters", "filters that are followed live",
	    GS_METRIC_GAUGE, get_live },
	{ "grasp_sync_relay_polled_filters",
	    "filters that are polled for want of subscriptions", GS_METRIC_GAUGE,
	    get_polled },
	{ "grasp_sync_relay_failed_filters",
	    "filters that were refused or not answered, tried again later",
	    GS_METRIC_GAUGE, get_failed },
	{ "grasp_sync_relay_read_until_seconds",
	    "everything was read up to then (Unix time); -1: nothing yet",
	    GS_METRIC_GAUGE, get_read_until },
};

static void
write_relays(struct gs_daemon *daemon, struct gs_buf *buf)
{
	static const char attempts[] = "ngit_sync_connection_attempts_total";
	struct family family = { .daemon = daemon, .buf = buf };

	for (size_t i = 0; i < sizeof(relay_families) / sizeof(*relay_families); i++) {
		family.name = relay_families[i].name;
		family.value = relay_families[i].value;
		gs_metrics_family(buf, family.name, relay_families[i].type,
		    relay_families[i].help);
		gs_engine_each(daemon->engine, write_peer, &family);
	}
	family.name = attempts;
	gs_metrics_family(buf, attempts, GS_METRIC_COUNTER, "dials by their outcome");
	gs_engine_each(daemon->engine, write_attempts, &family);
}

static void
write_number(struct gs_buf *buf, const char *name, enum gs_metric_type type,
    const char *help, double value)
{
	gs_metrics_family(buf, name, type, help);
	gs_metrics_sample(buf, name, NULL, 0, value);
}

static void
write_ledger(struct gs_ledger *ledger, struct gs_buf *buf)
{
	static const char events[] = "ngit_sync_events_total";
	static const char decisions[] = "grasp_sync_decisions_total";
	struct gs_label label = { .name = "source" };

	gs_metrics_family(buf, events, GS_METRIC_COUNTER,
	    "events stored, by how they were found");
	for (unsigned i = 0; i < GS_SOURCES; i++) {
		label.value = gs_str_of(gs_source_name((enum gs_source)i));
		gs_metrics_sample(buf, events, &label, 1, (double)ledger->stored[i]);
	}
	gs_metrics_family(buf, decisions, GS_METRIC_COUNTER,
	    "events judged, by what became of them");
	label.name = "result";
	for (unsigned i = GS_UNKNOWN; i <= GS_KNOWN_EXPIRED; i++) {
		const struct gs_decision decision = { .known = (enum gs_known)i };

		label.value = gs_str_of(gs_decision_result(&decision));
		gs_metrics_sample(buf, decisions, &label, 1, (double)ledger->results[i]);
	}
	label.value = GS_STR("duplicate");
	gs_metrics_sample(buf, decisions, &label, 1, (double)ledger->duplicates);
	label.value = GS_STR("invalid");
	gs_metrics_sample(buf, decisions, &label, 1, (double)ledger->invalid);
	write_number(buf, "grasp_sync_decisions_lost_total", GS_METRIC_COUNTER,
	    "lines that could not be written to the file of decisions",
	    (double)ledger->lost_decisions);
	write_number(buf, "grasp_sync_store_commits_total", GS_METRIC_COUNTER,
	    "transactions", (double)ledger->commits);
	write_number(buf, "grasp_sync_store_writable", GS_METRIC_GAUGE,
	    "1: the store can be written, 0: the last try failed", !ledger->is_troubled);
}

static void
write_metrics(struct gs_daemon *daemon, struct gs_buf *buf)
{
	struct gs_engine_counts counts = gs_engine_count(daemon->engine);
	const struct gs_state *state = gs_engine_state(daemon->engine);

	write_number(buf, "ngit_sync_relays_tracked_total", GS_METRIC_GAUGE,
	    "relays that are wanted", (double)counts.tracked);
	write_number(buf, "ngit_sync_relays_connected_total", GS_METRIC_GAUGE,
	    "of them connected", (double)counts.connected);
	write_number(buf, "ngit_sync_relays_dead_total", GS_METRIC_GAUGE,
	    "of them failing for 24 h or more", (double)counts.dead);
	write_number(buf, "grasp_sync_relays_dialling", GS_METRIC_GAUGE,
	    "of them being dialled", (double)counts.dialling);
	write_number(buf, "grasp_sync_followed_repos", GS_METRIC_GAUGE,
	    "repositories that are followed",
	    state != NULL ? (double)gs_daemon_count_repos(state) : 0);
	write_number(buf, "grasp_sync_batches_total", GS_METRIC_COUNTER,
	    "times that what is followed was applied", (double)daemon->num_batches);
	write_number(buf, "grasp_sync_last_batch_seconds", GS_METRIC_GAUGE,
	    "when that was last (Unix time)", (double)daemon->last_batch_s);
	write_number(buf, "grasp_sync_over_cap", GS_METRIC_GAUGE,
	    "relays and roots that a cap leaves out", (double)daemon->num_cuts);
	write_number(buf, "grasp_sync_reading_paused", GS_METRIC_GAUGE,
	    "1: sockets are not read, as the store is behind", daemon->is_paused);
	(void)pthread_mutex_lock(&daemon->ledger.lock);
	write_ledger(&daemon->ledger, buf);
	write_relays(daemon, buf);
	(void)pthread_mutex_unlock(&daemon->ledger.lock);
}

/* --- /status --- */

static void
write_string(struct gs_buf *buf, const char *key, const char *text)
{
	gs_buf_printf(buf, ",\"%s\":", key);
	if (text == NULL)
		gs_buf_add_str(buf, "null");
	else
		gs_json_write_string(buf, text, strlen(text));
}

/* Times are -1 for never: absent then. */
static void
write_time(struct gs_buf *buf, const char *key, int64_t time_s)
{
	if (time_s >= 0)
		gs_buf_printf(buf, ",\"%s\":%" PRId64, key, time_s);
}

static void
write_flag(struct gs_buf *buf, const char *key, bool is_set)
{
	if (is_set)
		gs_buf_printf(buf, ",\"%s\":true", key);
}

static void
write_view(struct gs_buf *buf, const struct gs_peer_view *view)
{
	struct gs_now now = gs_clock_now();

	gs_buf_printf(buf, "{\"phase\":\"%s\",\"status\":\"%s\",\"failures\":%u",
	    gs_peer_phase_name(view->phase), gs_health_status_name(view->status),
	    view->failures);
	write_time(buf, "last_success", view->last_success_s);
	write_time(buf, "read_until", view->read_until_s);
	write_time(buf, "last_full_sync", view->last_full_s);
	if (view->due_ms >= 0)
		write_time(buf, "next_dial",
		    now.wall_s + (view->due_ms - now.mono_ms) / 1000);
	gs_buf_printf(buf,
	    ",\"repos\":%zu,\"pending\":%zu,\"filters\":%zu,\"live\":%zu,\"polled\":%zu,"
	    "\"failed\":%zu,\"held\":%zu,\"dials\":%" PRIu64 ",\"failed_dials\":%" PRIu64,
	    view->repos, view->pending, view->num_filters, view->filters.live,
	    view->filters.polled, view->filters.failed, view->filters.held,
	    view->attempts_ok, view->attempts_failed);
	gs_buf_printf(buf,
	    ",\"frames\":%" PRIu64 ",\"events\":%" PRIu64 ",\"invalid\":%" PRIu64
	    ",\"foreign\":%" PRIu64 ",\"junk\":%" PRIu64,
	    view->counts->frames, view->counts->events, view->counts->invalid,
	    view->counts->foreign, view->counts->junk);
	write_flag(buf, "bootstrap", view->is_bootstrap);
	write_flag(buf, "takes_turns", view->takes_turns);
	write_flag(buf, "capped", view->is_capped);
	write_flag(buf, "leaving", view->is_lingering);
	if (view->fault != NULL)
		write_string(buf, "last_fault", view->fault);
	if (view->notice[0] != '\0')
		write_string(buf, "last_notice", view->notice);
	gs_buf_add_char(buf, '}');
}

struct status {
	struct gs_buf *buf;
	bool has_begun;
};

static bool
write_relay(struct gs_peer *peer, void *arg)
{
	struct status *status = arg;
	const char *url = gs_peer_url(peer);
	struct gs_peer_view view;

	if (status->has_begun)
		gs_buf_add_char(status->buf, ',');
	status->has_begun = true;
	gs_json_write_string(status->buf, url, strlen(url));
	gs_buf_add_char(status->buf, ':');
	gs_peer_look(peer, &view);
	write_view(status->buf, &view);
	return true;
}

static bool
is_troubled(struct gs_daemon *daemon)
{
	bool troubled;

	(void)pthread_mutex_lock(&daemon->ledger.lock);
	troubled = daemon->ledger.is_troubled;
	(void)pthread_mutex_unlock(&daemon->ledger.lock);
	return troubled;
}

static void
write_status(struct gs_daemon *daemon, struct gs_buf *buf)
{
	struct gs_engine_counts counts = gs_engine_count(daemon->engine);
	struct status status = { .buf = buf };

	gs_buf_printf(buf, "{\"version\":\"%s\",\"started\":%" PRId64, GS_VERSION,
	    daemon->started_s);
	write_flag(buf, "ready", daemon->is_ready);
	write_flag(buf, "store_failing", is_troubled(daemon));
	write_flag(buf, "paused", daemon->is_paused);
	gs_buf_printf(buf,
	    ",\"relays_tracked\":%zu,\"relays_connected\":%zu,\"relays_dead\":%zu"
	    ",\"batches\":%" PRIu64 ",\"over_cap\":%" PRIu64 ",\"relays\":{",
	    counts.tracked, counts.connected, counts.dead, daemon->num_batches,
	    daemon->num_cuts);
	gs_engine_each(daemon->engine, write_relay, &status);
	gs_buf_add_str(buf, "}}\n");
}

/* --- the paths --- */

static void
say(struct gs_httpd_answer *answer, int status, const char *text)
{
	answer->status = status;
	answer->type = "text/plain; charset=utf-8";
	gs_buf_add_str(&answer->body, text);
}

static void
say_ready(struct gs_daemon *daemon, struct gs_httpd_answer *answer)
{
	if (!daemon->is_ready)
		say(answer, 503, "the store is being read\n");
	else if (is_troubled(daemon))
		say(answer, 503, "the store can't be written\n");
	else
		say(answer, 200, "ready\n");
}

void
gs_daemon_show(struct gs_str path, struct gs_httpd_answer *answer, void *arg)
{
	struct gs_daemon *daemon = arg;

	if (gs_str_is(path, "/metrics")) {
		answer->status = 200;
		answer->type = "text/plain; version=0.0.4; charset=utf-8";
		write_metrics(daemon, &answer->body);
	} else if (gs_str_is(path, "/status")) {
		answer->status = 200;
		answer->type = "application/json";
		write_status(daemon, &answer->body);
	} else if (gs_str_is(path, "/healthz")) {
		say(answer, 200, "alive\n");
	} else if (gs_str_is(path, "/readyz")) {
		say_ready(daemon, answer);
	} else {
		say(answer, 404, "try /metrics, /healthz, /readyz or /status\n");
	}
}
