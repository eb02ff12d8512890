# SPDX-License-Identifier: Apache-2.0
"""A hostile sender on the black wire (draft-ietf-bmwg-ipsec-meth, denial of service): honest
packets lose nothing beside it."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from sallyport.rfc2544.case import Case

# Of the theoretical maximum: as much again is the attack's.
HONEST = Fraction(1, 2)


def rows(case: Case) -> Iterator[dict]:
    """A row for each kind of attack on a box that decrypts. `dropped` are the packets that the box
    dropped or punted, by counter."""
    fps = min(case.setup.line_fps * case.setup.ceiling * HONEST, case.bound)
    for kind in case.capabilities.attacks:
        result = case.trial(fps, attack=kind)
        yield case.row(
            result,
            attack=kind,
            attack_pct=round(float(100 * fps / case.setup.line_fps / case.setup.ceiling), 4),
            dropped=result.dropped,
        )
