/* Configuration files: what is read is read again from what is written. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"

static void
check(bool holds)
{
	if (!holds)
		abort();
}

/* One line, alone. */
static void
check_written(const struct gs_config *line)
{
	struct gs_buf key = GS_BUF_INIT, buf = GS_BUF_INIT;
	struct gs_config again;
	struct gs_err err;

	gs_buf_add(&key, line->key.ptr, line->key.len);
	check(line->key.len > 0 && gs_config_is_value(line->value));
	/* A key with a NUL is none of the commands'. */
	if (strlen(key.data) == key.len) {
		gs_config_write(&buf, key.data, line->value);
		gs_config_init(&again, "again", (struct gs_str){ buf.data, buf.len });
		check(gs_config_next(&again, &err) == GS_CONFIG_VALUE);
		check(gs_str_equal(again.key, line->key));
		check(gs_str_equal(again.value, line->value));
		check(gs_config_next(&again, &err) == GS_CONFIG_END);
	}
	gs_buf_fini(&key);
	gs_buf_fini(&buf);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gs_str text = { (const char *)data, size };
	struct gs_err err = { .code = GS_OK };
	enum gs_config_result result;
	struct gs_config config;
	unsigned line = 0;

	gs_config_init(&config, "file", text);
	while ((result = gs_config_next(&config, &err)) == GS_CONFIG_VALUE) {
		check(config.line > line);
		line = config.line;
		check_written(&config);
	}
	check(line <= size);
	if (result == GS_CONFIG_BAD)
		check(err.code == GS_ECONFIG && strncmp(err.text, "file:", 5) == 0);
	return 0;
}
