#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# scripts/progress.sh WHAT COMMAND…: runs one step of a build.
#
# It names the step when it starts, every 15 s, and when it ends, with its seconds. The command's
# output is shown if it fails. With V=1 it is shown as it comes. A script that sources this file
# calls `watch LOG WHAT COMMAND…`, where COMMAND may be a function of its own.

# Runs a command that may take minutes with its output in LOG, and a line every 15 s until it ends.
# The command stays in the foreground, where Ctrl-C reaches it.
watch() {
  local log=$1 what=$2 ticker status=0
  shift 2
  tick "$what" &
  ticker=$!
  "$@" >"$log" 2>&1 || status=$?
  kill "$ticker" 2>/dev/null
  wait "$ticker" 2>/dev/null || true
  return "$status"
}

# A line every 15 s, as long as this script runs.
tick() {
  local seconds=0 silent
  # Nothing is ever written here. Reading it waits without a process that would outlive this one.
  exec {silent}<> <(:)
  while ! read -rt 15 -u "$silent" && kill -0 $$ 2>/dev/null; do
    seconds=$((seconds + 15))
    say "$1: $seconds s so far"
  done
}

# True where this file is run and not sourced.
[ "${BASH_SOURCE[0]}" = "$0" ] || return 0

set -uo pipefail
say() { printf 'build: %s\n' "$*" >&2; }
what=$1 start=$SECONDS
shift
[ -z "${V:-}" ] || exec "$@"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
say "$what"
watch "$log" "$what" "$@"
status=$?
if [ "$status" = 0 ]; then
  say "$what: done in $((SECONDS - start)) s"
else
  cat "$log" >&2
  say "$what: failed after $((SECONDS - start)) s, see the lines above"
fi
exit "$status"
