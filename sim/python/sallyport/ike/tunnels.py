# SPDX-License-Identifier: Apache-2.0
"""Tunnels a second (draft-ietf-bmwg-ipsec-meth-05, tunnel setup behaviour): all are asked for at
once, and each is an IKE SA with a CHILD_SA of its own and has carried packets."""

from __future__ import annotations

import time
from dataclasses import replace

from sallyport.backend import Figure, Trial, TrialResult
from sallyport.ike.gateways import Boxes, Gateway, Gateways

FRAMES = 4  # in each tunnel, each way
LEAST_S, EACH_S = 60, 2  # for all of them, and more for each


def patience_s(tunnels: int) -> float:
    """How long so many tunnels may take."""
    return LEAST_S + EACH_S * tunnels


def measure(trial: Trial, boxes: Boxes) -> TrialResult:
    """One run: the time from the order to the near charon until both boxes have the SAs of all
    tunnels; behind it packets in each."""
    setup = trial.setup
    with boxes.gateways() as both:
        both.accept()
        began = time.monotonic()
        both.initiate()
        complete = both.wait_until(lambda: both.up() >= setup.sas, patience_s(setup.sas))
        took = time.monotonic() - began
        sent = boxes.each_tunnel(FRAMES)
        checks = [*sent.checks, *unlike(both, FRAMES)]
        if not complete:
            checks.append(f"{both.up()} of {setup.sas} tunnels came up in {patience_s(setup.sas):.0f} s")
        return replace(
            sent,
            checks=checks,
            figures=[
                Figure("tunnels set up", setup.sas / took if complete else None, "1/s", "wall"),
                Figure("requests sent again", both.repeats(), "count", ""),
            ],
        )


def unlike(both: Gateways[Gateway], frames: int) -> list[str]:
    """A sentence on each gateway whose tunnels have not each carried exactly so many packets."""
    found = []
    for each in (both.near, both.far):
        counts = each.packets()
        wrong = [name for name, packets in counts.items() if packets != (frames, frames)]
        wrong += [f"t{number}" for number in range(both.setup.sas) if f"t{number}" not in counts]
        if wrong:
            found.append(
                f"gateway {'ab'[each.side]}: {len(wrong)} of {both.setup.sas} tunnels have not carried {frames} packets each way, the "
                f"first is {wrong[0]} with {counts.get(wrong[0], 'none')}"
            )
    return found
