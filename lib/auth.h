/*
 * Who we are to a relay (NIP-42): the secret key of a file, in locked memory, and the
 * answer to a challenge.  When to answer, and once a challenge, is session's.
 */
#ifndef GS_AUTH_H
#define GS_AUTH_H

#include <stdint.h>

#include "buf.h"
#include "err.h"

#define GS_AUTH_CHALLENGE_BYTES 1024 /* DESIGN 6 */

struct gs_auth;

/*
 * Reads 64 hex digits or an nsec from a regular file that nobody but its owner may
 * use.  NULL: GS_ENOINPUT if it is not there, else GS_ECONFIG; err never tells of
 * the key.  libsodium must have been started.
 */
struct gs_auth *gs_auth_load(const char *path, struct gs_err *err) GS_MUST;
void gs_auth_free(struct gs_auth *auth); /* the key is overwritten */

const uint8_t *gs_auth_pubkey(const struct gs_auth *auth); /* 32 bytes, borrowed */

/*
 * Adds the frame ["AUTH",{...}].  challenge is decoded; url is canonical, as we
 * dialled it; created_at is wall time in seconds.  False, and buf as before, if the
 * challenge is over GS_AUTH_CHALLENGE_BYTES.
 */
bool gs_auth_write(const struct gs_auth *auth, struct gs_str challenge, const char *url,
    int64_t created_at, struct gs_buf *buf) GS_MUST;

#endif
