#!/usr/bin/env bats
# ../v2.tsv says which test proves which point of proactive sync v2: its 14 decisions and 9
# metrics.  Here: none is missing, and each of those tests is there.

table=$BATS_TEST_DIRNAME/../v2.tsv
top=$BATS_TEST_DIRNAME/../..

@test "every decision and every metric of v2 has its row" {
	[ "$(awk -F '\t' '$1 == "decision" { print $2 }' "$table")" = "$(seq 14)" ]
	[ "$(awk -F '\t' '$1 == "metric" { print $2 }' "$table")" = "$(seq 9)" ]
}

@test "each row names a test that is there" {
	while IFS=$'\t' read -r _ _ what file name; do
		grep -q -F -e "@test \"$name\" {" -e "cmocka_unit_test($name)" \
			-e "($name," "$top/$file" || {
			echo "$what: no test '$name' in $file"
			return 1
		}
	done <"$table"
}
