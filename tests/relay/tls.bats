#!/usr/bin/env bats
# shellcheck disable=SC2154,SC2034
# wss: only a relay that its certificate speaks for is read.
bats_require_minimum_version 1.5.0
load relay

# usage: make_ca NAME
make_ca() {
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 \
		-subj "/CN=$1" -keyout "$1.key" -out "$1.pem"
}

# usage: make_cert NAME CA HOST BEGIN END   as YYYYMMDDHHMMSSZ
make_cert() {
	openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "/CN=$1" \
		-keyout "$1.key" -out "$1.csr"
	: >index
	printf '%s\n' '[ca]' 'default_ca = own' '[own]' 'database = index' 'default_md = sha256' \
		'policy = any' 'rand_serial = yes' 'new_certs_dir = .' '[any]' \
		'commonName = supplied' '[names]' "subjectAltName = DNS:$3" >ca.conf
	openssl ca -batch -notext -config ca.conf -extensions names -cert "$2.pem" \
		-keyfile "$2.key" -startdate "$4" -enddate "$5" -in "$1.csr" -out "$1.pem"
}

setup_file() {
	local past=20200101000000Z then=20200201000000Z future=20990101000000Z
	cd "$BATS_FILE_TMPDIR" || return 1
	{
		make_ca own
		make_ca stranger
		make_cert good own localhost "$past" "$future"
		make_cert expired own localhost "$past" "$then"
		make_cert early own localhost 20980101000000Z "$future"
		make_cert other own other.example "$past" "$future"
		make_cert unknown stranger localhost "$past" "$future"
	} >openssl.log 2>&1 || {
		cat openssl.log
		return 1
	}
}

setup() {
	use_folder
	echo '{"kinds":[1]}' >filters
}

teardown() {
	stop_all
}

# usage: start_tls CERTIFICATE
start_tls() {
	start_relay '{"make":[{"count":200,"at":1767000000}],"page":75}' \
		--cert "$BATS_FILE_TMPDIR/$1.pem" --key "$BATS_FILE_TMPDIR/$1.key"
	url=wss://localhost:$port
}

refuses() {
	start_tls "$1"
	fetch 69 --ca-file "$BATS_FILE_TMPDIR/own.pem"
	[[ $stderr == *"($2)"* ]]
	[ "$(jq -sr '.[-1].fault' report)" = "$2" ]
	[ ! -s got ]
	never_logged '.got'
}

@test "all arrives through wss where the certificate is good" {
	start_tls good
	fetch 0 --ca-file "$BATS_FILE_TMPDIR/own.pem"
	got_all
	# The name went to the relay although an address was dialled.
	logged '.is == "upgrade" and (.host | startswith("localhost:"))'
}

@test "live through wss" {
	start_tls good
	follow --ca-file "$BATS_FILE_TMPDIR/own.pem"
	wait_for got_all
	tell '{"make":[{"kind":1,"seed":2}]}'
	wait_for has_lines 201 got
	end_following
}

@test "a certificate that speaks for another time, name or CA is refused with its class" {
	at_once "refuses expired tls-expired" "refuses early tls-expired" \
		"refuses other tls-name" "refuses unknown tls-untrusted"
}

@test "without the CA's file even a good one is tls-untrusted" {
	start_tls good
	fetch 69
	[[ $stderr == *"(tls-untrusted)"* ]]
	[ ! -s got ]
}

@test "--insecure reads from a relay that nobody vouches for" {
	start_tls unknown
	fetch 0 --insecure
	got_all
}

@test "a port that speaks no TLS is tls" {
	start_relay '{"make":[{"count":2}]}'
	url=wss://localhost:$port
	fetch 69
	[[ $stderr == *"(tls)"* ]]
}
