/* Lines and records that go through the threads together, and their memory. */
#include <stdlib.h>
#include <string.h>

#include "ingest_private.h"
#include "mem.h"

#define KEPT_BYTES ((size_t)16384) /* of a longer line no memory is kept */

/* A record with all that it points to, in one piece. */
struct kept_record {
	struct kept_record *next;
	struct gs_record record;
	struct gs_progress_relay relay;
	char text[]; /* url, ref, URL of the relay */
};

struct batch *
batch_new(void)
{
	struct batch *batch = gs_mem_new(sizeof(*batch));

	batch->items = gs_mem_array(BATCH_LINES, sizeof(*batch->items));
	return batch;
}

static void
free_records(struct batch *batch)
{
	struct kept_record *kept = batch->records;

	while (kept != NULL) {
		struct kept_record *next = kept->next;

		free((void *)(uintptr_t)kept->relay.refused);
		free(kept);
		kept = next;
	}
	batch->records = NULL;
	batch->last_record = NULL;
}

void
batch_clear(struct batch *batch)
{
	size_t i;

	for (i = 0; i < batch->num; i++) {
		struct item *item = &batch->items[i];
		struct gs_event event = item->event;

		free(item->why);
		if (item->len > KEPT_BYTES) {
			gs_event_fini(&event);
			event = (struct gs_event)GS_EVENT_INIT;
		}
		*item = (struct item){ .event = event };
	}
	free_records(batch);
	batch->num = 0;
	batch->cost = 0;
	batch->is_flush = false;
	if (batch->text.cap > 2 * BATCH_BYTES)
		gs_buf_fini(&batch->text);
	gs_buf_clear(&batch->text);
}

void
batch_free(struct batch *batch)
{
	while (batch != NULL) {
		struct batch *next = batch->next;
		size_t i;

		batch_clear(batch);
		for (i = 0; i < BATCH_LINES; i++)
			gs_event_fini(&batch->items[i].event);
		free(batch->items);
		gs_buf_fini(&batch->text);
		free(batch);
		batch = next;
	}
}

bool
batch_is_empty(const struct batch *batch)
{
	return batch->num == 0 && batch->records == NULL;
}

size_t
batch_cost(const struct gs_ingest_line *line)
{
	size_t len = line->text.len <= GS_INGEST_LINE_BYTES ? line->text.len : 0;

	return sizeof(struct item) + len + line->from.len;
}

/* Most lines come from the same relay as the one before. */
static void
add_from(struct batch *batch, struct item *item, struct gs_str from)
{
	const struct item *before = item - 1;

	if (item != batch->items && before->from_len == from.len &&
	    memcmp(batch->text.data + before->from_at, from.ptr, from.len) == 0) {
		item->from_at = before->from_at;
	} else {
		item->from_at = batch->text.len;
		gs_buf_add(&batch->text, from.ptr, from.len);
	}
	item->from_len = from.len;
}

void
batch_add(struct batch *batch, const struct gs_ingest_line *line, bool may_skip)
{
	struct item *item = &batch->items[batch->num++];

	item->number = line->number;
	item->tag = line->tag;
	item->may_skip = may_skip;
	batch->cost += batch_cost(line);
	if (line->from.len > 0)
		add_from(batch, item, line->from);
	item->at = batch->text.len;
	if (line->text.len > GS_INGEST_LINE_BYTES) {
		item->fault = GS_EVENT_SIZE;
		item->why = gs_mem_str("line is too long");
	} else {
		item->len = line->text.len;
		gs_buf_add(&batch->text, line->text.ptr, line->text.len);
	}
}

/* --- records --- */

static struct gs_str
keep_text(char **at, struct gs_str text)
{
	struct gs_str kept = { *at, text.len };

	if (text.len > 0)
		memcpy(*at, text.ptr, text.len);
	*at += text.len;
	return kept;
}

static struct kept_record *
keep_record(const struct gs_record *record)
{
	const struct gs_progress_relay *relay = record->relay;
	struct gs_str relay_url = relay != NULL ? relay->url : GS_STR("");
	struct kept_record *kept =
	    gs_mem_new(sizeof(*kept) + record->url.len + record->ref.len + relay_url.len);
	char *at = kept->text;

	kept->record = *record;
	kept->record.url = keep_text(&at, record->url);
	kept->record.ref = keep_text(&at, record->ref);
	if (relay == NULL)
		return kept;
	kept->relay = *relay;
	kept->relay.url = keep_text(&at, relay_url);
	kept->relay.refused = NULL;
	if (relay->num_refused > 0)
		kept->relay.refused = gs_mem_dup(relay->refused,
		    relay->num_refused * sizeof(*relay->refused));
	kept->record.relay = &kept->relay;
	return kept;
}

void
batch_add_record(struct batch *batch, const struct gs_record *record)
{
	struct kept_record *kept = keep_record(record);

	if (batch->records == NULL)
		batch->records = kept;
	else
		batch->last_record->next = kept;
	batch->last_record = kept;
}

bool
batch_put_records(const struct batch *batch, struct gs_txn *txn, struct gs_err *err)
{
	const struct kept_record *kept;

	for (kept = batch->records; kept != NULL; kept = kept->next)
		if (!gs_progress_put(txn, &kept->record, err))
			return false;
	return true;
}
