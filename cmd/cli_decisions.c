/* --decisions FILE; see the header. */
#include "cli_decisions.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define LINE_BYTES ((size_t)64 << 10) /* of a longer line no memory is kept */

int
cli_decisions_open(struct cli_decisions *decisions, struct cli *cli, const char *file)
{
	int fd;

	*decisions = (struct cli_decisions){ .cli = cli, .file = file };
	if (file == NULL)
		return GS_OK;
	if (strcmp(file, "-") == 0) {
		decisions->out = &cli->out;
		return GS_OK;
	}
	fd = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (fd < 0) {
		cli_complain(cli, "--decisions: %s: %s", file, strerror(errno));
		decisions->file = NULL;
		return GS_ECREATE;
	}
	gs_out_init(&decisions->own, fd);
	decisions->out = &decisions->own;
	return GS_OK;
}

void
cli_decisions_write(const struct gs_decision *decision, void *arg)
{
	struct cli_decisions *decisions = arg;
	struct gs_buf *line = &decisions->line;

	if (decisions->file == NULL)
		return;
	gs_buf_clear(line);
	gs_decision_write(line, decision);
	(void)gs_out_line(decisions->out, line->data, line->len);
	if (line->cap > LINE_BYTES)
		gs_buf_fini(line);
}

bool
cli_decisions_flush(struct cli_decisions *decisions)
{
	return decisions->file == NULL || gs_out_flush(decisions->out);
}

/* What became of stdout is told by cli_end. */
int
cli_decisions_close(struct cli_decisions *decisions, int code)
{
	bool ok = cli_decisions_flush(decisions);

	gs_buf_fini(&decisions->line);
	if (decisions->file == NULL || decisions->out != &decisions->own)
		return code;
	if (!ok) {
		cli_complain(decisions->cli, "--decisions: %s: %s", decisions->file,
		    strerror(decisions->own.error));
		code = GS_EIO;
	}
	(void)close(decisions->own.fd);
	gs_out_fini(&decisions->own);
	return code;
}
