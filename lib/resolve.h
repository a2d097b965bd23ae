/*
 * Names to addresses that may be dialled, looked up by threads beside the loop.  A
 * name is looked up and checked again for every dial: it may have moved.
 */
#ifndef GS_RESOLVE_H
#define GS_RESOLVE_H

#include <arpa/inet.h>

#include "loop.h"
#include "url.h"

#define GS_RESOLVE_ADDRESSES 16 /* kept of a name */
#define GS_RESOLVE_FOUND 256	/* looked at */
#define GS_RESOLVE_THREADS 4
#define GS_RESOLVE_KEPT 2 /* of them, for questions that are kept: DESIGN 3 "Health" */

/* An address as it was found. */
struct gs_found {
	int family; /* AF_INET, AF_INET6 */
	uint8_t bytes[16];
};

enum gs_resolve_result {
	GS_RESOLVE_OK,
	GS_RESOLVE_DNS,	    /* the name has no address, or that could not be found out */
	GS_RESOLVE_REFUSED, /* it has, but we do not dial such (DESIGN 6) */
};

struct gs_resolved {
	enum gs_resolve_result result;
	size_t num; /* of addresses; 0 unless GS_RESOLVE_OK */
	char addresses[GS_RESOLVE_ADDRESSES][INET6_ADDRSTRLEN];
	char why[128]; /* of a failure, for a person */
};

/* Fills found (up to max) and *num; 0 or an error number of getaddrinfo(3). */
typedef int gs_resolve_lookup(const char *host, struct gs_found *found, size_t max,
    size_t *num, void *arg);

/* Of what was found, what may be dialled, in that order, each once.  For tests. */
void gs_resolve_vet(struct gs_resolved *resolved, const struct gs_found *found,
    size_t num, bool allow_private);

struct gs_resolver;
/* lookup NULL: the system's. */
struct gs_resolver *gs_resolver_new(struct gs_loop *loop, gs_resolve_lookup *lookup,
    void *arg, struct gs_err *err) GS_MUST;
/* No question's fn is called any more.  Before its loop. */
void gs_resolver_free(struct gs_resolver *resolver);

/*
 * Calls fn later, once, in the loop.  allow_private: everything may be dialled.  is_kept:
 * of a relay that is known to work; others never hold all threads.
 */
struct gs_question;
typedef void gs_resolve_fn(const struct gs_resolved *resolved, void *arg);
struct gs_question *gs_resolver_ask(struct gs_resolver *resolver,
    const struct gs_url *url, bool allow_private, bool is_kept, gs_resolve_fn *fn,
    void *arg);
/* fn is not called any more; not after it was called, nor after the resolver. */
void gs_question_cancel(struct gs_question *question);

#endif
