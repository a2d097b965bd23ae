#!/usr/bin/env bats
# shellcheck disable=SC2154,SC2034
# What an import has reported as stored stays, whatever then happens: kill -9 (KILLS
# times), a full disk, other processes at the same store, a map that is too small.

bats_require_minimum_version 1.5.0

setup_file() {
	export LC_ALL=C
	# 24,480 events, 23 MB: a few commits, and more than the small disk below holds
	gencorpus --seed 7 --repos "${REPOS:-240}" >"$BATS_FILE_TMPDIR/corpus.jsonl"
	sort "$BATS_FILE_TMPDIR/corpus.jsonl" >"$BATS_FILE_TMPDIR/sorted.jsonl"
}

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	corpus=$BATS_FILE_TMPDIR/corpus.jsonl
	sorted=$BATS_FILE_TMPDIR/sorted.jsonl
}

# usage: read_reported LOG; what the last commit line in it says, or 0
read_reported() {
	sed -n 's/.*committed: .* \([0-9]*\) stored.*/\1/p' "$1" | tail -n 1 | grep . || echo 0
}

# usage: check_kept DB REPORTED; the store is whole and holds at least so many events
check_kept() {
	local count
	grasp-sync-store stat --check --db "$1" >check.out 2>&1 || { cat check.out; return 1; }
	grasp-sync-store export --db "$1" >export.jsonl
	count=$(wc -l <export.jsonl)
	echo "reported $2, kept $count"
	[ "$count" -ge "$2" ]
	# and nothing that was not in the corpus
	sort export.jsonl | comm -23 - "$sorted" >strange
	[ ! -s strange ]
}

check_full() {
	grasp-sync-store export --db "$1" | sort | cmp - "$sorted"
}

now_ms() {
	date +%s%3N
}

# usage: start_and_kill MS [OPTION...]; kills an import into db so long after its start;
# false if it had ended before
start_and_kill() {
	local pid ms=$1 status=0
	shift
	grasp-sync-store import -v --db db "$@" <"$corpus" 2>log 3>&- &
	pid=$!
	sleep "$(printf '%d.%03d' $((ms / 1000)) $((ms % 1000)))"
	kill -9 "$pid" 2>/dev/null || true
	wait "$pid" 2>/dev/null || status=$?
	[ "$status" -eq 137 ]
}

@test "kill -9 at any moment: what was reported stored is there" {
	begin=$(now_ms)
	grasp-sync-store import -v --db db <"$corpus" 2>log
	length=$(($(now_ms) - begin))
	check_kept db "$(read_reported log)"
	check_full db
	kills=${KILLS:-6}
	midway=0
	RANDOM=1
	for ((i = 0; i < kills; i++)); do
		# one random moment in each of as many equal parts of the time that it takes
		while rm -rf db; ! start_and_kill $(((i * length + RANDOM % length) / kills)); do
			echo "it had ended before: $length ms is too much"
			length=$((length * 9 / 10))
		done
		reported=$(read_reported log)
		if [ -e db/data.mdb ]; then
			check_kept db "$reported"
		else
			[ "$reported" -eq 0 ]
		fi
		[ "$reported" -eq 0 ] || midway=$((midway + 1))
		grasp-sync-store import -q --db db <"$corpus"
		check_full db
	done
	echo "$midway of $kills after a commit"
	[ "$midway" -gt 0 ]
}

@test "kill -9 of an import with a service: what waits comes back too" {
	grasp-sync-store import -q --db whole --service git.example.com <"$corpus"
	grasp-sync-store export --db whole >whole.jsonl
	start_and_kill 500 --service git.example.com || echo "it had ended before"
	[ ! -e db/data.mdb ] || check_kept db "$(read_reported log)"
	tac "$corpus" | grasp-sync-store import -q --db db --service git.example.com
	grasp-sync-store export --db db | cmp - whole.jsonl
}

# Runs in a mount namespace of its own, where small is a disk of 20 MB.
fill_small_disk() {
	local status
	mount -t tmpfs -o size=20m tmpfs small || return 1
	grasp-sync-store import -v --db small/db <"$corpus" 2>log
	status=$?
	echo "exit $status: $(tail -n 2 log)"
	[ "$status" -eq 74 ] || return 1
	grep -q "the disk is full" log || return 1
	[ "$(read_reported log)" -gt 0 ] || return 1
	check_kept small/db "$(read_reported log)"
}

@test "a disk that fills: exit 74, and what was reported stored is there" {
	mkdir small
	namespace=(unshare --mount)
	[ "$(id -u)" -eq 0 ] || namespace+=(--user --map-root-user)
	"${namespace[@]}" mount -t tmpfs -o size=1m tmpfs small 2>/dev/null ||
		skip "this machine lets us mount no small disk"
	export corpus sorted
	export -f fill_small_disk read_reported check_kept
	"${namespace[@]}" bash -c fill_small_disk
}

@test "two imports and a reader at once" {
	awk 'NR % 3 != 0' "$corpus" >one
	awk 'NR % 3 != 1' "$corpus" >two
	grasp-sync-store import -q --db db <<<'' # the reader needs a store
	grasp-sync-store import -q --db db <one &
	first=$!
	grasp-sync-store import -q --db db <two &
	second=$!
	reads=0
	while kill -0 "$first" 2>/dev/null || kill -0 "$second" 2>/dev/null; do
		grasp-sync-store export --db db >seen.jsonl
		sort seen.jsonl | comm -23 - "$sorted" >strange
		[ ! -s strange ]
		reads=$((reads + 1))
	done
	wait "$first"
	wait "$second"
	echo "$reads exports meanwhile"
	[ "$reads" -gt 0 ]
	check_full db
	grasp-sync-store stat --check --db db
}

@test "a map that is too small grows" {
	grasp-sync-store import -q --db db --map-size 1m <"$corpus"
	check_full db
	grasp-sync-store stat --check --db db
}

@test "a map that is too small grows under a reader and a second import" {
	awk 'NR % 2 == 0' "$corpus" >one
	awk 'NR % 2 == 1' "$corpus" >two
	grasp-sync-store import -q --db db --map-size 1m <<<''
	grasp-sync-store import -q --db db --map-size 1m <one &
	first=$!
	grasp-sync-store import -q --db db --map-size 1m <two &
	second=$!
	while kill -0 "$first" 2>/dev/null || kill -0 "$second" 2>/dev/null; do
		grasp-sync-store export --db db >seen.jsonl
	done
	wait "$first"
	wait "$second"
	check_full db
	grasp-sync-store stat --check --db db
}
