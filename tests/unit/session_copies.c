/*
 * Sessions whose owner checks signatures and keeps what came: what is handed out, how
 * often, and that it counts for paging as what was checked here.
 */
#include "transcript.h"

#include "made.h"

#define MADE_S (START_S - 100)

/* The only event that the owner has. */
static bool
knows(const uint8_t id[static 32], void *arg)
{
	return memcmp(id, arg, 32) == 0;
}

/* An event of person 1 in a frame; number: of its signature, right or not. */
static const struct gs_event *
hear_signed(struct chat *chat, unsigned sub, struct gs_event *event, unsigned number)
{
	struct gs_buf frame = GS_BUF_INIT;
	const struct gs_event *heard;

	memcpy(event->sig, &number, sizeof(number));
	gs_buf_printf(&frame, "[\"EVENT\",\"%u\",", sub);
	gs_event_write(event, &frame);
	gs_buf_add_char(&frame, ']');
	heard = hear(chat, frame.data);
	gs_buf_fini(&frame);
	return heard;
}

static void
open_trusting(struct chat *chat, size_t remembered)
{
	chat_init(chat, false);
	chat->options.leaves_signatures = true;
	chat->options.remembered = remembered;
	chat_begin(chat, 1);
	connect_chat(chat);
	assert_int_equal(skip_frames(chat), 2);
}

/* A false one that comes first does not shut out the true one; a flood ends. */
static void
test_signatures_of_one_id(void **state)
{
	struct gs_event event = GS_EVENT_INIT;
	struct chat chat;

	(void)state;
	open_trusting(&chat, 0);
	make_event(&event, 1, 1, MADE_S, "[]");
	assert_non_null(hear_signed(&chat, 1, &event, 0));
	assert_null(hear_signed(&chat, 1, &event, 0));
	assert_null(hear_signed(&chat, 2, &event, 0));
	assert_int_equal(counts(&chat)->invalid, 0);
	for (unsigned i = 1; i < 4; i++) {
		assert_non_null(hear_signed(&chat, 2, &event, i));
		assert_null(hear_signed(&chat, 1, &event, i));
	}
	assert_int_equal(counts(&chat)->events, 4);
	assert_int_equal(counts(&chat)->invalid, 0);
	for (unsigned i = 4; i < 1000; i++)
		assert_null(hear_signed(&chat, 1, &event, i));
	assert_int_equal(counts(&chat)->invalid, 996);
	assert_null(hear_signed(&chat, 1, &event, 3));
	assert_int_equal(counts(&chat)->invalid, 996);
	gs_event_fini(&event);
	chat_fini(&chat);
}

/* Whoever leaves signatures does not leave ids. */
static void
test_forged_content(void **state)
{
	struct gs_event event = GS_EVENT_INIT;
	struct chat chat;

	(void)state;
	open_trusting(&chat, 0);
	make_event(&event, 1, 1, MADE_S, "[]");
	assert_non_null(hear_signed(&chat, 1, &event, 7));
	event.created_at++;
	assert_null(hear_signed(&chat, 1, &event, 7));
	assert_int_equal(counts(&chat)->invalid, 1);
	event.created_at--;
	event.id[0] ^= 1;
	assert_null(hear_signed(&chat, 1, &event, 7));
	assert_int_equal(counts(&chat)->invalid, 2);
	gs_event_fini(&event);
	chat_fini(&chat);
}

/* Only so many are remembered; others come again, and again so often at the most. */
static void
test_remembered(void **state)
{
	struct gs_event event = GS_EVENT_INIT;
	struct chat chat;

	(void)state;
	open_trusting(&chat, 8);
	for (int i = 0; i < 9; i++) {
		make_event(&event, 1, 1, MADE_S + i, "[]");
		assert_non_null(hear_signed(&chat, 1, &event, 0));
	}
	assert_null(hear_signed(&chat, 1, &event, 0));
	make_event(&event, 1, 1, MADE_S, "[]");
	assert_non_null(hear_signed(&chat, 1, &event, 0));
	gs_event_fini(&event);
	chat_fini(&chat);
}

/* It is counted as read, but neither checked nor handed out. */
static void
test_known(void **state)
{
	struct gs_event event = GS_EVENT_INIT;
	uint8_t known[32];
	struct chat chat;

	(void)state;
	make_event(&event, 1, 1, MADE_S, "[]");
	memcpy(known, event.id, sizeof(known));
	chat_init(&chat, false);
	chat.options.leaves_signatures = true;
	chat.options.is_known = knows;
	chat.options.arg = known;
	chat_begin(&chat, 1);
	connect_chat(&chat);
	assert_int_equal(skip_frames(&chat), 2);
	assert_null(hear_signed(&chat, 1, &event, 0));
	assert_null(hear_signed(&chat, 2, &event, 1));
	event.pubkey[3] ^= 1;
	assert_null(hear_signed(&chat, 2, &event, 1));
	assert_int_equal(counts(&chat)->events, 0);
	assert_int_equal(counts(&chat)->invalid, 0);
	assert_int_equal(report(&chat, 0)->fresh, 1);
	assert_int_equal(report(&chat, 0)->duplicate, 1);
	/* It moves the cursor as any other. */
	hear_eose(&chat, 2, 2);
	expect_close(&chat, 2);
	expect_with(&chat, "[\"REQ\",\"3\",{\"kinds\":[1],\"until\":1799999900,");
	make_event(&event, 1, 1, MADE_S - 1, "[]");
	assert_non_null(hear_signed(&chat, 3, &event, 0));
	assert_int_equal(gs_session_way(chat.session), GS_WAY_HISTORY);
	/* What fits no filter is not even looked up. */
	make_event(&event, 9, 1, MADE_S, "[]");
	memcpy(known, event.id, sizeof(known));
	assert_null(hear_signed(&chat, 3, &event, 0));
	assert_int_equal(counts(&chat)->foreign, 1);
	gs_event_fini(&event);
	chat_fini(&chat);
}

/* Its owner may judge by other rules now. */
static void
test_full_hands_out_again(void **state)
{
	struct gs_event event = GS_EVENT_INIT;
	struct chat chat;

	(void)state;
	open_trusting(&chat, 0);
	make_event(&event, 1, 1, MADE_S, "[]");
	assert_non_null(hear_signed(&chat, 2, &event, 0));
	assert_null(hear_signed(&chat, 1, &event, 0));
	gs_session_make_full(chat.session, chat.now);
	assert_non_null(hear_signed(&chat, 1, &event, 0));
	assert_null(hear_signed(&chat, 1, &event, 0));
	gs_event_fini(&event);
	chat_fini(&chat);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_signatures_of_one_id),
		cmocka_unit_test(test_full_hands_out_again),
		cmocka_unit_test(test_forged_content),
		cmocka_unit_test(test_remembered),
		cmocka_unit_test(test_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
