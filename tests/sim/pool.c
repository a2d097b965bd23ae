/* Signed events, made once for all seeds. */
#include "pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "auth.h"
#include "hex.h"
#include "mem.h"
#include "tools/sign.h"

#define SEED 20260101	  /* the pool is the same for all */
#define NEWEST 1767200000 /* the date of its newest event */
#define MAX_GAP_S 600
#define NUMBER_BYTES 24
#define PATH_BYTES 512

struct pool_signers {
	secp256k1_context *secp;
	struct signer signers[POOL_AUTHORS];
};

const unsigned pool_kinds[POOL_KINDS] = { 30617, 30618, 1617, 1618, 1621, 1111, 1, 7, 5 };
const char pool_letters[] = "aAqeEt";

int
pool_compare(const void *a, const void *b)
{
	const struct pool_event *x = a, *y = b;

	if (x->created_at != y->created_at)
		return x->created_at > y->created_at ? -1 : 1;
	return strcmp(x->id, y->id);
}

void
pool_value(const struct pool *pool, char letter, size_t number,
    char value[static POOL_VALUE])
{
	int len;

	if (letter == 'a' || letter == 'A')
		len = snprintf(value, POOL_VALUE, "30617:%s:repo%zu",
		    pool->authors[number % POOL_AUTHORS], number % POOL_REFS);
	else if (letter == 't')
		len = snprintf(value, POOL_VALUE, "t%zu", number);
	else
		len = snprintf(value, POOL_VALUE, "%064zx", number + 1);
	assert(len > 0 && len < POOL_VALUE);
	(void)len;
}

/* The content makes two of one second two. */
static void
sign(const struct pool *pool, struct pool_event *event, uint64_t number)
{
	struct gs_event draft = GS_EVENT_INIT;
	char content[NUMBER_BYTES];
	struct gs_str values[POOL_TAGS][2];
	struct gs_tag tags[POOL_TAGS];
	struct gs_buf json = GS_BUF_INIT;

	for (size_t i = 0; i < event->num_tags; i++) {
		values[i][0] = (struct gs_str){ &event->tags[i].letter, 1 };
		values[i][1] = gs_str_of(event->tags[i].value);
		tags[i] = (struct gs_tag){ values[i], 2 };
	}
	draft.created_at = event->created_at;
	draft.kind = (uint16_t)event->kind;
	draft.tags = tags;
	draft.num_tags = event->num_tags;
	(void)snprintf(content, sizeof(content), "%llu", (unsigned long long)number);
	draft.content = gs_str_of(content);
	signer_sign(&pool->signers->signers[event->author], &draft);
	*gs_hex_write(event->id, draft.id, sizeof(draft.id)) = '\0';
	gs_event_write(&draft, &json);
	event->json = gs_buf_take(&json);
}

void
pool_make(const struct pool *pool, struct pool_event *event, struct rng *rng,
    int64_t created_at)
{
	event->created_at = created_at;
	event->author = rng_below(rng, POOL_AUTHORS);
	event->kind = pool_kinds[rng_below(rng, POOL_KINDS)];
	event->num_tags = rng_below(rng, POOL_TAGS + 1);
	for (size_t i = 0; i < event->num_tags; i++) {
		struct pool_tag *tag = &event->tags[i];

		tag->letter = pool_letters[rng_below(rng, sizeof(pool_letters) - 1)];
		pool_value(pool, tag->letter, rng_below(rng, POOL_ROOTS), tag->value);
	}
	sign(pool, event, rng_next(rng));
}

/* Most seconds have one event, some a few, and some more than any page. */
static size_t
draw_density(struct rng *rng)
{
	if (rng_once_in(rng, 400))
		return 20 + rng_below(rng, 600);
	if (rng_once_in(rng, 60))
		return 20 + rng_below(rng, 100);
	if (rng_once_in(rng, 10))
		return 2 + rng_below(rng, 18);
	return 1;
}

/* A key comes from a file, and from nowhere else. */
static struct gs_auth *
make_client(void)
{
	const char *folder = getenv("TMPDIR");
	struct gs_auth *client;
	char path[PATH_BYTES];
	int fd, len;

	(void)snprintf(path, sizeof(path), "%s/relaysim.XXXXXX",
	    folder != NULL ? folder : "/tmp");
	fd = mkstemp(path);
	len = fd < 0 ? -1 : dprintf(fd, "%064d\n", 1);
	client = len > 0 ? gs_auth_load(path, NULL) : NULL;
	assert(client != NULL);
	(void)close(fd);
	(void)unlink(path);
	return client;
}

static void
fill(struct pool *pool)
{
	struct rng rng = rng_of(SEED, 'p', 0);
	int64_t date = NEWEST;

	while (pool->num < POOL_EVENTS) {
		size_t left = draw_density(&rng);

		for (; left > 0 && pool->num < POOL_EVENTS; left--)
			pool_make(pool, &pool->events[pool->num++], &rng, date);
		date -= 1 + (int64_t)rng_below(&rng, MAX_GAP_S);
		/* The last ones stand at the beginning of time. */
		if (pool->num + 10 >= POOL_EVENTS && date > 2)
			date = (int64_t)rng_below(&rng, 3);
		if (date < 0)
			date = 0;
	}
	qsort(pool->events, pool->num, sizeof(*pool->events), pool_compare);
}

struct pool *
pool_new(void)
{
	struct pool *pool = gs_mem_new(sizeof(*pool));

	pool->signers = gs_mem_new(sizeof(*pool->signers));
	pool->signers->secp = sign_context();
	for (size_t i = 0; i < POOL_AUTHORS; i++) {
		struct signer *signer = &pool->signers->signers[i];

		signer_init(signer, pool->signers->secp, SEED, 's', i);
		*gs_hex_write(pool->authors[i], signer->pubkey, sizeof(signer->pubkey)) =
		    '\0';
	}
	pool->client = make_client();
	pool->events = gs_mem_array(POOL_EVENTS, sizeof(*pool->events));
	fill(pool);
	return pool;
}

void
pool_free(struct pool *pool)
{
	for (size_t i = 0; i < pool->num; i++)
		free(pool->events[i].json);
	free(pool->events);
	gs_auth_free(pool->client);
	secp256k1_context_destroy(pool->signers->secp);
	free(pool->signers);
	free(pool);
}
