# SPDX-License-Identifier: Apache-2.0
"""Dead peer detection and fail-over (draft-ietf-bmwg-ipsec-meth-05, tunnel fail-over time; RFC 7296
2.4): the far gateway dies, and another takes its address without any of its state."""

from __future__ import annotations

import time
from dataclasses import replace

from sallyport.backend import Figure, Trial, TrialResult
from sallyport.ike.gateways import OwnBoxes
from sallyport.ike.tunnels import FRAMES, patience_s

# charon asks a peer that was silent for DPD_S, and asks again TRIES times. It gives up TRIES + 1
# waits later.
DPD_S, WAIT_S, TRIES = 1, 1, 3
TIMERS = f"retransmit_timeout = {WAIT_S}\n  retransmit_base = 1\n  retransmit_tries = {TRIES}"
CHILD = "start_action = start\n      dpd_action = restart"
GAVE_UP = f"giving up after {TRIES} retransmits"


def measure(trial: Trial, boxes: OwnBoxes) -> TrialResult:
    """One run. Times begin with the death. The result's counts are of the frames behind it until
    one arrived."""
    setup = trial.setup
    with boxes.gateways(TIMERS) as both:
        both.establish(patience_s(setup.sas), CHILD, f"dpd_delay = {DPD_S}s")
        alive = boxes.each_tunnel(1)
        died, clock = time.time(), time.monotonic()
        both.far.replace()
        both.accept()
        arrival = boxes.until_one_arrives(patience_s(setup.sas))
        result, end = arrival.result, arrival.end
        all_again = both.wait_until(lambda: both.up() >= setup.sas, patience_s(setup.sas))
        complete = time.monotonic()
        carried = boxes.each_tunnel(FRAMES)
        found = both.near.said_at(GAVE_UP, died)
    checks = list(result.checks)
    if not alive.rx_frames:
        checks.append("no packet arrived before the peer died")
    if found is None:
        checks.append(f"charon never said: {GAVE_UP}")
    if carried.lost:
        checks.append(f"{carried.lost} of {carried.tx_frames} frames in all tunnels were lost behind the fail-over")
    if not all_again:
        checks.append(f"not all of {setup.sas} tunnels came up again in {patience_s(setup.sas):.0f} s")
    if not result.rx_frames:
        checks.append(f"no packet arrived in {patience_s(setup.sas):.0f} s behind the death of the peer")
    return replace(
        result,
        checks=checks,
        figures=[
            Figure("peer found dead", None if found is None else 1000 * (found - died), "ms", "wall"),
            Figure("first packet again", 1000 * (end - clock) if result.rx_frames else None, "ms", "wall"),
            Figure("all tunnels again", 1000 * (complete - clock) if all_again else None, "ms", "wall"),
        ],
    )
