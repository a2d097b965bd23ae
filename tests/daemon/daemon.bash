# shellcheck shell=bash disable=SC2154,SC2034
# What the tests of grasp-syncd share: a farm of relays (../relay/README.farm), the daemon,
# and waiting for things to happen.

service=git.example.com
# In seconds: what is still not there then is not coming.
PATIENCE=${PATIENCE:-60}
daemon_tests=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

use_daemon_folder() {
	cd "$BATS_TEST_TMPDIR" || return 1
	export LC_ALL=C TMPDIR=$BATS_TEST_TMPDIR
	unset "${!GRASP_SYNC_@}"
	farm_pid='' daemon_pid='' db=db
	# how much slower everything may be here
	slack=1
	[ "${GS_VARIANT:-release}" = release ] || slack=8
	PATIENCE=$((PATIENCE * (slack > 1 ? 4 : 1)))
}

stop_daemon_folder() {
	local file
	[ -z "${daemon_pid:-}" ] || kill -9 "$daemon_pid" 2>/dev/null || :
	[ -z "${farm_pid:-}" ] || kill "$farm_pid" 2>/dev/null || :
	# Shown when the test fails.
	[ -n "${BATS_TEST_COMPLETED:-}" ] || for file in daemon.log farm.log; do
		[ ! -s "$file" ] || { echo "--- $file" && cut -c 1-200 "$file" | tail -n 30; }
	done
}

now_ms() {
	date +%s%3N
}

# usage: wait_for COMMAND...   until it succeeds
wait_for() {
	local end=$((SECONDS + PATIENCE))
	until "$@"; do
		[ "$SECONDS" -lt "$end" ] || {
			echo "never: $*"
			return 1
		}
		sleep 0.05
	done
}

# ---- the farm

# usage: start_farm [OPTION...]; sets port and base
start_farm() {
	rm -f farm.in farm.out
	mkfifo farm.in farm.out
	farm "$@" <farm.in >farm.out 2>farm.log 3>&- &
	farm_pid=$!
	exec {farm_in}>farm.in {farm_out}<farm.out
	read -r -t 60 -u "$farm_out" _ port
	base=ws://127.0.0.1:$port
}

# usage: ask LINE; sets reply, which must be no fault
ask() {
	printf '%s\n' "$1" >&"$farm_in"
	read -r -t 120 -u "$farm_out" reply || return 1
	[[ $reply != '{"fault"'* ]] || {
		echo "$1: $reply"
		return 1
	}
}

# usage: make_world OPTION...   of gencorpus; loads it.  All is older than a day, so that
# what is asked for `since` a quarter of an hour ago is none of it.
make_world() {
	gencorpus --unlisted 0 --farm "$base" --service "$service" \
		--now "$(($(date +%s) - 86400))" "$@" >world
	ask "load $PWD/world"
}

# usage: farm_says JQ-EXPRESSION   of its stats
farm_says() {
	ask stats && jq -e "$1" <<<"$reply" >/dev/null
}

# usage: farm_count JQ-EXPRESSION
farm_count() {
	ask stats && jq -r "$1" <<<"$reply"
}

# usage: make_event NUMBER DRAFT   signed by the key of that number
make_event() {
	signevent "$1" <<<"$2"
}

# ---- the daemon

# usage: start_daemon [OPTION...]
start_daemon() {
	begun_ms=$(now_ms)
	grasp-syncd --service "$service" --bootstrap "$base/boot" --db "$db" \
		--state-file state.json --listen "unix:$PWD/http" --allow-private \
		--max-backoff 1s "$@" >daemon.out 2>>daemon.log 3>&- &
	daemon_pid=$!
}

# It ends within 5 s, and says that all is well.
stop_daemon() {
	local status=0 begin
	begin=$(now_ms)
	kill -TERM "$daemon_pid"
	wait_for has_ended || { kill_daemon && return 1; }
	wait "$daemon_pid" || status=$?
	daemon_pid=''
	[ "$status" -eq 0 ] || {
		echo "grasp-syncd: exit $status"
		return 1
	}
	[ $(($(now_ms) - begin)) -le $((5000 * slack)) ]
}

# Without the shell's word that it was killed.
kill_daemon() {
	{ kill -9 "$daemon_pid" && wait "$daemon_pid"; } 2>/dev/null || :
	daemon_pid=''
}

is_running() {
	[ -n "$daemon_pid" ] && kill -0 "$daemon_pid" 2>/dev/null
}

# Also while nobody has waited for it.
has_ended() {
	! grep -q '^State:[[:blank:]]*[^Z[:blank:]]' "/proc/$daemon_pid/status" 2>/dev/null
}

# usage: get PATH   of the daemon's HTTP
get() {
	"$daemon_tests/get" http "$1" 2>/dev/null
}

is_ready() {
	is_running || {
		echo "grasp-syncd has ended"
		exit 1
	}
	get /readyz >/dev/null
}

# usage: status_says JQ-EXPRESSION
status_says() {
	local answer
	# jq takes no input at all for a yes
	answer=$(get /status) && jq -e "$1" <<<"$answer" >/dev/null 2>&1
}

# usage: metric NAME [LABELS]   its value, or the sum of all that have the name; 0: none
metric() {
	get /metrics | awk -v name="$1" -v labels="${2:-}" '
		index($0, name labels) == 1 && substr($0, length(name) + 1, 1) ~ /[{ ]/ { sum += $NF }
		END { printf "%d\n", sum }'
}

# ---- what it has

export_store() {
	grasp-sync-store export --db "$db" 2>/dev/null
}

count_stored() {
	[ -e "$db/data.mdb" ] && export_store | wc -l || echo 0
}

# usage: has_stored NUM
has_stored() {
	[ "$(count_stored)" -ge "$1" ]
}

# All that the farm serves, and nothing else; what is missing and strange is written down.
has_all() {
	ask "dump $PWD/served" || return 1
	sort served >want
	export_store | sort >got
	cmp -s want got && return
	comm -23 want got >missing
	comm -13 want got >strange
	return 1
}

# usage: wait_for_all; says what is not there
wait_for_all() {
	wait_for has_all || {
		echo "$(wc -l <missing) missing, such as $(head -n 1 missing | cut -c 1-300)"
		echo "$(wc -l <strange) strange, such as $(head -n 1 strange | cut -c 1-300)"
		return 1
	}
}

# The state file says that nothing is left to read: asked for by SIGUSR1, as it is written
# once a minute at most.  Strangers' relays need not have an end.
has_read_all() {
	kill -USR1 "$daemon_pid"
	jq -e --arg service "$service" '.service == $service and
		([.relays | to_entries[] | select(.key | test("/(r[0-9]+|boot)$")) | .value] |
		length > 0 and all(.[]; .read_until != null and (.pending // []) == []))' \
		state.json >/dev/null 2>&1
}

# ---- what it costs

# Of its own memory: without the pages of the store.
anon_kb() {
	awk '/^RssAnon:/ { print $2 }' "/proc/$1/status"
}

# usage: cpu_ms PID   user and system
cpu_ms() {
	awk -v hz="$(getconf CLK_TCK)" '{ sub(/.*\) /, ""); print int(($12 + $13) * 1000 / hz) }' \
		"/proc/$1/stat"
}
