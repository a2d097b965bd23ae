#!/usr/bin/env bats
# shellcheck disable=SC2154
# The checker of metrics finds each fault that it is there for, and ours have none.
bats_require_minimum_version 1.5.0

setup() {
	promcheck="$BATS_TEST_DIRNAME/../tools/promcheck"
	head='# HELP a A\n# TYPE a gauge\n'
}

# usage: accept TEXT   TEXT: as printf's %b takes it
accept() {
	printf '%b' "$1" | "$promcheck"
}

refuse() {
	local status=0
	printf '%b' "$2" | "$promcheck" 2>said || status=$?
	[ "$status" -eq 1 ] || { echo "accepted: $2" && return 1; }
	grep -qF -- "$1" said || { cat said && return 1; }
}

@test "promcheck accepts what is right" {
	accept "$head"
	accept "${head}a 1\n"
	accept "${head}a{x=\"1\"} 1\na{x=\"2\"} NaN\na{x=\"3\"} +Inf\n"
	accept "${head}a{x=\"\\\\\\\\ \\\\\" \\\\n \xc3\xa9 \xef\xb7\x90\",y=\"\"} -1.5e+10\n"
	accept '# HELP a_total A\n# TYPE a_total counter\na_total 0\n'
	local name
	for name in tracked connected dead; do
		name=ngit_sync_relays_${name}_total
		accept "# HELP $name A\n# TYPE $name gauge\n$name 0\n"
	done
}

@test "promcheck refuses families that are not whole" {
	cd "$BATS_TEST_TMPDIR"
	refuse 'nothing there' ''
	refuse 'without HELP and TYPE' 'a 1\n'
	refuse 'without HELP and TYPE' "${head}b 1\n"
	refuse 'without HELP and TYPE' "${head}a_b 1\n"
	refuse 'without HELP and TYPE' '# HELP a A\na 1\n'
	refuse 'without HELP before' '# TYPE a gauge\na 1\n'
	refuse 'a has no TYPE' '# HELP a A\n'
	refuse 'b has no TYPE' "# HELP b B\n${head}a 1\n"
	refuse 'a second TYPE' "$head# TYPE a gauge\n"
	refuse 'a second HELP' "$head# HELP a B\n"
	refuse 'more of a' "${head}a 1\n# HELP b B\n# TYPE b gauge\n# HELP a A\n"
	refuse 'a sample of a' "${head}a 1\n# HELP b B\n# TYPE b gauge\nb 1\na{x=\"1\"} 1\n"
	refuse 'type histogram' '# HELP a A\n# TYPE a histogram\n'
	refuse 'ends in _total' '# HELP a A\n# TYPE a counter\n'
	refuse 'does not end in _total' '# HELP a_total A\n# TYPE a_total gauge\n'
	refuse 'bad escape in HELP' '# HELP a \\x\n# TYPE a gauge\n'
	refuse 'neither HELP nor TYPE' "$head# hi\n"
}

@test "promcheck refuses samples that are not right" {
	cd "$BATS_TEST_TMPDIR"
	local bad
	for bad in 'a x' 'a 0x10' 'a nan' 'a 1 5' 'a  1' 'a{} 1' 'a 1 ' '1a 1' 'a{1x=\"\"} 1' 'a{x=\"1} 1' \
		'a{x=\"1\",} 1' 'a{x=\"\\t\"} 1' 'a{x=\"a\nb\"} 1' 'a{x=1} 1' ''; do
		refuse 'not a sample' "$head${bad//\\\"/\"}\n"
	done
	refuse 'invalid UTF-8' "${head}a{x=\"\xff\"} 1\n"
	refuse 'invalid UTF-8' "${head}a{x=\"\xed\xa0\x80\"} 1\n"
	refuse 'a control byte' "${head}a 1\r\n"
	refuse 'no newline' "${head}a 1"
	refuse 'twice' "${head}a 1\na 2\n"
	refuse 'twice' "${head}a{x=\"1\",y=\"2\"} 1\na{y=\"2\",x=\"1\"} 1\n"
	refuse 'label x twice' "${head}a{x=\"1\",x=\"1\"} 1\n"
	refuse 'from 0' '# HELP a_total A\n# TYPE a_total counter\na_total -1\n'
}

@test "metrics with any bytes in their labels are right" {
	local seed
	for seed in 1 2 3; do
		oddmetrics "$seed" 2000 >"$BATS_TEST_TMPDIR/metrics"
		[ "$(wc -l <"$BATS_TEST_TMPDIR/metrics")" -eq 2002 ]
		"$promcheck" <"$BATS_TEST_TMPDIR/metrics"
	done
}
