/* A relay that is played in memory, for tests of history. */
#include "history_model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "made.h"
#include "mem.h"
#include "pack_read.h"

#define MAX_ASKED 5000 /* pages; more is a reading that never ends */
#define MAX_FILTERS GS_HISTORY_FILTERS

static int
compare_events(const void *a, const void *b)
{
	const struct gs_event *x = a, *y = b;

	return gs_event_compare(x->created_at, x->id, y->created_at, y->id) *
	    (x->created_at == y->created_at ? 1 : -1);
}

void
add_events(struct model *model, size_t num, int64_t first_date, int64_t step)
{
	model->events =
	    gs_mem_resize(model->events, model->num + num, sizeof(*model->events));
	for (size_t i = 0; i < num; i++) {
		struct gs_event event = GS_EVENT_INIT;
		char tags[64];

		(void)snprintf(tags, sizeof(tags), "[['t','%zu'],['n','%zu']]",
		    model->num % 7, model->num);
		make_event(&event, 1 + (unsigned)(i % 2), 1,
		    first_date + (int64_t)i * step, tags);
		model->events[model->num++] = event;
	}
	qsort(model->events, model->num, sizeof(*model->events), compare_events);
}

void
free_model(struct model *model)
{
	for (size_t i = 0; i < model->num; i++)
		gs_event_fini(&model->events[i]);
	free(model->events);
	*model = (struct model){ .num = 0 };
}

struct asked {
	struct gs_filter filters[MAX_FILTERS];
	size_t num;
};

static void
keep_filter(struct gs_filter *filter, void *arg)
{
	struct asked *asked = arg;

	assert_true(asked->num < MAX_FILTERS);
	asked->filters[asked->num++] = *filter;
	*filter = (struct gs_filter)GS_FILTER_INIT;
}

static const struct gs_event *
nth_event(const struct model *model, size_t i)
{
	return &model->events[model->is_oldest_first ? model->num - 1 - i : i];
}

static void
send_event(struct gs_request *request, const struct gs_event *event,
    struct outcome *outcome)
{
	struct gs_fit fit = gs_history_fit(request, event);

	if (fit.is_wanted)
		(void)gs_map_add(outcome->got,
		    (struct gs_str){ (const char *)event->id, 32 });
	(void)gs_history_event(request, fit, event, true);
}

static void
serve_filter(const struct model *model, struct gs_request *request,
    struct gs_filter *filter, bool *sent, size_t *left, struct outcome *outcome)
{
	size_t limit = model->page;
	int64_t until = filter->until;

	if (!model->ignores_limit && filter->limit >= 0 && (size_t)filter->limit < limit)
		limit = (size_t)filter->limit;
	if (model->ignores_until)
		filter->until = -1;
	for (size_t i = 0; i < model->num && limit > 0 && *left > 0; i++) {
		const struct gs_event *event = nth_event(model, i);

		if (!gs_filter_match(filter, event) ||
		    (model->forgets_boundary && event->created_at == until))
			continue;
		limit--;
		if (sent[i])
			continue;
		sent[i] = true;
		(*left)--;
		send_event(request, event, outcome);
	}
}

static void
serve(const struct model *model, struct gs_request *request, const struct gs_buf *frame,
    struct outcome *outcome)
{
	struct asked asked = { .num = 0 };
	struct gs_str text = { frame->data, frame->len };
	bool *sent = gs_mem_array(model->num, sizeof(*sent));
	size_t left = model->total;

	assert_true(gs_pack_read(text, GS_HISTORY_BYTES, keep_filter, &asked, NULL));
	assert_in_range(asked.num, 1, MAX_FILTERS);
	for (size_t i = 0; i < asked.num; i++) {
		serve_filter(model, request, &asked.filters[i], sent, &left, outcome);
		gs_filter_fini(&asked.filters[i]);
	}
	free(sent);
}

static const struct gs_limits limits = { .subscriptions = 10,
	.filters = 10,
	.bytes = GS_HISTORY_BYTES,
	.limit = GS_HISTORY_LIMIT,
	.subid_len = 64 };

struct outcome
start(const char *const *filters)
{
	struct outcome outcome = { .got = gs_map_new() };

	outcome.history = gs_history_new(&limits);

	for (; *filters != NULL; filters++) {
		struct gs_filter filter = GS_FILTER_INIT;

		assert_true(gs_filter_parse(&filter, *filters, strlen(*filters), NULL));
		gs_history_add(outcome.history, &filter);
		gs_history_read(outcome.history, gs_history_count(outcome.history) - 1,
		    -1, false);
	}
	return outcome;
}

void
finish(struct outcome *outcome)
{
	gs_history_free(outcome->history);
	gs_map_free(outcome->got, NULL);
}

struct outcome
read_all(struct model *model, const char *const *filters)
{
	struct outcome outcome = start(filters);
	struct gs_buf frame = GS_BUF_INIT;
	struct gs_request *request;

	model->asked = 0;
	while (gs_buf_clear(&frame),
	    (request = gs_history_ask(outcome.history, "1", &frame)) != NULL) {
		assert_true(++model->asked < MAX_ASKED);
		serve(model, request, &frame, &outcome);
		gs_history_eose(outcome.history, request, model->says_finish);
	}
	gs_buf_fini(&frame);
	assert_true(gs_history_num_left(outcome.history) == 0);
	return outcome;
}

enum gs_end
end_of(const struct outcome *outcome, size_t i)
{
	return gs_history_get(outcome->history, i)->end;
}

bool
has_all(const struct model *model, const struct outcome *outcome, size_t i)
{
	const struct gs_filter *filter = gs_history_filter(outcome->history, i);

	for (size_t n = 0; n < model->num; n++) {
		struct gs_str id = { (const char *)model->events[n].id, 32 };

		if (gs_filter_match(filter, &model->events[n]) &&
		    gs_map_find(outcome->got, id) == NULL)
			return false;
	}
	return true;
}

enum gs_end
read_one(struct model *model, const char *filter, size_t *got)
{
	struct outcome outcome = read_all(model, (const char *const[]){ filter, NULL });
	enum gs_end end = end_of(&outcome, 0);

	assert_true(end != GS_END_FINISHED || has_all(model, &outcome, 0));
	*got = gs_map_count(outcome.got);
	finish(&outcome);
	return end;
}
