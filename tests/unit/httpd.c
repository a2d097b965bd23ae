/* The HTTP server in a process of its own, and clients of every sort. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs those before it */
#include <arpa/inet.h>
#include <cmocka.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "httpd.h"

#define BIG_BYTES (5 * 1024 * 1024)
#define WAIT_MS 20000 /* for what should come much sooner */
#define HOST "Host: localhost\r\n\r\n"

struct server {
	pid_t pid;
	char address[160];
};

static void
stop(int number, void *arg)
{
	(void)number;
	gs_loop_stop(*(struct gs_loop **)arg);
}

static void
show(struct gs_str path, struct gs_httpd_answer *answer, void *arg)
{
	(void)arg;
	if (gs_str_is(path, "/big")) {
		memset(gs_buf_room(&answer->body, BIG_BYTES), 'x', BIG_BYTES);
		answer->body.len = BIG_BYTES;
	} else if (gs_str_is(path, "/sick")) {
		answer->status = 503;
		gs_buf_add_str(&answer->body, "not ready\n");
		return;
	} else if (gs_str_is(path, "/json")) {
		answer->type = "application/json";
		gs_buf_add_str(&answer->body, "{}\n");
	} else if (!gs_str_is(path, "/empty")) {
		return;
	}
	answer->status = 200;
}

static _Noreturn void
run_server(const char *address, int out)
{
	struct gs_loop *loop = NULL;
	const struct gs_loop_ops loop_ops = { .signalled = stop, .arg = &loop };
	const struct gs_httpd_ops ops = { .get = show };
	struct gs_httpd *httpd;
	struct gs_err err;

	loop = gs_loop_new(&loop_ops, NULL, &err);
	if (loop == NULL)
		exit(1);
	httpd = gs_httpd_new(loop, address, &ops, &err);
	if (httpd == NULL)
		(void)dprintf(out, "%d %s", err.code, err.text);
	else
		(void)dprintf(out, "%s", gs_httpd_address(httpd));
	(void)close(out);
	if (httpd != NULL)
		gs_loop_run(loop);
	gs_httpd_free(httpd);
	gs_loop_free(loop);
	exit(0);
}

static void
start(struct server *server, const char *address)
{
	size_t len = 0;
	ssize_t got;
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	server->pid = fork();
	if (server->pid == 0) {
		(void)close(ends[0]);
		run_server(address, ends[1]);
	}
	(void)close(ends[1]);
	while ((got = read(ends[0], server->address + len,
		    sizeof(server->address) - 1 - len)) > 0)
		len += (size_t)got;
	server->address[len] = '\0';
	(void)close(ends[0]);
}

/* It has freed all: the sanitizers' word is its exit code. */
static void
end(const struct server *server)
{
	int status;

	(void)kill(server->pid, SIGTERM);
	assert_int_equal(waitpid(server->pid, &status, 0), server->pid);
	assert_int_equal(status, 0);
}

static int
dial_unix(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	assert_true(strlen(path) < sizeof(address.sun_path));
	memcpy(address.sun_path, path, strlen(path));
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static int
dial(const struct server *server)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	const char *colon = strrchr(server->address, ':');
	int fd;

	if (strncmp(server->address, "unix:", 5) == 0)
		return dial_unix(server->address + 5);
	address.sin_port = htons((uint16_t)atoi(colon + 1));
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	fd = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static void
send_text(int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

/* All until the end, which must come; closes. */
static void
read_all(int fd, struct gs_buf *answer)
{
	ssize_t len;

	for (;;) {
		struct pollfd ready = { .fd = fd, .events = POLLIN };

		assert_int_equal(poll(&ready, 1, WAIT_MS), 1);
		len = read(fd, gs_buf_room(answer, 65536), 65536);
		if (len <= 0)
			break;
		answer->len += (size_t)len;
		answer->data[answer->len] = '\0';
	}
	(void)close(fd);
}

static void
ask(const struct server *server, const char *text, struct gs_buf *answer)
{
	int fd = dial(server);

	gs_buf_clear(answer);
	send_text(fd, text);
	read_all(fd, answer);
	gs_buf_add_str(answer, "");
}

static void
expect(const struct server *server, const char *text, int status, const char *body)
{
	struct gs_buf answer = GS_BUF_INIT;
	char first[32];
	const char *at;

	ask(server, text, &answer);
	(void)snprintf(first, sizeof(first), "HTTP/1.1 %d ", status);
	if (strncmp(answer.data, first, strlen(first)) != 0)
		fail_msg("%s: %s", text, answer.data);
	at = strstr(answer.data, "\r\n\r\n");
	assert_non_null(at);
	if (body != NULL)
		assert_string_equal(at + 4, body);
	assert_non_null(strstr(answer.data, "\r\nX-Content-Type-Options: nosniff\r\n"));
	assert_non_null(strstr(answer.data, "\r\nCache-Control: no-store\r\n"));
	assert_non_null(strstr(answer.data, "\r\nConnection: close\r\n"));
	gs_buf_fini(&answer);
}

static void
test_answers(void **state)
{
	struct gs_buf answer = GS_BUF_INIT;
	struct server server;

	(void)state;
	start(&server, "0");
	assert_int_equal(strncmp(server.address, "127.0.0.1:", 10), 0);
	expect(&server, "GET /json HTTP/1.1\r\n" HOST, 200, "{}\n");
	expect(&server, "GET /json?a=b HTTP/1.0\r\nhost:127.0.0.9:80\r\n\r\n", 200,
	    "{}\n");
	expect(&server, "GET /json HTTP/1.1\nHOST: [::1]:9\n\n", 200, "{}\n");
	expect(&server, "GET /empty HTTP/1.1\r\n" HOST, 200, "");
	expect(&server, "GET /sick HTTP/1.1\r\n" HOST, 503, "not ready\n");
	expect(&server, "GET /none HTTP/1.1\r\n" HOST, 404, "not found\n");
	expect(&server, "POST /json HTTP/1.1\r\nContent-Length: 2\r\n" HOST "{}", 405,
	    NULL);
	expect(&server, "FOO /json HTTP/1.1\r\n" HOST, 405, NULL);
	expect(&server, "OPTIONS * HTTP/1.1\r\n" HOST, 405, NULL);
	expect(&server, "GET\r\n\r\n", 400, NULL);
	expect(&server, "GET /json HTTP/1.1\r\nHost: evil.example\r\n\r\n", 403, NULL);
	expect(&server, "GET /json HTTP/1.1\r\n\r\n", 403, NULL);
	ask(&server, "HEAD /json HTTP/1.1\r\n" HOST, &answer);
	assert_non_null(strstr(answer.data, "\r\nContent-Length: 3\r\n"));
	assert_non_null(strstr(answer.data, "\r\nContent-Type: application/json\r\n"));
	assert_null(strstr(answer.data, "{}"));
	ask(&server, "PUT / HTTP/1.1\r\n" HOST, &answer);
	assert_non_null(strstr(answer.data, "\r\nAllow: GET, HEAD\r\n"));
	gs_buf_fini(&answer);
	end(&server);
}

static void
test_pieces(void **state)
{
	static const char text[] = "GET /json HTTP/1.1\r\n" HOST;
	struct gs_buf answer = GS_BUF_INIT;
	struct server server;
	int fd;

	(void)state;
	start(&server, "localhost:0");
	fd = dial(&server);
	for (size_t i = 0; i < sizeof(text) - 1; i++)
		assert_int_equal(send(fd, text + i, 1, MSG_NOSIGNAL), 1);
	/* It sends no more, but waits for the answer. */
	(void)shutdown(fd, SHUT_WR);
	read_all(fd, &answer);
	assert_non_null(strstr(answer.data, "\r\n\r\n{}\n"));
	gs_buf_fini(&answer);
	end(&server);
}

static void
test_large_heads(void **state)
{
	struct gs_buf text = GS_BUF_INIT;
	struct server server;

	(void)state;
	start(&server, "0");
	gs_buf_printf(&text, "GET /json HTTP/1.1\r\nCookie: %08000d\r\n" HOST, 0);
	expect(&server, text.data, 200, "{}\n");
	gs_buf_clear(&text);
	gs_buf_printf(&text, "GET /json HTTP/1.1\r\nCookie: %08300d\r\n" HOST, 0);
	expect(&server, text.data, 431, NULL);
	gs_buf_fini(&text);
	end(&server);
}

static void
test_large_bodies(void **state)
{
	struct gs_buf answer = GS_BUF_INIT;
	struct server server;
	int fds[4];

	(void)state;
	start(&server, "0");
	for (int i = 0; i < 4; i++) {
		fds[i] = dial(&server);
		send_text(fds[i], "GET /big HTTP/1.1\r\n" HOST);
	}
	/* Nobody waits for those who have not read yet. */
	expect(&server, "GET /json HTTP/1.1\r\n" HOST, 200, "{}\n");
	for (int i = 0; i < 4; i++) {
		gs_buf_clear(&answer);
		read_all(fds[i], &answer);
		assert_non_null(strstr(answer.data, "\r\nContent-Length: 5242880\r\n"));
		assert_true(answer.len > BIG_BYTES && answer.len < BIG_BYTES + 400);
		assert_int_equal(answer.data[answer.len - 1], 'x');
	}
	gs_buf_fini(&answer);
	end(&server);
}

/* One that asks nothing, one that asks slowly, one that does not read. */
static void
test_the_slow(void **state)
{
	struct pollfd ready[3];
	struct server server;
	int left = 3;

	(void)state;
	start(&server, "0");
	for (int i = 0; i < left; i++)
		ready[i] = (struct pollfd){ .fd = dial(&server), .events = POLLRDHUP };
	send_text(ready[1].fd, "GET / HTTP/1.1\r\nX: ");
	send_text(ready[2].fd, "GET /big HTTP/1.1\r\n" HOST);
	for (int turns = 0; left > 0; turns++) {
		assert_true(turns < WAIT_MS / 100);
		(void)poll(ready, 3, 100);
		(void)send(ready[1].fd, "a", 1, MSG_NOSIGNAL);
		for (int i = 0; i < 3; i++) {
			if (ready[i].fd < 0 || ready[i].revents == 0)
				continue;
			(void)close(ready[i].fd);
			ready[i].fd = -1; /* poll leaves it out */
			left--;
		}
	}
	expect(&server, "GET /json HTTP/1.1\r\n" HOST, 200, "{}\n");
	end(&server);
}

static void
test_too_many(void **state)
{
	struct gs_buf answer = GS_BUF_INIT;
	int fds[GS_HTTPD_CLIENTS];
	struct server server;

	(void)state;
	start(&server, "0");
	for (int i = 0; i < GS_HTTPD_CLIENTS; i++)
		fds[i] = dial(&server);
	read_all(dial(&server), &answer);
	assert_int_equal(strncmp(answer.data, "HTTP/1.1 503 ", 13), 0);
	/* Those who were let in are served, and leave room. */
	for (int i = 0; i < GS_HTTPD_CLIENTS; i++) {
		gs_buf_clear(&answer);
		send_text(fds[i], "GET /json HTTP/1.1\r\n" HOST);
		read_all(fds[i], &answer);
		assert_int_equal(strncmp(answer.data, "HTTP/1.1 200 ", 13), 0);
	}
	gs_buf_fini(&answer);
	end(&server);
}

static void
test_unix(void **state)
{
	char folder[] = "/tmp/httpd-XXXXXX";
	char path[64], address[80];
	struct server server, second;
	struct stat found;

	(void)state;
	assert_non_null(mkdtemp(folder));
	(void)snprintf(path, sizeof(path), "%s/socket", folder);
	(void)snprintf(address, sizeof(address), "unix:%s", path);
	start(&server, address);
	assert_string_equal(server.address, address);
	assert_int_equal(stat(path, &found), 0);
	assert_int_equal(found.st_mode & 0777, 0660);
	expect(&server, "GET /json HTTP/1.0\r\n\r\n", 200, "{}\n");
	expect(&server, "GET /json HTTP/1.1\r\nHost: any.example\r\n\r\n", 200, "{}\n");
	/* Whoever lives keeps it. */
	start(&second, address);
	assert_int_equal(strncmp(second.address, "69 can't listen on unix:/", 25), 0);
	end(&second);
	expect(&server, "GET /json HTTP/1.0\r\n\r\n", 200, "{}\n");
	/* Whoever was killed has left a file, which is in nobody's way. */
	(void)kill(server.pid, SIGKILL);
	(void)waitpid(server.pid, NULL, 0);
	assert_int_equal(stat(path, &found), 0);
	start(&server, address);
	expect(&server, "GET /json HTTP/1.0\r\n\r\n", 200, "{}\n");
	end(&server);
	assert_int_equal(stat(path, &found), -1);
	/* What is no socket is not ours to remove. */
	assert_int_equal(mkdir(path, 0700), 0);
	start(&server, address);
	assert_int_equal(strncmp(server.address, "69 ", 3), 0);
	end(&server);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(rmdir(folder), 0);
}

static void
test_taken(void **state)
{
	struct server server, second;

	(void)state;
	start(&server, "0");
	start(&second, server.address);
	assert_int_equal(strncmp(second.address, "69 can't listen on 127.0.0.1:", 29), 0);
	end(&second);
	end(&server);
}

static void
test_addresses(void **state)
{
	static const char *const good[] = { "0", "9100", "127.0.0.1:9100", "127.9.9.9:1",
		"localhost:65535", "[::1]:9100", "unix:/run/grasp-sync/http" };
	static const char *const bad[] = { "", ":", ":9100", "0.0.0.0:9100", "[::]:9100",
		"192.168.1.1:80", "[::ffff:127.0.0.1]:80", "[fe80::1%lo]:80", "::1:80",
		"127.1:80", "example.com:80", "127.0.0.1",
		"127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "70000", "9100x",
		"unix:", "unix:socket", "*:9100",
		"unix:/"
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" };
	struct gs_err err;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		if (!gs_httpd_check(good[i], &err))
			fail_msg("%s", err.text);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (gs_httpd_check(bad[i], &err))
			fail_msg("%s", bad[i]);
		assert_int_equal(err.code, GS_EUSAGE);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_large_heads),
		cmocka_unit_test(test_large_bodies),
		cmocka_unit_test(test_the_slow),
		cmocka_unit_test(test_too_many),
		cmocka_unit_test(test_unix),
		cmocka_unit_test(test_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
