/* Text as people write it in issues, patches and comments, for invented events. */
#ifndef PROSE_H
#define PROSE_H

#include "buf.h"
#include "rng.h"

#define PROSE_LINE 68 /* bytes, about */

/* clang-format off */
static const char *const prose_words[] = {
	"the", "a", "this", "parser", "server", "branch", "rebase", "fails", "when",
	"with", "without", "token", "index", "cache", "remote", "fetch", "push",
	"should", "does", "not", "return", "value", "after", "before", "restart",
	"relay", "event", "filter", "error", "timeout", "patch", "review", "merge",
	"conflict", "please", "test", "covers", "case", "tagged", "release", "build",
	"linker", "header", "buffer", "overflow", "checked", "line", "column", "empty",
	"string", "list", "loop", "thread", "locks", "twice", "docs", "say",
	"otherwise", "caf\xc3\xa9", "na\xc3\xafve", "\xe2\x80\x94", "\xf0\x9f\x9a\x80",
	"it's", "\"quoted\"", "C:\\src\\main.c", "https://example.com/docs?q=1&n=2",
	"`git am`", "<tag>", "0x7f", "100%", "\xe6\x97\xa5\xe6\x9c\xac", "and", "or",
	"then", "again", "I", "we", "it",
};
/* clang-format on */

#define PROSE_WORDS (sizeof(prose_words) / sizeof(prose_words[0]))

static inline const char *
prose_word(struct rng *rng)
{
	return prose_words[rng_below(rng, PROSE_WORDS)];
}

/* Adds words until about bytes were added; lines begin with one of the marks. */
static inline void
prose_fill(struct gs_buf *buf, struct rng *rng, size_t bytes, const char *const *marks,
    size_t num_marks)
{
	size_t begin = buf->len, line = buf->len;

	while (buf->len - begin < bytes) {
		if (buf->len - line > PROSE_LINE) {
			gs_buf_add_str(buf, "\n");
			line = buf->len;
			gs_buf_add_str(buf,
			    num_marks ? marks[rng_below(rng, num_marks)] : "");
		} else if (buf->len > begin) {
			gs_buf_add_char(buf, ' ');
		}
		gs_buf_add_str(buf, prose_word(rng));
	}
}

static inline void
prose_text(struct gs_buf *buf, struct rng *rng, size_t bytes)
{
	static const char *const marks[] = { "", "", "", "- ", "> ", "\n" };

	prose_fill(buf, rng, bytes, marks, sizeof(marks) / sizeof(marks[0]));
}

static inline void
prose_diff(struct gs_buf *buf, struct rng *rng, size_t bytes)
{
	static const char *const marks[] = { " \t", "+\t", "-\t", "+\t\t",
		"@@ -1,7 +1,9 @@ " };

	prose_fill(buf, rng, bytes, marks, sizeof(marks) / sizeof(marks[0]));
}

/* digits lower-case hex digits, as a commit's name. */
static inline void
prose_hex(char *out, struct rng *rng, size_t digits)
{
	for (size_t i = 0; i < digits; i++)
		out[i] = "0123456789abcdef"[rng_below(rng, 16)];
	out[digits] = '\0';
}

#endif
