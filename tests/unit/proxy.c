/* Proxies as users name them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs those before it */
#include <cmocka.h>
#include <string.h>

#include "proxy.h"

static void
test_addresses(void **state)
{
	static const struct {
		const char *text, *address;
	} rows[] = {
		{ "http://127.0.0.1:9080", "127.0.0.1:9080" },
		{ "http://127.0.0.1:9080/", "127.0.0.1:9080" },
		{ "http://[::1]:8118", "[::1]:8118" },
		{ "http://[2001:DB8:0::1]:65535", "[2001:db8::1]:65535" },
	};
	char address[GS_PROXY_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_true(gs_proxy_find(address, rows[i].text, NULL));
		assert_string_equal(address, rows[i].address);
	}
}

static void
test_what_is_none(void **state)
{
	static const char *const texts[] = { "", "http://", "127.0.0.1:9080",
		"http://127.0.0.1", "http://127.0.0.1:", "http://127.0.0.1:0",
		"http://127.0.0.1:65536", "http://127.0.0.1:80x", "http://:80",
		"http://[::1:80", "http://user:pw@127.0.0.1:80", "https://127.0.0.1:443",
		"socks5://127.0.0.1:9050", "http://127.0.0.1:80/path",
		"http://127.1:80" };
	char address[GS_PROXY_BYTES];
	struct gs_err err;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (gs_proxy_find(address, texts[i], &err))
			fail_msg("%s", texts[i]);
		assert_int_equal(err.code, GS_EUSAGE);
	}
}

static void
test_names(void **state)
{
	char address[GS_PROXY_BYTES];
	struct gs_err err;

	(void)state;
	assert_true(gs_proxy_find(address, "http://localhost:9080", &err));
	assert_non_null(strstr(address, ":9080"));
	assert_false(gs_proxy_find(address, "http://nobody.invalid:9080", &err));
	assert_int_equal(err.code, GS_EUNAVAILABLE);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_what_is_none),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
