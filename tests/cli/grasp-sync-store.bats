#!/usr/bin/env bats
# shellcheck disable=SC2154
# grasp-sync-store: every option, every error, what goes to stdout and what to stderr.
bats_require_minimum_version 1.5.0

setup_file() {
	gencorpus --seed 3 --repos 3 --roots 2 --comments 4 >"$BATS_FILE_TMPDIR/events.jsonl"
}

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	export LC_ALL=C
	cp "$BATS_FILE_TMPDIR/events.jsonl" .
	count=$(wc -l <events.jsonl)
}

import() {
	grasp-sync-store import --db db "$@"
}

# The words "NAME N" of the summary.
summary_has() {
	local want
	for want; do
		[[ "${stderr_lines[-1]}, " == *[\ ,]"$want"[,\ ]* ]] ||
			{ echo "no '$want' in ${stderr_lines[-1]}" && return 1; }
	done
}

wrong_usage() {
	local want=$1
	shift
	run -64 --separate-stderr grasp-sync-store "$@"
	[ -z "$output" ]
	[[ $stderr == *"$want"* ]]
	[[ $stderr == *"Try 'grasp-sync-store"*" --help'."* || $stderr == *"Try 'grasp-sync-store --help'."* ]]
}

@test "import stores each event once, and says so on stderr" {
	run -0 --separate-stderr import events.jsonl
	[ -z "$output" ]
	[ "$stderr" = "grasp-sync-store import: read $count, stored $count, duplicate 0, replaced 0, deleted 0, expired 0, waiting 0, rejected 0, invalid 0" ]
	[ "$(stat -c %a db)" = 700 ]
	run -0 --separate-stderr import events.jsonl
	summary_has "read $count" "stored 0" "duplicate $count"
}

@test "import reads stdin, frames, blank lines, CRLF and a last line without newline" {
	{
		printf '\n  \t\n'
		head -n 2 events.jsonl | sed 's/$/\r/'
		sed -n 3p events.jsonl | jq -c '["EVENT", "sub", .]'
		sed -n 4p events.jsonl | jq -c '["EVENT", .]'
		sed -n 5p events.jsonl | tr -d '\n'
	} >lines
	run -0 --separate-stderr import <lines
	summary_has "read 5" "stored 5"
	run -0 --separate-stderr import - <lines
	summary_has "duplicate 5"
	run -0 --separate-stderr import </dev/null
	summary_has "read 0"
}

@test "import leaves out bad lines, says where, and exits 65" {
	{
		head -n 1 events.jsonl
		echo '{"id":'
		printf '\xef\xbb\xbf' && sed -n 2p events.jsonl
		sed -n 3p events.jsonl | jq -c '.content += "x"'
		sed -n 4p events.jsonl | jq -c '.sig |= (.[0:126] + (if .[126:] == "00" then "01" else "00" end))'
		head -c 1200000 /dev/zero | tr '\0' ' ' && echo x
		echo '["EOSE","sub"]'
		sed -n 5p events.jsonl
	} >lines
	run -65 --separate-stderr import lines
	[ -z "$output" ]
	summary_has "read 8" "stored 2" "invalid 6"
	[[ ${stderr_lines[-1]} == *"invalid 6 (shape 3, size 1, id 1, sig 1)" ]]
	[[ ${stderr_lines[0]} == "grasp-sync-store import: lines line 2: invalid (shape): "* ]]
	[[ ${stderr_lines[1]} == *"lines line 3: invalid (shape): "* ]]
	[[ ${stderr_lines[2]} == *"lines line 4: invalid (id): "* ]]
	[[ ${stderr_lines[3]} == *"lines line 5: invalid (sig): "* ]]
	[[ ${stderr_lines[4]} == *"lines line 6: invalid (size): "* ]]
	[[ ${stderr_lines[5]} == *"lines line 7: invalid (shape): "* ]]
}

@test "of many bad lines the first are told, with -v all of them" {
	yes '{}' | head -n 50 >lines
	run -65 --separate-stderr import lines
	[ "$(grep -c ' line .*: invalid' <<<"$stderr")" -eq 20 ]
	[[ ${stderr_lines[-2]} == *"and 30 more invalid lines" ]]
	run -65 --separate-stderr import -v lines
	[ "$(grep -c ' line .*: invalid' <<<"$stderr")" -eq 50 ]
	run -65 --separate-stderr import -q lines
	[ "$(wc -l <<<"$stderr")" -eq 21 ] # what is wrong is said all the same
}

@test "import -q says nothing, -v tells commits" {
	run -0 --separate-stderr import -q events.jsonl
	[ -z "$output$stderr" ]
	rm -r db
	run -0 --separate-stderr import -v events.jsonl
	[[ ${stderr_lines[-2]} == "grasp-sync-store import: committed: $count read, $count stored" ]]
}

@test "import --service and --follow keep what is ours, in any order of lines" {
	gencorpus --seed 4 --repos 4 --roots 2 --comments 2 --unlisted 2 >mixed
	all=$(wc -l <mixed)
	run -0 --separate-stderr import --service git.example.com mixed
	summary_has "read $all"
	grasp-sync-store export --db db >one
	[ "$(wc -l <one)" -gt 0 ] && [ "$(wc -l <one)" -lt "$all" ]
	tac mixed | grasp-sync-store import -q --db two --service https://GIT.example.com
	grasp-sync-store export --db two | cmp - one
	run -0 --separate-stderr grasp-sync-store import --db three --follow all mixed
	summary_has "stored $all"
	jq -r 'select(.kind == 30617).pubkey' mixed | sort -u >keys
	run -0 --separate-stderr grasp-sync-store import --db four --follow keys mixed
	summary_has "stored $all"
	run -0 --separate-stderr grasp-sync-store import --db five --service other.example \
		--own-url wss://git.example.com mixed
	summary_has "stored 0"
}

@test "import of another policy judges again what waits" {
	run -0 --separate-stderr import --service other.example events.jsonl
	summary_has "stored 0"
	run -0 --separate-stderr import --service git.example.com </dev/null
	summary_has "read 0" "stored $count" "freed $count"
}

@test "import --now judges expiry at that time" {
	run -0 --separate-stderr import --now 1700000000 events.jsonl
	summary_has "expired 0"
	run -0 --separate-stderr grasp-sync-store import --db other --now 2026-01-31T12:00:00Z --workers 3 \
		--map-size 1m events.jsonl
	summary_has "stored $count"
}

@test "import commits when a pipe pauses" {
	mkfifo pipe
	import -v pipe 2>log &
	pid=$!
	exec 5>pipe
	head -n 3 events.jsonl >&5
	for ((i = 0; i < 100; i++)); do
		grep -q 'committed: 3 read' log && break
		sleep 0.1
	done
	grep -q 'committed: 3 read, 3 stored' log
	[ "$(grasp-sync-store export --db db | wc -l)" -eq 3 ]
	exec 5>&-
	wait "$pid"
}

@test "import stores what it has read when a signal stops it, and exits 75" {
	mkfifo pipe
	grasp-sync-store import --db db pipe 2>log &
	pid=$!
	exec 5>pipe
	head -n 3 events.jsonl >&5
	for ((i = 0; i < 100; i++)); do
		[ "$(grasp-sync-store export --db db 2>/dev/null | wc -l)" -eq 3 ] && break
		sleep 0.1
	done
	sed -n 4p events.jsonl >&5
	kill -TERM "$pid"
	code=0
	wait "$pid" || code=$?
	[ "$code" -eq 75 ]
	exec 5>&-
	grep -q "stopped by a signal" log
	tail -n 1 log | grep -q "read [34], stored [34]"
}

@test "two imports at once" {
	split -n l/2 events.jsonl part.
	import -q part.aa &
	one=$!
	import -q part.ab &
	two=$!
	wait "$one"
	wait "$two"
	[ "$(grasp-sync-store export --db db | sort)" = "$(sort events.jsonl)" ]
	run -0 grasp-sync-store stat --check --db db
}

@test "import: wrong usage, missing files, unreadable input" {
	wrong_usage "--db is needed" import events.jsonl
	wrong_usage "more than one file" import --db db a b
	wrong_usage "--follow listed needs --service" import --db db --follow listed
	wrong_usage "--own-url needs --service or --follow" import --db db --own-url wss://x.example
	wrong_usage "--workers 0: not a number from 1 to 256" import --db db --workers 0
	wrong_usage "--map-size 1x: not a size" import --db db --map-size 1x
	wrong_usage "--now soon: " import --db db --now soon
	wrong_usage "--service http://: " import --db db --service http://
	wrong_usage "--own-url ftp://x: " import --db db --own-url ftp://x
	wrong_usage "--db: needs a value" import --db
	[ ! -e db ]
	run -66 --separate-stderr import missing
	[[ $stderr == *"missing: No such file or directory" ]]
	[ ! -e db ]
	run -66 --separate-stderr import --follow missing events.jsonl
	echo 'not a ref' >list
	run -65 --separate-stderr import --follow list events.jsonl
	[[ $stderr == *"--follow: list: "* ]]
	run -73 --separate-stderr grasp-sync-store import --db no/where events.jsonl
	run -74 --separate-stderr import .
	[[ $stderr == *"import: .: Is a directory"* ]]
}

@test "export prints canonical lines, oldest first, then by id" {
	jq -c '{ sig, tags, content, kind, created_at, pubkey, id }' events.jsonl | tac |
		import -q
	run -0 --separate-stderr grasp-sync-store export --db db
	[ -z "$stderr" ]
	[ "$(sort <<<"$output")" = "$(sort events.jsonl)" ]
	jq -r '"\(.created_at) \(.id)"' <<<"$output" >seen
	sort -k1,1n -k2,2 seen | cmp - seen
}

@test "export --filter, --since, --until" {
	import -q events.jsonl
	get() {
		run -0 --separate-stderr grasp-sync-store export --db db "$@"
		printf '%s' "$output" | sort >got
	}
	wants() {
		jq -c "select($1)" events.jsonl | sort >want
		[ -s want ]
		echo >>got
		sed -i '/^$/d' got
		cmp got want
	}
	get --filter '{"kinds":[30617]}'
	wants '.kind == 30617'
	get --filter '{"kinds":[30617]}' --filter '{"kinds":[30618,30617]}'
	wants '.kind == 30617 or .kind == 30618'
	author=$(jq -rs '.[0].pubkey' events.jsonl)
	get --filter "{\"authors\":[\"$author\"],\"kinds\":[1111,1621]}"
	jq -e --arg a "$author" -s 'all(.pubkey == $a and (.kind == 1111 or .kind == 1621))' got
	id=$(jq -rs '.[-1].id' events.jsonl)
	get --filter "{\"ids\":[\"$id\"]}"
	wants ".id == \"$id\""
	ref=$(jq -r 'select(.kind == 1621).tags[] | select(.[0] == "a")[1]' events.jsonl | head -n 1)
	get --filter "{\"#a\":[\"$ref\"]}"
	wants "any(.tags[]; .[0] == \"a\" and .[1] == \"$ref\")"
	middle=$(jq -s 'map(.created_at) | sort | .[length / 2]' events.jsonl)
	get --since "$middle"
	wants ".created_at >= $middle"
	get --until "$middle" --filter '{}'
	wants ".created_at <= $middle"
	get --since 10s --now "$((middle + 10))"
	wants ".created_at >= $middle"
	get --filter "{\"since\":$middle,\"until\":$middle}"
	wants ".created_at == $middle"
}

@test "export: a filter's limit keeps its newest" {
	import -q events.jsonl
	grasp-sync-store export --db db >all
	run -0 grasp-sync-store export --db db --filter '{"limit":3}'
	[ "$output" = "$(tail -n 3 all)" ]
	run -0 grasp-sync-store export --db db --filter '{"kinds":[1621],"limit":1}' \
		--filter '{"kinds":[30617]}'
	[ "$output" = "$(jq -c 'select(.kind == 30617)' all | cat - <(jq -c 'select(.kind == 1621)' all | tail -n 1) |
		sort | grep -Fxf - all)" ]
	run -0 grasp-sync-store export --db db --filter '{"limit":0}'
	[ -z "$output" ]
}

@test "export: a stdout that is full or closed" {
	import -q events.jsonl
	run -74 --separate-stderr bash -c 'grasp-sync-store export --db db >/dev/full'
	[[ $stderr == *"stdout: No space left on device" ]]
	run -0 --separate-stderr bash -c 'set -o pipefail; grasp-sync-store export --db db | true'
	[ -z "$stderr" ]
	run -0 --separate-stderr bash -c 'grasp-sync-store export --db db >&-; true'
}

@test "export and stat: wrong usage, missing and damaged stores" {
	wrong_usage "--db is needed" export
	wrong_usage "takes no operands" export --db db x
	wrong_usage "--filter {\"kinds\":[]}: " export --db db --filter '{"kinds":[]}'
	wrong_usage "--filter x: " export --db db --filter x
	wrong_usage "--since x: " export --db db --since x
	wrong_usage "--until -1: " export --db db --until -1
	wrong_usage "--db is needed" stat --json
	wrong_usage "takes no operands" stat --db db x
	for sub in export stat "stat --check"; do
		# shellcheck disable=SC2086
		run -66 --separate-stderr grasp-sync-store $sub --db missing
		[ -z "$output" ]
		[[ $stderr == *"missing: no store is there"* ]]
	done
	mkdir damaged
	head -c 65536 /dev/zero | tr '\0' x >damaged/data.mdb
	for sub in export stat "stat --check" import; do
		# shellcheck disable=SC2086
		run -65 --separate-stderr grasp-sync-store $sub --db damaged </dev/null
		[ -z "$output" ]
		[[ $stderr == *"damaged: "* ]]
	done
}

@test "stat counts" {
	import -q events.jsonl
	run -0 --separate-stderr grasp-sync-store stat --db db
	[ -z "$stderr" ]
	[[ ${lines[0]} == "events "*" $count, "*" bytes" ]]
	[[ $output == *"kind 30617 "*" 3, "*" bytes"* ]]
	run -0 --separate-stderr grasp-sync-store stat --db db --json
	[ "$(wc -l <<<"$output")" -eq 1 ]
	jq -se 'map(.created_at) as $dates | (map({ key: "\(.kind)", value: 1 }) | group_by(.key) |
		map({ key: .[0].key, value: length }) | from_entries) as $kinds | $kinds' events.jsonl >kinds
	jq -e --slurpfile kinds kinds --slurpfile events events.jsonl '
		.events == ($events | length) and (.kinds | map_values(.events)) == $kinds[0] and
		.oldest == ($events | map(.created_at) | min) and
		.newest == ($events | map(.created_at) | max) and
		(.bytes > 0) and (.file_bytes > 0) and (.used_bytes <= .map_bytes) and
		.waiting == 0 and .judged.rejected == 0' <<<"$output"
	run -0 --separate-stderr grasp-sync-store stat --db db --check
	[ "$output" = "ok: $count events checked" ]
	run -0 --separate-stderr grasp-sync-store stat --db db --check --json
	[ "$output" = "{\"checked\":$count,\"faults\":0}" ]
}

@test "stat of an empty store, and of what waits" {
	import -q </dev/null
	run -0 grasp-sync-store stat --db db --json
	jq -e '.events == 0 and .oldest == null and .newest == null and .kinds == {}' <<<"$output"
	import -q --service other.example events.jsonl
	run -0 grasp-sync-store stat --db db --json
	jq -e --argjson n "$count" '.waiting == $n and .waiting_bytes > 0' <<<"$output"
	run -74 --separate-stderr bash -c 'grasp-sync-store stat --db db >/dev/full'
}

@test "subcommands" {
	wrong_usage "needs a subcommand" -q
	wrong_usage "needs a subcommand"
	wrong_usage "no such subcommand" frob --db db
	wrong_usage "options stand behind the subcommand" -v import
	wrong_usage "no such option" --db db import
	run -0 --separate-stderr grasp-sync-store --help
	[[ $output == *"usage: grasp-sync-store import "*"usage: grasp-sync-store stat "* ]]
	for sub in import export stat; do
		run -0 --separate-stderr grasp-sync-store "$sub" --help
		[[ $output == "grasp-sync-store $sub - "* ]]
		[[ $output == *"man grasp-sync-store,"* ]]
		run -0 grasp-sync-store "$sub" -V
		[[ $output == "grasp-sync-store "[0-9]* ]]
	done
}

# The repository of the first announcement, and the id of its first root.
read_names() {
	repo=$(jq -r 'select(.kind == 30617) | "30617:\(.pubkey):\(.tags[] | select(.[0] == "d")[1])"' \
		events.jsonl | head -n 1)
	root=$(jq -r --arg r "$repo" 'select(.kind >= 1617 and .kind <= 1621 and any(.tags[]; .[1] == $r)) | .id' \
		events.jsonl | head -n 1)
}

@test "--deny keeps out repositories, authors and events" {
	read_names
	run -0 --separate-stderr import --follow all events.jsonl
	stored=$(grasp-sync-store export --db db | wc -l)
	printf '# a comment\n\n %s\n' "$repo" >deny
	rm -r db
	run -0 --separate-stderr import --follow all --deny deny events.jsonl
	[[ $stderr == *"(denied "* ]]
	grasp-sync-store export --db db >left
	[ "$(wc -l <left)" -lt "$stored" ]
	! grep -qF "\"$repo\"" left || return 1
	# allowed again, all comes
	run -0 --separate-stderr import --follow all events.jsonl
	[ "$(grasp-sync-store export --db db | wc -l)" -eq "$stored" ]
	# what is stored stays
	run -0 --separate-stderr import --follow all --deny deny events.jsonl
	[ "$(grasp-sync-store export --db db | wc -l)" -eq "$stored" ]
	rm -r db
	echo "id:$root" >deny
	run -0 --separate-stderr import --follow all --deny deny --deny /dev/null events.jsonl
	summary_has "(denied 1)"
	grasp-sync-store export --db db >left
	[ -s left ]
	! grep -q "\"id\":\"$root\"" left || return 1
	rm -r db
	jq -r 'select(.kind == 30617) | .pubkey' events.jsonl | sort -u >deny
	run -0 --separate-stderr import --follow all --deny deny events.jsonl
	[ -z "$(grasp-sync-store export --db db)" ]
}

@test "a wrong --deny is told with its line" {
	printf '# fine\nid:12\n' >deny
	run -65 --separate-stderr import --follow all --deny deny events.jsonl
	[[ $stderr == "grasp-sync-store import: --deny: deny: line 2: not a repository"* ]]
	run -66 --separate-stderr import --follow all --deny missing events.jsonl
	[ ! -e db ]
	wrong_usage "--deny needs --service or --follow" import --db db --deny /dev/null
	wrong_usage "--max-store needs --service or --follow" import --db db --max-store 1G
	wrong_usage "--max-store 1x: not a size" import --db db --follow all --max-store 1x
	wrong_usage "--max-events-repo -1" import --db db --follow all --max-events-repo -1
}

@test "--decisions appends what became of each event" {
	run -0 --separate-stderr import --follow all --decisions told events.jsonl
	[ -z "$output" ]
	[ "$(jq -c 'keys_unsorted' told | sort -u)" = \
		'["id","kind","author","relay","result","reason","waits_for"]' ]
	jq -r .id told | sort -u >told.ids
	jq -r .id events.jsonl | sort -u | cmp - told.ids
	# the last one of each event is what it is now
	jq -sr 'group_by(.id)[] | last | select(.result == "stored") | .id' told | sort |
		cmp - <(grasp-sync-store export --db db | jq -r .id | sort)
	[ "$(jq -r 'select(.kind == 30617) | .reason' told | sort -u)" = followed ]
	before=$(wc -l <told)
	run -0 --separate-stderr import --follow all --decisions - events.jsonl
	[ "$(jq -r .result <<<"$output" | sort -u)" = duplicate ]
	[ "$(wc -l <<<"$output")" -eq "$count" ]
	run -0 --separate-stderr import --follow all --decisions told events.jsonl
	[ "$(wc -l <told)" -eq $((before + count)) ]
	run -73 --separate-stderr import --decisions missing/told events.jsonl
	[[ $stderr == *"--decisions: missing/told: "* ]]
	run -74 --separate-stderr import --decisions /dev/full events.jsonl
	[[ $stderr == *"--decisions: /dev/full: "* ]]
}

@test "--decisions says what an event waits for, and when that has come" {
	read_names
	jq -c --arg id "$root" 'select(.id == $id)' events.jsonl >issue
	run -0 --separate-stderr import --follow all --decisions - issue
	[ "$(jq -r '.result, .reason, .waits_for[0]' <<<"$output")" = "waiting
unknown-repo
a:$repo" ]
	jq -c 'select(.kind == 30617)' events.jsonl >announcements
	run -0 --separate-stderr import --follow all --decisions - announcements
	jq -se --arg id "$root" 'map(select(.id == $id)) | length == 1 and
		.[0].result == "stored" and .[0].reason == "refers-repo"' <<<"$output"
}

@test "caps leave events for later: exit 75" {
	read_names
	run -75 --separate-stderr import --follow all --max-events-repo 1 --decisions told events.jsonl
	[[ $stderr == *" events are over a cap, left for later"* ]]
	[[ ${stderr_lines[-1]} == *", skipped "* ]]
	jq -se 'map(select(.result == "skipped")) | length > 0 and
		all(.[]; .reason == "over-repo-cap" and .until > now)' told
	run -0 --separate-stderr import --follow all events.jsonl
	[ "$(grasp-sync-store stat --db db --check)" = "ok: $(grasp-sync-store export --db db | wc -l) events checked" ]
	rm -r db
	run -75 --separate-stderr import --follow all --max-store 4K --decisions full events.jsonl
	[ "$(jq -r .reason full | sort -u)" = store-full ]
	run -0 --separate-stderr import --follow all --max-store 1G events.jsonl
	[[ ${stderr_lines[-1]} != *skipped* ]]
}
