/* Hosts: every private range with its edges, names, odd spellings of addresses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>

#include "host.h"

struct edge {
	const char *address;
	bool is_private;
};

/* Each range: the address before it, its first, its last, the one behind it. */
static const struct edge edges[] = {
	{ "0.0.0.0", true },
	{ "0.255.255.255", true },
	{ "1.0.0.0", false },
	{ "9.255.255.255", false },
	{ "10.0.0.0", true },
	{ "10.255.255.255", true },
	{ "11.0.0.0", false },
	{ "100.63.255.255", false },
	{ "100.64.0.0", true },
	{ "100.100.100.200", true },
	{ "100.127.255.255", true },
	{ "100.128.0.0", false },
	{ "126.255.255.255", false },
	{ "127.0.0.0", true },
	{ "127.0.0.1", true },
	{ "127.255.255.255", true },
	{ "128.0.0.0", false },
	{ "169.253.255.255", false },
	{ "169.254.0.0", true },
	{ "169.254.169.254", true },
	{ "169.254.255.255", true },
	{ "169.255.0.0", false },
	{ "172.15.255.255", false },
	{ "172.16.0.0", true },
	{ "172.31.255.255", true },
	{ "172.32.0.0", false },
	{ "191.255.255.255", false },
	{ "192.0.0.0", true },
	{ "192.0.0.255", true },
	{ "192.0.1.0", false },
	{ "192.0.1.255", false },
	{ "192.0.2.0", true },
	{ "192.0.2.255", true },
	{ "192.0.3.0", false },
	{ "192.88.98.255", false },
	{ "192.88.99.0", true },
	{ "192.88.99.255", true },
	{ "192.88.100.0", false },
	{ "192.167.255.255", false },
	{ "192.168.0.0", true },
	{ "192.168.255.255", true },
	{ "192.169.0.0", false },
	{ "198.17.255.255", false },
	{ "198.18.0.0", true },
	{ "198.19.255.255", true },
	{ "198.20.0.0", false },
	{ "198.51.99.255", false },
	{ "198.51.100.0", true },
	{ "198.51.100.255", true },
	{ "198.51.101.0", false },
	{ "203.0.112.255", false },
	{ "203.0.113.0", true },
	{ "203.0.113.255", true },
	{ "203.0.114.0", false },
	{ "223.255.255.255", false },
	{ "224.0.0.0", true },
	{ "239.255.255.255", true },
	{ "240.0.0.0", true },
	{ "255.255.255.255", true },

	{ "::", true },
	{ "::1", true },
	{ "::2", true },
	{ "::127.0.0.1", true }, /* v4-compatible: the block is gone as a whole */
	{ "::8.8.8.8", true },
	{ "::255.255.255.255", true },
	{ "::1:0:0", true },
	{ "::fffe:ffff:ffff", true },
	{ "::ffff:0.0.0.0", true },
	{ "::ffff:8.8.8.8", false },
	{ "::ffff:9.255.255.255", false },
	{ "::ffff:10.0.0.0", true },
	{ "::ffff:127.0.0.1", true },
	{ "::ffff:169.254.169.254", true },
	{ "::ffff:255.255.255.255", true },
	{ "::1:0:0:0", true },
	{ "::ffff:0:8.8.8.8", true }, /* SIIT */
	{ "64:ff9a:ffff:ffff:ffff:ffff:ffff:ffff", true },
	{ "64:ff9b::", true },
	{ "64:ff9b::8.8.8.8", false },
	{ "64:ff9b::10.0.0.1", true },
	{ "64:ff9b::169.254.169.254", true },
	{ "64:ff9b::255.255.255.255", true },
	{ "64:ff9b::1:0:0", true },
	{ "64:ff9b:1::", true },
	{ "64:ff9b:1::8.8.8.8", true },
	{ "64:ff9b:1:ffff:ffff:ffff:ffff:ffff", true },
	{ "100::", true },
	{ "100::ffff:ffff:ffff:ffff", true },
	{ "31b:6f20:c7f2:3ddf::3221", true },
	{ "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", true },
	{ "2000::", false },
	{ "2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff", false },
	{ "2001::", true },
	{ "2001:0:ffff:ffff:ffff:ffff:ffff:ffff", true },
	{ "2001:1::", false },
	{ "2001:1:ffff:ffff:ffff:ffff:ffff:ffff", false },
	{ "2001:2::", true },
	{ "2001:2:0:ffff:ffff:ffff:ffff:ffff", true },
	{ "2001:2:1::", false },
	{ "2001:f:ffff:ffff:ffff:ffff:ffff:ffff", false },
	{ "2001:10::", true },
	{ "2001:1f:ffff:ffff:ffff:ffff:ffff:ffff", true },
	{ "2001:20::", true },
	{ "2001:2f:ffff:ffff:ffff:ffff:ffff:ffff", true },
	{ "2001:30::", false },
	{ "2001:db7:ffff:ffff:ffff:ffff:ffff:ffff", false },
	{ "2001:db8::", true },
	{ "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", true },
	{ "2001:db9::", false },
	{ "2001:ffff:ffff:ffff:ffff:ffff:ffff:ffff", false },
	{ "2002::", true },
	{ "2002:7f00:1::", true }, /* 6to4 of 127.0.0.1 */
	{ "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff", true },
	{ "2003::", false },
	{ "2606:4700::1", false },
	{ "3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff", false },
	{ "3fff::", true },
	{ "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff", true },
	{ "3fff:1000::", false },
	{ "3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", false },
	{ "4000::", true },
	{ "fbff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", true },
	{ "fc00::", true },
	{ "fd00:ec2::254", true },
	{ "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", true },
	{ "fe80::", true },
	{ "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff", true },
	{ "fec0::", true },
	{ "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", true },
	{ "ff00::", true },
	{ "ff02::1", true },
	{ "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", true },
};

static void
private_ranges_end_where_they_should(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(edges) / sizeof(edges[0]); i++) {
		uint8_t address[16];
		int family = strchr(edges[i].address, ':') ? AF_INET6 : AF_INET;

		assert_int_equal(inet_pton(family, edges[i].address, address), 1);
		if (gs_host_address_is_private(family, address) != edges[i].is_private)
			fail_msg("%s", edges[i].address);
	}
}

static void
an_unknown_family_is_private(void **state)
{
	static const uint8_t address[16] = { 8, 8, 8, 8 };

	(void)state;
	assert_false(gs_host_address_is_private(AF_INET, address));
	assert_true(gs_host_address_is_private(AF_UNIX, address));
}

struct row {
	const char *text;
	const char *host; /* or NULL */
	const char *why;
};

#define LABEL_63 "abcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabc"
#define DOTTED_253                             \
	LABEL_63 "." LABEL_63 "." LABEL_63 "." \
		 "abcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabcdefghija"

static const struct row rows[] = {
	{ "Relay.Example", "relay.example", NULL },
	{ "relay.example.", "relay.example", NULL },
	{ "a_b-c.example", "a_b-c.example", NULL },
	{ "b\xc3\xbc"
	  "cher.example",
	    "xn--bcher-kva.example", NULL },
	{ "B\xc3\x9c"
	  "CHER.example",
	    "xn--bcher-kva.example", NULL },
	{ "bu\xcc\x88"
	  "cher.example",
	    "xn--bcher-kva.example", NULL }, /* not composed */
	{ "XN--BCHER-KVA.example", "xn--bcher-kva.example", NULL },
	{ "stra\xc3\x9f"
	  "e.example",
	    "xn--strae-oqa.example", NULL },
	{ "xn--ls8h.la", "xn--ls8h.la", NULL },
	{ "relay\xe3\x80\x82"
	  "example",
	    "relay.example", NULL }, /* ideographic dot */
	{ LABEL_63 ".example", LABEL_63 ".example", NULL },
	{ DOTTED_253, DOTTED_253, NULL },
	{ DOTTED_253 ".", DOTTED_253, NULL },
	{ "8.8.8.8", "8.8.8.8", NULL },
	{ "8.8.8.8.", "8.8.8.8", NULL },
	{ "[2001:DB8:0:0::1]", "2001:db8::1", NULL },
	{ "[::FFFF:127.0.0.1]", "::ffff:127.0.0.1", NULL },
	{ "127.0.0.1.evil.com", "127.0.0.1.evil.com", NULL },

	{ "", NULL, "no host" },
	{ ".", NULL, "no host" },
	{ "a..b", NULL, "empty or overlong part" },
	{ "relay.example..", NULL, "empty or overlong part" },
	{ ".example", NULL, "empty or overlong part" },
	{ "x" LABEL_63 ".example", NULL, "empty or overlong part" },
	{ "x" DOTTED_253, NULL, "host over 253 bytes" },
	{ DOTTED_253 DOTTED_253, NULL, "host over 253 bytes" },
	{ "a b", NULL, "no name has" },
	{ "a\\b", NULL, "no name has" },
	{ "a*b", NULL, "no name has" },
	{ "\xe2\x84\x80.example", NULL, "no name has" }, /* becomes "a/c.example" */
	{ "a%20b", NULL, "percent-encoded" },
	{ "\xff.example", NULL, "international" },
	{ "\xcc\x80.example", NULL, "international" }, /* an accent first */
	{ "127.1", NULL, "odd form" },
	{ "0x7f.1", NULL, "odd form" },
	{ "0x7f000001", NULL, "odd form" },
	{ "0X7F000001", NULL, "odd form" },
	{ "2130706433", NULL, "odd form" },
	{ "017700000001", NULL, "odd form" },
	{ "127.0.0.01", NULL, "odd form" },
	{ "1.2.3.4.5", NULL, "odd form" },
	{ "256.1.1.1", NULL, "odd form" },
	{ "evil.example.0x10", NULL, "odd form" },
	{ "\xef\xbc\x91\xef\xbc\x92\xef\xbc\x97.1", NULL,
	    "odd form" }, /* full-width 127 */
	{ "[::1", NULL, "no ]" },
	{ "[", NULL, "no ]" },
	{ "[]", NULL, "not an IPv6" },
	{ "[127.0.0.1]", NULL, "not an IPv6" },
	{ "[relay.example]", NULL, "not an IPv6" },
	{ "[fe80::1%25eth0]", NULL, "zone" },
	{ "[fe80::1%eth0]", NULL, "zone" },
	{ "[0000:0000:0000:0000:0000:0000:0000:0000:0000:0000]", NULL, "not an IPv6" },
};

static void
hosts_are_canonical_or_refused(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct gs_host host;
		struct gs_err err = { .code = GS_OK };
		bool ok = gs_host_parse(&host, gs_str_of(rows[i].text), &err);

		if (ok != (rows[i].host != NULL))
			fail_msg("%s: %s", rows[i].text, ok ? host.text : err.text);
		if (ok) {
			assert_string_equal(host.text, rows[i].host);
			continue;
		}
		assert_int_equal(err.code, GS_EDATA);
		if (strstr(err.text, rows[i].why) == NULL)
			fail_msg("%s: %s", rows[i].text, err.text);
	}
}

static void
a_nul_ends_no_host(void **state)
{
	struct gs_host host;

	(void)state;
	assert_false(gs_host_parse(&host, GS_STR("relay.example\0.evil"), NULL));
	assert_false(gs_host_parse(&host, GS_STR("r\xc3\xbc\0x.example"), NULL));
	assert_false(gs_host_parse(&host, GS_STR("[::1\0]"), NULL));
}

static void
local_names_are_not_public(void **state)
{
	static const char *const local[] = { "localhost", "LOCALHOST.", "a.localhost",
		"x.local", "local", "metadata.google.internal", "127.0.0.1", "[::1]",
		"0.0.0.0", "[::]" };
	static const char *const public[] = { "localhost.example",
		"localhostmagnanimus.com", "notlocalhost", "xlocal", "internal.example",
		"8.8.8.8", "[2606:4700::1]" };
	struct gs_host host;
	struct gs_err err;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(local) / sizeof(local[0]); i++) {
		assert_true(gs_host_parse(&host, gs_str_of(local[i]), &err));
		if (gs_host_check_public(&host, &err))
			fail_msg("%s", local[i]);
		assert_int_equal(err.code, GS_EDATA);
	}
	for (i = 0; i < sizeof(public) / sizeof(public[0]); i++) {
		assert_true(gs_host_parse(&host, gs_str_of(public[i]), &err));
		if (!gs_host_check_public(&host, &err))
			fail_msg("%s: %s", public[i], err.text);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(private_ranges_end_where_they_should),
		cmocka_unit_test(an_unknown_family_is_private),
		cmocka_unit_test(hosts_are_canonical_or_refused),
		cmocka_unit_test(a_nul_ends_no_host),
		cmocka_unit_test(local_names_are_not_public),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
