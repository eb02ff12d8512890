#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# scripts/specs.sh MODULE [OPTION…]: the ScalaTest specs of a module of build.mill, with options of
# ScalaTest's Runner (-s CLASS for one).
#
# mill's own test command would keep asking its test processes whether they are done. One Java runs
# one spec more at once than there are processors: simulations of a shared module wait for each
# other.
set -euo pipefail
cd "$(dirname "$0")/.."
module=$1
shift
exec scripts/scala.sh "$module" org.scalatest.tools.Runner -R "out/${module//.//}/compile.dest/classes" -o "-PS$(($(nproc) + 1))" "$@"
