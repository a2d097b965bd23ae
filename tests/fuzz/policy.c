/* Lists of what to follow and to deny: all of a list is taken, or nothing. */
#include "policy.h"

#include <stdlib.h>
#include <string.h>

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
	uint8_t before[32], after[32];
	struct gs_policy policy;
	struct gs_err err;

	gs_policy_init(&policy);
	gs_policy_fingerprint(&policy, before);
	if (!gs_policy_add_deny(&policy, text, &err)) {
		gs_policy_fingerprint(&policy, after);
		check(memcmp(before, after, 32) == 0);
		check(!gs_policy_set_list(&policy, text, &err) || policy.denied == NULL);
	} else if (policy.denied != NULL)
		check(gs_map_count(policy.denied) <= size);
	check(!gs_policy_set_list(&policy, text, &err) || policy.rule != GS_FOLLOW_LIST ||
	    policy.followed != NULL);
	gs_policy_fini(&policy);
	return 0;
}
