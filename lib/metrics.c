/*
 * Numbers in the text format of Prometheus (0.0.4): families with help and type, samples
 * with escaped labels.  A writer: who has the numbers keeps them.
 */
#include "metrics.h"

#include <assert.h>
#include <math.h>

#include "json.h"

#define LABEL_BYTES 512 /* of a value: more says nothing new */
#define EXACT 0x1p53	/* whole numbers up to it are written as such */
#define REPLACEMENT "\xef\xbf\xbd"

/* [a-zA-Z_][a-zA-Z0-9_]*: what is allowed in names of metrics and labels alike. */
static bool
is_name(const char *name)
{
	for (const char *c = name; *c != '\0'; c++) {
		bool is_letter =
		    (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || *c == '_';

		if (!is_letter && (c == name || *c < '0' || *c > '9'))
			return false;
	}
	return name[0] != '\0';
}

/* How many bytes the first character has; 0: it is none. */
static size_t
len_char(struct gs_str rest)
{
	const uint8_t *p = (const uint8_t *)rest.ptr;

	return *p < 0x80 ? 1 : gs_json_utf8_len(p, rest.len);
}

/* Control bytes have no escape, and some readers end at them. */
static void
add_char(struct gs_buf *buf, const char *c, size_t len)
{
	if (*c == '\n')
		gs_buf_add_str(buf, "\\n");
	else if (*c == '\\' || *c == '"')
		gs_buf_printf(buf, "\\%c", *c);
	else if (len == 0 || (unsigned char)*c < 0x20 || *c == 0x7f)
		gs_buf_add_str(buf, REPLACEMENT);
	else
		gs_buf_add(buf, c, len);
}

static void
add_value(struct gs_buf *buf, struct gs_str value)
{
	size_t at = 0;

	while (at < value.len) {
		struct gs_str rest = { value.ptr + at, value.len - at };
		size_t len = len_char(rest);
		size_t next = at + (len > 0 ? len : 1);

		if (next > LABEL_BYTES)
			return;
		add_char(buf, rest.ptr, len);
		at = next;
	}
}

static void
add_number(struct gs_buf *buf, double value)
{
	if (isnan(value))
		gs_buf_add_str(buf, "NaN");
	else if (isinf(value))
		gs_buf_add_str(buf, value > 0 ? "+Inf" : "-Inf");
	else if (fabs(value) <= EXACT && value == (double)(int64_t)value)
		gs_buf_printf(buf, "%.0f", value);
	else
		gs_buf_printf(buf, "%.17g", value);
}

void
gs_metrics_family(struct gs_buf *buf, const char *name, enum gs_metric_type type,
    const char *help)
{
	static const char *const types[] = {
		[GS_METRIC_GAUGE] = "gauge",
		[GS_METRIC_COUNTER] = "counter",
	};

	assert(is_name(name));
	gs_buf_printf(buf, "# HELP %s ", name);
	for (; *help != '\0'; help++) {
		if (*help == '\n')
			gs_buf_add_str(buf, "\\n");
		else if (*help == '\\')
			gs_buf_add_str(buf, "\\\\");
		else
			gs_buf_add_char(buf, *help);
	}
	gs_buf_printf(buf, "\n# TYPE %s %s\n", name, types[type]);
}

void
gs_metrics_sample(struct gs_buf *buf, const char *name, const struct gs_label *labels,
    size_t num_labels, double value)
{
	assert(is_name(name));
	gs_buf_add_str(buf, name);
	for (size_t i = 0; i < num_labels; i++) {
		assert(is_name(labels[i].name));
		gs_buf_printf(buf, "%c%s=\"", i == 0 ? '{' : ',', labels[i].name);
		add_value(buf, labels[i].value);
		gs_buf_add_char(buf, '"');
	}
	gs_buf_add_str(buf, num_labels > 0 ? "} " : " ");
	add_number(buf, value);
	gs_buf_add_char(buf, '\n');
}
