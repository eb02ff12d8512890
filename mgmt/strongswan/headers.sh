#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# headers.sh FOLDER ARCHIVE: puts the headers of strongSwan 5.9.8 into FOLDER, from ARCHIVE, which
# it gets if it is not there (archive.sh).
set -euo pipefail
version=5.9.8

folder=$1 archive=$2
stamp=$folder/.$version
[ ! -e "$stamp" ] || exit 0
"$(dirname "$0")/archive.sh" "$archive"
mkdir -p "$folder"
tar -xjf "$archive" -C "$folder" --strip-components=2 --no-same-owner --wildcards "strongswan-$version/src/libstrongswan/*.h" "strongswan-$version/src/libcharon/*.h"
touch "$stamp"
