# SPDX-License-Identifier: Apache-2.0
"""System recovery (RFC 2544 26.5): how long a box that was overloaded goes on losing once the load
is halved."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from sallyport.rfc2544.case import Case

OVERLOAD, AFTER = Fraction(11, 10), Fraction(1, 2)  # of the throughput; of the overload
# A loss in the last tenth of the time after the change: there is no telling when that would end.
ENDLESS = 1.45  # measured intervals; frames are sent for one and a half of them


def rows(case: Case) -> Iterator[dict]:
    """One row. `recovery_ns` is from the change to when the last lost frame was sent; null if
    frames were lost to the end."""
    throughput, trials = case.throughput()
    overload = min((throughput or case.bound) * OVERLOAD, case.setup.line_fps)
    after = overload * AFTER
    result = case.trial(overload, then_fps=after)
    change = case.setup.measure_ns
    last = result.last_loss_ns if result.last_loss_ns is not None else 0.0
    endless = last > change * ENDLESS
    yield case.row(
        result,
        trials + 1,
        throughput,
        overload_pct=round(float(100 * overload / case.setup.line_fps), 4),
        then_pct=round(float(100 * after / case.setup.line_fps), 4),
        recovery_ns=None if endless else max(0.0, round(last - change, 1)),
    )
