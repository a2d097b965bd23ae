/* Relay URLs and services: what was parsed parses to itself; a service names itself. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "url.h"

static void
check(bool holds)
{
	if (!holds)
		abort();
}

static void
try_relay(struct gs_str text, bool allow_private)
{
	struct gs_url url, again;
	struct gs_err err;

	if (!gs_url_parse_relay(&url, text, allow_private, &err))
		return;
	check(strlen(url.text) <= GS_URL_BYTES);
	check(gs_url_parse_relay(&again, gs_str_of(url.text), allow_private, &err));
	check(strcmp(again.text, url.text) == 0 && strcmp(again.host, url.host) == 0);
	check(strcmp(again.path, url.path) == 0 && again.port == url.port);
	check(allow_private || gs_url_parse_relay(&again, text, true, &err));
}

/* The service with a scheme before it, so that it is a clone and a relay value. */
static void
try_own_urls(const struct gs_service *service)
{
	struct gs_buf url = GS_BUF_INIT;

	gs_buf_printf(&url, "https://%s/x.git", service->text);
	check(gs_service_is_clone(service, (struct gs_str){ url.data, url.len }));
	gs_buf_clear(&url);
	gs_buf_printf(&url, "wss://%s", service->text);
	/* else it is no relay: too long, a second ://, a scheme as host */
	if (gs_url_parse_relay(&(struct gs_url){ .port = 0 },
		(struct gs_str){ url.data, url.len }, true, NULL))
		check(gs_service_is_relay(service, (struct gs_str){ url.data, url.len }));
	gs_buf_fini(&url);
}

static void
try_service(struct gs_str text)
{
	struct gs_service service, again;
	struct gs_err err;

	if (!gs_service_parse(&service, text, &err))
		return;
	check(gs_service_parse(&again, gs_str_of(service.text), &err));
	check(strcmp(again.text, service.text) == 0);
	try_own_urls(&service);
	(void)gs_service_is_clone(&service, text);
	(void)gs_service_is_relay(&service, text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gs_str text = { (const char *)data, size };
	static const char service_text[] = "git.example.com:8443/grasp";
	struct gs_service service;

	try_relay(text, false);
	try_relay(text, true);
	try_service(text);
	check(gs_service_parse(&service, GS_STR(service_text), NULL));
	(void)gs_service_is_clone(&service, text);
	(void)gs_service_is_relay(&service, text);
	return 0;
}
