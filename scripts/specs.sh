#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# scripts/specs.sh MODULE [OPTION…]: the ScalaTest specs of a module of build.mill, with options of
# ScalaTest's Runner (-s CLASS for one).
#
# mill compiles and then ends. Its own test command would keep its lock, which other parts wait for,
# and keep asking its test processes whether they are done. One Java runs as many specs at once as
# there are processors.
set -euo pipefail
cd "$(dirname "$0")/.."
module=$1
shift
classpath=$(mill --no-daemon --ticker false show "$module.runClasspath" |
  python -c 'import json, sys; print(":".join(entry.split(":", 3)[-1] for entry in json.load(sys.stdin)))')
java -cp "$classpath" org.scalatest.tools.Runner -R "out/${module//.//}/compile.dest/classes" -o "-PS$(nproc)" "$@"
