/*
 * Reading what a relay has stored, filter by filter, page by page, with a proof for
 * each that nothing was left out (DESIGN 3 "History").  Here: which filters go into
 * which REQ, and who leaves it.  What a page proves for a filter is history_reading's.
 */
#include "history.h"

#include <stdlib.h>
#include <string.h>

#include "history_private.h"
#include "mem.h"
#include "message.h"

struct gs_request {
	struct gs_reading *readings[GS_HISTORY_FILTERS];
	size_t num;
	bool is_asked;	  /* waiting for its answer */
	uint64_t frames;  /* of the page, all that came */
	uint64_t matched; /* events of the page that fitted a filter */
};

struct gs_history {
	struct gs_reading **readings;
	size_t num, cap;
	size_t next; /* the first reading that was in no request yet */
	size_t left; /* readings without an end */
	struct gs_request **requests;
	size_t num_requests, cap_requests;
	uint64_t longest, longest_one; /* see struct gs_reading_answer */
};

const char *
gs_end_name(enum gs_end end)
{
	switch (end) {
	case GS_END_NONE:
		return "unread";
	case GS_END_FINISHED:
		return "finished";
	case GS_END_CAP:
		return "cap";
	case GS_END_CLOSED:
		return "closed";
	case GS_END_TIMEOUT:
		return "timeout";
	case GS_END_DROPPED:
		return "dropped";
	case GS_END_INCONSISTENT:
		return "inconsistent";
	case GS_END_LOSS:
		return "loss";
	}
	return "";
}

struct gs_history *
gs_history_new(void)
{
	return gs_mem_new(sizeof(struct gs_history));
}

void
gs_history_free(struct gs_history *history)
{
	if (history == NULL)
		return;
	for (size_t i = 0; i < history->num_requests; i++)
		free(history->requests[i]);
	free(history->requests);
	for (size_t i = 0; i < history->num; i++) {
		gs_reading_fini(history->readings[i]);
		free(history->readings[i]);
	}
	free(history->readings);
	free(history);
}

void
gs_history_add(struct gs_history *history, struct gs_filter *filter)
{
	struct gs_reading *reading = gs_mem_new(sizeof(*reading));

	gs_reading_init(reading, filter);
	history->readings = gs_mem_more(history->readings, history->num, &history->cap,
	    sizeof(struct gs_reading *));
	history->readings[history->num++] = reading;
	if (gs_reading_is_vain(reading))
		gs_reading_finish(reading);
	else
		history->left++;
}

size_t
gs_history_count(const struct gs_history *history)
{
	return history->num;
}

const struct gs_history_report *
gs_history_get(const struct gs_history *history, size_t i)
{
	return &history->readings[i]->report;
}

const struct gs_filter *
gs_history_filter(const struct gs_history *history, size_t i)
{
	return &history->readings[i]->filter;
}

bool
gs_history_is_done(const struct gs_history *history)
{
	return history->left == 0;
}

static struct gs_request *
add_request(struct gs_history *history)
{
	struct gs_request *request = gs_mem_new(sizeof(*request));

	history->requests = gs_mem_more(history->requests, history->num_requests,
	    &history->cap_requests, sizeof(struct gs_request *));
	history->requests[history->num_requests++] = request;
	return request;
}

static void
add_alone(struct gs_history *history, struct gs_reading *reading)
{
	struct gs_request *request = add_request(history);

	request->readings[request->num++] = reading;
}

/* Takes out a request that nothing is left of. */
static void
drop_request(struct gs_history *history, struct gs_request *request)
{
	for (size_t i = 0; i < history->num_requests; i++) {
		if (history->requests[i] != request)
			continue;
		history->num_requests--;
		memmove(&history->requests[i], &history->requests[i + 1],
		    (history->num_requests - i) * sizeof(struct gs_request *));
		break;
	}
	free(request);
}

static size_t
measure_filter(const struct gs_reading *reading, struct gs_buf *scratch)
{
	gs_buf_clear(scratch);
	gs_reading_write(reading, scratch);
	return scratch->len + 1;
}

/*
 * The next readings, as many as fit one REQ.  One that has a limit of its own goes
 * alone: how many of its newest came can't be told in company.
 */
static struct gs_request *
form_request(struct gs_history *history)
{
	const size_t cursor_bytes = sizeof(",\"until\":9007199254740991");
	struct gs_buf scratch = GS_BUF_INIT;
	struct gs_request *request = NULL;
	size_t bytes = sizeof("[\"REQ\",\"1234567890\"]");

	for (; history->next < history->num; history->next++) {
		struct gs_reading *reading = history->readings[history->next];
		bool wants_company = reading->filter.limit < 0;

		if (reading->report.end != GS_END_NONE)
			continue;
		bytes += measure_filter(reading, &scratch) + cursor_bytes;
		if (request != NULL && (!wants_company || bytes > GS_HISTORY_BYTES))
			break;
		if (request == NULL)
			request = add_request(history);
		request->readings[request->num++] = reading;
		if (!wants_company || request->num == GS_HISTORY_FILTERS) {
			history->next++;
			break;
		}
	}
	gs_buf_fini(&scratch);
	return request;
}

static struct gs_request *
find_idle(const struct gs_history *history)
{
	for (size_t i = 0; i < history->num_requests; i++)
		if (!history->requests[i]->is_asked)
			return history->requests[i];
	return NULL;
}

static void
write_request(const struct gs_request *request, const char *sub, struct gs_buf *frame)
{
	struct gs_str filters[GS_HISTORY_FILTERS];
	struct gs_buf texts[GS_HISTORY_FILTERS];

	for (size_t i = 0; i < request->num; i++) {
		texts[i] = (struct gs_buf)GS_BUF_INIT;
		gs_reading_write(request->readings[i], &texts[i]);
		filters[i] = (struct gs_str){ texts[i].data, texts[i].len };
	}
	gs_message_write_req(frame, sub, filters, request->num);
	for (size_t i = 0; i < request->num; i++)
		gs_buf_fini(&texts[i]);
}

struct gs_request *
gs_history_ask(struct gs_history *history, const char *sub, struct gs_buf *frame)
{
	struct gs_request *request = find_idle(history);

	if (request == NULL)
		request = form_request(history);
	if (request == NULL)
		return NULL;
	request->is_asked = true;
	request->frames = request->matched = 0;
	for (size_t i = 0; i < request->num; i++)
		gs_reading_begin_page(request->readings[i]);
	write_request(request, sub, frame);
	return request;
}

struct gs_fit
gs_history_fit(const struct gs_request *request, const struct gs_event *event)
{
	struct gs_fit fit = { 0, 0, false };

	for (size_t i = 0; i < request->num; i++) {
		switch (gs_reading_fit(request->readings[i], event)) {
		case GS_READING_INSIDE:
			fit.inside |= 1u << i;
			fit.is_wanted = true;
			break;
		case GS_READING_OUTSIDE:
			fit.outside |= 1u << i;
			fit.is_wanted = true;
			break;
		case GS_READING_BEYOND:
			fit.outside |= 1u << i;
			break;
		case GS_READING_FOREIGN:
			break;
		}
	}
	return fit;
}

/* What could not be read can be blamed only on a filter that was asked alone. */
static bool
take_unreadable(struct gs_request *request)
{
	if (request->num == 1) {
		request->readings[0]->report.frames++;
		request->readings[0]->report.invalid++;
	}
	return false;
}

bool
gs_history_event(struct gs_request *request, struct gs_fit fit,
    const struct gs_event *event, bool is_valid)
{
	bool is_own = (fit.inside & (fit.inside - 1)) == 0;
	bool is_first = false;

	request->frames++;
	if (event == NULL)
		return take_unreadable(request);
	for (size_t i = 0; i < request->num; i++) {
		struct gs_reading *reading = request->readings[i];

		/* Another filter may have asked for what lies outside this window. */
		if ((fit.outside & (1u << i)) != 0 && fit.inside == 0)
			reading->page.is_outside = true;
		if ((fit.inside & (1u << i)) != 0 &&
		    gs_reading_take(reading, event, is_own, is_valid))
			is_first = true;
	}
	request->matched += is_first;
	return is_first;
}

bool
gs_history_is_over(const struct gs_request *request)
{
	for (size_t i = 0; i < request->num; i++)
		if (request->readings[i]->report.frames > GS_HISTORY_FRAMES)
			return true;
	return request->frames > GS_HISTORY_FRAMES;
}

bool
gs_history_is_empty(const struct gs_request *request)
{
	return request->frames == 0;
}

bool
gs_history_is_shared(const struct gs_request *request)
{
	return request->num > 1;
}

static void
learn_longest(struct gs_history *history, const struct gs_request *request)
{
	if (request->matched > history->longest)
		history->longest = request->matched;
	for (size_t i = 0; i < request->num; i++)
		if (request->readings[i]->page.own > history->longest_one)
			history->longest_one = request->readings[i]->page.own;
}

/* Keeps in the request those that go on together; true if there are any. */
static bool
part_company(struct gs_history *history, struct gs_request *request,
    const enum gs_reading_next *nexts)
{
	bool moves = false;
	size_t kept = 0;

	for (size_t i = 0; i < request->num; i++)
		moves = moves || nexts[i] == GS_READING_AGAIN;
	for (size_t i = 0; i < request->num; i++) {
		struct gs_reading *reading = request->readings[i];

		if (nexts[i] == GS_READING_ENDED)
			history->left--;
		else if (nexts[i] == GS_READING_ALONE ||
		    (nexts[i] == GS_READING_LONG && !moves))
			add_alone(history, reading);
		else if (moves)
			request->readings[kept++] = reading;
		else {
			gs_reading_finish(reading);
			history->left--;
		}
	}
	request->num = kept;
	return kept > 0;
}

void
gs_history_eose(struct gs_history *history, struct gs_request *request, bool is_finish)
{
	enum gs_reading_next nexts[GS_HISTORY_FILTERS];
	struct gs_reading_answer answer;

	learn_longest(history, request);
	answer = (struct gs_reading_answer){
		.frames = request->frames,
		.is_finish = is_finish,
		.is_shared = request->num > 1,
		.longest = history->longest,
		.longest_one = history->longest_one,
	};
	for (size_t i = 0; i < request->num; i++)
		nexts[i] = gs_reading_judge(request->readings[i], &answer);
	request->is_asked = false;
	if (!part_company(history, request, nexts))
		drop_request(history, request);
}

void
gs_history_split(struct gs_history *history, struct gs_request *request)
{
	for (size_t i = 0; i < request->num; i++)
		add_alone(history, request->readings[i]);
	drop_request(history, request);
}

void
gs_history_fail(struct gs_history *history, struct gs_request *request, enum gs_end end,
    struct gs_str reason)
{
	for (size_t i = 0; i < request->num; i++) {
		gs_reading_end(request->readings[i], end, reason);
		history->left--;
	}
	drop_request(history, request);
}

void
gs_history_abort(struct gs_history *history, enum gs_end end)
{
	for (size_t i = 0; i < history->num; i++)
		if (history->readings[i]->report.end == GS_END_NONE)
			gs_reading_end(history->readings[i], end, GS_STR(""));
	history->left = 0;
	history->next = history->num;
	while (history->num_requests > 0)
		free(history->requests[--history->num_requests]);
}
