/* Names of keys: a text is one kind of key at most, and only at its one length. */
#include "nip19.h"

#include <stdlib.h>
#include <string.h>

#define NAME_LEN 63

static void
check(bool holds)
{
	if (!holds)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gs_str text = { (const char *)data, size };
	uint8_t pubkey[32], secret[32];
	bool is_public = gs_nip19_parse_npub(pubkey, text);
	bool is_secret = gs_nip19_parse_nsec(secret, text);

	check(!(is_public && is_secret));
	check(size == NAME_LEN || (!is_public && !is_secret));
	return 0;
}
