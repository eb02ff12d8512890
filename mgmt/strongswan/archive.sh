#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# archive.sh FILE: puts the archive of strongSwan 5.9.8 there, from the source package that apt knows where to find. As any user.
set -euo pipefail
version=5.9.8
checksum=d3303a43c0bd7b75a12b64855e8edcb53696f06190364f26d1533bde1f2e453c

file=$1
die() { echo "archive.sh: $*" >&2; exit 2; }
sound() { echo "$checksum  $1" | sha256sum --check --quiet >/dev/null 2>&1; }
[ ! -e "$file" ] || { sound "$file" && exit; die "$file is not the archive of strongSwan $version that this was written for: remove it"; }
command -v apt-get >/dev/null || die "this machine has no apt-get: put strongswan-$version.tar.bz2 of strongSwan's downloads there, as $file"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial" "$work/archives/partial"
# The repositories that this machine has its packages from, but their sources; its own lists stay as they are.
apt-get indextargets --format 'deb-src $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' | sort -u >"$work/sources.list"
options=(-o Dir::Etc::sourcelist="$work/sources.list" -o Dir::Etc::sourceparts=- -o Dir::State::lists="$work/lists" -o Dir::Cache="$work")
apt() { apt-get -qq "${options[@]}" -o APT::Sandbox::User= "$@"; }
apt update 2>"$work/log" || echo "archive.sh: $(tail -1 "$work/log")" >&2
# Debian's revisions of one version share the archive.
revision=$(apt-cache "${options[@]}" showsrc strongswan 2>/dev/null | sed -n "s/^Version: \($version-.*\)/\1/p" | sort -V | tail -1)
[ -n "$revision" ] || die "no source package of strongSwan $version in this machine's repositories; Debian 12 has it"
(cd "$work" && apt source --download-only --tar-only "strongswan=$revision" >/dev/null 2>"$work/log") || die "$(tail -1 "$work/log")"
found=$work/strongswan_$version.orig.tar.bz2
sound "$found" || die "the archive of strongSwan $version is not the one that this was written for"
mkdir -p "$(dirname "$file")"
mv "$found" "$file"
