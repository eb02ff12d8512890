# SPDX-License-Identifier: Apache-2.0
"""Sequence numbers of an inbound SA: the high half that is not sent (RFC 4303 A2.2) and the
anti-replay window (3.4.3)."""

from __future__ import annotations

TURN = 1 << 32


class HighHalf:
    """Infers the high 32 bits of a number from the highest that was authentic or counts as
    `received`."""

    def __init__(self, window: int, received: int) -> None:
        self.window = window
        self.highest = received

    def infer(self, low: int) -> int:
        """The high half; below 0 if the number would be older than the first."""
        high, top_low = divmod(self.highest, TURN)
        if top_low >= self.window - 1:
            return high if low >= top_low - self.window + 1 else high + 1
        return high - 1 if low >= top_low - self.window + 1 + TURN else high

    def authentic(self, number: int) -> None:
        self.highest = max(self.highest, number)


class Window:
    """Which numbers may still come: those not received, up to `size` - 1 below the highest. Size
    0: all."""

    def __init__(self, size: int, received: int) -> None:
        self.size = size
        self.top = received
        self.preset = received
        self.seen: set[int] = set()

    def check(self, number: int) -> str:
        """ "" if the number is new, which it then is no longer; else why not."""
        if not self.size:
            return ""
        if number + self.size <= self.top:
            return "drop_too_old"
        if number <= self.preset or number in self.seen:
            return "drop_replayed"  # 0 is never sent (3.3.3)
        self.seen.add(number)
        self.top = max(self.top, number)
        return ""
