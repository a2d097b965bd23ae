/*
 * A small nasty corpus: everything that could make what stands depend on the order
 * of arrival, close together in time so that ties are frequent.
 */
#ifndef TANGLE_H
#define TANGLE_H

#include "draft.h"
#include "mem.h"
#include "prose.h"

#define TANGLE_ACTORS 6
#define TANGLE_MIN 60			/* events */
#define TANGLE_MORE 90			/* at most so many more */
#define TANGLE_SECONDS 12		/* all dates lie in so many seconds */
#define TANGLE_YEARS INT64_C(630720000) /* twenty: an expiration that does not come */
#define TANGLE_REF 512
#define TANGLE_STREAM 100

struct tangle_event {
	char *line;
	char id[DRAFT_HEX];
	unsigned kind;
	size_t actor;
	int64_t created_at;
	size_t name; /* of addressable ones: index in tangle_names */
};

struct tangle {
	uint64_t seed;
	int64_t now_s;
	const char *service;
	struct rng rng;
	secp256k1_context *secp;
	struct draft draft;
	struct signer actors[TANGLE_ACTORS];
	char keys[TANGLE_ACTORS][DRAFT_HEX];
	struct tangle_event events[TANGLE_MIN + TANGLE_MORE];
	size_t num;
};

/* How an event may carry its `d`; text is what it means. */
static const struct tangle_name {
	const char *text;
	enum { TANGLE_D_PLAIN, TANGLE_D_NONE, TANGLE_D_BARE, TANGLE_D_TWICE } form;
} tangle_names[] = {
	{ "alpha", TANGLE_D_PLAIN },
	{ "alpha", TANGLE_D_TWICE },
	{ "beta", TANGLE_D_PLAIN },
	{ "a:b::c", TANGLE_D_PLAIN },
	{ "", TANGLE_D_PLAIN },
	{ "", TANGLE_D_NONE },
	{ "", TANGLE_D_BARE },
	{ "d\xc3\xa9j\xc3\xa0 \"vu\"\n", TANGLE_D_PLAIN },
	{ "a-very-long-name-of-a-repository-that-is-over-what-strfry-puts-into-its-index-"
	  "012345678901234567890123456789012345678901234567890123456789012345678901234567"
	  "8901234567"
	  "89012345678901234567890123456789012345678901234567890123456789",
	    TANGLE_D_PLAIN },
};

#define TANGLE_NAMES (sizeof(tangle_names) / sizeof(tangle_names[0]))

static inline int64_t
tangle_date(struct tangle *tangle)
{
	return tangle->now_s - 1000 + (int64_t)rng_below(&tangle->rng, TANGLE_SECONDS);
}

/* Half of the time one of the first few, so that they meet. */
static inline size_t
tangle_actor(struct tangle *tangle)
{
	return rng_below(&tangle->rng, rng_once_in(&tangle->rng, 2) ? 3 : TANGLE_ACTORS);
}

static inline size_t
tangle_name(struct tangle *tangle)
{
	return rng_below(&tangle->rng, rng_once_in(&tangle->rng, 2) ? 3 : TANGLE_NAMES);
}

static inline struct tangle_event *
tangle_earlier(struct tangle *tangle)
{
	return tangle->num ? &tangle->events[rng_below(&tangle->rng, tangle->num)] : NULL;
}

static inline void
tangle_address(const struct tangle *tangle, char out[static TANGLE_REF], unsigned kind,
    size_t actor, size_t name)
{
	(void)snprintf(out, TANGLE_REF, "%u:%s:%s", kind, tangle->keys[actor],
	    gs_kind_is_addressable(kind) ? tangle_names[name].text : "");
}

static inline void
tangle_add_d(struct tangle *tangle, size_t name)
{
	switch (tangle_names[name].form) {
	case TANGLE_D_PLAIN:
		draft_tag(&tangle->draft, "d", tangle_names[name].text, NULL);
		break;
	case TANGLE_D_NONE:
		break;
	case TANGLE_D_BARE:
		draft_tag(&tangle->draft, "d", NULL);
		break;
	case TANGLE_D_TWICE:
		draft_tag(&tangle->draft, "d", tangle_names[name].text, NULL);
		draft_tag(&tangle->draft, "d", "second", NULL);
		break;
	}
}

/* Signs the draft and keeps it. */
static inline void
tangle_keep(struct tangle *tangle, size_t actor, size_t name)
{
	struct tangle_event *event = &tangle->events[tangle->num++];
	char number[24];

	if (rng_once_in(&tangle->rng, 14)) {
		bool past = rng_once_in(&tangle->rng, 2);

		(void)snprintf(number, sizeof(number), "%lld",
		    (long long)(past ? tangle->now_s - 10
				     : tangle->now_s + TANGLE_YEARS));
		draft_tag(&tangle->draft, "expiration", number, NULL);
	}
	gs_buf_add_str(&tangle->draft.content, prose_word(&tangle->rng));
	gs_buf_printf(&tangle->draft.content, " %zu", tangle->num);
	draft_sign(&tangle->draft, &tangle->actors[actor], event->id);
	event->kind = tangle->draft.kind;
	event->created_at = tangle->draft.created_at;
	event->actor = actor;
	event->name = name;
	event->line = gs_mem_str(tangle->draft.line.data);
}

static inline void
tangle_announce(struct tangle *tangle)
{
	struct draft *draft = &tangle->draft;
	size_t actor = tangle_actor(tangle), name = tangle_name(tangle);
	size_t dice = rng_below(&tangle->rng, 8); /* 5: unlisted, 6, 7: by half */
	const char *elsewhere = "elsewhere.example";
	char url[320], relay[64];

	draft_begin(draft, GS_KIND_ANNOUNCEMENT, tangle_date(tangle));
	tangle_add_d(tangle, name);
	(void)snprintf(url, sizeof(url), "https://%s/x/y.git",
	    dice < 5 || dice == 6 ? tangle->service : elsewhere);
	draft_tag(draft, "clone", url, NULL);
	(void)snprintf(url, sizeof(url), "wss://%s",
	    dice < 5 || dice == 7 ? tangle->service : elsewhere);
	draft_tag(draft, "relays", url, NULL);
	(void)snprintf(relay, sizeof(relay), "wss://relay%zu.example%s",
	    rng_below(&tangle->rng, 5), rng_once_in(&tangle->rng, 3) ? "/" : "");
	draft_value(draft, relay);
	if (rng_once_in(&tangle->rng, 2)) {
		draft_tag(draft, "maintainers", tangle->keys[tangle_actor(tangle)], NULL);
		if (rng_once_in(&tangle->rng, 2))
			draft_value(draft, tangle->keys[tangle_actor(tangle)]);
	}
	tangle_keep(tangle, actor, name);
}

static inline void
tangle_state(struct tangle *tangle)
{
	char commit[41];
	size_t name = tangle_name(tangle);

	draft_begin(&tangle->draft, GS_KIND_STATE, tangle_date(tangle));
	tangle_add_d(tangle, name);
	prose_hex(commit, &tangle->rng, 40);
	draft_tag(&tangle->draft, "refs/heads/main", commit, NULL);
	tangle_keep(tangle, tangle_actor(tangle), name);
}

static inline void
tangle_add_repo_tag(struct tangle *tangle, const char *letter)
{
	char ref[TANGLE_REF];

	tangle_address(tangle, ref, GS_KIND_ANNOUNCEMENT, tangle_actor(tangle),
	    tangle_name(tangle));
	draft_tag(&tangle->draft, letter, ref, NULL);
}

static inline void
tangle_root(struct tangle *tangle)
{
	static const unsigned kinds[] = { 1617, 1618, 1619, 1621 };

	draft_begin(&tangle->draft, kinds[rng_below(&tangle->rng, 4)],
	    tangle_date(tangle));
	tangle_add_repo_tag(tangle, "a");
	if (rng_once_in(&tangle->rng, 3))
		tangle_add_repo_tag(tangle, "a");
	tangle_keep(tangle, tangle_actor(tangle), 0);
}

static inline void
tangle_comment(struct tangle *tangle)
{
	static const char *const letters[] = { "e", "E", "q" };
	const struct tangle_event *parent = tangle_earlier(tangle);

	draft_begin(&tangle->draft, rng_once_in(&tangle->rng, 3) ? 1 : 1111,
	    tangle_date(tangle));
	if (parent)
		draft_tag(&tangle->draft, letters[rng_below(&tangle->rng, 3)], parent->id,
		    NULL);
	if (rng_once_in(&tangle->rng, 4) && (parent = tangle_earlier(tangle)) != NULL)
		draft_tag(&tangle->draft, "e", parent->id, NULL);
	tangle_keep(tangle, tangle_actor(tangle), 0);
}

static inline void
tangle_quote(struct tangle *tangle)
{
	static const char *const letters[] = { "a", "A", "q" };

	draft_begin(&tangle->draft, rng_once_in(&tangle->rng, 2) ? 1 : 1630,
	    tangle_date(tangle));
	tangle_add_repo_tag(tangle, letters[rng_below(&tangle->rng, 3)]);
	tangle_keep(tangle, tangle_actor(tangle), 0);
}

/* Events that nothing of ours hangs on; of kind 0 and 10002 one stands. */
static inline void
tangle_stranger(struct tangle *tangle)
{
	static const unsigned kinds[] = { 0, 1, 10002, 1621, 1984 };

	draft_begin(&tangle->draft, kinds[rng_below(&tangle->rng, 5)],
	    tangle_date(tangle));
	draft_tag(&tangle->draft, "p", tangle->keys[tangle_actor(tangle)], NULL);
	tangle_keep(tangle, tangle_actor(tangle), 0);
}

/* Deletion by id, of one's own for the most part; also of deletions. */
static inline void
tangle_delete(struct tangle *tangle)
{
	const struct tangle_event *target = tangle_earlier(tangle);
	size_t actor;

	if (!target)
		return;
	actor = rng_once_in(&tangle->rng, 4) ? tangle_actor(tangle) : target->actor;
	draft_begin(&tangle->draft, GS_KIND_DELETION, tangle_date(tangle));
	draft_tag(&tangle->draft, "e", target->id, NULL);
	if (rng_once_in(&tangle->rng, 3)) {
		target = tangle_earlier(tangle);
		draft_tag(&tangle->draft, "e", target->id, NULL);
	}
	tangle_keep(tangle, actor, 0);
}

/* Deletion by address, often at the very second of a version. */
static inline void
tangle_delete_address(struct tangle *tangle)
{
	const struct tangle_event *target = tangle_earlier(tangle);
	char address[TANGLE_REF];
	size_t actor;

	for (unsigned tries = 0; tries < 8 && target && target->kind < 30000; tries++)
		target = tangle_earlier(tangle);
	if (!target)
		return;
	actor = rng_once_in(&tangle->rng, 6) ? tangle_actor(tangle) : target->actor;
	tangle_address(tangle, address, target->kind, target->actor, target->name);
	draft_begin(&tangle->draft, GS_KIND_DELETION,
	    rng_once_in(&tangle->rng, 2) ? target->created_at : tangle_date(tangle));
	draft_tag(&tangle->draft, "a", address, NULL);
	tangle_keep(tangle, actor, 0);
}

/* NIP-62: to all relays, to the service, or to somebody else. */
static inline void
tangle_vanish(struct tangle *tangle)
{
	char url[320];

	(void)snprintf(url, sizeof(url), "wss://%s/", tangle->service);
	draft_begin(&tangle->draft, GS_KIND_VANISH, tangle_date(tangle));
	if (rng_once_in(&tangle->rng, 3))
		draft_tag(&tangle->draft, "relay", "wss://elsewhere.example", NULL);
	else if (rng_once_in(&tangle->rng, 3))
		draft_tag(&tangle->draft, "relay", url, NULL);
	else
		draft_tag(&tangle->draft, "relay", "ALL_RELAYS", NULL);
	tangle_keep(tangle, rng_below(&tangle->rng, TANGLE_ACTORS), 0);
}

static inline void
tangle_add_one(struct tangle *tangle)
{
	size_t dice = rng_below(&tangle->rng, 100);

	if (dice < 22)
		tangle_announce(tangle);
	else if (dice < 34)
		tangle_state(tangle);
	else if (dice < 50)
		tangle_root(tangle);
	else if (dice < 68)
		tangle_comment(tangle);
	else if (dice < 74)
		tangle_quote(tangle);
	else if (dice < 80)
		tangle_stranger(tangle);
	else if (dice < 90)
		tangle_delete(tangle);
	else if (dice < 98)
		tangle_delete_address(tangle);
	else
		tangle_vanish(tangle);
}

/* order 0 is as they were made, 1 is backwards, any other a shuffle of its own. */
static inline void
tangle_order(struct tangle *tangle, size_t *at, uint64_t order)
{
	struct rng rng = rng_of(tangle->seed, TANGLE_STREAM + 1, order);

	for (size_t i = 0; i < tangle->num; i++)
		at[i] = order == 1 ? tangle->num - 1 - i : i;
	for (size_t i = tangle->num; order > 1 && i > 1; i--) {
		size_t j = rng_below(&rng, i), keep = at[i - 1];

		at[i - 1] = at[j];
		at[j] = keep;
	}
}

static inline void
tangle_print(struct tangle *tangle, uint64_t order, FILE *out)
{
	size_t at[TANGLE_MIN + TANGLE_MORE], want;

	tangle->rng = rng_of(tangle->seed, TANGLE_STREAM, 0);
	tangle->secp = sign_context();
	for (size_t i = 0; i < TANGLE_ACTORS; i++) {
		signer_init(&tangle->actors[i], tangle->secp, tangle->seed, TANGLE_STREAM,
		    i);
		*gs_hex_write(tangle->keys[i], tangle->actors[i].pubkey, 32) = '\0';
	}
	want = TANGLE_MIN + rng_below(&tangle->rng, TANGLE_MORE + 1);
	while (tangle->num < want)
		tangle_add_one(tangle);
	tangle_order(tangle, at, order);
	for (size_t i = 0; i < tangle->num; i++) {
		(void)fprintf(out, "%s\n", tangle->events[at[i]].line);
		if (at[i] % 20 == 0) /* some come twice */
			(void)fprintf(out, "%s\n", tangle->events[at[i]].line);
	}
	for (size_t i = 0; i < tangle->num; i++)
		free(tangle->events[i].line);
	draft_fini(&tangle->draft);
	secp256k1_context_destroy(tangle->secp);
}

#endif
