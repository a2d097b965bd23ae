/* What came of a filter's reading, as text for machines. */
#include <inttypes.h>

#include "history.h"
#include "json.h"

static void
write_time(struct gs_buf *buf, const char *name, int64_t time_s)
{
	if (time_s < 0)
		gs_buf_printf(buf, ",\"%s\":null", name);
	else
		gs_buf_printf(buf, ",\"%s\":%" PRId64, name, time_s);
}

void
gs_history_write_end(const struct gs_history_report *report, struct gs_buf *buf)
{
	gs_buf_add_str(buf, gs_end_name(report->end));
	if (report->end == GS_END_CLOSED)
		gs_buf_printf(buf, ":%s", report->reason);
}

void
gs_history_write(const struct gs_history *history, size_t i, struct gs_buf *buf)
{
	const struct gs_history_report *report = gs_history_get(history, i);
	struct gs_buf end = GS_BUF_INIT;

	gs_buf_add_str(buf, "\"filter\":");
	gs_filter_write(gs_history_filter(history, i), buf);
	gs_buf_printf(buf,
	    ",\"pages\":%" PRIu64 ",\"frames\":%" PRIu64 ",\"new\":%" PRIu64,
	    report->pages, report->frames, report->fresh);
	gs_buf_printf(buf, ",\"duplicate\":%" PRIu64 ",\"invalid\":%" PRIu64,
	    report->duplicate, report->invalid);
	write_time(buf, "oldest", report->oldest);
	write_time(buf, "newest", report->newest);
	gs_history_write_end(report, &end);
	gs_buf_add_str(buf, ",\"method\":\"pages\",\"end\":");
	gs_json_write_string(buf, end.data, end.len);
	gs_buf_printf(buf, ",\"complete\":%s",
	    report->end == GS_END_FINISHED ? "true" : "false");
	gs_buf_fini(&end);
}
