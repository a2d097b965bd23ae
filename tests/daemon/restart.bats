#!/usr/bin/env bats
# shellcheck disable=SC2154
# A restart asks only for what is new, a kill at any moment loses nothing.
bats_require_minimum_version 1.5.0

setup() {
	load daemon.bash
	use_daemon_folder
}

teardown() {
	stop_daemon_folder
}

readonly SMALL=(--seed 11 --repos 40 --roots 10 --comments 20 --relays 10)

# usage: answered NUM   so many relays have answered a REQ that is open
answered() {
	farm_says "[.relays[] | select(.first_eose_ms > 0 and .subs > 0 and .open > 0)] | length >= $1"
}

# Ends the daemon when it has read all, and remembers what it knew of each relay.
stop_complete() {
	wait_for_all
	wait_for has_read_all
	stop_daemon
	cp state.json before.json
}

@test "the first start brings everything, and says so" {
	start_farm
	make_world "${SMALL[@]}"
	start_daemon
	wait_for is_ready
	wait_for_all
	wait_for has_read_all
	# what other commands make of the store is what the daemon says
	grasp-sync-init --allow-private --service "$service" --db db >init.json
	cmp <(jq -S -c '.following_repo_root_events, (.sync_relays | del(.["'"$base"'/boot"]))' init.json) \
		<(jq -S -c '.following_repo_root_events, (.sync_relays | del(.["'"$base"'/boot"]))' state.json)
	[ "$(metric ngit_sync_relays_connected_total)" -eq 11 ]
	[ "$(metric ngit_sync_gap_events_total)" -eq 0 ]
	stop_daemon
	grasp-sync-store stat --check --db db
}

@test "a restart: live on the first within 1 s, on all within 15 s, asking only since" {
	start_farm
	make_world "${SMALL[@]}"
	start_daemon
	stop_complete
	# what comes while it is away
	ask "rate 200 1"
	wait_for farm_says '.rate == 0'
	ask reset
	start_daemon
	wait_for answered 11
	first=$(farm_count "[.relays[].first_eose_ms | select(. > 0)] | min - $begun_ms")
	last=$(farm_count "[.relays[].first_eose_ms] | max - $begun_ms")
	echo "live on the first after $first ms, on all after $last ms"
	[ "$first" -le $((1000 * slack)) ]
	[ "$last" -le $((15000 * slack)) ]
	wait_for_all
	wait_for has_read_all
	# on each relay since its own read_until - 15 min, but for roots that are new
	ask stats
	jq -e --arg base "$base" --slurpfile before before.json '
		.relays | to_entries | all(.[]; .value.since_min >=
			$before[0].relays[$base + "/" + .key].read_until - 900)' <<<"$reply"
	[ "$(metric ngit_sync_gap_events_total)" -eq 0 ]
}

@test "a restart with nothing new: no filter without since, and nothing comes twice" {
	start_farm
	make_world "${SMALL[@]}"
	start_daemon
	stop_complete
	ask reset
	start_daemon
	wait_for answered 11
	wait_for has_read_all
	farm_says '[.relays[].unbounded] | add == 0'
	farm_says '[.relays[].filters] | add > 0'
	farm_says '[.relays[].sent] | add == 0'
	stop_daemon
}

@test "live: an event is stored though no history would bring it" {
	start_farm
	make_world "${SMALL[@]}"
	start_daemon
	wait_for_all
	wait_for has_read_all
	ask "rate 100 3"
	wait_for farm_says '.rate == 0'
	wait_for_all
	wait_for farm_says '.roots.made > 0 and .roots.asked == .roots.made'
	# the window of 5 s, and a little
	farm_says ".roots.lag_max_ms <= $((8000 * slack))"
	[ "$(metric ngit_sync_gap_events_total)" -eq 0 ]
	[ "$(metric ngit_sync_events_total '{source="live_sync"')" -ge 300 ]
}

@test "kill -9 in the middle of a first history: it is read whole" {
	start_farm --page 20
	make_world "${SMALL[@]}"
	ask "pace 1"
	start_daemon
	wait_for has_stored 200
	kill_daemon
	stored=$(count_stored)
	[ "$stored" -lt "$(wc -l <world)" ]
	grasp-sync-store stat --check --db db
	ask "pace 0"
	start_daemon
	wait_for_all
	stop_daemon
}

@test "kill -9 in the middle of reading a gap: it is read whole" {
	start_farm --page 20
	make_world "${SMALL[@]}"
	start_daemon
	stop_complete
	# stored by the relays while it is away: a gap of some hundred events
	ask "rate 2000 1 0"
	wait_for farm_says '.rate == 0'
	ask "dump $PWD/served"
	total=$(wc -l <served)
	before=$(count_stored)
	ask "pace 1"
	start_daemon
	wait_for has_stored $((before + 100))
	kill_daemon
	[ "$(count_stored)" -lt "$total" ]
	ask "pace 0"
	start_daemon
	wait_for_all
	stop_daemon
}

@test "kill -9 ten times, and a relay that is down for a while: nothing is missing" {
	start_farm --page 50
	make_world "${SMALL[@]}"
	ask "pace 10"
	ask "rate 50 20"
	RANDOM=7
	for ((i = 0; i < 10; i++)); do
		start_daemon
		[ "$i" -ne 3 ] || ask "down r004"
		[ "$i" -ne 5 ] || ask "hole r006"
		wait_for get /healthz
		# moments are what this is about
		sleep "0.$((RANDOM % 900 + 100))"
		kill_daemon
	done
	ask "pace 0"
	start_daemon
	wait_for farm_says '.rate == 0'
	ask "up r004,r006"
	wait_for_all
	wait_for has_read_all
	stop_daemon
	grasp-sync-store stat --check --db db
}
