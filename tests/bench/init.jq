# What grasp-sync-init makes of events, done with jq from JSON lines (jq -n): the two
# maps of the state.  For the bench: no signatures, deletions or dates of expiry, which
# the corpus has none of, and only the spellings of relays that it has.

def d: (first(.tags[] | select(.[0] == "d")) | .[1]) // "";

def is_followed:
	any(.tags[] | select(.[0] == "clone") | .[1:][]; startswith("https://" + $service + "/")) and
	any(.tags[] | select(.[0] == "relays") | .[1:][]; . == "wss://" + $service);

def canonical:
	capture("^(?<scheme>[A-Za-z]+)://(?<host>[^/]*)(?<path>.*)$") |
	((.scheme + "://" + .host) | ascii_downcase | rtrimstr(":443")) +
		(if .path == "/" then "" else .path end);

def is_newer($than):
	.created_at > $than.created_at or
	(.created_at == $than.created_at and .id < $than.id);

# What of an event matters: [ref, announcement] or [ref, null, root id].
def parts:
	if .kind == 30617 then ["30617:\(.pubkey):\(d)", .]
	elif .kind == 1621 or .kind == 1617 or .kind == 1618 or .kind == 1619 then
		.id as $id | .tags[] | select(.[0] == "a") | .[1] |
		select(startswith("30617:")) | [., null, $id]
	else empty end;

# [key, value] pairs to {key: [value...]}.  Much quicker in jq 1.6 than growing an object,
# of which each step copies a level.
def gather: group_by(.[0]) | map({key: .[0][0], value: (map(.[1]) | unique)}) | from_entries;

[inputs | parts] | {
	following_repo_root_events: (map(select(.[1] == null) | [.[0], .[2]]) | gather),
	sync_relays: (
		map(select(.[1] != null)) | group_by(.[0]) |
		map(reduce .[] as $part (null; . as $have |
			if $have == null or ($part[1] | is_newer($have[1])) then $part else . end)) |
		map(select(.[1] | is_followed) | .[0] as $ref | .[1].tags[] | select(.[0] == "relays") |
			.[1:][] | canonical | select(. != "wss://" + $service) | [., $ref]) |
		gather)
}
