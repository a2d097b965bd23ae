/*
 * Writes metrics whose labels are random bytes, for promcheck to look at.
 * usage: oddmetrics SEED COUNT
 */
#include <stdio.h>
#include <stdlib.h>

#include "metrics.h"
#include "rng.h"

#define MAX_LABEL 700 /* bytes: more than are written */

static size_t
make_label(struct rng *rng, char label[static MAX_LABEL])
{
	static const char odd[] = "\"\\\n\r,={} \xe2\x82\xac\xf0\x9f\x98\x80";
	size_t len = rng_below(rng, MAX_LABEL);

	for (size_t i = 0; i < len; i++)
		label[i] = rng_below(rng, 3) == 0 ? odd[rng_below(rng, sizeof(odd))]
						  : (char)rng_below(rng, 256);
	return len;
}

int
main(int argc, char **argv)
{
	struct gs_buf buf = GS_BUF_INIT;
	char label[MAX_LABEL], number[24];
	struct rng rng;

	if (argc != 3)
		return 64;
	rng = rng_of(strtoull(argv[1], NULL, 10), 0, 0);
	gs_metrics_family(&buf, "odd_total", GS_METRIC_COUNTER, "odd \\ \n \"labels\"");
	for (unsigned long i = strtoul(argv[2], NULL, 10); i > 0; i--) {
		struct gs_label labels[] = { { "number", { number, 0 } },
			{ "relay", { label, make_label(&rng, label) } } };

		labels[0].value.len = (size_t)snprintf(number, sizeof(number), "%lu", i);
		gs_metrics_sample(&buf, "odd_total", labels, 2,
		    (double)rng_below(&rng, 1000000) / (double)(1 + rng_below(&rng, 9)));
	}
	(void)fwrite(buf.data, 1, buf.len, stdout);
	gs_buf_fini(&buf);
	return fflush(stdout) == 0 ? 0 : 74;
}
