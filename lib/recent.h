/*
 * Which ids were handed out, and in which bytes: all of them, or the last so many, in
 * flat memory.
 */
#ifndef GS_RECENT_H
#define GS_RECENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"

#define GS_RECENT_ID 32

struct gs_recent;
/* max: remembers so many, the oldest goes first; 0: all.  56 bytes each, none before. */
struct gs_recent *gs_recent_new(size_t max);
void gs_recent_free(struct gs_recent *recent);

bool gs_recent_has(const struct gs_recent *recent, const uint8_t id[static GS_RECENT_ID]);
/* It has the id, and that came in these very bytes: cheaper to see than by SHA-256. */
bool gs_recent_is_copy(const struct gs_recent *recent,
    const uint8_t id[static GS_RECENT_ID], struct gs_str bytes);
/* In how many different bytes it came. */
size_t gs_recent_variants(const struct gs_recent *recent,
    const uint8_t id[static GS_RECENT_ID]);
/* Not for one that it has in these bytes. */
void gs_recent_add(struct gs_recent *recent, const uint8_t id[static GS_RECENT_ID],
    struct gs_str bytes);
void gs_recent_clear(struct gs_recent *recent);
size_t gs_recent_count(const struct gs_recent *recent);

#endif
