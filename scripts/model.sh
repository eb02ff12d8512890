#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# scripts/model.sh OPTION…: Verilator for ChiselSim's makefile, which compiles each distinct model
# once.
#
# It runs in the folder of one simulation, whose sources lie in ../primary-sources and
# ../generated-sources. build/models keeps each model under a hash of all that decides it: sources,
# options and compilers. Of several callers with the same hash, one compiles and the others wait.
# Models unused for a week go.
set -euo pipefail
scripts=$(cd "$(dirname "$0")" && pwd)
store=${scripts%/*}/build/models
# ChiselSim's last option is the list of sources, by its full path. Paths below its folder differ
# between simulations.
list=${!#}
workspace=${list%/*/*}

# The sources, each after its name, without firtool's remarks at ends of lines: these name lines
# of Scala.
sources() {
  cd "$workspace"
  find -L primary-sources generated-sources -type f -print0 | LC_ALL=C sort -z |
    xargs -0 awk 'FNR == 1 { print FILENAME } { sub(/\t\/\/ [^"]*$/, ""); print }'
}

identity() {
  verilator --version
  "${CXX:-g++}" --version
  # What scripts/env.sh says of the compiler stands after make's own options.
  printf '%s\n' "${MAKEFLAGS##*-- }" "${@//"$workspace"/}"
  cat "$0" "$scripts/model.mk" "$list"
  (sources)
}

hash=$(identity "$@" | sha256sum)
model=$store/${hash%% *}
mkdir -p "$store"
exec 9>"$model.lock"
flock 9
if [ ! -x "$model" ]; then
  find "$store" -maxdepth 1 -type f -mtime +7 -delete
  # CompiledOnce.brief defines BRIEF.
  light=
  case " $* " in *" +define+BRIEF "*) light="OPT_FAST=-O0" ;; esac
  verilator "$@" -MAKEFLAGS "-f $scripts/model.mk $light"
  # A model that is there is whole: it gets its name last.
  cp simulation "$model.new"
  mv "$model.new" "$model"
fi
touch "$model"
# ChiselSim has a simulation record each command and answer in a file, which costs more than most of
# them: two of three system calls.
printf '#!/bin/sh\nunset SVSIM_EXECUTION_SCRIPT\nexec "%s" "$@"\n' "$model" >simulation
chmod +x simulation
