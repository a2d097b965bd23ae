/* What the files of a relay share: how it is dialled is in relay_dial. */
#ifndef GS_RELAY_PRIVATE_H
#define GS_RELAY_PRIVATE_H

#include "nip11.h"
#include "relay.h"
#include "ws.h"

enum gs_relay_phase {
	PHASE_WAITING, /* until health lets us dial */
	PHASE_DIALLING,
	PHASE_OPEN,
	PHASE_OVER,
};

struct gs_relay {
	struct gs_loop *loop;
	struct gs_url url;
	struct gs_relay_options options;
	struct gs_relay_ops ops;
	struct gs_health health;
	struct gs_limits limits;
	struct gs_session *session;
	struct gs_timer *timer;
	enum gs_relay_phase phase;

	int64_t dial_due_ms;
	struct gs_question *question;
	struct gs_resolved resolved;
	size_t next_address;
	struct gs_ws *ws; /* NULL: none, or gone */
	bool has_asked;	  /* on this connection */
	unsigned failed_dials;

	struct gs_nip11 *nip11; /* being fetched: nothing is asked before */
	int64_t document_ms;	/* when that was last tried; -1: never */
	bool is_paused;
	int64_t paused_ms; /* since then */

	struct gs_relay_fault fault;
	char fault_name[GS_WS_NAME_BYTES];
	/* What changed has told. */
	bool told_open;
	enum gs_health_status told_status;
	char told_fault[GS_WS_NAME_BYTES];
};

void gs_relay_set_fault(struct gs_relay *relay, const char *name, enum gs_code code,
    const char *text);
/* By the phase it is in. */
void gs_relay_set_timer(struct gs_relay *relay);
/* After everything that the session was told: its timer and its frames. */
void gs_relay_follow_session(struct gs_relay *relay);
/* The dial, or the connection that it led to, is over: again later, or never. */
void gs_relay_end_dial(struct gs_relay *relay, bool is_failure, int64_t retry_after_s,
    bool is_lasting);
/* All callbacks of its websocket, but for arg. */
extern const struct gs_ws_ops gs_relay_ws_ops;

/* relay_dial: enters PHASE_DIALLING. */
void gs_relay_begin_dial(struct gs_relay *relay);
/* Another address; true: dialling goes on, or was ended.  False: none is left. */
bool gs_relay_dial_next(struct gs_relay *relay);
/* PHASE_DIALLING lasts too long. */
void gs_relay_expire_dial(struct gs_relay *relay);
/* The NIP-11 document, from where the websocket is, unless it is known. */
void gs_relay_fetch_document(struct gs_relay *relay);

#endif
