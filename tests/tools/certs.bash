#!/bin/bash
# Certificates for tests, all for a name and some time: good ones, and of each sort of bad.
# In the folder that one is in: NAME.pem and NAME.key.

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

# The CAs own and stranger; and for localhost, by own, but for what they are named for:
# good, expired, early, other (for another name), unknown (by stranger).
make_certs() {
	local past=20200101000000Z then=20200201000000Z future=20990101000000Z
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
