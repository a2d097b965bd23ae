# shellcheck shell=bash disable=SC2154
# What the daemon costs at the size that it is made for, for tests/bench/run, which has the
# rest: a farm of relays (tests/relay/README.farm) on one processor, the daemon on another,
# where there are two.  BENCH_LARGE= (empty) leaves out the ten times larger world.

daemon_dir=$(cd "$here/../daemon" && pwd)
# shellcheck source=tests/daemon/daemon.bash
. "$daemon_dir/daemon.bash"

readonly IDLE_S=30
readonly RATE=1000 RATE_S=30
readonly SAMPLE_S=0.1

# The two that daemon.bash starts, each on its processor.
farm() {
	exec taskset -c "$relay_core" farm "$@"
}

grasp-syncd() {
	exec taskset -c "$own_core" grasp-syncd "$@"
}

# usage: within SECONDS COMMAND...; false: not in that time
within() {
	PATIENCE=$1
	shift
	wait_for "$@"
}

# Writes the most memory of its own that the daemon was seen with.
sample_anon() {
	local most=0 kb
	while kb=$(anon_kb "$daemon_pid" 2>/dev/null) && [ -n "$kb" ]; do
		[ "$kb" -le "$most" ] || { most=$kb && echo "$most" >most_kb; }
		sleep "$SAMPLE_S"
	done
}

begin_daemon() {
	start_daemon -q
	sample_anon &
	sampler=$!
}

end_daemon() {
	stop_daemon
	wait "$sampler"
}

# usage: begin_world REPOS RELAYS OPTION...   of gencorpus; on a port of their own, so that the
# events can be kept for the next time
begin_world() {
	local num=$1 relays=$2 file
	shift 2
	port=$((17000 + relays))
	base=ws://127.0.0.1:$port
	file=world-$num-$relays.jsonl
	[ -e "$file" ] || {
		gencorpus --seed 1 --now "$NOW" --service "$service" --repos "$num" --unlisted 0 \
			--relays "$relays" --farm "$base" --bytes 600 "$@" >"$file.part" &&
			mv "$file.part" "$file"
	}
	rm -rf daemon-db state.json daemon.log most_kb
	start_farm --port "$port" "$file"
	served=$(wc -l <"$file")
}

end_world() {
	exec {farm_in}>&- {farm_out}<&-
	kill "$farm_pid"
	wait "$farm_pid" 2>/dev/null
	farm_pid=''
}

# usage: holds NUM   events, by the store's own count
holds() {
	local num
	num=$(grasp-sync-store stat --db "$db" 2>/dev/null | awk '$1 == "events" { print $2 + 0 }')
	[ "${num:-0}" -ge "$1" ]
}

# All relays that hold something have answered what is open; but not the holes.
all_live() {
	farm_says '.relays | to_entries | map(select(.key[0:1] != "h" and .value.events > 0).value) |
		length > 1 and all(.[]; .subs > 0 and .open > 0 and .first_eose_ms > 0)'
}

# A part that did not come to its end.
give_up() {
	echo "$1: did not come to its end: $(tail -n 1 daemon.log)"
	failed=$((failed + 1))
	[ -z "$daemon_pid" ] || kill_daemon
	end_world
	return 1
}

# From nothing to all, and how much memory that takes.
measure_first() {
	local name=$1 limit_mb=$2 relays=$3
	begin_daemon
	if ! within 1800 holds "$served" || ! within 600 all_live ||
		! within 600 has_read_all; then
		give_up "$name" || return 1
	fi
	took_ms=$(($(now_ms) - begun_ms))
	judge "$name" "$served events of $relays relays in $took_ms ms ($(rate "$served" "$took_ms")/s), all live, most memory" \
		"$(ratio "$(cat most_kb)" 1024)" max "$limit_mb" " MB"
	end_daemon
}

# usage: measure_restart NAME RELAYS
measure_restart() {
	local name=$1 relays=$2
	ask reset
	begin_daemon
	within 120 all_live || { give_up "$name" || return 1; }
	ask stats
	judge "$name-first" "live on the first of $relays relays" \
		"$(jq "[.relays[].first_eose_ms | select(. > 0)] | min - $begun_ms" <<<"$reply")" max 1000 " ms"
	judge "$name-all" "live on all $relays relays" \
		"$(jq "[.relays[].first_eose_ms] | max - $begun_ms" <<<"$reply")" max 15000 " ms"
	within 120 has_read_all || { give_up "$name" || return 1; }
	judge "$name-since" "$(farm_count '[.relays[].filters] | add') filters, those without since" \
		"$(farm_count '[.relays[].unbounded] | add')" max 0 ""
}

measure_idle() {
	local before
	before=$(cpu_ms "$daemon_pid")
	sleep "$IDLE_S"
	before=$(($(cpu_ms "$daemon_pid") - before))
	judge daemon-idle "$before ms of processor in $IDLE_S s, $1 quiet relays" \
		"$(awk -v ms="$before" -v s="$IDLE_S" 'BEGIN { printf "%.2f", ms / 10 / s }')" max 0.5 " %"
}

measure_rate() {
	local before cpu
	before=$(cpu_ms "$daemon_pid")
	ask "rate $RATE $RATE_S"
	within $((RATE_S * 3)) farm_says '.rate == 0'
	cpu=$(($(cpu_ms "$daemon_pid") - before))
	begin=$(now_ms)
	within 120 holds $((served + RATE * RATE_S)) || { give_up daemon-rate || return 1; }
	judge daemon-rate "$RATE new events a second for $RATE_S s ($cpu ms of processor), the last is there" \
		$(($(now_ms) - begin)) max 2000 " ms later"
	within 30 farm_says '.roots.asked == .roots.made' ||
		echo "roots never asked for: $(farm_count '.roots.made - .roots.asked')"
	# the window of 5 s and what comes behind it
	judge daemon-batches "$(farm_count .roots.made) new roots, half of them asked for after $(farm_count .roots.lag_median_ms) ms, all" \
		"$(farm_count 'if .roots.asked == .roots.made then .roots.lag_max_ms else 1e9 end')" max 10000 " ms"
	judge daemon-gaps "events that live should have brought" "$(metric ngit_sync_gap_events_total)" max 0 ""
	judge daemon-after "memory after all that" "$(ratio "$(cat most_kb)" 1024)" max 64 " MB"
}

# A hundred good relays, and four hundred that take connections and say nothing.
measure_holes() {
	local i
	for ((i = 0; i < 40; i++)); do
		announce_holes "$i" | signevent $((1000 + i))
	done >holes.jsonl
	ask "load $PWD/holes.jsonl"
	served=$((served + 40))
	begin_daemon
	if ! within 1800 holds "$served" || ! within 900 all_live; then
		give_up daemon-holes || return 1
	fi
	judge daemon-holes "400 black holes come to 100 good relays, those are read after" \
		$((($(now_ms) - begun_ms) / 1000)) max 600 " s"
	end_daemon
	measure_restart daemon-holes-restart 100 && end_daemon
}

announce_holes() {
	seq -f "$base/h$1-%.0f" 10 | jq -Rnc --arg service "$service" --arg d "holes-$1" --argjson at "$NOW" \
		'{kind: 30617, created_at: $at, content: "", tags: [["d", $d],
		["clone", "https://\($service)/npub1/\($d).git"],
		(["relays", "wss://\($service)"] + [inputs])]}'
}

bench_daemon() {
	local own_core relay_core port base served sampler
	# shellcheck disable=SC2153
	local db=daemon-db service=$SERVICE slack=1 farm_pid='' daemon_pid=''
	type -P grasp-syncd >/dev/null || {
		echo "daemon: grasp-syncd is not built"
		return
	}
	find_cores
	begin_world "$repos" 100 --roots 50 --comments 50
	measure_first daemon-memory 64 100 && measure_restart daemon-restart 100 &&
		measure_idle 100 && measure_rate && end_daemon && measure_holes
	[ -z "$farm_pid" ] || end_world
	[ -n "${BENCH_LARGE-yes}" ] || return
	begin_world $((repos * 10)) 500 --roots 50 --comments 0
	measure_first daemon-large 400 500 && measure_restart daemon-large-restart 500 && end_daemon
	[ -z "$farm_pid" ] || end_world
	rm -rf daemon-db farm.in farm.out daemon.out most_kb holes.jsonl
}
