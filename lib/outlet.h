/*
 * Lines to a descriptor, such as stdout, as fast as its reader takes them: the loop
 * never waits for it.  How much may pile up is the owner's to decide.
 */
#ifndef GS_OUTLET_H
#define GS_OUTLET_H

#include "buf.h"
#include "loop.h"

struct gs_outlet;

/* moved: later on, something of what waited was written, or the outlet has failed. */
struct gs_outlet *gs_outlet_new(struct gs_loop *loop, int fd, void (*moved)(void *arg),
    void *arg);
void gs_outlet_free(struct gs_outlet *outlet); /* before its loop; does not close fd */

/* Adds data and a newline.  False once the outlet has failed. */
bool gs_outlet_line(struct gs_outlet *outlet, const char *data, size_t len);
/* Writes what the reader takes now, the rest later.  False once the outlet has failed. */
bool gs_outlet_flush(struct gs_outlet *outlet);

size_t gs_outlet_waiting(const struct gs_outlet *outlet); /* bytes not written yet */
/* errno of what made it fail; EPIPE: its reader left; 0: nothing did. */
int gs_outlet_error(const struct gs_outlet *outlet);

#endif
