/* Texts of a relay: read within their bytes, the same in any case. */
#include "refusal.h"

#include <ctype.h>
#include <stdlib.h>

#include "mem.h"

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
	int64_t number, upper_number;
	enum gs_refusal refusal = gs_refusal_parse(text, &number);
	char *upper = gs_mem_dup(data, size);

	check(gs_refusal_name(refusal) != NULL);
	check(number >= 0 && (number == 0 || refusal == GS_REFUSAL_LIMIT));
	/* "Error: " becomes strfry's own: that alone means more in upper case. */
	for (size_t i = 0; i < size; i++)
		upper[i] = (char)((data[i] & 0x80) == 0 ? toupper(data[i]) : data[i]);
	if (size < 5 || upper[0] != 'E') {
		text.ptr = upper;
		check(gs_refusal_parse(text, &upper_number) == refusal);
		check(upper_number == number);
	}
	free(upper);
	return 0;
}
