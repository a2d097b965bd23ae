/* A throw-away store for tests, and what stands in it as one text. */
#ifndef MADE_STORE_H
#define MADE_STORE_H

#include "made.h"
#include "store.h"

#define MADE_NOW 1000000

static inline struct gs_store *
made_store(void)
{
	struct gs_store_options options = { .scratch = true };
	struct gs_err err;
	struct gs_store *store = gs_store_open(NULL, &options, &err);

	assert(store);
	return store;
}

static inline bool
made_add_line(const struct gs_row *row, void *text)
{
	gs_buf_add(text, row->json.ptr, row->json.len);
	gs_buf_add_char(text, '\n');
	return true;
}

/* All that stands, a line each; the caller's.  *lines is their number. */
static inline char *
made_export(struct gs_store *store, size_t *lines)
{
	struct gs_walk walk = { .since = -1, .until = -1, .now_s = MADE_NOW };
	struct gs_buf text = GS_BUF_INIT;
	struct gs_err err;
	bool ok = gs_store_walk(store, &walk, made_add_line, &text, &err);

	assert(ok);
	(void)ok;
	*lines = 0;
	for (size_t i = 0; i < text.len; i++)
		*lines += text.data[i] == '\n';
	return gs_buf_take(&text);
}

/* The number of faults that stat --check would tell. */
static inline uint64_t
made_faults(struct gs_store *store)
{
	uint64_t faults = 1;
	struct gs_err err;
	bool ok = gs_store_check(store, NULL, NULL, &faults, &err);

	assert(ok);
	(void)ok;
	return faults;
}

static inline void
made_fini(struct gs_event *events, size_t num)
{
	for (size_t i = 0; i < num; i++)
		gs_event_fini(&events[i]);
}

#endif
