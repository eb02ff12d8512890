# SPDX-License-Identifier: Apache-2.0
"""Rekeys during a trial, by a command of the lab file: so many, evenly over the measured interval,
one at a time."""

from __future__ import annotations

from sallyport.trex.boxes import Command
from sallyport.trex.lab import REKEY, Lab


class Rekeys:
    """`turn` begins those that are due; it waits for nothing."""

    def __init__(self, lab: Lab, count: int, seconds: float) -> None:
        self._lab, self._count, self._apart = lab, count, seconds / max(count, 1)
        self._running: Command | None = None
        self._begun = 0
        self._failures: list[str] = []
        self.done = 0  # that ended well

    def turn(self, now: float) -> None:
        """Begin the next one if its moment has come and the one before has ended; `now`: seconds
        after the first frame."""
        if self._running and self._running.running():
            return
        self._end()
        if self._begun < self._count and now >= (self._begun + 0.5) * self._apart:
            self._running = Command(self._lab, REKEY)
            self._running.begin()
            self._begun += 1

    def _end(self) -> None:
        if not self._running:
            return
        failure, self._running = self._running.failure(), None
        if failure:
            self._failures.append(failure)
        else:
            self.done += 1

    def finish(self) -> list[str]:
        """Wait for the last one; a sentence if not all of them ended well."""
        self._end()
        if self._failures:
            return [
                f"{self._failures[0]}; so did {len(self._failures) - 1} more"
                if self._failures[1:]
                else self._failures[0]
            ]
        if self.done < self._count:
            return [
                f"{self.done} of {self._count} rekeys ran: each began once the one before had ended; choose fewer --rekeys, or a "
                "longer --measure-us"
            ]
        return []
