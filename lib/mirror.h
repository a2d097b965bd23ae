/*
 * What a relay holds of the kinds that decide what is followed, in a store that nobody
 * else sees: the stored events, then, unless once, what it gets.  The own relay is read
 * so by who watches it.
 */
#ifndef GS_MIRROR_H
#define GS_MIRROR_H

#include "loop.h"
#include "policy.h"
#include "relay.h"
#include "store.h"

struct gs_mirror_options {
	const struct gs_url *url;
	const struct gs_policy
	    *policy; /* which requests to vanish concern us; borrowed */
	bool once;
};

struct gs_mirror_ops {
	void (*changed)(void *arg); /* of the relay; may be NULL */
	/* It is over: with once, or because storing failed.  May be NULL. */
	void (*ended)(void *arg);
	void *arg;
};

struct gs_mirror;
/* NULL: GS_ECREATE or GS_EIO.  Dials when the loop runs. */
struct gs_mirror *gs_mirror_new(struct gs_loop *loop,
    const struct gs_mirror_options *options, const struct gs_mirror_ops *ops,
    struct gs_err *err) GS_MUST;
void gs_mirror_free(struct gs_mirror *mirror); /* before its loop */

struct gs_store *gs_mirror_store(const struct gs_mirror *mirror);
const struct gs_relay *gs_mirror_relay(const struct gs_mirror *mirror);
/*
 * Was the relay read to the end of all that it had, and is that in the store?  What is
 * missing before may be there: it says nothing.
 */
bool gs_mirror_is_whole(struct gs_mirror *mirror);
/* Was something stored since this was asked last? */
bool gs_mirror_has_news(struct gs_mirror *mirror);
/* False: an event could not be stored, and err says why. */
bool gs_mirror_check(const struct gs_mirror *mirror, struct gs_err *err) GS_MUST;

#endif
