/* Lower-case hex, as NIP-01 wants ids, keys and signatures. */
#include "hex.h"

#define NO_DIGIT 0xf0 /* any bit that no digit has */

/* One more than the value of a digit; 0 for all other bytes. */
static const uint8_t value_of[256] = {
	['0'] = 1,
	['1'] = 2,
	['2'] = 3,
	['3'] = 4,
	['4'] = 5,
	['5'] = 6,
	['6'] = 7,
	['7'] = 8,
	['8'] = 9,
	['9'] = 10,
	['a'] = 11,
	['b'] = 12,
	['c'] = 13,
	['d'] = 14,
	['e'] = 15,
	['f'] = 16,
};

/* Without a branch a digit: 256 of them are a third of what reading an event costs. */
bool
gs_hex_parse(uint8_t *out, size_t num, const char *text, size_t len)
{
	unsigned all = 0;
	size_t i;

	if (len != num * 2)
		return false;
	for (i = 0; i < num; i++) {
		unsigned high = value_of[(uint8_t)text[2 * i]] - 1U;
		unsigned low = value_of[(uint8_t)text[2 * i + 1]] - 1U;

		all |= high | low;
		out[i] = (uint8_t)(high << 4 | low);
	}
	return (all & NO_DIGIT) == 0;
}

char *
gs_hex_write(char *out, const uint8_t *bytes, size_t num)
{
	static const char digits[] = "0123456789abcdef";
	size_t i;

	for (i = 0; i < num; i++) {
		*out++ = digits[bytes[i] >> 4];
		*out++ = digits[bytes[i] & 15];
	}
	return out;
}
