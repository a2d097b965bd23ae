/* What comes of a relay's reading: for exit codes, for people, and as JSON. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "map.h"
#include "mem.h"
#include "refusal.h"
#include "relay.h"

#define SHOWN_BYTES 120 /* of a filter in a message */

static enum gs_code
code_of_refusal(const char *reason)
{
	enum gs_refusal refusal = gs_refusal_prefix(gs_str_of(reason));

	return refusal == GS_REFUSAL_AUTH_REQUIRED || refusal == GS_REFUSAL_RESTRICTED
	    ? GS_EREFUSED
	    : GS_EINCOMPLETE;
}

static enum gs_code
code_of_filter(const struct gs_relay *relay, const struct gs_history_report *report)
{
	const struct gs_relay_fault *fault = gs_relay_fault(relay);

	switch (report->end) {
	case GS_END_FINISHED:
		return GS_OK;
	case GS_END_CLOSED:
		return code_of_refusal(report->reason);
	case GS_END_DROPPED:
		return fault->name != NULL ? fault->code : GS_EINCOMPLETE;
	case GS_END_INCONSISTENT:
		return gs_session_fault(gs_relay_session(relay)) == GS_FAULT_NOISY
		    ? GS_EPROTOCOL
		    : GS_EINCOMPLETE;
	case GS_END_NONE:
	case GS_END_TIMEOUT:
	case GS_END_CAP:
	case GS_END_LOSS:
		break;
	}
	return GS_EINCOMPLETE;
}

size_t
gs_relay_ended(const struct gs_relay *relay)
{
	const struct gs_history *history = gs_session_history(gs_relay_session(relay));
	size_t ended = 0;

	for (size_t i = 0; i < gs_history_count(history); i++)
		ended += gs_history_get(history, i)->end != GS_END_NONE;
	return ended;
}

size_t
gs_relay_complete(const struct gs_relay *relay)
{
	const struct gs_history *history = gs_session_history(gs_relay_session(relay));
	size_t complete = 0;

	for (size_t i = 0; i < gs_history_count(history); i++)
		complete += gs_history_get(history, i)->end == GS_END_FINISHED;
	return complete;
}

enum gs_code
gs_relay_code(const struct gs_relay *relay)
{
	const struct gs_history *history = gs_session_history(gs_relay_session(relay));
	enum gs_code code = GS_OK;

	for (size_t i = 0; i < gs_history_count(history); i++) {
		enum gs_code one = code_of_filter(relay, gs_history_get(history, i));

		if (one != GS_OK)
			code = code == GS_OK || code == one ? one : GS_EINCOMPLETE;
	}
	return code;
}

/* Filters that are not complete for the same cause. */
struct cause {
	size_t count;
	size_t first;
};

static void
add_cause(struct gs_map *causes, const struct gs_history_report *report, size_t i)
{
	struct gs_buf text = GS_BUF_INIT;
	struct gs_map_entry *entry;
	struct cause *cause;

	gs_history_write_end(report, &text);
	entry = gs_map_add(causes, (struct gs_str){ text.data, text.len });
	cause = entry->value;
	if (cause == NULL) {
		entry->value = cause = gs_mem_new(sizeof(*cause));
		cause->first = i;
	}
	cause->count++;
	gs_buf_fini(&text);
}

static void
write_cause(const struct gs_relay *relay, const uint64_t *lines,
    const struct gs_map_entry *entry, struct gs_buf *buf)
{
	const struct gs_history *history = gs_session_history(gs_relay_session(relay));
	const struct gs_relay_fault *fault = gs_relay_fault(relay);
	const struct cause *cause = entry->value;
	struct gs_buf filter = GS_BUF_INIT;

	gs_buf_add_str(buf, "incomplete: ");
	gs_buf_add(buf, entry->key.ptr, entry->key.len);
	if (fault->name != NULL && gs_str_is(entry->key, "dropped"))
		gs_buf_printf(buf, " (%s)", fault->name);
	gs_buf_printf(buf, ": %zu of %zu filters, such as line %" PRIu64 ": ",
	    cause->count, gs_history_count(history), lines[cause->first]);
	gs_filter_write(gs_history_filter(history, cause->first), &filter);
	gs_buf_add_shown(buf, filter.data, filter.len, SHOWN_BYTES);
	gs_buf_fini(&filter);
}

static void
give_causes(const struct gs_relay *relay, const uint64_t *lines, struct gs_map *causes,
    gs_relay_cause_fn *fn, void *arg)
{
	struct gs_map_entry **sorted = gs_map_sorted(causes);
	struct gs_buf text = GS_BUF_INIT;

	for (size_t i = 0; i < gs_map_count(causes); i++) {
		gs_buf_clear(&text);
		write_cause(relay, lines, sorted[i], &text);
		fn(text.data, arg);
	}
	gs_buf_fini(&text);
	free(sorted);
}

void
gs_relay_each_cause(const struct gs_relay *relay, const uint64_t *lines,
    gs_relay_cause_fn *fn, void *arg)
{
	const struct gs_history *history = gs_session_history(gs_relay_session(relay));
	const struct gs_relay_fault *fault = gs_relay_fault(relay);
	struct gs_map *causes = gs_map_new();
	struct gs_buf text = GS_BUF_INIT;

	for (size_t i = 0; i < gs_history_count(history); i++)
		if (gs_history_get(history, i)->end != GS_END_FINISHED)
			add_cause(causes, gs_history_get(history, i), i);
	if (fault->name != NULL && fault->text[0] != '\0') {
		gs_buf_printf(&text, "%s: %s", fault->name, fault->text);
		fn(text.data, arg);
	}
	give_causes(relay, lines, causes, fn, arg);
	gs_buf_fini(&text);
	gs_map_free(causes, free);
}

static void
write_summary(const struct gs_relay *relay, struct gs_buf *buf)
{
	struct gs_session *session = gs_relay_session(relay);
	const struct gs_session_counts *counts = gs_session_counts(session);
	size_t filters = gs_history_count(gs_session_history(session));
	size_t complete = gs_relay_complete(relay);
	const char *url = gs_relay_url(relay)->text;
	const char *fault = gs_relay_fault(relay)->name;
	const char *notice = gs_session_notice(session);

	gs_buf_add_str(buf, "{\"relay\":");
	gs_json_write_string(buf, url, strlen(url));
	gs_buf_printf(buf, ",\"filters\":%zu,\"complete\":%zu", filters, complete);
	gs_buf_printf(buf,
	    ",\"events\":%" PRIu64 ",\"invalid\":%" PRIu64 ",\"foreign\":%" PRIu64
	    ",\"late\":%" PRIu64 ",\"unknown\":%" PRIu64 ",\"junk\":%" PRIu64,
	    counts->events, counts->invalid, counts->foreign, counts->late,
	    counts->unknown, counts->junk);
	gs_buf_add_str(buf, ",\"fault\":");
	if (fault != NULL && complete < filters)
		gs_json_write_string(buf, fault, strlen(fault));
	else
		gs_buf_add_str(buf, "null");
	gs_buf_printf(buf, ",\"notices\":%" PRIu64 ",\"notice\":", counts->notices);
	gs_json_write_string(buf, notice, strlen(notice));
	gs_buf_add_char(buf, '}');
}

void
gs_relay_write_report(const struct gs_relay *relay, const uint64_t *lines,
    struct gs_out *out)
{
	const struct gs_history *history = gs_session_history(gs_relay_session(relay));
	struct gs_buf line = GS_BUF_INIT;

	for (size_t i = 0; i < gs_history_count(history); i++) {
		gs_buf_clear(&line);
		gs_buf_printf(&line, "{\"line\":%" PRIu64 ",", lines[i]);
		gs_history_write(history, i, &line);
		gs_buf_add_char(&line, '}');
		(void)gs_out_line(out, line.data, line.len);
	}
	gs_buf_clear(&line);
	write_summary(relay, &line);
	(void)gs_out_line(out, line.data, line.len);
	gs_buf_fini(&line);
}

static void
write_wait(struct gs_buf *buf, int64_t wait_ms)
{
	int64_t wait_s = (wait_ms + 999) / 1000;

	if (wait_s == 0)
		gs_buf_add_str(buf, "again at once");
	else if (wait_s < 120)
		gs_buf_printf(buf, "again in %" PRId64 " s", wait_s);
	else if (wait_s < 7200)
		gs_buf_printf(buf, "again in %" PRId64 " min", wait_s / 60);
	else
		gs_buf_printf(buf, "again in %" PRId64 " h", wait_s / 3600);
}

static void
write_open_state(const struct gs_relay *relay, struct gs_buf *buf)
{
	struct gs_session_filters filters = gs_session_filters(gs_relay_session(relay));

	gs_buf_add_str(buf, "connected");
	if (filters.polled > 0)
		gs_buf_printf(buf, ", %zu filters read in turn", filters.polled);
	if (filters.failed > 0)
		gs_buf_printf(buf, ", %zu filters refused", filters.failed);
}

void
gs_relay_write_state(const struct gs_relay *relay, struct gs_buf *buf)
{
	const struct gs_relay_fault *fault = gs_relay_fault(relay);

	if (gs_relay_is_open(relay)) {
		write_open_state(relay, buf);
		return;
	}
	gs_buf_add_str(buf, fault->name != NULL ? fault->name : "closed");
	if (fault->text[0] != '\0')
		gs_buf_printf(buf, ": %s", fault->text);
	if (gs_relay_status(relay) == GS_HEALTH_DEAD)
		gs_buf_add_str(buf, ", dead");
	gs_buf_add_str(buf, ", ");
	write_wait(buf, gs_relay_wait_ms(relay));
}
