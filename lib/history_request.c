/*
 * The REQs of a history: which filters go into which, within the relay's limits, and
 * who leaves it after a page.
 */
#include <stdlib.h>
#include <string.h>

#include "history_private.h"
#include "mem.h"
#include "message.h"

#define HEAD_BYTES (sizeof("[\"REQ\",\"1234567890\"]"))
#define CURSOR_BYTES (sizeof(",\"until\":9007199254740991"))

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

void
gs_history_drop_request(struct gs_history *history, struct gs_request *request)
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
measure_filter(const struct gs_reading *reading)
{
	struct gs_buf scratch = GS_BUF_INIT;
	size_t bytes;

	gs_reading_write(reading, &scratch);
	bytes = scratch.len + 1 + CURSOR_BYTES;
	gs_buf_fini(&scratch);
	return bytes;
}

static size_t
max_filters(const struct gs_history *history)
{
	size_t max = history->limits->filters;

	if (max > GS_HISTORY_FILTERS)
		return GS_HISTORY_FILTERS;
	return max > 0 ? max : 1;
}

/* Of the first that waits; once it is made it stays. */
static const struct gs_reading *
peek_first(struct gs_history *history)
{
	if (history->peeked == NULL)
		history->peeked = gs_reading_new(history->first, history->limits);
	return history->peeked;
}

static void
take_first(struct gs_history *history, struct gs_request *request)
{
	struct gs_history_item *item = history->first;

	history->first = item->next;
	if (history->first == NULL)
		history->last = NULL;
	item->next = NULL;
	request->readings[request->num++] = history->peeked;
	history->peeked = NULL;
}

/*
 * The next readings, as many as fit one REQ.  One that has a limit of its own goes
 * alone: how many of its newest came can't be told in company.
 */
static struct gs_request *
form_request(struct gs_history *history)
{
	struct gs_request *request = NULL;
	size_t bytes = HEAD_BYTES;

	while (history->first != NULL) {
		bool wants_company = !history->first->is_alone;

		bytes += measure_filter(peek_first(history));
		if (request != NULL && (!wants_company || bytes > history->limits->bytes))
			break;
		if (request == NULL)
			request = add_request(history);
		take_first(history, request);
		if (!wants_company || request->num == max_filters(history))
			break;
	}
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

static bool
is_too_long(const struct gs_history *history, const struct gs_request *request)
{
	size_t bytes = HEAD_BYTES;

	for (size_t i = 0; i < request->num; i++)
		bytes += measure_filter(request->readings[i]);
	return bytes > history->limits->bytes;
}

/* Limits have fallen since it was formed: what is over goes into another REQ. */
static void
shed_readings(struct gs_history *history, struct gs_request *request)
{
	struct gs_request *rest = add_request(history);
	size_t kept = request->num / 2;

	if (kept > max_filters(history))
		kept = max_filters(history);
	rest->num = request->num - kept;
	memcpy(rest->readings, &request->readings[kept],
	    rest->num * sizeof(struct gs_reading *));
	request->num = kept;
}

/* A filter that is too long alone is asked for in halves; false: it has none. */
static bool
halve_reading(struct gs_history *history, struct gs_request *request)
{
	struct gs_reading *whole = request->readings[0];
	struct gs_reading *first = gs_reading_halve(whole, false);
	struct gs_reading *second = gs_reading_halve(whole, true);

	if (first == NULL || second == NULL)
		return false;
	request->readings[0] = first;
	add_alone(history, second);
	whole->item->num_pieces++;
	gs_reading_free(whole);
	return true;
}

static void
fit_request(struct gs_history *history, struct gs_request *request)
{
	while (request->num > max_filters(history) || is_too_long(history, request)) {
		if (request->num > 1)
			shed_readings(history, request);
		else if (!halve_reading(history, request))
			return;
	}
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
	fit_request(history, request);
	request->is_asked = true;
	request->frames = request->matched = 0;
	for (size_t i = 0; i < request->num; i++)
		gs_reading_begin_page(request->readings[i]);
	write_request(request, sub, frame);
	return request;
}

size_t
gs_request_count(const struct gs_request *request)
{
	return request->num;
}

size_t
gs_request_item(const struct gs_request *request, size_t at)
{
	return request->readings[at]->item->number;
}

int64_t
gs_request_limit(const struct gs_request *request)
{
	int64_t limit = 0;

	for (size_t i = 0; i < request->num; i++)
		if (request->readings[i]->page.limit > limit)
			limit = request->readings[i]->page.limit;
	return limit;
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
		request->readings[0]->item->report.frames++;
		request->readings[0]->item->report.invalid++;
	}
	return false;
}

bool
gs_history_event(struct gs_request *request, struct gs_fit fit,
    const struct gs_event *event, bool is_valid)
{
	/* What another filter's window leaves out, a liar may have sent for that one. */
	bool is_own = (fit.inside & (fit.inside - 1)) == 0 && fit.outside == 0;
	bool is_first = false;

	request->frames++;
	if (event == NULL)
		return take_unreadable(request);
	for (size_t i = 0; i < request->num; i++) {
		struct gs_reading *reading = request->readings[i];

		/* Another filter may have asked for what lies outside this window. */
		if ((fit.outside & (1u << i)) != 0 && fit.inside == 0)
			reading->page.is_outside = true;
		else if ((fit.outside & (1u << i)) != 0)
			reading->page.is_ambiguous = true;
		if ((fit.inside & (1u << i)) != 0 &&
		    gs_reading_take(reading, event, is_own, is_valid))
			is_first = true;
	}
	request->matched += is_first;
	/* Some relays repeat, for each filter, what another one brought. */
	return is_first ||
	    (fit.inside != 0 && request->frames <= request->num * request->matched);
}

bool
gs_history_is_over(const struct gs_request *request)
{
	for (size_t i = 0; i < request->num; i++)
		if (request->readings[i]->item->report.frames > GS_HISTORY_FRAMES)
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

/* Keeps in the request those that go on together. */
static void
part_company(struct gs_history *history, struct gs_request *request,
    const enum gs_reading_next *nexts)
{
	bool moves = false;
	size_t kept = 0;

	for (size_t i = 0; i < request->num; i++)
		moves = moves || nexts[i] == GS_READING_AGAIN;
	for (size_t i = 0; i < request->num; i++) {
		struct gs_reading *reading = request->readings[i];

		if (nexts[i] == GS_READING_ENDED) {
			gs_history_settle(history, reading);
		} else if (nexts[i] == GS_READING_ALONE ||
		    (nexts[i] == GS_READING_LONG && !moves)) {
			add_alone(history, reading);
		} else if (moves) {
			request->readings[kept++] = reading;
		} else {
			gs_reading_finish(reading);
			gs_history_settle(history, reading);
		}
	}
	request->num = kept;
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
	part_company(history, request, nexts);
	if (request->num == 0)
		gs_history_drop_request(history, request);
}

void
gs_history_retract(struct gs_request *request)
{
	request->is_asked = false;
}

void
gs_history_split(struct gs_history *history, struct gs_request *request)
{
	for (size_t i = 0; i < request->num; i++)
		add_alone(history, request->readings[i]);
	gs_history_drop_request(history, request);
}

void
gs_history_fail(struct gs_history *history, struct gs_request *request, enum gs_end end,
    struct gs_str reason)
{
	for (size_t i = 0; i < request->num; i++) {
		gs_reading_end(request->readings[i], end, reason);
		gs_history_settle(history, request->readings[i]);
	}
	gs_history_drop_request(history, request);
}
