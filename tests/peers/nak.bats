#!/usr/bin/env bats
# shellcheck disable=SC2154
# The pipeline against `nak serve`, a relay in Go (khatru) that gives 500 events a filter.
bats_require_minimum_version 1.5.0

readonly SERVICE=git.example.com
readonly LISTED=wss://also.example # every announcement lists it; nak plays it
readonly MAX_ROUNDS=6

setup() {
	command -v nak >/dev/null || skip "nak is not installed"
	cd "$BATS_TEST_TMPDIR" || return 1
	gencorpus --seed 5 --repos 25 --roots 98 --comments 100 --also "$LISTED" \
		--service "$SERVICE" >events.jsonl
	[ "$(wc -l <events.jsonl)" -eq 5000 ]
}

teardown() {
	[ -z "${pid:-}" ] || kill "$pid"
}

# nak takes no free port by itself; sets url
serve() {
	local tries=0 port=$((20000 + RANDOM % 20000))
	nak serve --hostname 127.0.0.1 --port "$port" --events events.jsonl >nak.log 2>&1 3>&- &
	pid=$!
	until (: <>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do
		[ $((tries++)) -lt 100 ]
		sleep 0.1
	done
	url=ws://127.0.0.1:$port
}

count_events() {
	grasp-sync-store stat --db db --json | jq .events
}

@test "5,000 events arrive once each" {
	serve
	printf '%s\n' '{"kinds":[30617,30618]}' '{"kinds":[1617,1618,1619,1621]}' \
		'{"kinds":[1111]}' >filters
	grasp-sync-relay --once --allow-private --filters filters "$url" >got
	cmp <(jq -r .id events.jsonl | sort) <(jq -r .id got | sort)
}

@test "everything that belongs to what we follow arrives" {
	serve
	grasp-sync-store import -q --db db --service "$SERVICE" </dev/null
	for ((round = 1, before = -1; before != $(count_events); round++)); do
		[ "$round" -le "$MAX_ROUNDS" ]
		before=$(count_events)
		grasp-sync-init -q --db db --service "$SERVICE" --bootstrap "$LISTED" -o state
		grasp-sync-filters -q --relay "$LISTED" state >filters
		grasp-sync-relay --once --allow-private "$url" <filters >got
		grasp-sync-store import -q --db db --service "$SERVICE" <got
	done
	grasp-sync-store import -q --db all --service "$SERVICE" <events.jsonl
	diff <(grasp-sync-store export --db all) <(grasp-sync-store export --db db)
	[ "$before" -gt 1000 ]
}
