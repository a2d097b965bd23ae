/*
 * Who we are to a relay (NIP-42).  The key is read straight into locked memory: no
 * buffer that grows may leave a copy behind.
 */
#include "auth.h"

#include <errno.h>
#include <secp256k1.h>
#include <secp256k1_extrakeys.h>
#include <secp256k1_schnorrsig.h>
#include <sodium.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "event.h"
#include "file.h"
#include "nip19.h"

#define AUTH_KIND 22242
#define KEY_LEN 32
#define FILE_BYTES 128 /* the longest key, and blanks around it */
#define OTHERS (S_IRWXG | S_IRWXO)

struct gs_auth {
	secp256k1_context *secp;
	secp256k1_keypair pair;
	uint8_t pubkey[KEY_LEN];
	/* only while the key is read */
	uint8_t secret[KEY_LEN];
	char text[FILE_BYTES];
	size_t text_len;
};

static bool
check_mode(int fd, const char *path, struct gs_err *err)
{
	struct stat st;

	if (fstat(fd, &st) != 0)
		return gs_fail(err, GS_ECONFIG, "%s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return gs_fail(err, GS_ECONFIG, "%s: not a regular file", path);
	if ((st.st_mode & OTHERS) != 0)
		return gs_fail(err, GS_ECONFIG,
		    "%s: mode %04o lets others at the key, 0600 would not", path,
		    (unsigned)(st.st_mode & 07777));
	return true;
}

/* All of the file, as far as there is room for it. */
static bool
read_text(struct gs_auth *auth, int fd, const char *path, struct gs_err *err)
{
	ssize_t got = 1;

	while (got != 0 && auth->text_len < sizeof(auth->text)) {
		got = read(fd, auth->text + auth->text_len,
		    sizeof(auth->text) - auth->text_len);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return gs_fail(err, GS_ECONFIG, "%s: %s", path, strerror(errno));
		auth->text_len += (size_t)got;
	}
	if (got != 0)
		return gs_fail(err, GS_ECONFIG, "%s: too long for a key", path);
	return true;
}

static bool
read_file(struct gs_auth *auth, const char *path, struct gs_err *err)
{
	int fd = gs_file_open(path, err);
	bool ok;

	if (fd < 0)
		return false;
	ok = check_mode(fd, path, err) && read_text(auth, fd, path, err);
	if (fd != STDIN_FILENO)
		(void)close(fd);
	return ok;
}

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool
parse_key(struct gs_auth *auth)
{
	struct gs_str text = { auth->text, auth->text_len };
	size_t len;

	while (text.len > 0 && is_blank(text.ptr[text.len - 1]))
		text.len--;
	for (; text.len > 0 && is_blank(text.ptr[0]); text.len--)
		text.ptr++;
	if (text.len != 2 * KEY_LEN)
		return gs_nip19_parse_nsec(auth->secret, text);
	return sodium_hex2bin(auth->secret, KEY_LEN, text.ptr, text.len, NULL, &len,
		   NULL) == 0 &&
	    len == KEY_LEN;
}

/* The key pair; false if the secret is 0 or beyond the order of the curve. */
static bool
make_pair(struct gs_auth *auth)
{
	secp256k1_xonly_pubkey pubkey;
	uint8_t seed[KEY_LEN];

	randombytes_buf(seed, sizeof(seed));
	/* Blinds what the secret's arithmetic could give away by its timing. */
	return secp256k1_context_randomize(auth->secp, seed) &&
	    secp256k1_keypair_create(auth->secp, &auth->pair, auth->secret) &&
	    secp256k1_keypair_xonly_pub(auth->secp, &pubkey, NULL, &auth->pair) &&
	    secp256k1_xonly_pubkey_serialize(auth->secp, auth->pubkey, &pubkey);
}

static struct gs_auth *
new_locked(struct gs_err *err)
{
	struct gs_auth *auth = sodium_malloc(sizeof(*auth));

	/* sodium_malloc locks too, but does not say whether it could. */
	if (auth == NULL || sodium_mlock(auth, sizeof(*auth)) != 0) {
		gs_fail(err, GS_ECONFIG, "memory for the key can't be locked: %s",
		    strerror(errno));
		sodium_free(auth);
		return NULL;
	}
	sodium_memzero(auth, sizeof(*auth));
	auth->secp = secp256k1_context_create(SECP256K1_CONTEXT_NONE);
	return auth;
}

struct gs_auth *
gs_auth_load(const char *path, struct gs_err *err)
{
	struct gs_auth *auth = new_locked(err);
	bool ok;

	if (auth == NULL)
		return NULL;
	ok = read_file(auth, path, err);
	if (ok && !parse_key(auth))
		ok = gs_fail(err, GS_ECONFIG, "%s: neither 64 hex digits nor an nsec",
		    path);
	if (ok && !make_pair(auth))
		ok = gs_fail(err, GS_ECONFIG, "%s: not a key of secp256k1", path);
	sodium_memzero(auth->secret, sizeof(auth->secret));
	sodium_memzero(auth->text, sizeof(auth->text));
	if (ok)
		return auth;
	gs_auth_free(auth);
	return NULL;
}

void
gs_auth_free(struct gs_auth *auth)
{
	if (auth == NULL)
		return;
	secp256k1_context_destroy(auth->secp);
	sodium_free(auth); /* overwrites it first */
}

const uint8_t *
gs_auth_pubkey(const struct gs_auth *auth)
{
	return auth->pubkey;
}

/* Fills in key, id and signature. */
static bool
sign_event(const struct gs_auth *auth, struct gs_event *event)
{
	struct gs_buf scratch = GS_BUF_INIT;
	uint8_t noise[KEY_LEN];

	memcpy(event->pubkey, auth->pubkey, sizeof(event->pubkey));
	gs_event_compute_id(event, &scratch, event->id);
	gs_buf_fini(&scratch);
	randombytes_buf(noise, sizeof(noise));
	return secp256k1_schnorrsig_sign32(auth->secp, event->sig, event->id, &auth->pair,
	    noise);
}

bool
gs_auth_write(const struct gs_auth *auth, struct gs_str challenge, const char *url,
    int64_t created_at, struct gs_buf *buf)
{
	const struct gs_str relay_tag[] = { GS_STR("relay"), gs_str_of(url) };
	const struct gs_str challenge_tag[] = { GS_STR("challenge"), challenge };
	struct gs_tag tags[] = { { relay_tag, 2 }, { challenge_tag, 2 } };
	struct gs_event event = { .kind = AUTH_KIND,
		.created_at = created_at,
		.tags = tags,
		.num_tags = 2,
		.content = GS_STR("") };

	if (challenge.len > GS_AUTH_CHALLENGE_BYTES || !sign_event(auth, &event))
		return false;
	gs_buf_add_str(buf, "[\"AUTH\",");
	gs_event_write(&event, buf);
	gs_buf_add_char(buf, ']');
	return true;
}
