#!/usr/bin/env bats
# shellcheck disable=SC2154,SC2016
# How a connection may fail, before it is a websocket and afterwards: each way has its
# class, what can be tried again is, and nothing that had come is lost.
bats_require_minimum_version 1.5.0
load relay

setup() {
	use_folder
	echo '{"kinds":[1]}' >filters
}

teardown() {
	stop_all
}

# 250 events in 5 pages, and what the script says otherwise.
start_with() {
	rm -f log report got
	start_relay "$(jq -c '{page: 50, make: [{count: 250, at: 1767000000}]} + .' <<<"$1")"
}

# usage: refuse STATUS CLASS ANSWER   to every request for a websocket
refuse() {
	start_with "{\"upgrade\":[$3]}"
	fetch "$1"
	[[ $stderr == *"($2)"* ]]
	[ ! -s got ]
	never_logged '.got'
	stop_relay
}

# usage: survive FAULTS   as actions, once, in the middle of a page
survive() {
	start_with "{\"rules\":[{\"on\":\"event\",\"nth\":75,\"times\":1,\"do\":[$1]}]}"
	fetch 0
	got_all
	[ "$(wc -l <got)" -eq 250 ]
	stop_relay
}

@test "an answer other than the upgrade is told by its status" {
	at_once "refuse 77 http-403 '{\"status\":403}'" \
		"refuse 76 http-404 '{\"status\":404}'" \
		"refuse 76 http-200 '{\"status\":200,\"headers\":[\"Content-Type: text/html\"],
			\"body\":\"<html>nothing here</html>\"}'" \
		"refuse 75 http-502 '{\"status\":502}'" \
		"refuse 75 http-429 '{\"status\":429,\"headers\":[\"Retry-After: 1\"]}'"
}

@test "a redirect is never followed" {
	start_with '{}'
	local other=$url
	mv log log.first
	start_with "{\"upgrade\":[{\"status\":301,\"headers\":[\"Location: ${other/ws/http}/\"]}]}"
	fetch 76
	[[ $stderr == *"(http-301)"* ]]
	[ ! -s log.first ]
}

@test "too many requests: later, and then all of it" {
	start_with '{"upgrade":[{"status":429,"headers":["Retry-After: 1"],"times":1}]}'
	fetch 0
	got_all
}

# usage: refuse_raw BYTES   is no websocket
refuse_raw() {
	refuse 76 not-websocket "$(jq -nc --arg raw "$1" '{raw: $raw}')"
}

@test "an upgrade that is none" {
	local hello='HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n'
	at_once "refuse_raw \$'${hello}Sec-WebSocket-Accept: AAAAAAAAAAAAAAAAAAAAAAAAAAA=\r\n\r\n'" \
		"refuse_raw \$'SSH-2.0-OpenSSH_9.2\r\n'" \
		"refuse_raw \$'${hello}X: $(printf '%065536d' 0)'"
}

@test "connections that are dropped before a word" {
	start_with '{"refuse":2}'
	fetch 0
	got_all
}

# usage: redial FAULTS
redial() {
	survive "$1"
	[ "$(count_logged '.is == "open"')" -eq 2 ]
}

@test "a relay that drops us in the middle is redialled and read on" {
	at_once "redial '{\"fin\":true}'" "redial '{\"rst\":true}'" \
		"redial '{\"raw\":\"817e040041\"},{\"rst\":true}'" \
		"redial '{\"raw\":\"817e040041\"},{\"fin\":true}'"
}

@test "a relay that says goodbye in the middle is redialled and read on" {
	local code commands=()
	for code in 1000 1001 1002 1008 1012 1013 4000; do
		commands+=("redial '{\"close\":$code,\"reason\":\"later\"}'")
	done
	at_once "${commands[@]}"
}

@test "a relay that always drops us keeps what came, and is not complete" {
	start_with '{"rules":[{"on":"event","nth":10,"do":[{"rst":true}]}]}'
	fetch 75
	[[ $stderr == *"incomplete: dropped"* ]]
	[ "$(wc -l <got)" -gt 0 ]
}

@test "frames that break the protocol of websockets end the connection, not the reading" {
	# A frame of a reserved kind, a continuation of nothing.
	at_once "survive '{\"raw\":\"8b00\"}'" "survive '{\"raw\":\"800141\"}'"
}

@test "pings, fragments, single bytes and masked frames are fine" {
	survive '{"ping":1000}'
	survive '{"fragment":1}'
	survive '{"fragment":100},{"ping":1}'
	survive '{"raw":"8184000000005b5d2020"}'
	start_with '{"make":[{"count":3}],"rules":[{"on":"open","do":[{"drip_ms":1}]}]}'
	fetch 0
	got_all
}

@test "a message over 4 MiB is not read" {
	start_with '{"rules":[{"on":"req","do":[{"text":"[\"NOTICE\",\"$FILL\"]","fill":4200000}]}]}'
	fetch 76
	[[ $stderr == *"(too-long)"* ]]
}

@test "all addresses of a name are tried" {
	start_with '{}'
	url=ws://localhost:$port
	fetch 0
	got_all
}
