/*
 * Who is followed: is a repository followed, and who are the maintainers of the
 * followed announcements with one `d` (A names B, B names C: A, B and C).  Read
 * from the store and remembered until told to forget.
 */
#ifndef GS_CLOSURE_H
#define GS_CLOSURE_H

#include "store.h"

struct gs_closure;
struct gs_closure *gs_closure_new(const struct gs_policy
	*policy); /* policy must outlive it */
void gs_closure_free(struct gs_closure *closure);

/* Does the announcement that stands under this ref follow the rule? */
bool gs_closure_is_followed(struct gs_closure *closure, struct gs_txn *txn,
    struct gs_str ref);
bool gs_closure_has(struct gs_closure *closure, struct gs_txn *txn,
    const uint8_t pubkey[static 32], struct gs_str d);
typedef void gs_closure_fn(const uint8_t pubkey[static 32], struct gs_str d, void *arg);
void gs_closure_each(struct gs_closure *closure, struct gs_txn *txn, struct gs_str d,
    gs_closure_fn *fn, void *arg);

/* An announcement of this author and `d` came or left. */
void gs_closure_forget(struct gs_closure *closure, const uint8_t pubkey[static 32],
    struct gs_str d);
void gs_closure_forget_row(struct gs_closure *closure, const struct gs_row *row);
void gs_closure_forget_all(struct gs_closure *closure);

#endif
