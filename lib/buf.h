/* Growing bytes, and borrowed bytes.  A NUL always stands behind the data. */
#ifndef GS_BUF_H
#define GS_BUF_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of somebody else; may hold NUL; ptr is never NULL when len is not 0. */
struct gs_str {
	const char *ptr;
	size_t len;
};

#define GS_STR(literal) ((struct gs_str){ (literal), sizeof(literal) - 1 })

struct gs_str gs_str_of(const char *text); /* text up to its NUL; NULL is empty */
bool gs_str_is(struct gs_str a, const char *text);
bool gs_str_equal(struct gs_str a, struct gs_str b);
int gs_str_compare(struct gs_str a, struct gs_str b); /* by bytes, shorter first */

struct gs_buf {
	char *data; /* NULL until something was added */
	size_t len;
	size_t cap;
};

/* clang-format off */
#define GS_BUF_INIT { NULL, 0, 0 }
/* clang-format on */

void gs_buf_add(struct gs_buf *buf, const void *data, size_t len);
void gs_buf_add_str(struct gs_buf *buf, const char *text);
void gs_buf_add_char(struct gs_buf *buf, char c);
void gs_buf_printf(struct gs_buf *buf, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Where len bytes may be written; then raise buf->len. */
char *gs_buf_room(struct gs_buf *buf, size_t len);

/*
 * Adds bytes of a peer as a person or a log may see them: printable ASCII as it
 * is, everything else as \xNN, cut with "..." behind max bytes.
 */
void gs_buf_add_shown(struct gs_buf *buf, const char *text, size_t len, size_t max);

void gs_buf_clear(struct gs_buf *buf);		 /* keeps the memory */
void gs_buf_cut(struct gs_buf *buf, size_t len); /* shortens to len */
char *gs_buf_take(struct gs_buf *buf);		 /* the caller's; buf is empty */
void gs_buf_fini(struct gs_buf *buf);

#endif
