# shellcheck shell=bash
# Source this file to use the tools that `make setup` installed: it puts the pinned
# Verilator, Python, Go and mill of this clone in front of whatever the machine has.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export VERILATOR_ROOT="$root/.venv/lib/python3/site-packages/verilator"
for dir in "$root"/.venv/lib/python3.*/site-packages/verilator; do VERILATOR_ROOT=$dir; done
# ccache in front of g++, which ChiselSim calls by name: an unchanged module is compiled once.
export PATH="/usr/lib/ccache:$PATH"
export PATH="$root/.tools/bin:$root/.venv/bin:$VERILATOR_ROOT/bin:$PATH"
# Verilator's generated makefile names a precompiled header twice; this is gcc's way to include one.
export MAKEFLAGS="${MAKEFLAGS:+$MAKEFLAGS }CFG_CXXFLAGS_PCH_I=-include"
export CCACHE_SLOPPINESS=pch_defines,time_macros
