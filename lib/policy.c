/*
 * Which repositories we follow and which names are our own, as the operator said.
 * What is kept of all other events is judged in policy_judge.c.
 */
#include "policy.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "hex.h"
#include "mem.h"
#include "nip19.h"

/* Part of the fingerprint; raise it when the same policy begins to judge otherwise. */
#define RULES "grasp-sync policy 1"

#define KEY_DIGITS 64

void
gs_policy_init(struct gs_policy *policy)
{
	*policy = (struct gs_policy){ .rule = GS_FOLLOW_LISTED };
}

void
gs_policy_fini(struct gs_policy *policy)
{
	free(policy->services);
	free(policy->own_hosts);
	gs_map_free(policy->followed, NULL);
	gs_policy_init(policy);
}

bool
gs_policy_add_service(struct gs_policy *policy, struct gs_str text, struct gs_err *err)
{
	struct gs_service service;
	size_t i;

	if (!gs_service_parse(&service, text, err))
		return false;
	for (i = 0; i < policy->num_services; i++)
		if (strcmp(policy->services[i].text, service.text) == 0)
			return true;
	policy->services = gs_mem_more(policy->services, policy->num_services,
	    &policy->cap_services, sizeof(*policy->services));
	policy->services[policy->num_services++] = service;
	return true;
}

static bool
is_own_host(const struct gs_policy *policy, const char *host)
{
	size_t i;

	for (i = 0; i < policy->num_own_hosts; i++)
		if (strcmp(policy->own_hosts[i], host) == 0)
			return true;
	return false;
}

bool
gs_policy_add_own_url(struct gs_policy *policy, struct gs_str text, struct gs_err *err)
{
	struct gs_url url;

	if (!gs_url_parse_relay(&url, text, true, err))
		return false;
	if (is_own_host(policy, url.host))
		return true;
	policy->own_hosts = gs_mem_more(policy->own_hosts, policy->num_own_hosts,
	    &policy->cap_own_hosts, sizeof(*policy->own_hosts));
	memcpy(policy->own_hosts[policy->num_own_hosts++], url.host, sizeof(url.host));
	return true;
}

bool
gs_policy_is_own(const struct gs_policy *policy, const struct gs_url *url)
{
	size_t i;

	for (i = 0; i < policy->num_services; i++)
		if (strcmp(policy->services[i].host, url->host) == 0)
			return true;
	return is_own_host(policy, url->host);
}

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

static bool
add_followed(struct gs_map *followed, struct gs_str line)
{
	uint8_t pubkey[32];
	char digits[KEY_DIGITS];

	if (gs_address_is_repo(line)) {
		(void)gs_map_add(followed, line);
		return true;
	}
	if (!gs_hex_parse(pubkey, sizeof(pubkey), line.ptr, line.len) &&
	    !gs_nip19_parse_npub(pubkey, line))
		return false;
	(void)gs_hex_write(digits, pubkey, sizeof(pubkey));
	(void)gs_map_add(followed, (struct gs_str){ digits, sizeof(digits) });
	return true;
}

static bool
parse_list(struct gs_map *followed, struct gs_str text, struct gs_err *err)
{
	struct gs_str line;
	size_t number = 0;

	while (next_line(&text, &line)) {
		number++;
		if (line.len == 0 || line.ptr[0] == '#')
			continue;
		if (!add_followed(followed, line))
			return gs_fail(err, GS_EDATA,
			    "line %zu: not a repository (30617:KEY:NAME), a key of 64 "
			    "hex "
			    "digits or an npub",
			    number);
	}
	return true;
}

bool
gs_policy_set_list(struct gs_policy *policy, struct gs_str text, struct gs_err *err)
{
	struct gs_map *followed = NULL;
	enum gs_follow_rule rule = GS_FOLLOW_LIST;

	if (gs_str_is(text, "listed"))
		rule = GS_FOLLOW_LISTED;
	else if (gs_str_is(text, "all"))
		rule = GS_FOLLOW_ALL;
	else
		followed = gs_map_new();
	if (followed != NULL && !parse_list(followed, text, err)) {
		gs_map_free(followed, NULL);
		return false;
	}
	gs_map_free(policy->followed, NULL);
	policy->followed = followed;
	policy->rule = rule;
	return true;
}

const char *
gs_follow_name(enum gs_follow follow)
{
	switch (follow) {
	case GS_FOLLOWED:
		return "followed";
	case GS_FOLLOW_NO_CLONE:
		return "clone-lacks-service";
	case GS_FOLLOW_NO_RELAY:
		return "relays-lacks-service";
	case GS_FOLLOW_NEITHER:
		return "service-not-listed";
	case GS_FOLLOW_NOT_IN_LIST:
		return "not-in-list";
	case GS_FOLLOW_DENIED:
		return "denied";
	}
	return "";
}

typedef bool is_service_fn(const struct gs_service *service, struct gs_str text);

/* Any value of any tag of that name: both one tag and several are in use. */
static bool
has_service(const struct gs_event *announcement, const char *name,
    const struct gs_service *service, is_service_fn *is_service)
{
	size_t i, j;

	for (i = 0; i < announcement->num_tags; i++) {
		const struct gs_tag *tag = &announcement->tags[i];

		if (!gs_tag_is(tag, name))
			continue;
		for (j = 1; j < tag->num; j++)
			if (is_service(service, tag->values[j]))
				return true;
	}
	return false;
}

/* One service must stand in both; the reason is of the one that came nearest. */
static enum gs_follow
follow_listed(const struct gs_policy *policy, const struct gs_event *announcement)
{
	enum gs_follow follow = GS_FOLLOW_NEITHER;
	size_t i;

	for (i = 0; i < policy->num_services; i++) {
		const struct gs_service *service = &policy->services[i];
		bool is_clone =
		    has_service(announcement, "clone", service, gs_service_is_clone);
		bool is_relay =
		    has_service(announcement, "relays", service, gs_service_is_relay);

		if (is_clone && is_relay)
			return GS_FOLLOWED;
		if (follow == GS_FOLLOW_NEITHER && is_clone)
			follow = GS_FOLLOW_NO_RELAY;
		if (follow == GS_FOLLOW_NEITHER && is_relay)
			follow = GS_FOLLOW_NO_CLONE;
	}
	return follow;
}

static enum gs_follow
follow_list(const struct gs_map *followed, const struct gs_event *announcement)
{
	char digits[KEY_DIGITS];
	struct gs_buf ref = GS_BUF_INIT;
	bool found;

	(void)gs_hex_write(digits, announcement->pubkey, sizeof(announcement->pubkey));
	if (gs_map_find(followed, (struct gs_str){ digits, sizeof(digits) }) != NULL)
		return GS_FOLLOWED;
	gs_address_write(&ref, GS_KIND_ANNOUNCEMENT, announcement->pubkey,
	    gs_event_d(announcement));
	found = gs_map_find(followed, (struct gs_str){ ref.data, ref.len }) != NULL;
	gs_buf_fini(&ref);
	return found ? GS_FOLLOWED : GS_FOLLOW_NOT_IN_LIST;
}

enum gs_follow
gs_policy_follow(const struct gs_policy *policy, const struct gs_event *announcement)
{
	switch (policy->rule) {
	case GS_FOLLOW_LISTED:
		return follow_listed(policy, announcement);
	case GS_FOLLOW_ALL:
		return GS_FOLLOWED;
	case GS_FOLLOW_LIST:
		return follow_list(policy->followed, announcement);
	}
	return GS_FOLLOW_NEITHER;
}

/* Each part with its length before it, so that no two policies read the same. */
static void
hash_part(crypto_hash_sha256_state *hash, struct gs_str part)
{
	uint8_t len[8];
	size_t i;

	for (i = 0; i < sizeof(len); i++)
		len[i] = (uint8_t)((uint64_t)part.len >> (8 * i));
	crypto_hash_sha256_update(hash, len, sizeof(len));
	crypto_hash_sha256_update(hash, (const uint8_t *)part.ptr, part.len);
}

/* The keys in their order: how the operator ordered them must not matter. */
static void
hash_set(crypto_hash_sha256_state *hash, const char *name, const struct gs_map *set)
{
	struct gs_map_entry **sorted = gs_map_sorted(set);
	size_t i, num = gs_map_count(set);

	hash_part(hash, gs_str_of(name));
	for (i = 0; i < num; i++)
		hash_part(hash, sorted[i]->key);
	free(sorted);
}

void
gs_policy_fingerprint(const struct gs_policy *policy, uint8_t out[static 32])
{
	static const char *const rules[] = { [GS_FOLLOW_LISTED] = "listed",
		[GS_FOLLOW_ALL] = "all",
		[GS_FOLLOW_LIST] = "list" };
	struct gs_map *services = gs_map_new(), *hosts = gs_map_new();
	crypto_hash_sha256_state hash;
	size_t i;

	for (i = 0; i < policy->num_services; i++)
		(void)gs_map_add(services, gs_str_of(policy->services[i].text));
	for (i = 0; i < policy->num_own_hosts; i++)
		(void)gs_map_add(hosts, gs_str_of(policy->own_hosts[i]));
	crypto_hash_sha256_init(&hash);
	hash_part(&hash, gs_str_of(RULES));
	hash_part(&hash, gs_str_of(rules[policy->rule]));
	hash_set(&hash, "services", services);
	hash_set(&hash, "own hosts", hosts);
	if (policy->followed != NULL)
		hash_set(&hash, "followed", policy->followed);
	crypto_hash_sha256_final(&hash, out);
	gs_map_free(services, NULL);
	gs_map_free(hosts, NULL);
}

/* Compared in canonical form, in which https and wss are one. */
static bool
is_our_relay(const struct gs_policy *policy, struct gs_str text)
{
	struct gs_url url;
	size_t i;

	if (!gs_url_parse_relay(&url, text, true, NULL))
		return false;
	for (i = 0; i < policy->num_services; i++)
		if (gs_service_is_relay(&policy->services[i], gs_str_of(url.text)))
			return true;
	return is_own_host(policy, url.host);
}

bool
gs_policy_is_vanish(const struct gs_policy *policy, const struct gs_event *event)
{
	size_t i;

	if (event->kind != GS_KIND_VANISH)
		return false;
	for (i = 0; i < event->num_tags; i++) {
		struct gs_str relay = gs_tag_value(&event->tags[i]);

		if (!gs_tag_is(&event->tags[i], "relay"))
			continue;
		if (gs_str_is(relay, "ALL_RELAYS") ||
		    (policy != NULL && is_our_relay(policy, relay)))
			return true;
	}
	return false;
}
