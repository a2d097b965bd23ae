/*
 * Signs events for tests: reads drafts with kind, created_at, tags and content, a line
 * each, and prints them as canonical lines.  The number chooses the key; with --key
 * its public key is printed and nothing is read.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "file.h"
#include "hex.h"
#include "sign.h"

#define ZEROES "%064d"

/* What the reader wants to see, and signing fills in; the draft begins with '{'. */
static void
complete_draft(struct gs_buf *text, struct gs_str draft)
{
	gs_buf_clear(text);
	gs_buf_printf(text,
	    "{\"id\":\"" ZEROES "\",\"pubkey\":\"" ZEROES "\",\"sig\":\"" ZEROES ZEROES
	    "\",",
	    0, 0, 0, 0);
	gs_buf_add(text, draft.ptr + 1, draft.len - 1);
}

static void
sign_draft(const struct signer *signer, struct gs_str draft, struct gs_buf *text)
{
	struct gs_event event = GS_EVENT_INIT;
	struct gs_err why;

	if (draft.len == 0 || draft.ptr[0] != '{')
		errx(EX_DATAERR, "not an object");
	complete_draft(text, draft);
	if (gs_event_parse(&event, text->data, text->len, &why) != GS_EVENT_OK)
		errx(EX_DATAERR, "%s", why.text);
	signer_sign(signer, &event);
	gs_buf_clear(text);
	gs_event_write(&event, text);
	(void)puts(text->data);
	gs_event_fini(&event);
}

static void
sign_lines(const struct signer *signer)
{
	struct gs_buf text = GS_BUF_INIT;
	struct gs_lines lines;
	struct gs_str line;

	gs_lines_init(&lines, STDIN_FILENO, GS_EVENT_BYTES);
	while (gs_lines_next(&lines, true, &line) == GS_LINE_OK)
		sign_draft(signer, line, &text);
	gs_lines_fini(&lines);
	gs_buf_fini(&text);
}

int
main(int argc, char **argv)
{
	secp256k1_context *secp = sign_context();
	struct signer signer;
	char hex[2 * sizeof(signer.pubkey) + 1];

	if (argc < 2 || argc > 3)
		errx(EX_USAGE, "usage: signevent NUMBER [--key]");
	signer_init(&signer, secp, strtoull(argv[1], NULL, 10), 0, 0);
	if (argc == 3) {
		*gs_hex_write(hex, signer.pubkey, sizeof(signer.pubkey)) = '\0';
		(void)puts(hex);
	} else
		sign_lines(&signer);
	secp256k1_context_destroy(secp);
	return fflush(stdout) == 0 ? EXIT_SUCCESS : EX_IOERR;
}
