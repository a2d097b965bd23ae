#!/usr/bin/env bats
# shellcheck disable=SC2154,SC2034
# Against @nostr-relay/core, a relay in JavaScript: the pipeline, and following it through
# TLS and a restart.
bats_require_minimum_version 1.5.0
load ../relay/relay
load ../tools/certs

readonly SERVICE=git.example.com
readonly EVENTS=5000

has_peer() {
	[ -d "${GS_PEERS:-}/node_modules/@nostr-relay/core" ]
}

setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	has_peer || return 0
	gencorpus --seed 3 --repos 30 --roots 8 --comments 3 --relays 1 --service "$SERVICE" \
		>small.jsonl
	gencorpus --seed 4 --repos 25 --roots 98 --comments 100 --service "$SERVICE" >large.jsonl
	make_certs
}

setup() {
	has_peer || skip "@nostr-relay/core is not installed"
	use_folder
	printf '%s\n' '{"kinds":[30617,30618]}' '{"kinds":[1617,1618,1619,1621]}' \
		'{"kinds":[1111]}' '{"kinds":[1]}' >filters
}

teardown() {
	has_peer || return 0
	stop_all
}

# usage: serve PAGE [PORT [CERTIFICATE]]   of events.jsonl; sets port and url
serve() {
	local args=("$1" events.jsonl "${2:-0}")
	[ $# -lt 3 ] || args+=("$BATS_FILE_TMPDIR/$3.pem" "$BATS_FILE_TMPDIR/$3.key")
	rm -f listening
	mkfifo listening
	node "$BATS_TEST_DIRNAME/nostr-relay.mjs" "${args[@]}" >listening 2>relay.log 3>&- &
	relay_pid=$!
	pids+=("$relay_pid")
	read -r _ port <listening || { cat relay.log && return 1; }
	[ $# -lt 3 ] && url=ws://127.0.0.1:$port || url=wss://localhost:$port
}

# One turn of the pipeline over every relay of the state, all played by this one.
pull_once() {
	local relay
	grasp-sync-init -q --allow-private --db db --service "$SERVICE" --bootstrap "$url" -o state
	for relay in $(jq -r '.sync_relays | keys[]' state); do
		grasp-sync-filters -q --allow-private --relay "$relay" state >pull-filters
		grasp-sync-relay --once --allow-private "$url" <pull-filters >got
		grasp-sync-store import -q --db db --service "$SERVICE" <got
	done
}

check_page() {
	local before=-1 after=0
	cp "$BATS_FILE_TMPDIR/small.jsonl" events.jsonl
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

# What was printed is what the relay has, each once.
printed_all() {
	cmp -s <(jq -r .id events.jsonl | sort) <(jq -r .id got 2>/dev/null | sort)
}

# usage: make_event SEED   dated now
make_event() {
	local maker
	echo "{\"make\":[{\"count\":1,\"seed\":$1}]}" >made.json
	rm -f made
	fakerelay --script made.json --served made >/dev/null 2>&1 3>&- &
	maker=$!
	wait_for has_lines 1 made
	stop "$maker"
	cat made
}

# usage: publish SEED
publish() {
	make_event "$1" >published
	node "$BATS_TEST_DIRNAME/publish.mjs" "$url" published "$BATS_FILE_TMPDIR/own.pem"
}

@test "everything arrives in large pages" {
	check_page 500
}

@test "everything arrives in pages of 20" {
	check_page 20
}

@test "5,000 events arrive once each, through TLS" {
	cp "$BATS_FILE_TMPDIR/large.jsonl" events.jsonl
	[ "$(wc -l <events.jsonl)" -eq "$EVENTS" ]
	serve 500 0 good
	fetch 0 --ca-file "$BATS_FILE_TMPDIR/own.pem"
	printed_all
}

@test "following goes on after a restart, and nothing is missing" {
	cp "$BATS_FILE_TMPDIR/small.jsonl" events.jsonl
	serve 500 0 good
	follow --ca-file "$BATS_FILE_TMPDIR/own.pem"
	wait_for printed_all
	publish 1
	wait_for printed_all
	stop "$relay_pid"
	# What others published while we were away.
	make_event 2 >>events.jsonl
	serve 500 "$port" good
	wait_for printed_all
	publish 3
	wait_for printed_all
	end_following
	[ "$(wc -l <got)" -eq $(($(wc -l <"$BATS_FILE_TMPDIR/small.jsonl") + 3)) ]
}

# usage: refuse CERTIFICATE CLASS [OPTION...]
refuse() {
	serve 500 0 "$1"
	fetch 69 "${@:3}"
	[[ $stderr == *"($2)"* ]]
	[ ! -s got ]
	stop "$relay_pid"
}

@test "a wrong name, an expired certificate and an unknown CA are refused" {
	local own=$BATS_FILE_TMPDIR/own.pem
	cp "$BATS_FILE_TMPDIR/small.jsonl" events.jsonl
	refuse other tls-name --ca-file "$own"
	refuse expired tls-expired --ca-file "$own"
	refuse unknown tls-untrusted --ca-file "$own"
	refuse good tls-untrusted
}
