/* What the parts of mimic share. */
#ifndef MIMIC_PRIVATE_H
#define MIMIC_PRIVATE_H

#include "mimic.h"

#define MIMIC_SUBS 512 /* more than any client may open */

struct mimic_out {
	int64_t due_ms;
	uint64_t number; /* those of one time keep their order */
	enum mimic_what what;
	char name[ASKED_NAME];
	const struct pool_event *event;
	const char *text;
	bool is_corrupt;
};

struct mimic_sub {
	struct asked asked;
	int64_t last_ms; /* when the last frame of it is due */
};

struct mimic {
	struct mimic_ways ways;
	const struct pool *pool;
	const char *url;
	struct rng rng;
	const struct pool_event **stored;
	size_t num_stored, cap_stored;
	bool is_sorted, is_connected;

	struct mimic_sub subs[MIMIC_SUBS];
	size_t num_subs;
	struct gs_map *names; /* that were used, on any connection; CLOSEd: a value */
	struct mimic_out *heap;
	size_t num_heap, cap_heap;
	uint64_t last_number;
	int64_t rated_ms; /* it said so; -1: never */
	size_t num_reqs, sent, drops;
	enum { MIMIC_STRANGER, MIMIC_ASKED, MIMIC_KNOWN, MIMIC_UNWANTED } client;
	size_t num_challenges;
	char challenge[32], challenge_text[64], ok_text[128];
	char complaint[320];
};

void mimic_complain(struct mimic *mimic, const char *what, const char *text, size_t len);
void mimic_send(struct mimic *mimic, struct mimic_out out);
struct mimic_sub *mimic_find_sub(struct mimic *mimic, const char *name);
void mimic_end_sub(struct mimic *mimic, struct mimic_sub *sub);
bool mimic_asks_for(const struct mimic *mimic, const struct mimic_sub *sub,
    const struct pool_event *event);
/* The client has sent a CLOSE for it. */
bool mimic_was_closed(const struct mimic *mimic, const char *name);
/* A new challenge. */
void mimic_challenge(struct mimic *mimic, int64_t now_ms);
/* Sends what a new subscription asks for. */
void mimic_answer(struct mimic *mimic, struct mimic_sub *sub, int64_t now_ms);

/* One event in sixteen each. */
static inline bool
mimic_is_mislabelled(const struct pool_event *event)
{
	return event->id[60] == '7';
}

static inline bool
mimic_is_corrupted(const struct pool_event *event)
{
	return event->id[61] == '7';
}

#endif
