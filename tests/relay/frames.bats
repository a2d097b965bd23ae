#!/usr/bin/env bats
# shellcheck disable=SC2154,SC2016
# What a relay may say: each frame, right or wrong, has one meaning, and none of them
# makes us lose an event without a word.
bats_require_minimum_version 1.5.0
load relay

setup() {
	use_folder
	echo '{"kinds":[1]}' >filters
}

teardown() {
	stop_all
}

# usage: check STATUS SCRIPT [JQ-EXPRESSION]   of the report, where .[-1] is its summary
check() {
	rm -f log report got
	# 250 events in 3 pages, and what the script says otherwise.
	start_relay "$(jq -c '{page: 100, make: [{count: 250, at: 1767000000}]} + .' <<<"$2")"
	fetch "$1" --timeout 1
	[ "$1" -ne 0 ] || got_all
	reported "${3:-true}"
	stop_relay
}

# usage: say STATUS FRAME [JQ-EXPRESSION]   the frame comes before the stored events
say() {
	check "$1" "{\"rules\":[{\"on\":\"req\",\"times\":1,\"do\":[$2]}]}" "${3:-}"
}

# The frame comes in the place of the first EOSE.
say_at_end() {
	check "$1" \
		"{\"rules\":[{\"on\":\"eose\",\"times\":1,\"do\":[$2,{\"skip\":true}]}]}" "${3:-}"
}

@test "an EOSE that is not of our request ends nothing" {
	say 0 '{"send":["EOSE"]}' '.[-1].junk == 1'
	say 0 '{"send":["EOSE",5]}' '.[-1].junk == 1'
	say 0 '{"send":["EOSE",null]}' '.[-1].junk == 1'
	say 0 '{"send":["EOSE","other"]}' '.[-1].unknown == 1'
}

@test "EOSE twice ends a page once" {
	check 0 '{"eose":"twice"}' '.[-1].late >= 1'
}

@test "hints behind EOSE: more is not needed, finish vouches for a second that fills a page" {
	say_at_end 0 '{"send":["EOSE","$SUB",["more"]]}' '.[0].pages > 1'
	check 0 '{"make":[{"count":100,"at":1767000000,"step":0}],"rules":[{"on":"eose","do":[
		{"send":["EOSE","$SUB","finish"]},{"skip":true}]}]}'
}

@test "CLOSED without a text, or in the place of EOSE, leaves the filter incomplete" {
	say 75 '{"send":["CLOSED","$SUB"]},{"skip":true}' '.[0].end | startswith("closed")'
	say 75 '{"send":["CLOSED","$SUB",""]},{"skip":true}' '.[0].complete | not'
	say_at_end 75 '{"send":["CLOSED","$SUB","error: shutting down"]}' \
		'.[0].end == "closed:error: shutting down"'
}

@test "CLOSED behind EOSE takes nothing back" {
	check 0 '{"rules":[{"on":"close","do":[{"send":["CLOSED","$SUB",""]}]}]}'
	check 0 '{"rules":[{"on":"eose","do":[{"send":["EOSE","$SUB"]},
		{"send":["CLOSED","$SUB",""]},{"skip":true}]}]}'
}

@test "events behind CLOSED are late" {
	say 75 '{"send":["CLOSED","$SUB","error: no"]},
		{"text":"[\"EVENT\",\"$SUB\",$EVENT]","times":3},{"skip":true}' '.[-1].events == 0'
}

@test "CLOSED of others is passed over" {
	say 0 '{"send":["CLOSED","other",""]}' '.[-1].unknown == 1'
}

@test "auth-required without a key is 77, whenever the challenge comes" {
	local refusal='{"send":["CLOSED","$SUB","ERROR: auth-required: who are you"]},{"skip":true}'
	say 77 "{\"challenge\":\"abcdefghijklmnopqrstuv\"},$refusal"
	say 77 "$refusal,{\"challenge\":\"abcdefghijklmnopqrstuv\"}"
	say 77 "$refusal"
	check 77 '{"auth":{"challenge":"x","required":true}}'
	# Nobody was told who we are.
	never_logged '.got[0] == "AUTH"'
}

@test "a key answers a challenge, once" {
	printf '%064d\n' 7 >key
	chmod 600 key
	start_relay '{"make":[{"count":50}],"auth":{"challenge":"x","required":true}}'
	fetch 0 --auth-key-file key
	got_all
	[ "$(count_logged '.got[0] == "AUTH"')" -eq 1 ]
	logged '.is == "auth" and .fault == ""'
}

@test "a key that does not help is told, and shown once a challenge" {
	printf '%064d\n' 7 >key
	chmod 600 key
	start_relay '{"make":[{"count":50}],"auth":{"challenge":"x"},"rules":[{"on":"req","do":[
		{"send":["CLOSED","$SUB","auth-required: not you"]},{"skip":true}]}]}'
	fetch 77 --auth-key-file key
	[ "$(count_logged '.got[0] == "AUTH"')" -eq 1 ]
}

@test "a NOTICE that is none, a long one and a dangerous one" {
	say 0 '{"send":["NOTICE"]}' '.[-1].junk == 1'
	say 0 '{"send":["NOTICE",{}]}' '.[-1].junk == 1'
	say 0 '{"text":"[\"NOTICE\",\"$FILL\"]","fill":65536}' \
		'.[-1].notice | length | . > 0 and . < 1100'
	say 0 '{"text":"[\"NOTICE\",\"\\u001b]52;c;aGk=\\u0007<3>fake\"]"}' \
		'.[-1].notice | test("^[ -~]+$")'
	run ! grep -q $'[\x1b\x07]' said
}

@test "a NOTICE that greets refuses nothing" {
	say 0 '{"send":["NOTICE","welcome to this relay"]}' '.[-1].notices == 1'
}

@test "challenges cost nothing, however long and many" {
	say 0 '{"text":"[\"AUTH\",\"$FILL\"]","fill":1000000}'
	say 0 '{"text":"[\"AUTH\",\"again\"]","times":1000}'
}

say_text() {
	say 0 "$(jq -nc --arg text "$1" '{text: $text}')" '.[-1].junk == 1'
}

@test "what is no frame is counted and passed over" {
	local frame frames=()
	for frame in '[]' '{}' 'null' '"x"' '[' '["event","$SUB",$EVENT]' '["EVENT"]' \
		'["EVENT","$SUB"]' '["EVENT",$EVENT]' '["EVENT","$SUB",[]]' '["PING"]'; do
		frames+=("say_text $(printf '%q' "$frame")")
	done
	at_once "${frames[@]}"
	say 0 '{"text":"$FILL","with":"[","fill":100000}' '.[-1].junk == 1'
	say 0 '{"hex":"5b22c080225d"}' '.[-1].junk == 1'
	say 0 '{"send":["EVENT","$SUB",{},{}]}' '.[-1].invalid == 1'
	say 0 '{"text":"[\"EVENT\",\"nobody\",$EVENT]"}' '.[-1].unknown == 1'
}

@test "a relay that says little but junk is left" {
	say 76 '{"send":[],"times":5000}' '.[-1].fault == "protocol"'
	say 76 '{"text":"[\"EVENT\",\"nobody\",$EVENT]","times":5000}' \
		'.[-1].fault == "protocol"'
}

@test "events that were not asked for are dropped; a relay that sends little else is left" {
	local made='"make":[{"count":250,"at":1767000000},{"count":1,"at":1,"kind":7}]'
	rm -f got
	start_relay "{$made,\"rules\":[{\"on\":\"req\",\"times\":1,\"do\":[{\"stray\":3}]}]}"
	fetch 0
	[ "$(wc -l <got)" -eq 250 ]
	reported '.[-1].foreign == 3'
	stop_relay
	rm log
	start_relay "{$made,\"rules\":[{\"on\":\"req\",\"do\":[{\"stray\":5000}]}]}"
	fetch 76
	reported '.[-1].fault == "protocol"'
}

@test "the same event a thousand times is one event" {
	say 0 '{"text":"[\"EVENT\",\"$SUB\",$EVENT]","times":1000}' '.[-1].events == 250'
}

@test "a second as dense as a page, and older events behind it" {
	check 75 '{"page":100,"make":[{"count":100,"at":1767000000,"step":0},
		{"count":50,"at":1766000000,"seed":2}]}' '.[0].end == "loss"'
	# All of it came nevertheless: it only can't be proven.
	got_all
}

@test "a relay that ignores until, since, limit or the whole filter" {
	check 75 '{"ignores":["until"]}' '.[0].end == "inconsistent"'
	check 0 '{"page":1000,"make":[{"count":900,"at":1767000000}],"ignores":["limit"]}'
	echo '{"kinds":[1],"since":1767000200}' >filters
	check 75 '{"ignores":["since"]}' '.[0].end == "inconsistent"'
	echo '{"kinds":[7]}' >filters
	check 75 '{"ignores":["filter"]}' '.[-1].foreign == 100 and .[0].end == "inconsistent"'
}

@test "a relay that turns the order round" {
	check 75 '{"order":"oldest"}' '.[0].end == "inconsistent"'
	check 75 '{"order":"turned"}' '.[0].end == "inconsistent"'
}

@test "a relay that answers under another name" {
	check 75 '{"sub":"wrong"}' '.[-1].unknown > 100 and (.[0].complete | not)'
}

@test "a relay that never says EOSE" {
	check 75 '{"eose":"never"}' '.[0].end == "timeout" and .[0].new == 100'
	# What timed out was closed.
	logged '.got[0] == "CLOSE"'
}

@test "a relay that says nothing at all" {
	check 75 '{"rules":[{"on":"open","do":[{"stall_ms":60000}]}]}' '.[0].end == "timeout"'
}

@test "events of the first second of time" {
	start_relay '{"make":[{"count":30,"at":0,"step":0},{"count":100,"at":0,"seed":2}],"page":50}'
	fetch 0
	got_all
}

@test "a relay that says EOSE first does not hold us up" {
	start_relay '{"make":[{"count":250}],"eose":"first"}'
	run --separate-stderr bash -c 'timeout 10 grasp-sync-relay "$@" >got' - --once \
		--allow-private --filters filters --timeout 1 "$url"
	[ "$status" -eq 0 ] || [ "$status" -eq 75 ]
}
