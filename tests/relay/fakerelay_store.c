/*
 * The events of the test relay: read from a file, or made and signed here.  It believes
 * whatever has the right shape.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fakerelay.h"
#include "file.h"
#include "json.h"
#include "mem.h"
#include "tools/draft.h"

#define DEFAULT_KIND 1
#define KEYS_OF_TESTS 77 /* a sort of keys that no other tool makes */

static int
compare_events(const void *a, const void *b)
{
	const struct gs_event *left = &(*(struct fake_event *const *)a)->event;
	const struct gs_event *right = &(*(struct fake_event *const *)b)->event;

	if (left->created_at != right->created_at)
		return left->created_at < right->created_at ? 1 : -1;
	return memcmp(left->id, right->id, sizeof(left->id));
}

static struct fake_event *
parse_event(struct gs_str line)
{
	struct fake_event *event = gs_mem_new(sizeof(*event));
	struct gs_str object;

	if (gs_event_in_frame(&object, line, NULL) &&
	    gs_event_parse(&event->event, object.ptr, object.len, NULL) == GS_EVENT_OK) {
		event->line = gs_mem_dup(object.ptr, object.len);
		event->len = object.len;
		return event;
	}
	gs_event_fini(&event->event);
	free(event);
	return NULL;
}

static void
append(struct fake_store *store, struct fake_event *event)
{
	store->events = gs_mem_more(store->events, store->num, &store->cap,
	    sizeof(struct fake_event *));
	store->events[store->num++] = event;
}

static void
sort(struct fake_store *store)
{
	if (store->num > 1)
		qsort(store->events, store->num, sizeof(*store->events), compare_events);
}

void
fake_store_load(struct fake_store *store, const char *path)
{
	struct gs_lines lines;
	struct gs_str line;
	struct gs_err err;
	int fd = gs_file_open(path, &err);

	if (fd < 0)
		fake_die(err.text);
	gs_lines_init(&lines, fd, GS_EVENT_BYTES);
	while (gs_lines_next(&lines, true, &line) == GS_LINE_OK) {
		struct fake_event *event = parse_event(line);

		if (event == NULL)
			fake_die("a line of the file is no event");
		append(store, event);
	}
	gs_lines_fini(&lines);
	sort(store);
}

/* Where the event stands, or would. */
static size_t
find_place(const struct fake_store *store, const struct fake_event *event)
{
	size_t low = 0, high = store->num;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_events(&store->events[middle], &event) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void
print_event(const struct fake_store *store, const struct fake_event *event)
{
	(void)fprintf(store->served, "%s\n", event->line);
	(void)fflush(store->served);
}

struct fake_event *
fake_store_add(struct fake_store *store, struct gs_str line, bool *is_new)
{
	struct fake_event *event = parse_event(line);
	size_t at;

	*is_new = false;
	if (event == NULL)
		return NULL;
	at = find_place(store, event);
	if (at < store->num && compare_events(&store->events[at], &event) == 0) {
		gs_event_fini(&event->event);
		free(event->line);
		free(event);
		return store->events[at];
	}
	append(store, event);
	memmove(store->events + at + 1, store->events + at,
	    (store->num - 1 - at) * sizeof(*store->events));
	store->events[at] = event;
	*is_new = true;
	if (store->served != NULL)
		print_event(store, event);
	return event;
}

static void
add_tags(struct draft *draft, jv what)
{
	jv tags;

	if (!gs_json_get(what, "tags", JV_KIND_ARRAY, &tags))
		return;
	jv_array_foreach(tags, i, tag)
	{
		jv_array_foreach(tag, j, value)
		{
			if (j == 0)
				draft_tag(draft, jv_string_value(value), NULL);
			else
				draft_value(draft, jv_string_value(value));
			jv_free(value);
		}
		jv_free(tag);
	}
}

/* What each of them holds: its number, then as many bytes as asked. */
static void
make_one(struct draft *draft, jv what, int64_t begin, int64_t i)
{
	int64_t bytes = fake_number(what, "bytes", 0);

	draft_begin(draft, (unsigned)fake_number(what, "kind", DEFAULT_KIND),
	    begin + i * fake_number(what, "step", 1));
	add_tags(draft, what);
	gs_buf_printf(&draft->content, "%" PRId64 " of %" PRId64, i,
	    fake_number(what, "seed", 0));
	while ((int64_t)draft->content.len < bytes)
		gs_buf_add_char(&draft->content, '.');
}

void
fake_store_make(struct fake_store *store, jv what,
    void (*made)(struct fake_event *event, void *arg), void *arg)
{
	int64_t count = fake_number(what, "count", 1);
	int64_t begin =
	    fake_number(what, "at", (int64_t)time(NULL) - fake_number(what, "ago", 0));
	secp256k1_context *secp = sign_context();
	struct draft draft = { .kind = DEFAULT_KIND };
	struct signer signer;
	char id[DRAFT_HEX];
	bool is_new;

	signer_init(&signer, secp, (uint64_t)fake_number(what, "seed", 0), KEYS_OF_TESTS,
	    0);
	for (int64_t i = 0; i < count; i++) {
		struct fake_event *event;

		make_one(&draft, what, begin, i);
		draft_sign(&draft, &signer, id);
		event = fake_store_add(store,
		    (struct gs_str){ draft.line.data, draft.line.len }, &is_new);
		if (made != NULL && event != NULL && is_new)
			made(event, arg);
	}
	draft_fini(&draft);
	secp256k1_context_destroy(secp);
}

void
fake_store_print(const struct fake_store *store)
{
	for (size_t i = 0; i < store->num; i++)
		print_event(store, store->events[i]);
}

static bool
is_asked_for(const struct fake_about *about, const struct gs_event *event)
{
	for (size_t i = 0; i < about->num; i++)
		if (gs_filter_match(&about->filters[i], event))
			return true;
	return false;
}

const struct fake_event *
fake_store_stray(const struct fake_store *store, const struct fake_about *about)
{
	for (size_t i = 0; i < store->num; i++)
		if (!is_asked_for(about, &store->events[i]->event))
			return store->events[i];
	return NULL;
}
