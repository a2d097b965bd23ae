/*
 * For clang-tidy alone, before each file: these always return false, which it can't see
 * across files.  Without it every "return gs_fail(...)" looks as if it might succeed.
 */
#include "err.h"
#include "json.h"

/* NOLINTBEGIN(readability-identifier-naming) */
#define gs_fail(...) ((gs_fail)(__VA_ARGS__), false)
#define gs_fail_in(...) ((gs_fail_in)(__VA_ARGS__), false)
#define gs_json_fail(...) ((gs_json_fail)(__VA_ARGS__), false)
#define gs_json_refuse(...) ((gs_json_refuse)(__VA_ARGS__), false)
/* NOLINTEND(readability-identifier-naming) */
