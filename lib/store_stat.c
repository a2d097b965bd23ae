/* Numbers about the store, for people and for monitoring. */
#include <stdlib.h>
#include <sys/stat.h>

#include "mem.h"
#include "store_private.h"

static struct gs_kind_stat *
add_kind(struct gs_store_stat *stat, struct gs_map *kinds, uint16_t kind)
{
	struct gs_map_entry *entry =
	    gs_map_add(kinds, (struct gs_str){ (const char *)&kind, sizeof(kind) });

	if (entry->value == NULL) {
		struct gs_kind_stat *made = gs_mem_new(sizeof(*made));

		made->kind = kind;
		entry->value = made;
		stat->num_kinds++;
	}
	return entry->value;
}

static int
compare_kinds(const void *a, const void *b)
{
	const struct gs_kind_stat *left = a;
	const struct gs_kind_stat *right = b;

	return left->kind - right->kind;
}

static void
sort_kinds(struct gs_store_stat *stat, const struct gs_map *kinds)
{
	struct gs_map_entry *entry;
	size_t at = 0, n = 0;

	stat->kinds = gs_mem_array(stat->num_kinds, sizeof(*stat->kinds));
	while ((entry = gs_map_next(kinds, &at)) != NULL)
		stat->kinds[n++] = *(struct gs_kind_stat *)entry->value;
	qsort(stat->kinds, n, sizeof(*stat->kinds), compare_kinds);
}

static void
count_row(struct gs_store_stat *stat, struct gs_map *kinds, const struct gs_row *row)
{
	struct gs_kind_stat *kind = add_kind(stat, kinds, row->kind);

	kind->events++;
	kind->bytes += row->json.len;
	stat->events++;
	stat->bytes += row->json.len;
	if (stat->oldest < 0 || row->created_at < stat->oldest)
		stat->oldest = row->created_at;
	if (row->created_at > stat->newest)
		stat->newest = row->created_at;
}

static void
count_judged(struct gs_store_stat *stat, const struct judged *judged)
{
	static const char *const names[] = { "", "", "waiting", "rejected", "deleted",
		"superseded", "expired" };
	struct gs_buf name = GS_BUF_INIT;
	struct gs_map_entry *entry;

	stat->judged[judged->result]++;
	if (judged->reason.len == 0)
		return;
	gs_buf_printf(&name, "%s:", names[judged->result]);
	gs_buf_add(&name, judged->reason.ptr, judged->reason.len);
	entry = gs_map_add(stat->reasons, (struct gs_str){ name.data, name.len });
	if (entry->value == NULL)
		entry->value = gs_mem_new(sizeof(uint64_t));
	(*(uint64_t *)entry->value)++;
	gs_buf_fini(&name);
}

struct count {
	struct gs_store_stat *stat;
	struct gs_map *kinds;
};

static void
count_event(void *arg, MDB_val key, MDB_val value)
{
	struct count *count = arg;
	struct gs_row row;

	if (key.mv_size == SEQUENCE_BYTES &&
	    row_decode(&row, take_u64(key.mv_data), value))
		count_row(count->stat, count->kinds, &row);
}

static void
count_judgement(void *arg, MDB_val key, MDB_val value)
{
	struct count *count = arg;
	struct judged judged;

	(void)key;
	if (judged_decode(&judged, value))
		count_judged(count->stat, &judged);
}

static void
measure_map(struct gs_store *store, struct gs_store_stat *stat)
{
	MDB_envinfo info;
	MDB_stat pages;
	struct stat st;
	int fd;

	if (mdb_env_info(store->env, &info) == 0 &&
	    mdb_env_stat(store->env, &pages) == 0) {
		stat->map_bytes = info.me_mapsize;
		stat->used_bytes = (uint64_t)(info.me_last_pgno + 1) * pages.ms_psize;
	}
	if (mdb_env_get_fd(store->env, &fd) == 0 && fstat(fd, &st) == 0)
		stat->file_bytes = (uint64_t)st.st_size;
}

bool
gs_store_stat(struct gs_store *store, struct gs_store_stat *stat, struct gs_err *err)
{
	struct gs_txn *txn = gs_store_read(store, err);
	struct count count = { stat, NULL };
	bool ok;

	*stat =
	    (struct gs_store_stat){ .oldest = -1, .newest = -1, .reasons = gs_map_new() };
	if (txn == NULL)
		return false;
	stat->waiting_bytes = store_get_number(txn, "waiting_bytes");
	count.kinds = gs_map_new();
	ok = store_each(txn, DB_EVENT, count_event, &count, err) &&
	    store_each(txn, DB_JUDGED, count_judgement, &count, err);
	sort_kinds(stat, count.kinds);
	gs_map_free(count.kinds, free);
	stat->waiting = stat->judged[GS_KNOWN_WAITING];
	gs_txn_end(txn);
	measure_map(store, stat);
	return ok;
}

void
gs_store_stat_fini(struct gs_store_stat *stat)
{
	free(stat->kinds);
	gs_map_free(stat->reasons, free);
}
