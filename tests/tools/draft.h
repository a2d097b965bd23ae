/*
 * An event in the making, for tools that invent events: tags are added one by one,
 * then it is signed and written as its canonical line.
 */
#ifndef DRAFT_H
#define DRAFT_H

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "event.h"
#include "hex.h"
#include "sign.h"

#define DRAFT_TAGS 64
#define DRAFT_VALUES 256
#define DRAFT_HEX 65 /* an id or key as text, with its NUL */
/* Bytes of a line beside tags and content: names, id, pubkey, sig, date, kind. */
#define DRAFT_FRAME_BYTES 352

struct draft {
	unsigned kind;
	int64_t created_at;
	struct gs_buf text; /* all values, one behind the other */
	size_t ends[DRAFT_VALUES];
	size_t num_values;
	size_t firsts[DRAFT_TAGS]; /* of each tag: its first value */
	size_t num_tags;
	struct gs_buf content;
	struct gs_buf line; /* of the last draft_sign */
};

static inline void
draft_begin(struct draft *draft, unsigned kind, int64_t created_at)
{
	draft->kind = kind;
	draft->created_at = created_at;
	draft->num_values = draft->num_tags = 0;
	gs_buf_clear(&draft->text);
	gs_buf_clear(&draft->content);
}

/* Adds one more value to the last tag. */
static inline void
draft_value(struct draft *draft, const char *value)
{
	assert(draft->num_values < DRAFT_VALUES);
	gs_buf_add_str(&draft->text, value);
	draft->ends[draft->num_values++] = draft->text.len;
}

/* Adds a tag with these values, up to a NULL. */
static inline void
draft_tag(struct draft *draft, const char *name, ...)
{
	const char *value;
	va_list ap;

	assert(draft->num_tags < DRAFT_TAGS);
	draft->firsts[draft->num_tags++] = draft->num_values;
	draft_value(draft, name);
	va_start(ap, name);
	while ((value = va_arg(ap, const char *)) != NULL)
		draft_value(draft, value);
	va_end(ap);
}

/* About how long the line would be without any content. */
static inline size_t
draft_bytes(const struct draft *draft)
{
	return DRAFT_FRAME_BYTES + draft->text.len + 3 * draft->num_values +
	    3 * draft->num_tags;
}

static inline void
draft_point_tags(const struct draft *draft, struct gs_tag *tags, struct gs_str *values)
{
	size_t begin = 0;

	for (size_t i = 0; i < draft->num_values; i++) {
		values[i] =
		    (struct gs_str){ draft->text.data + begin, draft->ends[i] - begin };
		begin = draft->ends[i];
	}
	for (size_t i = 0; i < draft->num_tags; i++) {
		size_t end =
		    i + 1 < draft->num_tags ? draft->firsts[i + 1] : draft->num_values;

		tags[i].values = values + draft->firsts[i];
		tags[i].num = end - draft->firsts[i];
	}
}

/* Signs and writes into draft->line (no newline); id as hex. */
static inline void
draft_sign(struct draft *draft, const struct signer *signer, char id[static DRAFT_HEX])
{
	struct gs_str values[DRAFT_VALUES];
	struct gs_tag tags[DRAFT_TAGS];
	struct gs_event event = GS_EVENT_INIT;

	draft_point_tags(draft, tags, values);
	event.kind = (uint16_t)draft->kind;
	event.created_at = draft->created_at;
	event.tags = tags;
	event.num_tags = draft->num_tags;
	event.content = (struct gs_str){ draft->content.data, draft->content.len };
	signer_sign(signer, &event);
	gs_buf_clear(&draft->line);
	gs_event_write(&event, &draft->line);
	*gs_hex_write(id, event.id, sizeof(event.id)) = '\0';
}

static inline void
draft_fini(struct draft *draft)
{
	gs_buf_fini(&draft->text);
	gs_buf_fini(&draft->content);
	gs_buf_fini(&draft->line);
}

#endif
