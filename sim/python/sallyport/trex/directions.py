# SPDX-License-Identifier: Apache-2.0
"""The directions of a setup through the pairs of ports of a lab."""

from __future__ import annotations

from collections.abc import Sequence

from sallyport.backend import Setup
from sallyport.trex.lab import Lab
from sallyport.trex.streams import Way

NUMBERS = {"both": (0, 1), "encrypt": (0,), "decrypt": (1,)}


def of(lab: Lab, next_hops: Sequence[str], setup: Setup, direction: str = "") -> list[Way]:
    """Those of a setup, or of `direction`, for each pair of ports."""
    numbers = NUMBERS[direction or setup.direction]
    return [_way(lab, next_hops, setup, number, pair) for pair in range(lab.pairs) for number in numbers]


def _way(lab: Lab, next_hops: Sequence[str], setup: Setup, number: int, pair: int) -> Way:
    at = 2 * pair + number
    here, there = lab.ends[at], lab.ends[at ^ 1]
    # Of boxes that are a bump in the wire the next hop is the far host, which is TRex's other port.
    dst = there.mac if setup.mode == "transport" else next_hops[at]
    return Way(number, here.port, there.port, here.mac, dst, here.vlan, pair=pair)
