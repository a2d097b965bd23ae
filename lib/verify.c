/*
 * Is an event what it says: its id, then its BIP-340 signature.  Stateless, with
 * the library's own constant context, so that any thread may call.
 */
#include "verify.h"

#include <secp256k1.h>
#include <secp256k1_extrakeys.h>
#include <secp256k1_schnorrsig.h>
#include <string.h>

enum gs_event_fault
gs_verify_id(const struct gs_event *event, struct gs_buf *scratch)
{
	uint8_t id[32];

	gs_event_compute_id(event, scratch, id);
	return memcmp(id, event->id, sizeof(id)) == 0 ? GS_EVENT_OK : GS_EVENT_ID;
}

enum gs_event_fault
gs_verify_sig(const struct gs_event *event)
{
	secp256k1_xonly_pubkey pubkey;

	if (!secp256k1_xonly_pubkey_parse(secp256k1_context_static, &pubkey,
		event->pubkey) ||
	    !secp256k1_schnorrsig_verify(secp256k1_context_static, event->sig, event->id,
		sizeof(event->id), &pubkey))
		return GS_EVENT_SIG;
	return GS_EVENT_OK;
}
