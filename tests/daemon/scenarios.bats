#!/usr/bin/env bats
# shellcheck disable=SC2154
# What happens to repositories, relays and events, and what the daemon makes of it.  Most of
# it is what other servers' sync has been seen to get wrong.
bats_require_minimum_version 1.5.0

setup() {
	load daemon.bash
	use_daemon_folder
	start_farm
	now=$(date +%s)
	at=$((now - 86400))
}

teardown() {
	stop_daemon_folder
}

key() {
	signevent "$1" --key
}

# usage: sign KEY KIND AT TAGS [CONTENT]   prints the event
sign() {
	jq -nc --argjson kind "$2" --argjson at "$3" --argjson tags "$4" --arg content "${5:-}" \
		'{kind: $kind, created_at: $at, tags: $tags, content: $content}' | signevent "$1"
}

id() {
	jq -r .id <<<"$1"
}

# usage: announce KEY D AT RELAYS [TAG]...   RELAYS: names of the farm's, parted by commas
announce() {
	local key=$1 d=$2 at=$3 relays=$4
	shift 4
	sign "$key" 30617 "$at" "$(jq -nc --arg d "$d" --arg base "$base" --arg service "$service" \
		--arg relays "$relays" --args '[["d", $d], ["clone", "https://\($service)/n/\($d).git"],
		["relays", "wss://\($service)"] + ($relays | split(",") | map("\($base)/\(.)"))]
		+ ($ARGS.positional | map(fromjson))' "$@")"
}

# usage: has EVENT...   all of them are stored
has() {
	export_store >exported
	local event
	for event; do
		grep -q -F "$(id "$event")" exported || return 1
	done
}

# usage: put RELAYS EVENT   stored there, nobody is told
put() {
	ask "quiet $1 $2"
}

# usage: relay NAME JQ-EXPRESSION   of its part of /status
relay() {
	status_says ".relays[\"$base/$1\"] | $2"
}

start() {
	start_daemon
	wait_for is_ready
}

@test "bootstrap: announcement, roots, comments and their comments, layer by layer" {
	owner=$(key 1) ref="30617:$(key 1):one"
	a=$(announce 1 one "$at" r1)
	issue=$(sign 2 1621 "$at" "[[\"a\",\"$ref\"],[\"p\",\"$owner\"]]")
	comment=$(sign 3 1111 "$at" "[[\"E\",\"$(id "$issue")\"],[\"e\",\"$(id "$issue")\"]]")
	quote=$(sign 4 1 "$at" "[[\"q\",\"$ref\"]]")
	stray=$(sign 5 1 "$at" '[["t","other"]]')
	put boot "$a"
	for event in "$issue" "$comment" "$quote" "$stray"; do
		put r1 "$event"
	done
	start
	wait_for has "$a" "$issue" "$comment" "$quote"
	run -1 has "$stray"
	relay r1 '.phase == "connected" and .repos == 1'
}

@test "a state, and a maintainer's announcement, before what makes them ours" {
	ref="30617:$(key 11):two"
	a=$(announce 11 two "$now" r1 "[\"maintainers\",\"$(key 12)\"]")
	state=$(sign 12 30618 "$at" '[["d","two"],["refs/heads/main","0000000000000000000000000000000000000000"]]')
	theirs=$(sign 12 30617 "$at" "[[\"d\",\"two\"],[\"clone\",\"https://other.example/x.git\"],
		[\"relays\",\"$base/r1\"]]")
	put boot "$theirs"
	put boot "$state"
	start
	# what came so far waits
	wait_for more_waiting 2
	ask "event boot $a"
	wait_for has "$a" "$state" "$theirs"
}

@test "an announcement that changes its relays: the new one is read, the old one leaves" {
	ref="30617:$(key 31):four"
	before=$(announce 31 four "$at" r1)
	after=$(announce 31 four "$now" r2)
	there=$(sign 32 1621 "$at" "[[\"a\",\"$ref\"]]")
	put boot "$before"
	put r2 "$there"
	start
	wait_for relay r1 '.phase == "connected"'
	ask "event boot $after"
	wait_for has "$after" "$there"
	run -1 has "$before"
	wait_for relay r1 '.leaving == true'
	relay r2 '.phase == "connected"'
}

@test "a root of two repositories is asked for on the relays of both" {
	a=$(announce 41 five "$at" r1)
	b=$(announce 42 six "$at" r2)
	root=$(sign 43 1618 "$at" "[[\"a\",\"30617:$(key 41):five\"],[\"a\",\"30617:$(key 42):six\"]]")
	comment=$(sign 44 1111 "$at" "[[\"E\",\"$(id "$root")\"]]")
	put boot "$a"
	put boot "$b"
	put r1 "$root"
	put r2 "$comment"
	start
	wait_for has "$a" "$b" "$root" "$comment"
}

@test "a deletion takes a repository away, and its relay with it" {
	a=$(announce 51 seven "$at" r1)
	put boot "$a"
	start
	wait_for relay r1 '.phase == "connected"'
	gone=$(sign 51 5 "$now" "[[\"a\",\"30617:$(key 51):seven\"],[\"k\",\"30617\"]]")
	ask "event r1 $gone"
	# no filter asks for kind 5 of strangers: a tag has to name the repository
	wait_for has "$gone"
	run -1 has "$a"
	wait_for relay r1 '.leaving == true'
}

@test "a relay that is down at first is read when it comes, and costs nobody else a thing" {
	ref="30617:$(key 61):eight"
	a=$(announce 61 eight "$at" r1,r2)
	here=$(sign 62 1621 "$at" "[[\"a\",\"$ref\"]]" here)
	there=$(sign 63 1621 "$at" "[[\"a\",\"$ref\"]]" there)
	put boot "$a"
	put r1 "$here"
	put r2 "$there"
	ask "down r2"
	start
	wait_for has "$a" "$here"
	wait_for relay r2 '.failed_dials > 0 and .status == "backoff"'
	ask "up r2"
	wait_for has "$there"
	wait_for relay r2 '.status == "healthy"'
}

@test "a relay that hangs while others work delays none of them" {
	ref="30617:$(key 71):nine"
	a=$(announce 71 nine "$at" r1,h1,h2)
	here=$(sign 72 1621 "$at" "[[\"a\",\"$ref\"]]")
	put boot "$a"
	put r1 "$here"
	start
	begin_ms=$(now_ms)
	wait_for has "$a" "$here"
	[ $(($(now_ms) - begin_ms)) -lt $((15000 * slack)) ]
}

@test "an event that two relays have is stored once; what is live is stored in seconds" {
	ref="30617:$(key 81):ten"
	a=$(announce 81 ten "$at" r1,r2)
	put boot "$a"
	start
	wait_for relay r2 '.phase == "connected" and .live == .filters'
	wait_for relay r1 '.phase == "connected" and .live == .filters'
	live=$(sign 82 1621 "$(date +%s)" "[[\"a\",\"$ref\"]]")
	ask "event r1,r2 $live"
	wait_for has "$live"
	[ "$(metric ngit_sync_events_total '{source="live_sync"}')" -eq 1 ]
	# its comment is asked for without since, on both
	comment=$(sign 83 1111 "$at" "[[\"E\",\"$(id "$live")\"]]")
	put r2 "$comment"
	wait_for_root "$(id "$live")"
}

# The engine asks for what names it: seen by a comment that arrives.
wait_for_root() {
	local comment
	comment=$(sign 84 1111 "$(date +%s)" "[[\"E\",\"$1\"]]")
	wait_for relay r1 '.live == .filters and .filters > 6'
	ask "event r1 $comment"
	wait_for has "$comment"
}

@test "states open no window: what is followed is not surveyed for them" {
	a=$(announce 91 eleven "$at" r1)
	put boot "$a"
	start
	wait_for relay r1 '.phase == "connected" and .live == .filters'
	batches=$(metric grasp_sync_batches_total)
	state=$(sign 91 30618 "$(date +%s)" '[["d","eleven"]]')
	ask "event r1 $state"
	wait_for has "$state"
	issue=$(sign 92 1621 "$(date +%s)" "[[\"a\",\"30617:$(key 91):eleven\"]]")
	ask "event r1 $issue"
	wait_for has "$issue"
	wait_for more_batches "$batches"
	[ "$(metric grasp_sync_batches_total)" -eq $((batches + 1)) ]
}

more_waiting() {
	[ "$(metric grasp_sync_decisions_total '{result="waiting"}')" -ge "$1" ]
}

more_batches() {
	[ "$(metric grasp_sync_batches_total)" -gt "$1" ]
}

@test "an announcement without us in clone or relays is not followed" {
	stranger=$(sign 95 30617 "$at" "[[\"d\",\"x\"],[\"clone\",\"https://$service.evil.example/x.git\"],
		[\"relays\",\"wss://$service\",\"$base/r7\"]]")
	put boot "$stranger"
	ours=$(announce 96 twelve "$at" r1)
	put boot "$ours"
	start
	wait_for relay r1 '.phase == "connected"'
	run -1 has "$stranger"
	status_says ".relays | has(\"$base/r7\") | not"
}
