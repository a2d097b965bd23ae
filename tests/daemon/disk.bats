#!/usr/bin/env bats
# shellcheck disable=SC2154,SC2119
# A disk that is full for a while: the daemon stays, its sockets too, and nothing is lost.
bats_require_minimum_version 1.5.0

setup() {
	load daemon.bash
	use_daemon_folder
}

teardown() {
	stop_daemon_folder
}

# The relays keep their connections: nobody dials anew.
count_dials() {
	farm_count '[.relays[].opened] | add'
}

# Runs in a mount namespace of its own, where small is a disk of 20 MB, most of it taken.
outlast_full_disk() {
	# shellcheck source=tests/daemon/daemon.bash
	. "$1/daemon.bash"
	db=small/db slack=$2
	mount -t tmpfs -o size=20m tmpfs small
	head -c 12m /dev/zero >small/taken
	trap 'kill -9 $daemon_pid $farm_pid 2>/dev/null' EXIT
	start_farm
	make_world --seed 31 --repos 80 --roots 30 --comments 40 --relays 5
	start_daemon
	wait_for grep -q "disk is full" daemon.log
	is_running
	# all that was acknowledged stands
	grasp-sync-store stat --check --db "$db"
	dials=$(count_dials)
	# events that come live meanwhile
	ask "rate 100 3"
	wait_for farm_says '.rate == 0'
	# a moment longer, so that somebody who gives up would do so
	sleep 3
	is_running
	[ "$(count_dials)" -eq "$dials" ]
	[ "$(grep -c "disk is full" daemon.log)" -eq 1 ]
	rm small/taken
	wait_for_all
	wait_for has_read_all
	[ "$(count_dials)" -eq "$dials" ]
	stop_daemon
	grasp-sync-store stat --check --db "$db"
}

@test "a disk that is full for a while, sockets open: nothing is missing" {
	mkdir small
	namespace=(unshare --mount)
	[ "$(id -u)" -eq 0 ] || namespace+=(--user --map-root-user)
	"${namespace[@]}" mount -t tmpfs -o size=1m tmpfs small 2>/dev/null ||
		skip "this machine lets us mount no small disk"
	export -f outlast_full_disk count_dials
	"${namespace[@]}" bash -e -c 'outlast_full_disk "$@"' - "$BATS_TEST_DIRNAME" "$slack"
}
