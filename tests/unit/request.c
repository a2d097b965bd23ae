/* Heads of HTTP requests, and which hosts are this machine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs those before it */
#include <cmocka.h>
#include <string.h>

#include "request.h"

static void
test_good_ones(void **state)
{
	static const struct {
		const char *text, *method, *path, *host;
	} rows[] = {
		{ "GET / HTTP/1.1\r\n\r\n", "GET", "/", "" },
		{ "GET /a?b?c HTTP/1.0\r\nHost: x:1\r\n\r\n", "GET", "/a", "x:1" },
		{ "HEAD /%41 HTTP/1.1\nhOST:\t y \t\n\n", "HEAD", "/%41", "y" },
		{ "M-SEARCH * HTTP/1.1\r\n\r\nmore", "M-SEARCH", "*", "" },
		{ "GET /\? HTTP/1.1\r\nX:\r\nHost:\r\n\r\n", "GET", "/", "" },
		{ "GET / HTTP/1.1\r\nX: \xff\t.\r\n\r\n", "GET", "/", "" },
	};
	struct gs_request request;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (gs_request_parse(&request, gs_str_of(rows[i].text)) != GS_REQUEST_OK)
			fail_msg("%s", rows[i].text);
		assert_true(gs_str_is(request.method, rows[i].method));
		assert_true(gs_str_is(request.path, rows[i].path));
		assert_true(gs_str_is(request.host, rows[i].host));
	}
}

/* Every beginning of a good one is only not enough yet. */
static void
test_beginnings(void **state)
{
	static const char text[] = "GET /a HTTP/1.1\r\nHost: x\r\nY: z\r\n\r\n";
	struct gs_request request;

	(void)state;
	for (size_t len = 0; len < sizeof(text) - 1; len++)
		assert_int_equal(gs_request_parse(&request, (struct gs_str){ text, len }),
		    GS_REQUEST_MORE);
}

static void
test_bad_ones(void **state)
{
	static const char *const texts[] = { "\r\n", "GET\r\n", "GET /\r\n",
		"GET  / HTTP/1.1\r\n", " GET / HTTP/1.1\r\n", "GET / HTTP/1.1 \r\n",
		"GET / HTTP/2.0\r\n", "GET / http/1.1\r\n", "GET a HTTP/1.1\r\n",
		"GET \? HTTP/1.1\r\n", "GET http://localhost/ HTTP/1.1\r\n",
		"GET /\x7f HTTP/1.1\r\n", "GET /\xc3\xa9 HTTP/1.1\r\n",
		"GET /\r HTTP/1.1\r\n", "G(T / HTTP/1.1\r\n",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "\x16\x03\x01\n",
		"GET / HTTP/1.1\r\nHost\r\n", "GET / HTTP/1.1\r\nHost : x\r\n",
		"GET / HTTP/1.1\r\n Host: x\r\n", "GET / HTTP/1.1\r\nX: a\rb\r\n",
		"GET / HTTP/1.1\r\nX: \x01\r\n", "GET / HTTP/1.1\r\n: x\r\n",
		"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n" };
	struct gs_request request;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (gs_request_parse(&request, gs_str_of(texts[i])) != GS_REQUEST_BAD)
			fail_msg("%s", texts[i]);
}

static void
test_hosts(void **state)
{
	static const char *const local[] = { "localhost", "LocalHost:1", "localhost.",
		"127.0.0.1", "127.255.0.3:65535", "[::1]", "[::1]:80" };
	static const char *const others[] = { "", ":", ":80", "localhost:", "localhost:x",
		"localhost:80:80", "localhost.evil.example", "evil.localhost",
		"127.0.0.1.nip.io", "127.1", "2130706433", "0.0.0.0", "10.0.0.1", "::1",
		"[::1", "[::]", "[::2]:1", "[::ffff:127.0.0.1]", "localhost,evil",
		"a@localhost", "localhost/", "[::1%lo]" };

	(void)state;
	for (size_t i = 0; i < sizeof(local) / sizeof(local[0]); i++)
		if (!gs_request_is_local(gs_str_of(local[i])))
			fail_msg("%s", local[i]);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (gs_request_is_local(gs_str_of(others[i])))
			fail_msg("%s", others[i]);
	assert_false(gs_request_is_local((struct gs_str){ "localhost\0", 10 }));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good_ones),
		cmocka_unit_test(test_beginnings),
		cmocka_unit_test(test_bad_ones),
		cmocka_unit_test(test_hosts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
