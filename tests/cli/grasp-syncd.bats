#!/usr/bin/env bats
# shellcheck disable=SC2154,SC2030,SC2031
# grasp-syncd: its settings, signals, logs.  What it syncs is in tests/daemon.
bats_require_minimum_version 1.5.0

setup() {
	# shellcheck source=tests/daemon/daemon.bash
	. "$BATS_TEST_DIRNAME/../daemon/daemon.bash"
	use_daemon_folder
}

teardown() {
	stop_daemon_folder
}

# usage: setting KEY   as --print-config has it
setting() {
	sed -n "s/^$1 = //p" <<<"$output"
}

logged() {
	grep -q -- "$1" daemon.log
}

begin() {
	start_farm --page 500
	make_world --seed 31 --repos 5 --roots 3 --comments 2 --relays 3
}

@test "flags win over the environment, that over the file, that over defaults" {
	printf '%s\n' '# ours' 'service = file.example' 'db = file' '' 'window = 7s' >conf
	GRASP_SYNC_DB=environment run -0 grasp-syncd --config conf --service flag.example --print-config
	[ "$(setting service)" = flag.example ]
	[ "$(setting db)" = environment ]
	[ "$(setting window)" = 7s ]
	[ -z "$(setting timeout)" ]
}

@test "what --print-config prints is read as the same settings" {
	grasp-syncd --service a.example --service b.example --db "a b" --allow-private \
		--bootstrap wss://r.example --log-format json --print-config >first
	run -0 grasp-syncd --config first --print-config
	[ "$(grep -v '^#' <<<"$output")" = "$(grep -v '^#' first)" ]
	run -0 grasp-syncd --config first --check-config
	[ -z "$output" ]
}

@test "several values in the environment are parted by blanks" {
	GRASP_SYNC_BOOTSTRAP='wss://a.example wss://b.example' \
		run -0 grasp-syncd --service s.example --db db --print-config
	[ "$(setting bootstrap)" = $'wss://a.example\nwss://b.example' ]
}

@test "an unknown key is an error with its place, 78" {
	printf '%s\n' 'service = a.example' 'sevrice = b.example' >conf
	run -78 --separate-stderr grasp-syncd --config conf --db db --check-config
	[[ $stderr == *"conf:2"*sevrice* ]]
	[ -z "$output" ]
	GRASP_SYNC_SEVRICE=x run -78 --separate-stderr grasp-syncd --db db --check-config
	[[ $stderr == *GRASP_SYNC_SEVRICE* ]]
	run -78 --separate-stderr grasp-syncd --config missing --db db --check-config
	[[ $stderr == *missing* ]]
}

@test "service and db are needed, operands are none, an address must be our own" {
	run -64 --separate-stderr grasp-syncd --db db --check-config
	[[ $stderr == *--service* ]]
	run -64 --separate-stderr grasp-syncd --service s.example --check-config
	[[ $stderr == *--db* ]]
	run -64 --separate-stderr grasp-syncd --service s.example --db db operand
	run -64 --separate-stderr grasp-syncd --service s.example --db db --listen 0.0.0.0:9100
	[[ $stderr == *--listen* ]]
	run -64 --separate-stderr grasp-syncd --service s.example --db db --log-level loud
	[ ! -e db ]
}

@test "SIGTERM: all is saved, 0" {
	begin
	start_daemon
	wait_for is_ready
	wait_for holds_all
	stop_daemon
	[ "$(jq '.sync_relays | length' state.json)" -gt 0 ]
	[ "$(jq '[.relays[].status] | unique | join(" ")' -r state.json)" = healthy ]
	grasp-sync-store stat --check --db db
}

@test "SIGHUP: good settings are taken, bad ones leave the old ones" {
	begin
	printf 'deny = %s/deny\n' "$PWD" >conf
	: >deny
	start_daemon --config conf
	wait_for is_ready
	wait_for holds_all
	before=$(grasp-sync-store stat --json --db db | jq .events)
	echo 'unknown = 1' >>conf
	kill -HUP "$daemon_pid"
	wait_for logged "the old ones stay"
	printf 'deny = %s/deny\n' "$PWD" >conf
	jq -r 'select(.kind == 30617) | .pubkey' world | head -n 1 >deny
	kill -HUP "$daemon_pid"
	wait_for logged "settings were read again"
	wait_for denied
	[ "$(grasp-sync-store stat --json --db db | jq .events)" -le "$before" ]
	stop_daemon
}

# One repository is followed no more.
denied() {
	kill -USR1 "$daemon_pid"
	! jq -e --arg key "$(<deny)" '[.sync_relays[][] | select(contains($key))] | length > 0' \
		state.json >/dev/null
}

# All that the farm serves of our repositories.
holds_all() {
	ask "dump $PWD/dumped" &&
		[ "$(grasp-sync-store export --db db 2>/dev/null | wc -l)" -eq "$(wc -l <dumped)" ]
}

@test "SIGUSR1 writes the state file and says how each relay does" {
	begin
	start_daemon
	wait_for is_ready
	wait_for holds_all
	rm -f state.json
	kill -USR1 "$daemon_pid"
	wait_for test -s state.json
	wait_for logged "to be read; filters:"
	stop_daemon
}

@test "a second process can't listen where the first does" {
	begin
	start_daemon
	wait_for is_ready
	run -69 --separate-stderr grasp-syncd --service "$service" --db other --listen "unix:$PWD/http"
	[[ $stderr == *http* ]]
	stop_daemon
}

@test "one line an outage, not one a try; logs as JSON" {
	begin
	ask "down r000,r001,r002"
	start_daemon --log-format json
	wait_for is_ready
	wait_for tried_often
	jq -s -e 'map(select(.about != null and (.about | endswith("/r000")) and .level == "warning"))
		| length == 1' daemon.log
	ask "up r000,r001,r002"
	wait_for logged "answers again"
	stop_daemon
	jq -s -e 'all(.[]; has("time") and has("level") and has("text"))' daemon.log
	run -1 env LC_ALL=C grep '[^ -~]' daemon.log
}

tried_often() {
	get /status | jq -e '.relays | to_entries | map(select(.key | endswith("/r000")))
		| .[0].value.failed_dials >= 3' >/dev/null
}

@test "--decisions has a line for each event" {
	begin
	start_daemon --decisions decisions.jsonl
	wait_for is_ready
	wait_for holds_all
	stop_daemon
	stored=$(jq -s 'map(select(.result == "stored") | .id) | unique | length' decisions.jsonl)
	[ "$stored" -eq "$(grasp-sync-store export --db db | wc -l)" ]
	jq -s -e 'all(.[]; has("id") and has("kind") and has("author") and has("relay") and has("reason")
		and has("waits_for"))' decisions.jsonl
}
