#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# archive.sh VERSION FILE [FOLDER]: puts the archive of that strongSwan there as FILE, and into
# FOLDER the patches of Debian's newest revision of it that can be had (FOLDER/revision;
# FOLDER/missed, if there is a newer one). From the source package that apt knows where to find. As
# any user.
set -euo pipefail
# Those of Debian 12, Debian 13 and Debian testing.
declare -A checksums=(
  [5.9.8]=d3303a43c0bd7b75a12b64855e8edcb53696f06190364f26d1533bde1f2e453c
  [6.0.1]=212368cbc674fed31f3292210303fff06da8b90acad2d1387375ed855e6879c4
  [6.1.0]=fe6c97481298767213cfc2e9a1da29fdd8018d481ff4cb9cf0283099654f20d4
)

version=$1 file=$2 folder=${3:-}
die() { echo "archive.sh: $*" >&2; exit 2; }
[ -n "${checksums[$version]:-}" ] || die "strongSwan $version is none of those that this was written for: $(printf '%s\n' "${!checksums[@]}" | sort -V | paste -sd ' ')"
sound() { echo "${checksums[$version]}  $1" | sha256sum --check --quiet >/dev/null 2>&1; }
[ ! -e "$file" ] || sound "$file" || die "$file is not the archive of strongSwan $version that this was written for: remove it"
[ ! -e "$file" ] || { [ -n "$folder" ] && [ ! -e "$folder/revision" ]; } || exit 0
command -v apt-get >/dev/null || die "this machine has no apt-get: put strongswan-$version.tar.bz2 of strongSwan's downloads there as $file${folder:+, and into $folder the patches of Debian and a file with their revision}"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial" "$work/archives/partial"
# The repositories that this machine has its packages from, but their sources; its own lists stay as
# they are.
apt-get indextargets --format 'deb-src $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' | sort -u >"$work/sources.list"
options=(-o Dir::Etc::sourcelist="$work/sources.list" -o Dir::Etc::sourceparts=- -o Dir::State::lists="$work/lists" -o Dir::Cache="$work")
apt() { apt-get -qq "${options[@]}" -o APT::Sandbox::User= "$@"; }
download() { (cd "$work" && apt source --download-only "$@" >/dev/null 2>"$work/log"); }
apt update 2>"$work/log" || echo "archive.sh: $(tail -1 "$work/log")" >&2
mapfile -t revisions < <(apt-cache "${options[@]}" showsrc strongswan 2>/dev/null | sed -n "s/^Version: \($version-.*\)/\1/p" | sort -Vru)
[ ${#revisions[@]} != 0 ] || die "no source package of strongSwan $version in this machine's repositories"

if [ ! -e "$file" ]; then
  # Debian's revisions of one version share the archive.
  download --tar-only "strongswan=${revisions[0]}" || die "$(tail -1 "$work/log")"
  found=$work/strongswan_$version.orig.tar.bz2
  sound "$found" || die "the archive of strongSwan $version is not the one that this was written for"
  mkdir -p "$(dirname "$file")"
  mv "$found" "$file"
fi
[ -n "$folder" ] && [ ! -e "$folder/revision" ] || exit 0
for revision in "${revisions[@]}"; do
  ! download --diff-only "strongswan=$revision" || break
done
patches=$work/strongswan_$revision.debian.tar.xz
[ -e "$patches" ] || die "$(tail -1 "$work/log")"
rm -rf "$folder"
mkdir -p "$folder"
tar -xJf "$patches" -C "$folder" --strip-components=2 --no-same-owner debian/patches
if [ "$revision" != "${revisions[0]}" ]; then
  echo "archive.sh: the patches of ${revisions[0]} cannot be had, those of $revision are taken: do not put it to use" >&2
  echo "${revisions[0]}" >"$folder/missed"
fi
echo "$revision" >"$folder/revision"
