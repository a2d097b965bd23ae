# Holds the library's layers apart.
# usage: awk -f layers.awk tests/lint/layers lib/*.[ch]
#
# Each line of the list is "layer module...".  A file belongs to the module with its
# name, or with the longest part of it that ends before a '_': store_event.c is `store`.

# Who may include what of others: these modules, or the layers from here up.
BEGIN {
	fence("lmdb.h", "store")
	fence("secp256k1[a-z0-9_]*.h", "verify auth")
	fence("idn2.h", "url host")
	fence("jv.h", "json document event filter message snapshot batch")
	fence("pthread.h", "store ingest resolve daemon")
	lowest["libwebsockets.h"] = 4
	lowest["netdb.h"] = 4
}

function fence(header, modules) {
	fenced[header] = " " modules " "
}

function complain(text) {
	printf "%s:%d: %s\n", FILENAME, FNR, text
	bad = 1
}

function module_of(name) {
	while (!(name in layer) && sub(/_[^_]*$/, "", name))
		;
	return name
}

function check_own(header, dep) {
	dep = module_of(header)
	if (!(dep in layer)) {
		complain(header ".h: in no layer")
		return
	}
	if (layer[dep] > layer[module])
		complain(module " (layer " layer[module] ") includes " dep \
		    " (layer " layer[dep] ")")
	if (header ~ /_private$/ && dep != module)
		complain(header ".h is for " dep " alone")
	# Layer 0 has doors that the pure layers must not open.
	if (is_pure && (dep == "clock" || dep == "log"))
		complain(module " (layer " layer[module] ") includes " dep)
}

function check_foreign(header, h) {
	for (h in fenced)
		if (header ~ "^" h "$" && index(fenced[h], " " module " ") == 0)
			complain("<" header "> is for" fenced[h] "alone")
	if (header in lowest && layer[module] < lowest[header])
		complain("<" header "> below layer " lowest[header])
}

FNR == NR {
	for (i = 2; i <= NF; i++)
		layer[$i] = $1
	next
}

FNR == 1 {
	name = FILENAME
	sub(/.*\//, "", name)
	sub(/\.[ch]$/, "", name)
	module = module_of(name)
	if (!(module in layer)) {
		complain("in no layer of tests/lint/layers")
		nextfile
	}
	is_pure = layer[module] >= 1 && layer[module] <= 3
}

/^#[ \t]*include[ \t]*"/ {
	header = $0
	sub(/^[^"]*"/, "", header)
	sub(/\.h".*/, "", header)
	check_own(header)
}

/^#[ \t]*include[ \t]*</ {
	header = $0
	sub(/^[^<]*</, "", header)
	sub(/>.*/, "", header)
	check_foreign(header)
}

# Comments may name them; code of the pure layers may not.
is_pure && /(^|[^a-z_])(v?f?printf|puts|fputs|putchar|perror|time|clock_gettime|gettimeofday|socket|connect)\(/ {
	line = $0
	sub(/\/\*.*/, "", line)
	if (line ~ /(^|[^a-z_])(v?f?printf|puts|fputs|putchar|perror|time|clock_gettime|gettimeofday|socket|connect)\(/ &&
	    line !~ /format\(printf/ && line !~ /^ \*/)
		complain("prints, reads a clock or opens a socket in layer " layer[module])
}

END {
	exit bad
}
