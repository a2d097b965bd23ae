/* The filters that a seed reads. */
#include "wants.h"

#include <stdlib.h>

#include "buf.h"

#define MAX_VALUES 8

static void
add_comma(struct gs_buf *text)
{
	if (text->data[text->len - 1] != '{' && text->data[text->len - 1] != '[')
		gs_buf_add_char(text, ',');
}

static void
add_tags(struct gs_buf *text, struct rng *rng, const struct pool *pool)
{
	char letter = pool_letters[rng_below(rng, 6)];
	size_t first = rng_below(rng, POOL_ROOTS);

	gs_buf_printf(text, "\"#%c\":[", letter);
	for (size_t left = 1 + rng_below(rng, MAX_VALUES); left > 0; left--) {
		char value[POOL_VALUE];

		pool_value(pool, letter, (first + left) % POOL_ROOTS, value);
		add_comma(text);
		gs_buf_printf(text, "\"%s\"", value);
	}
	gs_buf_add_char(text, ']');
}

static void
add_kinds(struct gs_buf *text, struct rng *rng)
{
	size_t first = rng_below(rng, POOL_KINDS);

	gs_buf_add_str(text, "\"kinds\":[");
	for (size_t left = 1 + rng_below(rng, 3); left > 0; left--) {
		add_comma(text);
		gs_buf_printf(text, "%u", pool_kinds[(first + left) % POOL_KINDS]);
	}
	gs_buf_add_char(text, ']');
}

static void
add_authors(struct gs_buf *text, struct rng *rng, const struct pool *pool)
{
	gs_buf_printf(text, "\"authors\":[\"%s\"]",
	    pool->authors[rng_below(rng, POOL_AUTHORS)]);
}

static void
add_ids(struct gs_buf *text, struct rng *rng, const struct pool *pool)
{
	gs_buf_add_str(text, "\"ids\":[");
	for (size_t left = 1 + rng_below(rng, MAX_VALUES); left > 0; left--) {
		add_comma(text);
		gs_buf_printf(text, "\"%s\"", pool->events[rng_below(rng, pool->num)].id);
	}
	gs_buf_add_char(text, ']');
}

static int64_t
draw_date(struct rng *rng, const struct pool *pool)
{
	return pool->events[rng_below(rng, pool->num)].created_at;
}

static void
add_bounds(struct gs_buf *text, struct rng *rng, const struct pool *pool)
{
	if (rng_once_in(rng, 8)) {
		add_comma(text);
		gs_buf_printf(text, "\"since\":%lld", (long long)draw_date(rng, pool));
	}
	if (rng_once_in(rng, 8)) {
		add_comma(text);
		gs_buf_printf(text, "\"until\":%lld", (long long)draw_date(rng, pool));
	}
	if (rng_once_in(rng, 12)) {
		add_comma(text);
		gs_buf_printf(text, "\"limit\":%zu", rng_below(rng, 700));
	}
}

static void
draw_want(struct want *want, struct rng *rng, const struct pool *pool, bool bounded)
{
	struct gs_buf text = GS_BUF_INIT;

	gs_buf_add_char(&text, '{');
	switch (rng_below(rng, bounded ? 9 : 8)) {
	case 0:
		gs_buf_add_str(&text, "\"kinds\":[30617,30618]");
		break;
	case 1:
		add_kinds(&text, rng);
		break;
	case 2:
		add_authors(&text, rng, pool);
		gs_buf_add_char(&text, ',');
		add_kinds(&text, rng);
		break;
	case 3:
		add_ids(&text, rng, pool);
		break;
	case 8: /* everything */
		break;
	default:
		add_tags(&text, rng, pool);
		break;
	}
	if (bounded)
		add_bounds(&text, rng, pool);
	gs_buf_add_char(&text, '}');
	want->text = gs_buf_take(&text);
	asked_filter_parse(&want->filter, want->text);
}

void
wants_draw(struct wants *wants, struct rng *rng, const struct pool *pool, size_t max,
    bool bounded)
{
	wants->num = 1 + rng_below(rng, rng_once_in(rng, 10) ? max : WANTS_FEW);
	if (rng_once_in(rng, 3))
		wants->num = 1;
	for (size_t i = 0; i < wants->num; i++)
		draw_want(&wants->wants[i], rng, pool, bounded);
}

void
wants_fini(struct wants *wants)
{
	for (size_t i = 0; i < wants->num; i++) {
		asked_filter_fini(&wants->wants[i].filter);
		free(wants->wants[i].text);
	}
	wants->num = 0;
}

bool
wants_match(const struct wants *wants, const struct pool *pool,
    const struct pool_event *event)
{
	for (size_t i = 0; i < wants->num; i++)
		if (asked_match(&wants->wants[i].filter, pool, event))
			return true;
	return false;
}
