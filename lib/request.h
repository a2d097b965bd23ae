/*
 * The head of an HTTP/1 request, as far as a server of a few pages needs it: method,
 * path and Host.  What is answered is httpd's.
 */
#ifndef GS_REQUEST_H
#define GS_REQUEST_H

#include "buf.h"

#define GS_REQUEST_BYTES 8192 /* of a head: browsers send many cookies to localhost */

enum gs_request_result {
	GS_REQUEST_MORE, /* its end is not there yet */
	GS_REQUEST_BAD,
	GS_REQUEST_OK,
};

/* All of it borrowed from the text. */
struct gs_request {
	struct gs_str method;
	struct gs_str path; /* without its query; as it stands: %41 is not decoded */
	struct gs_str host; /* of the header, with its port; empty if there is none */
};

enum gs_request_result gs_request_parse(struct gs_request *request, struct gs_str text);

/*
 * Does a Host header name this machine: "localhost", 127.0.0.0/8 or "[::1]", with any
 * port?  Another name that leads here is how a web page would read what is ours.
 */
bool gs_request_is_local(struct gs_str host);

#endif
