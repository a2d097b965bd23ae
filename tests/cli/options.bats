#!/usr/bin/env bats
# shellcheck disable=SC2154
# The options of a command are the same in its --help, its man page and the completions.
bats_require_minimum_version 1.5.0

setup_file() {
	export top="$BATS_TEST_DIRNAME/../.."
	for source in "$top"/cmd/grasp-sync*.c; do
		basename "$source" .c
	done >"$BATS_FILE_TMPDIR/commands"
	# Each as "COMMAND" or "COMMAND SUBCOMMAND".
	while read -r command; do
		if [ "$command" = grasp-sync-store ]; then
			printf '%s\n' "$command import" "$command export" "$command stat"
		else
			echo "$command"
		fi
	done <"$BATS_FILE_TMPDIR/commands" >"$BATS_FILE_TMPDIR/uses"
}

each_command() {
	while read -r command <&3; do
		"$@" "$command" || return 1
	done 3<"$BATS_FILE_TMPDIR/commands"
}

each_use() {
	while read -r command subcommand <&3; do
		"$@" "$command" "$subcommand" || return 1
	done 3<"$BATS_FILE_TMPDIR/uses"
}

# Long options, a line each, with "=" behind those that take a value.
options_in_help() {
	# shellcheck disable=SC2086 # no subcommand is no word
	"$1" ${2:-} --help |
		sed -nE 's/^ +(-.,)? *--([a-z0-9-]+)( [A-Z][^ ]*)?( .*|$)/\2\3/p' |
		sed -E 's/ .*/=/' | sort -u
}

# Long and short, as "-l --long" or "--long".
letters_in_help() {
	# shellcheck disable=SC2086
	"$1" ${2:-} --help | sed -nE 's/^ +(-.),? +(--[a-z0-9-]+).*/\1 \2/p' | sort -u
}

options_in_man() {
	sed -nE '/^\.It Fl/{s/\\&|\\-/-/g;p;}' "$top"/man/"$1".[18] |
		awk '{ name = ""
			for (i = 1; i <= NF; i++) {
				if ($i ~ /^-[a-z0-9-]+$/) name = substr($i, 2)
				if ($i == "Ar" && name != "") { print name "="; name = ""; next } }
			if (name != "") print name }' | sort -u
}

# What bash offers at the end of the line "COMMAND ARG...", a word a line.
words_from_bash() {
	# shellcheck disable=SC1091
	(
		source "$top/completions/grasp-sync.bash"
		COMP_LINE=$*
		COMP_POINT=${#COMP_LINE}
		_grasp_sync "$1"
		printf '%s\n' "${COMPREPLY[@]}"
	)
}

options_in_bash() {
	words_from_bash "$1" ${2:+"$2"} -- | sed -nE 's/^--([a-z0-9-]+) *$/\1/p' | sort -u
}

# The lines between one that is "$1" and the next that is "$2".
lines_between() {
	awk -v first="$1" -v last="$2" '$0 == last { on = 0 } on; $0 == first { on = 1 }' "$3"
}

options_in_zsh() {
	local name="_$1${2:+_$2}" file="$top/completions/_grasp-sync"
	{
		lines_between "${name//-/_}() {" "}" "$file"
		lines_between "_grasp_sync_common=(" ")" "$file"
	} | grep -oE -- "--[a-z0-9-]+=?[}[]" | sed -E 's/^--//; s/.$//' | sort -u
}

options_in_fish() {
	local which="-l"
	[ -z "$2" ] || which="_from $2' |\\\$command "
	grep -E "^( +complete -c \\\$command|complete -c $1) " "$top/completions/grasp-sync.fish" |
		grep -E -- "$which" |
		sed -nE 's/.* -l ([a-z0-9-]+)( -s .)?( -[xr] )?.*/\1\3/p' | sed 's/ -[xr] $/=/' | sort -u
}

same() {
	local title=$1
	diff -u --label help --label "$title" "$BATS_TEST_TMPDIR/help" "$BATS_TEST_TMPDIR/other" ||
		{ echo "$title differs" && return 1; }
	[ -s "$BATS_TEST_TMPDIR/help" ]
}

compare_man() {
	while read -r command subcommand <&4; do
		[ "$command" = "$1" ] && options_in_help "$command" "$subcommand"
	done 4<"$BATS_FILE_TMPDIR/uses" | sort -u >"$BATS_TEST_TMPDIR/help"
	options_in_man "$1" >"$BATS_TEST_TMPDIR/other"
	same "$1(1)"
}

compare_bash() {
	options_in_help "$1" "$2" | tr -d = | sort -u >"$BATS_TEST_TMPDIR/help"
	options_in_bash "$1" "$2" >"$BATS_TEST_TMPDIR/other"
	same "bash: $1 $2"
}

compare_zsh() {
	options_in_help "$1" "$2" >"$BATS_TEST_TMPDIR/help"
	options_in_zsh "$1" "$2" >"$BATS_TEST_TMPDIR/other"
	same "zsh: $1 $2"
}

compare_fish() {
	options_in_help "$1" "$2" >"$BATS_TEST_TMPDIR/help"
	options_in_fish "$1" "$2" >"$BATS_TEST_TMPDIR/other"
	same "fish: $1 $2"
}

# Every short option of --help stands in the man page in front of its long one.
compare_letters() {
	[ -n "$(letters_in_help "$1" "$2")" ]
	while read -r short long; do
		grep -qE "^\.It Fl ${short#-}( Ar [A-Z]+)? , (Fl )?${long#-}( |\$)" "$top"/man/"$1".[18] ||
			{ echo "$1(1): $short, $long" && return 1; }
	done < <(letters_in_help "$1" "$2")
}

compare_version() {
	run -0 "$1" --version
	[[ $output == "$1 "[0-9]*.[0-9]*.[0-9]* ]]
}

compare_unknown() {
	# shellcheck disable=SC2086
	run -64 --separate-stderr "$1" ${2:-} --no-such-option
	[ -z "$output" ]
	[[ $stderr == *"--no-such-option: no such option"* ]]
}

@test "man pages have the options of --help" {
	each_command compare_man
}

@test "man pages have the short options of --help" {
	each_use compare_letters
}

@test "the bash completion has the options of --help" {
	each_use compare_bash
}

@test "the zsh completion has the options of --help" {
	each_use compare_zsh
}

@test "the fish completion has the options of --help" {
	each_use compare_fish
}

@test "every command prints its version" {
	each_command compare_version
}

@test "every command refuses an option that it does not have" {
	each_use compare_unknown
}

@test "bash offers subcommands, formats and the relays of a state file" {
	run -0 words_from_bash grasp-sync-store "" ""
	[ "$output" = $'import\nexport\nstat' ]
	run -0 words_from_bash grasp-sync-filters --format r
	[ "$output" = req ]
	run -0 words_from_bash grasp-syncd --log-format ""
	[ "$output" = $'text\njson' ]
	run -0 words_from_bash grasp-syncd --log-level=w
	[ "$output" = warning ]
	run -0 words_from_bash grasp-syncd --follow al
	[ "$output" = all ]
	cd "$BATS_TEST_TMPDIR"
	echo '{"sync_relays":{"wss://a.example":[],"wss://b.example:7777":[]}}' >state.json
	run -0 words_from_bash grasp-sync-filters state.json --relay ws
	[ "$output" = $'wss://a.example\nwss://b.example:7777' ]
	# Readline replaces what stands behind the last colon.
	run -0 words_from_bash grasp-sync-relay --once wss://b
	[ "$output" = //b.example:7777 ]
}

@test "zsh reads its completion" {
	command -v zsh || skip "zsh is not installed"
	run -0 zsh -n "$top/completions/_grasp-sync"
}

@test "fish reads its completion and offers the options" {
	command -v fish || skip "fish is not installed"
	export HOME="$BATS_TEST_TMPDIR"
	run -0 fish --no-config -c "source $top/completions/grasp-sync.fish
		complete -C 'grasp-sync-filters --for'"
	[[ $output == --format* ]]
	run -0 fish --no-config -c "source $top/completions/grasp-sync.fish
		complete -C 'grasp-sync-store import --serv'"
	[[ $output == --service* ]]
	run -0 fish --no-config -c "source $top/completions/grasp-sync.fish
		complete -C 'grasp-syncd --log-format j'"
	[[ $output == json* ]]
}
