/* An ingest under test, what it told, and lines of relays for it. */
#ifndef MADE_INGEST_H
#define MADE_INGEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "ingest_private.h"
#include "mem.h"
#include "tools/draft.h"

#define NOW 2000000
#define LONG_CONTENT (60 * 1024)
#define A "wss://a.example"
#define B "wss://b.example"
#define WAIT_US 1000
#define MAX_WAITS 20000

struct fixture {
	secp256k1_context *secp;
	struct signer signer;
	struct draft draft;
	struct gs_store *store;
	struct gs_ingest_options options;
	struct gs_ingest *ingest;
	struct gs_buf line;   /* a changed copy */
	pthread_mutex_t lock; /* of what follows */
	struct gs_buf decided;
	unsigned num_rooms, num_troubled, num_over;
	uint64_t committed;
	enum gs_code trouble;
};

static inline void
take_decided(const struct gs_decision *decision, void *arg)
{
	struct fixture *fixture = arg;

	assert_int_equal(fixture->committed, 0); /* told before that */
	gs_buf_printf(&fixture->decided, "%s:%.*s:%u%s ", gs_decision_result(decision),
	    (int)decision->from.len, decision->from.ptr, decision->tag,
	    decision->pubkey == NULL ? ":unread" : "");
}

static inline void
take_committed(const struct gs_tally *tally, void *arg)
{
	struct fixture *fixture = arg;

	(void)pthread_mutex_lock(&fixture->lock);
	fixture->committed = tally->read;
	(void)pthread_mutex_unlock(&fixture->lock);
}

static inline void
take_room(void *arg)
{
	struct fixture *fixture = arg;

	(void)pthread_mutex_lock(&fixture->lock);
	fixture->num_rooms++;
	(void)pthread_mutex_unlock(&fixture->lock);
}

static inline void
take_troubled(const struct gs_err *why, void *arg)
{
	struct fixture *fixture = arg;

	(void)pthread_mutex_lock(&fixture->lock);
	if (why != NULL) {
		fixture->num_troubled++;
		fixture->trouble = why->code;
	} else
		fixture->num_over++;
	(void)pthread_mutex_unlock(&fixture->lock);
}

static inline void
begin(struct fixture *fixture)
{
	struct gs_err err;

	fixture->ingest = gs_ingest_new(fixture->store, &fixture->options, &err);
	assert_non_null(fixture->ingest);
}

static inline int
set_up(void **state)
{
	struct gs_store_options scratch = { .scratch = true };
	struct fixture *fixture = gs_mem_new(sizeof(*fixture));
	struct gs_err err;

	fixture->secp = sign_context();
	signer_init(&fixture->signer, fixture->secp, 1, 2, 3);
	(void)pthread_mutex_init(&fixture->lock, NULL);
	fixture->store = gs_store_open(NULL, &scratch, &err);
	assert_non_null(fixture->store);
	fixture->options = (struct gs_ingest_options){ .workers = 3,
		.now_s = NOW,
		.room = take_room,
		.troubled = take_troubled,
		.arg = fixture };
	*state = fixture;
	return 0;
}

static inline int
tear_down(void **state)
{
	struct fixture *fixture = *state;

	gs_ingest_free(fixture->ingest);
	gs_store_close(fixture->store);
	draft_fini(&fixture->draft);
	gs_buf_fini(&fixture->line);
	gs_buf_fini(&fixture->decided);
	secp256k1_context_destroy(fixture->secp);
	(void)pthread_mutex_destroy(&fixture->lock);
	free(fixture);
	return 0;
}

static inline struct gs_str
make_line(struct fixture *fixture, int64_t created_at, size_t len)
{
	char id[DRAFT_HEX];

	draft_begin(&fixture->draft, 1, created_at);
	while (fixture->draft.content.len < len)
		gs_buf_add_str(&fixture->draft.content,
		    "some text of eight words or so ");
	draft_sign(&fixture->draft, &fixture->signer, id);
	return (struct gs_str){ fixture->draft.line.data, fixture->draft.line.len };
}

/* The same line with another digit at that place (from the end, if negative). */
static inline struct gs_str
forge(struct fixture *fixture, struct gs_str line, ptrdiff_t at)
{
	struct gs_buf *copy = &fixture->line;
	char *digit;

	gs_buf_clear(copy);
	gs_buf_add(copy, line.ptr, line.len);
	digit = copy->data + (at < 0 ? (ptrdiff_t)line.len + at : at);
	*digit = *digit == '0' ? '1' : '0';
	return (struct gs_str){ copy->data, copy->len };
}

static inline enum gs_ingest_take
try(struct fixture *fixture, struct gs_str text, const char *from, uint32_t tag)
{
	struct gs_ingest_line line = {
		.text = text, .from = gs_str_of(from), .tag = tag
	};

	return gs_ingest_try(fixture->ingest, &line);
}

static inline void
take(struct fixture *fixture, struct gs_str text, const char *from, uint32_t tag)
{
	assert_int_equal(try(fixture, text, from, tag), GS_INGEST_TAKEN);
}

static inline struct gs_tally
finish(struct fixture *fixture)
{
	struct gs_tally tally = { .read = 0 };
	struct gs_err err = { .code = GS_OK };

	if (!gs_ingest_finish(fixture->ingest, &tally, &err))
		fail_msg("%s", err.text);
	return tally;
}

static inline void
restart(struct fixture *fixture)
{
	gs_ingest_free(fixture->ingest);
	fixture->committed = 0;
	gs_buf_clear(&fixture->decided);
	begin(fixture);
}

static inline unsigned
look(struct fixture *fixture, const unsigned *counter)
{
	unsigned count;

	(void)pthread_mutex_lock(&fixture->lock);
	count = *counter;
	(void)pthread_mutex_unlock(&fixture->lock);
	return count;
}

static inline void
wait_for(struct fixture *fixture, const unsigned *counter)
{
	for (int i = 0; look(fixture, counter) == 0; i++) {
		assert_true(i < MAX_WAITS);
		(void)usleep(WAIT_US);
	}
}

static inline bool
count_row(const struct gs_row *row, void *arg)
{
	(void)row;
	++*(uint64_t *)arg;
	return true;
}

static inline uint64_t
count_stored(struct fixture *fixture)
{
	struct gs_walk walk = { .since = -1, .until = -1, .now_s = NOW };
	struct gs_err err;
	uint64_t num = 0;

	assert_true(gs_store_walk(fixture->store, &walk, count_row, &num, &err));
	return num;
}

#endif
