/*
 * A small HTTP server for those who look after the process: GET and HEAD of a few paths,
 * on a loopback address or a unix socket.  What a path shows is the owner's.
 */
#ifndef GS_HTTPD_H
#define GS_HTTPD_H

#include "buf.h"
#include "err.h"
#include "loop.h"

#define GS_HTTPD_CLIENTS 32 /* at a time; others are turned away */

struct gs_httpd_answer {
	int status;	  /* 200, 404, 503 */
	const char *type; /* "text/plain; charset=utf-8" */
	struct gs_buf body;
};

struct gs_httpd_ops {
	/*
	 * path without its query.  Fills the answer, which is 404 and plain text until
	 * then; its body is taken.  Also for HEAD, of which the body is not sent.  The
	 * server must not be freed from within.
	 */
	void (*get)(struct gs_str path, struct gs_httpd_answer *answer, void *arg);
	void *arg;
};

/*
 * address: "127.0.0.1:9100", "localhost:9100", "[::1]:9100", "PORT" (of 127.0.0.1; 0: a
 * free one), or "unix:/path" (0660, replaced if nobody listens there).  NULL: GS_EUSAGE
 * (no such address, or not of this machine), GS_EUNAVAILABLE (taken, forbidden).
 */
struct gs_httpd;
struct gs_httpd *gs_httpd_new(struct gs_loop *loop, const char *address,
    const struct gs_httpd_ops *ops, struct gs_err *err) GS_MUST;
void gs_httpd_free(struct gs_httpd *httpd); /* before its loop; removes its socket */
/* Where it listens: "127.0.0.1:9100" or "unix:/path". */
const char *gs_httpd_address(const struct gs_httpd *httpd);
/* Checks an address without listening. */
bool gs_httpd_check(const char *address, struct gs_err *err) GS_MUST;

#endif
