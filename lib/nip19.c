/* NIP-19 names: bech32 (BIP-173, checksum constant 1) of keys and of event ids. */
#include "nip19.h"

#include <string.h>

#define CHECKSUM_SYMBOLS 6 /* behind the others */
#define NAME_BYTES 5000	   /* NIP-19 asks for no more; BIP-173's 90 is not kept there */
#define TLV_SPECIAL 0	   /* of an nevent: the id */

/* The checksum of BIP-173 over one more symbol. */
static uint32_t
step_checksum(uint32_t sum, uint8_t symbol)
{
	static const uint32_t factors[] = { 0x3b6a57b2, 0x26508e6d, 0x1ea119fa,
		0x3d4233dd, 0x2a1462b3 };
	uint32_t top = sum >> 25;
	size_t i;

	sum = (sum & 0x1ffffff) << 5 ^ symbol;
	for (i = 0; i < sizeof(factors) / sizeof(factors[0]); i++)
		if ((top >> i & 1) != 0)
			sum ^= factors[i];
	return sum;
}

/* The checksum over the prefix without its 1, as BIP-173 spreads it, and all symbols. */
static bool
is_checksum_right(const char *prefix, const uint8_t *symbols, size_t num)
{
	size_t len = strlen(prefix) - 1;
	uint32_t sum = 1;
	size_t i;

	for (i = 0; i < len; i++)
		sum = step_checksum(sum, (uint8_t)(prefix[i] >> 5));
	sum = step_checksum(sum, 0);
	for (i = 0; i < len; i++)
		sum = step_checksum(sum, prefix[i] & 31);
	for (i = 0; i < num; i++)
		sum = step_checksum(sum, symbols[i]);
	return sum == 1;
}

/* Copies the text in lower case; false if it mixes cases. */
static bool
fold_case(char *out, struct gs_str text)
{
	bool has_lower = false, has_upper = false;
	size_t i;

	for (i = 0; i < text.len; i++) {
		bool is_upper = text.ptr[i] >= 'A' && text.ptr[i] <= 'Z';

		has_upper |= is_upper;
		has_lower |= text.ptr[i] >= 'a' && text.ptr[i] <= 'z';
		out[i] = is_upper ? (char)(text.ptr[i] - 'A' + 'a') : text.ptr[i];
	}
	return !(has_lower && has_upper);
}

static bool
read_symbols(uint8_t *symbols, const char *text, size_t num)
{
	static const char alphabet[] = "qpzry9x8gf2tvdw0s3jn54khce6mua7l";
	size_t i;

	for (i = 0; i < num; i++) {
		const char *found = memchr(alphabet, text[i], sizeof(alphabet) - 1);

		if (found == NULL)
			return false;
		symbols[i] = (uint8_t)(found - alphabet);
	}
	return true;
}

/* Joins 5-bit symbols to bytes; false if a symbol, or bits that are not 0, are left. */
static bool
join_bits(uint8_t *bytes, const uint8_t *symbols, size_t num)
{
	unsigned bits = 0, num_bits = 0;
	size_t at = 0, i;

	for (i = 0; i < num; i++) {
		bits = (bits << 5 | symbols[i]) & 0xfff;
		num_bits += 5;
		if (num_bits < 8)
			continue;
		num_bits -= 8;
		bytes[at++] = (uint8_t)(bits >> num_bits);
	}
	return num_bits < 5 && (bits & ((1U << num_bits) - 1)) == 0;
}

/* Bytes that this many symbols stand for. */
#define BYTES_OF(num_symbols) ((num_symbols)*5 / 8)

/* The bytes of a name that begins so, at most size of them; *len: how many. */
static bool
parse_name(uint8_t *bytes, size_t size, size_t *len, const char *prefix,
    struct gs_str text)
{
	size_t prefix_len = strlen(prefix), num;
	char lower[NAME_BYTES];
	uint8_t symbols[NAME_BYTES];
	bool ok;

	if (text.len < prefix_len + CHECKSUM_SYMBOLS || text.len > NAME_BYTES)
		return false;
	num = text.len - prefix_len - CHECKSUM_SYMBOLS;
	*len = BYTES_OF(num);
	if (*len > size)
		return false;
	ok = fold_case(lower, text) && memcmp(lower, prefix, prefix_len) == 0 &&
	    read_symbols(symbols, lower + prefix_len, num + CHECKSUM_SYMBOLS) &&
	    is_checksum_right(prefix, symbols, num + CHECKSUM_SYMBOLS) &&
	    join_bits(bytes, symbols, num);
	explicit_bzero(lower, text.len);
	explicit_bzero(symbols, num + CHECKSUM_SYMBOLS);
	return ok;
}

static bool
parse_key(uint8_t key[static 32], const char *prefix, struct gs_str text)
{
	size_t len;

	return parse_name(key, 32, &len, prefix, text) && len == 32;
}

bool
gs_nip19_parse_npub(uint8_t pubkey[static 32], struct gs_str text)
{
	return parse_key(pubkey, "npub1", text);
}

bool
gs_nip19_parse_nsec(uint8_t secret[static 32], struct gs_str text)
{
	return parse_key(secret, "nsec1", text);
}

bool
gs_nip19_parse_note(uint8_t id[static 32], struct gs_str text)
{
	return parse_key(id, "note1", text);
}

/* Type, length, value; the id is the first of its type, other types are passed over. */
bool
gs_nip19_parse_nevent(uint8_t id[static 32], struct gs_str text)
{
	uint8_t bytes[BYTES_OF(NAME_BYTES)];
	bool found = false;
	size_t len, at;

	if (!parse_name(bytes, sizeof(bytes), &len, "nevent1", text))
		return false;
	for (at = 0; at + 2 <= len && at + 2 + bytes[at + 1] <= len;
	     at += 2 + (size_t)bytes[at + 1]) {
		if (bytes[at] != TLV_SPECIAL || found)
			continue;
		if (bytes[at + 1] != 32)
			return false;
		memcpy(id, bytes + at + 2, 32);
		found = true;
	}
	return found && at == len;
}
