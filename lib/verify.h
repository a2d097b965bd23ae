/* Is an event what it says: its id, then its BIP-340 signature.  Any thread may call. */
#ifndef GS_VERIFY_H
#define GS_VERIFY_H

#include "event.h"

/* GS_EVENT_OK or _ID; cheap. */
enum gs_event_fault gs_verify_id(const struct gs_event *event,
    struct gs_buf *scratch) GS_MUST;
/* GS_EVENT_OK or _SIG; the id must have been checked. About 36 us. */
enum gs_event_fault gs_verify_sig(const struct gs_event *event) GS_MUST;

#endif
