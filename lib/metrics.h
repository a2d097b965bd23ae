/*
 * Numbers in the text format of Prometheus (0.0.4): families with help and type, samples
 * with escaped labels.  A writer: who has the numbers keeps them.
 */
#ifndef GS_METRICS_H
#define GS_METRICS_H

#include <stdint.h>

#include "buf.h"

enum gs_metric_type { GS_METRIC_GAUGE, GS_METRIC_COUNTER };

struct gs_label {
	const char *name;
	struct gs_str value; /* escaped, cut at 512 bytes; U+FFFD for what is no text */
};

/* Begins a family: HELP and TYPE lines.  All its samples follow at once. */
void gs_metrics_family(struct gs_buf *buf, const char *name, enum gs_metric_type type,
    const char *help);
void gs_metrics_sample(struct gs_buf *buf, const char *name,
    const struct gs_label *labels, size_t num_labels, double value);

#endif
