/* The state file (grasp-sync-state(5)): a state as one line of JSON, and back. */
#ifndef GS_SNAPSHOT_H
#define GS_SNAPSHOT_H

#include "err.h"
#include "state.h"

#define GS_SNAPSHOT_VERSION 1
/* The longest file that is read; 10,000 repos x 700 roots are under it. */
#define GS_SNAPSHOT_BYTES (512u * 1024 * 1024)

/* Writes the file, one line.  Sorts the state.  The same state gives the same bytes. */
void gs_snapshot_write(struct gs_state *state, struct gs_buf *buf);

/*
 * Reads a state file; NULL and GS_EDATA with the place (line and column, or the
 * path such as "sync_relays: wss://x: not a list") for anything that is not one.
 * Relays are canonical in the result; private ones are let through.  The result is
 * sorted.  Unknown members are passed over: version says what changes the meaning.
 */
struct gs_state *gs_snapshot_parse(const char *text, size_t len,
    struct gs_err *err) GS_MUST;

#endif
