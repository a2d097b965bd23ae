#!/usr/bin/env bats
# shellcheck disable=SC2154
# The demo of the README runs, tells what it does, and leaves nothing behind.
bats_require_minimum_version 1.5.0

setup() {
	export TMPDIR="$BATS_TEST_TMPDIR/tmp"
	mkdir "$TMPDIR"
	demo="$BATS_TEST_DIRNAME/../demo/run"
}

@test "the demo ends well, in few words" {
	run -0 --separate-stderr "$demo"
	[[ $output == *"byte for byte the same"* ]]
	[ "${#lines[@]}" -le 40 ]
	echo "stderr: $stderr"
	[ -z "$stderr" ]
	run -0 ls -A "$TMPDIR"
	[ -z "$output" ]
}

@test "the demo fails when a command fails" {
	mkdir "$BATS_TEST_TMPDIR/bin"
	printf '#!/bin/sh\nexit 75\n' >"$BATS_TEST_TMPDIR/bin/grasp-sync-relay"
	chmod +x "$BATS_TEST_TMPDIR/bin/grasp-sync-relay"
	PATH="$BATS_TEST_TMPDIR/bin:$PATH" run -1 --separate-stderr "$demo"
	[[ $stderr == "demo: the pipeline for "*" ended with 75" ]]
}

@test "an interrupted demo cleans up" {
	"$demo" >/dev/null 2>&1 3>&- &
	sleep 0.5
	kill -TERM $!
	local status=0
	wait $! || status=$?
	[ "$status" -eq 143 ]
	run -0 ls -A "$TMPDIR"
	[ -z "$output" ]
}
