/* NIP-42: which key files are read, and that the answer is what a relay checks. */
#include "auth.h"

#include <fcntl.h>
#include <setjmp.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "hex.h"
#include "verify.h"

/* The examples of NIP-19, which are one pair. */
#define SECRET "67dea2ed018072d675f5415ecfaed7d2597555e202d85b3d65ea4e58d2d92ffa"
#define NSEC "nsec1vl029mgpspedva04g90vltkh6fvh240zqtv9k0t9af8935ke9laqsnlfe5"
#define PUBKEY "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e"
#define ORDER "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141"

static void
write_file(const char *path, const char *text, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
	assert_int_equal(close(fd), 0);
}

static struct gs_auth *
load(const char *text, mode_t mode, struct gs_err *err)
{
	char path[] = "/tmp/gs-auth.XXXXXX";
	int fd = mkstemp(path);
	struct gs_auth *auth;

	assert_true(fd >= 0);
	assert_int_equal(close(fd), 0);
	write_file(path, text, mode);
	*err = (struct gs_err){ .code = GS_OK };
	auth = gs_auth_load(path, err);
	assert_int_equal(unlink(path), 0);
	return auth;
}

static void
test_reads_keys(void **state)
{
	static const char *const texts[] = { SECRET, SECRET "\n", " \t" SECRET " \r\n\n",
		"67DEA2ED018072D675F5415ECFAED7D2597555E202D85B3D65EA4E58D2D92FFA\n",
		NSEC, NSEC "\n",
		"NSEC1VL029MGPSPEDVA04G90VLTKH6FVH240ZQTV9K0T9AF8935KE9LAQSNLFE5" };
	struct gs_err err;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct gs_auth *auth = load(texts[i], i % 2 == 0 ? 0600 : 0400, &err);
		char digits[64];

		assert_non_null(auth);
		(void)gs_hex_write(digits, gs_auth_pubkey(auth), 32);
		assert_memory_equal(digits, PUBKEY, sizeof(digits));
		gs_auth_free(auth);
	}
}

static void
test_refuses_what_is_no_key(void **state)
{
	static const char *const texts[] = { "", "\n", " ", "secret", SECRET "0",
		SECRET SECRET, SECRET SECRET "\n", SECRET "\n" SECRET,
		"x7dea2ed018072d675f5415ecfaed7d2597555e202d85b3d65ea4e58d2d92ffa",
		"67dea2ed018072d675f5415ecfaed7d2597555e202d85b3d65ea4e58d2d92ff\n",
		"nsec1vl029mgpspedva04g90vltkh6fvh240zqtv9k0t9af8935ke9laqsnlfe6",
		"npub10elfcs4fr0l0r8af98jlmgdh9c8tcxjvz9qkw038js35mp4dma8qzvjptg",
		"0000000000000000000000000000000000000000000000000000000000000000", ORDER,
		"ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff" };
	struct gs_err err;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		assert_null(load(texts[i], 0600, &err));
		assert_int_equal(err.code, GS_ECONFIG);
		/* What it says must not give the key away, nor what was nearly one. */
		assert_non_null(strstr(err.text, "/tmp/gs-auth."));
		assert_null(strstr(err.text, "dea2ed"));
		assert_null(strstr(err.text, "vl029"));
	}
	assert_null(load(SECRET
	    " and so on, for longer than any key can be, even one that "
	    "somebody has put many blanks around",
	    0600, &err));
	assert_int_equal(err.code, GS_ECONFIG);
	assert_non_null(strstr(err.text, "too long"));
}

static void
test_refuses_what_others_may_use(void **state)
{
	static const mode_t modes[] = { 0640, 0604, 0620, 0602, 0610, 0601, 0666, 0444 };
	struct gs_err err;

	(void)state;
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		char mode[8];

		assert_null(load(SECRET, modes[i], &err));
		assert_int_equal(err.code, GS_ECONFIG);
		(void)snprintf(mode, sizeof(mode), "%04o", (unsigned)modes[i]);
		assert_non_null(strstr(err.text, mode));
	}
}

static void
test_refuses_what_is_no_file(void **state)
{
	struct gs_err err = { .code = GS_OK };

	(void)state;
	assert_null(gs_auth_load("/nonexistent/key", &err));
	assert_int_equal(err.code, GS_ENOINPUT);
	assert_null(gs_auth_load("/tmp", &err));
	assert_int_equal(err.code, GS_ECONFIG);
	assert_null(gs_auth_load("/dev/null", &err));
	assert_int_equal(err.code, GS_ECONFIG);
	assert_non_null(strstr(err.text, "not a regular file"));
	gs_auth_free(NULL);
}

/* The event of a frame, as a relay reads it. */
static void
read_frame(struct gs_event *event, const struct gs_buf *frame)
{
	static const char beginning[] = "[\"AUTH\",{";
	struct gs_buf scratch = GS_BUF_INIT;
	const size_t at = sizeof(beginning) - 2;

	assert_true(frame->len > at + 1);
	assert_memory_equal(frame->data, beginning, at + 1);
	assert_int_equal(frame->data[frame->len - 1], ']');
	assert_int_equal(gs_event_parse(event, frame->data + at, frame->len - at - 1,
			     NULL),
	    GS_EVENT_OK);
	assert_int_equal(gs_verify_id(event, &scratch), GS_EVENT_OK);
	assert_int_equal(gs_verify_sig(event), GS_EVENT_OK);
	gs_buf_fini(&scratch);
}

static void
check_answer(const struct gs_auth *auth, struct gs_str challenge)
{
	static const char url[] = "wss://relay.example:8443/x?y=1";
	struct gs_event event = GS_EVENT_INIT;
	struct gs_buf frame = GS_BUF_INIT;

	assert_true(gs_auth_write(auth, challenge, url, 1767000000, &frame));
	read_frame(&event, &frame);
	assert_int_equal(event.kind, 22242);
	assert_int_equal(event.created_at, 1767000000);
	assert_memory_equal(event.pubkey, gs_auth_pubkey(auth), 32);
	assert_int_equal(event.num_tags, 2);
	assert_true(gs_str_is(gs_tag_value(gs_event_tag(&event, "relay")), url));
	assert_true(gs_str_equal(gs_tag_value(gs_event_tag(&event, "challenge")),
	    challenge));
	assert_int_equal(event.content.len, 0);
	gs_event_fini(&event);
	gs_buf_fini(&frame);
}

static void
test_answers(void **state)
{
	struct gs_err err;
	struct gs_auth *auth = load(SECRET, 0600, &err);
	char longest[GS_AUTH_CHALLENGE_BYTES];

	(void)state;
	assert_non_null(auth);
	check_answer(auth, GS_STR("a challenge"));
	check_answer(auth, GS_STR(""));
	check_answer(auth, GS_STR("\"],[\\\n\0\x7f\xc3\xa9"));
	memset(longest, '\\', sizeof(longest));
	check_answer(auth, (struct gs_str){ longest, sizeof(longest) });
	gs_auth_free(auth);
}

static void
test_refuses_a_long_challenge(void **state)
{
	struct gs_err err;
	struct gs_auth *auth = load(NSEC, 0600, &err);
	char text[GS_AUTH_CHALLENGE_BYTES + 1];
	struct gs_buf frame = GS_BUF_INIT;

	(void)state;
	assert_non_null(auth);
	memset(text, 'x', sizeof(text));
	gs_buf_add_char(&frame, '.');
	assert_false(gs_auth_write(auth, (struct gs_str){ text, sizeof(text) },
	    "wss://relay.example", 1767000000, &frame));
	assert_int_equal(frame.len, 1);
	gs_buf_fini(&frame);
	gs_auth_free(auth);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reads_keys),
		cmocka_unit_test(test_refuses_what_is_no_key),
		cmocka_unit_test(test_refuses_what_others_may_use),
		cmocka_unit_test(test_refuses_what_is_no_file),
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_refuses_a_long_challenge),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
