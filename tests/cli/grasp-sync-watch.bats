#!/usr/bin/env bats
# shellcheck disable=SC2154,SC2016,SC2030,SC2031
# grasp-sync-watch: batches as a store changes, and what they leave behind.
bats_require_minimum_version 1.5.0

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	export LC_ALL=C TMPDIR=$BATS_TEST_TMPDIR
	service=git.example.com
	pk=$(signevent 1 --key)
	x="30617:$pk:x" y="30617:$pk:y"
	watcher=
	: | grasp-sync-store import -q --db db -
}

teardown() {
	[ -z "$watcher" ] || kill -KILL "$watcher" 2>/dev/null || true
}

# An announcement of D at TIME with these relays, signed by person 1.
announce() {
	local d=$1 time=$2
	shift 2
	jq -nc --arg d "$d" --argjson time "$time" '{ kind: 30617, created_at: $time, content: "", tags: [
		["d", $d], ["clone", "https://git.example.com/n/\($d).git"],
		["relays", "wss://git.example.com"] + $ARGS.positional] }' --args "$@" | signevent 1
}

# Event of KIND at TIME with these tags (JSON).
event() {
	jq -nc --argjson kind "$1" --argjson time "$2" --argjson tags "$3" \
		'{ kind: $kind, created_at: $time, $tags, content: "" }' | signevent 1
}

id_of() {
	jq -r .id <<<"$1"
}

store() {
	grasp-sync-store import -q --db db - <<<"$1"
}

watch() {
	grasp-sync-watch --db db --service "$service" "$@" >out 2>err &
	watcher=$!
}

# Waits until FILE has COUNT lines; 20 s are enough for anybody.
wait_for_lines() {
	local deadline=$((SECONDS + 20))
	until [ "$(wc -l <out)" -ge "$1" ]; do
		[ "$SECONDS" -lt "$deadline" ] || { cat out err && return 1; }
		read -rt 0.02 <> <(:) || true
	done
}

wait_for_state() {
	local deadline=$((SECONDS + 20))
	until [ -e "$1" ] && jq -e "$2" "$1" >/dev/null; do
		[ "$SECONDS" -lt "$deadline" ] || { cat "$1" err && return 1; }
		read -rt 0.02 <> <(:) || true
	done
}

# Ends the watcher as an operator does.
stop() {
	kill -TERM "$watcher"
	wait "$watcher"
	watcher=
}

line() {
	sed -n "$1p" out
}

@test "at first all that is there, then what each import brings" {
	one=$(event 1621 100 "[[\"a\",\"$x\"]]")
	two=$(event 1617 101 "[[\"a\",\"$x\"],[\"a\",\"$y\"]]")
	store "$(announce x 100 wss://a.example)"
	store "$one"
	before=$(date +%s)
	watch --window 1
	wait_for_lines 1
	jq -e --arg x "$x" --arg one "$(id_of "$one")" --argjson before "$before" '
		.batch == 1 and .events == 2 and .opened_at >= $before and .relays ==
		{ "wss://a.example": { new: true, repos: [$x], root_events: [$one] } } and
		.removed_relays == [] and .removed_repos == []' out
	[ "$(jq -r 'keys_unsorted | join(" ")' out)" = \
		"batch opened_at events relays removed_relays removed_repos" ]
	store "$two"
	wait_for_lines 2
	line 2 | jq -e --arg two "$(id_of "$two")" '.batch == 2 and .events == 1 and .relays ==
		{ "wss://a.example": { new: false, repos: [], root_events: [$two] } }'
	store "$(announce y 100 wss://b.example wss://a.example)"
	wait_for_lines 3
	line 3 | jq -e --arg y "$y" --arg two "$(id_of "$two")" '.batch == 3 and .relays == {
		"wss://a.example": { new: false, repos: [$y], root_events: [] },
		"wss://b.example": { new: true, repos: [$y], root_events: [$two] } }'
	stop
	[ "$(wc -l <out)" -eq 3 ]
	[ ! -s err ]
}

@test "an empty store, --bootstrap" {
	watch --window 1 --bootstrap wss://boot.example
	wait_for_lines 1
	jq -e '.batch == 1 and .events == 0 and .relays ==
		{ "wss://boot.example": { new: true, repos: [], root_events: [] } }' out
	store "$(announce x 100 wss://boot.example)"
	wait_for_lines 2
	line 2 | jq -e --arg x "$x" '.relays["wss://boot.example"] ==
		{ new: false, repos: [$x], root_events: [] }'
	stop
}

@test "what changes nothing makes no line: states, comments, roots of others" {
	store "$(announce x 100 wss://a.example)"
	watch --window 0
	wait_for_lines 1
	store "$(event 30618 100 '[["d","x"]]')"
	store "$(event 1111 100 "[[\"A\",\"$x\"]]")"
	store "$(event 1621 100 "[[\"a\",\"30617:$pk:unknown\"]]")"
	store "$(event 5 200 '[["k","1"]]')"
	store "$(announce y 100 wss://b.example)"
	wait_for_lines 2
	line 2 | jq -e --arg y "$y" '.batch == 2 and .relays ==
		{ "wss://b.example": { new: true, repos: [$y], root_events: [] } }'
	stop
	[ "$(wc -l <out)" -eq 2 ]
}

@test "the window is not extended: events that go on coming are in several batches" {
	watch --window 1 --bootstrap wss://boot.example
	wait_for_lines 1
	for i in {1..400}; do
		store "$(announce "r$i" 100 wss://a.example)"
		[ "$(wc -l <out)" -lt 4 ] || break
	done
	wait_for_lines 4
	stop
	# None of them took in all; together they did.
	[ "$(tail -n +2 out | jq -s 'map(.relays["wss://a.example"].repos[]) | length')" -eq "$i" ]
	[ "$(tail -n +2 out | jq -s 'map(.relays["wss://a.example"].new) | map(select(.)) | length')" -eq 1 ]
	[ "$(tail -n +2 out | jq -s 'map(.events) | add')" -eq "$i" ]
	# A second apart, at most a few late.
	jq -se 'map(.opened_at) | (.[3] - .[1]) >= 2' out
}

@test "events of one window are one batch" {
	watch --window 2 --bootstrap wss://boot.example
	wait_for_lines 1
	for d in x y z; do
		store "$(announce "$d" 100 wss://a.example)"
	done
	wait_for_lines 2
	line 2 | jq -e '.events == 3 and (.relays["wss://a.example"].repos | length) == 3'
	stop
}

@test "removals: a newer announcement, a deletion, an expiry" {
	store "$(announce x 100 wss://a.example wss://b.example)"
	store "$(announce y 100 wss://c.example)"
	watch --window 0 --state state.json
	wait_for_lines 1
	store "$(announce x 101 wss://a.example)"
	wait_for_lines 2
	line 2 | jq -e '.relays == {} and .removed_relays == ["wss://b.example"] and
		.removed_repos == []'
	store "$(event 5 200 "[[\"a\",\"$y\"]]")"
	wait_for_lines 3
	line 3 | jq -e --arg y "$y" '.events == 1 and .relays == {} and
		.removed_relays == ["wss://c.example"] and .removed_repos == [$y]'
	expiry=$(($(date +%s) + 3))
	store "$(jq -nc --arg expiry "$expiry" '{ kind: 30617, created_at: 100, content: "", tags: [
		["d", "z"], ["clone", "https://git.example.com/n/z.git"],
		["relays", "wss://git.example.com", "wss://z.example"],
		["expiration", $expiry]] }' | signevent 1)"
	wait_for_lines 4
	line 4 | jq -e '.relays | keys == ["wss://z.example"]'
	wait_for_lines 5
	[ "$(date +%s)" -ge "$expiry" ]
	line 5 | jq -e --arg z "30617:$pk:z" '.events == 1 and
		.removed_relays == ["wss://z.example"] and .removed_repos == [$z]'
	wait_for_state state.json '.sync_relays | keys == ["wss://a.example"]'
	stop
	[ "$(wc -l <out)" -eq 5 ]
}

@test "an announcement that leaves our service ends the repository" {
	store "$(announce x 100 wss://a.example)"
	watch --window 0
	wait_for_lines 1
	store "$(event 30617 200 '[["d","x"],["clone","https://elsewhere.example/x.git"]]')"
	wait_for_lines 2
	line 2 | jq -e --arg x "$x" '.removed_relays == ["wss://a.example"] and .removed_repos == [$x]'
	stop
}

@test "--state: only what it lacks, and it is kept up to date" {
	one=$(event 1621 100 "[[\"a\",\"$x\"]]")
	store "$(announce x 100 wss://a.example)"
	grasp-sync-init --db db --service "$service" -o state.json
	cp state.json old.json
	watch --window 0 --state state.json
	store "$one"
	wait_for_lines 1
	jq -e --arg one "$(id_of "$one")" '.relays == { "wss://a.example":
		{ new: false, repos: [], root_events: [$one] } }' out
	wait_for_state state.json '.following_repo_root_events != {}'
	stop
	grasp-sync-init --db db --service "$service" | cmp - state.json
	# The same again: nothing is new.
	run -0 --separate-stderr grasp-sync-watch --once --db db --service "$service" --state state.json
	[ -z "$output$stderr" ]
	run -0 grasp-sync-watch --once --db db --service "$service" --state old.json
	[ "$(jq -c '.relays | map_values(.root_events | length)' <<<"$output")" = '{"wss://a.example":1}' ]
	cmp old.json state.json
}

@test "--once without a state file: everything, and the file is made" {
	store "$(announce x 100 wss://a.example)"
	run -0 grasp-sync-watch --once --db db --service "$service" --state new.json
	jq -e --arg x "$x" '.relays["wss://a.example"].repos == [$x]' <<<"$output"
	grasp-sync-init --db db --service "$service" | cmp - new.json
}

@test "SIGTERM and SIGINT print what the open window holds" {
	store "$(announce x 100 wss://a.example)"
	for signal in TERM INT; do
		watch --window 1h --state "$signal.json"
		wait_for_lines 1
		store "$(announce "$signal" 100 wss://b.example)"
		kill -"$signal" "$watcher"
		wait "$watcher"
		watcher=
		[ "$(wc -l <out)" -eq 2 ]
		line 2 | jq -e --arg r "30617:$pk:$signal" '.relays["wss://b.example"].repos | index($r)'
		grasp-sync-init --db db --service "$service" | cmp - "$signal.json"
	done
}

@test "a batch that nobody took is not in the state file" {
	store "$(announce x 100 wss://a.example)"
	grasp-sync-watch --db db --service "$service" --state state.json --window 0 | true
	[ "${PIPESTATUS[0]}" -eq 0 ]
	mkfifo pipe
	grasp-sync-watch --db db --service "$service" --state state.json --window 0 >pipe 2>err &
	watcher=$!
	exec 7<pipe
	read -ru 7 batch
	jq -e .batch <<<"$batch"
	wait_for_state state.json '.sync_relays != {}'
	# With its reader gone it ends, also without another batch.
	exec 7<&-
	wait "$watcher"
	watcher=
	[ ! -s err ]
}

@test "filters --batch: together with those before, the filters of the state" {
	store "$(announce x 100 wss://a.example)"
	watch --window 0 --state state.json --bootstrap wss://boot.example
	wait_for_lines 1
	store "$(event 1621 100 "[[\"a\",\"$x\"]]")"
	wait_for_lines 2
	store "$(announce y 100 wss://a.example wss://b.example)"
	wait_for_lines 3
	store "$(event 1617 101 "[[\"a\",\"$x\"],[\"a\",\"$y\"]]")"
	wait_for_lines 4
	stop
	parts='.relay as $r | .filter | to_entries[] | .key as $k | .value[] | [$r, $k, .]'
	grasp-sync-filters state.json | jq -c "$parts" | sort >want
	# No value comes twice.
	grasp-sync-filters --batch out | jq -c "$parts" | sort | diff want -
	run -0 grasp-sync-filters --relay wss://b.example --batch - < <(line 3)
	[ "${lines[0]}" = '{"kinds":[30617,30618]}' ]
	[ "${lines[1]}" = "{\"#a\":[\"$y\"]}" ]
	run -0 grasp-sync-filters --relay wss://a.example --batch - < <(line 3)
	[ "${lines[0]}" = "{\"#a\":[\"$y\"]}" ]
	run -0 --separate-stderr grasp-sync-filters --relay wss://none.example --batch out
	[ -z "$output" ]
	[ "$stderr" = "grasp-sync-filters: nothing to ask" ]
	run -0 grasp-sync-filters --format array --layer 1 --batch out
	[ "${#lines[@]}" -eq 3 ]
	run -0 grasp-sync-filters --format req --relay wss://a.example --batch - < <(line 2)
	[[ $output == '["REQ","g1",{"#e":['* ]]
}

@test "filters --batch: bad lines are told, the rest goes on" {
	printf '%s\n\nnonsense\n{}' \
		'{"batch":1,"opened_at":1,"events":0,"relays":{"wss://a.example":{"new":true,"repos":[],"root_events":[]}},"removed_relays":[],"removed_repos":[]}' >lines
	run -65 --separate-stderr grasp-sync-filters --batch lines
	[ "$output" = '{"relay":"wss://a.example","layer":1,"filter":{"kinds":[30617,30618]}}' ]
	[[ ${stderr_lines[0]} == "grasp-sync-filters: lines line 3: invalid (batch): "* ]]
	[ "${stderr_lines[1]}" = "grasp-sync-filters: lines line 4: invalid (batch): batch: missing" ]
	run -66 --separate-stderr grasp-sync-filters --batch missing
	[ -z "$output" ]
	run -64 --separate-stderr grasp-sync-filters --batch lines state.json
	[[ $stderr == *"state.json: no state file with --batch"* ]]
}

@test "filters --batch answers a line at a time, behind a watch" {
	store "$(announce x 100 wss://a.example)"
	mkfifo pipe
	grasp-sync-filters --batch pipe >out 2>err &
	filters=$!
	grasp-sync-watch --db db --service "$service" --window 0 >pipe &
	watcher=$!
	wait_for_lines 4
	store "$(announce y 100 wss://a.example)"
	wait_for_lines 7
	stop
	wait "$filters"
	[ "$(wc -l <out)" -eq 7 ]
}

@test "wrong usage, a missing store, a damaged state file" {
	for args in "" "--db db" "--service $service" "--db db --service $service extra" \
		"--db db --service $service --window x" "--db db --service $service --state -"; do
		# shellcheck disable=SC2086
		run -64 --separate-stderr grasp-sync-watch $args
		[ -z "$output" ]
		[[ $stderr == *"Try 'grasp-sync-watch --help'."* ]]
	done
	run -66 --separate-stderr grasp-sync-watch --db missing --service "$service"
	[ -z "$output" ]
	echo '{"version":1' >state.json
	run -65 --separate-stderr grasp-sync-watch --db db --service "$service" --state state.json
	[ -z "$output" ]
	[[ $stderr == "grasp-sync-watch: state.json: line "* ]]
	[ "$(cat state.json)" = '{"version":1' ]
	run -73 --separate-stderr grasp-sync-watch --once --db db --service "$service" \
		--bootstrap wss://boot.example --state missing/state.json
}

@test "a store that is replaced under it ends it" {
	watch --window 0 --bootstrap wss://boot.example
	wait_for_lines 1
	mv db/data.mdb old.mdb
	code=0
	wait "$watcher" || code=$?
	watcher=
	[ "$code" -eq 74 ]
	[[ $(cat err) == "grasp-sync-watch: db: the store was removed or replaced" ]]
}

@test "a full disk" {
	[ -w /dev/full ] || skip "no /dev/full"
	store "$(announce x 100 wss://a.example)"
	run -74 --separate-stderr bash -c "grasp-sync-watch --db db --service $service --state s >/dev/full"
	[ ! -e s ]
}
