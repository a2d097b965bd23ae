#!/usr/bin/env bats
# shellcheck disable=SC2154
# What comes before that which makes it ours waits, and is stored the moment that this comes.
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

# usage: theirs NUMBER D AT [TAG]...   of a maintainer: does not list us
theirs() {
	sign "$1" 30617 "$3" "d $2" "clone https://other.example/$2.git" "relays $base/r1" "${@:4}"
}

@test "a maintainer's announcement and state before the owner's" {
	theirs=$(theirs 2 one "$at")
	state=$(state 2 one "$at")
	put boot "$theirs" "$state"
	begin
	wait_for judged waiting 2
	has_none "$theirs" "$state"
	a=$(announce 1 one "$now" r1 "maintainers $(key 2)")
	live boot "$a"
	wait_for has "$a" "$theirs" "$state"
}

@test "a state before the announcement, an older and a newer one" {
	state=$(state 1 one "$((now - 1))")
	older=$(state 1 one "$at")
	put boot "$older"
	begin
	wait_for judged waiting 1
	live boot "$state"
	wait_for judged waiting 2
	has_none "$older" "$state"
	a=$(announce 1 one "$now" r1)
	live boot "$a"
	wait_for has "$a" "$state"
	wait_for follows r1 1
	has_none "$older"
}

@test "three maintainers wait through a restart, and are stored at once" {
	local waiting=() n
	for n in 2 3 4; do
		waiting+=("$(theirs "$n" one "$at")" "$(state "$n" one "$at")")
	done
	put boot "${waiting[@]}"
	begin
	wait_for judged waiting 6
	wait_for has_read_all
	stop_daemon
	ask reset
	begin
	a=$(announce 1 one "$now" r1 "maintainers $(key 2) $(key 3)" "maintainers $(key 4)")
	live boot "$a"
	wait_for has "$a" "${waiting[@]}"
	# they were not asked for again
	farm_says '.relays.boot.unbounded == 0'
}

@test "junk among the maintainers spoils nothing" {
	theirs=$(theirs 2 one "$at")
	a=$(announce 1 one "$at" r1 "maintainers npub1xyz $(key 2) " "maintainers" \
		"maintainers ${service} $(printf 'f%.0s' {1..64}) $(key 1)")
	put boot "$theirs" "$a"
	begin
	wait_for has "$a" "$theirs"
	wait_for follows r1 1
}

@test "states: without announcement, of a stranger, of the owner, of a maintainer" {
	nobodys=$(state 1 none "$at")
	strangers=$(state 9 one "$at")
	owners=$(state 1 one "$at")
	maintainers=$(state 2 one "$at")
	older=$(state 2 one $((at - 1)))
	put boot "$nobodys" "$strangers" "$owners" "$maintainers" \
		"$(announce 1 one "$at" r1 "maintainers $(key 2)")"
	put r1 "$older"
	begin
	wait_for has "$owners" "$maintainers"
	wait_for follows r1 1
	wait_for judged waiting 2
	has_none "$nobodys" "$strangers" "$older"
}

@test "who is no maintainer any more brings nothing new" {
	put boot "$(announce 1 one "$at" r1 "maintainers $(key 2)")"
	begin
	wait_for follows r1 1
	before=$(state 2 one $((now - 2)))
	live r1 "$before"
	wait_for has "$before"
	a=$(announce 1 one $((now - 1)) r1)
	live r1 "$a"
	wait_for has "$a"
	judged=$(count_judged)
	after=$(state 2 one "$now")
	live r1 "$after"
	wait_for has_judged $((judged + 1))
	has_none "$after"
}

# usage: permute PREFIX ITEM...   prints each order of the items, a line each
permute() {
	local prefix=$1 i
	shift
	[ $# -gt 0 ] || echo "$prefix"
	for ((i = 1; i <= $#; i++)); do
		permute "$prefix ${!i}" "${@:1:i-1}" "${@:i+1}"
	done
}

# The events of one repository: its owner names the first maintainer, that one the second, who
# has a state and names the third.
make_chain() {
	announce 1 "$1" "$now" r1 "maintainers $(key 2)"
	theirs 2 "$1" "$now" "maintainers $(key 3)"
	theirs 3 "$1" "$now" "maintainers $(key 4)"
	state 4 "$1" "$now"
}

@test "a chain of three maintainers, in every order" {
	local order chain i number=0 all=() judged=0
	begin
	wait_for relay boot '.live == 1'
	permute '' 0 1 2 3 >orders
	[ "$(wc -l <orders)" -eq 24 ]
	while read -r order; do
		number=$((number + 1))
		mapfile -t chain < <(make_chain "chain-$number")
		for i in $order; do
			live boot "${chain[i]}"
			judged=$((judged + 1))
			# every second one also within one transaction
			[ $((number % 2)) -eq 0 ] || wait_for has_judged "$judged"
		done
		all+=("${chain[@]}")
	done <orders
	wait_for has "${all[@]}"
	wait_for follows r1 24
}
