/* Numbers, durations, sizes and times as people type them: all of it, or refused. */
#ifndef GS_NUM_H
#define GS_NUM_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"

/* Decimal digits only (no sign, blank or leading zeros beyond "0"), at most max. */
bool gs_num_parse(int64_t *out, const char *text, size_t len, int64_t max);

/* As typed on a command line; err says what is wrong with it. */
bool gs_num_parse_count(int64_t *out, const char *text, int64_t min, int64_t max,
    struct gs_err *err) GS_MUST;
/* "90", "90s", "15m", "24h", "7d" in seconds. */
bool gs_num_parse_duration_s(int64_t *out, const char *text, struct gs_err *err) GS_MUST;
/* "4096", "64k", "20m", "2g" in bytes (powers of 1,024). */
bool gs_num_parse_bytes(int64_t *out, const char *text, struct gs_err *err) GS_MUST;
/*
 * A moment in seconds since 1970: "1700000000", RFC 3339 ("2026-01-31T12:00:00Z",
 * with a zone offset, or a date alone), or a duration with unit before now_s ("15m").
 */
bool gs_num_parse_time_s(int64_t *out, const char *text, int64_t now_s,
    struct gs_err *err) GS_MUST;

#endif
