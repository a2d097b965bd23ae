/* Numbers, durations, sizes and times as people type them: all of it, or refused. */
#include "num.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define MAX_DURATION_S (INT64_C(100) * 366 * 86400) /* a century is a typing error */
#define MAX_TIME_S (INT64_C(1) << 53)		    /* what JSON carries exactly */

struct unit {
	char letter;
	int64_t factor;
};

static const struct unit duration_units[] = { { 's', 1 }, { 'm', 60 }, { 'h', 3600 },
	{ 'd', 86400 }, { '\0', 1 } };
static const struct unit byte_units[] = { { 'k', INT64_C(1) << 10 },
	{ 'm', INT64_C(1) << 20 }, { 'g', INT64_C(1) << 30 }, { 't', INT64_C(1) << 40 },
	{ '\0', 1 } };

bool
gs_num_parse(int64_t *out, const char *text, size_t len, int64_t max)
{
	int64_t value = 0;
	size_t i;

	if (len == 0 || len > 19 || (len > 1 && text[0] == '0'))
		return false;
	for (i = 0; i < len; i++) {
		int64_t digit = text[i] - '0';

		if (digit < 0 || digit > 9 || value > (INT64_MAX - digit) / 10)
			return false;
		value = value * 10 + digit;
	}
	*out = value;
	return value <= max;
}

bool
gs_num_parse_count(int64_t *out, const char *text, int64_t min, int64_t max,
    struct gs_err *err)
{
	if (!gs_num_parse(out, text, strlen(text), max) || *out < min)
		return gs_fail(err, GS_EUSAGE, "not a number from %lld to %lld",
		    (long long)min, (long long)max);
	return true;
}

/* Reads digits and perhaps a unit letter. */
static bool
parse_with_unit(int64_t *out, const char *text, const struct unit *units, int64_t max)
{
	size_t len = strlen(text);
	size_t i;

	for (i = 0; units[i].letter != '\0'; i++)
		if (len > 1 && text[len - 1] == units[i].letter) {
			len--;
			break;
		}
	if (!gs_num_parse(out, text, len, max / units[i].factor))
		return false;
	*out *= units[i].factor;
	return true;
}

bool
gs_num_parse_duration_s(int64_t *out, const char *text, struct gs_err *err)
{
	if (!parse_with_unit(out, text, duration_units, MAX_DURATION_S))
		return gs_fail(err, GS_EUSAGE,
		    "not a duration such as 90, 90s, 15m, 24h or 7d");
	return true;
}

bool
gs_num_parse_bytes(int64_t *out, const char *text, struct gs_err *err)
{
	if (!parse_with_unit(out, text, byte_units, INT64_MAX / 2))
		return gs_fail(err, GS_EUSAGE, "not a size such as 4096, 64k, 20m or 2g");
	return true;
}

/* "Z" or "+01:00" behind a time; false if it is neither. */
static bool
parse_zone(const char *text, int64_t *offset_s)
{
	int hours, minutes, used = 0;
	char sign;

	if (strcmp(text, "Z") == 0 || strcmp(text, "z") == 0) {
		*offset_s = 0;
		return true;
	}
	if (sscanf(text, "%c%2d:%2d%n", &sign, &hours, &minutes, &used) != 3 ||
	    text[used] != '\0' || used != 6 || (sign != '+' && sign != '-') ||
	    hours > 23 || minutes > 59)
		return false;
	*offset_s = (hours * 3600 + minutes * 60) * (sign == '-' ? -1 : 1);
	return true;
}

static bool
parse_rfc3339(int64_t *out, const char *text)
{
	struct tm tm = { 0 };
	const char *rest = strptime(text, "%Y-%m-%d", &tm);
	int64_t offset_s = 0;

	if (rest == NULL)
		return false;
	if (*rest != '\0') {
		if (*rest != 'T' && *rest != 't' && *rest != ' ')
			return false;
		rest = strptime(rest + 1, "%H:%M:%S", &tm);
		if (rest == NULL)
			return false;
		if (*rest == '.')
			rest += 1 + strspn(rest + 1, "0123456789");
		if (!parse_zone(rest, &offset_s))
			return false;
	}
	*out = (int64_t)timegm(&tm) - offset_s;
	return *out >= 0;
}

bool
gs_num_parse_time_s(int64_t *out, const char *text, int64_t now_s, struct gs_err *err)
{
	size_t len = strlen(text);
	int64_t ago_s;

	if (gs_num_parse(out, text, len, MAX_TIME_S) || parse_rfc3339(out, text))
		return true;
	if (len > 1 && strchr("smhd", text[len - 1]) != NULL &&
	    gs_num_parse_duration_s(&ago_s, text, NULL)) {
		*out = ago_s < now_s ? now_s - ago_s : 0;
		return true;
	}
	return gs_fail(err, GS_EUSAGE,
	    "not a time such as 1700000000, 2026-01-31T12:00:00Z or 15m (ago)");
}
