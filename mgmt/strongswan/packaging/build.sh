#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# mgmt/strongswan/packaging/build.sh [RELEASE…]: build/packages/sallyport-charon-plugin_*.deb for
# the strongSwan of Debian 12, of Debian 13 and of testing, or of these releases alone. Each is
# built in a root of its release, made by mmdebstrap, which has the compilers for the other
# processors. Needs root, for mounts.
set -euo pipefail
cd "$(dirname "$0")/../../.."
# shellcheck source=mgmt/strongswan/packaging/releases.sh
source mgmt/strongswan/packaging/releases.sh
VERSION=$(cat VERSION)
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH

fail() { echo "build.sh: $1" >&2; exit 2; }

# Compiles in the root for an architecture; the stripped files are in /var/tmp/sallyport/ARCH.
compile() {
  local root=$1 arch=$2 strongswan=$3 cross=
  [ "$arch" = "$native" ] || cross=${triplets[$arch]}-
  # shellcheck disable=SC2016
  unshare --mount sh -ec 'mount -t proc none "$1/proc"; mount --bind "$2" "$1/mnt"; root=$1; shift 2
    exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin chroot "$root" sh -ec "$@"' sh "$root" "$PWD" '
    work=/var/tmp/sallyport/$1
    rm -rf "$work/files"
    make -s -C /mnt/mgmt/strongswan BUILD="$work/build" CC="$2gcc" STRONGSWAN="$3" DESTDIR="$work/files" install >&2
    "$2strip" --strip-unneeded "$work"/files/usr/lib/ipsec/plugins/*.so' sh "$arch" "$cross" "$strongswan"
}

# Makes the package of the compiled files.
package() {
  local root=$1 arch=$2 strongswan=$3 number=$4 stage
  stage=$PWD/build/packages/plugin/$number-$arch
  rm -rf "$stage"
  mkdir -p "$stage"
  cp -r "$root/var/tmp/sallyport/$arch/files" "$stage/"
  gzip -9nc CHANGELOG.md >"$stage/changelog.gz"
  (cd mgmt/packaging && env -u GOOS -u GOARCH ARCH="$arch" VERSION="$VERSION+deb$number" STAGE="$stage" \
    FROM="$strongswan" BELOW="${strongswan%.*}.$((${strongswan##*.} + 1))~" \
    go tool nfpm package --config ../strongswan/packaging/nfpm.yaml --packager deb --target ../../build/packages/)
}

[ $# != 0 ] || set -- bookworm trixie forky
for release in "$@"; do
  [ -n "${numbers[$release]:-}" ] || fail "Debian $release is none of bookworm trixie forky"
done
[ "$(id -u)" = 0 ] || fail "roots of other Debians need root"
command -v mmdebstrap >/dev/null || fail "mmdebstrap is not installed: apt-get install mmdebstrap"
native=$(dpkg --print-architecture)
for release in "$@"; do
  root=$PWD/build/packages/roots/$release
  make_root "$release" "$root"
  strongswan=$(chroot "$root" apt-cache show strongswan-libcharon | sed -n 's/^Version: \(.*\)-[^-]*$/\1/p' | sort -V | tail -1)
  for arch in ${architectures[$release]}; do
    compile "$root" "$arch" "$strongswan"
    package "$root" "$arch" "$strongswan" "${numbers[$release]}"
  done
done
