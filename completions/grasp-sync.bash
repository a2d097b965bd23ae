# bash completion of the grasp-sync commands

# The options of a command, with "=" behind those that take a value.
_grasp_sync_options() {
	case $1 in
	grasp-sync-store)
		case $2 in
		import)
			echo --db= --service= --follow= --own-url= --deny= --max-store= \
				--max-events-repo= --decisions= --now= --map-size= --workers=
			;;
		export) echo --db= --filter= --since= --until= --now= ;;
		stat) echo --db= --json --check ;;
		esac
		;;
	grasp-sync-init)
		echo --db= --events= --relay= --service= --bootstrap= --follow= --deny= -o= --output= --explain \
			--now= --own-url= --allow-private --max-relays= --max-relays-repo= \
			--max-relays-author= --max-roots=
		;;
	grasp-sync-filters)
		echo --relay= --since= --layer= --chunk= --format= --max-filters= \
			--max-bytes= --stats --now= --allow-private --batch=
		;;
	grasp-sync-relay)
		echo --once --filters= --since= --limit= --timeout= --report= --progress \
			--auth-key-file= --allow-private --insecure --ca-file= --proxy= \
			--max-backoff=
		;;
	grasp-sync-watch)
		echo --db= --relay= --service= --bootstrap= --follow= --deny= --own-url= --allow-private --state= \
			--window= --once --max-relays= --max-relays-repo= --max-relays-author= \
			--max-roots=
		;;
	grasp-syncd)
		echo --service= --db= --bootstrap= --follow= --deny= --own-url= --allow-private \
			--max-relays= --max-relays-repo= --max-relays-author= --max-roots= \
			--state-file= --listen= --decisions= --max-store= --max-events-relay= \
			--max-bytes-relay= --max-events-repo= --window= --timeout= --max-backoff= \
			--auth-key-file= --ca-file= --insecure --proxy= --log-format= --log-level= \
			--config= --print-config --check-config
		;;
	esac
	echo --help --version --verbose --quiet
}

# The relays of the first state file among the words, else of ./state.json.
_grasp_sync_relays() {
	local word
	for word in "$@" state.json; do
		[[ -f $word && $word == *.json ]] || continue
		jq -r '.sync_relays | keys[]' "$word" 2>/dev/null
		return
	done
}

_grasp_sync_values() {
	local option=$1 cur=$2
	shift 2
	case $option in
	--db) compgen -d -- "$cur" ;;
	--follow) compgen -W 'listed all' -- "$cur" && compgen -f -- "$cur" ;;
	--format) compgen -W 'filters req array' -- "$cur" ;;
	--log-format) compgen -W 'text json' -- "$cur" ;;
	--log-level) compgen -W 'error warning info debug' -- "$cur" ;;
	--listen) compgen -W '127.0.0.1: unix:' -- "$cur" ;;
	--layer) compgen -W '1 2 3' -- "$cur" ;;
	--window) compgen -W '5s 30s 1m' -- "$cur" ;;
	--since) compgen -W '15m 24h 7d' -- "$cur" ;;
	--relay) compgen -W "$(_grasp_sync_relays "$@")" -- "$cur" ;;
	--events | --output | --filters | --report | --auth-key-file | --ca-file | --state | --batch | --deny | --decisions | --state-file | --config | -o) compgen -f -- "$cur" ;;
	esac
}

_grasp_sync_operands() {
	local command=$1 sub=$2 cur=$3
	shift 3
	case $command in
	grasp-sync-store)
		[[ $sub ]] || compgen -W 'import export stat' -- "$cur"
		[[ $sub != import ]] || compgen -f -- "$cur"
		;;
	grasp-sync-filters) compgen -f -- "$cur" ;;
	grasp-sync-relay) compgen -W "$(_grasp_sync_relays "$@")" -- "$cur" ;;
	esac
}

# The line is split by blanks alone: bash would also part URLs at their colons.
_grasp_sync() {
	local command=${1##*/} line=${COMP_LINE:0:COMP_POINT} sub='' words options cur prev head
	cur=${line##*[[:space:]]}
	read -ra words <<<"${line%"$cur"}"
	prev=${words[${#words[@]} - 1]}
	[[ $command != grasp-sync-store || ${words[1]} == -* ]] || sub=${words[1]}
	options=" $(_grasp_sync_options "$command" "$sub" | tr '\n' ' ')"
	if [[ $cur == --*=* ]]; then
		prev=${cur%%=*}
		cur=${cur#*=}
	fi
	if [[ $options == *" $prev= "* ]]; then
		mapfile -t COMPREPLY < <(_grasp_sync_values "$prev" "$cur" "${words[@]}")
	elif [[ $cur == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "${options//=/}" -- "$cur")
	else
		mapfile -t COMPREPLY < <(_grasp_sync_operands "$command" "$sub" "$cur" "${words[@]}")
	fi
	# Readline replaces what stands behind the last colon only.
	if [[ $cur == *:* && $COMP_WORDBREAKS == *:* ]]; then
		head=${cur%"${cur##*:}"}
		COMPREPLY=("${COMPREPLY[@]#"$head"}")
	fi
}

complete -F _grasp_sync grasp-sync-store grasp-sync-init grasp-sync-filters grasp-sync-relay \
	grasp-sync-watch grasp-syncd
