/*
 * A plain corpus: repositories with their roots, comments and states, as a healthy
 * network holds them.  Made repository by repository, so that memory is a key a
 * repository at most; every part has its own stream of random numbers, so that
 * more of one thing leaves the others as they are.
 */
#ifndef CORPUS_H
#define CORPUS_H

#include <inttypes.h>

#include "draft.h"
#include "mem.h"
#include "prose.h"

#define CORPUS_DAY INT64_C(86400)
#define CORPUS_SPAN (400 * CORPUS_DAY) /* the dates lie in these days before now */
#define CORPUS_PER_AUTHOR 3	       /* repositories an owner */
#define CORPUS_PEOPLE 64	       /* who writes roots and comments */
#define CORPUS_REF 192		       /* bytes of a repo ref as text */
#define CORPUS_MIN_TEXT 24	       /* bytes of content, at least */
#define CORPUS_SECOND_A 10	       /* one root in so many names two repositories */

/* What the streams are for. */
enum corpus_stream {
	CORPUS_OWNER = 1,
	CORPUS_PERSON,
	CORPUS_REPO,
	CORPUS_ROOT,
	CORPUS_COMMENT,
	CORPUS_STATE
};

struct corpus {
	uint64_t seed;
	size_t repos, roots, comments, states; /* the last three a repository */
	size_t relays;			       /* beside the service's own */
	size_t unlisted; /* one in so many does not list the service; 0: none */
	size_t bytes;	 /* an event, about */
	int64_t now_s;
	const char *service;
	const char *also; /* a relay that every announcement lists, or NULL */
	const char *farm; /* relays are FARM/r000 and so on, or NULL */
	size_t copies;	  /* of them each announcement lists so many */
	FILE *out;

	/* private */
	secp256k1_context *secp;
	struct draft draft;
	struct signer *owners, people[CORPUS_PEOPLE];
};

/* One repository while its events are made. */
struct corpus_repo {
	size_t number;
	int64_t created_at;
	char d[64], ref[CORPUS_REF];
	char owner[DRAFT_HEX];
	char (*roots)[DRAFT_HEX];
	unsigned *kinds;
	size_t *writers; /* of each root: index in people */
};

static inline void
corpus_hex_key(char out[static DRAFT_HEX], const struct signer *signer)
{
	*gs_hex_write(out, signer->pubkey, sizeof(signer->pubkey)) = '\0';
}

static inline struct signer *
corpus_owner(const struct corpus *corpus, size_t repo)
{
	return &corpus->owners[repo / CORPUS_PER_AUTHOR];
}

/* Fills up with text, so that events are of corpus->bytes on average, and prints. */
static inline void
corpus_emit(struct corpus *corpus, struct rng *rng, const struct signer *signer,
    bool is_diff, char id[static DRAFT_HEX])
{
	struct draft *draft = &corpus->draft;
	size_t want = corpus->bytes / 2 + rng_below(rng, corpus->bytes + 1);
	size_t have = draft_bytes(draft) + draft->content.len;
	size_t more = want > have + CORPUS_MIN_TEXT ? want - have : CORPUS_MIN_TEXT;

	if (is_diff)
		prose_diff(&draft->content, rng, more);
	else
		prose_text(&draft->content, rng, more);
	draft_sign(draft, signer, id);
	gs_buf_add_char(&draft->line, '\n');
	(void)fwrite(draft->line.data, 1, draft->line.len, corpus->out);
}

static inline void
corpus_name_repo(const struct corpus *corpus, size_t number, char d[static 64],
    char ref[static CORPUS_REF])
{
	static const char *const firsts[] = { "amber", "blue", "tiny", "grand", "open",
		"rusty", "quick", "proof-of" };
	static const char *const seconds[] = { "parser", "relay", "wallet", "site",
		"kernel", "notes", "forge", "work" };
	struct rng rng = rng_of(corpus->seed, CORPUS_REPO, number);
	char owner[DRAFT_HEX];

	(void)snprintf(d, 64, "%s-%s-%zu", firsts[rng_below(&rng, 8)],
	    seconds[rng_below(&rng, 8)], number);
	corpus_hex_key(owner, corpus_owner(corpus, number));
	(void)snprintf(ref, CORPUS_REF, "30617:%s:%s", owner, d);
}

/* A relay as announcements spell it: with slash, case and port twins. */
static inline void
corpus_spell_relay(const struct corpus *corpus, struct rng *rng, char out[static 64])
{
	static const char *const forms[] = { "wss://relay%zu.example",
		"wss://relay%zu.example", "wss://relay%zu.example",
		"wss://relay%zu.example", "wss://relay%zu.example/",
		"wss://relay%zu.example/", "WSS://Relay%zu.Example",
		"wss://relay%zu.example:443" };
	/* twice below: few relays are listed by many, many by few */
	size_t relay = rng_below(rng, rng_below(rng, corpus->relays) + 1);
	const char *form = forms[rng_below(rng, sizeof(forms) / sizeof(forms[0]))];

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	(void)snprintf(out, 64, form, relay);
#pragma GCC diagnostic pop
}

/* Neighbours, from anywhere: all are listed about equally often. */
static inline void
corpus_add_farm(struct corpus *corpus, struct rng *rng)
{
	size_t relay = rng_below(rng, corpus->relays);
	char url[320];

	for (size_t i = 0; i < corpus->copies && i < corpus->relays; i++) {
		(void)snprintf(url, sizeof(url), "%s/r%03zu", corpus->farm,
		    (relay + i) % corpus->relays);
		draft_value(&corpus->draft, url);
	}
}

static inline void
corpus_add_places(struct corpus *corpus, const struct corpus_repo *repo, struct rng *rng)
{
	struct draft *draft = &corpus->draft;
	bool listed = corpus->unlisted == 0 ||
	    repo->number % corpus->unlisted != corpus->unlisted - 1;
	char url[320], relay[64];

	(void)snprintf(url, sizeof(url), "https://%s/%.20s/%s.git",
	    listed ? corpus->service : "elsewhere.example", repo->owner, repo->d);
	draft_tag(draft, "clone", url, NULL);
	(void)snprintf(url, sizeof(url), "https://code.example/%s.git", repo->d);
	draft_value(draft, url);
	(void)snprintf(url, sizeof(url), "wss://%s", corpus->service);
	draft_tag(draft, "relays", listed ? url : "wss://elsewhere.example", NULL);
	if (corpus->also)
		draft_value(draft, corpus->also);
	if (corpus->farm && corpus->relays > 0) {
		corpus_add_farm(corpus, rng);
		return;
	}
	for (size_t i = 2 + rng_below(rng, 4); i > 0 && corpus->relays > 0; i--) {
		corpus_spell_relay(corpus, rng, relay);
		draft_value(draft, relay);
	}
}

static inline void
corpus_announce(struct corpus *corpus, const struct corpus_repo *repo, struct rng *rng)
{
	struct draft *draft = &corpus->draft;
	char text[DRAFT_HEX];

	draft_begin(draft, GS_KIND_ANNOUNCEMENT, repo->created_at);
	draft_tag(draft, "d", repo->d, NULL);
	draft_tag(draft, "name", repo->d, NULL);
	draft_tag(draft, "description", "What it does, told in a line", NULL);
	corpus_add_places(corpus, repo, rng);
	prose_hex(text, rng, 40);
	draft_tag(draft, "r", text, "euc", NULL);
	if (rng_once_in(rng, 3)) {
		draft_tag(draft, "maintainers", repo->owner, NULL);
		corpus_hex_key(text, &corpus->people[rng_below(rng, CORPUS_PEOPLE)]);
		draft_value(draft, text);
	}
	draft_tag(draft, "alt", "git repository", NULL);
	draft_sign(draft, corpus_owner(corpus, repo->number), text);
	gs_buf_add_char(&draft->line, '\n');
	(void)fwrite(draft->line.data, 1, draft->line.len, corpus->out);
}

static inline void
corpus_add_patch_tags(struct draft *draft, struct rng *rng)
{
	char commit[41];

	prose_hex(commit, rng, 40);
	draft_tag(draft, "r", commit, NULL);
	draft_tag(draft, "t", "root", NULL);
	gs_buf_printf(&draft->content,
	    "From %s Mon Sep 17 00:00:00 2001\nSubject: [PATCH] %s\n---\n", commit,
	    prose_word(rng));
}

static inline void
corpus_add_request_tags(struct draft *draft, struct rng *rng)
{
	char commit[41];

	prose_hex(commit, rng, 40);
	draft_tag(draft, "c", commit, NULL);
	draft_tag(draft, "clone", "https://fork.example/work.git", NULL);
	draft_tag(draft, "branch-name", prose_word(rng), NULL);
}

static inline void
corpus_add_root(struct corpus *corpus, struct corpus_repo *repo, size_t number)
{
	static const unsigned kinds[] = { 1617, 1618, 1621, 1621, 1617, 1618, 1621,
		1619 };
	struct rng rng =
	    rng_of(corpus->seed, CORPUS_ROOT, repo->number * corpus->roots + number);
	unsigned kind = kinds[(number + repo->number) % 8];
	struct draft *draft = &corpus->draft;
	size_t writer = rng_below(&rng, CORPUS_PEOPLE);
	char d[64], ref[CORPUS_REF];
	int64_t age = corpus->now_s - repo->created_at;

	draft_begin(draft, kind,
	    repo->created_at + (int64_t)rng_below(&rng, (size_t)age));
	draft_tag(draft, "a", repo->ref, NULL);
	if (rng_once_in(&rng, CORPUS_SECOND_A)) {
		corpus_name_repo(corpus, (repo->number + 1) % corpus->repos, d, ref);
		draft_tag(draft, "a", ref, "wss://relay0.example", NULL);
	}
	draft_tag(draft, "p", repo->owner, NULL);
	if (kind == 1617)
		corpus_add_patch_tags(draft, &rng);
	else if (kind == 1621)
		draft_tag(draft, "subject", prose_word(&rng), NULL);
	else
		corpus_add_request_tags(draft, &rng);
	corpus_emit(corpus, &rng, &corpus->people[writer], kind == 1617,
	    repo->roots[number]);
	repo->kinds[number] = kind;
	repo->writers[number] = writer;
}

/* NIP-22: the root in upper case, the parent in lower case; here both are the same. */
static inline void
corpus_add_parents(struct corpus *corpus, const struct corpus_repo *repo, struct rng *rng)
{
	struct draft *draft = &corpus->draft;
	size_t root = corpus->roots > 0 ? rng_below(rng, corpus->roots) : 0;
	char kind[16], key[DRAFT_HEX];

	if (corpus->roots == 0 || rng_once_in(rng, 8)) {
		draft_tag(draft, "A", repo->ref, NULL);
		draft_tag(draft, "K", "30617", NULL);
		draft_tag(draft, "P", repo->owner, NULL);
		draft_tag(draft, "a", repo->ref, NULL);
		draft_tag(draft, "k", "30617", NULL);
		draft_tag(draft, "p", repo->owner, NULL);
		return;
	}
	(void)snprintf(kind, sizeof(kind), "%u", repo->kinds[root]);
	corpus_hex_key(key, &corpus->people[repo->writers[root]]);
	draft_tag(draft, "E", repo->roots[root], "", key, NULL);
	draft_tag(draft, "K", kind, NULL);
	draft_tag(draft, "P", key, NULL);
	draft_tag(draft, "e", repo->roots[root], "", key, NULL);
	draft_tag(draft, "k", kind, NULL);
	draft_tag(draft, "p", key, NULL);
}

static inline void
corpus_add_comment(struct corpus *corpus, const struct corpus_repo *repo, size_t number)
{
	struct rng rng = rng_of(corpus->seed, CORPUS_COMMENT,
	    repo->number * corpus->comments + number);
	struct signer *writer = &corpus->people[rng_below(&rng, CORPUS_PEOPLE)];
	int64_t age = corpus->now_s - repo->created_at;
	char id[DRAFT_HEX];

	draft_begin(&corpus->draft, 1111,
	    repo->created_at + (int64_t)rng_below(&rng, (size_t)age));
	corpus_add_parents(corpus, repo, &rng);
	corpus_emit(corpus, &rng, writer, false, id);
}

/* Of several states of a repository only the newest stands. */
static inline void
corpus_add_state(struct corpus *corpus, const struct corpus_repo *repo, size_t number)
{
	struct rng rng =
	    rng_of(corpus->seed, CORPUS_STATE, repo->number * corpus->states + number);
	struct draft *draft = &corpus->draft;
	char commit[41], name[64], id[DRAFT_HEX];

	draft_begin(draft, GS_KIND_STATE, repo->created_at + (int64_t)number * 60 + 60);
	draft_tag(draft, "d", repo->d, NULL);
	draft_tag(draft, "HEAD", "ref: refs/heads/main", NULL);
	for (size_t i = 0, refs = 1 + rng_below(&rng, 8); i < refs; i++) {
		(void)snprintf(name, sizeof(name),
		    i ? "refs/tags/v0.%zu" : "refs/heads/main", i);
		prose_hex(commit, &rng, 40);
		draft_tag(draft, name, commit, NULL);
	}
	draft_sign(draft, corpus_owner(corpus, repo->number), id);
	gs_buf_add_char(&draft->line, '\n');
	(void)fwrite(draft->line.data, 1, draft->line.len, corpus->out);
}

static inline void
corpus_add_repo(struct corpus *corpus, struct corpus_repo *repo, size_t number)
{
	struct rng rng = rng_of(corpus->seed, CORPUS_REPO, ~(uint64_t)number);

	repo->number = number;
	repo->created_at =
	    corpus->now_s - CORPUS_DAY - (int64_t)rng_below(&rng, CORPUS_SPAN);
	corpus_hex_key(repo->owner, corpus_owner(corpus, number));
	corpus_name_repo(corpus, number, repo->d, repo->ref);
	corpus_announce(corpus, repo, &rng);
	for (size_t i = 0; i < corpus->roots; i++)
		corpus_add_root(corpus, repo, i);
	for (size_t i = 0; i < corpus->comments; i++)
		corpus_add_comment(corpus, repo, i);
	for (size_t i = 0; i < corpus->states; i++)
		corpus_add_state(corpus, repo, i);
}

static inline void
corpus_make_keys(struct corpus *corpus)
{
	size_t owners = corpus->repos / CORPUS_PER_AUTHOR + 1;

	corpus->secp = sign_context();
	corpus->owners = gs_mem_array(owners, sizeof(*corpus->owners));
	for (size_t i = 0; i < owners; i++)
		signer_init(&corpus->owners[i], corpus->secp, corpus->seed, CORPUS_OWNER,
		    i);
	for (size_t i = 0; i < CORPUS_PEOPLE; i++)
		signer_init(&corpus->people[i], corpus->secp, corpus->seed, CORPUS_PERSON,
		    i);
}

/* Prints it all. */
static inline void
corpus_print(struct corpus *corpus)
{
	struct corpus_repo repo = { .number = 0 };

	corpus_make_keys(corpus);
	repo.roots = gs_mem_array(corpus->roots, sizeof(*repo.roots));
	repo.kinds = gs_mem_array(corpus->roots, sizeof(*repo.kinds));
	repo.writers = gs_mem_array(corpus->roots, sizeof(*repo.writers));
	for (size_t i = 0; i < corpus->repos; i++)
		corpus_add_repo(corpus, &repo, i);
	free(repo.roots);
	free(repo.kinds);
	free(repo.writers);
	free(corpus->owners);
	draft_fini(&corpus->draft);
	secp256k1_context_destroy(corpus->secp);
}

#endif
