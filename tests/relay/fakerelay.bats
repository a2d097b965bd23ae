#!/usr/bin/env bats
# shellcheck disable=SC2154,SC2016
# The test relay itself: what it does without faults, and what no other test asks of it.
bats_require_minimum_version 1.5.0
load relay

setup() {
	use_folder
	# Two events to publish, of a relay that is not needed any more.
	start_relay '{"make":[{"count":1,"at":1767000000,"seed":4},
		{"count":1,"at":1767000000,"seed":5,"kind":1621}]}'
	mv served events
	stop_relay
	plain=$(jq -c 'select(.kind == 1)' events) root=$(jq -c 'select(.kind == 1621)' events)
}

teardown() {
	stop_all
}

# usage: talk COUNT FRAME...   prints what the relay answers
talk() {
	local count=$1
	shift
	printf '%s\n' "$@" | "$BATS_TEST_DIRNAME/talk" "$port" "$count"
}

@test "stored events come newest first, within the limit, then EOSE" {
	start_relay '{"make":[{"count":5,"at":1767000000}]}'
	run -0 talk 4 '["REQ","a",{"kinds":[1],"limit":3}]'
	[ "$(jq -c '[.[0], .[1], (.[2].created_at? // 0)]' <<<"$output")" = \
		'["EVENT","a",1767000004]
["EVENT","a",1767000003]
["EVENT","a",1767000002]
["EOSE","a",0]' ]
}

@test "a published event is kept, told to those who asked, and known the next time" {
	start_relay '{}'
	run -0 talk 3 '["REQ","a",{"kinds":[1]}]' "[\"EVENT\",$plain]"
	[ "${lines[0]}" = '["EOSE","a"]' ]
	jq --exit-status '.[0] == "OK" and .[2] == true' <<<"${lines[1]}"
	[ "$(jq -c '.[2].id' <<<"${lines[2]}")" = "$(jq -c .id <<<"$plain")" ]
	run -0 talk 1 "[\"EVENT\",$plain]"
	[[ $output == *'true,"duplicate: have this event"]' ]]
}

@test "a published event is refused by its kind, or because it lies" {
	start_relay '{"rules":[{"on":"publish","kind":1621,"do":[
		{"send":["OK","$ID",false,"blocked: not here"]},{"skip":true}]}]}'
	run -0 talk 3 "[\"EVENT\",$root]" "[\"EVENT\",$plain]" "[\"EVENT\",${plain/of 4/of 5}]"
	[ "${lines[0]}" = "[\"OK\",$(jq -c .id <<<"$root"),false,\"blocked: not here\"]" ]
	[[ ${lines[1]} == *',true,""]' ]]
	[[ ${lines[2]} == *',false,"invalid: '* ]]
}

@test "who it does not know, and what it does not understand, is refused" {
	start_relay '{"auth":{"challenge":"abc","required":true},"max_message":300}'
	run -0 talk 4 '["REQ","a",{"kinds":[1]}]' "[\"AUTH\",$plain]" '["HELLO"]'
	[ "${lines[0]}" = '["AUTH","abc"]' ]
	[ "${lines[1]}" = '["CLOSED","a","auth-required: we want to know you"]' ]
	[ "${lines[2]}" = '["NOTICE","message too large (more than 300)"]' ]
	[ "${lines[3]}" = '["NOTICE","ERROR: bad msg: unknown cmd"]' ]
}

@test "events and faults at times of the script" {
	start_relay "$(jq -nc --argjson event "$plain" '{live: [{at_ms: 100, event: $event},
		{at_ms: 150, do: [{send: ["NOTICE", "$SUB"]}]}]}')"
	run -0 talk 3 '["REQ","a",{"kinds":[1]}]'
	[ "${lines[0]}" = '["EOSE","a"]' ]
	[[ ${lines[1]} == '["EVENT","a",'* ]]
	[ "${lines[2]}" = '["NOTICE","a"]' ]
}

@test "its document, and a script that it does not know" {
	start_relay '{"nip11":{"name":"x"}}'
	run -0 perl -MIO::Socket::INET -e '$s = IO::Socket::INET->new("127.0.0.1:$ARGV[0]");
		print $s "GET / HTTP/1.1\r\nHost: x\r\nAccept: application/nostr+json\r\n\r\n";
		print <$s>' "$port"
	[[ ${lines[0]} == "HTTP/1.1 200 "* ]]
	[[ $output == *'{"name":"x"}' ]]
	echo '{"pages":3}' >wrong
	run -64 fakerelay --script wrong
}
