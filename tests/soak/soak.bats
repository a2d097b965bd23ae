#!/usr/bin/env bats
# shellcheck disable=SC2154
# What lasts for months: thousands of connections and a million events leave no memory
# and no descriptor behind.  `make soak` runs these at full length, `make check` a part;
# with the sanitizers a tenth of that.
bats_require_minimum_version 1.5.0

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	rounds=${SOAK_ROUNDS:-500} events=${SOAK_EVENTS:-50000}
	grown_kb=1024 relay_pid='' reader_pid=''
	[ "${GS_VARIANT:-}" != asan ] || be_patient_with_asan
}

# It is slow, keeps what was freed for a while, and has shadows of all memory.
be_patient_with_asan() {
	rounds=$((rounds / 10)) events=$((events / 10))
	grown_kb=16384
	export ASAN_OPTIONS=$ASAN_OPTIONS:quarantine_size_mb=1:malloc_context_size=5
}

teardown() {
	for pid in $reader_pid $relay_pid; do
		kill "$pid" 2>/dev/null || :
	done
}

# usage: start_relay COMMAND...; sets port
start_relay() {
	mkfifo listening
	"$@" >listening 3>&- &
	relay_pid=$!
	read -r _ port <listening
	rm listening
}

stop_relay() {
	kill "$relay_pid"
	wait "$relay_pid" || :
	relay_pid=''
}

# usage: dial ROUNDS URL [OPTION...]   the memory may grow a little while it warms up
dial() {
	local num=$1 url=$2
	shift 2
	dialler --rounds "$num" "$@" "$url" >dialled
	cat dialled
	jq -e "(.dials >= $num) and (.last.fds[0] == .first.fds[0]) and
		(.last.fds[1] <= .first.fds[1] + 1) and
		(.last.anon_kb[1] <= .first.anon_kb[1] + $grown_kb)" dialled
}

# usage: drop_rounds ROUNDS SCRIPT [URL-SCHEME [OPTION...]]
drop_rounds() {
	local num=$1 scheme=${3:-ws}
	printf '%s\n' "$2" >script
	shift $(($# < 3 ? $# : 3))
	if [ "$scheme" = wss ]; then
		start_relay fakerelay --script script --cert tls.pem --key tls.key
	else
		start_relay fakerelay --script script
	fi
	dial "$num" "$scheme://localhost:$port" "$@"
	stop_relay
}

on_req() {
	printf '{"rules":[{"on":"req","do":[%s]}]}' "$1"
}

@test "relays that drop leave nothing behind" {
	drop_rounds "$rounds" "$(on_req '{"fin":true}')"
	drop_rounds $((rounds / 5)) "$(on_req '{"rst":true}')"
	drop_rounds $((rounds / 5)) "$(on_req '{"close":4000,"reason":"too many"}')"
	drop_rounds $((rounds / 5)) "$(on_req '{"hex":"ff"},{"raw":"ffff"},{"fin":true}')"
}

@test "relays that never open leave nothing behind" {
	drop_rounds $((rounds / 5)) '{"refuse":100000000}'
	drop_rounds $((rounds / 5)) '{"upgrade":[{"status":403}]}'
	drop_rounds $((rounds / 5)) '{"upgrade":[{"raw":"what?"}]}'
}

@test "relays that drop behind TLS leave nothing behind" {
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 \
		-subj /CN=localhost -addext subjectAltName=DNS:localhost \
		-keyout tls.key -out tls.pem 2>openssl.log
	drop_rounds $((rounds / 2)) "$(on_req '{"fin":true}')" wss --ca-file tls.pem
	# nobody vouches for it
	drop_rounds $((rounds / 5)) '{}' wss
}

# Takes what comes at 4 MB a second, and nothing for a second before.
drink() {
	perl -e 'sleep 1; while (sysread STDIN, $b, 65536) { print $b; select undef, undef, undef, 0.016 }'
}

# Memory and descriptors of a process, until it ends: "kB fds" lines.
watch_process() {
	local name kb
	while read -r name kb _; do
		[ "$name" != RssAnon: ] || echo "$kb $(find "/proc/$1/fd" -mindepth 1 2>/dev/null | wc -l)"
		[ "$name" != RssAnon: ] || break
	done <"/proc/$1/status" && [ "$kb" -gt 0 ]
}

@test "events for a slow reader wait at the relay" {
	local half most_kb status=0
	# Of one filter a million is too much.
	half=$((1767000000 - events / 2))
	printf '{"kinds":[1],"%s":%d}\n' since "$half" until $((half - 1)) >filters
	start_relay flood "$events"
	mkfifo pipe
	drink <pipe >got &
	grasp-sync-relay -q --once --allow-private --filters filters "ws://localhost:$port" >pipe 3>&- &
	reader_pid=$!
	while watch_process "$reader_pid" >>seen 2>/dev/null; do
		sleep 0.2
	done
	wait "$reader_pid" || status=$?
	reader_pid=''
	wait %2
	[ "$status" -eq 0 ]
	[ "$(wc -l <got)" -eq "$events" ]
	most_kb=$(sort -n seen | tail -n 1 | cut -d ' ' -f 1)
	echo "$events events, at most $most_kb kB"
	# Ids are remembered, 80 bytes each at most; all else is a little.
	[ "$most_kb" -le $((8192 + 8 * grown_kb + events * 80 / 1024)) ]
	# between its first look and its last, which may fall into the end
	[ "$(sed '1,3d;$d' seen | cut -d ' ' -f 2 | sort -u | wc -l)" -eq 1 ]
}
