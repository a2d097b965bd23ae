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

# usage: expect OPTION... <EVENTS   what a store of that policy holds, in "want"
expect() {
	rm -rf expected
	grasp-sync-store import -q --db expected "$@"
	grasp-sync-store export --db expected | sort >want
	[ -s want ]
}

holds_what_is_wanted() {
	export_store | sort | cmp -s - want
}

# The daemon with the settings of "conf" alone.
start_configured() {
	grasp-syncd --config conf "$@" >daemon.out 2>>daemon.log 3>&- &
	daemon_pid=$!
}

# usage: configure LINE...   and what the daemons of this file have in common
configure() {
	printf '%s\n' "db = $PWD/db" "bootstrap = $base/boot" "listen = unix:$PWD/http" \
		'allow-private = true' 'max-backoff = 1s' "$@" >conf
}

@test "flags win over the environment, that over the file, that over defaults" {
	printf '%s\n' '# ours' 'service = file.example' 'db = file' 'timeout = 9s' '' 'window = 7s' >conf
	GRASP_SYNC_SERVICE=environment.example GRASP_SYNC_DB=environment GRASP_SYNC_WINDOW=8s run -0 \
		grasp-syncd --config conf --service flag.example --window 9s --print-config
	[ "$(setting service)" = flag.example ]
	[ "$(setting window)" = 9s ]
	[ "$(setting db)" = environment ]
	[ "$(setting timeout)" = 9s ]
	[ -z "$(setting max-relays)" ]
	# and it says where each is from
	[ "$(grep -B 1 '^db = ' <<<"$output" | head -n 1)" = "# from GRASP_SYNC_DB" ]
	[ "$(grep -B 1 '^timeout = ' <<<"$output" | head -n 1)" = "# from conf:4" ]
	[ "$(grep -B 1 '^window = ' <<<"$output" | head -n 1)" = "# from --window" ]
}

@test "a switch that is on in the file can be turned off in the environment" {
	printf '%s\n' 'service = a.example' 'db = db' 'allow-private = true' >conf
	run -0 grasp-syncd --config conf --print-config
	[ "$(setting allow-private)" = true ]
	GRASP_SYNC_ALLOW_PRIVATE=false run -0 grasp-syncd --config conf --print-config
	[ -z "$(setting allow-private)" ]
	GRASP_SYNC_ALLOW_PRIVATE=perhaps run -78 --separate-stderr grasp-syncd --config conf --check-config
	[[ $stderr == *GRASP_SYNC_ALLOW_PRIVATE* ]]
}

@test "what --print-config prints is read as the same settings" {
	: >"no bots"
	grasp-syncd --service a.example --service b.example --db "a b" --allow-private \
		--deny "no bots" --bootstrap wss://r.example --log-format json --max-store 10G \
		--listen unix:/run/http --print-config >first
	run -0 grasp-syncd --config first --print-config
	[ "$(grep -v '^#' <<<"$output")" = "$(grep -v '^#' first)" ]
	run -0 grasp-syncd --config first --check-config
	[ -z "$output" ]
}

@test "the example of a configuration is one, also what it shows as a comment" {
	example="$BATS_TEST_DIRNAME/../../contrib/grasp-syncd.conf"
	run -0 grasp-syncd --config "$example" --check-config
	sed 's,/etc/grasp-sync/,,; /^listen/d; s/^#\([a-z]\)/\1/' "$example" >conf
	: >deny
	run -0 grasp-syncd --config conf --print-config
	[ "$(setting log-format)" = json ]
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
	for address in 0.0.0.0:9100 '[::]:9100' 192.0.2.1:9100 status.example:9100 unix:here; do
		run -64 --separate-stderr grasp-syncd --service s.example --db db --listen "$address"
		[[ $stderr == *"--listen $address"* ]]
	done
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

# The first one waits for the file of decisions, whose reader sleeps.
@test "a second SIGTERM ends it at once" {
	begin
	mkfifo decisions
	exec {reader}<>decisions
	# full
	perl -MFcntl -e 'fcntl(STDIN, F_SETFL, O_RDWR | O_NONBLOCK);
		while (syswrite(STDIN, "\n" x 4096)) {} while (syswrite(STDIN, "\n")) {}
		fcntl(STDIN, F_SETFL, O_RDWR)' <&"$reader"
	start_daemon --decisions decisions
	wait_for status_says '[.relays[].events] | add > 0'
	kill -TERM "$daemon_pid"
	wait_for logged "a second signal ends it at once"
	wait_for ends_when_told
	local status=0
	wait "$daemon_pid" || status=$?
	daemon_pid=''
	exec {reader}<&-
	# by that signal, not by an alarm five seconds later
	[ "$status" -eq $((128 + 15)) ]
	grasp-sync-store stat --check --db db
}

ends_when_told() {
	kill -TERM "$daemon_pid" 2>/dev/null || :
	has_ended
}

@test "SIGHUP: good settings are taken, bad ones leave the old ones" {
	begin
	configure "service = $service" "deny = $PWD/deny" 'log-format = json'
	: >deny
	start_configured --state-file state.json
	wait_for is_ready
	wait_for holds_all
	before=$(count_stored)
	echo 'unknown = 1' >>conf
	kill -HUP "$daemon_pid"
	wait_for logged "the old ones stay"
	# why, in the same format, once
	jq -s -e 'map(select(.level == "error" and (.text | contains("conf:9: unknown")))) | length == 1' \
		daemon.log
	configure "service = $service" "deny = $PWD/deny"
	jq -r 'select(.kind == 30617) | .pubkey' world | head -n 1 >deny
	rm -f state.json
	kill -HUP "$daemon_pid"
	wait_for logged "settings were read again"
	wait_for denied
	# what is stored stays
	[ "$(count_stored)" -eq "$before" ]
	stop_daemon
}

@test "SIGHUP with a further service: what was rejected before is asked for again" {
	begin
	cp world both
	service=other.example make_world --seed 32 --repos 4 --roots 3 --comments 2 --relays 3
	cat world >>both
	configure "service = $service"
	start_configured
	expect --service "$service" <both
	wait_for holds_what_is_wanted
	configure "service = $service" "service = other.example"
	kill -HUP "$daemon_pid"
	expect --service "$service" --service other.example <both
	wait_for holds_what_is_wanted
	stop_daemon
	grasp-sync-store stat --check --db db
}

@test "SIGHUP when a key is denied no more: its events come" {
	begin
	jq -r 'select(.kind == 30617) | .pubkey' world | head -n 1 >deny
	configure "service = $service" "deny = $PWD/deny"
	expect --service "$service" --deny deny <world
	start_configured
	wait_for holds_what_is_wanted
	: >deny
	kill -HUP "$daemon_pid"
	expect --service "$service" <world
	wait_for holds_what_is_wanted
	stop_daemon
}

# One repository is followed no more.
denied() {
	kill -USR1 "$daemon_pid"
	[ -s state.json ] &&
		jq -e --arg key "$(<deny)" '[.sync_relays[][]] | length > 0 and
			all(.[]; contains($key) | not)' state.json >/dev/null
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

@test "HTTP on a unix socket or 127.0.0.1; nobody else can listen there" {
	begin
	start_daemon
	wait_for is_ready
	run -69 --separate-stderr grasp-syncd --service "$service" --db other --listen "unix:$PWD/http"
	[[ $stderr == *http* ]]
	stop_daemon
	[ ! -e http ]

	start_daemon --listen 127.0.0.1:0
	wait_for logged "listens on 127.0.0.1:"
	tcp=$(sed -n 's/.*listens on 127.0.0.1:\([0-9]*\).*/\1/p' daemon.log)
	[ "$tcp" -gt 0 ]
	wait_for is_ready_by_tcp
	get_by_tcp /status >status
	sed '1,/^\r$/d' status | jq -e '.relays | length > 0'
	get_by_tcp /metrics | grep '^ngit_sync_relays_tracked_total '
	run -69 --separate-stderr grasp-syncd --service "$service" --db other --listen "$tcp"
	[[ $stderr == *"$tcp"* ]]
	stop_daemon
}

# usage: get_by_tcp PATH   head and body
get_by_tcp() {
	local socket
	exec {socket}<>"/dev/tcp/127.0.0.1/$tcp" || return 1
	printf 'GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' "$1" >&"$socket"
	cat <&"$socket"
	exec {socket}<&-
}

is_ready_by_tcp() {
	get_by_tcp /readyz | head -n 1 | grep ' 200 '
}

@test "no byte of a relay that a terminal would obey gets into logs and status" {
	cat >script.json <<-'END'
		{"rules": [
		  {"on": "open", "do": [{"text": "[\"NOTICE\",\"\\u001b[2J\\u0007 \\u009b \\u202e\"]"}]},
		  {"on": "req", "do": [
		    {"text": "[\"CLOSED\",\"$SUB\",\"error: \\u001b]0;owned\\u0007\\n\"]"},
		    {"close": 4000, "reason": "\u001b[31m\u009b bye\n"}]}]}
	END
	fakerelay --script script.json >port 2>relay.log 3>&- &
	farm_pid=$!
	wait_for grep -q listening port
	base=ws://127.0.0.1:$(sed -n 's/^listening //p' port)
	for format in text json; do
		start_daemon --log-level debug --log-format "$format"
		wait_for is_ready
		wait_for failed_often
		get /status >status
		kill -USR1 "$daemon_pid"
		wait_for logged "to be read; filters:"
		stop_daemon
		mv daemon.log "$format.log"
	done
	jq -e '.relays[].last_notice | test("\\p{Cc}|\\p{Cf}") | not' status
	run -1 grep -P '[^\x20-\x7e]' text.log json.log
	jq -s -e 'all(.[]; has("text"))' json.log
}

failed_often() {
	status_says '.relays[] | .failed_dials + .dials >= 2 and .last_notice != null'
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
	status_says '.relays | to_entries | map(select(.key | endswith("/r000")))
		| .[0].value.failed_dials >= 3'
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
