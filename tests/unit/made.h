/* Events for tests of what comes after verification: right ids, no signatures. */
#ifndef MADE_H
#define MADE_H

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "event.h"
#include "hex.h"

#define MADE_HEX 65

/* The public key of person number who, as hex. */
static inline const char *
made_key(char hex[static MADE_HEX], int who)
{
	uint8_t key[32];

	memset(key, who, sizeof(key));
	*gs_hex_write(hex, key, sizeof(key)) = '\0';
	return hex;
}

/* An event of person who; tags as JSON, in which ' stands for ". */
static inline void
make_event(struct gs_event *event, unsigned kind, int who, int64_t created_at,
    const char *tags)
{
	struct gs_buf text = GS_BUF_INIT, scratch = GS_BUF_INIT;
	char key[MADE_HEX];
	enum gs_event_fault fault;

	gs_buf_printf(&text,
	    "{\"id\":\"%064d\",\"pubkey\":\"%s\",\"created_at\":%lld,\"kind\":%u,"
	    "\"tags\":",
	    0, made_key(key, who), (long long)created_at, kind);
	for (const char *c = tags; *c != '\0'; c++)
		gs_buf_add_char(&text, *c == '\'' ? '"' : *c);
	gs_buf_printf(&text, ",\"content\":\"\",\"sig\":\"%0128d\"}", 0);
	fault = gs_event_parse(event, text.data, text.len, NULL);
	assert(fault == GS_EVENT_OK);
	(void)fault;
	gs_event_compute_id(event, &scratch, event->id);
	gs_buf_fini(&text);
	gs_buf_fini(&scratch);
}

static inline const char *
made_id(char hex[static MADE_HEX], const struct gs_event *event)
{
	*gs_hex_write(hex, event->id, 32) = '\0';
	return hex;
}

#endif
