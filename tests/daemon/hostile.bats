#!/usr/bin/env bats
# shellcheck disable=SC2154
# Strangers who want too much get their share, everybody else is served.
bats_require_minimum_version 1.5.0

setup() {
	load daemon.bash
	use_daemon_folder
	start_farm
}

teardown() {
	stop_daemon_folder
}

# usage: announce KEY NAME RELAY...   of this farm, by their names; prints the event
announce() {
	local key=$1 name=$2
	shift 2
	printf '%s\n' "$@" | jq -Rnc --arg base "$base" --arg service "$service" --arg d "$name" \
		--argjson at "$(($(date +%s) - 86400))" \
		'{kind: 30617, created_at: $at, content: "", tags: [["d", $d],
		["clone", "https://\($service)/npub1/\($d).git"],
		(["relays", "wss://\($service)"] + [inputs | "\($base)/\(.)"])]}' |
		signevent "$key"
}

# All that these relays serve is there; strangers may have brought more.
has_good() {
	has_all || [ ! -s missing ]
}

wait_for_good() {
	wait_for has_good || {
		echo "$(wc -l <missing) missing, such as $(head -n 1 missing | cut -c 1-300)"
		return 1
	}
}

# usage: has_lines_of FILE
has_lines_of() {
	export_store | sort | comm -23 <(sort "$1") - >missing
	[ ! -s missing ]
}

# usage: answered NUM   so many relays have answered a REQ that is open
answered() {
	farm_says "[.relays[] | select(.first_eose_ms > 0 and .subs > 0 and .open > 0)] | length >= $1"
}

# usage: logged_once TEXT
logged_once() {
	[ "$(grep -c -F -e "$1" daemon.log)" -eq 1 ]
}

@test "one announcement that lists 10,000 relays: 20 are dialled, it is said once" {
	make_world --seed 21 --repos 20 --roots 5 --comments 5 --relays 5
	# shellcheck disable=SC2046
	announce 900 greedy $(seq -f 'x%.0f' 10000) >strangers
	ask "quiet boot $(cat strangers)"
	start_daemon
	wait_for_good
	wait_for has_read_all
	farm_says '[.relays | to_entries[] | select(.key[0:1] == "x" and .value.opened > 0)] | length <= 20'
	farm_says '[.relays | to_entries[] | select(.key[0:1] == "r") | .value.open] | min > 0'
	logged_once "more than 20 relays"
	# another window is no reason to say it again
	ask "rate 20 1 2"
	wait_for_good
	wait_for farm_says '.roots.asked == .roots.made'
	logged_once "more than 20 relays"
}

@test "1,200 relays of 60 authors: no more than 1,024 are tracked, it is said once" {
	make_world --seed 22 --repos 4 --roots 5 --comments 5 --relays 3
	for i in {1..60}; do
		# shellcheck disable=SC2046
		announce "$i" many $(seq -f "x$i-%.0f" 20)
	done >strangers
	while read -r line; do
		ask "quiet boot $line"
	done <strangers
	start_daemon
	wait_for grep -q -F "over the cap of 1024" daemon.log
	# the bootstrap relay is over it
	[ "$(metric ngit_sync_relays_tracked_total)" -le 1025 ]
	# at most ten dials a second, and a few at once
	begin=$(now_ms)
	before=$(farm_count '[.relays[].opened] | add')
	wait_for farm_says "[.relays[].opened] | add >= $before + 50"
	took=$(($(now_ms) - begin))
	[ "$took" -ge 3500 ]
	logged_once "over the cap of 1024"
}

@test "an owner with more roots than the cap: all are stored, the newest followed, others served" {
	roots=$((slack > 1 ? 10050 : 12000))
	make_world --seed 23 --repos 1 --roots "$roots" --comments 20 --relays 2 --bytes 500
	mv world big
	gencorpus --unlisted 0 --farm "$base" --service "$service" --now "$(($(date +%s) - 86400))" \
		--seed 24 --repos 20 --roots 5 --comments 5 --relays 5 >world
	ask "load $PWD/world"
	start_daemon
	# the others do not wait for it
	wait_for has_lines_of world
	ref=$(jq -r 'select(.kind == 30617) | "30617:\(.pubkey):\(.tags[] | select(.[0] == "d")[1])"' big)
	jq -c 'select(.kind != 1111)' big >big-roots
	wait_for has_lines_of big-roots
	wait_for has_read_all
	jq -e --arg ref "$ref" '.following_repo_root_events[$ref] | length == 10000' state.json
	grep -q -F "roots, the newest 10000 are kept" daemon.log
}

@test "black holes among good relays: the good ones are live, after a restart at once" {
	PATIENCE=$((PATIENCE * 3))
	make_world --seed 25 --repos 20 --roots 5 --comments 5 --relays 10
	for i in {0..3}; do
		# shellcheck disable=SC2046
		announce "$((800 + i))" "holes-$i" $(seq -f "h$i-%.0f" 10) "r00$i"
	done >strangers
	while read -r line; do
		ask "event $line"
	done <strangers
	start_daemon
	wait_for_good
	wait_for answered 11
	# a hole is no success
	[ "$(metric ngit_sync_relays_connected_total)" -eq 11 ]
	stop_daemon
	ask reset
	start_daemon
	wait_for answered 11
	took=$(($(farm_count '[.relays[].first_eose_ms] | max') - begun_ms))
	echo "all good ones live after $took ms"
	[ "$took" -le $((15000 * slack)) ]
	ask "rate 20 1 2"
	wait_for_good
	stop_daemon
}

@test "a relay that invents events for ever: the others are read, the end is in time" {
	make_world --seed 26 --repos 20 --roots 5 --comments 5 --relays 5
	ask "event $(announce 700 invented r000 i000)"
	start_daemon
	wait_for farm_says '.relays.i000.sent > 5000'
	wait_for_good
	before=$(farm_count .relays.i000.sent)
	# new events come through all the same
	ask "rate 50 2 10"
	wait_for farm_says '.rate == 0'
	wait_for_good
	wait_for farm_says ".relays.i000.sent > $before"
	kb=$(anon_kb "$daemon_pid")
	echo "$kb kB of its own"
	[ "$slack" -gt 1 ] || [ "$kb" -le 65536 ]
	stop_daemon
	grasp-sync-store stat --check --db db
}
