#!/usr/bin/env bats
# shellcheck disable=SC2154
# The pipeline against @nostr-relay/core, a relay in JavaScript.
bats_require_minimum_version 1.5.0

readonly SERVICE=git.example.com

setup() {
	[ -d "${GS_PEERS:-}/node_modules/@nostr-relay/core" ] ||
		skip "@nostr-relay/core is not installed"
	cd "$BATS_TEST_TMPDIR" || return 1
	gencorpus --seed 3 --repos 30 --roots 8 --comments 3 --relays 1 --service "$SERVICE" \
		>events.jsonl
}

teardown() {
	[ -z "${pid:-}" ] || kill "$pid"
}

# usage: serve PAGE; sets url
serve() {
	local tries=0
	: >port
	node "$BATS_TEST_DIRNAME/nostr-relay.mjs" "$1" events.jsonl >port 2>relay.log 3>&- &
	pid=$!
	until grep -q listening port; do
		[ $((tries++)) -lt 100 ]
		sleep 0.1
	done
	url=ws://127.0.0.1:$(sed -n 's/^listening //p' port)
}

# One turn of the pipeline over every relay of the state, all played by this one.
pull_once() {
	local relay
	grasp-sync-init -q --allow-private --db db --service "$SERVICE" --bootstrap "$url" -o state
	for relay in $(jq -r '.sync_relays | keys[]' state); do
		grasp-sync-filters -q --allow-private --relay "$relay" state >filters
		grasp-sync-relay --once --allow-private "$url" <filters >got
		grasp-sync-store import -q --db db --service "$SERVICE" <got
	done
}

check_page() {
	local before=-1 after=0
	serve "$1"
	grasp-sync-store import -q --db db --service "$SERVICE" </dev/null
	while [ "$before" -ne "$after" ]; do
		before=$after
		pull_once
		after=$(grasp-sync-store export --db db | wc -l)
	done
	grasp-sync-store import -q --db all --service "$SERVICE" <events.jsonl
	diff <(grasp-sync-store export --db all) <(grasp-sync-store export --db db)
	[ "$after" -gt 100 ]
}

@test "everything arrives in large pages" {
	check_page 500
}

@test "everything arrives in pages of 20" {
	check_page 20
}
