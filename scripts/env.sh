# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Source this file to use the tools that `make setup` installed: it puts this clone's pinned
# Verilator, Python, Go and mill in front of the machine's.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export VERILATOR_ROOT="$root/.venv/lib/python3/site-packages/verilator"
for dir in "$root"/.venv/lib/python3.*/site-packages/verilator; do VERILATOR_ROOT=$dir; done
# ccache in front of the compilers: an unchanged module is compiled once.
export PATH="/usr/lib/ccache:$PATH"
export PATH="$root/.tools/bin:$root/.venv/bin:$VERILATOR_ROOT/bin:$PATH"
# How ChiselSim's models are compiled, for it leaves that to Verilator's generated makefile: by
# clang, lightly, which takes a quarter of the time of g++ -Os, the default. The makefile names a
# precompiled header twice, in the compiler's own way. (sim/engine/Makefile says its own.)
if command -v clang++ > /dev/null; then
  models="CXX=clang++ LINK=clang++ LOADLIBES=-latomic OPT_FAST=-O1 OPT_GLOBAL=-O1 CFG_CXXFLAGS_PCH_I=-include-pch CFG_GCH_IF_CLANG=.gch"
else
  models="CFG_CXXFLAGS_PCH_I=-include"
fi
case " ${MAKEFLAGS:-} " in *" $models "*) ;; *) export MAKEFLAGS="${MAKEFLAGS:+$MAKEFLAGS }$models" ;; esac
unset models
export CCACHE_SLOPPINESS=pch_defines,time_macros
# It looks up what the compiler says that it read, and runs no preprocessor of its own: a fifth of
# the time of a model's C++.
export CCACHE_DEPEND=1
# Static Go programs that hold no path of this machine. Tests, linters and packages have the same
# flags, so Go compiles a package once for all of them.
export CGO_ENABLED="${CGO_ENABLED:-0}"
case " ${GOFLAGS:-} " in *" -trimpath "*) ;; *) export GOFLAGS="${GOFLAGS:+$GOFLAGS }-trimpath" ;; esac
# Java for short runs, unless the user has chosen: the light compiler and a collector of one thread
# halve the processor time of compiling and elaborating Chisel. That compiler alone gets 48 MB for
# its code unless told; the Scala compiler fills them, and Java then interprets the rest.
export JDK_JAVA_OPTIONS="${JDK_JAVA_OPTIONS:--XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=256m}"
