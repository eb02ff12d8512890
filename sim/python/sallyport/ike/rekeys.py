# SPDX-License-Identifier: Apache-2.0
"""Rekeys under load (draft-ietf-bmwg-ipsec-meth-05, rekey behaviour; RFC 7296 2.8): charon rekeys
the CHILD_SA of every tunnel while all of them carry traffic."""

from __future__ import annotations

import time
from dataclasses import replace

from sallyport.backend import COUNTS, Figure, Trial, TrialResult
from sallyport.ike.gateways import Boxes, Gateway, Gateways
from sallyport.ike.tunnels import patience_s


def measure(trial: Trial, boxes: Boxes) -> TrialResult:
    """One run. The load comes in pieces, one after the other, from before the first rekey until
    all old SAs are gone; their frames are counted together."""
    setup = trial.setup
    with boxes.gateways() as both:
        both.establish(patience_s(setup.sas))
        calm = boxes.load()
        old = both.spis()
        pieces, took = boxes.loaded(lambda: _rekey(both, old))
        pieces.append(boxes.load())  # under new SAs alone
        left = len(old & both.spis())
    checks = list(dict.fromkeys(check for piece in pieces for check in piece.checks))
    if left:
        checks.append(f"{left} of {len(old)} SAs are there after {patience_s(setup.sas):.0f} s of rekeys")
    blocked = boxes.blocked_ns(calm, pieces)
    return replace(
        pieces[-1],
        **{name: sum(getattr(piece, name) for piece in pieces) for name in COUNTS},
        queue_grew=any(piece.queue_grew for piece in pieces),
        checks=checks,
        figures=[
            Figure("rekeys", setup.sas / took if took else None, "1/s", "wall"),
            Figure("blocked", blocked if took else None, "ns", boxes.clock),
        ],
    )


def _rekey(both: Gateways[Gateway], old: frozenset[str]) -> float | None:
    """Order a rekey of each tunnel, and wait until the old SAs are gone. The seconds until both
    boxes had all new ones; None: never."""
    patience, began = patience_s(both.setup.sas), time.monotonic()
    both.near.rekey([f"t{number}" for number in range(both.setup.sas)])
    made = both.wait_until(lambda: all(len(each.spis() - old) == len(old) for each in (both.near, both.far)), patience)
    took = time.monotonic() - began
    both.wait_until(lambda: not old & both.spis(), patience)
    return took if made else None
