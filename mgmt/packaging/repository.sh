#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# mgmt/packaging/repository.sh KEY [FOLDER]: an apt repository of build/packages/*.deb in FOLDER
# (build/apt), signed by KEY, whose secret part gpg has. It is made beside FOLDER, and takes its
# place at the end, so apt sees no half of one. Older versions in FOLDER stay.
#
# The suites of Debian's releases have charon's plugin for the strongSwan there, whose version ends
# in +deb and Debian's number of the release. `stable` has it for none. All have the other packages.
set -euo pipefail
cd "$(dirname "$0")/../.."

DAYS=365 # in which it has to be made again: a mirror cannot hide an upgrade for longer
ARCHITECTURES="amd64 arm64 loong64"
declare -A SUITES=([stable]=none [bookworm]=12 [trixie]=13 [forky]=14)

fail() { echo "repository.sh: $1" >&2; exit 2; }

key=${1:-} folder=${2:-build/apt}
[ -n "$key" ] || fail "no key was named; give the fingerprint or the address of one (make apt-repository KEY=…)"
for program in apt-ftparchive gpg; do
  command -v "$program" >/dev/null || fail "$program is missing: install apt-utils and gpg"
done
shopt -s nullglob
packages=(build/packages/*.deb)
[ ${#packages[@]} != 0 ] || fail "build/packages has no package: run 'make packages' first"
gpg --batch --list-secret-keys "$key" >/dev/null 2>&1 || fail "gpg has no secret key $key: name one of 'gpg --list-secret-keys'"

[ ! -e "$folder" ] || [ -e "$folder/dists/stable/InRelease" ] || fail "$folder is there and is no repository: name another folder"

mkdir -p "$(dirname "$folder")"
new=$(mktemp -d "$folder.XXXXXX")
trap 'rm -rf "$new"' EXIT
chmod 755 "$new"
mkdir "$new/pool"
for package in "$folder"/pool/*.deb "${packages[@]}"; do cp -p "$package" "$new/pool/"; done
release() { echo "-oAPT::FTPArchive::Release::$1=$2"; }
# The paragraphs of the packages for all releases, or for the one of this number.
of_release() {
  awk -v RS= -v ORS='\n\n' -v tag="+deb$1" '
    match($0, /\nVersion: [^\n]*\+deb[0-9]+\n/) { if (index(substr($0, RSTART, RLENGTH), tag "\n")) print; next }
    { print }'
}
for architecture in $ARCHITECTURES; do
  (cd "$new" && apt-ftparchive --arch "$architecture" packages pool) >"$new/$architecture"
done
for name in "${!SUITES[@]}"; do
  suite=$new/dists/$name
  for architecture in $ARCHITECTURES; do
    binary=$suite/main/binary-$architecture
    mkdir -p "$binary"
    of_release "${SUITES[$name]}" <"$new/$architecture" >"$binary/Packages"
    gzip -9nk "$binary/Packages"
  done
  apt-ftparchive "$(release Origin Sallyport)" "$(release Label Sallyport)" "$(release Suite "$name")" \
    "$(release Codename "$name")" "$(release Components main)" "$(release Architectures "$ARCHITECTURES")" \
    "$(release ValidTime $((DAYS * 86400)))" release "$suite" >"$new/Release"
  mv "$new/Release" "$suite/Release"
  gpg --batch --yes --local-user "$key" --clearsign --output "$suite/InRelease" "$suite/Release"
done
for architecture in $ARCHITECTURES; do rm "$new/$architecture"; done
gpg --batch --yes --export "$key" >"$new/sallyport.gpg"
[ ! -e "$folder" ] || mv "$folder" "$new.old"
mv "$new" "$folder"
rm -rf "$new.old"
echo "$folder: ${#packages[@]} packages, for apt by: deb [signed-by=/etc/apt/keyrings/sallyport.gpg] URL stable main"
