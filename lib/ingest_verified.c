/*
 * Each signature is checked once, however many relays send the event at the same
 * moment.  The key is id and signature: a copy with another signature is another one,
 * so that neither does a forged one keep a true one out, nor get in behind it.
 */
#include <string.h>

#include "ingest_private.h"
#include "verify.h"

#define KEY_BYTES (32 + 64)
#define GENERATION 10000 /* the last one or two of these are remembered: 4 MB at most */

void
verified_init(struct verified *verified)
{
	(void)pthread_mutex_init(&verified->lock, NULL);
	(void)pthread_cond_init(&verified->checked, NULL);
	verified->young = gs_map_new();
	verified->old = gs_map_new();
}

void
verified_fini(struct verified *verified)
{
	gs_map_free(verified->young, NULL);
	gs_map_free(verified->old, NULL);
	(void)pthread_cond_destroy(&verified->checked);
	(void)pthread_mutex_destroy(&verified->lock);
}

static struct gs_map_entry *
find(const struct verified *verified, struct gs_str key)
{
	struct gs_map_entry *entry = gs_map_find(verified->young, key);

	return entry != NULL ? entry : gs_map_find(verified->old, key);
}

static void
begin_check(struct verified *verified, struct gs_str key)
{
	if (gs_map_count(verified->young) >= GENERATION) {
		gs_map_free(verified->old, NULL);
		verified->old = verified->young;
		verified->young = gs_map_new();
	}
	(void)gs_map_add(verified->young, key);
	verified->num_checks++;
}

static void
end_check(struct verified *verified, struct gs_str key, bool holds)
{
	struct gs_map_entry *entry = find(verified, key);

	if (entry != NULL && holds) {
		entry->value = verified;
	} else {
		(void)gs_map_del(verified->young, key);
		(void)gs_map_del(verified->old, key);
	}
	(void)pthread_cond_broadcast(&verified->checked);
}

bool
verified_check(struct verified *verified, const struct gs_event *event)
{
	char bytes[KEY_BYTES];
	struct gs_str key = { bytes, sizeof(bytes) };
	struct gs_map_entry *entry;
	bool holds = true;

	memcpy(bytes, event->id, sizeof(event->id));
	memcpy(bytes + sizeof(event->id), event->sig, sizeof(event->sig));
	(void)pthread_mutex_lock(&verified->lock);
	while ((entry = find(verified, key)) != NULL && entry->value == NULL)
		(void)pthread_cond_wait(&verified->checked, &verified->lock);
	if (entry == NULL) {
		begin_check(verified, key);
		(void)pthread_mutex_unlock(&verified->lock);
		holds = gs_verify_sig(event) == GS_EVENT_OK;
		(void)pthread_mutex_lock(&verified->lock);
		end_check(verified, key, holds);
	}
	(void)pthread_mutex_unlock(&verified->lock);
	return holds;
}
