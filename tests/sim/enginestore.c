/* The host's store: what waits for its commit, and what a new process knows. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "enginehost.h"
#include "mem.h"
#include "survey.h"
#include "verify.h"

#define SLOW_COMMIT_MS 20000

/* --- what waits --- */

static void
free_item(struct host_item *item)
{
	free(item->line);
	free((void *)(uintptr_t)item->record.url.ptr);
	free((void *)(uintptr_t)item->record.ref.ptr);
	free((void *)(uintptr_t)item->row.refused);
	free(item);
}

static int64_t
draw_delay_ms(struct host *host)
{
	if (rng_once_in(&host->rng, host->slow_every))
		return (int64_t)rng_below(&host->rng, SLOW_COMMIT_MS);
	return (int64_t)rng_below(&host->rng, 200);
}

static struct host_item *
add_item(struct host *host)
{
	struct host_item *item = gs_mem_new(sizeof(*item));

	if (host->last == NULL)
		host->first = item;
	else
		host->last->next = item;
	host->last = item;
	host->num_items++;
	if (host->commit_ms < 0)
		host->commit_ms = host->now_ms + draw_delay_ms(host);
	return item;
}

static struct host_item *
take_item(struct host *host)
{
	struct host_item *item = host->first;

	host->first = item->next;
	if (host->first == NULL)
		host->last = NULL;
	host->num_items--;
	host->num_lines -= item->line != NULL;
	return item;
}

void
host_drop_items(struct host *host)
{
	while (host->first != NULL)
		free_item(take_item(host));
	host->is_ripe = false;
	host->commit_ms = -1;
}

void
host_take_event(struct gs_peer *peer, struct gs_str line, enum gs_source source,
    void *arg)
{
	struct host *host = arg;
	const struct host_relay *relay = gs_peer_arg(peer);
	struct host_item *item = add_item(host);
	struct gs_str object;
	bool is_there = gs_event_in_frame(&object, line, NULL);

	assert(is_there);
	(void)is_there;
	item->line = gs_mem_dup(object.ptr, object.len);
	item->len = object.len;
	item->relay = relay->number;
	host->num_lines++;
	host->figures.events++;
	host_say(host, "r%zu event %.20s... (%s)", relay->number, item->line,
	    gs_source_name(source));
}

static struct gs_str
copy(struct gs_str text)
{
	return (struct gs_str){ gs_mem_dup(text.ptr, text.len), text.len };
}

void
host_take_record(const struct gs_record *record, void *arg)
{
	struct host *host = arg;
	struct host_item *item = add_item(host);

	item->record = *record;
	item->record.url = copy(record->url);
	item->record.ref = copy(record->ref);
	host->figures.records++;
	host->is_ripe |= record->kind == GS_RECORD_PAIR && host->num_lines > 0;
	if (record->kind == GS_RECORD_PAIR)
		host_say(host, "%.*s read up to %llu: %.*s", (int)record->url.len,
		    record->url.ptr, (unsigned long long)record->sequence,
		    (int)record->ref.len, record->ref.ptr);
	if (record->relay == NULL)
		return;
	item->row = *record->relay;
	item->row.url = item->record.url;
	item->row.refused = gs_mem_dup(record->relay->refused,
	    record->relay->num_refused * sizeof(*record->relay->refused));
	item->record.relay = &item->row;
}

/* --- the commit --- */

static bool
is_settled(enum gs_known known)
{
	return known != GS_UNKNOWN;
}

bool
host_is_known(const uint8_t id[static 32], void *arg)
{
	struct host *host = arg;
	struct gs_err err;
	struct gs_txn *txn = gs_store_read(host->store, &err);
	bool known = txn != NULL && is_settled(gs_store_known(txn, id));

	gs_txn_end(txn);
	return known;
}

/* Our own events carry no signature: their line tells. */
static bool
is_valid(const struct host *host, const struct gs_event *event,
    const struct host_item *item)
{
	const struct world_event *made = world_find(host->world, event->id);

	if (made == NULL)
		return gs_verify_sig(event) == GS_EVENT_OK;
	return strlen(made->event.json) == item->len &&
	    memcmp(made->event.json, item->line, item->len) == 0;
}

static bool
offer(struct host *host, struct gs_txn *txn, const struct host_item *item,
    struct gs_err *err)
{
	struct gs_event event = GS_EVENT_INIT;
	const struct gs_origin origin = { gs_str_of(host->world->relays[item->relay].url),
		0 };
	enum gs_known known;
	bool ok = true;

	if (gs_event_parse(&event, item->line, item->len, err) != GS_EVENT_OK)
		host_complain(host, "an event that can't be parsed was handed out");
	else if (!is_settled(gs_store_known(txn, event.id)) &&
	    is_valid(host, &event, item))
		ok = gs_intake_offer(host->intake, &event, &origin, &known, err);
	gs_event_fini(&event);
	return ok;
}

static void
note_decision(const struct gs_decision *decision, void *arg)
{
	struct host *host = arg;

	model_decided(host->model, decision->id, decision->known, host->now_ms);
}

static bool
put_items(struct host *host, struct gs_txn *txn, size_t num, struct gs_err *err)
{
	const struct host_item *item = host->first;

	if (!gs_intake_begin(host->intake, txn, host_now(host).wall_s, err))
		return false;
	for (; num > 0; num--, item = item->next)
		if (item->line != NULL ? !offer(host, txn, item, err)
				       : !gs_progress_put(txn, &item->record, err))
			return false;
	return gs_intake_trim(host->intake, err);
}

void
host_commit(struct host *host)
{
	struct gs_err err = { .text = "" };
	size_t num = host->num_items;
	struct gs_txn *txn = gs_store_write(host->store, &err);

	if (num > 1 && rng_once_in(&host->rng, 3))
		num = 1 + rng_below(&host->rng, num);
	if (txn == NULL || !put_items(host, txn, num, &err) || !gs_txn_commit(txn, &err))
		host_complain(host, "commit: %s", err.text);
	gs_intake_settle(host->intake, true, &host->tally);
	host->figures.commits++;
	for (; num > 0; num--)
		free_item(take_item(host));
	host->is_ripe = false;
	host->commit_ms = host->num_items > 0 ? host->now_ms + draw_delay_ms(host) : -1;
	host_look(host);
}

/* --- what is followed --- */

static struct gs_state *
survey(struct host *host, uint64_t *sequence)
{
	const struct gs_survey_options options = {
		.policy = &host->policy,
		.bootstrap = host->bootstrap,
		.num_bootstrap = host->world->num_bootstrap,
		.now_s = host_now(host).wall_s,
		.caps = { GS_SURVEY_RELAYS_PER_REPO, GS_SURVEY_RELAYS_PER_AUTHOR,
		    GS_SURVEY_RELAYS, GS_SURVEY_ROOTS_PER_REPO },
	};
	struct gs_err err;
	struct gs_txn *txn = gs_store_read(host->store, &err);
	struct gs_state *state;

	*sequence = txn != NULL ? gs_store_last_sequence(txn) : 0;
	gs_txn_end(txn);
	state = gs_survey(host->store, &options, &err);
	if (state == NULL)
		host_complain(host, "survey: %s", err.text);
	return state;
}

static void
apply(struct host *host)
{
	uint64_t sequence;
	struct gs_state *state = survey(host, &sequence);

	(void)gs_window_close(host->window);
	if (state == NULL)
		return;
	host_say(host, "apply: %zu relays at %llu", gs_map_count(state->relays),
	    (unsigned long long)sequence);
	host->figures.surveys++;
	gs_engine_apply(host->engine, state, sequence, host_now(host));
	host_settle(host);
}

void
host_look(struct host *host)
{
	struct gs_err err;
	bool is_newest;
	int64_t wait_ms;

	if (!gs_window_look(host->window, host->store, host_now(host), &is_newest, &err))
		host_complain(host, "look: %s", err.text);
	/* What was there at the start is followed at once. */
	if (gs_window_is_due(host->window, host_now(host)) ||
	    (gs_engine_state(host->engine) == NULL && gs_window_is_open(host->window)))
		apply(host);
	wait_ms = gs_window_wait_ms(host->window, host_now(host));
	host->window_ms = wait_ms < 0 ? -1 : host->now_ms + wait_ms;
}

/* --- the process --- */

struct restoring {
	struct host *host;
	struct gs_txn *txn;
	size_t relays;
};

struct restoring_pair {
	struct host *host;
	struct gs_str url;
};

static bool
restore_pair(struct gs_str ref, uint64_t sequence, void *arg)
{
	const struct restoring_pair *pair = arg;

	gs_engine_restore_pair(pair->host->engine, pair->url, ref, sequence,
	    host_now(pair->host));
	return true;
}

static bool
restore_relay(const struct gs_progress_relay *relay, void *arg)
{
	struct restoring *restoring = arg;

	gs_engine_restore(restoring->host->engine, relay, host_now(restoring->host));
	restoring->relays++;
	return true;
}

void
host_restore(struct host *host)
{
	struct gs_err err;
	struct restoring restoring = { host, gs_store_read(host->store, &err), 0 };
	size_t damaged = 0;

	if (restoring.txn == NULL ||
	    !gs_progress_relays(restoring.txn, restore_relay, &restoring, &damaged, &err))
		host_complain(host, "restore: %s", err.text);
	for (size_t i = 0; restoring.txn != NULL && i < WORLD_RELAYS; i++) {
		struct restoring_pair pair = { host,
			gs_str_of(host->world->relays[i].url) };

		if (!gs_progress_pairs(restoring.txn, pair.url, restore_pair, &pair,
			&err))
			host_complain(host, "restore: %s", err.text);
	}
	gs_txn_end(restoring.txn);
	if (damaged > 0)
		host_complain(host, "%zu rows of relays are damaged", damaged);
	gs_intake_set_decided(host->intake, note_decision, host);
	host_say(host, "%zu relays restored", restoring.relays);
}
