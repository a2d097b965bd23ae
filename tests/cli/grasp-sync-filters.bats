#!/usr/bin/env bats
# shellcheck disable=SC2154
# grasp-sync-filters: every option, every error, what goes to stdout and what to stderr.
bats_require_minimum_version 1.5.0

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	key=$(printf 'a%.0s' {1..64})
	id1=$(printf '1%.0s' {1..64})
	id2=$(printf '2%.0s' {1..64})
	x="30617:$key:x" y="30617:$key:y"
	head='"service":"git.example.com","created_at":1767000000'
	jq -nc --arg x "$x" --arg y "$y" --arg id1 "$id1" --arg id2 "$id2" '{
		version: 1, service: "git.example.com", created_at: 1767000000,
		bootstrap_relays: ["wss://boot.example"],
		following_repo_root_events: { ($x): [$id1, $id2], ($y): [$id2] },
		sync_relays: { "wss://boot.example": [], "wss://r.example": [$x, $y],
			"ws://127.0.0.1:7777": [$y] } }' >state.json
}

# A state of COUNT repositories with ROOTS roots each, on one relay.
make_state() {
	jq -nc --arg key "$key" --argjson count "$1" --argjson roots "$2" '
		def pad(n): tostring | (n - length) * "0" + .;
		[range($count) | "30617:\($key):repo\(.)"] as $refs |
		{ version: 1, service: "s", created_at: 1, sync_relays: { "wss://r.example": $refs },
		following_repo_root_events: ([range($count) as $i | { key: $refs[$i], value:
			[range($roots) | $i * $roots + . | pad(64)] }] | from_entries) }'
}

refused() {
	local want=$1
	run -65 --separate-stderr grasp-sync-filters bad.json
	[ -z "$output" ]
	[[ $stderr == "grasp-sync-filters: bad.json: "*"$want"* ]]
	run -65 --separate-stderr grasp-sync-filters --relay wss://r.example --format req --stats bad.json
	[ -z "$output" ]
}

wrong_usage() {
	local want=$1
	shift
	run -64 --separate-stderr grasp-sync-filters "$@"
	[ -z "$output" ]
	[[ $stderr == *"$want"* ]]
	[[ $stderr == *"Try 'grasp-sync-filters --help'."* ]]
}

@test "one relay: the three layers, a filter a line" {
	run -0 --separate-stderr grasp-sync-filters --relay wss://r.example state.json
	[ -z "$stderr" ]
	diff - <(echo "$output") <<-END
		{"kinds":[30617,30618]}
		{"#a":["$x","$y"]}
		{"#A":["$x","$y"]}
		{"#q":["$x","$y"]}
		{"#e":["$id1","$id2"]}
		{"#E":["$id1","$id2"]}
		{"#q":["$id1","$id2"]}
	END
}

@test "all relays: each line names its relay and layer, sorted" {
	run -0 --separate-stderr grasp-sync-filters state.json
	[ -z "$stderr" ]
	[ "${#lines[@]}" -eq 15 ]
	[ "${lines[0]}" = '{"relay":"ws://127.0.0.1:7777","layer":1,"filter":{"kinds":[30617,30618]}}' ]
	[ "${lines[7]}" = '{"relay":"wss://boot.example","layer":1,"filter":{"kinds":[30617,30618]}}' ]
	[ "$(jq -r '"\(.relay) \(.layer)"' <<<"$output" | uniq -c | awk '{ print $1 $2 $3 }' | xargs)" = \
		"1ws://127.0.0.1:77771 3ws://127.0.0.1:77772 3ws://127.0.0.1:77773 1wss://boot.example1 1wss://r.example1 3wss://r.example2 3wss://r.example3" ]
}

@test "the state comes from a file, from -, or from stdin" {
	grasp-sync-filters state.json >want
	grasp-sync-filters - <state.json | cmp - want
	grasp-sync-filters <state.json | cmp - want
	jq . state.json | sed 's/$/\r/' | grasp-sync-filters | cmp - want
}

@test "any spelling of the relay will do" {
	grasp-sync-filters --relay wss://r.example state.json >want
	for relay in r.example WSS://R.Example:443/ https://r.example. " wss://r.example#x"; do
		grasp-sync-filters --relay "$relay" state.json | cmp - want
	done
}

@test "a relay that is not in the state: layer 1 and a note" {
	run -0 --separate-stderr grasp-sync-filters --relay wss://new.example state.json
	[ "$output" = '{"kinds":[30617,30618]}' ]
	[[ $stderr == *"wss://new.example: not in the state"* ]]
	run -0 --separate-stderr grasp-sync-filters -q --format array --relay wss://new.example state.json
	[ "$output" = '[{"kinds":[30617,30618]}]' ]
	[ -z "$stderr" ]
}

@test "a private relay: refused, unless it stands in the state or is allowed" {
	run -64 --separate-stderr grasp-sync-filters --relay ws://127.0.0.1:1 state.json
	[ -z "$output" ]
	[[ $stderr == *"--relay ws://127.0.0.1:1: private"* ]]
	run -0 --separate-stderr grasp-sync-filters --allow-private --relay ws://127.0.0.1:1 state.json
	[ "$output" = '{"kinds":[30617,30618]}' ]
	run -0 --separate-stderr grasp-sync-filters --relay ws://127.0.0.1:7777 state.json
	[ "${#lines[@]}" -eq 7 ]
	[ -z "$stderr" ]
}

@test "--layer: one, several, repeated" {
	run -0 grasp-sync-filters --relay r.example --layer 1 state.json
	[ "$output" = '{"kinds":[30617,30618]}' ]
	run -0 grasp-sync-filters --relay r.example --layer 3,1 state.json
	[ "${#lines[@]}" -eq 4 ]
	run -0 grasp-sync-filters --relay r.example --layer 2 --layer 3 state.json
	[ "${#lines[@]}" -eq 6 ]
}

@test "nothing to ask: no line and a note" {
	for format in filters req array; do
		run -0 --separate-stderr grasp-sync-filters --format $format --relay boot.example --layer 3 state.json
		[ -z "$output" ]
		[[ $stderr == *"nothing to ask"* ]]
	done
	echo "{\"version\":1,$head,\"following_repo_root_events\":{},\"sync_relays\":{}}" >none.json
	for format in filters req array; do
		run -0 --separate-stderr grasp-sync-filters --format $format none.json
		[ -z "$output" ]
		[[ $stderr == *"nothing to ask"* ]]
	done
	run -0 --separate-stderr grasp-sync-filters -v --layer 3 state.json
	[ "${#lines[@]}" -eq 6 ]
	[[ $stderr == *"wss://boot.example: nothing to ask"* ]]
}

@test "--since: seconds, RFC 3339, ago; --now makes ago repeatable" {
	run -0 grasp-sync-filters --relay r.example --layer 1 --since 1700000000 state.json
	[ "$output" = '{"kinds":[30617,30618],"since":1700000000}' ]
	run -0 grasp-sync-filters --relay r.example --layer 1 --since 2026-01-01T00:00:00+01:00 state.json
	[ "$output" = '{"kinds":[30617,30618],"since":1767222000}' ]
	run -0 grasp-sync-filters --relay r.example --layer 1 --since 15m --now 1767000000 state.json
	[ "$output" = '{"kinds":[30617,30618],"since":1766999100}' ]
	run -0 grasp-sync-filters --relay r.example --since 0 state.json
	[ "$(grep -c '"since":0}$' <<<"$output")" -eq 7 ]
	run -0 grasp-sync-filters --relay r.example --layer 1 --since 24h state.json
	local age=$(($(date +%s) - $(jq .since <<<"$output")))
	[ $age -ge 86400 ]
	[ $age -lt 86460 ]
}

@test "100 values a filter; --chunk says otherwise" {
	make_state 250 1 >big.json
	run -0 grasp-sync-filters --relay r.example --layer 2 big.json
	[ "$(jq -c '[.["#a"], .["#A"], .["#q"] | length]' <<<"$output" | xargs)" = \
		"[100,0,0] [0,100,0] [0,0,100] [100,0,0] [0,100,0] [0,0,100] [50,0,0] [0,50,0] [0,0,50]" ]
	run -0 grasp-sync-filters --relay r.example --chunk 7 big.json
	[ "${#lines[@]}" -eq $((1 + 36 * 3 + 36 * 3)) ]
	[ "$(jq -r '.["#e"] // [] | .[]' <<<"$output" | sort -u | wc -l)" -eq 250 ]
	run -0 grasp-sync-filters --relay r.example --chunk 1000 big.json
	[ "${#lines[@]}" -eq 7 ]
}

@test "a ref with a long d stands alone, behind the others" {
	d=$(printf 'a%.0s' {1..185})
	jq -c --arg long "30617:$key:$d" '.sync_relays["wss://r.example"] += [$long]' state.json >long.json
	run -0 grasp-sync-filters --relay r.example --layer 2 long.json
	[ "${#lines[@]}" -eq 6 ]
	[ "${lines[0]}" = "{\"#a\":[\"$x\",\"$y\"]}" ]
	[ "${lines[3]}" = "{\"#a\":[\"30617:$key:$d\"]}" ]
}

@test "names of any kind come out as they are" {
	jq -nc --arg ref "30617:$key:a:b \"q\" \\ 🚀
" '{ version: 1, service: "s", created_at: 1, following_repo_root_events: {},
		sync_relays: { "wss://r.example": [$ref] } }' >odd.json
	run -0 grasp-sync-filters --relay r.example --layer 2 odd.json
	diff <(jq -c '.sync_relays[]' odd.json) <(head -n 1 <<<"$output" | jq -c '.["#a"]')
}

@test "--format array: one line a relay" {
	run -0 grasp-sync-filters --relay r.example --format array state.json
	[ "${#lines[@]}" -eq 1 ]
	diff <(jq -c '.[]' <<<"$output") <(grasp-sync-filters --relay r.example state.json)
	run -0 grasp-sync-filters --format array state.json
	[ "${#lines[@]}" -eq 3 ]
	diff <(jq -c '.relay as $r | .filters[] | [$r, .]' <<<"$output") \
		<(grasp-sync-filters state.json | jq -c '[.relay, .filter]')
}

@test "--format req: frames within the limits" {
	run -0 grasp-sync-filters --relay r.example --format req state.json
	[ "${#lines[@]}" -eq 1 ]
	[[ $output == '["REQ","g1",{"kinds":[30617,30618]},{"#a":'* ]]
	run -0 grasp-sync-filters --relay r.example --format req --max-filters 3 state.json
	[ "$(jq -c '[.[0, 1], length - 2]' <<<"$output" | xargs)" = "[REQ,g1,3] [REQ,g2,3] [REQ,g3,1]" ]
	run -0 grasp-sync-filters --format req --max-filters 3 state.json
	[ "$(jq -r '.relay + " " + .req[1]' <<<"$output" | awk '{ print $2 }' | xargs)" = \
		"g1 g2 g3 g1 g1 g2 g3" ]
}

@test "--max-bytes: filters are cut until they fit, and nothing is lost" {
	make_state 60 5 >big.json
	grasp-sync-filters --relay r.example big.json >whole
	for size in 200 500 1000 4k; do
		run -0 --separate-stderr grasp-sync-filters --relay r.example --format req --max-bytes $size big.json
		[ -z "$stderr" ]
		[ "$(awk '{ print length }' <<<"$output" | sort -n | tail -n 1)" -le "$(numfmt --from=iec "${size^^}")" ]
		diff <(jq -c '.[2:][] | to_entries[] | [.key, .value[]]' <<<"$output" | jq -c '.[0] as $k | .[1:][] | [$k, .]' | sort) \
			<(jq -c 'to_entries[] | [.key, .value[]]' whole | jq -c '.[0] as $k | .[1:][] | [$k, .]' | sort)
	done
}

@test "a value that fits no frame is left out and told, with 75" {
	run -75 --separate-stderr grasp-sync-filters --relay r.example --format req --max-bytes 60 state.json
	[ "$output" = '["REQ","g1",{"kinds":[30617,30618]}]' ]
	[[ $stderr == *"wss://r.example: 12 filters of one value are over 60 bytes, left out"* ]]
	run -75 --separate-stderr grasp-sync-filters --relay r.example --format req --max-bytes 10 state.json
	[ -z "$output" ]
}

@test "--stats: filters and bytes a relay, on stderr" {
	run -0 --separate-stderr grasp-sync-filters --stats state.json
	[ "${#lines[@]}" -eq 15 ]
	[ "${#stderr_lines[@]}" -eq 4 ]
	[[ ${stderr_lines[1]} == *"wss://boot.example: 1 filters, 23 bytes" ]]
	local bytes
	bytes=$(grasp-sync-filters state.json | jq -c .filter | tr -d '\n' | wc -c)
	[[ ${stderr_lines[3]} == *"total: 15 filters, $bytes bytes" ]]
	run -0 --separate-stderr grasp-sync-filters --stats --relay r.example --format req state.json
	[[ $stderr == *"wss://r.example: 7 filters in 1 messages, $((${#output})) bytes" ]]
}

@test "wrong usage: 64 and the reason" {
	wrong_usage "--relay ftp://x: " --relay ftp://x state.json
	wrong_usage "--layer 4: not a layer" --layer 4 state.json
	wrong_usage "--layer 0: not a layer" --layer 0 state.json
	wrong_usage "--layer 1,: not a layer" --layer 1, state.json
	wrong_usage "--chunk 0: " --chunk 0 state.json
	wrong_usage "--chunk 1001: " --chunk 1001 state.json
	wrong_usage "--format xml: not filters, req or array" --format xml state.json
	wrong_usage "--max-filters 0: " --format req --max-filters 0 state.json
	wrong_usage "--max-bytes big: " --format req --max-bytes big state.json
	wrong_usage "go with --format req" --max-bytes 1k state.json
	wrong_usage "go with --format req" --format array --max-filters 3 state.json
	wrong_usage "--since yesterday: not a time" --since yesterday state.json
	wrong_usage "--now later: not a time" --now later state.json
	wrong_usage "--nope: no such option" --nope state.json
	wrong_usage "--relay: needs a value" --relay
	wrong_usage "one state file only" state.json other.json
}

@test "a person at stdin is told to name a file" {
	command -v script || skip "script(1) is not installed"
	run -0 script -qec "grasp-sync-filters; echo code \$?" /dev/null </dev/null
	[[ $output == *"no state file"* ]]
	[[ $output == *"code 64"* ]]
}

@test "no file: 66" {
	run -66 --separate-stderr grasp-sync-filters missing.json
	[ -z "$output" ]
	[[ $stderr == *"missing.json: No such file"* ]]
	run -66 --separate-stderr grasp-sync-filters .
	[ -z "$output" ]
}

@test "damaged state files: 65, the place, no output" {
	: >bad.json
	refused "line 1 column 1: "
	head -c 300 state.json >bad.json
	refused "line 1 column "
	printf '\xef\xbb\xbf' | cat - state.json >bad.json
	refused "line 1 column 1: "
	{ cat state.json && echo '{}'; } >bad.json
	refused "line 2 column 1: "
	jq . state.json | sed 's/"created_at"/"service"/' >bad.json
	refused "line 4 column "
	sed 's/r.example/r\xff.example/' state.json >bad.json
	refused "line 1 column "
	{ head -c -2 state.json && printf ',"x":' && head -c 100000 /dev/zero | tr '\0' '['; } >bad.json
	refused "line 1 column "
	head -c 100000 /dev/urandom >bad.json
	refused "line "
	head -c 100000 /dev/zero >bad.json
	refused "line 1 column 1: "
}

@test "state files of a wrong shape: 65, the path, no output" {
	jq -c '.version = 2' state.json >bad.json
	refused "version: 2 is not 1, made by a newer grasp-sync?"
	jq -c 'del(.sync_relays)' state.json >bad.json
	refused "sync_relays: missing"
	jq -c '.sync_relays = null' state.json >bad.json
	refused "sync_relays: not an object"
	jq -c '.sync_relays["wss://r.example"] = {}' state.json >bad.json
	refused "sync_relays: wss://r.example: not a list"
	jq -c '.sync_relays["wss://r.example"][1] = 5' state.json >bad.json
	refused "sync_relays: wss://r.example: item 2: not a string"
	jq -c '.created_at = "now"' state.json >bad.json
	refused "created_at: "
	jq -c '.bootstrap_relays = ["gopher://x"]' state.json >bad.json
	refused "bootstrap_relays: item 1: gopher://x: "
	jq -c '.following_repo_root_events |= map_values(.[0] |= ascii_upcase + "A")' state.json >bad.json
	refused ": item 1: not an event id"
	jq -c '.relays = { "wss://r.example": { failures: -1 } }' state.json >bad.json
	refused "relays: wss://r.example: failures: "
	echo '[]' >bad.json
	refused "not a state file"
}

@test "a file over the cap: 65, and it is not read into memory for ever" {
	run -65 --separate-stderr bash -c 'yes " " | grasp-sync-filters'
	[ -z "$output" ]
	[[ $stderr == *"longer than 536870912 bytes"* ]]
}

@test "stdin is named in errors" {
	run -65 --separate-stderr grasp-sync-filters <<<'{}'
	[ -z "$output" ]
	[[ $stderr == *"stdin: version: missing"* ]]
}

@test "a full disk: 74" {
	run -74 --separate-stderr bash -c 'grasp-sync-filters state.json >/dev/full'
	[[ $stderr == *"stdout: No space left on device"* ]]
}

@test "a reader that leaves: 0 and no word" {
	make_state 3000 10 >big.json
	run -0 --separate-stderr bash -c 'set -o pipefail; grasp-sync-filters --chunk 1 big.json | head -n 1'
	[ "$output" = '{"relay":"wss://r.example","layer":1,"filter":{"kinds":[30617,30618]}}' ]
	[ -z "$stderr" ]
}

@test "the same state gives the same bytes, whatever its order" {
	make_state 40 3 >one.json
	jq -c '.sync_relays |= map_values(reverse) |
		.following_repo_root_events |= (to_entries | reverse | map(.value |= reverse) | from_entries) |
		to_entries | reverse | from_entries' one.json >two.json
	run -1 cmp one.json two.json
	cmp <(grasp-sync-filters one.json) <(grasp-sync-filters two.json)
}
