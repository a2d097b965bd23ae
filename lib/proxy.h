/* The HTTP proxy that a user names, as its address: everything is dialled through it. */
#ifndef GS_PROXY_H
#define GS_PROXY_H

#include "buf.h"
#include "err.h"

#define GS_PROXY_BYTES 64 /* "[ADDRESS]:PORT" and a NUL */

/*
 * Of "http://HOST:PORT".  A name is looked up, which blocks, and may be private: it is
 * the user's.  GS_EUSAGE: it is not like that; GS_EUNAVAILABLE: it has no address.
 */
bool gs_proxy_find(char address[static GS_PROXY_BYTES], const char *text,
    struct gs_err *err) GS_MUST;

#endif
