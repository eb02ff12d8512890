#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# scripts/part.sh NAME COMMAND…: one part of `make test`.
#
# Output goes to build/test/NAME.log, which is shown if the part fails; result, seconds and seconds
# of processors go to build/test/NAME.result. It exits with 0 either way, so that a failed part does
# not stop the others.
set -uo pipefail
name=$1 folder=build/test start=$SECONDS
shift
mkdir -p "$folder"
echo "test: $name: started"
TIMEFORMAT='%U %S'
if { time "$@" >"$folder/$name.log" 2>&1; } 2>"$folder/$name.time"; then
  result=passed
else
  result=FAILED
  sed "s/^/$name | /" "$folder/$name.log"
fi
echo "$result $((SECONDS - start)) $(awk '{ printf "%.0f", $1 + $2 }' "$folder/$name.time")" >"$folder/$name.result"
echo "test: $name: $result in $((SECONDS - start)) s"
