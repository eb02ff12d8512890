#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# headers.sh FOLDER: puts the headers of strongSwan 5.9.8 into FOLDER, from its archive (archive.sh). As any user.
set -euo pipefail
version=5.9.8

folder=$1
stamp=$folder/.$version
[ ! -e "$stamp" ] || exit 0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$(dirname "$0")/archive.sh" "$work/archive"
mkdir -p "$folder"
tar -xjf "$work/archive" -C "$folder" --strip-components=2 --wildcards "strongswan-$version/src/libstrongswan/*.h" "strongswan-$version/src/libcharon/*.h"
touch "$stamp"
