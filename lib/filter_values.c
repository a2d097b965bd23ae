/*
 * Values that several filters share: sorted, so that matching is a search; ids as bytes,
 * for there are millions of them.
 */
#include <stdlib.h>
#include <string.h>

#include "filter.h"
#include "hex.h"
#include "mem.h"

#define ID_BYTES 32
#define HEX_BYTES 64

static int
compare_ids(const void *a, const void *b)
{
	return memcmp(a, b, ID_BYTES);
}

static int
compare_texts(const void *a, const void *b)
{
	const struct gs_str *left = a;
	const struct gs_str *right = b;

	return gs_str_compare(*left, *right);
}

/* How many are left of num sorted elements when each stands there once. */
static size_t
drop_copies(void *list, size_t num, size_t size,
    int (*compare)(const void *, const void *))
{
	char *bytes = list;
	size_t kept = 0;

	for (size_t i = 0; i < num; i++) {
		if (kept > 0 && compare(bytes + (kept - 1) * size, bytes + i * size) == 0)
			continue;
		if (kept != i)
			memcpy(bytes + kept * size, bytes + i * size, size);
		kept++;
	}
	return kept;
}

struct gs_values *
gs_values_new_ids(const uint8_t (*ids)[32], size_t num)
{
	struct gs_values *values = gs_mem_new(sizeof(*values));
	size_t all = num;

	values->refs = 1;
	values->ids = gs_mem_array(num, sizeof(*values->ids));
	if (num > 0)
		memcpy(values->ids, ids, num * sizeof(*values->ids));
	qsort(values->ids, num, sizeof(*values->ids), compare_ids);
	values->num = drop_copies(values->ids, num, sizeof(*values->ids), compare_ids);
	if (values->num < all)
		values->ids =
		    gs_mem_resize(values->ids, values->num, sizeof(*values->ids));
	return values;
}

/* The texts and, behind them, what they point to: one piece of memory. */
static struct gs_str *
copy_texts(const struct gs_str *texts, size_t num)
{
	size_t bytes = num * sizeof(*texts);
	struct gs_str *copies;
	char *to;

	for (size_t i = 0; i < num; i++)
		bytes += texts[i].len;
	copies = gs_mem_array(1, bytes);
	to = (char *)(copies + num);
	for (size_t i = 0; i < num; i++) {
		copies[i] = (struct gs_str){ to, texts[i].len };
		if (texts[i].len > 0)
			memcpy(to, texts[i].ptr, texts[i].len);
		to += texts[i].len;
	}
	return copies;
}

struct gs_values *
gs_values_new_texts(const struct gs_str *texts, size_t num)
{
	struct gs_values *values = gs_mem_new(sizeof(*values));

	values->refs = 1;
	values->texts = copy_texts(texts, num);
	qsort(values->texts, num, sizeof(*values->texts), compare_texts);
	values->num =
	    drop_copies(values->texts, num, sizeof(*values->texts), compare_texts);
	return values;
}

void
gs_values_release(struct gs_values *values)
{
	if (values == NULL || --values->refs > 0)
		return;
	free(values->ids);
	free(values->texts);
	free(values);
}

void
gs_filter_share(struct gs_filter *filter, char letter, struct gs_values *values)
{
	values->refs++;
	gs_filter_fini(filter);
	filter->shared = values;
	filter->tags = gs_mem_new(sizeof(*filter->tags));
	filter->num_tags = 1;
	filter->tags->letter = letter;
	filter->tags->values = values->texts;
	filter->tags->ids = (const uint8_t(*)[ID_BYTES])values->ids;
	filter->tags->num = values->num;
}

struct gs_str
gs_filter_value(const struct gs_filter_tag *tag, size_t i, char hex[static 65])
{
	if (tag->values != NULL)
		return tag->values[i];
	*gs_hex_write(hex, tag->ids[i], ID_BYTES) = '\0';
	return (struct gs_str){ hex, HEX_BYTES };
}

/* Values that are shared are sorted. */
bool
gs_filter_tag_has(const struct gs_filter *filter, const struct gs_filter_tag *tag,
    struct gs_str value)
{
	uint8_t id[ID_BYTES];

	if (tag->ids != NULL)
		return gs_hex_parse(id, sizeof(id), value.ptr, value.len) &&
		    bsearch(id, tag->ids, tag->num, ID_BYTES, compare_ids) != NULL;
	if (filter->shared != NULL)
		return bsearch(&value, tag->values, tag->num, sizeof(value),
			   compare_texts) != NULL;
	for (size_t i = 0; i < tag->num; i++)
		if (gs_str_equal(tag->values[i], value))
			return true;
	return false;
}
