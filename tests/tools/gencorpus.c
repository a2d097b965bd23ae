/*
 * Prints deterministic signed NIP-34 events as JSON lines: a plain corpus as large
 * as asked, or with --tangle a small nasty one.  Same options, same bytes.
 */
#include <err.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sysexits.h>

#include "corpus.h"
#include "num.h"
#include "tangle.h"

#define DEFAULT_NOW INT64_C(1767000000)
#define MAX_COUNT INT64_C(1000000000)

enum {
	OPT_SEED,
	OPT_REPOS,
	OPT_ROOTS,
	OPT_COMMENTS,
	OPT_STATES,
	OPT_RELAYS,
	OPT_UNLISTED,
	OPT_BYTES,
	OPT_NOW,
	OPT_ORDER,
	OPT_COPIES,
	OPT_NUMBERS
};

struct request {
	int64_t numbers[OPT_NUMBERS];
	const char *service;
	const char *also; /* a relay that every announcement lists, or NULL */
	const char *farm; /* or what the names of all relays begin with */
	bool is_tangle;
};

static _Noreturn void
die_of_usage(void)
{
	static const char usage[] =
	    "usage: gencorpus [--seed N] [--repos N] [--roots N] [--comments N] "
	    "[--states N]\n"
	    "           [--relays N] [--unlisted N] [--bytes N] [--now T] [--also URL]\n"
	    "           [--farm URL [--copies N]] [--service DOMAIN]\n"
	    "       gencorpus --tangle [--seed N] [--order N] [--now T] [--service "
	    "DOMAIN]\n";

	(void)fputs(usage, stderr);
	exit(EX_USAGE);
}

static void
parse_options(struct request *request, int argc, char **argv)
{
	static const struct option options[] = {
		{ "seed", required_argument, NULL, OPT_SEED },
		{ "repos", required_argument, NULL, OPT_REPOS },
		{ "roots", required_argument, NULL, OPT_ROOTS },
		{ "comments", required_argument, NULL, OPT_COMMENTS },
		{ "states", required_argument, NULL, OPT_STATES },
		{ "relays", required_argument, NULL, OPT_RELAYS },
		{ "unlisted", required_argument, NULL, OPT_UNLISTED },
		{ "bytes", required_argument, NULL, OPT_BYTES },
		{ "now", required_argument, NULL, OPT_NOW },
		{ "order", required_argument, NULL, OPT_ORDER },
		{ "service", required_argument, NULL, 's' },
		{ "copies", required_argument, NULL, OPT_COPIES },
		{ "farm", required_argument, NULL, 'f' },
		{ "also", required_argument, NULL, 'a' },
		{ "tangle", no_argument, NULL, 't' },
		{ NULL, 0, NULL, 0 },
	};
	int at;

	while ((at = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (at == 's')
			request->service = optarg;
		else if (at == 'a')
			request->also = optarg;
		else if (at == 'f')
			request->farm = optarg;
		else if (at == 't')
			request->is_tangle = true;
		else if (at == '?' ||
		    !gs_num_parse(&request->numbers[at], optarg, strlen(optarg),
			at == OPT_NOW ? INT64_C(1) << 40 : MAX_COUNT))
			die_of_usage();
	}
	if (optind != argc || strlen(request->service) > 253 ||
	    (request->farm && strlen(request->farm) > 200))
		die_of_usage();
}

static void
print_corpus(const struct request *request)
{
	struct corpus corpus = {
		.seed = (uint64_t)request->numbers[OPT_SEED],
		.repos = (size_t)request->numbers[OPT_REPOS],
		.roots = (size_t)request->numbers[OPT_ROOTS],
		.comments = (size_t)request->numbers[OPT_COMMENTS],
		.states = (size_t)request->numbers[OPT_STATES],
		.relays = (size_t)request->numbers[OPT_RELAYS],
		.unlisted = (size_t)request->numbers[OPT_UNLISTED],
		.bytes = (size_t)request->numbers[OPT_BYTES],
		.now_s = request->numbers[OPT_NOW],
		.service = request->service,
		.also = request->also,
		.farm = request->farm,
		.copies = (size_t)request->numbers[OPT_COPIES],
		.out = stdout,
	};

	corpus_print(&corpus);
}

static void
print_tangle(const struct request *request)
{
	struct tangle *tangle = gs_mem_new(sizeof(*tangle));

	tangle->seed = (uint64_t)request->numbers[OPT_SEED];
	tangle->now_s = request->numbers[OPT_NOW];
	tangle->service = request->service;
	tangle_print(tangle, (uint64_t)request->numbers[OPT_ORDER], stdout);
	free(tangle);
}

int
main(int argc, char **argv)
{
	struct request request = {
		.numbers = { [OPT_SEED] = 1,
		    [OPT_REPOS] = 10,
		    [OPT_ROOTS] = 50,
		    [OPT_COMMENTS] = 50,
		    [OPT_STATES] = 1,
		    [OPT_RELAYS] = 40,
		    [OPT_UNLISTED] = 8,
		    [OPT_COPIES] = 3,
		    [OPT_BYTES] = 895,
		    [OPT_NOW] = DEFAULT_NOW },
		.service = "git.example.com",
	};

	if (sodium_init() < 0)
		errx(EX_SOFTWARE, "sodium: no source of random bytes");
	parse_options(&request, argc, argv);
	if (request.is_tangle)
		print_tangle(&request);
	else
		print_corpus(&request);
	if (fflush(stdout) != 0 || ferror(stdout))
		err(EX_IOERR, "stdout");
	return EXIT_SUCCESS;
}
