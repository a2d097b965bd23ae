# shellcheck shell=bash disable=SC2154,SC2034
# For tests that tell a story of a few events: making them, putting them on the farm's
# relays, looking for them in the store.

use_events() {
	now=$(date +%s)
	# as old as what only a history without since brings
	at=$((now - 86400))
}

# usage: key NUMBER   its public key
key() {
	signevent "$1" --key
}

# usage: ref NUMBER D   of that key's repository
ref() {
	echo "30617:$(key "$1"):$2"
}

# usage: sign NUMBER KIND AT [TAG]...   prints the event; the words of a TAG are its values
sign() {
	jq -nc --argjson kind "$2" --argjson at "$3" --args '{kind: $kind, created_at: $at,
		tags: ($ARGS.positional | map(split(" "))), content: ""}' "${@:4}" | signevent "$1"
}

id() {
	jq -r .id <<<"$1"
}

# usage: announce NUMBER D AT RELAYS [TAG]...   RELAYS: names of the farm's, parted by blanks
announce() {
	local relay relays="relays wss://$service"
	for relay in $4; do
		relays+=" $base/$relay"
	done
	sign "$1" 30617 "$3" "d $2" "clone https://$service/npub1/$2.git" "$relays" "${@:5}"
}

# usage: state NUMBER D AT
state() {
	sign "$1" 30618 "$3" "d $2" "refs/heads/main $(printf '%040d' 1)" "HEAD ref:refs/heads/main"
}

# usage: put RELAYS EVENT...   stored there, nobody is told; RELAYS: parted by commas
put() {
	local event
	for event in "${@:2}"; do
		ask "quiet $1 $event"
	done
}

# usage: live RELAYS EVENT...   published there now
live() {
	local event
	for event in "${@:2}"; do
		ask "event $1 $event"
	done
}

# usage: has EVENT...   all of them are stored
has() {
	local event
	export_store >exported
	for event; do
		grep -q -F "\"id\":\"$(id "$event")\"" exported || return 1
	done
}

# usage: has_none EVENT...   none of them is stored
has_none() {
	local event
	export_store >exported
	for event; do
		! grep -q -F "\"id\":\"$(id "$event")\"" exported || return 1
	done
}

# usage: relay NAME JQ-EXPRESSION   of its part of /status
relay() {
	status_says ".relays[\"$base/$1\"] | $2"
}

# usage: follows NAME REPOS   it is read, and all its filters are open
follows() {
	relay "$1" ".phase == \"connected\" and .repos == $2 and .pending == 0 and
		.filters > 0 and .live == .filters"
}

# usage: judged RESULT NUM   so many were, or more
judged() {
	[ "$(metric grasp_sync_decisions_total "{result=\"$1\"}")" -ge "$2" ]
}

# usage: count_judged   all but duplicates
count_judged() {
	get /metrics | awk '/^grasp_sync_decisions_total\{/ && !/"duplicate"/ { sum += $NF }
		END { print sum + 0 }'
}

has_judged() {
	[ "$(count_judged)" -ge "$1" ]
}

# usage: of NAME RELAY [LABELS]   the value of that relay's sample
of() {
	get /metrics | awk -v want="$1{relay=\"$base/$2\"${3:-}}" \
		'substr($0, 1, length(want)) == want { print $NF }'
}

# usage: is_of NAME RELAY VALUE [LABELS]
is_of() {
	[ "$(of "$1" "$2" "${4:-}")" = "$3" ]
}

# usage: begin [OPTION...]   the daemon, with a short window
begin() {
	start_daemon --window 1s "$@"
	wait_for is_ready
}
