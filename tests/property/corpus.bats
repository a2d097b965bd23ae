#!/usr/bin/env bats
# shellcheck disable=SC2154
# The tests' own events: the same bytes on every machine, all of them valid, and as many
# and as large as asked.

bats_require_minimum_version 1.5.0

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
}

check_sum() {
	run -0 --separate-stderr sha256sum
	[ "${output%% *}" = "$1" ]
}

@test "a seed gives the same bytes everywhere" {
	gencorpus --repos 3 |
		check_sum c71686adb5240847f11f7f4c6f177a665851dd9b853e2f3d329cdd861d817e93
	gencorpus --tangle --seed 1 |
		check_sum 568c07b4001484096633fb7103e0844a61a687b791cb630851a8a8a162f8de5d
	run ! cmp -s <(gencorpus --repos 1) <(gencorpus --repos 1 --seed 2)
}

@test "every event is valid, and its line is the canonical one" {
	gencorpus --repos 10 >events.jsonl
	run -0 --separate-stderr grasp-sync-store import --db db events.jsonl
	[[ $stderr == *"read 1020, stored 1020,"* ]]
	cmp <(sort events.jsonl) <(grasp-sync-store export --db db | sort)
	gencorpus --tangle --seed 3 | grasp-sync-store import -q --db tangled
}

@test "as many of each kind as asked, about 940 bytes each" {
	gencorpus --repos 40 --roots 8 --comments 5 --states 2 >events.jsonl
	run -0 jq -r -s 'group_by(.kind) | map("\(.[0].kind) \(length)") | join(", ")' events.jsonl
	[ "$output" = '1111 200, 1617 80, 1618 80, 1619 40, 1621 120, 30617 40, 30618 80' ]
	gencorpus --repos 50 >events.jsonl
	run -0 jq -s 'map(tojson | utf8bytelength) | add / length | . > 900 and . < 980' events.jsonl
	[ "$output" = true ]
}

@test "relays come in several spellings, and some repositories do not list the service" {
	gencorpus --repos 64 --roots 0 --comments 0 --states 0 >events.jsonl
	jq -r '.tags[] | select(.[0] == "relays") | .[1:][]' events.jsonl | sort -u >spellings
	grep -q '^wss://relay0\.example$' spellings
	grep -q '^wss://relay0\.example/$' spellings
	grep -q '^WSS://Relay0\.Example$' spellings
	grep -q '^wss://relay0\.example:443$' spellings
	run -0 jq -s 'map(select(any(.tags[]; index("wss://git.example.com")))) | length' events.jsonl
	[ "$output" -eq 56 ]
}

@test "a wrong option is refused" {
	run -64 gencorpus --repos many
	run -64 gencorpus --no-such-option
	run -64 gencorpus operand
}
