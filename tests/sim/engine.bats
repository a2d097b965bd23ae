#!/usr/bin/env bats
# shellcheck disable=SC2154
# The engine against 60 relays in virtual time, three days a seed, against a model that
# shares no code with the library.  SEEDS=500 tries more; a seed that fails prints itself,
# and fails again in the same way alone: enginesim -v [-d] [-k FAULTS] SEED.
bats_require_minimum_version 1.5.0

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	# The stores are thrown away.
	[ ! -w /dev/shm ] || export TMPDIR=/dev/shm
	# A sanitizer makes it eight times slower.
	seeds=${SEEDS:-25}
	[ "${GS_VARIANT:-}" != asan ] || seeds=${SEEDS:-3}
}

# usage: try COUNT [OPTION...]
try() {
	run enginesim "${@:2}" 1 "$1"
	echo "$output"
	[ "$status" -eq 0 ]
	[[ ${lines[-1]} == "$1 seeds, 0 failed; "* ]]
}

@test "without faults nothing is late and nothing is missing" {
	try "$seeds" -k csx
}

@test "whatever relays and our process do: what is dated well is here in time" {
	try "$seeds"
}

@test "with the daily history everything is here in the end" {
	try "$seeds" -d
}

@test "a seed is always the same" {
	enginesim -v 7 >first
	enginesim -v 7 >second
	cmp first second
	[ -s first ]
}

@test "usage errors" {
	run -64 --separate-stderr enginesim
	[[ $stderr == "usage: enginesim "* ]]
	run -64 --separate-stderr enginesim x
	run -64 --separate-stderr enginesim -k Z 1
	run -64 --separate-stderr enginesim 1 2 3
}
