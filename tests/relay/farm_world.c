/*
 * The farm's events: who holds which, and indexes by relay, kind and tag.  Nothing is
 * verified.  Lines are copied once and never freed.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "farm.h"
#include "file.h"
#include "mem.h"

#define MOST_RELAYS 20000 /* of an event */
#define BLOCK_BYTES (16u * 1024u * 1024u)

/* ---- lists and maps of them */

void
farm_list_add(struct farm_list *list, struct farm_event *event)
{
	list->events =
	    gs_mem_more(list->events, list->num, &list->cap, sizeof(struct farm_event *));
	list->events[list->num++] = event;
}

static void
append_under(struct gs_map *map, struct gs_str key, struct farm_event *event)
{
	struct gs_map_entry *entry = gs_map_add(map, key);

	if (entry->value == NULL)
		entry->value = gs_mem_new(sizeof(struct farm_list));
	farm_list_add(entry->value, event);
}

struct gs_str
farm_key_kind(unsigned kind, char room[static 8])
{
	return (struct gs_str){ room, (size_t)snprintf(room, 8, "%u", kind) };
}

/* Lives until the next call. */
struct gs_str
farm_key_tag(struct gs_buf *room, char letter, struct gs_str value)
{
	gs_buf_clear(room);
	gs_buf_add_char(room, letter);
	gs_buf_add(room, value.ptr, value.len);
	return (struct gs_str){ room->data, room->len };
}

struct gs_str
farm_key_id(const uint8_t *id)
{
	return (struct gs_str){ (const char *)id, 32 };
}

void
farm_world_init(struct farm *farm)
{
	struct gs_map **const maps[] = { &farm->names, &farm->ids, &farm->tags,
		&farm->sets, &farm->refs, &farm->addresses };

	for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++)
		*maps[i] = gs_map_new();
}

/* ---- relays and sets of them */

struct farm_relay *
farm_world_relay(struct farm *farm, const char *name, size_t len)
{
	struct gs_map_entry *entry =
	    gs_map_add(farm->names, (struct gs_str){ name, len });
	struct farm_relay *relay = entry->value;

	if (relay != NULL)
		return relay;
	entry->value = relay = gs_mem_new(sizeof(*relay));
	(void)snprintf(relay->name, sizeof(relay->name), "%.*s", (int)len, name);
	relay->number = (uint32_t)farm->num_relays;
	relay->mode = name[0] == 'h' ? FARM_HOLE : FARM_UP;
	relay->is_inventing = name[0] == 'i';
	relay->kinds = gs_map_new();
	relay->counts.since_min = relay->counts.since_max = -1;
	LIST_INIT(&relay->connections);
	farm->relays = gs_mem_more(farm->relays, farm->num_relays, &farm->cap_relays,
	    sizeof(struct farm_relay *));
	farm->relays[farm->num_relays++] = relay;
	return relay;
}

static int
compare_numbers(const void *a, const void *b)
{
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

	return left < right ? -1 : left > right;
}

const struct farm_set *
farm_world_set(struct farm *farm, uint32_t *relays, size_t num)
{
	struct gs_map_entry *entry;
	struct farm_set *set;
	size_t kept = 0;

	if (num > 1)
		qsort(relays, num, sizeof(*relays), compare_numbers);
	for (size_t i = 0; i < num; i++)
		if (kept == 0 || relays[kept - 1] != relays[i])
			relays[kept++] = relays[i];
	entry = gs_map_add(farm->sets,
	    (struct gs_str){ (const char *)relays, kept * sizeof(*relays) });
	if (entry->value == NULL) {
		entry->value = set =
		    gs_mem_new(sizeof(*set) + kept * sizeof(set->relays[0]));
		set->num = kept;
		memcpy(set->relays, relays, kept * sizeof(*relays));
	}
	return entry->value;
}

/* Where an event is to be held; while it is found out. */
struct places {
	uint32_t relays[MOST_RELAYS + 1]; /* and the one that has all announcements */
	size_t num;
};

static void
add_set(struct places *places, const struct farm_set *set)
{
	for (size_t i = 0; set != NULL && i < set->num && places->num < MOST_RELAYS; i++)
		places->relays[places->num++] = set->relays[i];
}

/* A relay of ours, by its URL. */
static void
add_url(struct farm *farm, struct places *places, struct gs_str url)
{
	char port[32];
	const char *at;
	size_t len,
	    used =
		(size_t)snprintf(port, sizeof(port), ":%" PRId64 "/", farm->options.port);

	at = url.len > 0 ? memmem(url.ptr, url.len, port, used) : NULL;
	if (at == NULL || places->num == MOST_RELAYS)
		return;
	at += used;
	len = url.len - (size_t)(at - url.ptr);
	if (len < FARM_NAME_BYTES)
		places->relays[places->num++] = farm_world_relay(farm, at, len)->number;
}

static void
add_listed(struct farm *farm, struct places *places, const struct gs_event *event)
{
	for (size_t i = 0; i < event->num_tags; i++)
		for (size_t j = 1;
		     gs_tag_is(&event->tags[i], "relays") && j < event->tags[i].num; j++)
			add_url(farm, places, event->tags[i].values[j]);
}

static void
add_parents(struct farm *farm, struct places *places, const struct gs_event *event)
{
	const struct farm_repo *repo;
	const struct farm_event *parent;
	uint8_t id[32];

	for (size_t i = 0; i < event->num_tags; i++) {
		const struct gs_tag *tag = &event->tags[i];
		struct gs_str value = gs_tag_value(tag);

		if (tag->num < 2 || tag->values[0].len != 1 ||
		    strchr(FARM_INDEXED, tag->values[0].ptr[0]) == NULL)
			continue;
		repo = gs_map_get(farm->refs, value);
		add_set(places, repo ? repo->on : NULL);
		if (gs_hex_parse(id, sizeof(id), value.ptr, value.len)) {
			parent = gs_map_get(farm->ids, farm_key_id(id));
			add_set(places, parent ? parent->on : NULL);
		}
	}
}

static void
address_of(struct gs_buf *out, const struct gs_event *event, unsigned kind)
{
	gs_address_write(out, kind, event->pubkey, gs_event_d(event));
}

static const struct farm_set *
place(struct farm *farm, const struct gs_event *event)
{
	static struct places places;
	struct gs_buf ref = GS_BUF_INIT;
	const struct farm_repo *repo;

	places.num = 0;
	address_of(&ref, event, GS_KIND_ANNOUNCEMENT);
	repo = gs_map_get(farm->refs, (struct gs_str){ ref.data, ref.len });
	gs_buf_fini(&ref);
	if (event->kind == GS_KIND_ANNOUNCEMENT)
		add_listed(farm, &places, event);
	if (event->kind == GS_KIND_ANNOUNCEMENT)
		places.relays[places.num++] =
		    farm_world_relay(farm, FARM_BOOT, strlen(FARM_BOOT))->number;
	/* A newer announcement also stands where the old one did. */
	if (event->kind == GS_KIND_ANNOUNCEMENT || event->kind == GS_KIND_STATE)
		add_set(&places, repo ? repo->on : NULL);
	else
		add_parents(farm, &places, event);
	return farm_world_set(farm, places.relays, places.num);
}

/* ---- adding */

bool
farm_is_newer(const struct farm_event *a, const struct farm_event *b)
{
	if (a->created_at != b->created_at)
		return a->created_at > b->created_at;
	return memcmp(a->id, b->id, sizeof(a->id)) < 0;
}

/* True: it is the one that stands. */
static bool
replace_older(struct farm *farm, const struct gs_event *parsed, struct farm_event *event)
{
	struct gs_buf key = GS_BUF_INIT;
	struct gs_map_entry *entry;
	struct farm_event *other;

	address_of(&key, parsed, parsed->kind);
	entry = gs_map_add(farm->addresses, (struct gs_str){ key.data, key.len });
	gs_buf_fini(&key);
	other = entry->value;
	if (other != NULL && farm_is_newer(other, event)) {
		event->is_replaced = true;
		return false;
	}
	if (other != NULL)
		other->is_replaced = true;
	entry->value = event;
	return true;
}

/* What belongs to the repository from now on is where this announcement says. */
static void
learn_repo(struct farm *farm, const struct gs_event *parsed, struct farm_event *event)
{
	static struct places places;
	struct gs_buf ref = GS_BUF_INIT;
	struct gs_map_entry *entry;
	struct farm_repo *repo;

	address_of(&ref, parsed, GS_KIND_ANNOUNCEMENT);
	entry = gs_map_add(farm->refs, (struct gs_str){ ref.data, ref.len });
	repo = entry->value;
	if (repo == NULL) {
		entry->value = repo = gs_mem_new(sizeof(*repo));
		repo->ref = gs_mem_dup(ref.data, ref.len);
		farm->repos = gs_mem_more(farm->repos, farm->num_repos, &farm->cap_repos,
		    sizeof(struct farm_repo *));
		farm->repos[farm->num_repos++] = repo;
	}
	gs_buf_fini(&ref);
	places.num = 0;
	add_listed(farm, &places, parsed);
	repo->on = farm_world_set(farm, places.relays, places.num);
	repo->announcement = event;
}

static void
index_event(struct farm *farm, const struct gs_event *parsed, struct farm_event *event)
{
	struct gs_buf room = GS_BUF_INIT;
	char kind[8];

	for (size_t i = 0; i < event->on->num; i++) {
		struct farm_relay *relay = farm->relays[event->on->relays[i]];

		farm_list_add(&relay->all, event);
		append_under(relay->kinds, farm_key_kind(event->kind, kind), event);
	}
	for (size_t i = 0; i < parsed->num_tags; i++) {
		const struct gs_tag *tag = &parsed->tags[i];

		if (tag->num < 2 || tag->values[0].len != 1 ||
		    strchr(FARM_INDEXED, tag->values[0].ptr[0]) == NULL)
			continue;
		append_under(farm->tags,
		    farm_key_tag(&room, tag->values[0].ptr[0], tag->values[1]), event);
	}
	gs_buf_fini(&room);
}

static char *
keep_line(struct gs_str line)
{
	static char *block;
	static size_t left;
	char *kept;

	if (block == NULL || left < line.len) {
		left = line.len > BLOCK_BYTES ? line.len : BLOCK_BYTES;
		block = gs_mem_array(left, 1);
	}
	kept = block;
	memcpy(kept, line.ptr, line.len);
	block += line.len;
	left -= line.len;
	return kept;
}

static struct farm_event *
add_parsed(struct farm *farm, const struct gs_event *parsed, struct gs_str line,
    const struct farm_set *on)
{
	struct gs_map_entry *entry = gs_map_add(farm->ids, farm_key_id(parsed->id));
	struct farm_event *event;

	if (entry->value != NULL)
		return NULL;
	entry->value = event = gs_mem_new(sizeof(*event));
	memcpy(event->id, parsed->id, sizeof(event->id));
	event->created_at = parsed->created_at;
	event->kind = parsed->kind;
	event->line = keep_line(line);
	event->len = line.len;
	event->on = on ? on : place(farm, parsed);
	farm->homeless += event->on->num == 0;
	if (gs_kind_is_addressable(event->kind) && replace_older(farm, parsed, event) &&
	    event->kind == GS_KIND_ANNOUNCEMENT)
		learn_repo(farm, parsed, event);
	farm_list_add(&farm->all, event);
	if (gs_kind_is_root(event->kind))
		farm_list_add(&farm->roots, event);
	index_event(farm, parsed, event);
	return event;
}

struct farm_event *
farm_world_add(struct farm *farm, struct gs_str line, const struct farm_set *on)
{
	static struct gs_event parsed; /* its memory is used again */

	if (gs_event_parse(&parsed, line.ptr, line.len, NULL) != GS_EVENT_OK)
		return NULL;
	return add_parsed(farm, &parsed, line, on);
}

size_t
farm_world_load(struct farm *farm, const char *path, struct gs_err *err)
{
	struct gs_lines lines;
	struct gs_str line;
	size_t num = 0;
	int fd = gs_file_open(path, err);

	if (fd < 0)
		return 0;
	(void)gs_fail(err, GS_EDATA, "none is new");
	gs_lines_init(&lines, fd, GS_EVENT_BYTES);
	while (gs_lines_next(&lines, true, &line) == GS_LINE_OK)
		num += farm_world_add(farm, line, NULL) != NULL;
	gs_lines_fini(&lines);
	return num;
}
