/* Lower-case hex, as NIP-01 wants ids, keys and signatures. */
#include "hex.h"

static int
parse_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

bool
gs_hex_parse(uint8_t *out, size_t num, const char *text, size_t len)
{
	size_t i;

	if (len != num * 2)
		return false;
	for (i = 0; i < num; i++) {
		int high = parse_digit(text[2 * i]);
		int low = parse_digit(text[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		out[i] = (uint8_t)(high << 4 | low);
	}
	return true;
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
