#!/usr/bin/env bats
# shellcheck disable=SC2154
# What install puts somewhere runs there, and uninstall takes all of it away.
bats_require_minimum_version 1.5.0

setup_file() {
	export top="$BATS_TEST_DIRNAME/../.."
	export root="$BATS_FILE_TMPDIR/root"
	make_here install
}

# Without the flags of the make that runs the tests.
make_here() {
	env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s -C "$top" "$@" \
		BUILD="${GS_BUILD:-build}" VARIANT="${GS_VARIANT:-release}" PREFIX=/usr DESTDIR="$root"
}

# The commands, by name.
commands() {
	basename -s .c "$top"/cmd/grasp-sync*.c
}

# All that must be there, a path a line.
expected() {
	local command page
	for command in $(commands); do
		echo "bin/$command"
		echo "share/bash-completion/completions/$command"
		echo "share/fish/vendor_completions.d/$command.fish"
	done
	for page in "$top"/man/*.[1578]; do
		echo "share/man/man${page##*.}/${page##*/}"
	done
	printf '%s\n' lib/libgraspsync.a lib/libgraspsync.so lib/libgraspsync.so.0 \
		share/bash-completion/completions/grasp-sync \
		share/fish/vendor_completions.d/grasp-sync.fish \
		share/zsh/site-functions/_grasp-sync \
		share/doc/grasp-sync/{README.md,LICENSE,CHANGELOG.md} \
		share/doc/grasp-sync/examples/grasp-syncd.{conf,service}
}

@test "install puts everything in its place, and nothing else" {
	diff -u <(expected | LC_ALL=C sort) \
		<(cd "$root/usr" && find . -type f -o -type l | sed 's,^\./,,' | LC_ALL=C sort)
}

@test "links lead somewhere" {
	run -0 find "$root" -xtype l
	[ -z "$output" ]
}

@test "installed commands find the installed library by themselves" {
	local command
	for command in $(commands); do
		run -0 env -u LD_LIBRARY_PATH "$root/usr/bin/$command" --version
		[[ $output == "$command "* ]]
		run -0 ldd "$root/usr/bin/$command"
		[[ $output == *"libgraspsync.so.0 => $(realpath "$root")"* ]] ||
			[[ $output == *"libgraspsync.so.0 => $root"* ]]
	done
}

@test "every command has a man page" {
	local command
	for command in $(commands); do
		compgen -G "$root/usr/share/man/man[18]/$command.[18]"
	done
}

@test "uninstall leaves what others put there, and nothing of ours" {
	cp -a "$root" "$BATS_TEST_TMPDIR/root"
	root="$BATS_TEST_TMPDIR/root"
	echo other >"$root/usr/bin/other"
	make_here uninstall
	run -0 find "$root" -type f -o -type l
	[ "$output" = "$root/usr/bin/other" ]
	[ ! -e "$root/usr/share/doc/grasp-sync" ]
}

@test "dist gives the same bytes twice" {
	git -C "$top" rev-parse HEAD || skip "not a git checkout"
	local copy="$BATS_TEST_TMPDIR/copy"
	git clone -q "$top" "$copy"
	env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s -C "$copy" dist
	mkdir "$BATS_TEST_TMPDIR/first"
	mv "$copy"/grasp-sync-*.tar.gz "$BATS_TEST_TMPDIR/first"
	env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s -C "$copy" dist
	cmp "$BATS_TEST_TMPDIR"/first/grasp-sync-*.tar.gz "$copy"/grasp-sync-*.tar.gz
}
