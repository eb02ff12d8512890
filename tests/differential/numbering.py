# SPDX-License-Identifier: Apache-2.0
"""The sequence numbers with which a peer, or who replays its packets, sends."""

from __future__ import annotations

import random

from .numbers import TURN
from .sa import Sa

# Frames after which the box has verified a packet of a suite with GHASH, with much to spare: what
# the box infers of a number is certain only if it does not depend on packets that are still inside.
SETTLED = 600


class Numbering:
    """`next` gives the number of the next packet of an SA: mostly one more, sometimes a leap, an
    old one or one that was sent."""

    def __init__(self, sa: Sa, dice: random.Random) -> None:
        self.sa = sa
        self.dice = dice
        self.highest = sa.first - 1
        self.recent: list[int] = []
        self.history: list[tuple[int, int]] = []  # when each highest number was sent
        self.limit = TURN if not sa.esn else 1 << 40

    def next(self, now: int) -> int:
        """`now` counts frames."""
        chance = self.dice.random()
        window = max(self.sa.window, 64)
        if chance < 0.05 and self.recent:
            return self.dice.choice(self.recent)
        if chance < 0.10:
            return max(1, self.highest - self.dice.randrange(window))
        if chance < 0.13:
            old = self._old(now, window)
            if old is not None:
                return old
        at_turn = self.sa.first > TURN >> 1 and self.highest < TURN
        if chance < 0.90:
            leap = self.dice.choice([1, 1, 1, 200]) if at_turn else 1
        else:
            leap = self.dice.choice([2, 3, 50, window - 1, window, window + 1, self.dice.randrange(1, 3 * window)])
        number = min(self.highest + leap, self.limit - 1)
        # To the right of this a box that has verified nothing yet takes the half below.
        if at_turn and (not self.history or now < self.history[0][0] + SETTLED):
            number = min(number, TURN - window)
        self.highest = number
        self.history.append((now, number))
        self.recent = [*self.recent[-40:], number]
        self.recent = [sent for sent in self.recent if sent > number - window]
        return number

    def _old(self, now: int, window: int) -> int | None:
        """A number left of the window; with ESN left of what the window was some time ago, and of a
        fast suite alone."""
        if not self.sa.esn:
            edge = self.highest - window
        elif self.sa.suite.fast:
            edge = max((number for sent, number in self.history if sent < now - SETTLED), default=0) - window
        else:
            return None
        edge = self.dice.choice([edge, edge, edge - 1, edge - self.dice.randrange(1, 5000)])
        return edge if edge >= 0 else None
