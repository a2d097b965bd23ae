/* An HTTP server from within.  httpd: connections; httpd_listen: where it listens. */
#ifndef GS_HTTPD_PRIVATE_H
#define GS_HTTPD_PRIVATE_H

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "httpd.h"

struct gs_httpd_place {
	union {
		struct sockaddr any;
		struct sockaddr_storage storage;
		struct sockaddr_un un;
	} address;
	socklen_t len;
	char text[sizeof("unix:") + sizeof(((struct sockaddr_un *)0)->sun_path)];
	struct stat made; /* a unix socket's file, as we made it */
};

/* GS_EUSAGE: no such address, or one that others can reach. */
bool gs_httpd_place_parse(struct gs_httpd_place *place, const char *address,
    struct gs_err *err) GS_MUST;
/* A descriptor that listens and never blocks, or -1 and GS_EUNAVAILABLE.  Fills text. */
int gs_httpd_place_open(struct gs_httpd_place *place, struct gs_err *err) GS_MUST;
/* Removes the socket's file, unless another one stands there now. */
void gs_httpd_place_remove(const struct gs_httpd_place *place);
bool gs_httpd_place_is_unix(const struct gs_httpd_place *place);

#endif
