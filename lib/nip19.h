/* NIP-19 names: only npub is read, for lists that people write. */
#ifndef GS_NIP19_H
#define GS_NIP19_H

#include <stdint.h>

#include "buf.h"
#include "err.h"

/* "npub1..." (bech32, all lower or all upper case, checksum right) to a public key. */
bool gs_nip19_parse_npub(uint8_t pubkey[static 32], struct gs_str text) GS_MUST;

#endif
