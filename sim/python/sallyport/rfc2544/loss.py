# SPDX-License-Identifier: Apache-2.0
"""Frame loss rate (RFC 2544 26.3): from the highest load down in steps of 10 % of it until two
trials in a row lose nothing."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from sallyport.rfc2544.case import Case

STEPS = range(100, 0, -10)
CLEAN_TRIALS = 2


def rows(case: Case) -> Iterator[dict]:
    """A row for each load. ESP that is recorded for a box that decrypts alone is never more than
    the wire carries."""
    clean = 0
    recorded = case.setup.boxes == 1 and case.setup.direction != "encrypt"
    for step in STEPS:
        fps = case.top * Fraction(step, 100)
        if recorded and fps > case.setup.line_fps * case.setup.ceiling:
            continue
        result = case.trial(fps)
        yield case.row(result)
        # A queue that grows loses as soon as it is full.
        clean = 0 if result.lost or result.queue_grew else clean + 1
        if clean == CLEAN_TRIALS:
            break
