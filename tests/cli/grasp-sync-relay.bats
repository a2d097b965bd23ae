#!/usr/bin/env bats
# shellcheck disable=SC2154,SC2016,SC2030,SC2031
# grasp-sync-relay against a relay of our own: all of it arrives once; each fault says so.
bats_require_minimum_version 1.5.0

setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	# 1,000 events and some.
	gencorpus --seed 3 --repos 10 --roots 20 --comments 80 >events.jsonl
	jq -r .id events.jsonl | sort >ids
	printf '%s\n' '{"kinds":[30617,30618]}' '{"kinds":[1617,1618,1619,1621]}' \
		'{"kinds":[1111]}' '{"kinds":[1]}' >filters
}

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	all=$BATS_FILE_TMPDIR/events.jsonl filters=$BATS_FILE_TMPDIR/filters
	ids=$BATS_FILE_TMPDIR/ids
	relay_pid='' reader_pid='' proxy_pid=''
}

teardown() {
	local pid
	for pid in $relay_pid $reader_pid $proxy_pid; do
		kill "$pid" 2>/dev/null || :
	done
}

# usage: start_relay [OPTION...] FILE; sets url
start_relay() {
	local line
	mkfifo port
	fakerelay "$@" >port 2>relay.log 3>&- &
	relay_pid=$!
	read -r line <port
	url=ws://127.0.0.1:${line#listening }
}

# usage: fetch STATUS [OPTION...]; reads the filters, writes got, keeps stderr
fetch() {
	local status=$1
	shift
	run "-$status" --separate-stderr bash -c 'grasp-sync-relay "$@" >got' - --once \
		--allow-private --max-backoff 1 --filters "$filters" "$@" "$url"
}

wrong_usage() {
	local want=$1
	shift
	run -64 --separate-stderr grasp-sync-relay "$@" </dev/null
	[ -z "$output" ]
	[[ $stderr == "grasp-sync-relay: "*"$want"* ]]
}

all_arrived() {
	jq -r .id got | sort >got.ids
	cmp got.ids "$ids"
}

# Of all kinds there are less than 500, but for comments.
count_first_page() {
	echo $(($(grep -cv '"kind":1111,' "$all") + 500))
}

@test "help and version" {
	run -0 grasp-sync-relay --help
	[[ $output == *"usage: grasp-sync-relay [--once] "*" URL"* ]]
	run -0 grasp-sync-relay -V
	[[ $output == "grasp-sync-relay "[0-9]* ]]
}

@test "wrong options and operands are usage errors" {
	wrong_usage "URL: missing" --once
	wrong_usage "one URL" --once wss://a.example wss://b.example
	wrong_usage "no filters" --once wss://a.example
	wrong_usage "ftp://a.example: " --once ftp://a.example
	wrong_usage "ws://127.0.0.1:7777: " --once ws://127.0.0.1:7777
	wrong_usage "--timeout 5x" --once --timeout 5x wss://a.example
	wrong_usage "--timeout 0" --once --timeout 0 wss://a.example
	wrong_usage "--max-backoff 25h: not between" --max-backoff 25h wss://a.example
	wrong_usage "--since noon" --since noon wss://a.example
	wrong_usage "--limit 0" --limit 0 wss://a.example
	wrong_usage "--bogus: no such option" --bogus
}

@test "a file of filters that is missing" {
	run -66 --separate-stderr grasp-sync-relay --once --filters none wss://a.example
	[[ $stderr == "grasp-sync-relay: none: "* ]]
}

@test "a report that can't be written" {
	run -73 --separate-stderr grasp-sync-relay --once --filters "$filters" \
		--report none/report wss://a.example
	[[ $stderr == "grasp-sync-relay: none/report: "* ]]
}

@test "all events arrive once through pages of 75, and that is proven" {
	start_relay --page 75 "$all"
	fetch 0 --report report
	[ -z "$stderr" ]
	[ "$(wc -l <"$ids")" -ge 1000 ]
	all_arrived
	# Each line is the event in canonical form.
	sort <"$all" | cmp - <(sort got)
	[ "$(jq -s '[.[] | select(.complete == true)] | length' report)" -eq 4 ]
	[ "$(jq -sc '[.[] | select(.filter) | .line]' report)" = '[1,2,3,4]' ]
	run -0 jq -sr --argjson n "$(wc -l <"$ids")" '.[-1] | .filters == 4 and .complete == 4 and
		.events == $n and .invalid == 0 and .foreign == 0 and .fault == null' report
	[ "$output" = true ]
	run -0 jq -sr '.[0].method, .[0].end, (.[0].pages > 1), .[3].oldest' report
	[ "$output" = $'pages\nfinished\ntrue\nnull' ]
}

@test "all events arrive whatever the caps of a filter and of a REQ" {
	start_relay --page 20 --total 33 "$all"
	fetch 0
	all_arrived
}

@test "filters come as lines, as lists, as REQ frames, and from stdin" {
	start_relay "$all"
	{
		printf '\n["REQ","x",{"kinds":[30617,30618]},{"kinds":[1111]}]\n'
		printf ' [ {"kinds":[1617,1618]}, {"kinds":[1619,1621]} ]'
	} >lists
	run -0 --separate-stderr bash -c \
		'grasp-sync-relay --once --allow-private "$1" <lists >got' - "$url"
	all_arrived
}

@test "a filter that is longer than a message is asked for in parts" {
	# What all comments belong to, among 1,000 ids that nobody knows.
	jq -cn '[inputs.tags[] | select(.[0] == "E")[1]] | unique |
		{"#E": (. + [range(1000) | tostring | "f" * (64 - length) + .])}' "$all" >long
	[ "$(wc -c <long)" -gt 61440 ]
	start_relay "$all"
	filters=long fetch 0 --report report
	[ "$(jq -s length report)" -eq 2 ]
	jq -r 'select(any(.tags[]; .[0] == "E")).id' "$all" | sort >want
	[ -s want ]
	jq -r .id got | sort | cmp - want
}

@test "bad filters are told with their line, the others are read" {
	printf '%s\n' '{"kinds":[30617]}' '{"kinds":[]}' '[1]' '{"x":1}' '{"kinds":[30618]}' \
		>mixed
	start_relay "$all"
	filters=mixed fetch 65
	[[ $stderr == *"mixed line 2: "*"mixed line 3: "*"mixed line 4: "* ]]
	[ "$(wc -l <got)" -eq "$(grep -cE '"kind":3061[78],' "$all")" ]
	printf '{"kinds":[]}\n' >bad
	run -65 --separate-stderr grasp-sync-relay --once --filters bad wss://a.example
}

@test "a refusal is 75 and says why; one about us is 77" {
	start_relay --refuse 'blocked: not this kind' "$all"
	fetch 75 --report report
	[[ $stderr == *"$url: incomplete: closed:blocked: not this kind"*"4 of 4 filters"* ]]
	[ ! -s got ]
	run -0 jq -r '.end // .complete' report
	[ "${lines[0]}" = "closed:blocked: not this kind" ]
	[ "${lines[4]}" = 0 ]
	kill "$relay_pid"
	rm port
	start_relay --refuse 'auth-required: who are you' "$all"
	fetch 77
	[[ $stderr == *"closed:auth-required: who are you"* ]]
}

@test "a refusal by NOTICE" {
	start_relay --notice 'could not parse command' "$all"
	printf '{"kinds":[1]}\n' >one
	filters=one fetch 75
	[[ $stderr == *"incomplete: closed:could not parse command"* ]]
}

@test "a relay that drops us keeps what came, and is not complete" {
	start_relay --drop-after 100 "$all"
	fetch 75
	[[ $stderr == *"incomplete: dropped"*"4 of 4 filters"* ]]
	[ "$(wc -l <got)" -eq 100 ]
}

@test "a relay that never says EOSE" {
	start_relay --silent "$all"
	fetch 75 --timeout 1
	[[ $stderr == *"incomplete: timeout"* ]]
	[ "$(wc -l <got)" -eq "$(count_first_page)" ]
}

@test "a relay that ignores until" {
	start_relay --page 50 --ignore-until "$all"
	fetch 75
	[[ $stderr == *"incomplete: inconsistent"* ]]
}

@test "no relay at all is 69" {
	start_relay "$all"
	kill "$relay_pid"
	wait "$relay_pid" || :
	relay_pid=''
	fetch 69 --report report
	[[ $stderr == *"incomplete: dropped (refused)"* ]]
	[ "$(jq -sr '.[-1].fault' report)" = refused ]
	url=wss://nobody.invalid fetch 69
	[[ $stderr == *"nobody.invalid: dns: "* ]]
}

@test "what is no relay is 76" {
	mkfifo page
	perl -MIO::Socket::INET -e '$| = 1;
		$s = IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1") or die;
		print $s->sockport, "\n"; for (1 .. 3) { $c = $s->accept; sysread $c, $x, 4096;
		print $c "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"; close $c }' \
		>page 3>&- &
	read -r port <page
	url=ws://127.0.0.1:$port
	fetch 76
	[[ $stderr == *"(http-200)"* ]]
}

@test "a full disk is 74" {
	start_relay "$all"
	run -74 --separate-stderr bash -c \
		'grasp-sync-relay --once --allow-private --filters "$1" "$2" >/dev/full' - \
		"$filters" "$url"
	[ "$stderr" = "grasp-sync-relay: stdout: No space left on device" ]
}

@test "a closed pipe ends it quietly with 75" {
	start_relay --page 20 "$all"
	run -0 --separate-stderr bash -c '{ grasp-sync-relay --once --allow-private \
		--filters "$1" "$2"; echo $? >status; } | head -n 1 >first' - "$filters" "$url"
	[ "$(cat status)" -eq 75 ]
	[ "$(wc -l <first)" -eq 1 ]
	[ -z "$stderr" ]
}

@test "SIGTERM keeps what came, and is 75" {
	start_relay --silent "$all"
	grasp-sync-relay --once --allow-private --filters "$filters" "$url" >got 2>said 3>&- &
	local pid=$! tries=0 status=0 first
	first=$(count_first_page)
	until [ "$(wc -l <got)" -eq "$first" ] || [ $((tries++)) -ge 200 ]; do
		sleep 0.05
	done
	kill "$pid"
	wait "$pid" || status=$?
	[ "$status" -eq 75 ]
	[ "$(wc -l <got)" -eq "$first" ]
	[[ $(cat said) == *"interrupted: 0 of 4 filters complete"* ]]
}

@test "events that are not what they say are left out and counted" {
	head -n 20 "$all" | jq -c '.content += "x"' >forged
	tail -n +21 "$all" >>forged
	start_relay forged
	printf '{}\n' >any
	filters=any fetch 0 --report report
	[ "$(wc -l <got)" -eq $(($(wc -l <"$ids") - 20)) ]
	[ "$(jq -sr '.[-1].invalid' report)" -ge 20 ]
}

# usage: wait_for COMMAND...   until it succeeds
wait_for() {
	local tries=0
	until "$@"; do
		[ $((tries++)) -lt 300 ] || { echo "never: $*" && return 1; }
		sleep 0.05
	done
}

has_lines() {
	[ "$(wc -l <"$2")" -ge "$1" ]
}

has_text() {
	grep -qF -- "$1" "$2"
}

# In the background; writes got and said, sets reader_pid.
follow() {
	: >got
	: >said
	grasp-sync-relay --allow-private --max-backoff 1 --filters "$filters" "$@" "$url" \
		>got 2>said 3>&- &
	reader_pid=$!
}

# usage: ends_with STATUS
ends_with() {
	local status=0
	wait "$reader_pid" || status=$?
	[ "$status" -eq "$1" ] || { echo "status $status" && cat said && return 1; }
}

@test "without --once it stays, and SIGTERM is 0" {
	start_relay --page 75 "$all"
	follow --report report
	wait_for has_lines "$(wc -l <"$ids")" got
	kill "$reader_pid"
	ends_with 0
	[ "$(cat said)" = "grasp-sync-relay: $url: connected" ]
	all_arrived
	[ "$(jq -s '[.[] | select(.complete == true)] | length' report)" -eq 4 ]
}

@test "a change of state is one line" {
	start_relay "$all"
	follow
	wait_for has_text connected said
	kill "$relay_pid"
	wait "$relay_pid" || :
	relay_pid=''
	# Dialled again every second, told once.
	wait_for has_text "$url: refused, again in 1 s" said
	sleep 2.5
	[ "$(grep -c refused said)" -eq 1 ]
	kill "$reader_pid"
	ends_with 0
}

@test "a reader that leaves is noticed also when nothing comes" {
	start_relay "$all"
	printf '{"kinds":[30617]}\n' >one
	mkfifo pipe
	grasp-sync-relay --allow-private --filters one "$url" >pipe 2>said 3>&- &
	reader_pid=$!
	head -n 1 pipe >first
	ends_with 0
	[[ $(cat said) != *stdout* ]]
}

@test "a reader that is slow holds the relay back, not the memory" {
	gencorpus --seed 5 --repos 40 --roots 100 --comments 300 >many
	start_relay many
	mkfifo pipe
	printf '{}\n' >any
	local limit=16000
	[ "${GS_VARIANT:-}" != asan ] || limit=500000
	grasp-sync-relay --once --allow-private --filters any "$url" >pipe 2>said 3>&- &
	reader_pid=$!
	exec 4<pipe
	sleep 2
	[ "$(wc -c <many)" -gt 12000000 ]
	[ "$(sed -nE 's/^RssAnon:\s*([0-9]+) kB/\1/p' "/proc/$reader_pid/status")" -lt "$limit" ]
	cat <&4 >got
	exec 4<&-
	ends_with 0
	cmp <(jq -r .id many | sort) <(jq -r .id got | sort)
}

@test "nobody reads: the first SIGTERM waits for them, the second does not" {
	gencorpus --seed 5 --repos 40 --roots 100 --comments 20 >many
	start_relay many
	mkfifo pipe
	printf '{}\n' >any
	grasp-sync-relay --once --allow-private --filters any "$url" >pipe 2>said 3>&- &
	reader_pid=$!
	exec 4<pipe
	sleep 1
	kill "$reader_pid"
	sleep 0.3
	kill "$reader_pid"
	ends_with 75
	exec 4<&-
	[[ $(cat said) == *interrupted* ]]
}

@test "since and limit narrow every filter" {
	start_relay "$all"
	local at
	at=$(jq -s 'sort_by(.created_at)[length / 2 | floor].created_at' "$all")
	fetch 0 --since "$at" --report report
	jq -r --argjson at "$at" 'select(.created_at >= $at).id' "$all" | sort | cmp - <(jq -r .id got | sort)
	[ "$(jq -sc '[.[].filter.since | select(.)] | unique' report)" = "[$at]" ]
	fetch 0 --limit 7
	[ "$(wc -l <got)" -eq 21 ]
	jq -r 'select(.kind == 1111)' "$all" | jq -s 'sort_by(-.created_at, .id)[:7][].id' | sort |
		cmp - <(jq -r 'select(.kind == 1111)' got | jq .id | sort)
}

@test "a key that is no good, or not ours alone, is told before anything else" {
	url=wss://a.example
	fetch 66 --auth-key-file none
	[[ $stderr == "grasp-sync-relay: none: "* ]]
	printf '%064d\n' 1 >key
	chmod 644 key
	fetch 78 --auth-key-file key
	[[ $stderr == "grasp-sync-relay: key: "* ]]
	chmod 600 key
	echo x >key
	fetch 78 --auth-key-file key
}

@test "a file of certificates that is missing, or holds none" {
	url=wss://a.example
	fetch 66 --ca-file none
	[[ $stderr == "grasp-sync-relay: none: "* ]]
	echo x >ca
	fetch 78 --ca-file ca
	[[ $stderr == "grasp-sync-relay: ca: no certificate in it" ]]
}

# An HTTP proxy that takes everybody to our relay; sets proxy.
start_proxy() {
	mkfifo proxy_port
	# shellcheck disable=SC2016
	perl -MIO::Socket::INET -MIO::Select -e '$| = 1; $SIG{PIPE} = "IGNORE"; my $to = shift;
		my $s = IO::Socket::INET->new(Listen => 5, LocalAddr => "127.0.0.1") or die;
		print $s->sockport, "\n";
		while (my $c = $s->accept) {
			next if fork;
			my $head = "";
			sysread $c, $head, 1, length $head until $head =~ /\r\n\r\n$/;
			print STDERR $head;
			my $r = IO::Socket::INET->new(PeerAddr => "127.0.0.1:$to") or die;
			syswrite $c, "HTTP/1.1 200 OK\r\n\r\n";
			my $both = IO::Select->new($c, $r);
			while (my @ready = $both->can_read(10)) {
				for my $from (@ready) {
					sysread($from, my $data, 65536) or exit;
					syswrite $from == $c ? $r : $c, $data;
				}
			}
			exit;
		}' "${url##*:}" >proxy_port 2>proxy_log 3>&- &
	proxy_pid=$!
	read -r proxy <proxy_port
}

@test "a proxy is dialled, and looks the name up" {
	start_relay "$all"
	start_proxy
	url=ws://relayrelayrelay.onion fetch 0 --proxy "http://127.0.0.1:$proxy"
	kill "$proxy_pid"
	all_arrived
	[[ $(head -n 1 proxy_log) == "CONNECT relayrelayrelay.onion:80 HTTP/1.1"* ]]
}

@test "a proxy that is none, or not there" {
	wrong_usage "proxy: not like http://HOST:PORT" --once --filters "$filters" \
		--proxy socks5://127.0.0.1:9050 wss://a.example
	url=wss://a.example fetch 69 --proxy http://127.0.0.1:1
	[[ $stderr == *"(refused)"* ]]
}

@test "a proxy that the environment names is not used" {
	start_relay "$all"
	export http_proxy=http://127.0.0.1:1 https_proxy=http://127.0.0.1:1
	fetch 0
	all_arrived
}

@test "progress is for a terminal" {
	start_relay "$all"
	fetch 0 --progress
	[ -z "$stderr" ]
}
