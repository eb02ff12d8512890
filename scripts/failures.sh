#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# scripts/failures.sh LOG…: at most 8 lines of each log that name a failed test, or the last 5.
#
# The lines are pytest's, Go's, ScalaTest's, a compiler's or make's. Each starts with the name of
# the log, and its colours are removed.
set -uo pipefail
names='^(FAILED|ERROR) |^ *--- FAIL:|^(FAIL|panic:)[[:space:]]|\*\*\* (FAILED|ABORTED) \*\*\*|error:|[[:space:]]FAILED$|^make.*\*\*\* '
for log in "$@"; do
  part=$(basename "$log" .log)
  plain=$(sed 's/\x1b\[[0-9;]*m//g' "$log" 2>/dev/null) || { echo "$part: no log: its build failed, see above"; continue; }
  found=$(grep -aE -m8 "$names" <<<"$plain") || found=$(tail -5 <<<"$plain")
  sed "s/^/$part: /" <<<"$found" | cut -c1-240
done
