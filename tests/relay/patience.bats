#!/usr/bin/env bats
# shellcheck disable=SC2154,SC2034
# What takes its time: deadlines that no option shortens.  All wait beside each other.
bats_require_minimum_version 1.5.0
load relay

PATIENCE=40

setup() {
	use_folder
	echo '{"kinds":[1]}' >filters
}

teardown() {
	stop_all
}

# usage: time_out ANSWER   to the request for a websocket
time_out() {
	start_relay "{\"upgrade\":[$1]}"
	follow
	wait_for grep -q 'timeout, again in' said
	end_following
}

# The document never comes: the relay is read all the same.
do_without_document() {
	start_relay '{"make":[{"count":50}],"nip11":{},"nip11_stalls":true}'
	fetch 0
	got_all
}

# Scenario 2 at its own pace: dropped after 10 s, and something came in the gap.
drop_after_10_s() {
	start_relay '{"make":[{"count":50,"ago":100}],
		"live":[{"at_ms":10000,"do":[{"rst":true}]}]}'
	follow
	wait_for got_all
	wait_for logged '.connection == 1 and .is == "end"'
	tell '{"make":[{"count":3,"ago":40,"seed":2}]}'
	wait_for got_all
	end_following
}

@test "an upgrade that never comes, a byte a second, no document, a drop after 10 s" {
	at_once "time_out '{\"stall\":true}'" \
		"time_out '{\"drip_ms\":1000,\"status\":101}'" \
		do_without_document drop_after_10_s
}
