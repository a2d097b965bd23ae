#!/usr/bin/env bats
# shellcheck disable=SC2154,SC2034
# wss: only a relay that its certificate speaks for is read.
bats_require_minimum_version 1.5.0
load relay
load ../tools/certs

setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	make_certs
}

setup() {
	use_folder
	echo '{"kinds":[1]}' >filters
}

teardown() {
	stop_all
}

# usage: start_tls CERTIFICATE
start_tls() {
	start_relay '{"make":[{"count":200,"at":1767000000}],"page":75}' \
		--cert "$BATS_FILE_TMPDIR/$1.pem" --key "$BATS_FILE_TMPDIR/$1.key"
	url=wss://localhost:$port
}

refuses() {
	start_tls "$1"
	fetch 69 --ca-file "$BATS_FILE_TMPDIR/own.pem"
	[[ $stderr == *"($2)"* ]]
	[ "$(jq -sr '.[-1].fault' report)" = "$2" ]
	[ ! -s got ]
	never_logged '.got'
}

@test "all arrives through wss where the certificate is good" {
	start_tls good
	fetch 0 --ca-file "$BATS_FILE_TMPDIR/own.pem"
	got_all
	# The name went to the relay although an address was dialled.
	logged '.is == "upgrade" and (.host | startswith("localhost:"))'
}

@test "live through wss" {
	start_tls good
	follow --ca-file "$BATS_FILE_TMPDIR/own.pem"
	wait_for got_all
	tell '{"make":[{"kind":1,"seed":2}]}'
	wait_for has_lines 201 got
	end_following
}

@test "a certificate that speaks for another time, name or CA is refused with its class" {
	at_once "refuses expired tls-expired" "refuses early tls-expired" \
		"refuses other tls-name" "refuses unknown tls-untrusted"
}

@test "without the CA's file even a good one is tls-untrusted" {
	start_tls good
	fetch 69
	[[ $stderr == *"(tls-untrusted)"* ]]
	[ ! -s got ]
}

@test "--insecure reads from a relay that nobody vouches for" {
	start_tls unknown
	fetch 0 --insecure
	got_all
}

@test "a port that speaks no TLS is tls" {
	start_relay '{"make":[{"count":2}]}'
	url=wss://localhost:$port
	fetch 69
	[[ $stderr == *"(tls)"* ]]
}
