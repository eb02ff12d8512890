# SPDX-License-Identifier: Apache-2.0
"""Time to the first packet (draft-ietf-bmwg-ipsec-meth-05): a packet comes for which there is no
SA, the box asks charon for one, and packets go on coming until one arrives behind the other box."""

from __future__ import annotations

import time
from dataclasses import replace

from sallyport.backend import Figure, Trial, TrialResult
from sallyport.ike.gateways import Boxes

PATIENCE_S = 60
ASKED, MADE = "creating acquire job", r"CHILD_SA \S+ established"  # as charon says it


def measure(_trial: Trial, boxes: Boxes) -> TrialResult:
    """One run with one tunnel. The result's counts are of the frames that were sent until one
    arrived; its latency is that one's."""
    with boxes.gateways() as both:
        both.accept()
        both.initiate("start_action = trap")
        trapped = both.wait_until(lambda: both.near.policies() > 0, PATIENCE_S)
        arrival = boxes.until_one_arrives(PATIENCE_S)
        began = time.time() - (time.monotonic() - arrival.began)  # since the epoch, as charon's log
        result, arrived = arrival.result, arrival.result.rx_frames > 0
        # The packet may be quicker than charon's last word on the tunnel.
        both.wait_until(lambda: not arrived or both.near.said_at(MADE, began) is not None, PATIENCE_S)
        asked, made = (both.near.said_at(words, began) for words in (ASKED, MADE))
    checks = list(result.checks)
    if not trapped:
        checks.append("the box had no policy that asks for a tunnel")
    if not arrived:
        checks.append(f"no packet arrived in {PATIENCE_S} s")
    return replace(
        result,
        checks=checks,
        figures=[
            Figure("first packet", 1000 * (arrival.end - arrival.began) if arrived else None, "ms", arrival.clock),
            Figure("until charon is asked", _ms(began, asked), "ms", "wall"),
            Figure("IKE and its SAs", _ms(asked, made), "ms", "wall"),
        ],
    )


def _ms(start: float | None, end: float | None) -> float | None:
    """Between two times in seconds, if both are known."""
    return None if start is None or end is None else 1000 * (end - start)
