/* The lists that an operator writes: what to follow, what to deny. */
#include <string.h>

#include "hex.h"
#include "nip19.h"
#include "policy.h"

#define KEY_DIGITS 64

/* The next line of *text without the blanks around it; false at the end. */
static bool
next_line(struct gs_str *text, struct gs_str *line)
{
	const char *end;

	if (text->len == 0)
		return false;
	end = memchr(text->ptr, '\n', text->len);
	*line = *text;
	if (end != NULL)
		line->len = (size_t)(end - text->ptr);
	text->ptr += line->len + (end != NULL);
	text->len -= line->len + (end != NULL);
	while (line->len > 0 && memchr(" \t\r", line->ptr[0], 3) != NULL) {
		line->ptr++;
		line->len--;
	}
	while (line->len > 0 && memchr(" \t\r", line->ptr[line->len - 1], 3) != NULL)
		line->len--;
	return true;
}

static void
add_key(struct gs_map *set, const char *prefix, const uint8_t key[static 32])
{
	char text[sizeof(GS_DENY_ID) + KEY_DIGITS];
	size_t len = strlen(prefix);

	memcpy(text, prefix, len);
	(void)gs_hex_write(text + len, key, 32);
	(void)gs_map_add(set, (struct gs_str){ text, len + KEY_DIGITS });
}

/* A repository, or a key as hex or npub. */
static bool
add_repo_or_key(struct gs_map *set, struct gs_str line)
{
	uint8_t pubkey[32];

	if (gs_address_is_repo(line)) {
		(void)gs_map_add(set, line);
		return true;
	}
	if (!gs_hex_parse(pubkey, sizeof(pubkey), line.ptr, line.len) &&
	    !gs_nip19_parse_npub(pubkey, line))
		return false;
	add_key(set, "", pubkey);
	return true;
}

static bool
parse_id(uint8_t id[static 32], struct gs_str line)
{
	static const size_t prefix_len = sizeof(GS_DENY_ID) - 1;

	if (gs_nip19_parse_note(id, line) || gs_nip19_parse_nevent(id, line))
		return true;
	return line.len > prefix_len && memcmp(line.ptr, GS_DENY_ID, prefix_len) == 0 &&
	    gs_hex_parse(id, 32, line.ptr + prefix_len, line.len - prefix_len);
}

static bool
add_denied(struct gs_map *set, struct gs_str line)
{
	uint8_t id[32];

	if (!parse_id(id, line))
		return add_repo_or_key(set, line);
	add_key(set, GS_DENY_ID, id);
	return true;
}

struct list {
	struct gs_map *set;
	bool (*add)(struct gs_map *set, struct gs_str line);
	const char *wanted; /* what a line is */
};

static bool
parse_list(const struct list *list, struct gs_str text, struct gs_err *err)
{
	struct gs_str line;
	size_t number = 0;

	while (next_line(&text, &line)) {
		number++;
		if (line.len == 0 || line.ptr[0] == '#')
			continue;
		if (!list->add(list->set, line))
			return gs_fail(err, GS_EDATA, "line %zu: not %s", number,
			    list->wanted);
	}
	return true;
}

bool
gs_policy_set_list(struct gs_policy *policy, struct gs_str text, struct gs_err *err)
{
	struct list list = { NULL, add_repo_or_key,
		"a repository (30617:KEY:NAME), a key of 64 hex digits or an npub" };
	enum gs_follow_rule rule = GS_FOLLOW_LIST;

	if (gs_str_is(text, "listed"))
		rule = GS_FOLLOW_LISTED;
	else if (gs_str_is(text, "all"))
		rule = GS_FOLLOW_ALL;
	else
		list.set = gs_map_new();
	if (list.set != NULL && !parse_list(&list, text, err)) {
		gs_map_free(list.set, NULL);
		return false;
	}
	gs_map_free(policy->followed, NULL);
	policy->followed = list.set;
	policy->rule = rule;
	return true;
}

bool
gs_policy_add_deny(struct gs_policy *policy, struct gs_str text, struct gs_err *err)
{
	struct list list = { gs_map_new(), add_denied,
		"a repository (30617:KEY:NAME), a key of 64 hex digits, an npub, "
		"or an event (id:HEX, note1..., nevent1...)" };
	const struct gs_map_entry *entry;
	size_t at = 0;
	bool ok = parse_list(&list, text, err);

	if (ok && policy->denied == NULL && gs_map_count(list.set) > 0)
		policy->denied = gs_map_new();
	while (ok && (entry = gs_map_next(list.set, &at)) != NULL)
		(void)gs_map_add(policy->denied, entry->key);
	gs_map_free(list.set, NULL);
	return ok;
}
