# shellcheck shell=bash disable=SC2154
# What reading from a relay costs, for tests/bench/run, which has the rest: as much as
# parsing, hashing and verifying the same lines, duplicates next to nothing, and many
# connections little memory.  Reader and relay have a processor each, where there are two.

readonly KINDS=1111,1617,1618,1619,1621,30617,30618
readonly CONNECTIONS=500
readonly DUPLICATES=3 # of each event

# usage: start_relay PROCESSOR OPTION...; sets port and relay_pid
start_relay() {
	local processor=$1
	shift
	rm -f listening
	mkfifo listening
	taskset -c "$processor" fakerelay "$@" >listening &
	relay_pid=$!
	read -r _ port <listening
}

stop_relay() {
	kill "$relay_pid"
	wait "$relay_pid" 2>/dev/null
	rm -f listening
}

# usage: read_all FILTERS URL; each event arrives, once
read_all() {
	grasp-sync-relay -q --once --allow-private --filters "$1" "$2" >got &&
		[ "$(wc -l <got)" -eq "$(wc -l <corpus.jsonl)" ]
}

# Of one kind that there is not, and the others: it brings all of them again.
write_filters() {
	echo "{\"kinds\":[$KINDS]}" >filters-once
	cp filters-once filters-again
	for ((i = 0; i < DUPLICATES; i++)); do
		echo "{\"kinds\":[$i,$KINDS]}" >>filters-again
	done
}

bench_reading() {
	local limit_ms='' read_ms='' read_cpu_ms='' again_cpu_ms duplicate_ms
	local script='{"nip11":{"limitation":{"max_filters":1,"max_limit":5000}}}'
	write_filters
	start_relay "$relay_core" --script /dev/fd/9 corpus.jsonl 9<<<"$script"
	for _ in 1 2 3; do
		least 1 taskset -c "$own_core" verifylimit corpus.jsonl >limit.txt
		limit_ms=$(lesser "$limit_ms" "$took_ms")
		least 1 taskset -c "$own_core" bash -c "read_all filters-once ws://127.0.0.1:$port"
		read_ms=$(lesser "$read_ms" "$took_ms")
		read_cpu_ms=$(lesser "$read_cpu_ms" "$cpu_ms")
	done
	least 3 taskset -c "$own_core" bash -c "read_all filters-again ws://127.0.0.1:$port"
	again_cpu_ms=$cpu_ms
	stop_relay
	duplicate_ms=$(lesser '' $(((again_cpu_ms - read_cpu_ms) / DUPLICATES)))
	judge relay "$events events in $read_ms ms ($(rate "$events" "$read_ms")/s, $read_cpu_ms ms of processor), verifying alone $limit_ms ms" \
		"$(ratio "$limit_ms" "$read_ms")" min 0.70 x
	judge relay-duplicate "$events duplicates in $duplicate_ms ms of processor, new ones $read_cpu_ms ms" \
		"$(ratio "$read_cpu_ms" "$duplicate_ms")" min 5 x
}

make_certificate() {
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 \
		-subj /CN=localhost -addext subjectAltName=DNS:localhost \
		-keyout tls.key -out tls.pem 2>openssl.log
}

bench_connections() {
	local grown_kb
	make_certificate || { cat openssl.log && exit 1; }
	start_relay "$relay_core" --script /dev/fd/9 --cert tls.pem --key tls.key \
		9<<<'{"make":[{"count":20}]}'
	timeout 120 dialler --relays "$CONNECTIONS" --in-flight 16 --ca-file tls.pem \
		"wss://localhost:$port" >dialled
	stop_relay
	if ! jq -e "select(.open == $CONNECTIONS and .most_in_flight <= 16)" dialled >/dev/null; then
		echo "not so many connections, or too many at a time: $(cat dialled)"
		failed=$((failed + 1))
		return
	fi
	grown_kb=$(jq '.last.anon_kb[1] - .before.anon_kb[0]' dialled)
	judge connections "$CONNECTIONS over TLS in $(jq .ms dialled) ms, at most 16 in flight" \
		"$(ratio "$grown_kb" 1024)" max 20 " MB"
}

# The first two processors that we may use; where there is one, it is both.
find_cores() {
	local -a cores
	mapfile -t cores < <(taskset -pc $$ | sed 's/.*: //' | tr , '\n' |
		while IFS=- read -r from to; do seq "$from" "${to:-$from}"; done)
	own_core=${cores[0]} relay_core=${cores[1]:-${cores[0]}}
}

bench_relay() {
	local own_core relay_core port relay_pid
	find_cores
	bench_reading
	bench_connections
	rm -f filters-once filters-again got dialled tls.key tls.pem openssl.log
}

# measure runs programs: this is ours
export -f read_all
