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
	bool names_repo;   /* refers to a repository, followed or not */
	bool names_denied; /* to something that will never come */
};

/* A ground as text: "<letter>:<key as hex><colon><rest>"; key may be NULL. */
struct ground_text {
	char letter;
	const uint8_t *key;
	const char *colon;
	struct gs_str rest;
};

static void
write_ground(struct gs_buf *buf, const struct ground_text *ground)
{
	char digits[64];

	gs_buf_add_char(buf, ground->letter);
	gs_buf_add_char(buf, ':');
	if (ground->key != NULL) {
		(void)gs_hex_write(digits, ground->key, sizeof(digits) / 2);
		gs_buf_add(buf, digits, sizeof(digits));
	}
	gs_buf_add_str(buf, ground->colon);
	gs_buf_add(buf, ground->rest.ptr, ground->rest.len);
}

static void
hash_ground(gs_ground out, const struct ground_text *ground)
{
	struct gs_buf text = GS_BUF_INIT;

	write_ground(&text, ground);
	(void)crypto_hash_sha256(out, (const uint8_t *)text.data, text.len);
	gs_buf_fini(&text);
}

static struct ground_text
text_of_id(const uint8_t id[static 32])
{
	return (struct ground_text){ 'e', id, "", GS_STR("") };
}

static struct ground_text
text_of_address(struct gs_str address)
{
	return (struct ground_text){ 'a', NULL, "", address };
}

static struct ground_text
text_of_maintainer(const uint8_t pubkey[static 32], struct gs_str d)
{
	return (struct ground_text){ 'm', pubkey, ":", d };
}

static struct ground_text
text_of_author(const uint8_t pubkey[static 32])
{
	return (struct ground_text){ 'p', pubkey, "", GS_STR("") };
}

void
gs_ground_of_id(gs_ground out, const uint8_t id[static 32])
{
	struct ground_text text = text_of_id(id);

	hash_ground(out, &text);
}

void
gs_ground_of_address(gs_ground out, struct gs_str address)
{
	struct ground_text text = text_of_address(address);

	hash_ground(out, &text);
}

void
gs_ground_of_maintainer(gs_ground out, const uint8_t pubkey[static 32], struct gs_str d)
{
	struct ground_text text = text_of_maintainer(pubkey, d);

	hash_ground(out, &text);
}

void
gs_ground_of_author(gs_ground out, const uint8_t pubkey[static 32])
{
	struct ground_text text = text_of_author(pubkey);

	hash_ground(out, &text);
}

/* Cuts at the border of a character. */
static size_t
cut_len(const char *text, size_t len)
{
	if (len <= GS_ANSWER_WORD_BYTES)
		return len;
	for (len = GS_ANSWER_WORD_BYTES; len > 0 && (text[len] & 0xc0) == 0x80; len--)
		continue;
	return len;
}

/* Is the text from there on one of the words?  They are few. */
static bool
is_word(const struct gs_answer *answer, struct gs_str text)
{
	size_t i;

	for (i = 0; i < answer->num_words; i++)
		if (gs_str_equal((struct gs_str){ answer->text.data + answer->word_at[i],
				     answer->word_len[i] },
			text))
			return true;
	return false;
}

static void
add_ground(struct judging *judging, struct ground_text ground)
{
	struct gs_answer *answer = judging->answer;
	size_t at = answer->text.len, len;

	write_ground(&answer->text, &ground);
	answer->grounds = gs_mem_more(answer->grounds, answer->num_grounds,
	    &answer->cap_grounds, sizeof(*answer->grounds));
	(void)crypto_hash_sha256(answer->grounds[answer->num_grounds++],
	    (const uint8_t *)answer->text.data + at, answer->text.len - at);
	len = cut_len(answer->text.data + at, answer->text.len - at);
	if (answer->wants_words && answer->num_words < GS_ANSWER_WORDS &&
	    !is_word(answer, (struct gs_str){ answer->text.data + at, len })) {
		answer->word_at[answer->num_words] = at;
		answer->word_len[answer->num_words++] = len;
		at += len;
	}
	gs_buf_cut(&answer->text, at);
}

/* An answer that waits for nothing. */
static void
settle(struct judging *judging, enum gs_verdict verdict, const char *reason)
{
	judging->answer->verdict = verdict;
	judging->answer->reason = reason;
	judging->answer->num_grounds = 0;
	judging->answer->num_words = 0;
}

static void
accept_event(struct judging *judging, const char *reason)
{
	settle(judging, GS_ACCEPT, reason);
}

static void
reject_denied(struct judging *judging)
{
	settle(judging, GS_REJECT, "denied");
}

static int
compare_grounds(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(gs_ground));
}

/* Each ground once; without any, nothing but another policy can free the event. */
static void
let_wait(struct judging *judging, const char *reason)
{
	struct gs_answer *answer = judging->answer;
	size_t i, num = 0;

	if (answer->num_grounds == 0 && judging->names_denied) {
		reject_denied(judging);
		return;
	}
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

/* Accepts if this repository is followed, else adds it, unless it never will be. */
static bool
refers_to_repo(struct judging *judging, struct gs_str ref)
{
	const struct gs_policy_view *view = judging->view;

	judging->names_repo = true;
	if (gs_policy_denies_repo(judging->policy, ref)) {
		judging->names_denied = true;
		return false;
	}
	if (view->is_followed(view->arg, ref)) {
		accept_event(judging, "refers-repo");
		return true;
	}
	add_ground(judging, text_of_address(ref));
	return false;
}

static bool
refers_to_event(struct judging *judging, const uint8_t id[static 32])
{
	const struct gs_policy_view *view = judging->view;

	if (view->has_event(view->arg, id)) {
		accept_event(judging, "refers-event");
		return true;
	}
	if (gs_policy_denies_id(judging->policy, id))
		judging->names_denied = true;
	else
		add_ground(judging, text_of_id(id));
	return false;
}

static bool
refers_by_tag(struct judging *judging, const struct gs_tag *tag)
{
	struct gs_str value = gs_tag_value(tag);
	uint8_t id[32];

	if (is_reference(tag, "a", "A") && gs_address_is_repo(value))
		return refers_to_repo(judging, value);
	return is_reference(tag, "e", "E") &&
	    gs_hex_parse(id, sizeof(id), value.ptr, value.len) &&
	    refers_to_event(judging, id);
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
	add_ground(judging, text_of_maintainer(pubkey, d));
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
	add_ground(judging, text_of_address((struct gs_str){ text.data, text.len }));
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
	else if (follow == GS_FOLLOW_DENIED)
		reject_denied(judging);
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
		if (gs_policy_denies_id(judging->policy, id))
			judging->names_denied = true;
		else
			add_ground(judging, text_of_id(id));
	}
	if (gs_tag_is(tag, "a") && gs_address_parse(&address, value) &&
	    memcmp(address.pubkey, judging->event->pubkey, sizeof(address.pubkey)) == 0) {
		if (view->has_address(view->arg, &address))
			return true;
		add_ground(judging, text_of_address(value));
	}
	return false;
}

static bool
deletes(struct judging *judging)
{
	const struct gs_event *event = judging->event;
	size_t i;

	for (i = 0; i < event->num_tags; i++)
		if (deletes_by_tag(judging, &event->tags[i])) {
			accept_event(judging, "deletes");
			return true;
		}
	return false;
}

static void
judge_deletion(struct judging *judging)
{
	if (!refers(judging) && !deletes(judging))
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
		add_ground(judging, text_of_author(pubkey));
	if (!refers(judging))
		let_wait(judging, "unknown-author");
}

/*
 * Of a denied author: only what takes away something of theirs.  Nothing of theirs comes
 * any more, so that nothing waits.
 */
static void
judge_denied(struct judging *judging)
{
	const struct gs_policy_view *view = judging->view;
	const struct gs_event *event = judging->event;
	bool has_any = view->has_author(view->arg, event->pubkey);

	if (has_any && event->kind == GS_KIND_DELETION && deletes(judging))
		return;
	if (has_any && gs_policy_is_vanish(judging->policy, event))
		accept_event(judging, "vanish");
	else
		reject_denied(judging);
}

static void
judge_other(struct judging *judging)
{
	if (!refers(judging))
		let_wait(judging, judging->names_repo ? "unknown-repo" : "unknown-event");
}

static void
judge_kind(struct judging *judging)
{
	switch (judging->event->kind) {
	case GS_KIND_ANNOUNCEMENT:
		judge_announcement(judging);
		break;
	case GS_KIND_STATE:
		judge_state(judging);
		break;
	case GS_KIND_DELETION:
		judge_deletion(judging);
		break;
	case GS_KIND_VANISH:
		judge_vanish(judging);
		break;
	default:
		judge_other(judging);
	}
}

void
gs_policy_judge(const struct gs_policy *policy, const struct gs_policy_view *view,
    const struct gs_event *event, struct gs_answer *answer)
{
	struct judging judging = { policy, view, event, answer, false, false };

	answer->num_grounds = 0;
	answer->num_words = 0;
	gs_buf_clear(&answer->text);
	if (gs_policy_denies_id(policy, event->id))
		reject_denied(&judging);
	else if (gs_policy_denies_author(policy, event->pubkey))
		judge_denied(&judging);
	else
		judge_kind(&judging);
}

void
gs_answer_fini(struct gs_answer *answer)
{
	free(answer->grounds);
	gs_buf_fini(&answer->text);
	*answer = (struct gs_answer){ .verdict = GS_WAIT };
}
