#!/usr/bin/env bats
# shellcheck disable=SC2154,SC2016,SC2030,SC2031
# grasp-sync-watch and grasp-sync-init on a relay: all of it or nothing, and what it gets.
bats_require_minimum_version 1.5.0

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	export LC_ALL=C TMPDIR=$BATS_TEST_TMPDIR
	service=git.example.com
	relay_pid='' watcher=''
	mkfifo control
	gencorpus --seed 5 --repos 4 --roots 3 --comments 2 --unlisted 3 >events
	gencorpus --seed 6 --repos 1 --roots 2 >later
	gs init --events events >want
	cat events later | gs init --events - >want-later
}

teardown() {
	local pid
	for pid in $relay_pid $watcher; do
		{ kill "$pid" && wait "$pid"; } 2>/dev/null || :
	done
}

# usage: gs COMMAND [OPTION...]
gs() {
	local command=$1
	shift
	grasp-sync-"$command" --service "$service" "$@"
}

# usage: start_relay [OPTION...] FILE; sets port and url
start_relay() {
	local line
	[ -e port ] || mkfifo port
	fakerelay --control control --log log "$@" >port 2>relay.err 3>&- &
	relay_pid=$!
	read -r line <port
	port=${line#listening }
	url=ws://127.0.0.1:$port
}

stop_relay() {
	kill "$relay_pid"
	wait "$relay_pid" || :
	relay_pid=''
}

watch() {
	grasp-sync-watch --service "$service" --relay "$url" --state state.json "$@" >out 2>err 3>&- &
	watcher=$!
}

stop_watch() {
	kill -TERM "$watcher"
	wait "$watcher"
	watcher=''
}

# usage: wait_for COMMAND...   until it succeeds; 30 s are enough for anybody
wait_for() {
	local deadline=$((SECONDS + 30))
	until "$@" 2>/dev/null; do
		[ "$SECONDS" -lt "$deadline" ] || { echo "never: $*" && cat out err && return 1; }
		read -rt 0.05 <> <(:) || :
	done
}

has_lines() {
	[ "$(wc -l <out)" -ge "$1" ]
}

@test "init --relay: the state of the same events as lines" {
	start_relay --page 5 events
	run -0 --separate-stderr gs init --relay "$url"
	[ "$output" = "$(cat want)" ]
	[ -z "$stderr" ]
	# The kinds that decide, and no states.
	jq -se '[.[] | .got? // empty | select(.[0] == "REQ") | .[2:][].kinds] | flatten | unique |
		index([30618]) == null and index([30617]) != null' log
}

@test "init --relay: a relay that is not read to its end makes no state" {
	start_relay --silent events
	echo kept >state.json
	for options in "" "-o state.json"; do
		# shellcheck disable=SC2086
		timeout 100 grasp-sync-init --service "$service" --relay "$url" $options \
			>"out$options" 2>err &
		pids+=($!)
	done
	stop_relay
	for pid in "${pids[@]}"; do
		code=0
		wait "$pid" || code=$?
		[ "$code" -eq 69 ] || [ "$code" -eq 75 ]
	done
	[ ! -s out ]
	[ "$(cat state.json)" = kept ]
	grep "not read to its end, so there is no state" err
}

@test "our own relay is not in the state, and one source is enough" {
	start_relay events
	gencorpus --seed 5 --repos 1 --also "$url" >with-us
	stop_relay
	start_relay --port "$port" with-us
	run -0 gs init --relay "$url" --allow-private
	jq -e --arg url "$url" '.sync_relays | length > 0 and (has($url) | not)' <<<"$output"
	for args in "--relay $url --db x" "--relay $url --events x" "--relay ftp://x"; do
		# shellcheck disable=SC2086
		run -64 gs init $args
	done
	run -64 gs watch --relay "$url" --db x
	run -64 gs watch --relay ftp://x
}

@test "watch: the first batch is all of it, then what comes, however old" {
	start_relay --page 5 events
	watch --window 1
	wait_for has_lines 1
	jq -e '.batch == 1 and .events > 10' out
	wait_for cmp state.json want
	cat later >control
	wait_for has_lines 2
	wait_for cmp state.json want-later
	stop_watch
	# Together what the state says.
	parts='.relay as $r | .filter | to_entries[] | .key as $k | .value[] | [$r, $k, .]'
	grasp-sync-filters state.json | jq -c "$parts" | sort >kept
	grasp-sync-filters --batch out | jq -c "$parts" | sort | diff kept -
	[ "$(cat err)" = "grasp-sync-watch: $url: connected" ]
}

@test "watch: a deletion takes a repository away" {
	pk=$(signevent 1 --key)
	jq -nc '{ kind: 30617, created_at: 100, content: "", tags: [["d", "x"],
		["clone", "https://git.example.com/x.git"],
		["relays", "wss://git.example.com", "wss://a.example"]] }' | signevent 1 >one
	start_relay one
	watch --window 0
	wait_for has_lines 1
	jq -nc --arg ref "30617:$pk:x" '{ kind: 5, created_at: 200, content: "",
		tags: [["a", $ref]] }' | signevent 1 >control
	wait_for has_lines 2
	sed -n 2p out | jq -e --arg ref "30617:$pk:x" '.removed_relays == ["wss://a.example"] and
		.removed_repos == [$ref]'
	stop_watch
}

@test "watch: after a reconnect nothing is missed" {
	start_relay events
	watch --window 1
	wait_for cmp state.json want
	stop_relay
	wait_for grep "again in" err
	cat later >>events
	start_relay --port "$port" events
	wait_for has_lines 2
	wait_for cmp state.json want-later
	stop_watch
	# What was known is not told again.
	grasp-sync-filters --batch out | jq -c '.relay as $r | .filter | to_entries[] |
		.key as $k | .value[] | [$r, $k, .]' | sort | uniq -d | diff /dev/null -
}

@test "watch: what a relay did not give to its end is no news" {
	cp want state.json
	start_relay --refuse "blocked: not for you" events
	watch --window 0
	wait_for grep -q "connected" err
	wait_for grep -q REQ log
	stop_watch
	[ ! -s out ]
	cmp state.json want
	stop_relay
	watch --window 0
	wait_for grep -q "again in" err
	stop_watch
	[ ! -s out ]
	cmp state.json want
}

@test "watch --once: as init, and the code says why not" {
	start_relay events
	run -0 gs watch --once --relay "$url" --state state.json
	[ "$(jq .batch <<<"$output")" -eq 1 ]
	cmp state.json want
	run -0 --separate-stderr gs watch --once --relay "$url" --state state.json
	[ -z "$output" ]
	stop_relay
	start_relay --port "$port" --refuse "restricted: not for you" events
	rm state.json
	run -77 --separate-stderr gs watch --once --relay "$url" --state state.json
	[ -z "$output" ]
	[ ! -e state.json ]
}
