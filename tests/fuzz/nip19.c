/* NIP-19 names: a text is one kind of name at most, keys only at their one length. */
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
	uint8_t pubkey[32], secret[32], id[32];
	bool is_public = gs_nip19_parse_npub(pubkey, text);
	bool is_secret = gs_nip19_parse_nsec(secret, text);
	bool is_note = gs_nip19_parse_note(id, text);
	bool is_event = gs_nip19_parse_nevent(id, text);

	check(is_public + is_secret + is_note + is_event <= 1);
	check(size == NAME_LEN || (!is_public && !is_secret && !is_note));
	return 0;
}
