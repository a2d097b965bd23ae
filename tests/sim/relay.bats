#!/usr/bin/env bats
# shellcheck disable=SC2154
# Relays of every sort in virtual time, against an oracle that shares no code with the
# library.  SEEDS=2000 tries more; a seed that fails prints itself, and fails again in
# the same way alone: relaysim -v reading SEED.
bats_require_minimum_version 1.5.0

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
}

# usage: try PROPERTY COUNT
try() {
	run relaysim "$1" 1 "$2"
	echo "$output"
	[ "$status" -eq 0 ]
	[[ ${lines[-1]} == "$2 seeds, 0 failed; "* ]]
}

@test "a reading is all that the relay gives, or says which filter is not" {
	try reading "${SEEDS:-25}"
}

@test "a follower misses nothing, whatever drops and outages" {
	try following "${SEEDS:-25}"
}

@test "30 days with a relay that flaps and dies: each dial at its second, nothing missing" {
	try months 2
}

@test "a seed is always the same" {
	relaysim -v reading 7 >first
	relaysim -v reading 7 >second
	cmp first second
	[ -s first ]
	relaysim -v following 7 >first
	relaysim -v following 7 >second
	cmp first second
}

@test "usage errors" {
	run -64 --separate-stderr relaysim
	[[ $stderr == "usage: relaysim "* ]]
	run -64 --separate-stderr relaysim nothing 1
	run -64 --separate-stderr relaysim reading x
	run -64 --separate-stderr relaysim reading 1 2 3
}
