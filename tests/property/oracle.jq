# What must stand after an import, whatever the order: a second opinion that shares no
# code with the product.  Reads a whole corpus (jq -s), with --argjson now T and --arg
# service DOMAIN ("" without one); prints {"must":[id...],"may":[id...]}: every export
# holds all of must, in this order, and besides it nothing but what is in may.
#
# With a service the answer depends on what was a ground when: `may` has the events
# whose only grounds were deleted, replaced, expired or dropped.

def is_addressable: .kind >= 30000 and .kind < 40000;
def is_replaceable: .kind == 0 or .kind == 3 or (.kind >= 10000 and .kind < 20000);
def values($names): [.tags[] | select(.[0] as $n | any($names[]; . == $n)) | .[1] // empty];
def first_d: ([.tags[] | select(.[0] == "d")][0][1]) // "";
def expires: ([.tags[] | select(.[0] == "expiration")][0][1]) // null;

def address:
	if is_addressable then "\(.kind):\(.pubkey):\(first_d)"
	elif is_replaceable then "\(.kind):\(.pubkey):"
	else null end;

def lists_service:
	any(.tags[] | select(.[0] == "clone") | .[1:][]; startswith("https://" + $service + "/")) and
	any(.tags[] | select(.[0] == "relays") | .[1:][]; . == "wss://" + $service);

def is_vanish: .kind == 62 and any(values(["relay"])[];
	. == "ALL_RELAYS" or ($service != "" and . == "wss://" + $service + "/"));

# What the rules ask of an event again and again.
def digest: . + {
	address: address,
	d: first_d,
	is_expired: (expires as $e | $e != null and ($e | tonumber) <= $now),
	is_vanish: is_vanish,
	is_listed: (.kind == 30617 and $service != "" and lists_service),
	named: [.tags[] | select(.[0] == "maintainers") | .[1:][]],
	es: values(["e"]), as: values(["a"]),
	eEq: values(["e", "E", "q"]), aAq: values(["a", "A", "q"])
};

def is_newer($than): .created_at > $than.created_at or (.created_at == $than.created_at and .id < $than.id);
def ids: map({key: .id, value: .}) | from_entries;

# What takes the event: the ids of deletions and vanish requests ("by"), and of the
# version of its address that they name, if it is not the event itself ("via": a deletion
# of a version that was never accepted says nothing of older ones).  $all knows every event.
def takers($effects; $all):
	. as $event |
	[$effects[] | select(.pubkey == $event.pubkey and .id != $event.id) | .id as $by |
		if .is_vanish and $event.kind != 62 and $event.created_at <= .created_at then
			{by: $by, via: $event.id}
		elif .kind != 5 or $event.kind == 5 or $event.kind == 62 then empty
		elif any(.es[]; . == $event.id) or ($event.address != null and
			$event.created_at <= .created_at and any(.as[]; . == $event.address)) then
			{by: $by, via: $event.id}
		elif $event.address != null then
			.es[] | $all[.] | select(. != null and .address == $event.address) |
			select(is_newer($event)) | {by: $by, via: .id}
		else empty end];

def newer($versions):
	if .address == null then [] else
		. as $event | [$versions[] | select(.address == $event.address and is_newer($event)) | .id]
	end;

# The sets are objects with ids as keys.
def is_taken($effects; $versions):
	.id as $id | .is_expired or any(.takers[]; $effects[.by] != null and
		(.via == $id or $versions[.via] != null));
def is_replaced($versions): any(.newer[]; $versions[.] != null);
def stands($effects; $versions): (is_taken($effects; $versions) or is_replaced($versions)) | not;

# Authors that the followed announcements among $grounds reach for a d, as {"d": {"pubkey": true}}.
def reach($grounds):
	[$grounds[] | select(.kind == 30617)] as $known |
	reduce ($known[] | select(.is_listed)) as $a ({}; .[$a.d][$a.pubkey] = true) |
	def grow:
		. as $before |
		reduce $known[] as $a (.; if $before[$a.d][$a.pubkey] then
			reduce $a.named[] as $n (.; .[$a.d][$n] = true) else . end) |
		if . == $before then . else grow end;
	grow;

# Accepted with these grounds?  loose: by every reading of the rule.
def is_accepted($loose; $reach; $refs; $ids; $addresses; $authors):
	. as $event |
	if .is_listed then true
	elif .kind == 30617 or .kind == 30618 then
		$reach[.d][.pubkey] == true or (.kind == 30617 and $addresses[.address] == true)
	elif .kind == 5 or .kind == 62 then
		(.kind == 5 and (any(.es[]; $ids[.] | . != null and .pubkey == $event.pubkey and
				.kind != 5 and .kind != 62) or
			any(.as[]; $addresses[.] == true and (split(":")[1] == $event.pubkey)))) or
		(.is_vanish and $authors[.pubkey] == true) or
		($loose and (any(.eEq[]; $ids[.] != null) or any(.aAq[]; $refs[.] == true)))
	else
		any(.aAq[]; $refs[.] == true) or any(.eEq[]; $ids[.] != null)
	end;

def flags(f): reduce .[] as $e ({}; ($e | f) as $key | if $key == null then . else .[$key] = true end);

# All that is ever accepted in some order.
def loosest($all):
	def grow($have):
		reach($have) as $reach |
		($have | map(select(.is_listed)) | flags(.address)) as $refs |
		($have | ids) as $ids | ($have | flags(.address)) as $addresses |
		($have | flags(.pubkey)) as $authors |
		[$all[] | select(is_accepted(true; $reach; $refs; $ids; $addresses; $authors))] as $more |
		if ($more | length) == ($have | length) then $have else grow($more) end;
	grow([]);

# What is accepted in every order: with grounds that stand to the end.  A deletion and a
# version that drops us count what would stand without them.
def strictest($all; $loose):
	def without($event): $loose | .[$event.id] = null;
	def grow($have):
		[$have[] | select(stands($loose; $loose))] as $firm |
		reach($firm) as $reach |
		($firm | map(select(.is_listed)) | flags(.address)) as $refs |
		($firm | ids) as $ids |
		[$all[] | select(.is_expired | not) | . as $event |
			if .kind == 5 or .kind == 62 then
				without($event) as $others |
				[$have[] | select(.id != $event.id and stands($others; $loose))] as $own |
				select(is_accepted(false; $reach; $refs; $own | ids; $own | flags(.address);
					$own | flags(.pubkey)))
			elif .kind == 30617 then
				[$have[] | select(.address == $event.address and .id != $event.id and
					(is_taken($loose; $loose) | not))] as $own |
				select(is_accepted(false; $reach; $refs; $ids; $own | flags(.address); {}))
			else
				select(is_accepted(false; $reach; $refs; $ids; {}; {}))
			end] as $more |
		if ($more | length) == ($have | length) then $have else grow($more) end;
	grow([]);

def in_order: sort_by([.created_at, .id]) | map(.id);

unique_by(.id) | map(digest) | ids as $known |
[.[] | select(.kind == 5 or .kind == 62)] as $effects |
map(.takers = takers($effects; $known)) |
(map(select(.address != null)) | group_by(.address) |
	map({key: .[0].address, value: .}) | from_entries) as $versions |
map(.newer = newer($versions[.address // ""] // [])) as $all |
if $service == "" then
	{must: [$all[] | select(stands($known; $known))] | in_order, may: []}
else
	loosest($all) as $loose | ($loose | ids) as $possible |
	strictest($all; $possible) as $strict | ($strict | ids) as $sure |
	([$strict[] | select(stands($possible; $possible))] | in_order) as $must |
	($must | map({key: ., value: true}) | from_entries) as $is_must |
	{must: $must,
	 may: [$loose[] | select($is_must[.id] != true and stands($sure; $sure))] | in_order}
end
