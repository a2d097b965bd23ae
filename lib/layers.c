/*
 * The three layers of v2 for one relay, one filter after the other.  What fits
 * into a message is pack's.
 */
#include "layers.h"

#include <stdlib.h>
#include <string.h>

#include "hex.h"
#include "mem.h"

#define ID_BYTES 32
#define HEX_BYTES 64

/* Where the filters go, and how they look. */
struct layering {
	const struct gs_layers_options *options;
	gs_layers_fn *fn;
	void *arg;
};

static bool
wants(const struct layering *to, unsigned layer)
{
	return (to->options->layers & 1u << (layer - 1)) != 0;
}

static bool
give_kinds(const struct layering *to)
{
	uint16_t kinds[] = { GS_KIND_ANNOUNCEMENT, GS_KIND_STATE };
	struct gs_filter filter = GS_FILTER_INIT;

	filter.kinds = kinds;
	filter.num_kinds = sizeof(kinds) / sizeof(*kinds);
	filter.since = to->options->since;
	return to->fn(1, &filter, to->arg);
}

/* The same values under each of three letters: any of them may refer. */
static bool
give_values(const struct layering *to, unsigned layer, struct gs_str *values, size_t num)
{
	const char *letters = layer == 2 ? "aAq" : "eEq";

	for (; *letters != '\0'; letters++) {
		struct gs_filter_tag tag = {
			.letter = *letters, .values = values, .num = num
		};
		struct gs_filter filter = GS_FILTER_INIT;

		filter.tags = &tag;
		filter.num_tags = 1;
		filter.since = to->options->since;
		if (!to->fn(layer, &filter, to->arg))
			return false;
	}
	return true;
}

/* Would strfry index it?  One that it does not must not spoil the filter of others. */
bool
gs_layers_is_long(struct gs_str ref)
{
	struct gs_address address;

	return gs_address_parse(&address, ref) && address.d.len > GS_LAYERS_LONG_D;
}

static bool
give_short_refs(const struct layering *to, const struct gs_relay_entry *relay,
    struct gs_str *values)
{
	size_t num = 0;
	size_t i;

	for (i = 0; i < relay->num_repos; i++) {
		if (gs_layers_is_long(relay->repos[i]->ref))
			continue;
		values[num++] = relay->repos[i]->ref;
		if (num < to->options->chunk)
			continue;
		if (!give_values(to, 2, values, num))
			return false;
		num = 0;
	}
	return num == 0 || give_values(to, 2, values, num);
}

static bool
give_long_refs(const struct layering *to, const struct gs_relay_entry *relay)
{
	size_t i;

	for (i = 0; i < relay->num_repos; i++) {
		struct gs_str ref = relay->repos[i]->ref;

		if (gs_layers_is_long(ref) && !give_values(to, 2, &ref, 1))
			return false;
	}
	return true;
}

static bool
give_roots(const struct layering *to, const struct gs_relay_entry *relay,
    struct gs_str *values)
{
	size_t chunk = to->options->chunk;
	char *hex = gs_mem_array(chunk, HEX_BYTES);
	bool ok = true;
	size_t at, i, num;
	const uint8_t **ids = gs_relay_list_roots(relay, &num);

	for (at = 0; ok && at < num; at += i) {
		for (i = 0; i < chunk && at + i < num; i++) {
			(void)gs_hex_write(hex + i * HEX_BYTES, ids[at + i], ID_BYTES);
			values[i] = (struct gs_str){ hex + i * HEX_BYTES, HEX_BYTES };
		}
		ok = give_values(to, 3, values, i);
	}
	free(ids);
	free(hex);
	return ok;
}

bool
gs_layers_each(const struct gs_relay_entry *relay,
    const struct gs_layers_options *options, gs_layers_fn *fn, void *arg)
{
	const struct layering to = { options, fn, arg };
	struct gs_str *values;
	bool ok;

	if (wants(&to, 1) && !give_kinds(&to))
		return false;
	if (relay == NULL)
		return true;
	values = gs_mem_array(options->chunk, sizeof(*values));
	ok = !wants(&to, 2) ||
	    (give_short_refs(&to, relay, values) && give_long_refs(&to, relay));
	ok = ok && (!wants(&to, 3) || give_roots(&to, relay, values));
	free(values);
	return ok;
}
