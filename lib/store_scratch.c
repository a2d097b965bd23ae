/* The folder of a store that is thrown away: no name of it is left behind. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "store_private.h"

void
scratch_unlink(const char *dir)
{
	static const char *const names[] = { "data.mdb", "lock.mdb" };
	struct gs_buf path = GS_BUF_INIT;
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		gs_buf_clear(&path);
		gs_buf_printf(&path, "%s/%s", dir, names[i]);
		(void)unlink(path.data);
	}
	(void)rmdir(dir);
	gs_buf_fini(&path);
}

char *
scratch_make(struct gs_err *err)
{
	const char *tmp = getenv("TMPDIR");
	struct gs_buf dir = GS_BUF_INIT;

	gs_buf_printf(&dir, "%s/grasp-sync.XXXXXX",
	    tmp != NULL && *tmp != '\0' ? tmp : "/tmp");
	if (mkdtemp(dir.data) != NULL)
		return gs_buf_take(&dir);
	(void)gs_fail(err, GS_ECREATE, "%s: %s (set TMPDIR?)", dir.data, strerror(errno));
	gs_buf_fini(&dir);
	return NULL;
}
