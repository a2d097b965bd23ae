/* What went wrong, for a person and for the exit code. */
#ifndef GS_ERR_H
#define GS_ERR_H

#include <stdbool.h>

/* A result that must be looked at. */
#define GS_MUST __attribute__((warn_unused_result))

/* The reason, as the sysexits(3) number that a command ends with. */
enum gs_code {
	GS_OK = 0,
	GS_EUSAGE = 64,
	GS_EDATA = 65,
	GS_ENOINPUT = 66,
	GS_EUNAVAILABLE = 69,
	GS_EBUG = 70,
	GS_ECREATE = 73,
	GS_EIO = 74,
	GS_EINCOMPLETE = 75,
	GS_EPROTOCOL = 76,
	GS_EREFUSED = 77,
	GS_ECONFIG = 78,
};

/* Text is "what: why": lower case, no full stop, no raw bytes of a peer. */
struct gs_err {
	enum gs_code code;
	char text[320];
};

/* Fills err (may be NULL) and returns false, so that a caller may return it. */
bool gs_fail(struct gs_err *err, enum gs_code code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Puts "fmt: " before the text that is in err already; returns false. */
bool gs_fail_in(struct gs_err *err, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#endif
