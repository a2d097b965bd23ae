#!/bin/bash
# shellcheck disable=SC2034,SC2154
# What the tests against the test relay share: relays, readers, and waiting for things
# to happen.  README describes the scripts.

# In seconds: what is still not there then is not coming.
PATIENCE=15

use_folder() {
	cd "$BATS_TEST_TMPDIR" || return 1
	relay_pid='' reader_pid='' pids=()
	mkfifo control
}

stop_all() {
	local pid
	for pid in "$reader_pid" "${pids[@]}"; do
		stop "$pid"
	done
	# Shown when the test fails.
	[ -n "${BATS_TEST_COMPLETED:-}" ] || for file in log said report; do
		[ ! -e "$file" ] || { echo "--- $file" && cut -c 1-200 "$file" | tail -n 20; }
	done
}

stop() {
	[ -z "$1" ] || { kill "$1" && wait "$1"; } 2>/dev/null || :
}

# usage: wait_for COMMAND...   until it succeeds
wait_for() {
	local end=$((SECONDS + PATIENCE))
	until "$@"; do
		[ "$SECONDS" -lt "$end" ] || {
			echo "never: $*"
			return 1
		}
		sleep 0.02
	done
}

# usage: at_once COMMAND...   each beside the others, in a folder of its own; all must succeed
at_once() {
	local command number=0 rows=() failed=''
	for command in "$@"; do
		number=$((number + 1))
		(
			mkdir "$number" && cd "$number" || exit 1
			cp ../filters . && mkfifo control
			trap 'stop "$reader_pid"; stop "$relay_pid"' EXIT
			eval "$command"
		) >"$number.out" 2>&1 3>&- &
		rows+=($!)
	done
	for number in "${!rows[@]}"; do
		wait "${rows[number]}" && continue
		failed=yes
		echo "failed: row $((number + 1))"
		cat "$((number + 1)).out"
		tail -n 5 "$((number + 1))"/{log,said,report} 2>/dev/null | cut -c 1-200
	done
	[ -z "$failed" ]
}

# usage: start_relay SCRIPT [OPTION...]; sets url and port
start_relay() {
	local line script=$1
	shift
	printf '%s\n' "$script" >script
	rm -f listening
	mkfifo listening
	fakerelay --script script --control control --log log \
		--served served "$@" >listening 2>relay.log 3>&- &
	relay_pid=$!
	pids+=("$relay_pid")
	read -r line <listening || {
		cat relay.log
		return 1
	}
	port=${line#listening }
	url=ws://127.0.0.1:$port
}

stop_relay() {
	stop "$relay_pid"
	relay_pid=''
}

# What the relay serves at most: ids, sorted.
list_served() {
	jq -r .id served | sort
}

# usage: fetch STATUS [OPTION...]   once; filters are in `filters`; writes got and report
fetch() {
	local status=$1
	shift
	run "-$status" --separate-stderr bash -c 'grasp-sync-relay "$@" >got' - --once \
		--allow-private --max-backoff 1 --filters filters --report report "$@" "$url"
	printf '%s\n' "$stderr" >said
}

# usage: follow [OPTION...]   in the background: writes got and said
follow() {
	grasp-sync-relay --allow-private --max-backoff 1 --filters filters "$@" "$url" \
		>got 2>said 3>&- &
	reader_pid=$!
}

# Ends what follow began; it must say that all is well.
end_following() {
	local status=0
	kill "$reader_pid"
	wait "$reader_pid" || status=$?
	reader_pid=''
	[ "$status" -eq 0 ]
}

got_all() {
	jq -r .id got 2>/dev/null | sort >got.ids
	list_served | cmp -s - got.ids
}

has_lines() {
	[ -e "$2" ] && [ "$(wc -l <"$2")" -ge "$1" ]
}

# usage: logged JQ-EXPRESSION   of some line of the relay's log
logged() {
	jq -n --exit-status "[inputs | select($1)] | length > 0" log >/dev/null 2>&1
}

never_logged() {
	! logged "$1"
}

# usage: count_logged JQ-EXPRESSION
count_logged() {
	jq -n "[inputs | select($1)] | length" log
}

# Tells the relay something while it runs, and waits until it has heard.
tell() {
	local before
	before=$(count_logged '.is == "control"')
	jq -c . <<<"$1" >control
	wait_for heard "$before"
}

heard() {
	[ "$(count_logged '.is == "control"')" -gt "$1" ]
}

# usage: reported JQ-EXPRESSION   of the report as a list
reported() {
	jq -s --exit-status "$1" report >/dev/null
}
