# SPDX-License-Identifier: Apache-2.0
"""A stand-in for the package `trex` of TRex's Python client, for tests: written from its
documentation, sharing no code with it.

It holds callers to what the real one does (order of calls, types, ranges, states of ports, groups),
and behind it are two ports and a pair of boxes that lose, delay and reorder as the environment
variable TREX_STAND_IN says (JSON, see stl/world.py).
"""
