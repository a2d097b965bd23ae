/*
 * NIP-19 names: of keys (npub in lists that people write, nsec for one to sign with) and
 * of events.
 */
#ifndef GS_NIP19_H
#define GS_NIP19_H

#include <stdint.h>

#include "buf.h"
#include "err.h"

/* "npub1..." (bech32, all lower or all upper case, checksum right) to a public key. */
bool gs_nip19_parse_npub(uint8_t pubkey[static 32], struct gs_str text) GS_MUST;
/* "nsec1..." to a secret key, of which nothing stays elsewhere in memory. */
bool gs_nip19_parse_nsec(uint8_t secret[static 32], struct gs_str text) GS_MUST;
/* "note1..." or "nevent1..." (whose relays and author are passed over) to an event id. */
bool gs_nip19_parse_note(uint8_t id[static 32], struct gs_str text) GS_MUST;
bool gs_nip19_parse_nevent(uint8_t id[static 32], struct gs_str text) GS_MUST;

#endif
