#!/usr/bin/env bats
# shellcheck disable=SC2154,SC2034,SC2128,SC2178
# What happens to repositories and events, and what the daemon makes of it.  Most of it is
# what other servers' sync has been seen to get wrong.  Relays are in relays.bats.
bats_require_minimum_version 1.5.0

setup() {
	load daemon.bash
	load events.bash
	use_daemon_folder
	use_events
	start_farm
}

teardown() {
	stop_daemon_folder
}

@test "bootstrap: announcement, roots, comments and their comments, layer by layer" {
	a=$(announce 1 one "$at" r1)
	issue=$(sign 2 1621 "$at" "a $(ref 1 one)" "p $(key 1)")
	comment=$(sign 3 1111 "$at" "E $(id "$issue")" "e $(id "$issue")")
	deeper=$(sign 4 1111 "$at" "E $(id "$issue")" "e $(id "$comment")")
	quote=$(sign 5 1 "$at" "q $(ref 1 one)")
	stray=$(sign 6 1 "$at" "t other")
	put boot "$a"
	put r1 "$issue" "$comment" "$deeper" "$quote" "$stray"
	begin
	wait_for has "$a" "$issue" "$comment" "$deeper" "$quote"
	has_none "$stray"
	wait_for follows r1 1
	# what we are is no relay to ask
	status_says ".relays | keys == [\"$base/boot\", \"$base/r1\"]"
}

@test "each tag of layers 2 and 3: a, A, q and e, E, q, stored before and live" {
	put boot "$(announce 1 one "$at" r1)"
	root=$(sign 2 1617 "$at" "a $(ref 1 one)")
	put r1 "$root"
	begin
	wait_for has "$root"
	wait_for relay r1 '.filters > 4 and .live == .filters'
	local old=() new=() tag
	for tag in a A q; do
		old+=("$(sign 3 1621 "$at" "$tag $(ref 1 one)")")
		new+=("$(sign 3 1621 "$now" "$tag $(ref 1 one)")")
	done
	for tag in e E q; do
		old+=("$(sign 4 1111 "$at" "$tag $(id "$root")")")
		new+=("$(sign 4 1111 "$now" "$tag $(id "$root")")")
	done
	live r1 "${new[@]}"
	wait_for has "${new[@]}"
	# for another server, which comes later
	put r1 "${old[@]}"
	kill_daemon
	db=other
	begin
	wait_for has "${old[@]}" "${new[@]}"
}

@test "no bootstrap relay: what the store holds is where it begins" {
	issue=$(sign 2 1621 "$at" "a $(ref 1 one)")
	put r1 "$issue"
	announce 1 one "$at" r1 | grasp-sync-store import -q --db db --service "$service"
	grasp-syncd --service "$service" --db db --listen "unix:$PWD/http" --allow-private \
		2>daemon.log 3>&- &
	daemon_pid=$!
	wait_for has "$issue"
	status_says ".relays | keys == [\"$base/r1\"]"
}

@test "another process brings an announcement while the daemon runs" {
	issue=$(sign 2 1621 "$at" "a $(ref 1 one)")
	put r1 "$issue"
	begin
	announce 1 one "$at" r1 | grasp-sync-store import -q --db db --service "$service"
	wait_for has "$issue"
	wait_for follows r1 1
}

@test "an announcement that does not list us in both clone and relays is not followed" {
	local strangers=("$(sign 2 30617 "$at" "d x" "clone https://$service.evil.example/x.git"
		"relays wss://$service $base/r2")"
		"$(sign 3 30617 "$at" "d x" "clone https://$service/x.git" "relays wss://not$service $base/r3")"
		"$(sign 4 30617 "$at" "d x" "clone https://other.example/$service/x.git"
			"relays wss://$service $base/r4")"
		"$(sign 5 30617 "$at" "d x" "relays wss://$service $base/r5")")
	put boot "${strangers[@]}"
	ours=$(announce 1 one "$at" r1)
	put boot "$ours"
	begin
	wait_for has "$ours"
	wait_for judged waiting 4
	wait_for follows r1 1
	has_none "${strangers[@]}"
	status_says ".relays | keys == [\"$base/boot\", \"$base/r1\"]"
}

@test "live: an issue, and its comment at once" {
	put boot "$(announce 1 one "$at" r1)"
	begin
	wait_for follows r1 1
	issue=$(sign 2 1621 "$now" "a $(ref 1 one)")
	comment=$(sign 3 1111 "$now" "E $(id "$issue")")
	# no filter names the issue yet: its history brings the comment
	live r1 "$issue" "$comment"
	wait_for has "$issue" "$comment"
	# and then it is live
	wait_for relay r1 '.filters > 4 and .live == .filters'
	again=$(sign 4 1111 "$now" "e $(id "$issue")")
	live r1 "$again"
	wait_for has "$again"
}

@test "live: each of three issues, in whatever order they are dated" {
	put boot "$(announce 1 one "$at" r1)"
	begin
	wait_for follows r1 1
	local issues=() ago
	for ago in 2 3 1; do
		issues+=("$(sign 2 1621 $((now - ago)) "a $(ref 1 one)")")
	done
	local sent_ms
	sent_ms=$(now_ms)
	live r1 "${issues[@]}"
	wait_for has "${issues[@]}"
	[ $(($(now_ms) - sent_ms)) -lt $((4000 * slack)) ]
}

# usage: make_replies NAME   a chain, the root first; only the comment names the root
make_replies() {
	local root comment reply
	root=$(sign 2 1621 "$now" "a $(ref 1 one)" "t $1")
	comment=$(sign 3 1111 "$now" "E $(id "$root")" "e $(id "$root")")
	reply=$(sign 4 1111 "$now" "e $(id "$comment")")
	printf '%s\n' "$root" "$comment" "$reply" "$(sign 5 1111 "$now" "e $(id "$reply")")"
}

# usage: bring EVENT...   beside the daemon; they wait.  Others may be judged again with them.
bring() {
	printf '%s\n' "$@" | grasp-sync-store import --db db --service "$service" 2>brought || return 1
	cat brought
	grep -q "read $#, stored 0, .* waiting [1-9][0-9]*, rejected 0, invalid 0" brought
}

@test "replies before their root, chains of three in every order: stored when it comes" {
	local order chain i all=() roots=()
	put boot "$(announce 1 one "$at" r1)"
	begin
	wait_for follows r1 1
	for order in '1 2 3' '1 3 2' '2 1 3' '2 3 1' '3 1 2' '3 2 1'; do
		mapfile -t chain < <(make_replies "$order")
		roots+=("${chain[0]}")
		all+=("${chain[@]}")
		# each in a transaction of its own
		for i in $order; do
			bring "${chain[i]}"
		done
	done
	# and all of a chain in one
	mapfile -t chain < <(make_replies together)
	bring "${chain[3]}" "${chain[2]}" "${chain[1]}"
	roots+=("${chain[0]}")
	all+=("${chain[@]}")
	[ "${#all[@]}" -eq 28 ]
	has_none "${all[@]}"
	live r1 "${roots[@]}"
	wait_for has "${all[@]}"
}

@test "what two relays have is stored and counted once" {
	put boot "$(announce 1 one "$at" r1 r2)" "$(announce 2 two "$at" "r1 r2")"
	begin
	wait_for follows r2 1
	wait_for follows r1 2
	issue=$(sign 3 1621 "$now" "a $(ref 2 two)")
	live r1,r2 "$issue"
	wait_for has "$issue"
	[ "$(metric ngit_sync_events_total '{source="live_sync"}')" -eq 1 ]
}

@test "states open no window: what is followed is not surveyed for them" {
	put boot "$(announce 1 one "$at" r1)"
	begin
	wait_for follows r1 1
	batches=$(metric grasp_sync_batches_total)
	state=$(state 1 one "$now")
	live r1 "$state"
	wait_for has "$state"
	issue=$(sign 2 1621 "$now" "a $(ref 1 one)")
	live r1 "$issue"
	wait_for more_batches "$batches"
	[ "$(metric grasp_sync_batches_total)" -eq $((batches + 1)) ]
}

more_batches() {
	[ "$(metric grasp_sync_batches_total)" -gt "$1" ]
}

@test "the window of 5 s is not extended by what comes while it is open" {
	put boot "$(announce 1 one "$at" r1)"
	start_daemon
	wait_for is_ready
	wait_for follows r1 1
	# without a pause: an extended one would last as long as this
	ask "rate 20 14 1"
	wait_for farm_says '.rate == 0'
	wait_for farm_says '.roots.made > 200 and .roots.asked == .roots.made'
	ask stats
	echo "$reply" | jq -c .roots
	jq -e ".roots.lag_max_ms <= $((8000 * slack)) and .roots.lag_median_ms >= 1500" <<<"$reply"
}

@test "a root of several repositories is asked for on the relays of all of them" {
	put boot "$(announce 1 one "$at" r1)" "$(announce 2 two "$at" r2)" "$(announce 3 three "$at" r3)"
	root=$(sign 4 1618 "$at" "a $(ref 1 one)" "a $(ref 2 two)" "a $(ref 3 three)")
	comment=$(sign 5 1111 "$at" "E $(id "$root")")
	update=$(sign 4 1619 "$at" "a $(ref 3 three)" "E $(id "$root")")
	put r1 "$root"
	put r2 "$comment"
	put r3 "$update"
	begin
	wait_for has "$root" "$comment" "$update"
}

# A repository's name with what else there is in JSON, addresses and URLs.
odd_events() {
	jq -nc --arg d "$1" --arg base "$base" --arg service "$service" --argjson at "$at" '
		{kind: 30617, created_at: $at, content: "", tags: [["d", $d],
		["clone", "https://\($service)/n/x.git"], ["relays", "wss://\($service)", "\($base)/r1"]]}' |
		signevent 1
	jq -nc --arg d "$1" --arg key "$(key 1)" --argjson at "$at" '{kind: 1621, created_at: $at,
		content: "", tags: [["a", "30617:\($key):\($d)"]]}' | signevent 2
	jq -nc --arg d "$1" --argjson at "$at" '{kind: 30618, created_at: $at, content: "",
		tags: [["d", $d]]}' | signevent 1
}

@test "a repository's name with colons, quotes, blanks, commas and no name at all" {
	local name events=()
	for name in 'a:b:c' ':' 'with "quotes" and \ more' 'a, b' $'tab\tand\nline' 'ünï 🎉' '' '#' '%3A'; do
		odd_events "$name" >odd
		mapfile -t -O ${#events[@]} events <odd
		put boot "$(sed -n 1p odd)"
		put r1 "$(sed -n 2p odd)" "$(sed -n 3p odd)"
	done
	[ "${#events[@]}" -eq 27 ]
	begin
	wait_for has "${events[@]}"
	wait_for follows r1 9
}

@test "announcements with fewer relays, other relays, and without us" {
	local before=() after=() there=() n
	for n in 1 2 3; do
		before+=("$(announce $n one "$at" "r$n x$n")")
		put boot "${before[n - 1]}"
	done
	begin
	for n in 1 2 3; do
		wait_for follows "r$n" 1
		wait_for follows "x$n" 1
	done
	# the first drops x1; the second goes to y2, which has a history; the third leaves us
	after=("$(announce 1 one "$now" r1)" "$(announce 2 one "$now" "r2 y2")"
		"$(sign 3 30617 "$now" "d one" "clone https://other.example/one.git" "relays $base/r3")")
	there=("$(sign 4 1621 "$at" "a $(ref 2 one)")")
	put y2 "${there[0]}"
	for n in 1 2 3; do
		live r$n "${after[n - 1]}"
	done
	wait_for has "${after[@]}" "${there[@]}"
	has_none "${before[@]}"
	for n in x1 x2 x3 r3; do
		wait_for relay $n '.leaving == true and .repos == 0'
	done
	for n in r1 r2 y2; do
		wait_for follows $n 1
	done
	# an older one, dated between them, changes nothing whoever brings it
	old=$(announce 3 one $((now - 5)) "r3 z3")
	judged=$(count_judged)
	live r1 "$old"
	wait_for has_judged $((judged + 1))
	has_none "$old"
	status_says ".relays | has(\"$base/z3\") | not"
}

@test "a deletion takes a repository and its relay, and nobody brings it back" {
	a=$(announce 1 one "$at" "r1 r2")
	issue=$(sign 2 1621 "$at" "a $(ref 1 one)")
	put boot "$a"
	put r1 "$issue"
	begin
	wait_for has "$issue"
	wait_for follows r1 1
	gone=$(sign 1 5 "$now" "a $(ref 1 one)" "k 30617")
	live r2 "$gone"
	wait_for has "$gone"
	has_none "$a"
	# what was said about it stays
	has "$issue"
	wait_for relay r1 '.leaving == true'
	# an older version from elsewhere, and a newer one
	old=$(announce 1 one $((now - 9)) "r1 x1")
	judged=$(count_judged)
	live boot "$old"
	wait_for has_judged $((judged + 1))
	has_none "$old"
	newer=$(announce 1 one $((now + 1)) "r1 r3")
	live boot "$newer"
	wait_for has "$newer"
	wait_for follows r3 1
	status_says ".relays | has(\"$base/x1\") | not"
}

@test "a stranger's deletion takes nothing" {
	a=$(announce 1 one "$at" r1)
	issue=$(sign 2 1621 "$at" "a $(ref 1 one)")
	put boot "$a"
	put r1 "$issue"
	begin
	wait_for has "$issue"
	wait_for relay r1 '.filters > 4 and .live == .filters'
	judged=$(count_judged)
	live r1 "$(sign 3 5 "$now" "a $(ref 1 one)" "e $(id "$a")" "e $(id "$issue")")"
	wait_for has_judged $((judged + 1))
	has "$a" "$issue"
	follows r1 1
}

@test "an announcement that expires leaves in its time, and its relay with it" {
	a=$(announce 1 one "$at" r1 "expiration $((now + 6 * slack))")
	put boot "$a"
	begin
	wait_for follows r1 1
	has "$a"
	wait_for has_none "$a"
	wait_for relay r1 '.leaving == true'
}

@test "a bootstrap relay stays without repositories, also when the last one has left it" {
	put boot "$(announce 1 one "$at" boot)"
	begin
	wait_for follows boot 1
	live boot "$(announce 1 one "$now" r1)"
	wait_for follows r1 1
	relay boot '.repos == 0 and .bootstrap and (has("leaving") | not) and .phase == "connected"'
	# it still finds what is new
	live boot "$(announce 2 two "$now" r2)"
	wait_for follows r2 1
}

@test "an archive server follows what it is told to, whoever lists it" {
	strange=$(sign 1 30617 "$at" "d one" "clone https://other.example/one.git" "relays $base/r1")
	issue=$(sign 2 1621 "$at" "a $(ref 1 one)")
	ours=$(announce 3 two "$at" r2)
	put boot "$strange" "$ours"
	put r1 "$issue"
	ref 1 one >list
	begin --follow list
	wait_for has "$strange" "$issue"
	has_none "$ours"
	kill_daemon
	db=all
	begin --follow all
	wait_for has "$strange" "$issue" "$ours"
}
