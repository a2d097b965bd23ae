/*
 * A relay of its own thread, as small as one can be: a NIP-11 document for whoever asks,
 * GREETER_TEXT for each websocket that is opened and for each frame on it.
 */
#ifndef TEST_GREETER_H
#define TEST_GREETER_H

#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define GREETER_TEXT "hi"
#define GREETER_DOCUMENT "{\"name\":\"a relay\"}"
#define GREETER_SOCKETS 16

struct greeter {
	int listen_fd;
	uint16_t port;
	pthread_t thread;
	struct pollfd sockets[GREETER_SOCKETS]; /* the first one listens */
	nfds_t num;
	bool drops_once; /* all websockets when a document is asked for; that hangs */
	int documents, frames; /* read when the thread is over */
	bool is_frame_early;   /* before the document was asked for */
};

void greeter_start(struct greeter *greeter); /* at 127.0.0.1 */
void greeter_stop(struct greeter *greeter);

#endif
