/*
 * Keys and signatures for tests and tools; the product itself never signs.  Keys
 * are made from numbers and signatures take no random bytes: the same every time.
 */
#ifndef SIGN_H
#define SIGN_H

#include <assert.h>
#include <secp256k1.h>
#include <secp256k1_extrakeys.h>
#include <secp256k1_schnorrsig.h>
#include <sodium.h>
#include <string.h>

#include "event.h"

struct signer {
	secp256k1_context *secp; /* borrowed */
	secp256k1_keypair pair;
	uint8_t pubkey[32];
};

/* For all signers; the caller gives it to secp256k1_context_destroy. */
static inline secp256k1_context *
sign_context(void)
{
	secp256k1_context *secp = secp256k1_context_create(SECP256K1_CONTEXT_SIGN);

	assert(secp);
	return secp;
}

/* The key number index of a sort under a seed. */
static inline void
signer_init(struct signer *signer, secp256k1_context *secp, uint64_t seed, uint64_t sort,
    uint64_t index)
{
	uint64_t numbers[3] = { seed, sort, index };
	secp256k1_xonly_pubkey pubkey;
	uint8_t bytes[24], secret[crypto_hash_sha256_BYTES];
	int ok;

	for (size_t i = 0; i < sizeof(bytes); i++) /* big-endian on every machine */
		bytes[i] = (uint8_t)(numbers[i / 8] >> (56 - 8 * (i % 8)));
	(void)crypto_hash_sha256(secret, bytes, sizeof(bytes));
	signer->secp = secp;
	ok = secp256k1_keypair_create(secp, &signer->pair, secret);
	ok &= secp256k1_keypair_xonly_pub(secp, &pubkey, NULL, &signer->pair);
	ok &= secp256k1_xonly_pubkey_serialize(secp, signer->pubkey, &pubkey);
	assert(ok);
	(void)ok;
}

/* Fills pubkey, id and sig of an event whose other members are there. */
static inline void
signer_sign(const struct signer *signer, struct gs_event *event)
{
	struct gs_buf scratch = GS_BUF_INIT;
	int ok;

	memcpy(event->pubkey, signer->pubkey, sizeof(event->pubkey));
	gs_event_compute_id(event, &scratch, event->id);
	ok = secp256k1_schnorrsig_sign32(signer->secp, event->sig, event->id,
	    &signer->pair, NULL);
	assert(ok);
	(void)ok;
	gs_buf_fini(&scratch);
}

#endif
