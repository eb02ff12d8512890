# SPDX-License-Identifier: Apache-2.0
"""Identifications of IPv4 headers: none comes again soon, whatever its destination."""

from __future__ import annotations

from collections import deque

APART = 8192  # at least so many others are between two equal ones


class Identifications:
    """The last ones of a port."""

    def __init__(self) -> None:
        self.last: deque[int] = deque(maxlen=APART)
        self.known: set[int] = set()

    def fault(self, number: int) -> str:
        """Takes the next one, and says if it came lately; "" if it did not."""
        if number in self.known:
            return f"an identification that none of the last {APART} has, not {number}"
        if len(self.last) == APART:
            self.known.discard(self.last[0])
        self.last.append(number)
        self.known.add(number)
        return ""
