/*
 * Documents of ours in JSON: lists and objects of a tree, read with the place of what
 * is wrong, and lists written.  What the members mean is snapshot's and batch's.
 */
#ifndef GS_DOCUMENT_H
#define GS_DOCUMENT_H

#include <jv.h>
#include <stdint.h>

#include "buf.h"
#include "err.h"
#include "url.h"

typedef bool gs_document_item_fn(struct gs_str text, void *arg, struct gs_err *err);
typedef bool gs_document_member_fn(struct gs_str key, jv value, void *arg,
    struct gs_err *err);

/* A list of strings, one after the other; "item N: why" in front of what fn says. */
bool gs_document_strings(jv list, gs_document_item_fn *fn, void *arg,
    struct gs_err *err) GS_MUST;
/* An object in the order of its keys; "KEY: why" in front of what fn says. */
bool gs_document_members(jv object, gs_document_member_fn *fn, void *arg,
    struct gs_err *err) GS_MUST;
/* The caller's to free; JV_KIND_INVALID if it is not there. */
jv gs_document_get(jv object, const char *key);
/* A whole number from 0; absent: *out stays as it is. */
bool gs_document_number(jv object, const char *key, int64_t *out,
    struct gs_err *err) GS_MUST;

/* One string each: what it has to be, or GS_EDATA. */
bool gs_document_ref(struct gs_str text, struct gs_err *err) GS_MUST;
bool gs_document_id(uint8_t id[static 32], struct gs_str text,
    struct gs_err *err) GS_MUST;
/* Private relays are let through: whoever wrote the document let them in. */
bool gs_document_relay(struct gs_url *url, struct gs_str text,
    struct gs_err *err) GS_MUST;

/* Puts the key before the reason, so that the path grows outwards; returns false. */
bool gs_document_fail_in(struct gs_err *err, struct gs_str key);

/* A comma, unless the list or object has only just begun. */
void gs_document_write_comma(struct gs_buf *buf);
/* Lists with their brackets. */
void gs_document_write_strings(struct gs_buf *buf, const struct gs_str *list, size_t num);
void gs_document_write_ids(struct gs_buf *buf, uint8_t (*ids)[32], size_t num);

#endif
