/*
 * A relay's NIP-11 document, fetched over HTTP from where its websocket is.  What it
 * says is limits'.
 */
#ifndef GS_NIP11_H
#define GS_NIP11_H

#include "buf.h"
#include "dial.h"
#include "loop.h"

#define GS_NIP11_MS 10000 /* until the whole document is there */

/* Always, once, later than the fetch: the gs_nip11 is gone.  NULL in it: no document. */
typedef void gs_nip11_fn(struct gs_str document, void *arg);

/* Any answer but 200 and at most GS_LIMITS_DOCUMENT_BYTES of body in time is none. */
struct gs_nip11;
struct gs_nip11 *gs_nip11_fetch(struct gs_loop *loop, const struct gs_dial *dial,
    gs_nip11_fn *fn, void *arg);
void gs_nip11_free(struct gs_nip11 *nip11); /* fn is not called any more */

#endif
