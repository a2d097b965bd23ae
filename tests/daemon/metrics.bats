#!/usr/bin/env bats
# shellcheck disable=SC2154
# /metrics: right in form, whatever relays are called, and right in its numbers.
bats_require_minimum_version 1.5.0

setup() {
	load daemon.bash
	use_daemon_folder
	start_farm
}

teardown() {
	stop_daemon_folder
}

# usage: of NAME RELAY   the value of its sample
of() {
	get /metrics | awk -v want="$1{relay=\"$base/$2\"" 'index($0, want) == 1 { print $NF }'
}

is_of() {
	[ "$(of "$1" "$2")" = "$3" ]
}

@test "v2's nine are there with their values" {
	make_world --seed 41 --repos 6 --roots 3 --comments 2 --relays 3
	ask "down r002"
	start_daemon
	wait_for is_ready
	wait_for is_of ngit_sync_relay_connected r000 1
	wait_for is_of ngit_sync_relay_status r002 2
	get /metrics >metrics
	"$BATS_TEST_DIRNAME/../tools/promcheck" <metrics
	for name in ngit_sync_relay_connected ngit_sync_connection_attempts_total \
		ngit_sync_relay_status ngit_sync_relay_failures ngit_sync_events_total \
		ngit_sync_gap_events_total ngit_sync_relays_tracked_total \
		ngit_sync_relays_connected_total ngit_sync_relays_dead_total; do
		grep -q "^# TYPE $name " metrics
		grep -q "^${name}[ {]" metrics
	done
	[ "$(of ngit_sync_relay_connected r002)" = 0 ]
	[ "$(of ngit_sync_relay_status r000)" = 1 ]
	[ "$(of ngit_sync_relay_failures r000)" = 0 ]
	[ "$(of ngit_sync_relay_failures r002)" -ge 1 ]
	grep -q -F "ngit_sync_connection_attempts_total{relay=\"$base/r000\",result=\"success\"} 1" metrics
	[ "$(metric ngit_sync_relays_tracked_total)" -eq 4 ]
	[ "$(metric ngit_sync_relays_connected_total)" -eq 3 ]
	[ "$(metric ngit_sync_relays_dead_total)" -eq 0 ]
	[ "$(metric ngit_sync_gap_events_total)" -eq 0 ]
	ask "up r002"
	wait_for_all
	[ "$(metric ngit_sync_events_total '{source="catchup"}')" -eq "$(export_store | wc -l)" ]
	[ "$(metric ngit_sync_events_total '{source="live_sync"}')" -eq 0 ]
}

@test "relays with strange names leave the form as it is" {
	long=$(printf 'x%.0s' {1..200})
	jq -nc --arg base "$base" --arg service "$service" --arg long "$long" \
		--argjson at "$(($(date +%s) - 86400))" '{kind: 30617, created_at: $at, content: "",
		tags: [["d", "strange"], ["clone", "https://\($service)/n/strange.git"],
		["relays", "wss://\($service)", "\($base)/r1", "\($base)/\"quoted\"", "\($base)/back\\slash",
		"\($base)/{relay=x}", "\($base)/%00%0a", "\($base)/\($long)", "\($base)/ünï",
		"\($base)/new\nline", "wss://exämple.example/x"]]}' | signevent 42 >strange
	ask "quiet boot $(<strange)"
	start_daemon
	wait_for is_ready
	wait_for is_of ngit_sync_relay_connected r1 1
	get /metrics >metrics
	"$BATS_TEST_DIRNAME/../tools/promcheck" <metrics
	grep -q -F '\"quoted\"' metrics
	grep -q -F 'back\\slash' metrics
	get /status | jq -e '.relays | length > 5'
}
