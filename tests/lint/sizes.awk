# Holds C files small: lines to 90 columns, functions to 60 lines, files to 500.
# usage: awk -f sizes.awk FILE...

function complain(text) {
	printf "%s:%d: %s\n", FILENAME, FNR, text
	bad = 1
}

# Tabs are 8 columns wide.
function width_of(line, n, i, c) {
	n = 0
	for (i = 1; i <= length(line); i++) {
		c = substr(line, i, 1)
		n = c == "\t" ? n + 8 - n % 8 : n + 1
	}
	return n
}

FNR == 1 {
	opened = 0
}

length($0) > 45 && width_of($0) > 90 {
	complain("over 90 columns")
}

FNR == 501 {
	complain("over 500 lines: what is the second thing that it does?")
}

/^{$/ {
	opened = FNR
}

/^}/ && opened {
	if (FNR - opened - 1 > 60)
		complain("function of " FNR - opened - 1 " lines")
	opened = 0
}

END {
	exit bad
}
