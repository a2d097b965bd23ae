/*
 * Events on their way into the store, and what became of them.  The ledger is what the
 * writer thread tells the loop.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "daemon_private.h"
#include "mem.h"

void
gs_ledger_init(struct gs_ledger *ledger)
{
	(void)pthread_mutex_init(&ledger->lock, NULL);
	ledger->gaps = gs_map_new();
	ledger->capped = gs_map_new();
}

void
gs_ledger_fini(struct gs_ledger *ledger)
{
	gs_map_free(ledger->gaps, free);
	gs_map_free(ledger->capped, NULL);
	(void)pthread_mutex_destroy(&ledger->lock);
}

void
gs_ledger_forget(struct gs_ledger *ledger, struct gs_str url)
{
	(void)pthread_mutex_lock(&ledger->lock);
	free(gs_map_del(ledger->gaps, url));
	(void)gs_map_del(ledger->capped, url);
	(void)pthread_mutex_unlock(&ledger->lock);
}

static void
count_gap(struct gs_ledger *ledger, struct gs_str url)
{
	struct gs_map_entry *entry = gs_map_add(ledger->gaps, url);

	if (entry->value == NULL)
		entry->value = gs_mem_new(sizeof(uint64_t));
	++*(uint64_t *)entry->value;
}

/* --- the writer thread --- */

static enum gs_source
source_of(uint32_t tag)
{
	return tag < GS_SOURCES ? (enum gs_source)tag : GS_SOURCE_DIRECT;
}

/* Its share of the day is used up: the loop has to leave it until midnight (UTC). */
static void
note_capped(struct gs_ledger *ledger, const struct gs_decision *decision)
{
	if (decision->reason != NULL && decision->from.len > 0 &&
	    strcmp(decision->reason, "over-relay-cap") == 0)
		(void)gs_map_add(ledger->capped, decision->from);
}

static void
write_decision(struct gs_daemon *daemon, const struct gs_decision *decision)
{
	struct gs_buf line = GS_BUF_INIT;

	gs_decision_write(&line, decision);
	gs_buf_add_char(&line, '\n');
	/* a journal that can't be written stops nothing: the metric tells */
	if (write(daemon->decisions_fd, line.data, line.len) != (ssize_t)line.len)
		daemon->ledger.lost_decisions++;
	gs_buf_fini(&line);
}

static void
take_decision(const struct gs_decision *decision, void *arg)
{
	struct gs_daemon *daemon = arg;
	struct gs_ledger *ledger = &daemon->ledger;
	enum gs_source source = source_of(decision->tag);

	(void)pthread_mutex_lock(&ledger->lock);
	note_capped(ledger, decision);
	if (decision->is_duplicate) {
		ledger->duplicates++;
	} else {
		ledger->results[decision->known]++;
		if (decision->known == GS_KNOWN_STORED) {
			ledger->stored[source]++;
			if (source == GS_SOURCE_DAILY && decision->from.len > 0)
				count_gap(ledger, decision->from);
		}
	}
	if (daemon->decisions_fd >= 0)
		write_decision(daemon, decision);
	(void)pthread_mutex_unlock(&ledger->lock);
}

static void
take_bad(uint64_t number, enum gs_event_fault fault, const char *why, void *arg)
{
	struct gs_ledger *ledger = &((struct gs_daemon *)arg)->ledger;

	(void)number;
	(void)fault;
	(void)why;
	(void)pthread_mutex_lock(&ledger->lock);
	ledger->invalid++;
	(void)pthread_mutex_unlock(&ledger->lock);
}

static void
take_commit(const struct gs_tally *tally, void *arg)
{
	struct gs_daemon *daemon = arg;

	(void)tally;
	(void)pthread_mutex_lock(&daemon->ledger.lock);
	daemon->ledger.commits++;
	(void)pthread_mutex_unlock(&daemon->ledger.lock);
	gs_post_wake(daemon->ingest_post);
}

static void
take_room(void *arg)
{
	struct gs_daemon *daemon = arg;

	(void)pthread_mutex_lock(&daemon->ledger.lock);
	daemon->ledger.has_room = true;
	(void)pthread_mutex_unlock(&daemon->ledger.lock);
	gs_post_wake(daemon->ingest_post);
}

static void
take_trouble(const struct gs_err *why, void *arg)
{
	struct gs_daemon *daemon = arg;
	struct gs_ledger *ledger = &daemon->ledger;

	(void)pthread_mutex_lock(&ledger->lock);
	ledger->is_troubled = why != NULL;
	ledger->has_new_trouble = true;
	if (why != NULL)
		memcpy(ledger->trouble, why->text, sizeof(ledger->trouble));
	(void)pthread_mutex_unlock(&ledger->lock);
	gs_post_wake(daemon->ingest_post);
}

bool
gs_daemon_start_ingest(struct gs_daemon *daemon, struct gs_err *err)
{
	const struct gs_ingest_options options = {
		.commit_when_idle = true,
		.now_s = -1,
		.policy = daemon->settings.policy,
		.bad = take_bad,
		.committed = take_commit,
		.decided = take_decision,
		.room = take_room,
		.persists = true,
		.troubled = take_trouble,
		.arg = daemon,
	};

	daemon->ingest = gs_ingest_new(daemon->store, &options, err);
	if (daemon->ingest == NULL)
		return false;
	gs_ingest_flush(daemon->ingest);
	return true;
}

bool
gs_daemon_finish_ingest(struct gs_daemon *daemon, struct gs_err *err)
{
	struct gs_tally tally = { .read = 0 };
	bool ok = gs_ingest_finish(daemon->ingest, &tally, err);

	gs_tally_fini(&tally);
	gs_ingest_free(daemon->ingest);
	daemon->ingest = NULL;
	return ok;
}

/* --- the loop's thread --- */

static void
fail_ingest(struct gs_daemon *daemon)
{
	struct gs_err err = { .code = GS_EIO };

	if (daemon->is_ending || gs_daemon_finish_ingest(daemon, &err))
		return;
	gs_daemon_fail(daemon, &err);
}

void
gs_daemon_take_event(struct gs_peer *peer, struct gs_str line, enum gs_source source,
    void *arg)
{
	struct gs_daemon *daemon = arg;
	const struct gs_ingest_line taken = {
		.text = line, .from = gs_str_of(gs_peer_url(peer)), .tag = source
	};

	if (daemon->ingest == NULL)
		return;
	switch (gs_ingest_try(daemon->ingest, &taken)) {
	case GS_INGEST_TAKEN:
		break;
	case GS_INGEST_FULL:
		gs_daemon_pause(daemon, true);
		break;
	case GS_INGEST_FAILED:
		fail_ingest(daemon);
		break;
	}
}

static void
leave_capped(struct gs_daemon *daemon, const struct gs_map *capped)
{
	const int64_t day_s = 86400;
	struct gs_now now = gs_clock_now();
	struct gs_map_entry *entry;
	size_t at = 0;

	while ((entry = gs_map_next(capped, &at)) != NULL) {
		struct gs_peer *peer = gs_engine_find(daemon->engine, entry->key);

		if (peer != NULL)
			gs_peer_cap(peer, (now.wall_s / day_s + 1) * day_s, now);
	}
}

static void
say_trouble(const struct gs_daemon *daemon, bool is_troubled, const char *why)
{
	const struct gs_log *log = &daemon->settings.log;

	if (is_troubled)
		gs_log_line(log, GS_LOG_ERROR, NULL,
		    "the store can't be written: %s; nothing is read until it can", why);
	else
		gs_log_line(log, GS_LOG_INFO, NULL, "the store can be written again");
}

void
gs_daemon_take_news(struct gs_daemon *daemon)
{
	struct gs_ledger *ledger = &daemon->ledger;
	struct gs_map *capped = NULL, *none = gs_map_new();
	bool has_trouble, is_troubled, has_room;
	char why[sizeof(ledger->trouble)];

	(void)pthread_mutex_lock(&ledger->lock);
	has_room = ledger->has_room;
	has_trouble = ledger->has_new_trouble;
	is_troubled = ledger->is_troubled;
	memcpy(why, ledger->trouble, sizeof(why));
	ledger->has_room = ledger->has_new_trouble = false;
	capped = ledger->capped;
	ledger->capped = none;
	(void)pthread_mutex_unlock(&ledger->lock);
	if (has_trouble)
		say_trouble(daemon, is_troubled, why);
	if (daemon->ingest != NULL && gs_ingest_has_failed(daemon->ingest))
		fail_ingest(daemon);
	else if (has_room)
		gs_daemon_pause(daemon, false);
	leave_capped(daemon, capped);
	gs_map_free(capped, NULL);
}

void
gs_daemon_take_record(const struct gs_record *record, void *arg)
{
	struct gs_daemon *daemon = arg;

	if (daemon->ingest != NULL)
		gs_ingest_record(daemon->ingest, record);
}
