#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# scripts/scala.sh MODULE CLASS ARGUMENT…: runs a program of a module of build.mill, compiled.
# scripts/scala.sh --compile MODULE…: compiles modules, and leaves their class paths in
# build/classpath.
#
# mill compiles and then ends. While the program ran it would keep its lock, which others wait for.
# Where COMPILED is set, build/classpath has what there is: a start of mill takes seconds even if
# there is nothing to do.
set -euo pipefail
cd "$(dirname "$0")/.."
classpaths=build/classpath

compile() {
  local tasks
  tasks=$(IFS=,; echo "{$*}.runClasspath")
  [ $# != 1 ] || tasks=$1.runClasspath
  mkdir -p "$classpaths"
  mill --no-daemon --ticker false show "$tasks" | python3 -c '
import json, pathlib, sys
shown = json.load(sys.stdin)
for task, entries in (shown if isinstance(shown, dict) else {sys.argv[2] + ".runClasspath": shown}).items():
    paths = ":".join(entry.split(":", 3)[-1] for entry in entries)
    pathlib.Path(sys.argv[1], task.removesuffix(".runClasspath")).write_text(paths)
' "$classpaths" "$1"
}

if [ "$1" = --compile ]; then
  shift
  compile "$@"
  exit
fi
module=$1
shift
[ -n "${COMPILED:-}" ] || compile "$module"
exec java -cp "$(<"$classpaths/$module")" "$@"
