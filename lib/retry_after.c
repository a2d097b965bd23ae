/* When an HTTP server wants to be asked again. */
#include "retry_after.h"

#include <string.h>
#include <time.h>

#include "clock.h"
#include "num.h"

#define MAX_S (366 * 24 * 3600)
#define DATE_BYTES 64

static int64_t
parse_date(const char *text)
{
	struct tm date;
	int64_t in_s;

	memset(&date, 0, sizeof(date));
	if (strptime(text, "%a, %d %b %Y %H:%M:%S GMT", &date) == NULL)
		return 0;
	in_s = (int64_t)timegm(&date) - gs_clock_now().wall_s;
	return in_s > 0 && in_s <= MAX_S ? in_s : 0;
}

int64_t
gs_retry_after_s(struct lws *wsi)
{
	char text[DATE_BYTES];
	int len = lws_hdr_copy(wsi, text, sizeof(text), WSI_TOKEN_HTTP_RETRY_AFTER);
	int64_t in_s;

	if (len <= 0)
		return 0;
	return gs_num_parse(&in_s, text, (size_t)len, MAX_S) ? in_s : parse_date(text);
}
