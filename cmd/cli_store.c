/* What is in a store, for people and for monitoring. */
#include "cli_store.h"

#include <inttypes.h>

#include "figures.h"

static void
complain_fault(const char *text, void *arg)
{
	cli_complain(arg, "%s", text);
}

static void
write_checked(struct gs_buf *text, bool json, uint64_t num_events, uint64_t faults)
{
	if (json)
		gs_buf_printf(text, "{\"checked\":%" PRIu64 ",\"faults\":%" PRIu64 "}",
		    num_events, faults);
	else if (faults == 0)
		gs_buf_printf(text, "ok: %" PRIu64 " events checked", num_events);
	else
		gs_buf_printf(text,
		    "damaged: %" PRIu64 " events checked, %" PRIu64 " faults", num_events,
		    faults);
}

int
cli_store_check(struct cli *cli, struct gs_store *store, bool json)
{
	struct gs_buf text = GS_BUF_INIT;
	struct gs_store_stat stat;
	uint64_t faults = 0;
	struct gs_err err;

	if (!gs_store_stat(store, &stat, &err))
		return cli_fail(cli, &err);
	gs_store_stat_fini(&stat);
	if (!gs_store_check(store, complain_fault, cli, &faults, &err))
		return cli_fail(cli, &err);
	write_checked(&text, json, stat.events, faults);
	(void)cli_line(cli, text.data, text.len);
	gs_buf_fini(&text);
	return faults == 0 ? GS_OK : GS_EDATA;
}

int
cli_store_show(struct cli *cli, struct gs_store *store, bool json)
{
	struct gs_buf text = GS_BUF_INIT;
	struct gs_store_stat stat;
	struct gs_err err;

	if (!gs_store_stat(store, &stat, &err))
		return cli_fail(cli, &err);
	(json ? gs_figures_write_stat_json : gs_figures_write_stat)(&text, &stat);
	(void)cli_line(cli, text.data, text.len);
	gs_store_stat_fini(&stat);
	gs_buf_fini(&text);
	return GS_OK;
}
