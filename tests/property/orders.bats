#!/usr/bin/env bats
# shellcheck disable=SC2154,SC2094
# What stands never depends on the order of arrival: SEEDS nasty corpora (from seed
# FIRST_SEED on), each imported in several orders and compared with the oracle.

bats_require_minimum_version 1.5.0

readonly SERVICE=git.example.com
readonly NOW=1767000000
readonly ORDERS=6

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	first=${FIRST_SEED:-1}
	last=$((first + ${SEEDS:-25} - 1))
}

# A fault is told with all that is needed to see it again.
fail_at() {
	echo "seed $seed, order $order: $*"
	echo "see: gencorpus --tangle --seed $seed --order $order"
	return 1
}

make_corpus() {
	gencorpus --tangle --seed "$seed" --order "$1" --now "$NOW" --service "$SERVICE"
}

# usage: ask_oracle SERVICE <CORPUS; writes the ids into must and may
ask_oracle() {
	jq -s --argjson now "$NOW" --arg service "$1" -f "$BATS_TEST_DIRNAME/oracle.jq" >oracle.json
	jq -r '.must[]' oracle.json >must
	jq -r '.may[]' oracle.json >may
}

# The ids of canonical lines.
cut_ids() {
	cut -c 8-71 "$@"
}

# usage: pick_lines IDS CORPUS; the lines of these ids, in the order of IDS
pick_lines() {
	awk 'NR == FNR { line[substr($0, 8, 64)] = $0; next } { print line[$0] }' "$2" "$1"
}

# usage: import DB [OPTION...] <LINES
import() {
	local db=$1
	shift
	grasp-sync-store import -q --db "$db" "$@"
}

take_state() {
	grasp-sync-init -q --service "$SERVICE" --now "$NOW" "$@"
}

# usage: check_plain DB; compares with what the first order gave
check_plain() {
	grasp-sync-store export --db "$1" >export.jsonl || fail_at "export failed"
	diff -u expected.jsonl export.jsonl >changes || { cat changes; fail_at "export is not as the oracle says"; }
	take_state --db "$1" >state.json || fail_at "init failed"
	[ -e first.json ] || cp state.json first.json
	cmp first.json state.json || fail_at "another state than in order 0"
}

@test "without a service: every order gives the oracle's export and one state" {
	for ((seed = first; seed <= last; seed++)); do
		rm -rf db* first.json
		order=0
		make_corpus 0 >corpus.jsonl
		ask_oracle '' <corpus.jsonl
		pick_lines must corpus.jsonl >expected.jsonl
		[ -s expected.jsonl ]
		for ((order = 0; order < ORDERS; order++)); do
			make_corpus "$order" | import "db$order" || fail_at "import failed"
			check_plain "db$order"
		done
		grasp-sync-store stat --check --db db2 >/dev/null || fail_at "stat --check"
	done
}

@test "without a service: an import in two runs, or twice, changes nothing" {
	for ((seed = first; seed <= last; seed++)); do
		rm -rf db* first.json
		order=$((2 + seed % 5))
		make_corpus "$order" >corpus.jsonl
		ask_oracle '' <corpus.jsonl
		pick_lines must corpus.jsonl >expected.jsonl
		count=$(wc -l <corpus.jsonl)
		head -n $((count * (1 + seed % 8) / 9)) corpus.jsonl | import db
		tail -n +$((count * (1 + seed % 8) / 9 + 1)) corpus.jsonl | import db
		check_plain db
		import db <corpus.jsonl
		check_plain db
		grasp-sync-store stat --check --db db >/dev/null || fail_at "stat --check"
	done
}

@test "init gives the same state from shuffled lines as from the store" {
	for ((seed = first; seed <= last; seed++)); do
		rm -rf db
		order=0
		make_corpus 0 | import db
		take_state --db db >first.json
		for order in 1 3 7; do
			make_corpus "$order" | take_state --events - >state.json || fail_at "init --events"
			cmp first.json state.json || fail_at "another state than from the store"
		done
	done
}

# usage: check_accepted DB
check_accepted() {
	grasp-sync-store export --db "$1" >export.jsonl || fail_at "export failed"
	cut_ids export.jsonl >ids
	grep -xFf must ids >kept || true
	diff -u must kept >changes || { cat changes; fail_at "the oracle's events are not all there, or in another order"; }
	! grep -vxFf <(cat must may) ids >surplus || { cat surplus; fail_at "these must not be there"; }
	take_state --db "$1" >state.json || fail_at "init failed"
	take_state --events export.jsonl | cmp - state.json || fail_at "another state from the export"
	jq -S .sync_relays state.json >relays.json
	[ -e first.json ] || cp relays.json first.json
	cmp first.json relays.json || fail_at "other relays than in order 0"
}

@test "with a service: every order accepts what the oracle says" {
	for ((seed = first; seed <= last; seed++)); do
		rm -rf db* first.json
		order=0
		make_corpus 0 >corpus.jsonl
		ask_oracle "$SERVICE" <corpus.jsonl
		for ((order = 0; order < ORDERS; order++)); do
			make_corpus "$order" | import "db$order" --service "$SERVICE" || fail_at "import failed"
			check_accepted "db$order"
		done
		grasp-sync-store stat --check --db db2 >/dev/null || fail_at "stat --check"
	done
}

@test "with a service: an import in two runs, or twice, accepts the same" {
	for ((seed = first; seed <= last; seed++)); do
		rm -rf db* first.json
		order=$((2 + seed % 5))
		make_corpus "$order" >corpus.jsonl
		ask_oracle "$SERVICE" <corpus.jsonl
		count=$(wc -l <corpus.jsonl)
		head -n $((count * (1 + seed % 8) / 9)) corpus.jsonl | import db --service "$SERVICE"
		tail -n +$((count * (1 + seed % 8) / 9 + 1)) corpus.jsonl | import db --service "$SERVICE"
		check_accepted db
		import db --service "$SERVICE" <corpus.jsonl
		check_accepted db
		grasp-sync-store stat --check --db db >/dev/null || fail_at "stat --check"
	done
}
