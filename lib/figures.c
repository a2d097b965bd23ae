/* What a run or a store comes to, as text.  Counting is waiting's and store's. */
#include "figures.h"

#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#include "json.h"

#define DATE_BYTES 32
#define SHOWN_BYTES 64 /* of a reason */

uint64_t
gs_figures_invalid(const struct gs_tally *tally)
{
	uint64_t sum = 0;
	int fault;

	for (fault = GS_EVENT_SHAPE; fault <= GS_EVENT_SIG; fault++)
		sum += tally->invalid[fault];
	return sum;
}

/* " (name N, name N)" of what is not zero. */
struct reasons {
	struct gs_buf *buf;
	bool has_any;
};

static void
add_reason(struct reasons *reasons, const char *name, uint64_t count)
{
	if (count == 0)
		return;
	gs_buf_printf(reasons->buf, "%s%s %" PRIu64, reasons->has_any ? ", " : " (", name,
	    count);
	reasons->has_any = true;
}

static void
end_reasons(struct reasons *reasons)
{
	if (reasons->has_any)
		gs_buf_add_char(reasons->buf, ')');
}

static void
add_rejected(struct gs_buf *buf, const struct gs_tally *tally)
{
	struct reasons reasons = { .buf = buf };
	struct gs_map_entry **sorted;
	size_t i;

	gs_buf_printf(buf, ", rejected %" PRIu64, tally->rejected);
	if (tally->reasons == NULL)
		return;
	sorted = gs_map_sorted(tally->reasons);
	for (i = 0; i < gs_map_count(tally->reasons); i++)
		add_reason(&reasons, sorted[i]->key.ptr, *(uint64_t *)sorted[i]->value);
	end_reasons(&reasons);
	free(sorted);
}

static void
add_invalid(struct gs_buf *buf, const struct gs_tally *tally)
{
	struct reasons reasons = { .buf = buf };
	int fault;

	gs_buf_printf(buf, ", invalid %" PRIu64, gs_figures_invalid(tally));
	for (fault = GS_EVENT_SHAPE; fault <= GS_EVENT_SIG; fault++)
		add_reason(&reasons, gs_event_fault_name((enum gs_event_fault)fault),
		    tally->invalid[fault]);
	end_reasons(&reasons);
}

void
gs_figures_write_tally(struct gs_buf *buf, const struct gs_tally *tally)
{
	gs_buf_printf(buf,
	    "read %" PRIu64 ", stored %" PRIu64 ", duplicate %" PRIu64
	    ", replaced %" PRIu64 ", deleted %" PRIu64 ", expired %" PRIu64
	    ", waiting %" PRIu64,
	    tally->read, tally->stored, tally->duplicate, tally->replaced, tally->deleted,
	    tally->expired, tally->waiting);
	add_rejected(buf, tally);
	add_invalid(buf, tally);
	if (tally->skipped > 0)
		gs_buf_printf(buf, ", skipped %" PRIu64, tally->skipped);
	if (tally->freed > 0)
		gs_buf_printf(buf, ", freed %" PRIu64, tally->freed);
	if (tally->removed > 0)
		gs_buf_printf(buf, ", removed %" PRIu64, tally->removed);
}

static const char *
name_result(int known)
{
	static const char *const names[] = { "unknown", "stored", "waiting", "rejected",
		"deleted", "superseded", "expired" };

	return names[known];
}

/* An event may be dated past all calendars. */
static void
add_date(struct gs_buf *buf, const char *what, int64_t time_s)
{
	time_t seconds = (time_t)time_s;
	char text[DATE_BYTES];
	struct tm tm;

	gs_buf_printf(buf, "%-14s ", what);
	if (time_s < 0)
		gs_buf_add_str(buf, "none\n");
	else if (gmtime_r(&seconds, &tm) == NULL ||
	    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
		gs_buf_printf(buf, "%" PRId64 "\n", time_s);
	else
		gs_buf_printf(buf, "%s (%" PRId64 ")\n", text, time_s);
}

static void
add_judged_table(struct gs_buf *buf, const struct gs_store_stat *stat)
{
	struct gs_map_entry **sorted = gs_map_sorted(stat->reasons);
	size_t i;
	int known;

	for (known = GS_KNOWN_WAITING; known <= GS_KNOWN_EXPIRED; known++)
		if (stat->judged[known] > 0)
			gs_buf_printf(buf, "%-14s %" PRIu64 " ids\n", name_result(known),
			    stat->judged[known]);
	for (i = 0; i < gs_map_count(stat->reasons); i++) {
		gs_buf_add_str(buf, "  ");
		gs_buf_add_shown(buf, sorted[i]->key.ptr, sorted[i]->key.len,
		    SHOWN_BYTES);
		gs_buf_printf(buf, " %" PRIu64 "\n", *(uint64_t *)sorted[i]->value);
	}
	free(sorted);
}

void
gs_figures_write_stat(struct gs_buf *buf, const struct gs_store_stat *stat)
{
	double used = stat->map_bytes > 0
	    ? 100.0 * (double)stat->used_bytes / (double)stat->map_bytes
	    : 0.0;
	size_t i;

	gs_buf_printf(buf, "%-14s %" PRIu64 ", %" PRIu64 " bytes\n", "events",
	    stat->events, stat->bytes);
	add_date(buf, "oldest", stat->oldest);
	add_date(buf, "newest", stat->newest);
	gs_buf_printf(buf, "%-14s %" PRIu64 " bytes\n", "file", stat->file_bytes);
	gs_buf_printf(buf, "%-14s %.1f %% of %" PRIu64 " bytes\n", "map", used,
	    stat->map_bytes);
	gs_buf_printf(buf, "%-14s %" PRIu64 " bytes\n", "waiting", stat->waiting_bytes);
	add_judged_table(buf, stat);
	for (i = 0; i < stat->num_kinds; i++)
		gs_buf_printf(buf, "kind %-9u %" PRIu64 ", %" PRIu64 " bytes\n",
		    (unsigned)stat->kinds[i].kind, stat->kinds[i].events,
		    stat->kinds[i].bytes);
	gs_buf_cut(buf, buf->len - 1);
}

static void
add_time_json(struct gs_buf *buf, const char *name, int64_t time_s)
{
	if (time_s < 0)
		gs_buf_printf(buf, ",\"%s\":null", name);
	else
		gs_buf_printf(buf, ",\"%s\":%" PRId64, name, time_s);
}

static void
add_kinds_json(struct gs_buf *buf, const struct gs_store_stat *stat)
{
	size_t i;

	gs_buf_add_str(buf, ",\"kinds\":{");
	for (i = 0; i < stat->num_kinds; i++)
		gs_buf_printf(buf,
		    "%s\"%u\":{\"events\":%" PRIu64 ",\"bytes\":%" PRIu64 "}",
		    i ? "," : "", (unsigned)stat->kinds[i].kind, stat->kinds[i].events,
		    stat->kinds[i].bytes);
	gs_buf_add_char(buf, '}');
}

static void
add_judged_json(struct gs_buf *buf, const struct gs_store_stat *stat)
{
	struct gs_map_entry **sorted = gs_map_sorted(stat->reasons);
	size_t i;
	int known;

	gs_buf_add_str(buf, ",\"judged\":{");
	for (known = GS_KNOWN_WAITING; known <= GS_KNOWN_EXPIRED; known++)
		gs_buf_printf(buf, "%s\"%s\":%" PRIu64,
		    known > GS_KNOWN_WAITING ? "," : "", name_result(known),
		    stat->judged[known]);
	gs_buf_add_str(buf, "},\"reasons\":{");
	for (i = 0; i < gs_map_count(stat->reasons); i++) {
		if (i > 0)
			gs_buf_add_char(buf, ',');
		gs_json_write_string(buf, sorted[i]->key.ptr, sorted[i]->key.len);
		gs_buf_printf(buf, ":%" PRIu64, *(uint64_t *)sorted[i]->value);
	}
	gs_buf_add_char(buf, '}');
	free(sorted);
}

void
gs_figures_write_stat_json(struct gs_buf *buf, const struct gs_store_stat *stat)
{
	gs_buf_printf(buf, "{\"events\":%" PRIu64 ",\"bytes\":%" PRIu64, stat->events,
	    stat->bytes);
	add_time_json(buf, "oldest", stat->oldest);
	add_time_json(buf, "newest", stat->newest);
	gs_buf_printf(buf,
	    ",\"file_bytes\":%" PRIu64 ",\"map_bytes\":%" PRIu64
	    ",\"used_bytes\":%" PRIu64,
	    stat->file_bytes, stat->map_bytes, stat->used_bytes);
	gs_buf_printf(buf, ",\"waiting\":%" PRIu64 ",\"waiting_bytes\":%" PRIu64,
	    stat->waiting, stat->waiting_bytes);
	add_kinds_json(buf, stat);
	add_judged_json(buf, stat);
	gs_buf_add_char(buf, '}');
}
