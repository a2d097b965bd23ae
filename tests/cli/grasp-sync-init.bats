#!/usr/bin/env bats
# shellcheck disable=SC2154
# grasp-sync-init: every option, every error, what goes to stdout and what to stderr.
bats_require_minimum_version 1.5.0

setup_file() {
	gencorpus --seed 5 --repos 6 --roots 3 --comments 1 --unlisted 3 >"$BATS_FILE_TMPDIR/events.jsonl"
	grasp-sync-store import -q --db "$BATS_FILE_TMPDIR/db" "$BATS_FILE_TMPDIR/events.jsonl"
}

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	export LC_ALL=C TMPDIR=$BATS_TEST_TMPDIR
	events=$BATS_FILE_TMPDIR/events.jsonl
	db=$BATS_FILE_TMPDIR/db
}

init() {
	grasp-sync-init --service git.example.com "$@"
}

wrong_usage() {
	local want=$1
	shift
	run -64 --separate-stderr grasp-sync-init "$@"
	[ -z "$output" ]
	[[ $stderr == *"$want"* ]]
	[[ $stderr == *"Try 'grasp-sync-init --help'."* ]]
}

# The refs of announcements that list the service, sorted, as a JSON list.
followed() {
	jq -sc 'map(select(.kind == 30617) | select(any(.tags[]; .[0] == "relays" and
		any(.[1:][]; contains("git.example.com"))) and any(.tags[]; .[0] == "clone" and
		any(.[1:][]; contains("git.example.com")))) |
		"30617:\(.pubkey):\(.tags[] | select(.[0] == "d")[1])") | sort' "$events"
}

@test "the state: followed repositories, roots of all, relays in canonical form" {
	run -0 --separate-stderr init --db "$db"
	[ -z "$stderr" ]
	[ "$(wc -l <<<"$output")" -eq 1 ]
	[ "$(jq -c '[.sync_relays[][]] | unique' <<<"$output")" = "$(followed)" ]
	[ "$(jq -c '.following_repo_root_events | map_values(sort)' <<<"$output")" = "$(jq -sc '
		[.[] | select(.kind as $k | [1617, 1618, 1619, 1621] | index($k)) | .id as $id |
			.tags[] | select(.[0] == "a" and (.[1] | startswith("30617:"))) |
			{ ref: .[1], $id }] | group_by(.ref) |
		map({ key: .[0].ref, value: (map(.id) | unique) }) | from_entries' "$events")" ]
	jq -e '.version == 1 and .service == "git.example.com" and .bootstrap_relays == [] and
		(.sync_relays | keys | all(test("^wss?://[a-z0-9.:]+$")) and
		all(contains("git.example.com") | not))' <<<"$output"
}

@test "the same bytes from the store, from lines, and from lines in another order" {
	init --db "$db" >one
	init --events "$events" >two
	tac "$events" | init --events - >three
	sort "$events" | jq -c '["EVENT", "sub", .]' | init --events - >four
	cmp one two
	cmp one three
	cmp one four
	[ -z "$(find . -name '*.mdb')" ]
}

@test "bad lines are left out: the state all the same, and exit 65" {
	init --events "$events" >want
	{ cat "$events" && echo nonsense && printf '\n\r\n[]'; } >lines
	n=$(wc -l <"$events")
	run -65 --separate-stderr init --events lines
	[ "$output" = "$(cat want)" ]
	[[ ${stderr_lines[0]} == "grasp-sync-init: lines line $((n + 1)): invalid (shape): "* ]]
	[[ ${stderr_lines[1]} == "grasp-sync-init: lines line $((n + 4)): invalid (shape): "* ]]
	[ "${#stderr_lines[@]}" -eq 2 ]
}

@test "several services, and bootstrap relays" {
	run -0 init --db "$db" --service two.example --bootstrap Boot.example/ \
		--bootstrap ws://127.0.0.1:7777 --bootstrap wss://boot.example
	jq -e '.service == "git.example.com" and .services == ["git.example.com", "two.example"] and
		.bootstrap_relays == ["ws://127.0.0.1:7777", "wss://boot.example"] and
		.sync_relays["wss://boot.example"] == []' <<<"$output"
	run -0 --separate-stderr init --db "$db" --bootstrap wss://git.example.com/x
	jq -e '.bootstrap_relays == []' <<<"$output"
	[[ $stderr == *"wss://git.example.com/x: our own relay"* ]]
	run -0 grasp-sync-init --db "$db" --service other.example
	jq -e '.sync_relays == {} and (.following_repo_root_events | length > 0)' <<<"$output"
}

@test "--follow all, --follow FILE" {
	all=$(jq -sc 'map(select(.kind == 30617) |
		"30617:\(.pubkey):\(.tags[] | select(.[0] == "d")[1])") | sort' "$events")
	run -0 init --db "$db" --follow all
	[ "$(jq -c '[.sync_relays[][]] | unique' <<<"$output")" = "$all" ]
	jq -r '.[0]' <<<"$all" >list
	printf '# a comment\n\n%s\n' "$(jq -r '.[0]' <<<"$all")" >list
	run -0 init --db "$db" --follow list
	[ "$(jq -c '[.sync_relays[][]] | unique' <<<"$output")" = "$(jq -c '.[0:1]' <<<"$all")" ]
	run -66 --separate-stderr init --db "$db" --follow missing
	[ -z "$output" ]
	echo junk >list
	run -65 --separate-stderr init --db "$db" --follow list
	[ -z "$output" ]
}

@test "--own-url and --allow-private" {
	relay=$(init --db "$db" | jq -r '.sync_relays | keys[0]')
	run -0 init --db "$db" --own-url "$relay"
	jq -e --arg r "$relay" '.sync_relays | has($r) | not' <<<"$output"
	gencorpus --seed 6 --repos 1 --roots 1 --also ws://127.0.0.1:7777 >lines
	run -0 init --events lines
	jq -e '.sync_relays | has("ws://127.0.0.1:7777") | not' <<<"$output"
	run -0 init --events lines --allow-private
	jq -e '.sync_relays | has("ws://127.0.0.1:7777")' <<<"$output"
}

@test "-o replaces the file as a whole and keeps its mode" {
	init --db "$db" >want
	run -0 --separate-stderr init --db "$db" -o state.json
	[ -z "$output$stderr" ]
	cmp want state.json
	chmod 640 state.json
	echo old >state.json
	run -0 init --db "$db" --output state.json
	cmp want state.json
	[ "$(stat -c %a state.json)" = 640 ]
	run -0 init --db "$db" -o -
	[ "$output" = "$(cat want)" ]
	run -73 --separate-stderr init --db "$db" -o no/where.json
	[[ $stderr == *"no/where.json: "* ]]
	[ -z "$(find . -name 'state.json.*')" ]
	run -66 --separate-stderr init --db missing -o state.json
	cmp want state.json
}

@test "--explain: each announcement in order, followed or not, and its relays" {
	run -0 --separate-stderr init --db "$db" --explain
	[ "$(jq -sc 'map(select(.followed).ref)' <<<"$output")" = "$(followed)" ]
	[ "$(jq -r .ref <<<"$output")" = "$(jq -r .ref <<<"$output" | sort)" ]
	[ "$(wc -l <<<"$output")" -eq 6 ]
	jq -se 'all((.followed and .why == "followed") or (.why | endswith("service-not-listed") or
		endswith("lacks-service")))' <<<"$output"
	jq -se 'all(.[]; (.created_at | type == "number") and all(.relays[];
		(.url // .text | type == "string") and (.why | type == "string")))' <<<"$output"
	[ "$(jq -sc '[.[].relays[] | select(.why == "used").url] | unique' <<<"$output")" = \
		"$(init --db "$db" | jq -c '.sync_relays | keys')" ]
	[ "$(jq -sc '[.[].relays[] | select(.why == "own").url] | unique' <<<"$output")" = \
		'["wss://git.example.com"]' ]
	run -0 init --db "$db" --explain -o state.json
	[ "${#lines[@]}" -eq 6 ]
	init --db "$db" | cmp - state.json
}

@test "caps: what is cut is told" {
	run -0 --separate-stderr init --db "$db" --max-relays 2
	jq -e '.sync_relays | length == 2' <<<"$output"
	[[ $stderr == "grasp-sync-init: relays: over the cap of 2, "*" are left out" ]]
	run -0 --separate-stderr init --db "$db" --max-relays 1 --bootstrap wss://boot.example
	jq -e '.sync_relays | length == 2' <<<"$output"
	run -0 --separate-stderr init --db "$db" --max-relays-repo 1 -q
	jq -e '[.sync_relays[][]] | length == (unique | length)' <<<"$output"
	[ -z "$stderr" ]
	run -0 --separate-stderr init --db "$db" --max-relays-repo 1
	[[ $stderr == *": more than 1 relays, the first are kept"* ]]
	run -0 --separate-stderr init --db "$db" --max-relays-author 1
	[[ $stderr == *"author "*": more than 1 relays"* ]]
	run -0 --separate-stderr init --db "$db" --max-roots 2
	jq -e '.following_repo_root_events | all(length <= 2)' <<<"$output"
	[[ $stderr == *" roots, the newest 2 are kept"* ]]
}

@test "--now judges expiry at that time; -v says how much there is" {
	init --db "$db" >want
	run -0 --separate-stderr init --db "$db" --now 2026-01-31T12:00:00Z -v
	[ "$output" = "$(cat want)" ]
	[[ $stderr == *" repositories on "*" relays" ]]
}

@test "wrong usage" {
	wrong_usage "needs one of --db, --events and --relay" --service x.example
	wrong_usage "needs one of --db, --events and --relay" --service x.example --db db --events e
	wrong_usage "--service is needed" --db db
	wrong_usage "takes no operands" --service x.example --db db state.json
	wrong_usage "--service a b: " --service "a b" --db db
	wrong_usage "--bootstrap ftp://x: " --service x.example --db db --bootstrap ftp://x
	wrong_usage "--own-url x y: " --service x.example --db db --own-url "x y"
	wrong_usage "--now x: " --service x.example --db db --now x
	for cap in max-relays max-relays-repo max-relays-author max-roots; do
		wrong_usage "--$cap 0: not a number from 1 to " --service x.example --db db "--$cap" 0
	done
	wrong_usage "no such option" --database db
	run -0 grasp-sync-init --help
	[[ $output == *"usage: grasp-sync-init --db DIR "* ]]
}

@test "missing and damaged input, a full and a closed stdout" {
	run -66 --separate-stderr init --db missing
	[[ $stderr == *"missing: no store is there"* ]]
	run -66 --separate-stderr init --events missing
	[[ $stderr == *"missing: No such file or directory"* ]]
	run -74 --separate-stderr init --events .
	[[ $stderr == *".: Is a directory"* ]]
	mkdir damaged
	head -c 65536 /dev/zero | tr '\0' x >damaged/data.mdb
	run -65 --separate-stderr init --db damaged
	[ -z "$output" ]
	[[ $stderr == *"damaged: "* ]]
	run -74 --separate-stderr bash -c "grasp-sync-init --service x.example --db '$db' >/dev/full"
	[[ $stderr == *"stdout: No space left on device" ]]
	run -0 --separate-stderr bash -c "set -o pipefail; grasp-sync-init --service x.example --db '$db' | true"
	[ -z "$stderr" ]
	run -0 --separate-stderr init --events /dev/null
	jq -e '.created_at == 0 and .sync_relays == {}' <<<"$output"
}

@test "--deny: neither followed nor anybody's maintainer" {
	repo=$(init --db "$db" | jq -r '[.sync_relays[][]] | unique[0]')
	author=$(cut -d : -f 2 <<<"$repo")
	printf '# a comment\n%s\n' "$repo" >deny
	run -0 init --db "$db" --deny deny
	jq -e --arg r "$repo" '[.sync_relays[][]] | length > 0 and all(.[]; . != $r)' <<<"$output"
	run -0 init --db "$db" --deny deny --explain
	[ "$(jq -r --arg r "$repo" 'select(.ref == $r) | .followed, .why' <<<"$output")" = "false
denied" ]
	echo "$author" >deny2
	run -0 init --db "$db" --deny deny2 --follow all
	jq -e --arg a "30617:$author:" '[.sync_relays[][]] | length > 0 and
		all(.[]; startswith($a) | not)' <<<"$output"
	echo junk >deny
	run -65 --separate-stderr init --db "$db" --deny deny
	[[ $stderr == *"--deny: deny: line 1: not a repository"* ]]
	run -66 --separate-stderr init --db "$db" --deny missing
}
