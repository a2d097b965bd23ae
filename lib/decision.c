/* Decisions: kept until their commit, told, written as lines for people and tools. */
#include "decision.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "hex.h"
#include "json.h"
#include "mem.h"

/* A decision whose texts stand in one buffer: relay, then its words. */
struct kept {
	struct gs_decision decision;
	uint8_t id[32], pubkey[32];
	size_t text_at;
	uint16_t word_lens[GS_ANSWER_WORDS]; /* GS_ANSWER_WORD_BYTES at most */
};

struct gs_decisions {
	struct kept *kept;
	size_t num, cap;
	struct gs_buf texts;
};

#define KEPT_AFTER ((size_t)1024) /* of a larger group no memory is kept */

struct gs_decisions *
gs_decisions_new(void)
{
	return gs_mem_new(sizeof(struct gs_decisions));
}

void
gs_decisions_free(struct gs_decisions *decisions)
{
	if (decisions == NULL)
		return;
	free(decisions->kept);
	gs_buf_fini(&decisions->texts);
	free(decisions);
}

void
gs_decisions_clear(struct gs_decisions *decisions)
{
	if (decisions->cap > KEPT_AFTER) {
		free(decisions->kept);
		gs_buf_fini(&decisions->texts);
		*decisions = (struct gs_decisions){ .kept = NULL };
	}
	decisions->num = 0;
	gs_buf_clear(&decisions->texts);
}

void
gs_decisions_add(struct gs_decisions *decisions, const struct gs_decision *decision)
{
	struct kept *kept;
	size_t i;

	decisions->kept = gs_mem_more(decisions->kept, decisions->num, &decisions->cap,
	    sizeof(*decisions->kept));
	kept = &decisions->kept[decisions->num++];
	*kept = (struct kept){ .decision = *decision, .text_at = decisions->texts.len };
	memcpy(kept->id, decision->id, sizeof(kept->id));
	if (decision->pubkey != NULL)
		memcpy(kept->pubkey, decision->pubkey, sizeof(kept->pubkey));
	if (kept->decision.num_words > GS_ANSWER_WORDS)
		kept->decision.num_words = GS_ANSWER_WORDS;
	gs_buf_add(&decisions->texts, decision->from.ptr, decision->from.len);
	for (i = 0; i < kept->decision.num_words; i++) {
		struct gs_str word = decision->words[i];

		if (word.len > GS_ANSWER_WORD_BYTES)
			word.len = GS_ANSWER_WORD_BYTES;
		kept->word_lens[i] = (uint16_t)word.len;
		gs_buf_add(&decisions->texts, word.ptr, word.len);
	}
}

static void
tell_kept(const struct gs_decisions *decisions, struct kept *kept, gs_decision_fn *fn,
    void *arg)
{
	struct gs_decision *decision = &kept->decision;
	struct gs_str words[GS_ANSWER_WORDS];
	const char *at = decisions->texts.data;
	size_t i;

	at = at != NULL ? at + kept->text_at : "";
	decision->id = kept->id;
	if (decision->pubkey != NULL)
		decision->pubkey = kept->pubkey;
	decision->from.ptr = at;
	at += decision->from.len;
	for (i = 0; i < decision->num_words; i++) {
		words[i] = (struct gs_str){ at, kept->word_lens[i] };
		at += kept->word_lens[i];
	}
	decision->words = words;
	fn(decision, arg);
}

void
gs_decisions_tell(struct gs_decisions *decisions, gs_decision_fn *fn, void *arg)
{
	size_t i;

	for (i = 0; i < decisions->num; i++)
		tell_kept(decisions, &decisions->kept[i], fn, arg);
	gs_decisions_clear(decisions);
}

/* --- as a line --- */

const char *
gs_decision_result(const struct gs_decision *decision)
{
	if (decision->is_duplicate)
		return "duplicate";
	switch (decision->known) {
	case GS_UNKNOWN:
		return "skipped";
	case GS_KNOWN_STORED:
		return "stored";
	case GS_KNOWN_WAITING:
		return "waiting";
	case GS_KNOWN_REJECTED:
		return "rejected";
	case GS_KNOWN_DELETED:
		return "deleted";
	case GS_KNOWN_SUPERSEDED:
		return "superseded";
	case GS_KNOWN_EXPIRED:
		return "expired";
	}
	return "";
}

static void
write_hex(struct gs_buf *buf, const uint8_t key[static 32])
{
	char digits[64];

	(void)gs_hex_write(digits, key, sizeof(digits) / 2);
	gs_buf_add_char(buf, '"');
	gs_buf_add(buf, digits, sizeof(digits));
	gs_buf_add_char(buf, '"');
}

static void
write_text(struct gs_buf *buf, struct gs_str text)
{
	if (text.len == 0)
		gs_buf_add_str(buf, "null");
	else
		gs_json_write_string(buf, text.ptr, text.len);
}

static void
write_words(struct gs_buf *buf, const struct gs_decision *decision)
{
	size_t i;

	gs_buf_add_str(buf, ",\"waits_for\":[");
	for (i = 0; i < decision->num_words; i++) {
		if (i > 0)
			gs_buf_add_char(buf, ',');
		gs_json_write_string(buf, decision->words[i].ptr, decision->words[i].len);
	}
	gs_buf_add_char(buf, ']');
	if (decision->num_grounds > decision->num_words)
		gs_buf_printf(buf, ",\"waits_for_more\":%zu",
		    decision->num_grounds - decision->num_words);
}

void
gs_decision_write(struct gs_buf *buf, const struct gs_decision *decision)
{
	gs_buf_add_str(buf, "{\"id\":");
	write_hex(buf, decision->id);
	if (decision->pubkey != NULL) {
		gs_buf_printf(buf, ",\"kind\":%u,\"author\":", decision->kind);
		write_hex(buf, decision->pubkey);
	} else
		gs_buf_add_str(buf, ",\"kind\":null,\"author\":null");
	gs_buf_add_str(buf, ",\"relay\":");
	write_text(buf, decision->from);
	gs_buf_printf(buf,
	    ",\"result\":\"%s\",\"reason\":", gs_decision_result(decision));
	write_text(buf, gs_str_of(decision->reason));
	write_words(buf, decision);
	if (decision->until_s > 0)
		gs_buf_printf(buf, ",\"until\":%" PRId64, decision->until_s);
	gs_buf_add_char(buf, '}');
}
