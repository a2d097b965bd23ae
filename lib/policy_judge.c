/*
 * Which events we keep, and what others wait for.  An answer depends only on what is
 * known now, and names everything that could change it; so judging again whenever
 * one of the grounds comes gives the same store whatever the order of arrival.
 */
#include "policy.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "hex.h"
#include "mem.h"

/* One judgement under way. */
struct judging {
	const struct gs_policy *policy;
	const struct gs_policy_view *view;
	const struct gs_event *event;
	struct gs_answer *answer;
	bool names_repo; /* refers to a repository, followed or not */
};

/* SHA-256 of "<letter>:<key as hex><rest>"; key may be NULL. */
static void
hash_ground(gs_ground out, char letter, const uint8_t *key, const char *colon,
    struct gs_str rest)
{
	crypto_hash_sha256_state hash;
	uint8_t start[2] = { (uint8_t)letter, ':' };
	char digits[64];

	crypto_hash_sha256_init(&hash);
	crypto_hash_sha256_update(&hash, start, sizeof(start));
	if (key != NULL) {
		(void)gs_hex_write(digits, key, sizeof(digits) / 2);
		crypto_hash_sha256_update(&hash, (const uint8_t *)digits, sizeof(digits));
	}
	crypto_hash_sha256_update(&hash, (const uint8_t *)colon, strlen(colon));
	crypto_hash_sha256_update(&hash, (const uint8_t *)rest.ptr, rest.len);
	crypto_hash_sha256_final(&hash, out);
}

void
gs_ground_of_id(gs_ground out, const uint8_t id[static 32])
{
	hash_ground(out, 'e', id, "", GS_STR(""));
}

void
gs_ground_of_address(gs_ground out, struct gs_str address)
{
	hash_ground(out, 'a', NULL, "", address);
}

void
gs_ground_of_maintainer(gs_ground out, const uint8_t pubkey[static 32], struct gs_str d)
{
	hash_ground(out, 'm', pubkey, ":", d);
}

void
gs_ground_of_author(gs_ground out, const uint8_t pubkey[static 32])
{
	hash_ground(out, 'p', pubkey, "", GS_STR(""));
}

/* Room for one more; the caller fills it. */
static uint8_t *
add_ground(struct judging *judging)
{
	struct gs_answer *answer = judging->answer;

	answer->grounds = gs_mem_more(answer->grounds, answer->num_grounds,
	    &answer->cap_grounds, sizeof(*answer->grounds));
	return answer->grounds[answer->num_grounds++];
}

static void
accept_event(struct judging *judging, const char *reason)
{
	judging->answer->verdict = GS_ACCEPT;
	judging->answer->reason = reason;
	judging->answer->num_grounds = 0;
}

static int
compare_grounds(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(gs_ground));
}

/* Each ground once; without any, nothing can ever free the event. */
static void
let_wait(struct judging *judging, const char *reason)
{
	struct gs_answer *answer = judging->answer;
	size_t i, num = 0;

	if (answer->num_grounds > 1)
		qsort(answer->grounds, answer->num_grounds, sizeof(*answer->grounds),
		    compare_grounds);
	for (i = 0; i < answer->num_grounds; i++)
		if (i == 0 ||
		    compare_grounds(answer->grounds[num - 1], answer->grounds[i]) != 0)
			memmove(answer->grounds[num++], answer->grounds[i],
			    sizeof(gs_ground));
	answer->num_grounds = num;
	answer->verdict = GS_WAIT;
	answer->reason = num > 0 ? reason : "nothing-of-ours";
}

/* Is it named "a", "A", "q" (or "e", "E", "q")?  A comment is bound by any of them. */
static bool
is_reference(const struct gs_tag *tag, const char *lower, const char *upper)
{
	return gs_tag_is(tag, lower) || gs_tag_is(tag, upper) || gs_tag_is(tag, "q");
}

/* Accepts if this tag refers to what we have, else adds what it refers to. */
static bool
refers_by_tag(struct judging *judging, const struct gs_tag *tag)
{
	const struct gs_policy_view *view = judging->view;
	struct gs_str value = gs_tag_value(tag);
	uint8_t id[32];

	if (is_reference(tag, "a", "A") && gs_address_is_repo(value)) {
		if (view->is_followed(view->arg, value)) {
			accept_event(judging, "refers-repo");
			return true;
		}
		judging->names_repo = true;
		gs_ground_of_address(add_ground(judging), value);
	}
	if (is_reference(tag, "e", "E") &&
	    gs_hex_parse(id, sizeof(id), value.ptr, value.len)) {
		if (view->has_event(view->arg, id)) {
			accept_event(judging, "refers-event");
			return true;
		}
		gs_ground_of_id(add_ground(judging), id);
	}
	return false;
}

static bool
refers(struct judging *judging)
{
	const struct gs_event *event = judging->event;
	size_t i;

	for (i = 0; i < event->num_tags; i++)
		if (refers_by_tag(judging, &event->tags[i]))
			return true;
	return false;
}

/* Accepts if the signer is in a maintainer closure, else adds that. */
static bool
is_maintained(struct judging *judging, struct gs_str d)
{
	const struct gs_policy_view *view = judging->view;
	const uint8_t *pubkey = judging->event->pubkey;

	if (view->is_maintainer(view->arg, pubkey, d)) {
		accept_event(judging, "maintainer");
		return true;
	}
	gs_ground_of_maintainer(add_ground(judging), pubkey, d);
	return false;
}

/*
 * Accepts if a version of the same announcement was ours: whether it lists us or not,
 * it must replace, or stand in the way of versions that do.
 */
static bool
replaces(struct judging *judging, struct gs_str d)
{
	const struct gs_policy_view *view = judging->view;
	struct gs_address own = { .kind = GS_KIND_ANNOUNCEMENT, .d = d };
	struct gs_buf text = GS_BUF_INIT;

	memcpy(own.pubkey, judging->event->pubkey, sizeof(own.pubkey));
	if (view->has_address(view->arg, &own)) {
		accept_event(judging, "replaces");
		return true;
	}
	gs_address_write(&text, own.kind, own.pubkey, d);
	gs_ground_of_address(add_ground(judging), (struct gs_str){ text.data, text.len });
	gs_buf_fini(&text);
	return false;
}

static void
judge_announcement(struct judging *judging)
{
	enum gs_follow follow = gs_policy_follow(judging->policy, judging->event);
	struct gs_str d = gs_event_d(judging->event);

	if (follow == GS_FOLLOWED)
		accept_event(judging, "followed");
	else if (!is_maintained(judging, d) && !replaces(judging, d) && !refers(judging))
		let_wait(judging, gs_follow_name(follow));
}

static void
judge_state(struct judging *judging)
{
	if (!is_maintained(judging, gs_event_d(judging->event)) && !refers(judging))
		let_wait(judging, "not-maintainer");
}

/* Accepts if this tag of a deletion means something that is or was ours, else adds it. */
static bool
deletes_by_tag(struct judging *judging, const struct gs_tag *tag)
{
	const struct gs_policy_view *view = judging->view;
	struct gs_str value = gs_tag_value(tag);
	struct gs_address address;
	uint8_t id[32];

	if (gs_tag_is(tag, "e") && gs_hex_parse(id, sizeof(id), value.ptr, value.len)) {
		if (view->had_event(view->arg, id))
			return true;
		gs_ground_of_id(add_ground(judging), id);
	}
	if (gs_tag_is(tag, "a") && gs_address_parse(&address, value) &&
	    memcmp(address.pubkey, judging->event->pubkey, sizeof(address.pubkey)) == 0) {
		if (view->has_address(view->arg, &address))
			return true;
		gs_ground_of_address(add_ground(judging), value);
	}
	return false;
}

static void
judge_deletion(struct judging *judging)
{
	const struct gs_event *event = judging->event;
	size_t i;

	if (refers(judging))
		return;
	for (i = 0; i < event->num_tags; i++)
		if (deletes_by_tag(judging, &event->tags[i])) {
			accept_event(judging, "deletes");
			return;
		}
	let_wait(judging, "unknown-target");
}

static void
judge_vanish(struct judging *judging)
{
	const struct gs_policy_view *view = judging->view;
	const uint8_t *pubkey = judging->event->pubkey;
	bool is_ours = gs_policy_is_vanish(judging->policy, judging->event);

	if (is_ours && view->has_author(view->arg, pubkey)) {
		accept_event(judging, "vanish");
		return;
	}
	if (is_ours)
		gs_ground_of_author(add_ground(judging), pubkey);
	if (!refers(judging))
		let_wait(judging, "unknown-author");
}

static void
judge_other(struct judging *judging)
{
	if (!refers(judging))
		let_wait(judging, judging->names_repo ? "unknown-repo" : "unknown-event");
}

void
gs_policy_judge(const struct gs_policy *policy, const struct gs_policy_view *view,
    const struct gs_event *event, struct gs_answer *answer)
{
	struct judging judging = { policy, view, event, answer, false };

	answer->num_grounds = 0;
	switch (event->kind) {
	case GS_KIND_ANNOUNCEMENT:
		judge_announcement(&judging);
		break;
	case GS_KIND_STATE:
		judge_state(&judging);
		break;
	case GS_KIND_DELETION:
		judge_deletion(&judging);
		break;
	case GS_KIND_VANISH:
		judge_vanish(&judging);
		break;
	default:
		judge_other(&judging);
	}
}

void
gs_answer_fini(struct gs_answer *answer)
{
	free(answer->grounds);
	*answer = (struct gs_answer){ .verdict = GS_WAIT };
}
