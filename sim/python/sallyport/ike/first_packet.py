# SPDX-License-Identifier: Apache-2.0
"""Time to the first packet (draft-ietf-bmwg-ipsec-meth-05): a packet comes for which there is no
SA, the box asks charon for one, and packets go on coming until one arrives behind the other box."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

from sallyport.backend import Figure, Trial, TrialResult
from sallyport.ike.gateways import Boxes, gateways

PATIENCE_S = 60
PAUSE_S = 0.1  # between frames: a simulation that sends is slow to answer at its registers
ASKED, MADE = "creating acquire job", r"CHILD_SA \S+ established"  # as charon says it


def measure(trial: Trial, boxes: Boxes, folder: Path) -> TrialResult:
    """One run with one tunnel. The result's counts are of the frames that were sent until one
    arrived; its latency is that one's."""
    with gateways(trial.setup, boxes, folder) as both:
        both.connect("start_action = trap")
        trapped = both.wait_until(lambda: both.near.daemon.policies() > 0, PATIENCE_S)
        began, clock = time.time(), time.monotonic()
        sent = 0
        while True:
            result = boxes.one_frame()
            took, sent = time.monotonic() - clock, sent + 1
            if result.rx_frames or took > PATIENCE_S:
                break
            time.sleep(PAUSE_S)
        arrived = result.rx_frames > 0
        # The packet may be quicker than charon's last word on the tunnel.
        both.wait_until(lambda: not arrived or both.near.charon.said_at(MADE, began) is not None, PATIENCE_S)
        asked, made = (both.near.charon.said_at(words, began) for words in (ASKED, MADE))
    checks = list(result.checks)
    if not trapped:
        checks.append("the box had no policy that asks for a tunnel")
    if not arrived:
        checks.append(f"no packet arrived in {PATIENCE_S} s")
    return replace(
        result,
        tx_frames=sent,
        lost=sent - result.rx_frames,
        checks=checks,
        figures=[
            Figure("first packet", 1000 * took if arrived else None, "ms", "wall"),
            Figure("until charon is asked", _ms(began, asked), "ms", "wall"),
            Figure("IKE and its SAs", _ms(asked, made), "ms", "wall"),
        ],
    )


def _ms(start: float | None, end: float | None) -> float | None:
    """Between two times in seconds, if both are known."""
    return None if start is None or end is None else 1000 * (end - start)
