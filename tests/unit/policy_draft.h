/* Events for the tests of policy, made by hand: tags are "name value value". */
#ifndef POLICY_DRAFT_H
#define POLICY_DRAFT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "policy.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))
#define MAX_TAGS 8
#define MAX_VALUES 32

#define KEY_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define KEY_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define ID_1 "1111111111111111111111111111111111111111111111111111111111111111"
#define ID_2 "2222222222222222222222222222222222222222222222222222222222222222"
#define REPO_A "30617:" KEY_A ":repo"
#define REPO_B "30617:" KEY_B ":a:b::c" /* d may hold colons */
#define US "git.example.com"
#define OUR_CLONE "clone https://git.example.com/npub1x/repo.git"
#define OUR_RELAY "relays wss://git.example.com"

/* An event of KEY_A with its memory. */
struct draft {
	struct gs_event event;
	struct gs_tag tags[MAX_TAGS];
	struct gs_str values[MAX_VALUES];
};

static inline void
add_tag(struct draft *draft, const char *text)
{
	struct gs_event *event = &draft->event;
	struct gs_tag *tag = &draft->tags[event->num_tags++];
	struct gs_str *values = &draft->values[event->num_values];
	size_t len;

	assert_true(event->num_tags <= MAX_TAGS);
	for (tag->num = 0; *text != '\0'; text += len + (text[len] == ' ')) {
		len = strcspn(text, " ");
		assert_true(event->num_values < MAX_VALUES);
		values[tag->num++] = (struct gs_str){ text, len };
		event->num_values++;
	}
	tag->values = values;
}

static inline const struct gs_event *
make_event(struct draft *draft, uint16_t kind, const char *const *tags)
{
	size_t i;

	*draft = (struct draft){ .event = { .kind = kind, .content = { "", 0 } } };
	memset(draft->event.pubkey, 0xaa, sizeof(draft->event.pubkey));
	draft->event.tags = draft->tags;
	for (i = 0; i < MAX_TAGS && tags[i] != NULL; i++)
		add_tag(draft, tags[i]);
	return &draft->event;
}

#endif
