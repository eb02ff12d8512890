# SPDX-License-Identifier: Apache-2.0
"""Rekeys under load (draft-ietf-bmwg-ipsec-meth-05, rekey behaviour; RFC 7296 2.8): charon rekeys
the CHILD_SA of every tunnel while all of them carry traffic."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from sallyport.backend import COUNTS, Figure, Trial, TrialResult
from sallyport.ike.gateways import Boxes, Gateways, gateways
from sallyport.ike.tunnels import patience_s


def measure(trial: Trial, boxes: Boxes, folder: Path) -> TrialResult:
    """One run. The load comes in pieces, one after the other, from before the first rekey until
    all old SAs are gone; their frames are counted together.

    Blocked is how much longer the longest pause between two frames of a stream was under rekeys
    than without them.
    """
    setup = trial.setup
    with gateways(setup, boxes, folder) as both:
        both.establish(patience_s(setup.sas))
        calm = boxes.load()
        old = both.spis()
        began = time.monotonic()
        pieces = []
        with ThreadPoolExecutor(1) as pool:
            rekeying = pool.submit(_rekey, both, old)
            while not rekeying.done():
                pieces.append(boxes.load())
            done = rekeying.result()
        pieces.append(boxes.load())  # under new SAs alone
        left = len(old & both.spis())
    checks = list(dict.fromkeys(check for piece in pieces for check in piece.checks))
    if left:
        checks.append(f"{left} of {len(old)} SAs are there after {patience_s(setup.sas):.0f} s of rekeys")
    blocked = max(0.0, max(_gap(piece) for piece in pieces) - _gap(calm))
    return replace(
        pieces[-1],
        **{name: sum(getattr(piece, name) for piece in pieces) for name in COUNTS},
        queue_grew=any(piece.queue_grew for piece in pieces),
        checks=checks,
        figures=[
            Figure("rekeys", setup.sas / (done - began) if done else None, "1/s", "wall"),
            Figure("blocked", blocked if done else None, "ns", "simulated"),
        ],
    )


def _rekey(both: Gateways, old: frozenset[str]) -> float | None:
    """Order a rekey of each tunnel, and wait until the old SAs are gone. When both boxes had all
    new ones, by the monotonic clock; None: never."""
    patience = patience_s(both.setup.sas)
    for number in range(both.setup.sas):
        both.near.charon.swanctl("--rekey", "--child", f"t{number}")
    boxes = (both.near.daemon, both.far.daemon)
    made = both.wait_until(lambda: all(len(box.spis() - old) == len(old) for box in boxes), patience)
    done = time.monotonic()
    both.wait_until(lambda: not old & both.spis(), patience)
    return done if made else None


def _gap(piece: TrialResult) -> float:
    """Nanoseconds of the longest pause between two frames."""
    return piece.longest_gap_ns or 0.0
