# fish completion of the grasp-sync commands

# The relays of the first state file among the words, else of ./state.json.
function __grasp_sync_relays
    for word in (commandline -opc) state.json
        if string match -q -- '*.json' $word; and test -f $word
            jq -r '.sync_relays | keys[]' $word 2>/dev/null
            return
        end
    end
end

for command in grasp-sync-store grasp-sync-init grasp-sync-filters grasp-sync-relay grasp-sync-watch
    complete -c $command -l help -s h -d 'show the options'
    complete -c $command -l version -s V -d 'show the version'
    complete -c $command -l verbose -s v -d 'say more'
    complete -c $command -l quiet -s q -d 'say only what is wrong'
end

complete -c grasp-sync-store -f -n __fish_use_subcommand -a import -d 'take in events'
complete -c grasp-sync-store -f -n __fish_use_subcommand -a export -d 'print events'
complete -c grasp-sync-store -f -n __fish_use_subcommand -a stat -d 'print numbers'

complete -c grasp-sync-store -n '__fish_seen_subcommand_from import' -l db -x -a '(__fish_complete_directories)' -d 'the store'
complete -c grasp-sync-store -n '__fish_seen_subcommand_from import' -l service -x -d 'keep what belongs to this service'
complete -c grasp-sync-store -n '__fish_seen_subcommand_from import' -l follow -r -a 'listed all' -d 'which repositories'
complete -c grasp-sync-store -n '__fish_seen_subcommand_from import' -l own-url -x -d 'a URL of our own relay'
complete -c grasp-sync-store -n '__fish_seen_subcommand_from import' -l deny -r -d 'never these events, keys and repositories'
complete -c grasp-sync-store -n '__fish_seen_subcommand_from import' -l max-store -x -d 'take nothing in when the store is so large'
complete -c grasp-sync-store -n '__fish_seen_subcommand_from import' -l max-events-repo -x -d 'of one repository, newly stored a day'
complete -c grasp-sync-store -n '__fish_seen_subcommand_from import' -l decisions -r -d 'append what became of each event'
complete -c grasp-sync-store -n '__fish_seen_subcommand_from import' -l now -x -d 'take this for the time'
complete -c grasp-sync-store -n '__fish_seen_subcommand_from import' -l map-size -x -d 'first size of the map'
complete -c grasp-sync-store -n '__fish_seen_subcommand_from import' -l workers -x -d 'threads that verify'

complete -c grasp-sync-store -n '__fish_seen_subcommand_from export' -l db -x -a '(__fish_complete_directories)' -d 'the store'
complete -c grasp-sync-store -n '__fish_seen_subcommand_from export' -l filter -x -d 'events that match'
complete -c grasp-sync-store -n '__fish_seen_subcommand_from export' -l since -x -a '15m 24h 7d' -d 'events since then'
complete -c grasp-sync-store -n '__fish_seen_subcommand_from export' -l until -x -d 'events until then'
complete -c grasp-sync-store -n '__fish_seen_subcommand_from export' -l now -x -d 'take this for the time'

complete -c grasp-sync-store -n '__fish_seen_subcommand_from stat' -l db -x -a '(__fish_complete_directories)' -d 'the store'
complete -c grasp-sync-store -n '__fish_seen_subcommand_from stat' -l json -d 'as one JSON line'
complete -c grasp-sync-store -n '__fish_seen_subcommand_from stat' -l check -d 'prove every row and its indexes'

complete -c grasp-sync-init -l db -x -a '(__fish_complete_directories)' -d 'the store'
complete -c grasp-sync-init -l events -r -d 'events as JSON lines'
complete -c grasp-sync-init -l relay -x -d 'our own relay'
complete -c grasp-sync-init -l service -x -d 'our service'
complete -c grasp-sync-init -l bootstrap -x -d 'a relay to ask in any case'
complete -c grasp-sync-init -l follow -r -a 'listed all' -d 'which repositories'
complete -c grasp-sync-init -l output -s o -r -d 'the state file'
complete -c grasp-sync-init -l explain -d 'why each announcement is followed or not'
complete -c grasp-sync-init -l now -x -d 'take this for the time'
complete -c grasp-sync-init -l deny -r -d 'never these events, keys and repositories'
complete -c grasp-sync-init -l own-url -x -d 'a URL of our own relay'
complete -c grasp-sync-init -l allow-private -d 'keep relays at private addresses'
complete -c grasp-sync-init -l max-relays -x -d 'relays in all'
complete -c grasp-sync-init -l max-relays-repo -x -d 'relays of one repository'
complete -c grasp-sync-init -l max-relays-author -x -d 'relays of one author'
complete -c grasp-sync-init -l max-roots -x -d 'root events of one repository'

complete -c grasp-sync-filters -l relay -x -a '(__grasp_sync_relays)' -d 'of this relay alone'
complete -c grasp-sync-filters -l since -x -a '15m 24h 7d' -d 'events since then'
complete -c grasp-sync-filters -l layer -x -a '1 2 3' -d 'this layer alone'
complete -c grasp-sync-filters -l chunk -x -d 'values a filter'
complete -c grasp-sync-filters -l format -x -a 'filters req array' -d 'how they are written'
complete -c grasp-sync-filters -l max-filters -x -d 'filters a REQ'
complete -c grasp-sync-filters -l max-bytes -x -d 'bytes a REQ'
complete -c grasp-sync-filters -l stats -d 'filters and bytes of each relay'
complete -c grasp-sync-filters -l now -x -d 'take this for the time'
complete -c grasp-sync-filters -l allow-private -d 'URLs may be private'
complete -c grasp-sync-filters -l batch -r -d 'only what is new, of batches'

complete -c grasp-sync-relay -f -a '(__grasp_sync_relays)'
complete -c grasp-sync-relay -l once -d 'end after the stored events'
complete -c grasp-sync-relay -l filters -r -d 'filters, one a line'
complete -c grasp-sync-relay -l since -x -a '15m 24h 7d' -d 'events since then'
complete -c grasp-sync-relay -l limit -x -d 'at most so many of each filter'
complete -c grasp-sync-relay -l timeout -x -d 'give up after that long without a useful frame'
complete -c grasp-sync-relay -l report -r -d 'write what each filter came to'
complete -c grasp-sync-relay -l progress -d 'show how far it has come'
complete -c grasp-sync-relay -l auth-key-file -r -d 'who asks'
complete -c grasp-sync-relay -l allow-private -d 'the URL may be private'
complete -c grasp-sync-relay -l insecure -d 'accept any certificate'
complete -c grasp-sync-relay -l ca-file -r -d 'trust these certificates, too'
complete -c grasp-sync-relay -l proxy -x -d 'an HTTP proxy'
complete -c grasp-sync-relay -l max-backoff -x -d 'never wait longer'

complete -c grasp-sync-watch -f
complete -c grasp-sync-watch -l db -x -a '(__fish_complete_directories)' -d 'the store'
complete -c grasp-sync-watch -l relay -x -d 'our own relay'
complete -c grasp-sync-watch -l service -x -d 'our service'
complete -c grasp-sync-watch -l bootstrap -x -d 'a relay to ask in any case'
complete -c grasp-sync-watch -l follow -r -a 'listed all' -d 'which repositories'
complete -c grasp-sync-watch -l deny -r -d 'never these events, keys and repositories'
complete -c grasp-sync-watch -l own-url -x -d 'a URL of our own relay'
complete -c grasp-sync-watch -l allow-private -d 'keep relays at private addresses'
complete -c grasp-sync-watch -l state -r -d 'what is known already, kept up to date'
complete -c grasp-sync-watch -l window -x -a '5s 30s 1m' -d 'how long changes are collected'
complete -c grasp-sync-watch -l once -d 'end after what the state lacks'
complete -c grasp-sync-watch -l max-relays -x -d 'relays in all'
complete -c grasp-sync-watch -l max-relays-repo -x -d 'relays of one repository'
complete -c grasp-sync-watch -l max-relays-author -x -d 'relays of one author'
complete -c grasp-sync-watch -l max-roots -x -d 'root events of one repository'
