/*
 * Which repositories we follow and which names are our own, as the operator said.
 * What is kept of all other events is judged in policy_judge.c.
 */
#include "policy.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "hex.h"
#include "mem.h"

/* Part of the fingerprint; raise it when the same policy begins to judge otherwise. */
#define RULES "grasp-sync policy 2"

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
	gs_map_free(policy->denied, NULL);
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

/* Does the set name the announcement's repository? */
static bool
has_ref(const struct gs_map *set, const struct gs_event *announcement)
{
	struct gs_buf ref = GS_BUF_INIT;
	bool found;

	gs_address_write(&ref, GS_KIND_ANNOUNCEMENT, announcement->pubkey,
	    gs_event_d(announcement));
	found = gs_map_find(set, (struct gs_str){ ref.data, ref.len }) != NULL;
	gs_buf_fini(&ref);
	return found;
}

static bool
has_key(const struct gs_map *set, const char *prefix, const uint8_t key[static 32])
{
	char text[sizeof(GS_DENY_ID) + KEY_DIGITS];
	size_t len = strlen(prefix);

	memcpy(text, prefix, len);
	(void)gs_hex_write(text + len, key, 32);
	return gs_map_find(set, (struct gs_str){ text, len + KEY_DIGITS }) != NULL;
}

bool
gs_policy_denies_id(const struct gs_policy *policy, const uint8_t id[static 32])
{
	return policy->denied != NULL && has_key(policy->denied, GS_DENY_ID, id);
}

bool
gs_policy_denies_author(const struct gs_policy *policy, const uint8_t pubkey[static 32])
{
	return policy->denied != NULL && has_key(policy->denied, "", pubkey);
}

bool
gs_policy_denies_repo(const struct gs_policy *policy, struct gs_str ref)
{
	struct gs_address address;

	if (policy->denied == NULL || !gs_address_parse(&address, ref))
		return false;
	return gs_map_find(policy->denied, ref) != NULL ||
	    gs_policy_denies_author(policy, address.pubkey);
}

static enum gs_follow
follow_list(const struct gs_map *followed, const struct gs_event *announcement)
{
	return has_key(followed, "", announcement->pubkey) ||
		has_ref(followed, announcement)
	    ? GS_FOLLOWED
	    : GS_FOLLOW_NOT_IN_LIST;
}

enum gs_follow
gs_policy_follow(const struct gs_policy *policy, const struct gs_event *announcement)
{
	if (policy->denied != NULL &&
	    (gs_policy_denies_id(policy, announcement->id) ||
		gs_policy_denies_author(policy, announcement->pubkey) ||
		has_ref(policy->denied, announcement)))
		return GS_FOLLOW_DENIED;
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

static void
hash_caps(crypto_hash_sha256_state *hash, const struct gs_policy_caps *caps)
{
	struct gs_buf text = GS_BUF_INIT;

	gs_buf_printf(&text, "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64,
	    caps->relay_events, caps->relay_bytes, caps->repo_events, caps->store_bytes);
	hash_part(hash, GS_STR("caps"));
	hash_part(hash, (struct gs_str){ text.data, text.len });
	gs_buf_fini(&text);
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
	if (policy->denied != NULL)
		hash_set(&hash, "denied", policy->denied);
	hash_caps(&hash, &policy->caps);
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
