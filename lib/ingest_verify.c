/*
 * What a worker does with a batch: id, a look into the store, and of what that does not
 * know the parse and the signature.
 */
#include "ingest_private.h"

#include "mem.h"
#include "verify.h"

static void
set_fault(struct item *item, enum gs_event_fault fault, const char *why)
{
	item->fault = fault;
	item->why = gs_mem_str(why);
}

static void
parse_item(struct item *item, struct gs_str line, struct gs_buf *scratch)
{
	struct gs_err err = { .code = GS_OK };
	struct gs_str object;
	enum gs_event_fault fault;

	item->is_parsed = true;
	if (!gs_event_in_frame(&object, line, &err)) {
		set_fault(item, GS_EVENT_SHAPE, err.text);
		return;
	}
	fault = gs_event_parse(&item->event, object.ptr, object.len, &err);
	if (fault != GS_EVENT_OK)
		set_fault(item, fault, err.text);
	else if (gs_verify_id(&item->event, scratch) != GS_EVENT_OK)
		set_fault(item, GS_EVENT_ID, "id is not the hash of the event");
}

/* At least the id, without a parse where that may be enough. */
static void
identify_item(struct item *item, struct gs_str line, struct gs_buf *scratch)
{
	if (item->fault != GS_EVENT_OK)
		return;
	if (!item->may_skip || !ingest_find_id(item->event.id, line))
		parse_item(item, line, scratch);
}

bool
ingest_is_settled(const struct gs_ingest *ingest, enum gs_known known)
{
	switch (known) {
	case GS_UNKNOWN:
		return false;
	case GS_KNOWN_WAITING:
	case GS_KNOWN_REJECTED:
		return ingest->options.policy != NULL;
	case GS_KNOWN_STORED:
	case GS_KNOWN_DELETED:
	case GS_KNOWN_SUPERSEDED:
	case GS_KNOWN_EXPIRED:
		break;
	}
	return true;
}

/* A store that can't be read is for the writer to report: all is unknown then. */
static void
look_up(struct gs_ingest *ingest, struct batch *batch)
{
	struct gs_txn *txn = gs_store_read(ingest->store, NULL);
	size_t i;

	if (txn == NULL)
		return;
	for (i = 0; i < batch->num; i++) {
		struct item *item = &batch->items[i];

		if (item->fault == GS_EVENT_OK)
			item->is_settled = ingest_is_settled(ingest,
			    gs_store_known(txn, item->event.id));
	}
	gs_txn_end(txn);
}

static struct gs_str
get_line(const struct batch *batch, const struct item *item)
{
	return (struct gs_str){ batch->text.data + item->at, item->len };
}

void
ingest_verify_item(struct gs_ingest *ingest, const struct batch *batch, struct item *item,
    struct gs_buf *scratch)
{
	if (!item->is_parsed)
		parse_item(item, get_line(batch, item), scratch);
	if (item->fault == GS_EVENT_OK &&
	    !verified_check(&ingest->verified, &item->event))
		set_fault(item, GS_EVENT_SIG, "signature does not verify");
}

void
ingest_verify(struct gs_ingest *ingest, struct batch *batch, struct gs_buf *scratch)
{
	size_t i;

	for (i = 0; i < batch->num; i++)
		identify_item(&batch->items[i], get_line(batch, &batch->items[i]),
		    scratch);
	if (batch->num > 0)
		look_up(ingest, batch);
	for (i = 0; i < batch->num; i++) {
		struct item *item = &batch->items[i];

		if (item->fault == GS_EVENT_OK && !item->is_settled)
			ingest_verify_item(ingest, batch, item, scratch);
	}
}
