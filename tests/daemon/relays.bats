#!/usr/bin/env bats
# shellcheck disable=SC2154,SC2016,SC2030,SC2031,SC2054
# Relays that are away, flap, refuse, hide and talk nonsense: the trouble of each is its own,
# and what it has arrives.
bats_require_minimum_version 1.5.0

setup() {
	load daemon.bash
	load events.bash
	use_daemon_folder
	use_events
	relays=()
	start_farm
}

teardown() {
	local pid
	for pid in "${relays[@]}"; do
		kill "$pid" || :
	done
	stop_daemon_folder
}

# usage: restart_farm OPTION...   another one, with nothing in it
restart_farm() {
	kill "$farm_pid"
	wait "$farm_pid" || :
	start_farm "$@"
}

# usage: script NAME JSON   a test relay in a folder of that name; adds its URL to urls
script() {
	local port
	mkdir "$1"
	jq -c --arg ref "$(ref 1 one)" --argjson seed $((${#relays[@]} + 1)) --argjson at "$at" '
		.make = [{count: (.count // 30), kind: 1621, seed: $seed, at: $at, tags: [["a", $ref]]}] |
		del(.count)' <<<"$2" >"$1/script"
	mkfifo "$1/listening" "$1/control"
	fakerelay --script "$1/script" --log "$1/log" --control "$1/control" --served "$1/served" \
		>"$1/listening" 2>"$1/said" 3>&- &
	relays+=($!)
	read -r _ port <"$1/listening"
	urls+=("ws://127.0.0.1:$port")
	names["$1"]=ws://127.0.0.1:$port
}

# usage: announce_urls URL...
announce_urls() {
	sign 1 30617 "$at" "d one" "clone https://$service/n/one.git" "relays wss://$service $*"
}

# usage: has_served NAME...   all that those relays serve
has_served() {
	local name
	export_store >exported
	jq -r .id exported | sort >stored
	for name; do
		jq -r .id "$name/served" | sort >served
		[ -s served ] && [ -z "$(comm -23 served stored)" ] || return 1
	done
}

# usage: says NAME JQ-EXPRESSION   /status of a scripted relay
says() {
	status_says ".relays[\"${names[$1]}\"] | $2"
}

@test "refusals, limits, caps, silence and junk: all arrives, and each fault is its relay's own" {
	local urls=() name
	local -A names=()
	script plain '{}'
	script rate '{"rules":[{"on":"req","connection":1,"nth":2,"times":1,
		"do":[{"send":["CLOSED","$SUB","rate-limited: slow down"]},{"skip":true}]}]}'
	script concurrent '{"max_subscriptions":{"max":3,"by":"CLOSED",
		"text":"error: too many concurrent REQs"}}'
	script noticed '{"max_subscriptions":{"max":3,"by":"NOTICE","text":"too many subscriptions"}}'
	script one '{"max_filters":{"max":1,"by":"CLOSED","text":"too many filters"}}'
	script halfnotice '{"page":10,"rules":[{"on":"event","nth":5,"times":1,
		"do":[{"send":["NOTICE","rate limit: slow down"]}]}]}'
	script page '{"page":7,"count":100}'
	script turned '{"page":20,"count":100,"order":"turned"}'
	script refused '{"refuse":2}'
	script busy '{"upgrade":[{"status":503,"headers":["Retry-After: 1"],"times":2}]}'
	script dripping '{"upgrade":[{"status":429,"times":1}],"rules":[{"on":"open","do":[{"fragment":100}]}]}'
	script dropping '{"page":10,"count":60,"rules":[{"on":"eose","nth":3,"connections":2,"do":[{"rst":true}]}]}'
	script endless '{"eose":"never"}'
	script forging '{"rules":[{"on":"event","every":2,"times":5,"do":[{"corrupt":"sig"}]}]}'
	script straying '{"rules":[{"on":"req","times":3,"do":[{"stray":20},{"text":"junk"},{"text":"[]"},{"hex":"00"}]}]}'
	script auth '{"auth":{"challenge":"c","required":true,"text":"auth-required: who are you"}}'
	(umask 077 && printf '%064x\n' 7 >key)
	put boot "$(announce_urls "${urls[@]}")"
	start_daemon --window 1s --timeout 2s --auth-key-file key
	# none has to wait for another: the plain one is there before the others' patience ends
	wait_for has_served plain
	unset 'names[endless]' 'names[forging]' 'names[turned]'
	for name in "${!names[@]}"; do
		echo "$name"
		wait_for has_served "$name"
	done
	for name in "${!names[@]}"; do
		echo "$name"
		wait_for says "$name" '.phase == "connected" and .pending == 0 and .status == "healthy"'
	done
	# what came without an end, or in a wrong order, is kept, and never taken for all
	names[endless]=${urls[12]} names[turned]=${urls[7]}
	wait_for has_served endless
	says endless '.pending >= 1 and (has("read_until") | not)'
	says turned '.pending >= 1 and .failed >= 1 and .events >= 20 and (has("read_until") | not)'
	# the true copies come with the next reading
	wait_for judged invalid 5
}

@test "a forged copy of an event comes first: the true one is stored all the same" {
	local urls=()
	local -A names=()
	# they are two relays with the same events
	script forging '{"rules":[{"on":"event","do":[{"corrupt":"sig"}]}]}'
	put r1 "$(head -n 1 forging/served)"
	put boot "$(announce_urls "${urls[0]}")"
	begin
	wait_for judged invalid 30
	has_none "$(head -n 1 forging/served)"
	live boot "$(sign 1 30617 "$now" "d one" "clone https://$service/n/one.git" \
		"relays wss://$service ${urls[0]} $base/r1")"
	wait_for has "$(head -n 1 forging/served)"
}

@test "down at the start: read when it comes, and it costs nobody else a thing" {
	here=$(sign 2 1621 "$at" "a $(ref 1 one)")
	there=$(sign 3 1621 "$at" "a $(ref 1 one)")
	put boot "$(announce 1 one "$at" "r1 r2 h1 h2")"
	put r1 "$here"
	put r2 "$there"
	ask "down r2"
	begin
	wait_for has "$here"
	[ $(($(now_ms) - begun_ms)) -lt $((8000 * slack)) ]
	wait_for relay r2 '.failed_dials > 1 and .status == "backoff"'
	has_none "$there"
	ask "up r2"
	wait_for has "$there"
	wait_for relay r2 '.status == "healthy" and .failures == 0'
}

@test "dropped, then hung: what came in the gap on layers 2 and 3 arrives" {
	put boot "$(announce 1 one "$at" r1)"
	root=$(sign 2 1617 "$at" "a $(ref 1 one)")
	put r1 "$root"
	begin --timeout 2s
	wait_for relay r1 '.filters > 4 and .live == .filters'
	local how gap
	for how in down hole; do
		ask "$how r1"
		# a hung socket shows when it owes an answer: to what was asked, or to a ping
		[ "$how" != down ] || wait_for relay r1 '.phase != "connected"'
		gap=("$(sign 3 1621 "$(date +%s)" "a $(ref 1 one)" "t $how")"
			"$(sign 4 1111 "$(date +%s)" "E $(id "$root")" "t $how")")
		put r1 "${gap[@]}"
		has_none "${gap[@]}"
		[ "$how" != hole ] || ask "down r1"
		ask "up r1"
		wait_for has "${gap[@]}"
	done
	[ "$(metric ngit_sync_gap_events_total)" -eq 0 ]
}

@test "40 issues in pages of 10, and 300 in pages of 20" {
	restart_farm --page 10
	make_world --seed 51 --repos 1 --roots 40 --comments 0 --relays 1
	begin
	wait_for_all
	kill_daemon
	db=large
	restart_farm --page 20
	make_world --seed 52 --repos 2 --roots 150 --comments 30 --relays 2
	begin
	wait_for_all
}

@test "one relay, however its URL is written, and none that is no relay" {
	local at_port=${base#ws://127.0.0.1}
	local urls=("wss://$service:443/" "https://$service" "wss://$service." "WSS://${service^^}/x"
		"$base/r1" "WS://127.0.0.1$at_port/r1" "http://127.0.0.1$at_port/r1" "$base/r1#here"
		"javascript:alert(1)" ws:// wss://user:pw@r.example wss://a.example,wss://b.example
		ftp://r.example)
	put boot "$(sign 1 30617 "$at" "d one" "clone https://$service/n/one.git" "relays ${urls[*]}")"
	begin
	wait_for follows r1 1
	status_says ".relays | keys == [\"$base/boot\", \"$base/r1\"]"
	farm_says '.relays.r1.opened == 1'
}

@test "private addresses are dialled only for bootstrap relays" {
	ours=$(announce 1 one "$at" "r1 r2")
	put boot "$ours"
	grasp-syncd --service "$service" --bootstrap "$base/boot" --db "$db" --window 1s \
		--listen "unix:$PWD/http" 2>daemon.log 3>&- &
	daemon_pid=$!
	wait_for has "$ours"
	wait_for test "$(metric grasp_sync_batches_total)" -ge 1
	wait_for has_batches 2
	status_says ".relays | keys == [\"$base/boot\"]"
	farm_says '.relays.r1.opened == 0 and .relays.r2.opened == 0'
}

has_batches() {
	[ "$(metric grasp_sync_batches_total)" -ge "$1" ]
}

@test "71 filters and more: packed anew in two steps, old and live events arrive meanwhile" {
	restart_farm --max-subscriptions 200
	put boot "$(announce 1 one "$at" r1)"
	begin
	wait_for follows r1 1
	local n filters=4 most=0 roots=() comments=()
	# one root a window is three filters
	for n in {1..24}; do
		roots+=("$(sign 2 1621 "$now" "a $(ref 1 one)" "n $n")")
		comments+=("$(sign 3 1111 "$at" "E $(id "${roots[n - 1]}")")")
		put r1 "${comments[n - 1]}"
		live r1 "${roots[n - 1]}"
		wait_for has "${comments[n - 1]}"
		get /status >status
		filters=$(jq ".relays[\"$base/r1\"].filters" status)
		[ "$filters" -le "$most" ] || most=$filters
	done
	echo "$most filters at most, then $filters"
	[ "$most" -ge 67 ]
	[ "$most" -le 76 ]
	[ "$filters" -le 30 ]
	wait_for follows r1 1
	live r1 "$(sign 4 1111 "$now" "e $(id "${roots[0]}")")" "$(sign 4 1111 "$now" "q $(id "${roots[23]}")")"
	wait_for has "${roots[@]}" "${comments[@]}" "$(sign 4 1111 "$now" "e $(id "${roots[0]}")")"
	[ "$(metric ngit_sync_gap_events_total)" -eq 0 ]
}

@test "a storm of events while the daemon has no time: nothing is missing" {
	make_world --seed 54 --repos 20 --roots 5 --comments 5 --relays 5
	start_daemon --window 1s
	wait_for_all
	kill -STOP "$daemon_pid"
	ask "rate 3000 3"
	wait_for farm_says '.rate == 0'
	kill -CONT "$daemon_pid"
	wait_for_all
	wait_for farm_says '.roots.asked == .roots.made'
	status_says '[.relays[].status] | all(. == "healthy")'
	stop_daemon
}

has_connected() {
	[ "$(metric ngit_sync_relays_connected_total)" -ge "$1" ]
}

has_fewer() {
	[ "$(metric ngit_sync_relays_connected_total)" -le "$1" ]
}

all_connected() {
	status_says '.relays_tracked > 1 and .relays_tracked == .relays_connected'
}
