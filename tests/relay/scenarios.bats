#!/usr/bin/env bats
# shellcheck disable=SC2154,SC2016
# What happens to a relay in real life, told to the test relay, against the real command.
# Hours and days pass in tests/unit/session.c and tests/sim: waits are cut short here by
# --max-backoff.
bats_require_minimum_version 1.5.0
load relay

readonly REPO="30617:7777777777777777777777777777777777777777777777777777777777777777:tool"
readonly ROOT="1234567812345678123456781234567812345678123456781234567812345678"

setup() {
	use_folder
	printf '%s\n' '{"kinds":[30617,30618]}' "{\"#a\":[\"$REPO\"]}" "{\"#A\":[\"$REPO\"]}" \
		"{\"#q\":[\"$REPO\"]}" "{\"#e\":[\"$ROOT\"]}" "{\"#E\":[\"$ROOT\"]}" \
		"{\"#q\":[\"$ROOT\"]}" >filters
}

teardown() {
	stop_all
}

# usage: some COUNT SEED TAG [MEMBERS]   as members of "make": events of a layer
some() {
	local tag="\"a\",\"$REPO\""
	[ "$3" = a ] || tag="\"$3\",\"$ROOT\""
	printf '{"count":%d,"seed":%d,"kind":1621,"tags":[[%s]]%s}' "$1" "$2" "$tag" "${4:+,$4}"
}

# The subscriptions that are open for events to come have their EOSE.
is_live() {
	[ "$(jq -n '[inputs | select(.got[0] == "REQ" and (.got[2] | has("since")))] | length' \
		log)" -ge 1 ] && got_all
}

# usage: check_open MAX   never were more subscriptions open, over the whole log
check_open() {
	jq -n --argjson max "$1" --exit-status 'reduce inputs as $line ({open: {}, most: 0};
		if $line.got[0] == "REQ" then .open[$line.got[1]] = true
		elif $line.got[0] == "CLOSE" then del(.open[$line.got[1]])
		elif $line.is == "end" then .open = {} else . end
		| .most = ([.most, (.open | length)] | max)) | .most <= $max' log >/dev/null
}

@test "1: refused at the start, up later" {
	# The port is ours, but nobody listens yet.
	start_relay "{\"listen_after_ms\":1500,\"make\":[$(some 50 1 a)]}"
	follow
	wait_for got_all
	tell "{\"make\":[$(some 1 2 e)]}"
	wait_for got_all
	end_following
}

@test "1: refused at the start, up later, and read once" {
	start_relay "{\"listen_after_ms\":500,\"make\":[$(some 50 1 a)]}"
	fetch 0
	got_all
}

@test "2: dropped while live; what came in the gap arrives" {
	start_relay "{\"make\":[$(some 20 1 a '"ago":100')]}"
	follow
	wait_for is_live
	# While we are away one of layer 2 and one of layer 3 come, both dated back.
	tell "{\"do\":[{\"rst\":true}]}"
	tell "{\"make\":[$(some 1 2 a '"ago":60')]}"
	tell "{\"make\":[$(some 1 3 E '"ago":60')]}"
	wait_for got_all
	[ "$(count_logged '.is == "open"')" -ge 2 ]
	# And it is live again.
	tell "{\"make\":[$(some 1 4 q)]}"
	wait_for got_all
	end_following
}

@test "2: a restart of the relay; what it got meanwhile arrives" {
	start_relay "{\"make\":[$(some 20 1 a '"ago":100')]}"
	follow
	wait_for is_live
	stop_relay
	rm log
	start_relay "{\"make\":[$(some 20 1 a '"ago":100'),$(some 10 2 E '"ago":50')]}" \
		--port "$port"
	wait_for has_lines 30 got
	end_following
}

@test "3: rate-limited once: later, and then all of it" {
	start_relay "{\"make\":[$(some 50 1 a)],\"rules\":[{\"on\":\"req\",\"times\":1,\"do\":[
		{\"send\":[\"CLOSED\",\"\$SUB\",\"rate-limited: slow down, please\"]},{\"skip\":true}]}]}"
	fetch 0
	got_all
}

@test "3: rate-limited for ever: three tries, then 75" {
	start_relay "{\"make\":[$(some 50 1 a)],\"rules\":[{\"on\":\"req\",\"do\":[
		{\"send\":[\"CLOSED\",\"\$SUB\",\"rate-limited: slow down\"]},{\"skip\":true}]}]}"
	echo '{"kinds":[1621]}' >filters
	fetch 75
	[[ $stderr == *"closed:rate-limited: slow down"* ]]
	[ "$(count_logged '.got[0] == "REQ"')" -le 4 ]
}

# usage: crowd VERB TEXT   that answers more than two subscriptions
crowd() {
	start_relay "{\"make\":[$(some 50 1 a)],\"max_filters\":5,
		\"max_subscriptions\":{\"max\":2,\"by\":\"$1\",\"text\":\"$2\"}}"
	fetch 0
	got_all
}

@test "3: too many concurrent REQs: fewer of them" {
	seq 1 40 | sed 's/.*/{"kinds":[1621],"#x":["&"]}/' >>filters
	at_once "crowd NOTICE 'ERROR: too many concurrent REQs'" \
		"crowd CLOSED 'error: too many concurrent REQs'" \
		"crowd NOTICE 'Subscription error: Maximum concurrent subscription count reached'"
}

@test "3: one filter a REQ and one REQ at a time are enough" {
	start_relay "{\"make\":[$(some 50 1 a),$(some 50 2 e)],
		\"max_subscriptions\":1,\"max_filters\":1}"
	fetch 0
	got_all
}

@test "3: what the relay's document allows is what we do" {
	seq 1 40 | sed 's/.*/{"kinds":[1621],"#x":["&"]}/' >>filters
	start_relay "{\"make\":[$(some 50 1 a)],\"nip11\":{\"limitation\":{\"max_subscriptions\":3,
		\"max_filters\":4,\"max_limit\":20,\"max_message_length\":2000,\"max_subid_length\":5}},
		\"max_subscriptions\":3,\"max_filters\":4,\"max_limit\":20,\"max_message\":2000,
		\"max_subid\":5}"
	fetch 0
	got_all
	logged '.is == "document"'
	check_open 3
	# We never went over what it had said.
	never_logged '.got[0] == "REQ" and (.got[1] | length) > 5'
	never_logged '.got[0] == "REQ" and (.got | length) > 6'
	never_logged '.got[0] == "REQ" and ([.got[2:][].limit] | max) > 20'
}

# usage: narrow LIMIT   of a relay that has no document
narrow() {
	start_relay "{\"make\":[$(some 500 1 a),$(some 40 2 E)],$1}"
	fetch 0
	got_all
}

@test "3: limits that only show when one goes over them are learnt" {
	seq 1 40 | sed 's/.*/{"kinds":[1621],"#x":["&"]}/' >>filters
	at_once "narrow '\"max_limit\":300'" "narrow '\"max_filters\":3'" \
		"narrow '\"max_message\":{\"max\":700,\"text\":\"message too large (900 > 700)\"}'"
}

@test "4: a NOTICE of rate limits in the middle of a page, and in the place of one" {
	local notice='{"send":["NOTICE","rate-limited: slow down"]}'
	echo "{\"#a\":[\"$REPO\"]}" >filters
	start_relay "{\"make\":[$(some 100 1 a)],\"page\":30,\"rules\":[
		{\"on\":\"event\",\"nth\":40,\"do\":[$notice]},
		{\"on\":\"req\",\"nth\":3,\"do\":[$notice,{\"skip\":true}]}]}"
	fetch 0 --timeout 5
	got_all
}

@test "4: a NOTICE of rate limits, and the page never ends: not taken for its end" {
	echo "{\"#a\":[\"$REPO\"]}" >filters
	start_relay "{\"make\":[$(some 100 1 a)],\"page\":30,\"rules\":[{\"on\":\"eose\",
		\"nth\":2,\"do\":[{\"send\":[\"NOTICE\",\"rate-limited: slow down\"]},
		{\"skip\":true}]}]}"
	run --separate-stderr bash -c 'grasp-sync-relay --once --allow-private --timeout 1 \
		--max-backoff 1 --filters filters "$1" >got' - "$url"
	[ "$status" -eq 75 ] || got_all
}

@test "5: never an EOSE: what came is kept, and live goes on" {
	start_relay "{\"make\":[$(some 20 1 a '"ago":100')],\"eose\":\"never\"}"
	follow --timeout 1
	wait_for got_all
	tell "{\"make\":[$(some 1 2 e)]}"
	wait_for got_all
	end_following
}

@test "6: pages of 20, 50, 75, 100, 375 and 500" {
	local page
	for page in 20 50 75 100 375 500; do
		rm -f log
		start_relay "{\"make\":[$(some 700 1 a),$(some 300 2 E '"at":1767000100,"step":3')],
			\"page\":$page}"
		fetch 0
		got_all
		reported '[.[:-1][].complete] | all'
		stop_relay
	done
}

@test "7: a second that is less dense than a page is complete" {
	start_relay "{\"make\":[$(some 300 1 a '"at":1767000000,"step":0'),
		$(some 400 2 e '"at":1768000000')]}"
	fetch 0
	got_all
}

@test "7: 1,000 events in one second, 500 a page: a loss that is told" {
	start_relay "{\"make\":[$(some 1000 1 a '"at":1767000000,"step":0')],\"page\":500}"
	fetch 75
	reported '.[1].end == "loss" and .[1].new == 500'
}

@test "7: a dense second comes apart by the values of a filter" {
	printf '{"kinds":[%s]}\n' "$(seq -s , 9000 9009)" >filters
	start_relay "$(seq 9000 9009 | jq -sc '{page: 150, make: map(
		{count: 100, at: 1767000000, step: 0, kind: ., seed: .})}')"
	fetch 0
	got_all
}

@test "8: the first 500 are forged, what we want is on the third page" {
	start_relay "{\"make\":[$(some 500 1 a)]}"
	jq -c '.content += "!"' served >forged
	stop_relay
	rm log
	start_relay "{\"events\":\"forged\",\"make\":[$(some 30 2 a '"at":1700000000')],\"page\":200}"
	fetch 0
	[ "$(wc -l <got)" -eq 30 ]
	reported '.[-1].invalid >= 500'
}

@test "9: an event that answers a, A and q is printed once and counted for each" {
	start_relay "{\"make\":[{\"count\":40,\"kind\":1111,
		\"tags\":[[\"a\",\"$REPO\"],[\"A\",\"$REPO\"],[\"q\",\"$REPO\"]]}]}"
	fetch 0
	got_all
	[ "$(wc -l <got)" -eq 40 ]
	reported '.[-1].events == 40 and ([.[1,2,3].frames] | min >= 40)'
}

@test "12: a storm of events into a slow reader is no silence, and nothing is lost" {
	start_relay "{\"make\":[$(some 3000 1 a '"bytes":3000')]}"
	run -0 --separate-stderr bash -c 'set -o pipefail
		grasp-sync-relay --once --allow-private --filters filters --timeout 1 "$1" |
		{ sleep 3; cat >got; }' - "$url"
	got_all
}

@test "13: one relay, however its URL is written" {
	local text
	start_relay "{\"make\":[$(some 5 1 a)]}"
	for text in "WS://127.0.0.1:$port" "ws://127.0.0.1:$port/" "http://127.0.0.1:$port" \
		"  ws://127.0.0.1:$port/#here "; do
		url=$text fetch 0
		reported ".[-1].relay == \"ws://127.0.0.1:$port\""
	done
	[ "$(jq -r 'select(.is == "upgrade") | .path' log | sort -u)" = / ]
	# These are others.
	url=ws://127.0.0.1:$port/path fetch 0
	url=ws://127.0.0.1:$port/path/ fetch 0
	logged '.is == "upgrade" and .path == "/path"'
	logged '.is == "upgrade" and .path == "/path/"'
}

@test "14: private addresses are dialled only when asked to" {
	local host
	start_relay '{}'
	for host in 127.0.0.1 127.1 0x7f.1 2130706433 '[::1]' '[::ffff:127.0.0.1]' localhost \
		x.localhost relay.internal 0.0.0.0 10.0.0.1 169.254.169.254; do
		run -64 --separate-stderr grasp-sync-relay --once --filters filters \
			"ws://$host:$port"
	done
	[ ! -s log ]
}

@test "16: 80 filters stay open together, and each of them is live" {
	seq 1 73 | sed 's/.*/{"kinds":[1621],"#x":["&"]}/' >>filters
	start_relay "{\"make\":[$(some 50 1 a '"ago":100')],\"max_subscriptions\":10,
		\"max_filters\":10}"
	follow
	wait_for is_live
	tell '{"make":[{"count":1,"kind":1621,"seed":9,"tags":[["x","1"]]},
		{"count":1,"kind":1621,"seed":10,"tags":[["x","73"]]}]}'
	wait_for got_all
	check_open 10
	end_following
}

# That it is read again every minute: tests/unit/session_follow.c.
@test "16: what the relay has no place for live is read in turn, and people are told" {
	seq 1 33 | sed 's/.*/{"kinds":[1621],"#x":["&"]}/' >>filters
	start_relay "{\"make\":[$(some 50 1 a '"ago":100'),
		{\"count\":20,\"kind\":1621,\"seed\":2,\"tags\":[[\"x\",\"33\"]],\"ago\":100000}],
		\"nip11\":{\"limitation\":{\"max_subscriptions\":2,\"max_filters\":5}},
		\"max_subscriptions\":2,\"max_filters\":5}"
	follow
	wait_for got_all
	wait_for grep -q '35 filters read in turn' said
	check_open 2
	end_following
}

@test "17: a repository's name with colons, quotes and what not" {
	local ref="30617:7777777777777777777777777777777777777777777777777777777777777777:a:b \"c\"/é"
	jq -nc --arg ref "$ref" '{"#a": [$ref]}' >filters
	start_relay "$(jq -nc --arg ref "$ref" \
		'{page: 20, make: [{count: 50, at: 1767000000, kind: 1621, tags: [["a", $ref]]}]}')"
	fetch 0
	got_all
	jq -n --arg ref "$ref" --exit-status \
		'[inputs | select(.got[0] == "REQ").got[2]["#a"]] | unique == [[$ref]]' log
}

@test "19: kill -9 and a new start" {
	start_relay "{\"make\":[$(some 300 1 a '"ago":1000')],\"page\":50}"
	follow
	wait_for is_live
	kill -9 "$reader_pid"
	wait "$reader_pid" || :
	tell "{\"make\":[$(some 10 2 E '"ago":900')]}"
	follow
	wait_for got_all
	end_following
	fetch 0
	got_all
}
