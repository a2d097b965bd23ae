#!/usr/bin/env bats
# shellcheck disable=SC2154,SC2034
# grasp-syncd against three relays in JavaScript (@nostr-relay/core), each with a part of it:
# one is killed for a while, the daemon ten times.
bats_require_minimum_version 1.5.0

readonly REPOS=200

has_peer() {
	[ -d "${GS_PEERS:-}/node_modules/@nostr-relay/core" ]
}

setup() {
	has_peer || skip "@nostr-relay/core is not installed"
	load ../daemon/daemon.bash
	use_daemon_folder
	relay_pids=()
	ports=()
}

teardown() {
	has_peer || return 0
	stop_daemon_folder
	kill -9 "${relay_pids[@]}" 2>/dev/null || :
}

# usage: serve NUMBER [PORT]   of part-NUMBER
serve() {
	rm -f listening
	mkfifo listening
	node "$BATS_TEST_DIRNAME/nostr-relay.mjs" 500 "part-$1" "${2:-0}" >listening \
		2>>relay.log 3>&- &
	relay_pids[$1]=$!
	read -r _ port <listening
	ports[$1]=$port
}

end_relay() {
	{ kill -9 "${relay_pids[$1]}" && wait "${relay_pids[$1]}"; } 2>/dev/null || :
}

# usage: share FILE OFFSET   a third of its lines to each part
share() {
	for i in 0 1 2; do
		awk -v part="$i" -v by="$2" '(NR + by) % 3 == part' "$1" >>"part-$i"
	done
}

make_parts() {
	local at
	at=$(($(date +%s) - 86400))
	jq -nc --argjson n "$REPOS" --argjson at "$at" --arg service "$service" --args \
		'range($n) | {kind: 30617, created_at: $at, content: "", tags: [["d", "r\(.)"],
		["clone", "https://\($service)/n/r\(.).git"], ["relays", "wss://\($service)"]
		+ $ARGS.positional]}' "${urls[@]}" | signevent 1 >announcements
	jq -c --argjson at "$at" '{kind: 1621, created_at: $at, content: "",
		tags: [["a", "30617:\(.pubkey):\(.tags[0][1])"]]}' announcements | signevent 2 >issues
	jq -c --argjson at "$at" '{kind: 1111, created_at: $at, content: "",
		tags: [["E", .id], ["K", "1621"]]}' issues | signevent 3 >comments
	for i in 0 1 2; do
		cp announcements "part-$i"
	done
	share issues 0
	share comments 1
	cat announcements issues comments | sort >want
}

has_every_event() {
	export_store | sort | cmp -s - want
}

follow() {
	grasp-syncd --service "$service" --db db --allow-private --max-backoff 1s \
		--bootstrap "${urls[0]}" --listen "unix:$PWD/http" 2>>daemon.log 3>&- &
	daemon_pid=$!
}

@test "200 repositories on three relays: one killed for a while, the daemon ten times" {
	for i in 0 1 2; do
		: >"part-$i"
		serve "$i"
		urls[i]=ws://127.0.0.1:${ports[i]}
		end_relay "$i"
	done
	make_parts
	for i in 0 1 2; do
		serve "$i" "${ports[i]}"
	done
	for round in {1..10}; do
		[ "$round" -ne 3 ] || end_relay 2
		[ "$round" -ne 8 ] || serve 2 "${ports[2]}"
		before=$(count_stored)
		follow
		wait_for is_ready
		# something has come, or nothing is left to come from those that are there
		PATIENCE=2 wait_for has_stored $((before + 20)) || :
		kill_daemon
	done
	follow
	wait_for is_ready
	wait_for has_every_event
	stop_daemon
	grasp-sync-store stat --check --db db
}
