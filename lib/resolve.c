/*
 * Names to addresses that may be dialled, looked up by threads beside the loop: the
 * system's resolver blocks for as long as it likes.
 */
#include "resolve.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "host.h"
#include "mem.h"

struct gs_question {
	struct pool *pool;
	struct gs_question *next;
	char host[GS_URL_BYTES + 1];
	bool allow_private, is_kept;
	gs_resolve_fn *fn; /* NULL: nobody waits any more */
	void *arg;
	struct gs_resolved resolved;
};

struct line {
	struct gs_question *first, *last;
};

/* Shared with the threads; who leaves last frees it: a look-up can't be broken off. */
struct pool {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct line kept, strangers, answered;
	unsigned threads, idle;
	unsigned waiting; /* questions in kept and strangers */
	unsigned busy;	  /* threads with a stranger's */
	unsigned users;	  /* the threads and the resolver */
	bool is_over;
	int event_fd; /* written to for each answer */
	gs_resolve_lookup *lookup;
	void *arg;
};

struct gs_resolver {
	struct pool *pool;
	struct gs_watch *watch;
};

static void
push(struct line *line, struct gs_question *question)
{
	question->next = NULL;
	if (line->first == NULL)
		line->first = question;
	else
		line->last->next = question;
	line->last = question;
}

static struct gs_question *
pop(struct line *line)
{
	struct gs_question *question = line->first;

	if (question != NULL)
		line->first = question->next;
	return question;
}

/* False: it is not in this line. */
static bool
take_out(struct line *line, const struct gs_question *question)
{
	struct gs_question *before = NULL, *one = line->first;

	while (one != NULL && one != question) {
		before = one;
		one = one->next;
	}
	if (one == NULL)
		return false;
	if (before == NULL)
		line->first = one->next;
	else
		before->next = one->next;
	if (line->last == one)
		line->last = before;
	return true;
}

static void
fail(struct gs_resolved *resolved, enum gs_resolve_result result, const char *why)
{
	resolved->result = result;
	resolved->num = 0;
	(void)snprintf(resolved->why, sizeof(resolved->why), "%.*s",
	    (int)sizeof(resolved->why) - 1, why);
}

static bool
has_address(const struct gs_resolved *resolved, const char *text)
{
	for (size_t i = 0; i < resolved->num; i++)
		if (strcmp(resolved->addresses[i], text) == 0)
			return true;
	return false;
}

void
gs_resolve_vet(struct gs_resolved *resolved, const struct gs_found *found, size_t num,
    bool allow_private)
{
	char text[INET6_ADDRSTRLEN];

	*resolved = (struct gs_resolved){ .result = GS_RESOLVE_OK };
	for (size_t i = 0; i < num && resolved->num < GS_RESOLVE_ADDRESSES; i++) {
		const struct gs_found *one = &found[i];

		if (!allow_private && gs_host_address_is_private(one->family, one->bytes))
			continue;
		if (inet_ntop(one->family, one->bytes, text, sizeof(text)) == NULL ||
		    has_address(resolved, text))
			continue;
		memcpy(resolved->addresses[resolved->num++], text, sizeof(text));
	}
	if (num == 0)
		fail(resolved, GS_RESOLVE_DNS, "the name has no address");
	else if (resolved->num == 0)
		fail(resolved, GS_RESOLVE_REFUSED,
		    "the name has private or reserved addresses only");
}

static void
read_address(struct gs_found *address, const struct sockaddr *from)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)(const void *)from;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)(const void *)from;

	*address = (struct gs_found){ .family = from->sa_family };
	if (from->sa_family == AF_INET)
		memcpy(address->bytes, &v4->sin_addr, sizeof(v4->sin_addr));
	else if (from->sa_family == AF_INET6)
		memcpy(address->bytes, &v6->sin6_addr, sizeof(v6->sin6_addr));
}

static int
look_up(const char *host, struct gs_found *found, size_t max, size_t *num, void *arg)
{
	const struct addrinfo hints = { .ai_family = AF_UNSPEC,
		.ai_socktype = SOCK_STREAM };
	struct addrinfo *list = NULL, *one;
	int fault = getaddrinfo(host, NULL, &hints, &list);

	(void)arg;
	*num = 0;
	if (fault != 0)
		return fault;
	for (one = list; one != NULL && *num < max; one = one->ai_next)
		read_address(&found[(*num)++], one->ai_addr);
	freeaddrinfo(list);
	return 0;
}

static void
answer(const struct pool *pool, struct gs_question *question)
{
	struct gs_found found[GS_RESOLVE_FOUND];
	size_t num = 0;
	int fault =
	    pool->lookup(question->host, found, GS_RESOLVE_FOUND, &num, pool->arg);

	if (fault != 0)
		fail(&question->resolved, GS_RESOLVE_DNS, gai_strerror(fault));
	else
		gs_resolve_vet(&question->resolved, found, num, question->allow_private);
}

static void
free_line(struct line *line)
{
	struct gs_question *question;

	while ((question = pop(line)) != NULL)
		free(question);
}

/* Called with the lock, which is gone afterwards. */
static void
leave_pool(struct pool *pool)
{
	bool is_last = --pool->users == 0;

	(void)pthread_mutex_unlock(&pool->lock);
	if (!is_last)
		return;
	free_line(&pool->kept);
	free_line(&pool->strangers);
	free_line(&pool->answered);
	(void)close(pool->event_fd);
	(void)pthread_cond_destroy(&pool->wake);
	(void)pthread_mutex_destroy(&pool->lock);
	free(pool);
}

/* Called with the lock. */
static void
give_answer(struct pool *pool, struct gs_question *question)
{
	const uint64_t one = 1;
	ssize_t put;

	push(&pool->answered, question);
	put = write(pool->event_fd, &one, sizeof(one));
	(void)put; /* fails only when there is something to read there already */
}

/* Called with the lock: the next one that may be served now. */
static struct gs_question *
take_question(struct pool *pool)
{
	struct gs_question *question = pop(&pool->kept);

	if (question == NULL && pool->busy < GS_RESOLVE_THREADS - GS_RESOLVE_KEPT)
		question = pop(&pool->strangers);
	return question;
}

static void *
serve_questions(void *arg)
{
	struct pool *pool = arg;

	(void)pthread_mutex_lock(&pool->lock);
	while (!pool->is_over) {
		struct gs_question *question = take_question(pool);

		if (question == NULL) {
			pool->idle++;
			(void)pthread_cond_wait(&pool->wake, &pool->lock);
			pool->idle--;
			continue;
		}
		pool->waiting--;
		pool->busy += !question->is_kept;
		(void)pthread_mutex_unlock(&pool->lock);
		answer(pool, question);
		(void)pthread_mutex_lock(&pool->lock);
		pool->busy -= !question->is_kept;
		give_answer(pool, question);
	}
	leave_pool(pool);
	return NULL;
}

static void
take_answers(void *arg)
{
	struct gs_resolver *resolver = arg;
	struct pool *pool = resolver->pool;
	struct line answered;
	struct gs_question *question;
	uint64_t count;
	ssize_t got = read(pool->event_fd, &count, sizeof(count));

	(void)got;
	(void)pthread_mutex_lock(&pool->lock);
	answered = pool->answered;
	pool->answered = (struct line){ NULL, NULL };
	(void)pthread_mutex_unlock(&pool->lock);
	while ((question = pop(&answered)) != NULL) {
		if (question->fn != NULL)
			question->fn(&question->resolved, question->arg);
		free(question);
	}
}

struct gs_resolver *
gs_resolver_new(struct gs_loop *loop, gs_resolve_lookup *lookup, void *arg,
    struct gs_err *err)
{
	struct gs_resolver *resolver = gs_mem_new(sizeof(*resolver));
	struct pool *pool = gs_mem_new(sizeof(*pool));

	resolver->pool = pool;
	pool->users = 1;
	pool->lookup = lookup != NULL ? lookup : look_up;
	pool->arg = arg;
	(void)pthread_mutex_init(&pool->lock, NULL);
	(void)pthread_cond_init(&pool->wake, NULL);
	pool->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	resolver->watch = pool->event_fd < 0
	    ? NULL
	    : gs_watch_new(loop, pool->event_fd, take_answers, resolver);
	if (resolver->watch == NULL) {
		(void)gs_fail(err, GS_EIO, "eventfd: %s", strerror(errno));
		gs_resolver_free(resolver);
		return NULL;
	}
	gs_watch_set(resolver->watch, GS_WATCH_READ);
	return resolver;
}

void
gs_resolver_free(struct gs_resolver *resolver)
{
	if (resolver == NULL)
		return;
	gs_watch_free(resolver->watch);
	(void)pthread_mutex_lock(&resolver->pool->lock);
	resolver->pool->is_over = true;
	(void)pthread_cond_broadcast(&resolver->pool->wake);
	leave_pool(resolver->pool);
	free(resolver);
}

/* Called with the lock; signals are the loop's. */
static bool
start_thread(struct pool *pool)
{
	sigset_t all, old;
	pthread_t thread;
	bool ok;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_BLOCK, &all, &old);
	ok = pthread_create(&thread, NULL, serve_questions, pool) == 0;
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!ok)
		return false;
	(void)pthread_detach(thread);
	pool->threads++;
	pool->users++;
	return true;
}

/* Called with the lock. */
static void
put_question(struct pool *pool, struct gs_question *question)
{
	if (pool->idle <= pool->waiting && pool->threads < GS_RESOLVE_THREADS &&
	    !start_thread(pool) && pool->threads == 0) {
		fail(&question->resolved, GS_RESOLVE_DNS, "can't start a thread");
		give_answer(pool, question);
		return;
	}
	push(question->is_kept ? &pool->kept : &pool->strangers, question);
	pool->waiting++;
	(void)pthread_cond_signal(&pool->wake);
}

struct gs_question *
gs_resolver_ask(struct gs_resolver *resolver, const struct gs_url *url,
    bool allow_private, bool is_kept, gs_resolve_fn *fn, void *arg)
{
	struct gs_question *question = gs_mem_new(sizeof(*question));
	struct pool *pool = resolver->pool;
	struct gs_url again;
	struct gs_err err;

	question->pool = pool;
	(void)snprintf(question->host, sizeof(question->host), "%s", url->host);
	question->allow_private = allow_private;
	question->is_kept = is_kept;
	question->fn = fn;
	question->arg = arg;
	(void)pthread_mutex_lock(&pool->lock);
	/* Whoever parsed this URL may have let through what we must not dial. */
	if (!allow_private &&
	    !gs_url_parse_relay(&again, gs_str_of(url->text), false, &err)) {
		fail(&question->resolved, GS_RESOLVE_REFUSED, err.text);
		give_answer(pool, question);
	} else {
		put_question(pool, question);
	}
	(void)pthread_mutex_unlock(&pool->lock);
	return question;
}

/* What no thread has begun yet is not looked up in vain: others wait behind it. */
void
gs_question_cancel(struct gs_question *question)
{
	struct pool *pool;
	bool was_waiting;

	if (question == NULL)
		return;
	pool = question->pool;
	(void)pthread_mutex_lock(&pool->lock);
	was_waiting =
	    take_out(question->is_kept ? &pool->kept : &pool->strangers, question);
	pool->waiting -= was_waiting;
	(void)pthread_mutex_unlock(&pool->lock);
	question->fn = NULL;
	if (was_waiting)
		free(question);
}
