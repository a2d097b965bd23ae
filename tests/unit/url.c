/* Relay URLs as they are found in the wild: canonical, or refused and why; services. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "url.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

struct row {
	const char *text;
	const char *url; /* canonical, or NULL */
	const char *why; /* part of the reason */
};

#define HEX_64 "fbfbfbfbfbfbfbfbfbfbfbfbfbfbfbfbfbfbfbfbfbfbfbfbfbfbfbfbfbfbfbfb"

static const struct row strangers[] = {
	/* slash twins, case, blanks around */
	{ "wss://nos.lol", "wss://nos.lol", NULL },
	{ "wss://nos.lol/", "wss://nos.lol", NULL },
	{ "Wss://relay.nostr.band", "wss://relay.nostr.band", NULL },
	{ "WSS://RELAY.Example/Path", "wss://relay.example/Path", NULL },
	{ " \t\nwss://nos.lol/\r\n", "wss://nos.lol", NULL },
	{ "wss://nos.lol./", "wss://nos.lol", NULL },
	/* no scheme */
	{ "nostr.mom", "wss://nostr.mom", NULL },
	{ "git.shakespeare.diy", "wss://git.shakespeare.diy", NULL },
	{ "localhostmagnanimus.com", "wss://localhostmagnanimus.com", NULL },
	{ "nostr.mom:7777/x", "wss://nostr.mom:7777/x", NULL },
	{ "localhost:4036", NULL, "local machine" },
	{ "localhost:4036/relay", NULL, "local machine" },
	{ "LOCALHOST:8080", NULL, "local machine" },
	/* other schemes */
	{ "https://nostr.mom/", "wss://nostr.mom", NULL },
	{ "http://x.com/y", "ws://x.com/y", NULL },
	{ "HTTPS://nostr.mom:443", "wss://nostr.mom", NULL },
	{ "https://mastodon.social/users/x", "wss://mastodon.social/users/x", NULL },
	{ "ftp://relay.example", NULL, "scheme is not" },
	{ "nostr://nrelay1qqt", NULL, "scheme is not" },
	{ "git:://123", NULL, "scheme is not" },
	/* typing errors */
	{ "Wws://relay.example", NULL, "scheme is not" },
	{ "ww://relay.example", NULL, "scheme is not" },
	{ "was://relay.example", NULL, "scheme is not" },
	{ "wss:/nostr.land/", NULL, "port is not" },
	{ "wss//x", NULL, "in place of the host" },
	{ "wss://", NULL, "no host" },
	{ "wss:///path", NULL, "no host" },
	{ "wss://:443", NULL, "no host" },
	{ "wss://nos.lol:", NULL, "port is not" },
	{ "", NULL, "empty" },
	{ " \n", NULL, "empty" },
	/* local */
	{ "ws://127.0.0.1:7777", NULL, "private or reserved" },
	{ "ws://localhost:8055", NULL, "local machine" },
	{ "wss://localhost./", NULL, "local machine" },
	{ "wss://a.localhost", NULL, "local machine" },
	{ "wss://printer.local", NULL, "local machine" },
	{ "http://metadata.google.internal/", NULL, "local machine" },
	{ "ws://geyser-relay:7777/", "ws://geyser-relay:7777",
	    NULL }, /* its address decides */
	{ "ws://[31b:6f20:c7f2:3ddf::3221]/", NULL, "private or reserved" },
	{ "ws://[::ffff:127.0.0.1]", NULL, "private or reserved" },
	{ "ws://[::]", NULL, "private or reserved" },
	{ "ws://0.0.0.0", NULL, "private or reserved" },
	{ "ws://169.254.169.254/", NULL, "private or reserved" },
	{ "ws://100.100.100.200/", NULL, "private or reserved" },
	{ "ws://[fd00:ec2::254]/", NULL, "private or reserved" },
	{ "ws://0x7f.1", NULL, "odd form" },
	{ "ws://2130706433", NULL, "odd form" },
	{ "ws://017700000001", NULL, "odd form" },
	{ "ws://127.1", NULL, "odd form" },
	{ "ws://[fe80::1%25eth0]", NULL, "zone" },
	/* looks local, is not */
	{ "wss://127.0.0.1.evil.com", "wss://127.0.0.1.evil.com", NULL },
	{ "wss://192.168.evil.com", "wss://192.168.evil.com", NULL },
	{ "192.168.evil.com", "wss://192.168.evil.com", NULL },
	{ "wss://evil.example.com/127.0.0.1", "wss://evil.example.com/127.0.0.1", NULL },
	{ "relay.com/x://127.0.0.1", NULL, "a second ://" },
	{ "ws://localhost.example:7777", "ws://localhost.example:7777", NULL },
	{ "notlocalhost.example.com", "wss://notlocalhost.example.com", NULL },
	{ "ws://7f000001.nip.io", "ws://7f000001.nip.io", NULL },
	/* public addresses */
	{ "ws://8.8.8.8", "ws://8.8.8.8", NULL },
	{ "ws://[2606:4700:0:0::1]:80/", "ws://[2606:4700::1]", NULL },
	{ "wss://[2606:4700::1]:4848/x", "wss://[2606:4700::1]:4848/x", NULL },
	{ "ws://[2001:DB8::1]", NULL, "private or reserved" },
	{ "ws://[2001:db8:0:0::1]", NULL, "private or reserved" },
	{ "2606:4700::1", NULL, "port is not" },
	{ "wss://[2606:4700::1]x:443", NULL, "no ]" },
	{ "wss://[2606:4700::1", NULL, "no ]" },
	/* Tor */
	{ "abc.onion:8080", "wss://abc.onion:8080", NULL },
	/* several in one */
	{ "wss://relay.damus.io,ws://127.0.0.1:7777", NULL, "a comma" },
	{ "wss://relay.damus.iowss://127.0.0.1:8888", NULL, "a second ://" },
	{ "wss://nos.lol/ wss:/nostr.land/  avatar wss:/nostr.wine/", NULL, "a blank" },
	/* blanks, control bytes, invisible characters */
	{ "wss://nostr.mom%20", NULL, "percent-encoded" },
	{ "wss://africa.nostr.joburg%0A/", NULL, "percent-encoded" },
	{ "wss://relay.example%00", NULL, "percent-encoded" },
	{ "wss://nos lol", NULL, "a blank" },
	{ "wss://nos.lol\nwss://x.example", NULL, "a blank" },
	{ "wss://nos.lol/a\tb", NULL, "a blank" },
	{ "wss://nos.lol/\x01", NULL, "a control byte" },
	{ "wss://nos.lol/\x7f", NULL, "a control byte" },
	{ "\xef\xbb\xbfwss://nos.lol", NULL, "scheme is not" }, /* byte order mark */
	{ "\xe2\x80\x8bwss://nos.lol", NULL, "scheme is not" }, /* zero width space */
	{ "\xe2\x80\x8bnos.lol", "wss://nos.lol", NULL },	/* IDNA drops it */
	{ "wss://nos\xc2\xa0lol", NULL, "no name has" }, /* IDNA makes it a blank */
	/* punctuation, user names */
	{ "wss://bitcoiner,social/", NULL, "a comma" },
	{ "wss://catuaba@plebs.place/", NULL, "user name" },
	{ "wss://user:secret@plebs.place/", NULL, "user name" },
	{ "name@domain.com", NULL, "user name" },
	{ "wss://#web3/", NULL, "no host" },
	{ "wss://\\\\relay.damus.io/", NULL, "no name has" },
	{ "wss://relay.damus.io\\@evil.example/", NULL, "user name" },
	{ "//relay.most.pub/", NULL, "no host" },
	/* scheme twice */
	{ "wss://https//nostr.watch/relay/x", NULL, "in place of the host" },
	{ "wss://https://lockbox.fiatjaf.com", NULL, "a second ://" },
	{ "ws://http//nos.lol", NULL, "in place of the host" },
	{ "wss://://plebstr.com", NULL, "a second ://" },
	{ "wss://http://host", NULL, "a second ://" },
	{ "://plebstr.com", NULL, "scheme is not" },
	/* no URLs */
	{ "31990:" HEX_64 ":mostr", NULL, "port is not" },
	{ "nostr:askjd", NULL, "port is not" },
	{ "wss://relay%20list%20to%20discover", NULL, "percent-encoded" },
	/* queries, fragments, paths */
	{ "wss://bostr.lecturify.net/?accept=0,1", NULL, "a comma" },
	{ "wss://bostr.lecturify.net/?accept=0", "wss://bostr.lecturify.net?accept=0",
	    NULL },
	{ "x.com/?x=23", "wss://x.com?x=23", NULL },
	{ "x.com?x=23", "wss://x.com?x=23", NULL },
	{ "wss://x.com/a?b=c@d", "wss://x.com/a?b=c@d", NULL },
	{ "wss://x.com/#top", "wss://x.com", NULL },
	{ "wss://x.com/a#top", "wss://x.com/a", NULL },
	{ "wss://x.com?u=https://y.com", NULL, "a second ://" },
	{ "wss://example.com//path", "wss://example.com//path", NULL },
	{ "wss://example.com//", "wss://example.com//", NULL },
	{ "wss://example.com/path/", "wss://example.com/path/", NULL },
	{ "wss://example.com/%7euser/../A", "wss://example.com/%7euser/../A", NULL },
	{ "wss://example.com/\xc3\xbc", "wss://example.com/\xc3\xbc", NULL },
	{ "wss://example.com/\xc3", NULL, "not UTF-8" },
	{ "wss://example.com/\xed\xa0\x80", NULL, "not UTF-8" },
	{ "wss://example.com/\xc0\xaf", NULL, "not UTF-8" },
	{ "wss://example.com/\xf4\x90\x80\x80", NULL, "not UTF-8" },
	{ "wss://example.com/\xf0\x9f\x9a\x80", "wss://example.com/\xf0\x9f\x9a\x80",
	    NULL },
	{ "wss://ditto.pub/relay", "wss://ditto.pub/relay", NULL },
	/* ports */
	{ "wss://h.example:443/", "wss://h.example", NULL },
	{ "ws://h.example:80/", "ws://h.example", NULL },
	{ "ws://h.example:443/", "ws://h.example:443", NULL },
	{ "wss://h.example:80/", "wss://h.example:80", NULL },
	{ "wss://h.example:1024", "wss://h.example:1024", NULL },
	{ "wss://h.example:65535", "wss://h.example:65535", NULL },
	{ "wss://h.example:65536", NULL, "port is not" },
	{ "wss://h.example:0", NULL, "port is not" },
	{ "wss://h.example:0443", NULL, "port is not" },
	{ "wss://h.example:+443", NULL, "port is not" },
	{ "wss://h.example:22", NULL, "below 1024" },
	{ "wss://h.example:25", NULL, "below 1024" },
	{ "wss://h.example:1023", NULL, "below 1024" },
	{ "wss://h.example:3306", NULL, "well-known service" },
	{ "wss://h.example:5432", NULL, "well-known service" },
	{ "wss://h.example:6379", NULL, "well-known service" },
	{ "wss://h.example:9200", NULL, "well-known service" },
	{ "wss://h.example:11211", NULL, "well-known service" },
	{ "wss://h.example:27017", NULL, "well-known service" },
	{ "ws%3A%2F%2F", NULL, "percent-encoded" },
	{ "h%3A443", NULL, "percent-encoded" },
	/* names */
	{ "wss://b\xc3\xbc"
	  "cher.example",
	    "wss://xn--bcher-kva.example", NULL },
	{ "wss://xn--bcher-kva.example", "wss://xn--bcher-kva.example", NULL },
};

static const struct row friends[] = {
	{ "localhost:8080", "wss://localhost:8080", NULL },
	{ "LOCALHOST:8080", "wss://localhost:8080", NULL },
	{ "ws://127.0.0.1:7777/", "ws://127.0.0.1:7777", NULL },
	{ "ws://[::1]:7777", "ws://[::1]:7777", NULL },
	{ "ws://[0:0:0:0:0:0:0:1]:80", "ws://[::1]", NULL },
	{ "wss://localhost./", "wss://localhost", NULL },
	{ "ws://relay:6379", "ws://relay:6379", NULL },
	{ "ws://relay.lan:81", "ws://relay.lan:81", NULL },
	{ "ws://[31b:6f20:c7f2:3ddf::3221]/", "ws://[31b:6f20:c7f2:3ddf::3221]", NULL },
	{ "ws://127.1", NULL, "odd form" },
	{ "ws://a@127.0.0.1", NULL, "user name" },
};

static void
check_row(const struct row *row, bool allow_private)
{
	struct gs_err err = { .code = GS_OK };
	struct gs_url url, again;
	bool ok = gs_url_parse_relay(&url, gs_str_of(row->text), allow_private, &err);

	if (ok != (row->url != NULL))
		fail_msg("%s: %s", row->text, ok ? url.text : err.text);
	if (!ok) {
		assert_int_equal(err.code, GS_EDATA);
		if (strstr(err.text, row->why) == NULL)
			fail_msg("%s: %s", row->text, err.text);
		return;
	}
	assert_string_equal(url.text, row->url);
	assert_true(gs_url_parse_relay(&again, gs_str_of(url.text), allow_private, NULL));
	assert_string_equal(again.text, url.text);
}

static void
urls_of_strangers(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < LENGTH(strangers); i++)
		check_row(&strangers[i], false);
}

static void
urls_with_allow_private(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < LENGTH(friends); i++)
		check_row(&friends[i], true);
}

static void
parts_are_taken_apart(void **state)
{
	struct gs_url url;

	(void)state;
	assert_true(gs_url_parse_relay(&url, GS_STR("WSS://[2606:4700::1]:4848/a?b"),
	    false, NULL));
	assert_true(url.tls);
	assert_int_equal(url.port, 4848);
	assert_string_equal(url.host, "2606:4700::1");
	assert_string_equal(url.path, "/a?b");
	assert_true(gs_url_parse_relay(&url, GS_STR("http://A.example/?b"), false, NULL));
	assert_false(url.tls);
	assert_int_equal(url.port, 80);
	assert_string_equal(url.host, "a.example");
	assert_string_equal(url.path, "?b");
	assert_true(gs_url_parse_relay(&url, GS_STR("a.example"), false, NULL));
	assert_int_equal(url.port, 443);
	assert_string_equal(url.path, "");
}

static void
length_is_bounded(void **state)
{
	char text[GS_URL_BYTES + 16];
	struct gs_url url;
	struct gs_err err;

	(void)state;
	memset(text, 'a', sizeof(text));
	memcpy(text, "wss://x.example/", 16);
	assert_true(gs_url_parse_relay(&url, (struct gs_str){ text, GS_URL_BYTES }, false,
	    &err));
	assert_int_equal(strlen(url.text), GS_URL_BYTES);
	assert_false(gs_url_parse_relay(&url, (struct gs_str){ text, GS_URL_BYTES + 1 },
	    false, &err));
	assert_string_equal(err.text, "over 255 bytes");
	/* the scheme that a bare host gets makes it too long */
	memcpy(text, "xyz.x.example/aa", 16);
	assert_false(gs_url_parse_relay(&url, (struct gs_str){ text, GS_URL_BYTES },
	    false, &err));
	assert_string_equal(err.text, "over 255 bytes");
}

static void
nul_is_a_control_byte(void **state)
{
	struct gs_url url;
	struct gs_err err;

	(void)state;
	assert_false(gs_url_parse_relay(&url, GS_STR("wss://a.example\0/"), false, &err));
	assert_string_equal(err.text, "a control byte inside");
	assert_false(gs_url_parse_relay(&url, (struct gs_str){ NULL, 0 }, false, &err));
	assert_string_equal(err.text, "empty");
}

static const struct row services[] = {
	{ "git.example.com", "git.example.com", NULL },
	{ "GIT.Example.com./", "git.example.com", NULL },
	{ "https://git.example.com/", "git.example.com", NULL },
	{ "wss://git.example.com:443", "git.example.com", NULL },
	{ "git.example.com:80", "git.example.com", NULL },
	{ "git.example.com:8443/grasp/", "git.example.com:8443/grasp", NULL },
	{ "git.example.com/a/b//", "git.example.com/a/b", NULL },
	{ "b\xc3\xbc"
	  "cher.example",
	    "xn--bcher-kva.example", NULL },
	{ "localhost:3000", "localhost:3000", NULL },
	{ "[::1]:3000/x", "[::1]:3000/x", NULL },
	{ "", NULL, "empty" },
	{ "https://", NULL, "no host" },
	{ "/grasp", NULL, "no host" },
	{ "ftp://git.example.com", NULL, "scheme is not" },
	{ "me@git.example.com", NULL, "user name" },
	{ "git.example.com?x", NULL, "query" },
	{ "git.example.com/#x", NULL, "query" },
	{ "git example", NULL, "a blank" },
	{ "git.example.com:x", NULL, "port is not" },
	{ "127.1", NULL, "odd form" },
};

static void
services_are_canonical_or_refused(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < LENGTH(services); i++) {
		struct gs_err err = { .code = GS_OK };
		struct gs_service service;
		bool ok = gs_service_parse(&service, gs_str_of(services[i].text), &err);

		if (ok != (services[i].url != NULL))
			fail_msg("%s: %s", services[i].text,
			    ok ? service.text : err.text);
		if (ok)
			assert_string_equal(service.text, services[i].url);
		else if (strstr(err.text, services[i].why) == NULL)
			fail_msg("%s: %s", services[i].text, err.text);
	}
}

struct match {
	const char *service;
	const char *text;
	bool is_clone;
	bool is_relay;
};

#define G "gitnostr.com"
#define NPUB "npub1aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static const struct match matches[] = {
	{ G, "https://gitnostr.com", true, false },
	{ G, "https://gitnostr.com/", true, false },
	{ G, "https://gitnostr.com/" NPUB "/repo.git", true, false },
	{ G, "https://gitnostr.com/" NPUB "/repo.git/", true, false },
	{ G, "https://gitnostr.com/" NPUB "/repo", true,
	    false }, /* the path is not judged */
	{ G, "https://gitnostr.com/nsec1x/repo.git", true, false },
	{ G, "https://gitnostr.com/" NPUB "/my repo, the first.git", true, false },
	{ G, " HTTPS://GITNOSTR.com/x.git\n", true, false },
	{ G, "http://gitnostr.com/x.git", true, false },
	{ G, "https://gitnostr.com:443/x.git", true, false },
	{ G, "http://gitnostr.com:443/x.git", true, false },
	{ G, "https://gitnostr.com:80/x.git", true, false },
	{ G, "https://gitnostr.com:8443/x.git", false, false },
	{ G, "https://gitnostr.com./x.git", true, false },
	{ G, "https://gitnostr.com?x", true, false },
	{ G, "gitnostr.com/x.git", false, true }, /* a bare host is a relay only */
	{ G, "wss://gitnostr.com", false, true },
	{ G, "wss://gitnostr.com/", false, true },
	{ G, "WSS://GitNostr.com.", false, true },
	{ G, "ws://gitnostr.com:443/x", false, true },
	{ G, "wss://gitnostr.com:80", false, true },
	{ G, "wss://gitnostr.com:8443", false, false },
	{ G, "gitnostr.com", false, true },
	{ G, "https://evil.x/gitnostr.com", false, false },
	{ G, "https://evil.x/?https://gitnostr.com", false, false },
	{ G, "https://evil.x/#gitnostr.com", false, false },
	{ G, "wss://gitnostr.com.evil.x", false, false },
	{ G, "https://gitnostr.com.evil.x", false, false },
	{ G, "wss://domain.gitnostr.com", false, false },
	{ G, "https://xgitnostr.com", false, false },
	{ G, "https://gitnostr.com@evil.x/", false, false },
	{ G, "https://evil.x@gitnostr.com/", false, false },
	{ G, "wss://evil.x@gitnostr.com/", false, false },
	{ G, "https://gitnostr.com\\@evil.x/", false, false },
	{ G, "https://gitnostr.com%2f/", false, false },
	{ G, "ssh://gitnostr.com/x.git", false, false },
	{ G, "git@gitnostr.com:x.git", false, false },
	{ G, "wss://gitnostr.com,wss://x.example", false, false },
	{ G, "wss://gitnostr.com wss://x.example", false, false },
	{ G, "", false, false },
	{ "gitnostr.com:8443", "https://gitnostr.com:8443/x.git", true, false },
	{ "gitnostr.com:8443", "ws://gitnostr.com:8443", false, true },
	{ "gitnostr.com:8443", "https://gitnostr.com/x.git", false, false },
	{ "gitnostr.com:8443", "https://gitnostr.com:443/x.git", false, false },
	{ "gitnostr.com:80", "https://gitnostr.com/x.git", true, false },
	{ "gitnostr.com/grasp", "https://gitnostr.com/grasp", true, false },
	{ "gitnostr.com/grasp", "https://gitnostr.com/grasp/" NPUB "/x.git", true,
	    false },
	{ "gitnostr.com/grasp", "https://gitnostr.com/graspx/x.git", false, false },
	{ "gitnostr.com/grasp", "https://gitnostr.com/Grasp/x.git", false, false },
	{ "gitnostr.com/grasp", "https://gitnostr.com/x/grasp", false, false },
	{ "gitnostr.com/grasp", "https://gitnostr.com/", false, false },
	{ "gitnostr.com/grasp", "wss://gitnostr.com/grasp/", false, true },
	{ "gitnostr.com/grasp", "wss://gitnostr.com/grasp?x", false, true },
	{ "gitnostr.com/grasp", "wss://gitnostr.com", false, false },
	{ "gitnostr.com/a/b", "https://gitnostr.com/a/b/c", true, false },
	{ "gitnostr.com/a/b", "https://gitnostr.com/a/bc", false, false },
	{ "b\xc3\xbc"
	  "cher.example",
	    "https://xn--bcher-kva.example/x.git", true, false },
	{ "xn--bcher-kva.example",
	    "wss://B\xc3\x9c"
	    "CHER.example",
	    false, true },
	{ "127.0.0.1:7777", "ws://127.0.0.1:7777", false, true },
	{ "[::1]:7777", "ws://[0::1]:7777", false, true },
};

static void
services_match_by_parts(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < LENGTH(matches); i++) {
		const struct match *match = &matches[i];
		struct gs_service service;
		struct gs_str text = gs_str_of(match->text);

		assert_true(gs_service_parse(&service, gs_str_of(match->service), NULL));
		if (gs_service_is_clone(&service, text) != match->is_clone)
			fail_msg("%s as clone of %s", match->text, match->service);
		if (gs_service_is_relay(&service, text) != match->is_relay)
			fail_msg("%s as relay of %s", match->text, match->service);
	}
}

static void
nothing_is_no_clone(void **state)
{
	struct gs_service service;

	(void)state;
	assert_true(gs_service_parse(&service, GS_STR(G), NULL));
	assert_false(gs_service_is_clone(&service, (struct gs_str){ NULL, 0 }));
	assert_false(gs_service_is_relay(&service, (struct gs_str){ NULL, 0 }));
	assert_false(gs_service_is_clone(&service, GS_STR("https://gitnostr.com\0/")));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(urls_of_strangers),
		cmocka_unit_test(urls_with_allow_private),
		cmocka_unit_test(parts_are_taken_apart),
		cmocka_unit_test(length_is_bounded),
		cmocka_unit_test(nul_is_a_control_byte),
		cmocka_unit_test(services_are_canonical_or_refused),
		cmocka_unit_test(services_match_by_parts),
		cmocka_unit_test(nothing_is_no_clone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
