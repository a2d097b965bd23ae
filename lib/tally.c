/* What became of the events of one import or session, for its summary. */
#include "tally.h"

#include <stdlib.h>

#include "mem.h"

void
gs_tally_fini(struct gs_tally *tally)
{
	gs_map_free(tally->reasons, free);
	tally->reasons = NULL;
}

void
gs_tally_reason(struct gs_tally *tally, struct gs_str reason, uint64_t num)
{
	struct gs_map_entry *entry;

	if (tally->reasons == NULL)
		tally->reasons = gs_map_new();
	entry = gs_map_add(tally->reasons, reason);
	if (entry->value == NULL)
		entry->value = gs_mem_new(sizeof(uint64_t));
	*(uint64_t *)entry->value += num;
}

void
gs_tally_add(struct gs_tally *into, const struct gs_tally *from)
{
	struct gs_map_entry *entry;
	size_t at = 0, i;

	into->read += from->read;
	into->stored += from->stored;
	into->duplicate += from->duplicate;
	into->replaced += from->replaced;
	into->deleted += from->deleted;
	into->expired += from->expired;
	into->waiting += from->waiting;
	into->rejected += from->rejected;
	into->skipped += from->skipped;
	into->freed += from->freed;
	into->removed += from->removed;
	for (i = 0; i < sizeof(into->invalid) / sizeof(into->invalid[0]); i++)
		into->invalid[i] += from->invalid[i];
	while (from->reasons != NULL && (entry = gs_map_next(from->reasons, &at)) != NULL)
		gs_tally_reason(into, entry->key, *(const uint64_t *)entry->value);
}

uint64_t *
gs_tally_counter(struct gs_tally *tally, enum gs_known known)
{
	switch (known) {
	case GS_KNOWN_STORED:
		return &tally->stored;
	case GS_KNOWN_WAITING:
		return &tally->waiting;
	case GS_KNOWN_REJECTED:
		return &tally->rejected;
	case GS_KNOWN_DELETED:
		return &tally->deleted;
	case GS_KNOWN_SUPERSEDED:
		return &tally->replaced;
	case GS_KNOWN_EXPIRED:
		return &tally->expired;
	case GS_UNKNOWN:
		break;
	}
	return &tally->skipped;
}
