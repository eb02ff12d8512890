#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# build.sh FOLDER PREFIX: strongSwan 5.9.8 with our patches, in FOLDER/source, installed below FOLDER/root as if that were /.
# It is to be installed at PREFIX, beside the distribution's. Needs a C compiler, make, perl, patch and libssl-dev. As any user.
set -euo pipefail
version=5.9.8
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
folder=$(cd "$1" && pwd)
prefix=$2
name=$(basename "$prefix")

"$here/../strongswan/archive.sh" "$folder/strongswan-$version.tar.bz2"
rm -rf "$folder/source" "$folder/root"
mkdir "$folder/source"
tar -xjf "$folder/strongswan-$version.tar.bz2" -C "$folder/source" --strip-components=1 --no-same-owner
cd "$folder/source"
for change in "$here"/patches/*.patch; do patch --quiet --strip=1 --fuzz=0 <"$change"; done
# Nothing but what a box's IKEv2 needs. No patch touches what autotools, gperf or bison make, so none of them is needed.
./configure --quiet --prefix="$prefix" --sysconfdir="/etc/$name" --with-piddir="/run/$name" --disable-defaults --disable-static \
  --enable-charon --enable-ikev2 --enable-vici --enable-swanctl --enable-pki --enable-openssl --enable-random --enable-nonce \
  --enable-kdf --enable-pem --enable-pkcs1 --enable-pkcs8 --enable-pubkey --enable-x509 --enable-constraints --enable-revocation \
  --enable-socket-default --enable-kernel-netlink --enable-updown
make --silent -j"$(nproc)"
make --silent install DESTDIR="$folder/root"
