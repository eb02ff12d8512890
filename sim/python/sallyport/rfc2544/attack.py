# SPDX-License-Identifier: Apache-2.0
"""A hostile sender on the black wire (draft-ietf-bmwg-ipsec-meth, denial of service): honest
packets lose nothing beside it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from sallyport.rfc2544.case import Case

# Of the theoretical maximum: as much again is the attack's.
HONEST = Fraction(1, 2)


def rows(case: Case) -> Iterator[dict]:
    """A row for each kind of attack on a box that decrypts. `dropped` are the packets that the box
    dropped or punted, by counter."""
    alone = replace(case, setup=replace(case.setup, boxes=1, direction="decrypt"))
    fps = min(alone.setup.line_fps * alone.setup.ceiling * HONEST, alone.bound)
    for kind in case.capabilities.attacks:
        result = alone.trial(fps, attack=kind)
        yield alone.row(
            result,
            attack=kind,
            attack_pct=round(float(100 * fps / alone.setup.line_fps / alone.setup.ceiling), 4),
            dropped=result.dropped,
        )
