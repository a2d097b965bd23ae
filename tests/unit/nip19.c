/* Names of keys and events: the examples of NIP-19, both cases, every way to be wrong. */
#include "nip19.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "hex.h"

static const char example[] =
    "npub10elfcs4fr0l0r8af98jlmgdh9c8tcxjvz9qkw038js35mp4dma8qzvjptg";
static const char example_hex[] =
    "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e";

static const char secret[] =
    "nsec1vl029mgpspedva04g90vltkh6fvh240zqtv9k0t9af8935ke9laqsnlfe5";
static const char secret_hex[] =
    "67dea2ed018072d675f5415ecfaed7d2597555e202d85b3d65ea4e58d2d92ffa";

#define EXAMPLE_LEN (sizeof(example) - 1)

static bool
is_read(const char *text, size_t len)
{
	uint8_t pubkey[32];

	return gs_nip19_parse_npub(pubkey, (struct gs_str){ text, len });
}

static void
test_reads_the_example(void **state)
{
	uint8_t pubkey[32];
	char digits[64];

	(void)state;
	assert_true(gs_nip19_parse_npub(pubkey, gs_str_of(example)));
	(void)gs_hex_write(digits, pubkey, sizeof(pubkey));
	assert_memory_equal(digits, example_hex, sizeof(digits));
}

static void
test_reads_upper_case_alone(void **state)
{
	char text[EXAMPLE_LEN];
	size_t i;

	(void)state;
	for (i = 0; i < EXAMPLE_LEN; i++)
		text[i] = example[i] >= 'a' && example[i] <= 'z'
		    ? (char)(example[i] - 'a' + 'A')
		    : example[i];
	assert_true(is_read(text, EXAMPLE_LEN));
	text[EXAMPLE_LEN - 1] = 'g';
	assert_false(is_read(text, EXAMPLE_LEN));
}

static void
test_refuses_every_changed_byte(void **state)
{
	char text[EXAMPLE_LEN];
	size_t i;
	int c;

	(void)state;
	for (i = 0; i < EXAMPLE_LEN; i++)
		for (c = 0; c < 256; c++) {
			memcpy(text, example, EXAMPLE_LEN);
			text[i] = (char)c;
			assert_int_equal(is_read(text, EXAMPLE_LEN),
			    (char)c == example[i]);
		}
}

static void
test_refuses_other_names(void **state)
{
	/* The last four: bits behind the key, checksum of bech32m, a note, no name. */
	static const char *const names[] = { "", "npub1", "npub",
		"npub10elfcs4fr0l0r8af98jlmgdh9c8tcxjvz9qkw038js35mp4dma8qzvjpt",
		"npub10elfcs4fr0l0r8af98jlmgdh9c8tcxjvz9qkw038js35mp4dma8qzvjptgg",
		" npub10elfcs4fr0l0r8af98jlmgdh9c8tcxjvz9qkw038js35mp4dma8qzvjptg",
		"nsec1vl029mgpspedva04g90vltkh6fvh240zqtv9k0t9af8935ke9laqsnlfe5",
		"npub10elfcs4fr0l0r8af98jlmgdh9c8tcxjvz9qkw038js35mp4dma8pl6x5k6",
		"npub10elfcs4fr0l0r8af98jlmgdh9c8tcxjvz9qkw038js35mp4dma8qhszdw2",
		"note10elfcs4fr0l0r8af98jlmgdh9c8tcxjvz9qkw038js35mp4dma8qnx3ujq",
		"7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e" };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_false(is_read(names[i], strlen(names[i])));
	assert_false(is_read(NULL, 0));
}

static void
test_reads_a_secret_as_nothing_else(void **state)
{
	uint8_t key[32];
	char digits[64];

	(void)state;
	assert_true(gs_nip19_parse_nsec(key, gs_str_of(secret)));
	(void)gs_hex_write(digits, key, sizeof(key));
	assert_memory_equal(digits, secret_hex, sizeof(digits));
	assert_false(gs_nip19_parse_npub(key, gs_str_of(secret)));
	assert_false(gs_nip19_parse_nsec(key, gs_str_of(example)));
	assert_false(gs_nip19_parse_nsec(key, gs_str_of(secret_hex)));
	assert_false(gs_nip19_parse_nsec(key, gs_str_of("")));
}

static void
test_reads_events(void **state)
{
	static const char note[] =
	    "note10elfcs4fr0l0r8af98jlmgdh9c8tcxjvz9qkw038js35mp4dma8qnx3"
	    "ujq";
	/* with the id alone; with a relay before it, an author and a kind behind it */
	static const char *const names[] = {
		"nevent1qqs8ul5ug253hlh3n75jne0a5xmjur4urfxpzst88cnegg6ds6ka7"
		"nspqaj0w",
		"nevent1qy8hwumn8ghj7u3wv4uxzmtsd3jsqgr706wy92gmlmcel2ffuh76r"
		"dewp67p5nq3g9nnufu5ydxcdtwlfcpzqyg3zyg3zyg3zyg3zyg3zyg3zyg3z"
		"yg3zyg3zyg3zyg3zyg3zyg3qvzqqqqx2560ek7v"
	};
	uint8_t id[32];
	char digits[64];
	size_t i;

	(void)state;
	assert_true(gs_nip19_parse_note(id, gs_str_of(note)));
	(void)gs_hex_write(digits, id, sizeof(id));
	assert_memory_equal(digits, example_hex, sizeof(digits));
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		memset(id, 0, sizeof(id));
		assert_true(gs_nip19_parse_nevent(id, gs_str_of(names[i])));
		(void)gs_hex_write(digits, id, sizeof(id));
		assert_memory_equal(digits, example_hex, sizeof(digits));
		assert_false(gs_nip19_parse_note(id, gs_str_of(names[i])));
		assert_false(gs_nip19_parse_npub(id, gs_str_of(names[i])));
	}
	assert_false(gs_nip19_parse_nevent(id, gs_str_of(note)));
}

static void
test_refuses_broken_events(void **state)
{
	/* empty, a short id, a type alone, a cut value, no id, a profile, a cut id */
	static const char *const names[] = { "", "nevent1", "nevent1c3esv7",
		"nevent1qq0hul5ug253hlh3n75jne0a5xmjur4urfxpzst88cnegg6ds6ka7"
		"g03gg7",
		"nevent1qqs8ul5ug253hlh3n75jne0a5xmjur4urfxpzst88cnegg6ds6ka7"
		"nspqaj00p",
		"nevent1qqs8ul5ug253hlh3n75jne0a5xmjur4urfxpzst88cnegg6ds6ka7"
		"nspq4skycc9ewk50",
		"nevent1qgs8ul5ug253hlh3n75jne0a5xmjur4urfxpzst88cnegg6ds6ka7"
		"nsfkm9ty",
		"nprofile1qqs8ul5ug253hlh3n75jne0a5xmjur4urfxpzst88cnegg6ds6k"
		"a7nsz6vqwn",
		"nevent1qqshul5ug253hlh3n75jne0a5xmjur4urfxpzst88cnegg6ds6ka7"
		"nsj8m4rq" };
	char text[6000];
	uint8_t id[32];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_false(gs_nip19_parse_nevent(id, gs_str_of(names[i])));
	memset(text, 'q', sizeof(text));
	memcpy(text, "nevent1", 7);
	assert_false(gs_nip19_parse_nevent(id, (struct gs_str){ text, sizeof(text) }));
	assert_false(gs_nip19_parse_nevent(id, (struct gs_str){ text, 5000 }));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reads_the_example),
		cmocka_unit_test(test_reads_upper_case_alone),
		cmocka_unit_test(test_refuses_every_changed_byte),
		cmocka_unit_test(test_refuses_other_names),
		cmocka_unit_test(test_reads_a_secret_as_nothing_else),
		cmocka_unit_test(test_reads_events),
		cmocka_unit_test(test_refuses_broken_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
