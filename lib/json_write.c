/* The one writer of JSON strings.  Ids are hashes of what it writes: it never changes. */
#include "json.h"

#define ESCAPE_LEN 6 /* \u00xx */

/* How a byte is written: 0 as it is, 'u' as \u00xx, else a backslash and that letter. */
static const char escape_of[256] = {
	[0x00 ... 0x07] = 'u',
	['\b'] = 'b',
	['\t'] = 't',
	['\n'] = 'n',
	[0x0b] = 'u',
	['\f'] = 'f',
	['\r'] = 'r',
	[0x0e ... 0x1f] = 'u',
	['"'] = '"',
	['\\'] = '\\',
};

static void
write_escape(struct gs_buf *buf, uint8_t byte)
{
	static const char digits[] = "0123456789abcdef";
	char escape[ESCAPE_LEN] = { '\\', escape_of[byte], '0', '0', digits[byte >> 4],
		digits[byte & 15] };

	gs_buf_add(buf, escape, escape[1] == 'u' ? sizeof(escape) : 2);
}

void
gs_json_write_string(struct gs_buf *buf, const char *text, size_t len)
{
	size_t begin = 0, i;

	gs_buf_add_char(buf, '"');
	for (i = 0; i < len; i++) {
		if (escape_of[(uint8_t)text[i]] == '\0')
			continue;
		gs_buf_add(buf, text + begin, i - begin);
		write_escape(buf, (uint8_t)text[i]);
		begin = i + 1;
	}
	if (i > begin)
		gs_buf_add(buf, text + begin, i - begin);
	gs_buf_add_char(buf, '"');
}
