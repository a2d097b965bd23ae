/* Lower-case hex, as NIP-01 wants ids, keys and signatures. */
#ifndef GS_HEX_H
#define GS_HEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads exactly 2 * num digits from text into out; false if len or a digit is wrong. */
bool gs_hex_parse(uint8_t *out, size_t num, const char *text, size_t len);

/* Writes 2 * num digits (no NUL) and returns the place behind them. */
char *gs_hex_write(char *out, const uint8_t *bytes, size_t num);

#endif
