#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# build.sh FOLDER PREFIX ARCHIVE: strongSwan 5.9.8 with Debian's patches (FOLDER/debian) and ours,
# in FOLDER/source, installed below FOLDER/root as if that were /. Its home is PREFIX, beside the
# distribution's; FOLDER/log has all output. Needs a C compiler, make, perl, patch and libssl-dev.
# As any user.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
folder=$(cd "$1" && pwd)
prefix=$2 archive=$3
name=$(basename "$prefix")

"$here/../strongswan/archive.sh" 5.9.8 "$archive" "$folder/debian"
rm -rf "$folder/source" "$folder/root"
mkdir "$folder/source"
tar -xjf "$archive" -C "$folder/source" --strip-components=1 --no-same-owner
cd "$folder/source"
# Debian's security fixes among them. What changes the inputs of autotools is packaging, and would
# ask for autotools here.
while read -r change; do
  grep -q '^+++ .*\(\.am\|\.ac\)$' "$folder/debian/$change" || patch --quiet --strip=1 <"$folder/debian/$change"
done < <(sed 's/[ #].*//; /^$/d' "$folder/debian/series")
for change in "$here"/patches/*.patch; do patch --quiet --strip=1 --fuzz=0 <"$change"; done
# The environment of the project's own builds has a LINK that strongSwan's would take for theirs.
alone() { env -i PATH="$PATH" "$@"; }
build() {
  # Nothing but what a box's IKEv2 needs. No patch touches what autotools, gperf or bison make, so
  # none of them is needed.
  alone ./configure --prefix="$prefix" --sysconfdir="/etc/$name" --with-piddir="/run/$name" --with-systemdsystemunitdir=no --disable-defaults \
    --disable-static --enable-charon --enable-ikev2 --enable-vici --enable-swanctl --enable-openssl --enable-random --enable-nonce \
    --enable-kdf --enable-pem --enable-pkcs1 --enable-pkcs8 --enable-pubkey --enable-x509 --enable-constraints --enable-revocation \
    --enable-socket-default --enable-kernel-netlink --enable-updown \
    CFLAGS="-g -O2 -fstack-protector-strong -D_FORTIFY_SOURCE=2" LDFLAGS="-Wl,-z,relro,-z,now" \
    && alone make -j"$(nproc)" && alone make install-strip DESTDIR="$folder/root"
}
build >"$folder/log" 2>&1 || { tail -20 "$folder/log" >&2; echo "build.sh: strongSwan was not built, $folder/log says why" >&2; exit 1; }
find "$folder/root" -name '*.la' -delete
