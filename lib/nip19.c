/* NIP-19 names: bech32 (BIP-173, checksum constant 1), and of its kinds only the keys. */
#include "nip19.h"

#include <string.h>

#define PREFIX_LEN 5	   /* "npub1", "nsec1" */
#define KEY_SYMBOLS 52	   /* 32 bytes in symbols of 5 bits, 4 bits over */
#define CHECKSUM_SYMBOLS 6 /* behind them */
#define ALL_SYMBOLS (KEY_SYMBOLS + CHECKSUM_SYMBOLS)
#define NAME_LEN (PREFIX_LEN + ALL_SYMBOLS)

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
is_checksum_right(const char *prefix, const uint8_t symbols[static ALL_SYMBOLS])
{
	uint32_t sum = 1;
	size_t i;

	for (i = 0; i < PREFIX_LEN - 1; i++)
		sum = step_checksum(sum, (uint8_t)(prefix[i] >> 5));
	sum = step_checksum(sum, 0);
	for (i = 0; i < PREFIX_LEN - 1; i++)
		sum = step_checksum(sum, prefix[i] & 31);
	for (i = 0; i < ALL_SYMBOLS; i++)
		sum = step_checksum(sum, symbols[i]);
	return sum == 1;
}

/* Copies the text in lower case; false if it mixes cases. */
static bool
fold_case(char out[static NAME_LEN], const char text[static NAME_LEN])
{
	bool has_lower = false, has_upper = false;
	size_t i;

	for (i = 0; i < NAME_LEN; i++) {
		bool is_upper = text[i] >= 'A' && text[i] <= 'Z';

		has_upper |= is_upper;
		has_lower |= text[i] >= 'a' && text[i] <= 'z';
		out[i] = is_upper ? (char)(text[i] - 'A' + 'a') : text[i];
	}
	return !(has_lower && has_upper);
}

static bool
read_symbols(uint8_t symbols[static ALL_SYMBOLS], const char *text)
{
	static const char alphabet[] = "qpzry9x8gf2tvdw0s3jn54khce6mua7l";
	size_t i;

	for (i = 0; i < ALL_SYMBOLS; i++) {
		const char *found = memchr(alphabet, text[i], sizeof(alphabet) - 1);

		if (found == NULL)
			return false;
		symbols[i] = (uint8_t)(found - alphabet);
	}
	return true;
}

/* Joins 5-bit symbols to bytes; false if the bits left over are not 0. */
static bool
join_bits(uint8_t key[static 32], const uint8_t symbols[static KEY_SYMBOLS])
{
	unsigned bits = 0, num_bits = 0;
	size_t at = 0, i;

	for (i = 0; i < KEY_SYMBOLS; i++) {
		bits = (bits << 5 | symbols[i]) & 0xfff;
		num_bits += 5;
		if (num_bits < 8)
			continue;
		num_bits -= 8;
		key[at++] = (uint8_t)(bits >> num_bits);
	}
	return (bits & ((1U << num_bits) - 1)) == 0;
}

static bool
parse_key(uint8_t key[static 32], const char *prefix, struct gs_str text)
{
	char lower[NAME_LEN];
	uint8_t symbols[ALL_SYMBOLS];
	bool ok;

	if (text.len != NAME_LEN)
		return false;
	ok = fold_case(lower, text.ptr) && memcmp(lower, prefix, PREFIX_LEN) == 0 &&
	    read_symbols(symbols, lower + PREFIX_LEN) &&
	    is_checksum_right(prefix, symbols) && join_bits(key, symbols);
	explicit_bzero(lower, sizeof(lower));
	explicit_bzero(symbols, sizeof(symbols));
	return ok;
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
