/* A relay that is played in memory: who is subscribed, and what is on its way. */
#include "mimic.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "map.h"
#include "mem.h"
#include "mimic_private.h"

struct mimic *
mimic_new(const struct mimic_ways *ways, const struct pool *pool, struct rng rng)
{
	struct mimic *mimic = gs_mem_new(sizeof(*mimic));

	mimic->ways = *ways;
	mimic->pool = pool;
	mimic->url = MIMIC_URL;
	mimic->rng = rng;
	mimic->names = gs_map_new();
	mimic->rated_ms = -1;
	return mimic;
}

void
mimic_free(struct mimic *mimic)
{
	mimic_disconnected(mimic);
	gs_map_free(mimic->names, NULL);
	free(mimic->stored);
	free(mimic->heap);
	free(mimic);
}

void
mimic_set_url(struct mimic *mimic, const char *url)
{
	mimic->url = url;
}

void
mimic_forget_client(struct mimic *mimic)
{
	gs_map_free(mimic->names, NULL);
	mimic->names = gs_map_new();
	mimic->rated_ms = -1;
}

static int
compare_stored(const void *a, const void *b)
{
	const struct pool_event *const *x = a, *const *y = b;

	return pool_compare(*x, *y);
}

void
mimic_store(struct mimic *mimic, const struct pool_event *event)
{
	mimic->stored = gs_mem_more(mimic->stored, mimic->num_stored, &mimic->cap_stored,
	    sizeof(*mimic->stored));
	mimic->stored[mimic->num_stored++] = event;
	mimic->is_sorted = false;
}

void
mimic_arrange(struct mimic *mimic)
{
	if (!mimic->is_sorted && mimic->num_stored > 0)
		qsort(mimic->stored, mimic->num_stored, sizeof(*mimic->stored),
		    compare_stored);
	mimic->is_sorted = true;
}

void
mimic_complain(struct mimic *mimic, const char *what, const char *text, size_t len)
{
	if (mimic->complaint[0] != '\0')
		return;
	(void)snprintf(mimic->complaint, sizeof(mimic->complaint), "%s: %.*s", what,
	    len > 200 ? 200 : (int)len, text);
}

static bool
is_before(const struct mimic_out *a, const struct mimic_out *b)
{
	return a->due_ms < b->due_ms || (a->due_ms == b->due_ms && a->number < b->number);
}

void
mimic_send(struct mimic *mimic, struct mimic_out out)
{
	size_t at = mimic->num_heap++;

	mimic->heap = gs_mem_more(mimic->heap, at, &mimic->cap_heap, sizeof(out));
	out.number = ++mimic->last_number;
	for (; at > 0 && is_before(&out, &mimic->heap[(at - 1) / 2]); at = (at - 1) / 2)
		mimic->heap[at] = mimic->heap[(at - 1) / 2];
	mimic->heap[at] = out;
}

static struct mimic_out
pop(struct mimic *mimic)
{
	struct mimic_out first = mimic->heap[0];
	struct mimic_out last = mimic->heap[--mimic->num_heap];
	size_t at = 0, child;

	while ((child = 2 * at + 1) < mimic->num_heap) {
		if (child + 1 < mimic->num_heap &&
		    is_before(&mimic->heap[child + 1], &mimic->heap[child]))
			child++;
		if (!is_before(&mimic->heap[child], &last))
			break;
		mimic->heap[at] = mimic->heap[child];
		at = child;
	}
	mimic->heap[at] = last;
	return first;
}

struct mimic_sub *
mimic_find_sub(struct mimic *mimic, const char *name)
{
	for (size_t i = 0; i < mimic->num_subs; i++)
		if (strcmp(mimic->subs[i].asked.name, name) == 0)
			return &mimic->subs[i];
	return NULL;
}

void
mimic_end_sub(struct mimic *mimic, struct mimic_sub *sub)
{
	asked_fini(&sub->asked);
	*sub = mimic->subs[--mimic->num_subs];
}

void
mimic_connected(struct mimic *mimic, int64_t now_ms)
{
	mimic->is_connected = true;
	mimic->client = MIMIC_STRANGER;
	if (mimic->ways.door == MIMIC_ASKS_FIRST)
		mimic_challenge(mimic, now_ms);
}

void
mimic_disconnected(struct mimic *mimic)
{
	while (mimic->num_subs > 0)
		mimic_end_sub(mimic, &mimic->subs[0]);
	mimic->num_heap = 0;
	mimic->is_connected = false;
}

bool
mimic_asks_for(const struct mimic *mimic, const struct mimic_sub *sub,
    const struct pool_event *event)
{
	for (size_t i = 0; i < sub->asked.num_filters; i++)
		if (asked_match(&sub->asked.filters[i], mimic->pool, event))
			return true;
	return false;
}

void
mimic_publish(struct mimic *mimic, const struct pool_event *event, int64_t now_ms)
{
	mimic_store(mimic, event);
	for (size_t i = 0; i < mimic->num_subs; i++) {
		struct mimic_sub *sub = &mimic->subs[i];
		struct mimic_out out = { .what = MIMIC_EVENT, .event = event };

		if (!mimic_asks_for(mimic, sub, event))
			continue;
		/* Behind what was stored, which is still on its way. */
		if (sub->last_ms < now_ms)
			sub->last_ms = now_ms;
		out.due_ms = sub->last_ms;
		memcpy(out.name, sub->asked.name, sizeof(out.name));
		mimic_send(mimic, out);
	}
}

int64_t
mimic_due_ms(const struct mimic *mimic)
{
	return mimic->num_heap > 0 ? mimic->heap[0].due_ms : -1;
}

/* One digit of the signature is another one. */
static void
write_corrupt(const struct pool_event *event, struct gs_buf *frame)
{
	gs_buf_add_str(frame, event->json);
	frame->data[frame->len - 3] = frame->data[frame->len - 3] == '0' ? '1' : '0';
}

static void
write_out(const struct mimic_out *out, struct gs_buf *frame)
{
	switch (out->what) {
	case MIMIC_EVENT:
		gs_buf_printf(frame, "[\"EVENT\",\"%s\",", out->name);
		if (out->is_corrupt)
			write_corrupt(out->event, frame);
		else
			gs_buf_add_str(frame, out->event->json);
		gs_buf_add_char(frame, ']');
		break;
	case MIMIC_EOSE:
		gs_buf_printf(frame, "[\"EOSE\",\"%s\"]", out->name);
		break;
	case MIMIC_FINISH:
		gs_buf_printf(frame, "[\"EOSE\",\"%s\",\"finish\"]", out->name);
		break;
	case MIMIC_CLOSED:
		gs_buf_printf(frame, "[\"CLOSED\",\"%s\",\"%s\"]", out->name, out->text);
		break;
	case MIMIC_NOTICE:
		gs_buf_printf(frame, "[\"NOTICE\",\"%s\"]", out->text);
		break;
	case MIMIC_RAW:
		gs_buf_add_str(frame, out->text);
		break;
	case MIMIC_DROP:
		break;
	}
}

/* Does the client know by this frame that it has to wait? */
static bool
is_rate_limit(const struct mimic *mimic, const struct mimic_out *out)
{
	static const char prefix[] = "rate-limited:";

	return out->what == MIMIC_CLOSED &&
	    strncmp(out->text, prefix, sizeof(prefix) - 1) == 0 &&
	    !mimic_was_closed(mimic, out->name);
}

enum mimic_what
mimic_next(struct mimic *mimic, struct gs_buf *frame)
{
	struct mimic_out out = pop(mimic);

	if (mimic->ways.drop_every > 0 && mimic->drops < mimic->ways.max_drops &&
	    ++mimic->sent % mimic->ways.drop_every == 0) {
		mimic->drops++;
		return MIMIC_DROP;
	}
	write_out(&out, frame);
	if (is_rate_limit(mimic, &out))
		mimic->rated_ms = out.due_ms;
	return out.what;
}

void
mimic_calm(struct mimic *mimic)
{
	mimic->ways.refuse_every = mimic->ways.drop_every = 0;
}

bool
mimic_gives(const struct mimic *mimic, const struct pool_event *event)
{
	unsigned lies = mimic->ways.lies;

	return !((lies & MIMIC_MISLABELS) != 0 && mimic_is_mislabelled(event)) &&
	    !((lies & MIMIC_CORRUPTS) != 0 && mimic_is_corrupted(event));
}

size_t
mimic_num_stored(const struct mimic *mimic)
{
	return mimic->num_stored;
}

const struct pool_event *
mimic_stored(const struct mimic *mimic, size_t i)
{
	return mimic->stored[i];
}

const char *
mimic_complaint(const struct mimic *mimic)
{
	return mimic->complaint[0] != '\0' ? mimic->complaint : NULL;
}

size_t
mimic_num_reqs(const struct mimic *mimic)
{
	return mimic->num_reqs;
}
