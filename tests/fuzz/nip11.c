/* NIP-11 documents: whatever they say, the limits stay within what we can work with. */
#include <stdlib.h>
#include <string.h>

#include "limits.h"

static void
check(bool holds)
{
	if (!holds)
		abort();
}

static void
check_range(uint32_t value, uint32_t min, uint32_t max)
{
	check(value >= min && value <= max);
}

/* Lowers one limit to its end, which is near. */
static void
learn_all(struct gs_limits *limits, enum gs_refusal refusal)
{
	int steps = 0;

	while (gs_limits_learn(limits, refusal, 0))
		check(++steps < 20);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gs_str document = { (const char *)data, size };
	struct gs_limits limits, before;
	struct gs_err err = { .code = GS_OK };

	gs_limits_init(&limits);
	before = limits;
	if (!gs_limits_read(&limits, document, &err)) {
		check(memcmp(&limits, &before, sizeof(limits)) == 0);
		check(err.code == GS_EDATA && err.text[0] != '\0');
		return 0;
	}
	check_range(limits.subscriptions, 1, 50);
	check_range(limits.filters, 1, 20);
	check_range(limits.bytes, 1024, 120 * 1024);
	check_range(limits.limit, 1, 5000);
	check_range(limits.subid_len, 8, 64);
	for (int i = GS_REFUSAL_OTHER; i <= GS_REFUSAL_UNSUPPORTED; i++)
		learn_all(&limits, (enum gs_refusal)i);
	check(limits.subscriptions == 1 && limits.filters == 1 && limits.limit == 1);
	check(limits.bytes <= 2048);
	return 0;
}
