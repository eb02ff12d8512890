#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# headers.sh VERSION FOLDER ARCHIVE: puts the headers of that strongSwan into FOLDER, and its plugin
# `ml` where it has one; from ARCHIVE, which it gets if it is not there (archive.sh).
set -euo pipefail

version=$1 folder=$2 archive=$3
stamp=$folder/.$version
[ ! -e "$stamp" ] || exit 0
"$(dirname "$0")/archive.sh" "$version" "$archive"
# Those of another version would hide what this one lacks.
rm -rf "$folder"
mkdir -p "$folder"
wanted=("strongswan-$version/src/libstrongswan/*.h" "strongswan-$version/src/libcharon/*.h")
[ "$version" = 5.9.8 ] || wanted+=("strongswan-$version/src/libstrongswan/plugins/ml/*.c")
tar -xjf "$archive" -C "$folder" --strip-components=2 --no-same-owner --wildcards "${wanted[@]}"
touch "$stamp"
